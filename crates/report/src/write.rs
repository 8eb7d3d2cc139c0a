//! Files of results, and the fields of their tables.

use crate::private_file::replace_private;
use dzoa_table::{Error, Result};
use std::path::Path;

/// Writes one file into a directory that is made if need be.
pub fn write_file(out: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    let path = out.join(name);
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&path, content))
        .map_err(|error| Error::run(format!("{}: cannot be written: {error}", path.display())))
}

/// Writes a file that stays with whoever owns the rows.
pub fn write_private(out: &Path, name: &str, content: &str) -> Result<()> {
    let path = out.join(name);
    std::fs::create_dir_all(out)
        .and_then(|()| replace_private(&path, content.as_bytes()))
        .map_err(|error| Error::run(format!("{}: cannot be written: {error}", path.display())))
}

/// A value as the text of a JSON file.
pub fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::run(format!("the result cannot be written as JSON: {error}")))
}

/// A number as a CSV field: empty where there is none.
pub fn csv_number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

/// A name as a CSV field.
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_quoted_only_where_a_reader_would_cut_it() {
        assert_eq!(csv_field("Ulm"), "Ulm");
        assert_eq!(csv_field("Ulm, \"old\""), "\"Ulm, \"\"old\"\"\"");
        assert_eq!(csv_number(Some(0.5)), "0.5");
        assert_eq!(csv_number(Some(f64::NAN)) + &csv_number(None), "");
    }
}
