//! LIBSVM files: `label index:value index:value ...`, indices from 1 and increasing.

use super::assembler::{Assembler, Fate};
use super::input::open_text;
use super::text::{Lines, not_utf8};
use super::{Cell, Spot};
use crate::error::{Error, Result, shown};
use crate::schema::{Fault, Libsvm, TextFormat, number};
use std::path::Path;

/// Reads a LIBSVM file.
pub(super) fn load(path: &Path, schema: &Libsvm, assembler: &mut Assembler<'_>) -> Result<()> {
    if let Some(column) = assembler.request.label_column {
        return Err(Error::input(format!(
            "{}: a LIBSVM file has no column {} to partition by",
            assembler.file,
            shown(column)
        ))
        .hint("use the partition \"contiguous\", \"iid\" or \"dirichlet\""));
    }
    let text = assembler.request.schema.text.clone();
    let mut lines = Lines::new(open_text(path, assembler.request.reading.encoding)?, path, &text);
    while let Some((line, bytes)) = lines.next_line()? {
        let spot = assembler.line(line);
        let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(spot, 1))?;
        let Row { label, entries } = parse(text).map_err(|fault| fault.at(spot))?;
        if label.is_none() && assembler.request.task.needs_target() {
            return Err(
                Fault::new("the line has no label", "it must begin with one: 1 3:0.5").at(spot)
            );
        }
        let target = label.map(|label| assembler.recoded(Cell { spot, text: Some(label) }));
        let is_missing = |text: &str| assembler.request.schema.is_missing(text);
        let absent = entries.iter().find(|(_, text)| is_missing(text));
        let absent = absent.map(|(index, _)| index.to_string());
        assembler.begin_input();
        match assembler.fate(target, absent.is_some()) {
            Fate::Drop => assembler.unpredicted(absent.as_deref()),
            Fate::Blank => assembler.blank_row(None),
            Fate::Encode => {
                let outcome = encode(&entries, schema, spot, assembler)
                    .and_then(|()| assembler.end_row(target, None));
                assembler.judge(spot, outcome)?;
            }
        }
    }
    Ok(())
}

/// The features of one row. What is missing is 0, the middle of the range: here an entry that is
/// not written is 0, too, so that no column tells the two apart.
fn encode(
    entries: &[(usize, &str)],
    schema: &Libsvm,
    spot: Spot<'_>,
    assembler: &mut Assembler<'_>,
) -> Result<()> {
    assembler.begin_row();
    for &(index, text) in entries {
        if index > schema.features {
            return Err(Fault::new(
                format!("index {index} is above `schema.features` = {}", schema.features),
                "the width is public: raise it in every agent's schema",
            )
            .at(spot));
        }
        if assembler.request.schema.is_missing(text) {
            assembler.counts.missing += 1;
            continue;
        }
        let value = number(text).map_err(|fault| fault.at(format!("{spot}: column {index}")))?;
        let (value, clipped) = schema.range.apply(value);
        assembler.counts.clipped += usize::from(clipped);
        if value != 0.0 {
            assembler.entries.push((index - 1, value));
        }
    }
    Ok(())
}

/// The lines of a LIBSVM file as infer sees them, without a schema.
pub fn visit(path: &Path, mut each: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
    let format = TextFormat { header: false, delimiter: Some(b' '), ..TextFormat::default() };
    let name = path.display().to_string();
    let mut lines = Lines::new(open_text(path, None)?, path, &format);
    while let Some((line, bytes)) = lines.next_line()? {
        let spot = Spot { file: &name, number: line, is_row: false };
        let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(spot, 1))?;
        each(parse(text).map_err(|fault| fault.at(spot))?)?;
    }
    Ok(())
}

/// One line.
#[derive(Debug, PartialEq)]
pub struct Row<'a> {
    /// The first word, unless that is an entry already.
    pub label: Option<&'a str>,
    /// Indices from 1, strictly increasing, and their values as text.
    pub entries: Vec<(usize, &'a str)>,
}

/// Takes a line apart.
pub fn parse(line: &str) -> std::result::Result<Row<'_>, Fault> {
    let mut words = line.split_ascii_whitespace().peekable();
    let label = words.next_if(|word| !word.contains(':'));
    let mut entries: Vec<(usize, &str)> = Vec::new();
    for word in words {
        let entry = word.split_once(':').filter(|(_, value)| !value.contains(':'));
        let Some((index, value)) = entry else {
            return Err(Fault::new(
                format!("{} is not an entry", shown(word)),
                "after the label come entries index:value, and nothing else",
            ));
        };
        // Only digits: `parse` alone would take `+3`.
        let digits = index.bytes().all(|byte| byte.is_ascii_digit());
        let Some(index) = index.parse::<usize>().ok().filter(|_| digits) else {
            return Err(Fault::new(
                format!("{} is not an index", shown(index)),
                "an index is a whole number from 1 to `schema.features`",
            ));
        };
        if index == 0 {
            return Err(Fault::new("index 0 is not allowed", "LIBSVM counts columns from 1"));
        }
        if let Some(&(last, _)) = entries.last()
            && index <= last
        {
            return Err(Fault::new(
                format!("index {index} comes after index {last}"),
                "indices of a line must increase, and none may stand there twice",
            ));
        }
        entries.push((index, value));
    }
    Ok(Row { label, entries })
}

#[cfg(test)]
mod tests {
    use crate::load::Counts;
    use crate::load::tests::{dense, loaded};
    use proptest::prelude::*;

    const THREE: &str = "features = 3\nbound = 2.0\nmissing = [\"?\"]\nrows_to_unit_ball = false";

    #[test]
    fn entries_are_scaled_clipped_and_stored_sparse() {
        let loaded = loaded("a.svm", "+1 1:1 3:-5 \n\n-1\n-1 2:0\n1 1:?\n", THREE).unwrap();
        assert_eq!(dense(&loaded), [[0.5, 0.0, -1.0], [0.0; 3], [0.0; 3]]);
        assert_eq!(loaded.samples.targets, [1.0, -1.0, -1.0]);
        assert_eq!(loaded.counts, Counts { read: 4, dropped: 1, clipped: 1, ..Counts::default() });
        assert!(loaded.samples.rows.is_sparse());
        assert_eq!(loaded.samples.rows.stored(), 2, "zeros are not stored");
    }

    #[test]
    fn with_indicators_a_missing_entry_is_zero_and_the_row_stays() {
        let schema = format!("{THREE}\non_missing = \"indicator\"");
        let loaded = loaded("a.svm", "+1 1:1 3:?\n? 1:1\n-1 2:2\n", &schema).unwrap();
        assert_eq!(dense(&loaded), [[0.5, 0.0, 0.0], [0.0; 3], [0.0, 1.0, 0.0]]);
        assert_eq!(loaded.samples.targets, [1.0, -1.0, -1.0]);
        let counts = Counts { read: 3, missing: 1, without_target: 1, ..Counts::default() };
        assert_eq!(loaded.counts, counts);
    }

    #[test]
    fn every_malformed_line_is_named() {
        for (line, expected) in [
            ("1 0:1", "index 0 is not allowed"),
            ("1 2:1 2:1", "index 2 comes after index 2"),
            ("1 2:1 1:1", "index 1 comes after index 2"),
            ("1 4:1", "index 4 is above `schema.features` = 3"),
            ("1 99999999999999999999:1", "`99999999999999999999` is not an index"),
            ("1 +1:1", "`+1` is not an index"),
            ("1 -1:1", "`-1` is not an index"),
            ("1 :1", "`` is not an index"),
            ("1 1:", "column 1: there is nothing"),
            ("1 1:x", "column 1: `x` is not a number"),
            ("1 1:inf", "column 1: `inf` is not a finite number"),
            ("1 1:1:1", "`1:1:1` is not an entry"),
            ("1 1:1 junk", "`junk` is not an entry"),
            ("1:1", "the line has no label"),
            ("2 1:1", "column `label`: `2` is a label value"),
        ] {
            let message = loaded("a.libsvm", format!("\n1 1:1\n{line}\n"), THREE).unwrap_err();
            assert!(message.starts_with(&format!("a.libsvm:3: {expected}")), "{line}: {message}");
        }
        let latin = loaded("a.libsvm", b"1 1:\xE4", THREE).unwrap_err();
        assert!(latin.starts_with("a.libsvm:1: "), "{latin}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = loaded("a.svm", bytes, THREE);
        }

        #[test]
        fn what_was_written_is_what_is_read(
            rows in prop::collection::vec(
                (any::<bool>(), prop::array::uniform3(-2.0..2.0_f64)),
                1..9,
            ),
        ) {
            let line = |(label, row): &(bool, [f64; 3])| {
                format!("{} 1:{} 2:{} 3:{}\n", i32::from(*label), row[0], row[1], row[2])
            };
            let text: String = rows.iter().map(line).collect();
            let loaded = loaded("a.svm", text, THREE).unwrap();
            let halved = rows.iter().map(|(_, row)| row.map(|value| value / 2.0));
            let expected: Vec<_> = halved.collect();
            prop_assert_eq!(dense(&loaded), expected);
        }

        #[test]
        fn a_damaged_file_loads_or_is_refused(at in 0_usize..1000, byte: u8) {
            let mut bytes = "1 1:1 2:0.5\n-1 3:1\n".repeat(20).into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = loaded("a.svm", bytes, THREE);
        }
    }
}
