//! Bytes of other encodings as UTF-8, while they are read.

use std::io::{self, Read};

/// How the letters of a text file are written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The default.
    Utf8,
    /// Latin-1 as spreadsheets write it, with the letters of Windows-1252 between 0x80 and 0x9F.
    Latin1,
    /// Low byte first.
    Utf16Little,
    /// High byte first.
    Utf16Big,
}

impl Encoding {
    /// The names that users type. `utf-16` is low byte first unless the file's mark says else.
    pub const NAMES: [&'static str; 4] = ["utf-8", "latin-1", "windows-1252", "utf-16"];

    /// One of [`Encoding::NAMES`].
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "latin-1" | "windows-1252" => Some(Self::Latin1),
            "utf-16" => Some(Self::Utf16Little),
            _ => None,
        }
    }

    /// What a file's mark says, which no text begins with by chance.
    pub fn of_mark(head: &[u8]) -> Option<Self> {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => Some(Self::Utf8),
            [0xFF, 0xFE, ..] => Some(Self::Utf16Little),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Big),
            _ => None,
        }
    }

    /// Whether bytes without a mark look like UTF-16: every letter of a table's first line has a
    /// zero beside it.
    pub fn is_bare_utf16(head: &[u8]) -> bool {
        let zeros = head.iter().filter(|byte| **byte == 0).count();
        head.len() >= 4 && zeros * 3 > head.len()
    }
}

/// Bytes 0x80 to 0x9F of Windows-1252; what it leaves open is U+FFFD.
const WINDOWS: [char; 32] = [
    '€', '\u{FFFD}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{FFFD}', 'Ž',
    '\u{FFFD}', '\u{FFFD}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{FFFD}',
    'ž', 'Ÿ',
];

/// The letter of a byte of Latin-1.
fn latin(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Reads a file of any [`Encoding`] as UTF-8.
pub struct Transcoder<R> {
    source: R,
    encoding: Encoding,
    /// Bytes of the source that are no whole letter yet.
    rest: Vec<u8>,
    /// UTF-8 that was not handed out yet.
    ready: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> Transcoder<R> {
    /// Nothing read yet.
    pub fn new(source: R, encoding: Encoding) -> Self {
        Self { source, encoding, rest: Vec::new(), ready: Vec::new(), at: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 1 << 14];
        let count = self.source.read(&mut bytes)?;
        self.ended = count == 0;
        self.rest.extend(&bytes[..count]);
        self.ready.clear();
        self.at = 0;
        let text: String = match self.encoding {
            Encoding::Utf8 => {
                self.ready.append(&mut self.rest);
                return Ok(());
            }
            Encoding::Latin1 => self.rest.drain(..).map(latin).collect(),
            Encoding::Utf16Little => self.utf16(u16::from_le_bytes),
            Encoding::Utf16Big => self.utf16(u16::from_be_bytes),
        };
        self.ready.extend(text.as_bytes());
        Ok(())
    }

    /// The whole letters of `rest`; what is no letter becomes U+FFFD.
    fn utf16(&mut self, unit: fn([u8; 2]) -> u16) -> String {
        let mut units: Vec<u16> =
            self.rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        // The first half of a pair waits for the second.
        if !self.ended && units.last().is_some_and(|last| (0xD800..0xDC00).contains(last)) {
            units.pop();
        }
        self.rest.drain(..2 * units.len());
        let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{FFFD}'));
        letters.filter(|letter| *letter != '\u{FEFF}').collect()
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.ended {
            self.refill()?;
        }
        let length = out.len().min(self.ready.len() - self.at);
        out[..length].copy_from_slice(&self.ready[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte at a time, so that letters are cut anywhere.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn read(bytes: &[u8], encoding: Encoding) -> String {
        let mut text = String::new();
        Transcoder::new(Drops(bytes), encoding).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_encoding_gives_the_same_letters() {
        let text = "größe;€ 𝄞\n";
        let units: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(read(text.as_bytes(), Encoding::Utf8), text);
        assert_eq!(read(&little, Encoding::of_mark(&little).unwrap()), text);
        assert_eq!(read(&big, Encoding::of_mark(&big).unwrap()), text);
        // Python: "größe €".encode("cp1252")
        assert_eq!(read(b"gr\xf6\xdfe \x80", Encoding::Latin1), "größe €");
    }

    #[test]
    fn half_a_letter_at_the_end_is_no_panic() {
        assert_eq!(read(&[0x41, 0x00, 0x42], Encoding::Utf16Little), "A");
        assert_eq!(read(&[0x34, 0xD8], Encoding::Utf16Little), "\u{FFFD}");
        assert!(Encoding::is_bare_utf16(b"a\0;\0b\0\n\0"));
        assert!(!Encoding::is_bare_utf16(b"a;b\n"));
    }
}
