//! One column of a file, and how its values become features.

use super::missing::OnMissing;
use super::values::{ColumnRange, Fault, Levels, number, texts};
use crate::error::{Result, shown};
use crate::reader::{Section, suggestion};

/// One column of a file.
#[derive(Clone, Debug)]
pub struct Column {
    /// As in the header.
    pub name: String,
    /// What becomes of it.
    pub kind: Kind,
    /// The level that has no feature: all others are compared with it.
    pub(super) reference: Option<usize>,
    /// Whether its last feature is the 0/1 column `NAME:missing`.
    pub(super) has_indicator: bool,
}

/// What becomes of a column.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One feature within [-1, 1].
    Numeric(ColumnRange),
    /// One 0/1 feature per level.
    Categorical(Levels),
    /// Nothing.
    Ignore,
    /// Nothing, but predictions carry it along.
    Id,
    /// It marks the place of the target in a file without a header.
    TargetColumn,
}

impl Column {
    /// Reads one entry of `schema.columns`.
    pub(super) fn read(section: &Section<'_>, on_missing: OnMissing) -> Result<Self> {
        let name: String = section.required("name")?;
        let kind = section.choice("kind", &["numeric", "categorical", "ignore", "id", "target"])?;
        let kind = match kind {
            Some("numeric") => Kind::Numeric(ColumnRange::read(section)?),
            Some("categorical") => {
                let texts = texts(section, "levels")?.ok_or_else(|| {
                    section
                        .error("levels", "is missing")
                        .hint(format!("list all values that {} can take", shown(&name)))
                })?;
                Kind::Categorical(Levels::new(texts).map_err(|twice| {
                    section.error("levels", &format!("holds {} twice", shown(&twice)))
                })?)
            }
            Some("ignore") => Kind::Ignore,
            Some("id") => Kind::Id,
            Some(_) => Kind::TargetColumn,
            None => {
                return Err(section.error("kind", "is missing").hint(format!(
                    "say what {} is: \"numeric\", \"categorical\", \"ignore\" or \"id\"",
                    shown(&name)
                )));
            }
        };
        let reference = read_reference(section, &kind)?;
        let has_indicator = match kind {
            Kind::Numeric(_) | Kind::Categorical(_) => on_missing.has_indicator(section)?,
            Kind::Ignore | Kind::Id | Kind::TargetColumn => false,
        };
        section.finish()?;
        Ok(Self { name, kind, reference, has_indicator })
    }

    /// The levels that have a feature.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        let texts = match &self.kind {
            Kind::Categorical(levels) => levels.texts(),
            _ => &[],
        };
        let others = texts.iter().enumerate().filter(|(at, _)| Some(*at) != self.reference);
        others.map(|(_, level)| level.as_str())
    }

    /// Features that the column becomes.
    pub fn width(&self) -> usize {
        let values = match &self.kind {
            Kind::Numeric(_) => 1,
            Kind::Categorical(levels) => {
                levels.texts().len() - usize::from(self.reference.is_some())
            }
            Kind::Ignore | Kind::Id | Kind::TargetColumn => 0,
        };
        values + usize::from(self.has_indicator)
    }

    /// Whether a missing value has a feature of its own.
    pub fn knows_missing(&self) -> bool {
        self.has_indicator
    }

    /// Adds the non-zero features of a missing value, the first feature being number `at`. The
    /// middle of a range is 0 and no level is 1, so that only the indicator is left.
    pub fn encode_missing(&self, at: usize, entries: &mut Vec<(usize, f64)>) {
        if self.has_indicator {
            entries.push((at + self.width() - 1, 1.0));
        }
    }

    /// Adds the non-zero features of one value, the first of them being number `at`. Returns
    /// whether the value was clipped.
    pub fn encode(
        &self,
        text: &str,
        at: usize,
        entries: &mut Vec<(usize, f64)>,
    ) -> std::result::Result<bool, Fault> {
        match &self.kind {
            Kind::Numeric(range) => {
                let (value, clipped) = range.apply(number(text)?);
                if value != 0.0 {
                    entries.push((at, value));
                }
                Ok(clipped)
            }
            Kind::Categorical(levels) => {
                let level = levels.position(text).ok_or_else(|| levels.unknown(text, "level"))?;
                let before = self.reference.is_some_and(|reference| reference < level);
                if self.reference != Some(level) {
                    entries.push((at + level - usize::from(before), 1.0));
                }
                Ok(false)
            }
            Kind::Ignore | Kind::Id | Kind::TargetColumn => Ok(false),
        }
    }
}

/// The place of `reference_level` among the levels.
fn read_reference(section: &Section<'_>, kind: &Kind) -> Result<Option<usize>> {
    let Kind::Categorical(levels) = kind else { return Ok(None) };
    let Some(given) = texts(section, "reference_level")? else { return Ok(None) };
    let known: Vec<&str> = levels.texts().iter().map(String::as_str).collect();
    let reference = match given.as_slice() {
        [level] => levels.position(level),
        _ => None,
    };
    match reference {
        Some(_) if known.len() < 2 => Err(section
            .error("reference_level", "leaves no other level to compare")
            .hint("a column of one level is constant: give it the kind \"ignore\"")),
        Some(at) => Ok(Some(at)),
        None => Err(section
            .error(
                "reference_level",
                &format!("is not one of the levels, but {}", given.join(", ")),
            )
            .hint(suggestion(&given[0], &known))),
    }
}
