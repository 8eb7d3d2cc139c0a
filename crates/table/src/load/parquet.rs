//! Parquet files, by column name. Without the cargo feature `parquet` they are refused.

#[cfg(feature = "parquet")]
pub use reading::ParquetTable;

use super::assembler::Assembler;
use crate::error::Result;
use std::path::Path;

/// Reads a Parquet file.
#[cfg(feature = "parquet")]
pub(super) fn load(path: &Path, assembler: &mut Assembler<'_>) -> Result<()> {
    use super::Spot;
    use super::layout::Layout;
    let request = assembler.request;
    if let Some(file) = &request.schema.target.file {
        // A row number would have to match a line number of another file; nobody needs that.
        return Err(crate::error::Error::input(format!(
            "{}: a target file ({}) cannot go with Parquet rows",
            assembler.file,
            crate::error::shown(file)
        ))
        .hint("put the target into the Parquet file"));
    }
    let table = ParquetTable::open(path)?;
    let layout = Layout::by_name(table.names(), request, assembler.file)?;
    assembler.begin(&layout);
    let file = assembler.file;
    table.visit(|row, cells| {
        let spot = Spot { file, number: row, is_row: true };
        assembler.record(spot, &layout, |at| cells[at].as_deref(), None)
    })
}

/// Refuses a Parquet file.
#[cfg(not(feature = "parquet"))]
pub(super) fn load(path: &Path, _assembler: &mut Assembler<'_>) -> Result<()> {
    Err(refusal(path))
}

/// This program cannot read Parquet.
#[cfg(not(feature = "parquet"))]
pub fn refusal(path: &Path) -> crate::error::Error {
    crate::error::Error::input(format!("{}: this dzoa was built without Parquet", path.display()))
        .hint(
            "packages read it; a build of your own does with `cargo build --release --features \
             parquet`; or convert the file to .csv",
        )
}

#[cfg(feature = "parquet")]
mod reading {
    use crate::error::{Error, Result};
    use crate::load::open;
    use parquet::errors::ParquetError;
    use parquet::file::metadata::ParquetMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::cell::Cell;
    use std::fs::File;
    use std::panic::{self, AssertUnwindSafe};
    use std::path::Path;
    use std::sync::Once;

    /// A file that unpacks to more bytes than this, and to so many times its own, is refused: a few
    /// hundred kilobytes can be made to fill any memory.
    const MOST_BYTES: u64 = 1 << 30;
    const MOST_TIMES: u64 = 1000;

    /// An open Parquet file.
    pub struct ParquetTable {
        file: String,
        names: Vec<String>,
        reader: SerializedFileReader<File>,
    }

    impl ParquetTable {
        /// Opens a file and reads its column names.
        pub fn open(path: &Path) -> Result<Self> {
            let file = path.display().to_string();
            let source = open(path)?;
            let packed = source.metadata().map_or(0, |file| file.len());
            let reader = guarded(&file, || SerializedFileReader::new(source))?;
            let metadata = reader.metadata();
            let fields = metadata.file_metadata().schema().get_fields();
            let names = fields.iter().map(|field| field.name().to_string()).collect();
            // A damaged count would otherwise be believed, row by row.
            let honest = metadata.row_groups().iter().all(|group| {
                group.columns().iter().all(|column| {
                    column.column_descr().max_rep_level() > 0
                        || column.num_values() == group.num_rows()
                })
            });
            if !honest {
                return Err(damaged(&file, "its counts of rows do not agree"));
            }
            let unpacked = unpacked(metadata);
            if unpacked > MOST_BYTES && unpacked / MOST_TIMES > packed {
                let (packed, unpacked) = (packed as f64 / 1e6, unpacked as f64 / 1e6);
                return Err(Error::input(format!(
                    "{file}: {packed:.1} MB that unpack to {unpacked:.0} MB"
                ))
                .hint("if it is what it should be, write it without compression, or as .csv"));
            }
            Ok(Self { file, names, reader })
        }

        /// The columns in order.
        pub fn names(&self) -> &[String] {
            &self.names
        }

        /// Calls `each` with the number of every row, from 1, and its values as text.
        pub fn visit(
            &self,
            mut each: impl FnMut(usize, &[Option<String>]) -> Result<()>,
        ) -> Result<()> {
            let file = self.file.as_str();
            let mut rows = guarded(file, || self.reader.get_row_iter(None))?;
            for number in 1.. {
                // Only the decoding is guarded: a panic of ours must stay one.
                let cells = guarded(file, || {
                    let Some(row) = rows.next().transpose()? else { return Ok(None) };
                    Ok(Some(
                        row.get_column_iter().map(|(_, field)| text(field)).collect::<Vec<_>>(),
                    ))
                })?;
                let Some(cells) = cells else { break };
                if cells.len() != self.names.len() {
                    return Err(damaged(file, "a row lacks columns"));
                }
                each(number, &cells)?;
            }
            Ok(())
        }
    }

    /// Bytes of everything in it: as its columns say, or as rows in memory.
    fn unpacked(metadata: &ParquetMetaData) -> u64 {
        let count = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
        let groups = metadata.row_groups().iter().flat_map(|group| {
            let rows = count(group.num_rows()).saturating_mul(8);
            group.columns().iter().map(move |column| rows.max(count(column.uncompressed_size())))
        });
        groups.fold(0, u64::saturating_add)
    }

    /// The value as it would stand in a text file. Numbers survive the way through text exactly;
    /// dates and lists become texts that no schema takes for a number.
    fn text(field: &Field) -> Option<String> {
        match field {
            Field::Null => None,
            Field::Str(text) => Some(text.clone()),
            Field::Bytes(bytes) => Some(String::from_utf8_lossy(bytes.data()).into_owned()),
            Field::Double(number) => Some(number.to_string()),
            Field::Float(number) => Some(f64::from(*number).to_string()),
            other => Some(other.to_string()),
        }
    }

    thread_local! {
        static DECODING: Cell<bool> = const { Cell::new(false) };
    }

    /// The parquet crate panics on some damaged files; for us these are wrong input like any other,
    /// and a user sees our one line only.
    fn guarded<T>(
        file: &str,
        work: impl FnOnce() -> std::result::Result<T, ParquetError>,
    ) -> Result<T> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !DECODING.get() {
                    usual(info);
                }
            }));
        });
        DECODING.set(true);
        let outcome = panic::catch_unwind(AssertUnwindSafe(work));
        DECODING.set(false);
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(damaged(file, &error.to_string())),
            Err(_) => Err(damaged(file, "it cannot be decoded")),
        }
    }

    fn damaged(file: &str, problem: &str) -> Error {
        Error::input(format!("{file}: not a sound Parquet file: {problem}"))
            .hint("write the file anew; text files are named .csv")
    }
}

#[cfg(all(test, feature = "parquet"))]
pub(crate) mod tests {
    use crate::load::Counts;
    use crate::load::tests::{dense, loaded};
    use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// age, town, sex, day and label of four people; the third one's age is not recorded.
    pub fn people() -> Vec<u8> {
        let message = "message people {
            optional double age; required binary town (UTF8); required binary sex (UTF8);
            required int32 day (DATE); required int64 label;
        }";
        let schema = Arc::new(parse_message_type(message).unwrap());
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ages = column.typed::<DoubleType>();
        ages.write_batch(&[50.0, 0.1, 250.0], Some(&[1, 1, 0, 1]), None).unwrap();
        column.close().unwrap();
        for texts in [["Ulm", "Bonn", "Ulm", "Kiel"], ["f", "m", "f", "m"]] {
            let mut column = group.next_column().unwrap().unwrap();
            let texts = texts.map(|text| text.into());
            column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let days = column.typed::<parquet::data_type::Int32Type>();
        days.write_batch(&[1, 2, 3, 4], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[0, 1, 0, 1], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        bytes
    }

    const PEOPLE: &str = r#"
        rows_to_unit_ball = false
        columns = [
          { name = "sex", kind = "categorical", levels = ["f", "m"] },
          { name = "age", kind = "numeric", bound = 100 },
          { name = "town", kind = "ignore" },
          { name = "day", kind = "ignore" },
        ]
        target = { name = "label" }
    "#;

    #[test]
    fn columns_are_found_by_name_and_nulls_are_missing() {
        let loaded = loaded("people.parquet", people(), PEOPLE).unwrap();
        assert_eq!(dense(&loaded), [[1.0, 0.0, 0.5], [0.0, 1.0, 0.1 / 100.0], [0.0, 1.0, 1.0]]);
        assert_eq!(loaded.samples.targets, [-1.0, 1.0, 1.0]);
        assert_eq!(loaded.counts, Counts { read: 4, dropped: 1, clipped: 1, ..Counts::default() });
    }

    #[test]
    fn with_indicators_a_null_keeps_its_row() {
        let schema = format!("on_missing = \"indicator\"\n{PEOPLE}");
        let schema = schema.replace("[\"f\", \"m\"]", "[\"f\", \"m\"], missing = false");
        let loaded = loaded("people.parquet", people(), &schema).unwrap();
        let expected = [
            [1.0, 0.0, 0.5, 0.0],
            [0.0, 1.0, 0.001, 0.0],
            [1.0, 0.0, 0.0, 1.0],
            [0.0, 1.0, 1.0, 0.0],
        ];
        assert_eq!(dense(&loaded), expected);
        let counts = Counts { read: 4, missing: 1, clipped: 1, ..Counts::default() };
        assert_eq!(loaded.counts, counts);
    }

    #[test]
    fn a_complaint_names_row_and_column() {
        let schema = PEOPLE.replace("[\"f\", \"m\"]", "[\"f\"]");
        let message = loaded("people.parquet", people(), &schema).unwrap_err();
        assert!(
            message.starts_with("people.parquet: row 2: column `sex`: `m` is not a level"),
            "{message}"
        );
        let schema = PEOPLE.replace("{ name = \"day\", kind = \"ignore\" },", "");
        let message = loaded("people.parquet", people(), &schema).unwrap_err();
        assert!(
            message.starts_with("people.parquet: column `day` is not in the schema"),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_parquet_file_is_refused() {
        let whole = people();
        for bytes in [&b""[..], b"PAR1", b"a,b\n1,2\n", &whole[..whole.len() / 2]] {
            let message = loaded("a.parquet", bytes, PEOPLE).unwrap_err();
            assert!(message.starts_with("a.parquet: not a sound Parquet file: "), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = loaded("a.parquet", bytes, PEOPLE);
        }

        #[test]
        fn a_damaged_file_loads_or_is_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = people();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = loaded("a.parquet", bytes, PEOPLE);
        }
    }

    /// One number, 140 million times: a few kilobytes.
    #[test]
    fn a_small_file_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked() {
        let schema = Arc::new(parse_message_type("message m { required int64 x; }").unwrap());
        let mut bytes = Vec::new();
        // Few pages: each of them has a header.
        let properties = WriterProperties::builder().set_data_page_row_count_limit(1 << 27);
        let properties = Arc::new(properties.build());
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let same = vec![7; 1 << 20];
        for _ in 0..134 {
            column.typed::<Int64Type>().write_batch(&same, None, None).unwrap();
        }
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bomb.parquet");
        std::fs::write(&path, &bytes).unwrap();
        let refused = super::ParquetTable::open(&path).err().unwrap().to_string();
        assert!(bytes.len() < 100_000, "{} bytes", bytes.len());
        assert!(refused.contains("MB that unpack to 1124 MB"), "{refused}");
    }
}
