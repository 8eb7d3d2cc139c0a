//! Decimal commas.
//!
//! Where nobody said how numbers are written and commas do not part the fields, the file's own
//! numbers tell. `1,5` can only be a decimal comma, `1,234` may be one thousand: a file in which
//! only such numbers stand is refused, and so is one with both commas and points.

use crate::error::{Error, Result};
use crate::reading::Decimal;
use crate::schema::Fault;
use std::borrow::Cow;

/// How the numbers of one file are written, as far as was seen.
#[derive(Clone, Copy, Debug)]
pub struct Decimals {
    given: Option<Decimal>,
    /// Whether commas may stand in numbers at all.
    may_have_commas: bool,
    seen: Option<Decimal>,
    /// A comma that could part thousands, and none yet that could not.
    doubtful: bool,
}

impl Decimals {
    /// For a file with this delimiter.
    pub fn new(given: Option<Decimal>, delimiter: u8) -> Self {
        Self { given, may_have_commas: delimiter != b',', seen: None, doubtful: false }
    }

    /// A number as Rust writes it.
    pub fn plain<'t>(&mut self, text: &'t str) -> std::result::Result<Cow<'t, str>, Fault> {
        let comma = match self.given {
            Some(Decimal::Comma) => text.contains(','),
            Some(Decimal::Point) => false,
            None => self.may_have_commas && has_decimal_comma(text),
        };
        let written = match comma {
            true => Decimal::Comma,
            false if text.contains('.') => Decimal::Point,
            false => return Ok(Cow::Borrowed(text)),
        };
        if self.given.is_none() && self.may_have_commas {
            if self.seen.is_some_and(|seen| seen != written) {
                return Err(Fault::new(
                    format!("{} is not written as the numbers above it", crate::error::shown(text)),
                    "some numbers have a point and some a comma: say beside the file which is \
                     meant, decimal = \",\" or decimal = \".\"",
                ));
            }
            let first = self.seen.is_none();
            self.seen = Some(written);
            let thousands = comma && may_be_thousands(text);
            self.doubtful = thousands && (first || self.doubtful);
        }
        match (comma, self.given) {
            (true, Some(_)) if text.contains('.') => Ok(Cow::Borrowed(text)),
            (true, _) => Ok(Cow::Owned(text.replace(',', "."))),
            (false, _) => Ok(Cow::Borrowed(text)),
        }
    }

    /// Refuses a file whose commas may part thousands.
    pub fn finish(&self, file: &str) -> Result<()> {
        match self.doubtful {
            false => Ok(()),
            true => Err(Error::input(format!(
                "{file}: nobody can tell whether `1,234` is about one or above a thousand here"
            ))
            .hint("say it beside the file: decimal = \",\", or take the commas out")),
        }
    }
}

/// Digits, one comma, digits, and perhaps a sign and an exponent.
fn has_decimal_comma(text: &str) -> bool {
    let mut parts = text.splitn(2, ',');
    let (Some(whole), Some(fraction)) = (parts.next(), parts.next()) else { return false };
    let whole = whole.trim_start_matches(['-', '+']);
    whole.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.starts_with(|first: char| first.is_ascii_digit())
        && !fraction.contains([',', '.'])
        && fraction.parse::<f64>().is_ok()
}

/// One to three digits, not led by zero, and exactly three behind the comma.
fn may_be_thousands(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    match text.split_once(',') {
        Some((whole, fraction)) => {
            (1..=3).contains(&whole.len()) && !whole.starts_with('0') && fraction.len() == 3
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: Option<Decimal>, delimiter: u8, texts: &[&str]) -> Option<Vec<String>> {
        let mut decimals = Decimals::new(given, delimiter);
        let plain: Option<Vec<String>> =
            texts.iter().map(|text| Some(decimals.plain(text).ok()?.into_owned())).collect();
        plain.filter(|_| decimals.finish("a.csv").is_ok())
    }

    #[test]
    fn commas_are_decimal_where_fields_are_parted_otherwise() {
        let found = read(None, b';', &["1,5", "-0,25", "3", "1,234"]).unwrap();
        assert_eq!(found, ["1.5", "-0.25", "3", "1.234"]);
        assert_eq!(read(None, b',', &["1,5"]).unwrap(), ["1,5"], "no number: refused later");
        assert_eq!(read(Some(Decimal::Comma), b';', &["1,234"]).unwrap(), ["1.234"]);
        assert_eq!(read(Some(Decimal::Point), b';', &["1,5"]).unwrap(), ["1,5"]);
    }

    #[test]
    fn what_may_be_a_thousand_and_what_is_mixed_is_refused() {
        assert_eq!(read(None, b';', &["1,234", "12,000"]), None);
        assert_eq!(read(None, b';', &["1,5", "2.5"]), None);
        assert_eq!(read(None, b';', &["2.5", "1,5"]), None);
        // Points are never doubtful.
        assert_eq!(read(None, b';', &["1.234"]).unwrap(), ["1.234"]);
    }
}
