//! `dzoa schema infer`: drafts a schema from data, and says that it looked at the data.

use crate::error::{Error, Result, shown};
use crate::load::text::{Lines, Records};
use crate::load::{Format, libsvm, open, parquet};
use crate::schema::TextFormat;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A column with more different texts than this is taken for an identifier.
const MOST_LEVELS: usize = 100;

/// Enough lines to tell how a file is written.
const SAMPLE: usize = 100;

/// Drafts a commented `[schema]` from files of the same shape.
pub fn infer_schema(paths: &[PathBuf]) -> Result<String> {
    let Some(first) = paths.first() else {
        return Err(Error::input("there is no file to look at").hint("dzoa schema infer FILE..."));
    };
    let format = Format::of(first, true)?;
    for path in paths {
        if Format::of(path, true)? != format {
            return Err(Error::input(format!(
                "{} and {} are files of different formats",
                first.display(),
                path.display()
            ))
            .hint("infer one schema from files of one format"));
        }
    }
    let mut draft = Draft::default();
    match format {
        Format::Text => draft.read_text(paths)?,
        Format::Parquet => draft.read_parquet(paths)?,
        Format::Libsvm => draft.read_libsvm(paths)?,
    }
    draft.render(paths)
}

/// What was seen so far.
#[derive(Default)]
struct Draft {
    format: Option<TextFormat>,
    libsvm: Option<Entries>,
    /// The last one is the target.
    columns: Vec<Seen>,
    missing: BTreeSet<String>,
}

/// What was seen of the entries of LIBSVM files.
#[derive(Default)]
struct Entries {
    largest_index: usize,
    values: Seen,
}

/// What was seen of one column.
#[derive(Default)]
struct Seen {
    name: String,
    absent: usize,
    values: usize,
    texts: usize,
    largest: f64,
    distinct: BTreeSet<String>,
}

impl Draft {
    fn read_text(&mut self, paths: &[PathBuf]) -> Result<()> {
        let format = guess(&paths[0])?;
        for path in paths {
            let mut records = Records::open(path, &format)?;
            let mut names: Option<Vec<String>> = None;
            while let Some((line, fields)) = records.next()? {
                let fields: Vec<&str> = fields.collect();
                let place = format!("{}:{line}", path.display());
                if names.is_none() && format.header {
                    let header: Vec<String> = fields.iter().map(|&name| name.into()).collect();
                    self.name_columns(&header, &place)?;
                    names = Some(header);
                    continue;
                }
                if self.columns.is_empty() {
                    let width = fields.len();
                    let name = |at| match at == width {
                        true => "target".to_string(),
                        false => format!("column{at}"),
                    };
                    self.name_columns(&(1..=width).map(name).collect::<Vec<_>>(), &place)?;
                }
                if fields.len() != self.columns.len() {
                    return Err(Error::input(format!(
                        "{place}: the line has {} fields, not {}",
                        fields.len(),
                        self.columns.len()
                    ))
                    .hint("all lines need the same number of fields"));
                }
                for (seen, text) in self.columns.iter_mut().zip(fields) {
                    seen.note(Some(text), &mut self.missing);
                }
            }
        }
        self.format = Some(format);
        Ok(())
    }

    #[cfg(feature = "parquet")]
    fn read_parquet(&mut self, paths: &[PathBuf]) -> Result<()> {
        for path in paths {
            let table = parquet::ParquetTable::open(path)?;
            self.name_columns(table.names(), &path.display().to_string())?;
            table.visit(|_, cells| {
                for (seen, text) in self.columns.iter_mut().zip(cells) {
                    seen.note(text.as_deref(), &mut self.missing);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn read_parquet(&mut self, paths: &[PathBuf]) -> Result<()> {
        Err(parquet::refusal(&paths[0]))
    }

    fn read_libsvm(&mut self, paths: &[PathBuf]) -> Result<()> {
        let (mut entries, mut labels) = (Entries::default(), Seen::default());
        for path in paths {
            libsvm::visit(path, |row| {
                labels.note(row.label, &mut self.missing);
                for (index, text) in row.entries {
                    entries.largest_index = entries.largest_index.max(index);
                    entries.values.note(Some(text), &mut self.missing);
                }
                Ok(())
            })?;
        }
        if entries.values.texts > 0 {
            return Err(Error::input(format!(
                "{}: some entries are not numbers",
                paths[0].display()
            ))
            .hint("a LIBSVM line reads `label index:value index:value`"));
        }
        self.libsvm = Some(entries);
        self.columns = vec![labels];
        Ok(())
    }

    fn name_columns(&mut self, names: &[String], place: &str) -> Result<()> {
        let wrong = |problem: String, hint: &str| {
            Err(Error::input(format!("{place}: {problem}")).hint(hint))
        };
        if names.len() < 2 {
            return wrong(
                "only one column is there, which leaves nothing to learn from".into(),
                "is the delimiter one of comma, semicolon, tab, bar and blank?",
            );
        }
        if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            return wrong(
                format!("two columns are called {}", shown(&names[at])),
                "every column needs a name of its own",
            );
        }
        if self.columns.is_empty() {
            self.columns = names.iter().map(|name| Seen::called(name)).collect();
        }
        match names.iter().eq(self.columns.iter().map(|seen| &seen.name)) {
            true => Ok(()),
            false => wrong(
                "the columns are not those of the first file".into(),
                "infer one schema from files of one shape",
            ),
        }
    }

    fn render(&self, paths: &[PathBuf]) -> Result<String> {
        let wrong = |problem: &str| {
            Err(Error::input(format!("{}: {problem}", paths[0].display()))
                .hint("is this a file of rows, with the target in the last column?"))
        };
        let Some((target, features)) = self.columns.split_last() else {
            return wrong("there are no rows in it");
        };
        if target.values == 0 {
            return wrong("the last column, taken for the target, holds no value");
        }
        let mut out = String::from(WARNING);
        if let Some(TextFormat { header, skip_lines, delimiter, .. }) = &self.format {
            line(&mut out, format_args!("header = {header}"));
            line(&mut out, format_args!("skip_lines = {skip_lines}"));
            let delimiter = quoted(&char::from(*delimiter).to_string());
            line(&mut out, format_args!("delimiter = {delimiter}"));
        }
        // A cell that is empty one day must not end a run.
        let mut missing = self.missing.clone();
        missing.insert(String::new());
        line(&mut out, format_args!("missing = {}", list(&missing)));
        line(&mut out, format_args!("{ON_MISSING}"));
        line(&mut out, format_args!("rows_to_unit_ball = true"));
        if let Some(entries) = &self.libsvm {
            if entries.largest_index == 0 {
                return wrong("there are no entries in it");
            }
            line(&mut out, format_args!("features = {}", entries.largest_index));
            line(&mut out, format_args!("bound = {:?}", rounded_up(entries.values.largest)));
        } else {
            if features.iter().all(|seen| matches!(seen.guess(), Guess::Ignore(_))) {
                return wrong("no column is a number or one of few texts");
            }
            line(&mut out, format_args!("columns = ["));
            features.iter().for_each(|seen| line(&mut out, format_args!("  {}", seen.column())));
            line(&mut out, format_args!("]"));
        }
        line(&mut out, format_args!("target = {}", target.target(self.libsvm.is_none())));
        Ok(out)
    }
}

const WARNING: &str = "\
# Drafted by `dzoa schema infer`.
#
# WARNING: this draft looked at the data. Its bounds and levels, and which columns it takes for
# always recorded (`missing = false`), tell something about the people in it, and no accountant has
# counted that. Before a private run replace every bound, every list of levels and every `missing`
# by public knowledge (a code book, the range of the instrument), the same for all agents.

[schema]
";

const ON_MISSING: &str = "\
# A missing cell becomes the middle of its range (or no level) and a 1 in a column NAME:missing.
# With \"drop\" its row would go, and the number of rows, which is public, would tell of private
# cells.
on_missing = \"indicator\"";

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}

enum Guess {
    Numeric(f64),
    Categorical,
    Ignore(&'static str),
}

impl Seen {
    fn called(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn note(&mut self, text: Option<&str>, missing: &mut BTreeSet<String>) {
        let Some(text) = text else {
            self.absent += 1;
            return;
        };
        let number = text.parse::<f64>();
        let is_marker = matches!(text, "" | "?" | "NA" | "N/A" | "null" | "NULL");
        if is_marker || number.as_ref().is_ok_and(|number| !number.is_finite()) {
            missing.insert(text.into());
            self.absent += 1;
            return;
        }
        self.values += 1;
        match number {
            Ok(number) => self.largest = self.largest.max(number.abs()),
            Err(_) => self.texts += 1,
        }
        if self.distinct.len() <= MOST_LEVELS && !self.distinct.contains(text) {
            self.distinct.insert(text.into());
        }
    }

    fn guess(&self) -> Guess {
        match self {
            _ if self.values == 0 => Guess::Ignore("never recorded"),
            Seen { texts: 0, .. } => Guess::Numeric(rounded_up(self.largest)),
            _ if self.distinct.len() > MOST_LEVELS => Guess::Ignore("many texts: an identifier?"),
            _ => Guess::Categorical,
        }
    }

    fn column(&self) -> String {
        let name = quoted(&self.name);
        // A column that is always recorded needs no indicator.
        let missing = if self.absent == 0 { ", missing = false" } else { "" };
        match self.guess() {
            Guess::Numeric(bound) => {
                format!("{{ name = {name}, kind = \"numeric\", bound = {bound:?}{missing} }},")
            }
            Guess::Categorical => {
                let levels = list(&self.distinct);
                format!("{{ name = {name}, kind = \"categorical\", levels = {levels}{missing} }},")
            }
            Guess::Ignore(why) => format!("{{ name = {name}, kind = \"ignore\" }},   # {why}"),
        }
    }

    /// Two values are taken for labels, more numbers for a quantity.
    fn target(&self, has_name: bool) -> String {
        let name = match has_name {
            true => format!("name = {}, ", quoted(&self.name)),
            false => String::new(),
        };
        let is_label = self.distinct.len() <= 2 || self.texts > 0;
        if !is_label {
            let bound = rounded_up(self.largest);
            return format!("{{ {name}kind = \"numeric\", bound = {bound:?} }}   # for regression");
        }
        // Of two numbers the larger one is usually the positive label: 1 of 0 and 1, or of -1 and
        // +1.
        let value = |text: &String| text.parse().unwrap_or(0.0_f64);
        let positive = self.distinct.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
        let positive = quoted(positive.map_or("", String::as_str));
        let others = self.distinct.len().saturating_sub(1);
        let note = format!("# all others ({others} seen) are negative");
        format!("{{ {name}positive = {{ equals = {positive} }} }}   {note}")
    }
}

/// Two significant digits, so that a bound shows that it is only a draft.
fn rounded_up(largest: f64) -> f64 {
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

fn list(texts: &BTreeSet<String>) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A TOML string on one line.
fn quoted(text: &str) -> String {
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

/// How a text file is written, as far as its first lines tell.
fn guess(path: &Path) -> Result<TextFormat> {
    let mut format =
        TextFormat { header: false, skip_lines: 0, comment: None, delimiter: b',', trim: true };
    let mut lines = Lines::new(BufReader::new(open(path)?), path, &format);
    let mut sample: Vec<Vec<u8>> = Vec::new();
    while sample.len() < SAMPLE
        && let Some((_, line)) = lines.next_line()?
    {
        sample.push(line.trim_ascii().to_vec());
    }
    // The first line may be a title or a count, so that it has no say where there are others.
    let telling = &sample[sample.len().min(2) / 2..];
    let in_all = |delimiter: &u8| telling.iter().all(|line| line.contains(delimiter));
    format.delimiter = [b',', b';', b'\t', b'|', b' '].into_iter().find(in_all).unwrap_or(b',');

    let mut records = Records::open(path, &format)?;
    let mut first: Vec<(usize, Vec<String>)> = Vec::new();
    while first.len() < SAMPLE
        && let Some((line, fields)) = records.next()?
    {
        first.push((line, fields.map(str::to_string).collect()));
    }
    if let [(line, title), (_, next), ..] = first.as_slice()
        && title.len() != next.len()
    {
        format.skip_lines = *line;
        first.remove(0);
    }
    if let [(_, header), rows @ ..] = first.as_slice() {
        let is_name =
            |text: &String| !text.is_empty() && text != "?" && text.parse::<f64>().is_err();
        format.header = !rows.is_empty() && header.iter().all(is_name);
    }
    Ok(format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::{all, written};
    use crate::load::{Loaded, load};
    use crate::schema::tests::schema;
    use dzoa::problem::loss::Targets;
    use proptest::prelude::*;

    /// Drafts a schema and loads the same file with it.
    fn round(name: &str, bytes: impl AsRef<[u8]>, targets: Targets) -> (String, Loaded) {
        let (_directory, path) = written(name, bytes);
        let draft =
            infer_schema(std::slice::from_ref(&path)).unwrap_or_else(|error| panic!("{error}"));
        let schema = schema(&draft).unwrap_or_else(|error| panic!("{error}\n{draft}"));
        let loaded = load(&path, &all(&schema, targets));
        (draft.clone(), loaded.unwrap_or_else(|error| panic!("{error}\n{draft}")))
    }

    fn complaint(name: &str, bytes: &str) -> String {
        let (_directory, path) = written(name, bytes);
        infer_schema(&[path]).expect_err("nothing to draft from").to_string()
    }

    #[test]
    fn a_draft_warns_first_and_loads_its_own_file() {
        let text =
            "age,\"the \"\"town\"\"\",id,income\n41,Ulm,a1,high\n7,Bonn,?,low\n123,Ulm,a3,low\n";
        let (draft, loaded) = round("people.csv", text, Targets::Signs);
        let warning = draft.find("WARNING: this draft looked at the data").unwrap();
        assert!(warning < draft.find("[schema]").unwrap());
        for line in [
            "header = true",
            "missing = [\"\", \"?\"]",
            "on_missing = \"indicator\"",
            "{ name = \"age\", kind = \"numeric\", bound = 130.0, missing = false },",
            r#"kind = "categorical", levels = ["Bonn", "Ulm"], missing = false },"#,
            r#"{ name = "id", kind = "categorical", levels = ["a1", "a3"] },"#,
        ] {
            assert!(draft.contains(line), "{line}\n{draft}");
        }
        assert_eq!((loaded.counts.read, loaded.counts.dropped, loaded.counts.missing), (3, 0, 1));
        assert_eq!(loaded.samples.count(), 3, "every row of the file");
    }

    #[test]
    fn titles_delimiters_and_missing_headers_are_guessed() {
        let (draft, loaded) =
            round("a.txt", "three rows\n1;2;9\n\n3;-4;8\n5;6;7.5\n", Targets::Real);
        for line in ["header = false", "skip_lines = 1", "delimiter = \";\"", "bound = 9.0"] {
            assert!(draft.contains(line), "{line}\n{draft}");
        }
        assert_eq!((loaded.counts.read, loaded.samples.rows.width()), (3, 2));
        let (draft, _) = round("a.data", "1\ta\t0\n2\tb\t1\n", Targets::Signs);
        assert!(draft.contains(r#"delimiter = "\t""#), "{draft}");
    }

    #[test]
    fn libsvm_files_give_their_width_and_larger_label() {
        let (draft, loaded) = round("tiny", "-1 2:1 7:-0.123\n+1 1:0.5\n", Targets::Signs);
        for line in ["features = 7", "bound = 1.0", "positive = { equals = \"+1\" }"] {
            assert!(draft.contains(line), "{line}\n{draft}");
        }
        assert_eq!(loaded.samples.targets, [-1.0, 1.0]);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_files_are_drafted_too() {
        let bytes = crate::load::parquet::tests::people();
        let (draft, loaded) = round("people.parquet", bytes, Targets::Signs);
        assert!(
            draft.contains("{ name = \"age\", kind = \"numeric\", bound = 250.0 },"),
            "{draft}"
        );
        assert_eq!((loaded.samples.count(), loaded.counts.missing), (4, 1));
    }

    #[test]
    fn bounds_are_rounded_up_to_two_digits() {
        for (largest, bound) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (77.0, 77.0),
            (0.1634, 0.17),
            (0.17, 0.17),
            (99.1, 100.0),
            (1_484_705.0, 1_500_000.0),
            (f64::MAX, f64::MAX),
        ] {
            assert_eq!(rounded_up(largest), bound, "{largest}");
        }
    }

    #[test]
    fn files_without_rows_or_columns_are_refused() {
        assert!(infer_schema(&[]).is_err());
        assert!(complaint("a.csv", "").contains("no rows"));
        assert!(complaint("a.csv", "1\n2\n").contains("only one column"));
        assert!(
            complaint("a.csv", "1,2\n3,4\n5\n").contains("a.csv:3: the line has 1 fields, not 2")
        );
        assert!(complaint("a.csv", "a,b\n1,?\n").contains("holds no value"));
        assert!(complaint("a.csv", "a,a\n1,2\n").contains("two columns are called `a`"));
        assert!(complaint("a.svm", "1\n").contains("no entries"));
    }

    proptest! {
        #[test]
        fn a_bound_is_enough_and_not_much_more(exponent in -280..300_i32, digits in 1.0..10.0_f64) {
            let largest = digits * 10_f64.powi(exponent);
            let bound = rounded_up(largest);
            // One unit of the second digit, and a little for the text's own rounding.
            prop_assert!(bound >= largest && bound <= largest * 1.1 * (1.0 + 1e-12));
        }

        #[test]
        fn no_bytes_make_the_draft_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for name in ["a.csv", "a.svm", "a.parquet"] {
                let (_directory, path) = written(name, &bytes);
                if let Ok(draft) = infer_schema(&[path]) {
                    prop_assert!(schema(&draft).is_ok(), "{}", draft);
                }
            }
        }

        #[test]
        fn every_draft_of_likely_text_is_a_schema(text in "[0-9xy,;\"\\\\\r\n #?.e-]{0,200}") {
            let (_directory, path) = written("a.csv", text);
            if let Ok(draft) = infer_schema(&[path]) {
                prop_assert!(schema(&draft).is_ok(), "{}", draft);
            }
        }

        #[test]
        fn a_draft_loads_its_own_numbers(
            rows in prop::collection::vec(prop::array::uniform4(any::<f32>()), 3..20),
        ) {
            let line = |row: &[f32; 4]| {
                let row = row.map(|value| if value.is_finite() { value } else { 0.5 }.to_string());
                format!("{}\n", row.join(","))
            };
            let text: String = rows.iter().map(line).collect();
            let (_directory, path) = written("a.csv", text);
            let draft = infer_schema(std::slice::from_ref(&path)).unwrap();
            let schema = schema(&draft).unwrap();
            let targets = if draft.contains("positive") { Targets::Signs } else { Targets::Real };
            let loaded = load(&path, &all(&schema, targets));
            prop_assert_eq!(loaded.map_err(|error| error.to_string()).unwrap().counts.clipped, 0);
        }
    }
}
