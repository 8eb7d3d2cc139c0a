//! The draft as TOML.

use super::labels::Classes;
use super::seen::{Guess, Seen};
use super::written::{list, quoted, rounded_up};

impl Seen {
    /// The line of the schema for a feature, with what was seen of it behind.
    pub(super) fn column(&self) -> String {
        let name = quoted(&self.name);
        // A column that is always recorded needs no indicator.
        let missing = if self.absent == 0 { ", missing = false" } else { "" };
        match self.guess() {
            Guess::Numeric { low, high, common } => {
                let seen = format!("seen: {} to {}", self.lowest, self.highest);
                let (range, word) = match common {
                    true => {
                        (format!("low = {low:?}, high = {high:?}"), "a common range, to confirm")
                    }
                    false => (format!("bound = {high:?}"), "CONFIRM: from the data, not public"),
                };
                format!(
                    "{{ name = {name}, kind = \"numeric\", {range}{missing} }},   # {word}; {seen}"
                )
            }
            Guess::Categorical => {
                let levels = list(self.distinct.keys());
                // All others are compared with it; beside an intercept they need one.
                let reference = match self.distinct.keys().next() {
                    Some(first) if self.distinct.len() > 1 => {
                        format!(", reference_level = {}", quoted(first))
                    }
                    _ => String::new(),
                };
                format!(
                    "{{ name = {name}, kind = \"categorical\", levels = {levels}{reference}\
                     {missing} }},   # CONFIRM: levels from the data"
                )
            }
            Guess::Id => format!("{{ name = {name}, kind = \"id\" }},   # names a row: never read"),
            Guess::Ignore(why) => format!("{{ name = {name}, kind = \"ignore\" }},   # {why}"),
        }
    }

    /// The line of the schema for the target. Two values are taken for labels, more numbers for a
    /// quantity.
    pub(super) fn target(&self, has_name: bool) -> String {
        let name = match has_name {
            true => format!("name = {}, ", quoted(&self.name)),
            false => String::new(),
        };
        match Classes::of(&self.distinct) {
            _ if self.distinct.len() > 2 && self.texts == 0 => {
                let bound = rounded_up(self.largest());
                let few = match self.distinct.len() <= 10 {
                    true => "; or classes: positive = { above = 0 }",
                    false => "",
                };
                let seen = format!("seen: {} to {}", self.lowest, self.highest);
                let draft = format!("{{ {name}kind = \"numeric\", bound = {bound:?} }}");
                format!("{draft}   # for regression{few}; {seen}")
            }
            Classes { positive, negative } if negative.is_empty() => format!(
                "{{ {name}positive = {{ equals = {} }} }}   # only this label was seen: name the \
                 other one, negative = {{ equals = ... }}",
                quoted(&positive)
            ),
            Classes { positive, negative } => {
                let negative = match negative.as_slice() {
                    [only] => quoted(only),
                    many => list(many.iter()),
                };
                format!(
                    "{{ {name}positive = {{ equals = {} }}, negative = {{ equals = {negative} }} \
                     }}   # CONFIRM which one is positive",
                    quoted(&positive)
                )
            }
        }
    }
}
