//! Values as TOML writes them.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Two significant digits, so that a bound shows that it is only a draft.
pub(super) fn rounded_up(largest: f64) -> f64 {
    if largest == 0.0 {
        return 1.0;
    }
    let exponent = largest.max(1e-290).log10().floor() as i32 - 1;
    let digits = (largest / 10_f64.powi(exponent)).ceil() as i64;
    // Through text, because 17e-2 is the number a reader would write and 17 * 10^-2 is not.
    let bound = |digits: i64| format!("{digits}e{exponent}").parse().unwrap_or(f64::MAX);
    let candidates = [digits, digits + 1].map(bound);
    let enough = candidates.into_iter().find(|bound: &f64| *bound >= largest && bound.is_finite());
    enough.unwrap_or(f64::MAX)
}

/// An array of texts.
pub(super) fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// An inline table of texts.
pub(super) fn table(pairs: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(from, to)| format!("{} = {}", quoted(from), quoted(to))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A TOML string on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() => {
                write!(out, "\\u{:04X}", u32::from(character)).expect("a string takes it");
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}
