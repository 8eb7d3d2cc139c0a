//! What stands between two fields, where nobody said it.

use crate::schema::{Schema, TextFormat};
use std::path::Path;

/// What files have between their fields, the likeliest first.
pub const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiter under which the first line fits the schema best; a comma where none does.
/// `head` is the beginning of the file.
pub fn delimiter(head: &[u8], path: &Path, schema: &Schema, format: &TextFormat) -> u8 {
    let is_tsv = path.extension().is_some_and(|extension| extension == "tsv");
    let Some(line) = first_line(head, format) else { return b',' };
    let score = |delimiter: u8| {
        let fields: Vec<&str> = line
            .split(char::from(delimiter))
            .map(|field| field.trim().trim_matches('"').trim())
            .collect();
        match format.header {
            true => schema.used_names().filter(|name| fields.contains(name)).count(),
            false => {
                let fits = fields.len().abs_diff(schema.columns.len()) <= 1;
                usize::from(fields.len() > 1 && fits)
            }
        }
    };
    let candidates = if is_tsv { [b'\t', b',', b';', b'|'] } else { DELIMITERS };
    // Of equals the first one stays.
    let best = candidates.iter().rev().copied().max_by_key(|&delimiter| score(delimiter));
    best.unwrap_or(b',')
}

/// The first line with data.
fn first_line<'a>(head: &'a [u8], format: &TextFormat) -> Option<std::borrow::Cow<'a, str>> {
    let is_data = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && format.comment.is_none_or(|comment| line.first() != Some(&comment))
    };
    let mut lines = head.split(|byte| *byte == b'\n').skip(format.skip_lines);
    let line = lines.find(is_data)?;
    Some(String::from_utf8_lossy(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)))
}
