//! Text files: fields between delimiters, with the line numbers an editor shows.

use super::assembler::Assembler;
use super::input::{TextInput, open_text};
use super::layout::Layout;
use super::{Cell, Request, Spot, shown_path, sniff};
use crate::error::{Error, Result};
use crate::schema::{Fault, TextFormat};
use std::io::{self, BufRead, Read};
use std::path::Path;

/// No line and no record is longer. A file of another kind may have no line ends at all, and must
/// not fill the memory before it is refused.
pub const LONGEST: usize = 16 << 20;

/// Reads a text file.
pub(super) fn load(path: &Path, assembler: &mut Assembler<'_>) -> Result<()> {
    let request = assembler.request;
    let schema = request.schema;
    let (mut records, format) = open(path, request)?;
    assembler.set_delimiter(format.separator());
    let mut targets = match &schema.target.file {
        Some(file) if request.task.needs_target() => Some(TargetFile::open(path, file, &format)?),
        _ => None,
    };
    let mut names = None;
    if schema.text.header {
        let Some((line, header)) = records.next()? else {
            return Ok(());
        };
        let header: Vec<String> = header.map(str::to_string).collect();
        names = Some((header, assembler.line(line).to_string()));
    }
    let mut layout = None;
    while let Some((line, fields)) = records.next()? {
        let fields: Vec<&str> = fields.collect();
        let spot = assembler.line(line);
        let (layout, width) = match &mut layout {
            Some(known) => known,
            none => {
                let found = match names.take() {
                    Some((names, place)) => named(names, fields.len(), request, &place)?,
                    None => Layout::by_position(request, fields.len())?,
                };
                assembler.begin(&found.0);
                none.insert(found)
            }
        };
        if fields.len() != *width {
            return Err(Fault::new(
                format!("the line has {} fields, not {width}", fields.len()),
                "check schema.delimiter, the list of schema.columns, and the quotes on this line",
            )
            .at(spot));
        }
        let target = match &mut targets {
            Some(targets) => Some(targets.next(spot)?),
            None => None,
        };
        assembler.record(spot, layout, |at| fields.get(at).copied(), target)?;
    }
    targets.map_or(Ok(()), TargetFile::finish)?;
    // A header alone: what is wrong with it is worth more than that no row follows.
    match names {
        Some((names, place)) => Layout::by_name(&names, request, &place).map(|_| ()),
        None => Ok(()),
    }
}

/// Opens a site's file as it says that it is written, or as its first lines tell.
fn open(path: &Path, request: &Request<'_>) -> Result<(Records, TextFormat)> {
    let Request { schema, reading, .. } = request;
    let mut format = TextFormat {
        delimiter: reading.delimiter.or(schema.text.delimiter),
        encoding: reading.encoding,
        ..schema.text.clone()
    };
    let mut input = open_text(path, format.encoding)?;
    if format.delimiter.is_none() {
        // What cannot be read says so as soon as rows are.
        let head = input.fill_buf().unwrap_or_default();
        format.delimiter = Some(sniff::delimiter(head, path, schema, &format));
    }
    Ok((Records::of(input, path, &format), format))
}

/// The layout of a header, above records of so many fields. R's `write.table` leaves the place
/// above the row names out.
fn named(
    mut names: Vec<String>,
    fields: usize,
    request: &Request<'_>,
    place: &str,
) -> Result<(Layout, usize)> {
    if names.len() + 1 == fields && !names.iter().any(String::is_empty) {
        names.insert(0, String::new());
    }
    Ok((Layout::by_name(&names, request, place)?, names.len()))
}

/// A file with one target per row.
struct TargetFile {
    records: Records,
    name: String,
    text: String,
}

impl TargetFile {
    fn open(rows: &Path, file: &str, format: &TextFormat) -> Result<Self> {
        let path = rows.parent().unwrap_or(Path::new("")).join(file);
        let format = TextFormat { header: false, skip_lines: 0, ..format.clone() };
        let records = Records::open(&path, &format)?;
        Ok(Self { records, name: path.display().to_string(), text: String::new() })
    }

    fn next(&mut self, row: Spot<'_>) -> Result<Cell<'_>> {
        let Some((line, fields)) = self.records.next()? else {
            return Err(Fault::new(
                format!("the file ends before the target of {row}"),
                "it must hold one target per row, in the same order",
            )
            .at(&self.name));
        };
        let fields: Vec<&str> = fields.collect();
        let &[text] = fields.as_slice() else {
            return Err(Fault::new(
                format!("the line has {} fields, not 1", fields.len()),
                "a target file has one column and no header",
            )
            .at(Spot { file: &self.name, number: line, is_row: false }));
        };
        self.text.clear();
        self.text.push_str(text);
        let spot = Spot { file: &self.name, number: line, is_row: false };
        Ok(Cell { spot, text: Some(&self.text) })
    }

    fn finish(mut self) -> Result<()> {
        match self.records.next()? {
            None => Ok(()),
            Some((line, _)) => Err(Fault::new(
                "there are more targets than rows",
                "it must hold one target per row, in the same order, and no header",
            )
            .at(Spot { file: &self.name, number: line, is_row: false })),
        }
    }
}

/// The records of a text file.
pub struct Records {
    name: String,
    trim: bool,
    reader: csv::Reader<Lines<TextInput>>,
    record: csv::StringRecord,
}

impl Records {
    /// Opens a file.
    pub fn open(path: &Path, format: &TextFormat) -> Result<Self> {
        Ok(Self::of(open_text(path, format.encoding)?, path, format))
    }

    /// The records of what is open already; messages call it `path`.
    fn of(input: TextInput, path: &Path, format: &TextFormat) -> Self {
        let lines = Lines::new(input, path, format);
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(format.separator())
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(lines);
        let name = shown_path(path);
        Self { name, trim: format.trim, reader, record: csv::StringRecord::new() }
    }

    /// The next record, and the line it begins on.
    #[allow(clippy::should_implement_trait)] // The fields borrow from the reader.
    pub fn next(&mut self) -> Result<Option<(usize, impl Iterator<Item = &str>)>> {
        self.reader.get_mut().begin_record();
        let outcome = self.reader.read_record(&mut self.record);
        let lines = self.reader.get_mut();
        match outcome {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => {
                let spot = Spot { file: &self.name, number: lines.start(), is_row: false };
                return Err(match lines.failure.take() {
                    Some(failure) => failure,
                    None => match error.kind() {
                        csv::ErrorKind::Utf8 { err, .. } => not_utf8(spot, err.field() + 1),
                        _ => Error::input(format!("{spot}: cannot be read: {error}")),
                    },
                });
            }
        }
        let (line, trim) = (lines.start(), self.trim);
        let fields = self.record.iter();
        Ok(Some((line, fields.map(move |field| if trim { field.trim() } else { field }))))
    }
}

/// The complaint about a field in another encoding.
pub(super) fn not_utf8(spot: Spot<'_>, field: usize) -> Error {
    Fault::new(
        format!("field {field} is not UTF-8 text"),
        "say beside the file how it is written, encoding = \"latin-1\" (or \"utf-16\"), or save \
         it as UTF-8",
    )
    .at(spot)
}

/// The lines that hold data, numbered as an editor does. Skipped, blank and comment lines never
/// reach the parser, and no line may be endless.
pub struct Lines<R> {
    source: R,
    name: String,
    skip: usize,
    comment: Option<u8>,
    delimiter: u8,
    /// The number of the line in `buffer`.
    number: usize,
    buffer: Vec<u8>,
    /// Where the parser stands in `buffer`.
    at: usize,
    first_of_record: Option<usize>,
    bytes_of_record: usize,
    failure: Option<Error>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `source`, which messages call `path`.
    pub fn new(source: R, path: &Path, format: &TextFormat) -> Self {
        Self {
            source,
            name: shown_path(path),
            skip: format.skip_lines,
            comment: format.comment,
            delimiter: format.separator(),
            number: 0,
            buffer: Vec::new(),
            at: 0,
            first_of_record: None,
            bytes_of_record: 0,
            failure: None,
        }
    }

    /// The next line with data, without its end.
    pub fn next_line(&mut self) -> Result<Option<(usize, &[u8])>> {
        loop {
            self.buffer.clear();
            self.at = 0;
            let mut limited = (&mut self.source).take(LONGEST as u64 + 1);
            let outcome = limited.read_until(b'\n', &mut self.buffer);
            self.number += 1;
            let spot = Spot { file: &self.name, number: self.number, is_row: false };
            match outcome {
                Ok(0) => return Ok(None),
                Ok(_) if self.buffer.len() > LONGEST => return Err(too_long(spot, "line")),
                Ok(_) => {}
                Err(error) => {
                    return Err(Error::input(format!("{spot}: cannot be read: {error}"))
                        .hint("check the disk, and that the file is a plain file"));
                }
            }
            if self.number == 1 && self.buffer.starts_with(b"\xEF\xBB\xBF") {
                self.buffer.drain(..3);
            }
            while matches!(self.buffer.last(), Some(b'\n' | b'\r')) {
                self.buffer.pop();
            }
            if self.number > self.skip && !self.is_blank() && !self.is_comment() {
                return Ok(Some((self.number, &self.buffer)));
            }
        }
    }

    fn begin_record(&mut self) {
        self.first_of_record = None;
        self.bytes_of_record = 0;
    }

    /// The line that the record begins on.
    fn start(&self) -> usize {
        self.first_of_record.unwrap_or(self.number)
    }

    fn is_blank(&self) -> bool {
        // A line of tabs is a row of empty fields where tabs are the delimiter.
        let blank = |byte: u8| byte == b' ' || (byte == b'\t' && self.delimiter != b'\t');
        self.buffer.iter().all(|&byte| blank(byte))
    }

    fn is_comment(&self) -> bool {
        self.comment.is_some() && self.buffer.trim_ascii_start().first() == self.comment.as_ref()
    }

    /// Puts the next line into the buffer for the parser, which may need several for one record.
    fn refill(&mut self) -> Result<bool> {
        if self.next_line()?.is_none() {
            return Ok(false);
        }
        self.buffer.push(b'\n');
        let first = *self.first_of_record.get_or_insert(self.number);
        self.bytes_of_record += self.buffer.len();
        if self.bytes_of_record > LONGEST + 1 {
            let spot = Spot { file: &self.name, number: first, is_row: false };
            return Err(too_long(spot, "record"));
        }
        Ok(true)
    }
}

/// Hands out at most one line per call, so that the line of a record is known when it is complete.
impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            match self.refill() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("refused"));
                }
            }
        }
        let length = out.len().min(self.buffer.len() - self.at);
        out[..length].copy_from_slice(&self.buffer[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}

fn too_long(spot: Spot<'_>, what: &str) -> Error {
    Fault::new(
        format!("the {what} is longer than {} MiB", LONGEST >> 20),
        "is this a text file? A quote that is never closed also makes one record of many lines",
    )
    .at(spot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::{dense, loaded};
    use crate::schema::tests::schema;
    use proptest::prelude::*;

    const TWO: &str = r#"
        header = false
        rows_to_unit_ball = false
        columns = [
          { name = "a", kind = "numeric", bound = 10 },
          { name = "b", kind = "categorical", levels = ["x", "y"] },
        ]
        target = { name = "label" }
    "#;

    fn complaint(bytes: impl AsRef<[u8]>, schema: &str) -> String {
        loaded("rows.csv", bytes, schema).expect_err("this is no valid file")
    }

    #[test]
    fn a_complaint_names_the_line_an_editor_shows() {
        let schema = format!("skip_lines = 2\ncomment = \"#\"\n{TWO}");
        for (text, line) in [
            ("title\n\n1,x,1\nbad,x,1\n", 4),
            ("title\n\n# note\n\n  \n1,x,1\n # note\n\nbad,x,1", 9),
            ("title\r\n\r\n\r\n1,x,1\r\n\r\nbad,x,1\r\n", 6),
            ("title\n\n1,\"x\",1\n\nbad,\"x\",1\n", 5),
            ("title\n\nbad,\"x\n\ny\",1\n", 3),
        ] {
            let message = complaint(text, &schema);
            let expected = format!("rows.csv:{line}: column `a`: `bad` is not a number");
            assert!(message.starts_with(&expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_quoted_field_may_hold_delimiters_and_line_ends() {
        let schema = TWO.replace(
            "{ name = \"b\", kind = \"categorical\", levels = [\"x\", \"y\"] }",
            "{ name = \"b\", kind = \"ignore\" }",
        );
        let loaded = loaded("rows.csv", "1,\"a, \"\"b\"\"\nc\",1\n5,z,-1\n", &schema).unwrap();
        assert_eq!(dense(&loaded), [[0.1], [0.5]]);
    }

    #[test]
    fn every_bad_value_is_named_with_its_row_and_column() {
        for (text, expected) in [
            ("1,x,1\n1,x\n", "rows.csv:2: the line has 2 fields, not 3"),
            ("1,x,1,1\n", "rows.csv:1: the line has 4 fields, not 3"),
            ("nan,x,1\n", "rows.csv:1: column `a`: `nan` is not a finite number"),
            ("1e999,x,1\n", "rows.csv:1: column `a`: `1e999` is not a finite number"),
            (",x,1\n", "rows.csv:1: column `a`: there is nothing"),
            ("1,z,1\n", "rows.csv:1: column `b`: `z` is not a level"),
            (
                "1,x,7\n",
                "rows.csv:1: column `label`: `7` is a label value a classifier does not know",
            ),
        ] {
            let message = complaint(text, TWO);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.contains("\n\nhint: "), "{message}");
        }
        let latin = complaint(b"1,x,1\n1,\xE4,1\n", TWO);
        assert!(latin.starts_with("rows.csv:2: field 2 is not UTF-8 text"), "{latin}");
    }

    #[test]
    fn a_header_must_name_the_columns_of_the_schema() {
        let schema = TWO.replace("header = false", "");
        for (header, expected) in [
            ("a,b,c,label", "rows.csv:1: column `c` is not in the schema"),
            ("a,label", "rows.csv:1: there is no column `b`"),
            ("a,b", "rows.csv:1: there is no column `label`"),
            ("a,b,a,label", "rows.csv:1: two columns are called `a`"),
        ] {
            let message = complaint(format!("{header}\n1,x,1\n"), &schema);
            assert!(message.starts_with(expected), "{message}");
        }
        let good = loaded("rows.csv", "\u{feff}label, b ,a\n1,y,5\n", &schema).unwrap();
        assert_eq!(dense(&good), [[0.5, 0.0, 1.0]]);
    }

    #[test]
    fn a_target_file_holds_one_target_per_row() {
        let schema = TWO.replace("name = \"label\"", "file = \"rows.csv\"");
        // Only the rows' own file exists here, so that it serves as its target file too.
        let message = complaint("1,x\n", &schema);
        assert!(message.starts_with("rows.csv:1: the line has 2 fields, not 1"), "{message}");
        let load = |targets: &str| {
            let (directory, path) = crate::load::tests::written("rows.data", "1,x\n2,y\n");
            std::fs::write(directory.path().join("y.csv"), targets).unwrap();
            let schema = super::tests::schema(&format!(
                "[schema]\n{}",
                TWO.replace("name = \"label\"", "file = \"y.csv\"")
            ));
            let schema = schema.unwrap();
            let request = crate::load::tests::all(&schema, dzoa::problem::loss::Targets::Signs);
            crate::load::load(&path, &request).map_err(|error| error.to_string())
        };
        assert_eq!(load("1\n\n-1\n").unwrap().samples.targets, [1.0, -1.0]);
        assert!(load("1\n").unwrap_err().contains("y.csv: the file ends before the target of"));
        assert!(load("1\n1\n1\n").unwrap_err().contains("y.csv:3: there are more targets"));
        assert!(load("1\nx\n").unwrap_err().contains("y.csv:2: column `label`: `x` is a label"));
    }

    #[test]
    fn an_endless_line_is_refused_after_16_mebibytes() {
        let format = schema(&format!("[schema]\n{TWO}")).unwrap().text;
        let endless = io::BufReader::new(io::repeat(b'1'));
        let mut lines = Lines::new(endless, Path::new("rows.csv"), &format);
        let message = lines.next_line().unwrap_err().to_string();
        assert!(message.starts_with("rows.csv:1: the line is longer than 16 MiB"), "{message}");
        assert!(lines.buffer.capacity() <= 4 * LONGEST);
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_swallow_a_large_file() {
        let text = format!("1,x,1\n1,\"x,1\n{}", "1,x,1\n".repeat(LONGEST / 6 + 9));
        let message = complaint(text, TWO);
        assert!(message.starts_with("rows.csv:2: the record is longer than 16 MiB"), "{message}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = loaded("rows.csv", bytes, TWO);
        }

        #[test]
        fn no_likely_text_makes_the_reader_panic(
            text in "[0-9xy,\"\r\n #?.e-]{0,200}",
            header: bool,
        ) {
            let keys = format!("header = {header}\ncomment = \"#\"");
            let schema = TWO.replace("header = false", &keys);
            let _ = loaded("rows.csv", text, &schema);
        }

        #[test]
        fn a_damaged_file_loads_or_is_refused(at in 0_usize..1000, byte: u8) {
            let mut bytes = "1,x,1\n2,y,-1\n".repeat(20).into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(loaded) = loaded("rows.csv", bytes, TWO) {
                // Within [-1, 1] whatever the byte was.
                prop_assert!(dense(&loaded).iter().flatten().all(|value| value.abs() <= 1.0));
            }
        }
    }
}
