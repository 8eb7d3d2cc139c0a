//! Opens rows for reading: a file, or standard input under the name `-`.

use super::open;
use crate::encoding::{Encoding, Transcoder};
use crate::error::{Error, Result};
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Rows as UTF-8, wherever they come from.
pub type TextInput = BufReader<Box<dyn Read>>;

/// As much as is looked at before the first row.
const HEAD: usize = 1 << 16;

/// Whether a path means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens text. Without an encoding the file's mark decides, and without a mark it is UTF-8.
pub fn open_text(path: &Path, encoding: Option<Encoding>) -> Result<TextInput> {
    let mut source: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(std::io::stdin()),
        false => Box::new(open(path)?),
    };
    let mut head = Vec::new();
    source.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(|error| {
        Error::input(format!("{}: cannot be read: {error}", path.display()))
            .hint("check the disk, and that the file is a plain file")
    })?;
    let marked = Encoding::of_mark(&head);
    if encoding.is_none() && marked.is_none() && Encoding::is_bare_utf16(&head) {
        return Err(Error::input(format!("{}: is UTF-16 text without a mark", path.display()))
            .hint("say so beside the file: encoding = \"utf-16\"; or save it as UTF-8"));
    }
    let encoding = match (encoding, marked) {
        (Some(Encoding::Utf16Little), Some(marked)) => marked,
        (Some(given), _) => given,
        (None, marked) => marked.unwrap_or(Encoding::Utf8),
    };
    let source = Cursor::new(head).chain(source);
    let source: Box<dyn Read> = match encoding {
        Encoding::Utf8 => Box::new(source),
        _ => Box::new(Transcoder::new(source, encoding)),
    };
    Ok(BufReader::with_capacity(HEAD, source))
}
