//! The target of a schema: a number within a bound, or a label that becomes -1 or +1.

use super::values::{ColumnRange, Fault, Levels, number, texts};
use crate::error::{Error, Result, shown};
use crate::reader::{Section, TomlPlace};
use dzoa::problem::loss::Targets;

/// What is to be predicted.
#[derive(Clone, Debug)]
pub struct TargetColumn {
    /// The column.
    pub name: String,
    /// A file of one column beside the rows that holds it.
    pub file: Option<String>,
    place: TomlPlace,
    /// What a numeric target is divided by.
    pub(super) bound: Option<f64>,
    positive: Option<Match>,
    negative: Option<Levels>,
}

#[derive(Clone, Debug)]
enum Match {
    Above(f64),
    Equals(Levels),
}

/// How the plain labels of a file are written: 0/1 or -1/+1, but not both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    /// 0 is the negative label.
    ZeroOne,
    /// -1 is the negative label.
    Signs,
}

impl TargetColumn {
    pub(super) fn read(schema: &Section<'_>, is_libsvm: bool) -> Result<Self> {
        let node = schema.node("target").or_else(|| schema.node("features"));
        let Some(place) = node.map(|node| node.place.clone()) else {
            return Err(schema
                .error("target", "is missing")
                .hint("say what is to be predicted: target = { name = \"...\" }"));
        };
        let section = schema.section("target")?;
        let file: Option<String> = section.optional("file")?;
        // LIBSVM and a file of its own give the target a place; a name is then only for messages.
        let name = if is_libsvm || file.is_some() {
            section.or("name", "label".to_string())?
        } else {
            section.required("name")?
        };
        let is_numeric = section.choice("kind", &["numeric"])?.is_some();
        let bound = section.positive("bound")?;
        let positive = read_match(&section, "positive", true)?;
        let negative = match read_match(&section, "negative", false)? {
            Some(Match::Equals(levels)) => Some(levels),
            _ => None,
        };
        section.finish()?;
        if is_numeric && bound.is_none() {
            return Err(section
                .error("bound", "is missing")
                .hint("take the largest possible target from public knowledge"));
        }
        if positive.is_some() && (is_numeric || bound.is_some()) {
            return Err(section
                .error("positive", "and `bound` exclude each other")
                .hint("`positive` is for classifiers, `bound` for regression"));
        }
        if negative.is_some() && positive.is_none() {
            return Err(section
                .error("negative", "needs `positive`")
                .hint("for example positive = { equals = \"yes\" }"));
        }
        if is_libsvm && file.is_some() {
            return Err(section
                .error("file", "has no use for LIBSVM files")
                .hint("the label is the first word of every line"));
        }
        Ok(Self { name, file, place, bound, positive, negative })
    }

    /// Refuses a target that does not fit the loss.
    pub fn check(&self, targets: Targets) -> Result<()> {
        let wrong = |problem: &str, hint: &str| {
            Err(Error::input(format!("{}: `schema.target` {problem}", self.place)).hint(hint))
        };
        match targets {
            Targets::Real if self.positive.is_some() => wrong(
                "has `positive`, but the loss is for regression",
                "use the loss logistic or hinge, or give the target a `bound` instead",
            ),
            Targets::Real if self.bound.is_none() => wrong(
                "has no `bound`, which regression needs",
                "target = { name = \"...\", kind = \"numeric\", bound = N }, \
                 with N from public knowledge",
            ),
            _ => Ok(()),
        }
    }

    /// Whether it is read as a number, and not as one of some words.
    pub fn is_number(&self) -> bool {
        !matches!(self.positive, Some(Match::Equals(_)))
    }

    /// Whether the schema lists a value, or can read it as a number.
    pub fn knows(&self, text: &str) -> bool {
        match &self.positive {
            Some(Match::Equals(levels)) => {
                let listed = |levels: &Levels| levels.position(text).is_some();
                listed(levels) || self.negative.as_ref().is_some_and(listed)
            }
            _ => number(text).is_ok(),
        }
    }

    /// What the negative and the positive class are called.
    pub fn labels(&self) -> [String; 2] {
        let first = |levels: &Levels| levels.texts()[0].clone();
        let positive = match &self.positive {
            None => return ["-1".into(), "1".into()],
            Some(Match::Above(threshold)) => format!(">{threshold}"),
            Some(Match::Equals(levels)) => first(levels),
        };
        let negative = match (&self.negative, &self.positive) {
            (Some(levels), _) => first(levels),
            (None, Some(Match::Above(threshold))) => format!("<={threshold}"),
            (None, _) => format!("not {positive}"),
        };
        [negative, positive]
    }

    /// The target of a row whose own is missing: a public value. Only a row of zeros may have it,
    /// because its gradient is zero for every target.
    pub fn placeholder(targets: Targets) -> f64 {
        match targets {
            Targets::Real => 0.0,
            Targets::Signs => -1.0,
        }
    }

    /// The target of one row, and whether it was clipped. `coding` remembers how earlier labels of
    /// the file were written.
    pub fn encode(
        &self,
        text: &str,
        targets: Targets,
        coding: &mut Option<Coding>,
    ) -> std::result::Result<(f64, bool), Fault> {
        if targets == Targets::Real {
            return Ok(ColumnRange::Bound(self.bound.unwrap_or(1.0)).apply(number(text)?));
        }
        let is_positive = match &self.positive {
            None => return Ok((plain_sign(text, coding)?, false)),
            Some(Match::Above(threshold)) => number(text)? > *threshold,
            Some(Match::Equals(levels)) => levels.position(text).is_some(),
        };
        match &self.negative {
            Some(levels) if !is_positive && levels.position(text).is_none() => {
                Err(self.unknown_label(text))
            }
            _ => Ok((if is_positive { 1.0 } else { -1.0 }, false)),
        }
    }
}

impl TargetColumn {
    /// A label that is neither positive nor negative: a site may have words of its own.
    fn unknown_label(&self, text: &str) -> Fault {
        let [negative, positive] = self.labels();
        let own = shown(text);
        let own = own.trim_matches('`');
        Fault::new(
            format!("{} is not a positive or negative label of the schema", shown(text)),
            format!(
                "the schema knows {positive:?} and {negative:?}; if this site writes them \
                 otherwise, say it beside the file: recode = {{ {own:?} = {positive:?} }}"
            ),
        )
    }
}

/// -1/+1 and 0/1 are both common, but in a file with -1, 0 and 1 nobody knows what 0 means.
fn plain_sign(text: &str, coding: &mut Option<Coding>) -> std::result::Result<f64, Fault> {
    let (sign, written) = match text.parse::<f64>() {
        Ok(1.0) => return Ok(1.0),
        Ok(0.0) => (-1.0, Coding::ZeroOne),
        Ok(-1.0) => (-1.0, Coding::Signs),
        _ => (f64::NAN, Coding::Signs),
    };
    if sign.is_nan() || coding.is_some_and(|coding| coding != written) {
        return Err(Fault::new(
            format!("{} is a label value a classifier does not know", shown(text)),
            "labels are -1 and 1, or 0 and 1; for others say which are positive: \
             positive = { above = 0 } or { equals = \"yes\" }",
        ));
    }
    *coding = Some(written);
    Ok(sign)
}

fn read_match(
    target: &Section<'_>,
    key: &'static str,
    may_be_above: bool,
) -> Result<Option<Match>> {
    let section = target.section(key)?;
    if !section.is_present() {
        return Ok(None);
    }
    let above = match may_be_above {
        true => section.number("above", f64::is_finite, "a finite number")?,
        false => None,
    };
    let equals = texts(&section, "equals")?;
    section.finish()?;
    match (above, equals) {
        (Some(threshold), None) => Ok(Some(Match::Above(threshold))),
        (None, Some(labels)) => match Levels::new(labels) {
            Ok(levels) => Ok(Some(Match::Equals(levels))),
            Err(twice) => Err(section.error("equals", &format!("holds {} twice", shown(&twice)))),
        },
        _ => Err(target
            .error(key, "needs exactly one condition")
            .hint("{ above = 0 }, { equals = \"yes\" } or { equals = [\"yes\", \"maybe\"] }")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::schema;

    fn target(text: &str) -> TargetColumn {
        schema(&format!("[schema]\nfeatures = 1\ntarget = {{ {text} }}")).unwrap().target
    }

    fn signs(target: &TargetColumn, labels: &[&str]) -> Option<Vec<f64>> {
        let mut coding = None;
        let sign = |text: &&str| target.encode(text, Targets::Signs, &mut coding).ok();
        labels.iter().map(sign).map(|outcome| Some(outcome?.0)).collect()
    }

    #[test]
    fn plain_labels_are_signs_or_zero_and_one_but_not_both() {
        let plain = target("");
        assert_eq!(signs(&plain, &["-1", "+1", "1.0"]), Some(vec![-1.0, 1.0, 1.0]));
        assert_eq!(signs(&plain, &["0", "1"]), Some(vec![-1.0, 1.0]));
        for labels in [["0", "-1"], ["1", "2"], ["1", "nan"], ["1", "yes"], ["1", ""]] {
            assert_eq!(signs(&plain, &labels), None, "{labels:?}");
        }
    }

    #[test]
    fn positive_and_negative_labels_are_told_apart_as_the_schema_says() {
        let above = target("positive = { above = 0 }");
        assert_eq!(signs(&above, &["0", "4", "-2.5"]), Some(vec![-1.0, 1.0, -1.0]));
        assert_eq!(signs(&above, &["much"]), None);
        let equals = target(r#"positive = { equals = [">50K", ">50K."] }"#);
        assert_eq!(signs(&equals, &[">50K.", ">50K", "?"]), Some(vec![1.0, 1.0, -1.0]));
        let both = target(r#"positive = { equals = "0" }, negative = { equals = "1" }"#);
        assert_eq!(signs(&both, &["0.0", "1"]), Some(vec![1.0, -1.0]));
        assert_eq!(signs(&both, &["2"]), None);
    }

    #[test]
    fn a_label_that_nobody_knows_is_answered_with_both_that_are_known() {
        let both = target(r#"positive = { equals = "TRUE" }, negative = { equals = "FALSE" }"#);
        let fault = both.encode("ja", Targets::Signs, &mut None).unwrap_err();
        let words = fault.at("a.csv:2").to_string();
        for word in [r#""TRUE" and "FALSE""#, r#"recode = { "ja" = "TRUE" }"#] {
            assert!(words.contains(word), "{words}");
        }
    }

    #[test]
    fn a_real_target_is_scaled_and_clipped() {
        let real = target("kind = \"numeric\", bound = 4");
        let encode = |text| real.encode(text, Targets::Real, &mut None).unwrap();
        assert_eq!(encode("1"), (0.25, false));
        assert_eq!(encode("-5"), (-1.0, true));
    }

    #[test]
    fn a_target_that_does_not_fit_the_loss_is_refused() {
        let labels = target("positive = { above = 0 }").check(Targets::Real).unwrap_err();
        assert!(labels.to_string().starts_with("run.toml:3: `schema.target` has `positive`"));
        let boundless = target("").check(Targets::Real).unwrap_err();
        assert!(boundless.to_string().contains("no `bound`"));
        assert!(target("").check(Targets::Signs).is_ok());
    }
}
