//! Which label is the positive one, and which words of two sites mean the same.

use std::collections::BTreeMap;

/// The labels of a target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Classes {
    pub positive: String,
    /// All others.
    pub negative: Vec<String>,
}

const YES: [&str; 22] = [
    "yes", "y", "true", "t", "1", "+1", "positive", "pos", "ill", "sick", "case", "dead", "died",
    "event", "high", "ja", "j", "oui", "si", "sí", "wahr", "vrai",
];
const NO: [&str; 20] = [
    "no", "n", "false", "f", "0", "-1", "negative", "neg", "well", "healthy", "control", "alive",
    "survived", "none", "low", "nein", "non", "nej", "falsch", "faux",
];

/// Whether a word says yes or no, in whatever way.
fn meaning(label: &str) -> Option<bool> {
    let word = label.trim().to_lowercase();
    let number = word.parse::<f64>().ok();
    if YES.contains(&word.as_str()) || number == Some(1.0) {
        return Some(true);
    }
    (NO.contains(&word.as_str()) || number == Some(0.0) || number == Some(-1.0)).then_some(false)
}

impl Classes {
    /// The labels that were seen. Of words that say yes or no the yes is positive, of numbers the
    /// larger one, of others the last.
    pub fn of(distinct: &BTreeMap<String, usize>) -> Self {
        let number = |text: &String| text.parse().unwrap_or(0.0_f64);
        let rank = |text: &String| (meaning(text) == Some(true), number(text));
        let positive = distinct.keys().max_by(|a, b| {
            let ((yes_a, a), (yes_b, b)) = (rank(a), rank(b));
            yes_a.cmp(&yes_b).then(a.total_cmp(&b))
        });
        let positive = positive.cloned().unwrap_or_default();
        let negative = distinct.keys().filter(|label| **label != positive).cloned().collect();
        Self { positive, negative }
    }

    /// What a site's labels are called here, where they say yes and no in other words.
    pub fn recode(&self, site: &BTreeMap<String, usize>) -> BTreeMap<String, String> {
        let [negative] = self.negative.as_slice() else { return BTreeMap::new() };
        if meaning(&self.positive) != Some(true) || meaning(negative) != Some(false) {
            return BTreeMap::new();
        }
        let own = |label: &String| label == negative || *label == self.positive;
        let translated = site.keys().filter(|label| !own(label)).map(|label| {
            let to = if meaning(label)? { self.positive.clone() } else { negative.clone() };
            Some((label.clone(), to))
        });
        translated.collect::<Option<_>>().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(labels: &[&str]) -> BTreeMap<String, usize> {
        labels.iter().map(|label| (label.to_string(), 1)).collect()
    }

    #[test]
    fn the_word_that_says_yes_is_positive_and_others_are_translated() {
        let classes = Classes::of(&seen(&["No", "Yes"]));
        assert_eq!((classes.positive.as_str(), &classes.negative[..]), ("Yes", &["No".into()][..]));
        let recoded = classes.recode(&seen(&["0", "1"]));
        assert_eq!(recoded, [("0", "No"), ("1", "Yes")].map(|(a, b)| (a.into(), b.into())).into());
        assert_eq!(classes.recode(&seen(&["Yes", "No"])), BTreeMap::new());
        // Nobody knows what these mean.
        assert_eq!(classes.recode(&seen(&["Yes", "perhaps"])), BTreeMap::new());
        assert_eq!(Classes::of(&seen(&["-1", "+1"])).positive, "+1");
        assert_eq!(Classes::of(&seen(&["benign", "malignant"])).positive, "malignant");
    }
}
