//! `dzoa schema infer` and `dzoa init --from`: drafts from data, which say that they looked at it.

mod clinical;
mod labels;
mod render;
mod seen;
mod sniff;
mod study;
#[cfg(test)]
mod tests;
mod written;

pub use study::{StudyDraft, draft_study};

use crate::error::{Error, Result, shown};
use crate::load::text::Records;
use crate::load::{Format, libsvm, parquet};
use seen::{Guess, Seen};
use sniff::Sniffed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use written::{list, quoted, rounded_up};

/// Drafts a commented `[schema]` from files of one study. The target is the last column unless
/// another is named.
pub fn infer_schema(paths: &[PathBuf], target: Option<&str>) -> Result<String> {
    Draft::read(paths, target)?.schema()
}

/// What was seen of some files.
struct Draft {
    sites: Vec<Site>,
    /// Over all files, without the target.
    columns: Vec<Seen>,
    target: Seen,
    missing: Vec<String>,
    libsvm: Option<Entries>,
}

/// What was seen of one file.
struct Site {
    path: PathBuf,
    /// How text is written.
    sniffed: Option<Sniffed>,
    columns: Vec<Seen>,
}

/// What was seen of the entries of LIBSVM files.
#[derive(Default)]
struct Entries {
    largest_index: usize,
    values: Seen,
}

impl Draft {
    fn read(paths: &[PathBuf], target: Option<&str>) -> Result<Self> {
        let Some(first) = paths.first() else {
            return Err(
                Error::input("there is no file to look at").hint("dzoa schema infer FILE...")
            );
        };
        if let Some(path) = paths.iter().find(|path| !path.is_file()) {
            let is = if path.is_dir() { "is a directory, not a file" } else { "is no file" };
            return Err(Error::input(format!("{}: {is}", path.display())).hint(
                "every word behind --from is a file; a directory to write into stands before it: \
                 dzoa init DIR --from FILE...",
            ));
        }
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
        let (mut missing, mut entries) = (Vec::new(), Entries::default());
        let mut sites = Vec::new();
        for path in paths {
            sites.push(match format {
                Format::Text => Site::read_text(path, &mut missing)?,
                Format::Parquet => Site::read_parquet(path, &mut missing)?,
                Format::Libsvm => Site::read_libsvm(path, &mut missing, &mut entries)?,
            });
        }
        let libsvm = (format == Format::Libsvm).then_some(entries);
        let mut columns = joined(&sites);
        let target = take_target(&mut columns, target, first)?;
        let mut draft = Self { sites, columns, target, missing, libsvm };
        if draft.has_other_codes() {
            draft.target.distinct = draft.codes();
        }
        Ok(draft)
    }

    /// The labels of the site whose words are the study's: the first that has two.
    fn codes(&self) -> BTreeMap<String, usize> {
        let labels = |site: &Site| site.column(&self.target.name).map(|seen| seen.distinct.clone());
        let mut all = self.sites.iter().filter_map(labels);
        let two = all.clone().find(|labels| labels.len() == 2);
        two.or_else(|| all.next()).unwrap_or_default()
    }

    /// Whether every site has two labels at most, and all together have more: they write the same
    /// classes in other words, or mean other classes.
    fn has_other_codes(&self) -> bool {
        let few = |site: &Site| {
            site.column(&self.target.name).is_none_or(|seen| seen.distinct.len() <= 2)
        };
        self.target.distinct.len() > 2 && self.sites.iter().all(few)
    }

    /// The draft of `[schema]`.
    fn schema(&self) -> Result<String> {
        let first = self.sites[0].path.display();
        let wrong = |problem: &str| {
            Err(Error::input(format!("{first}: {problem}"))
                .hint("is this a file of rows, with the target in the last column?"))
        };
        if self.target.values == 0 {
            let name = shown(&self.target.name);
            return wrong(&format!("the target, taken to be {name}, holds no value"));
        }
        let mut out = String::from(WARNING);
        self.text_keys(&mut out);
        // A cell that is empty one day must not end a run.
        let mut missing: BTreeSet<&String> = self.missing.iter().collect();
        let empty = String::new();
        missing.insert(&empty);
        line(&mut out, format_args!("missing = {}", list(missing)));
        line(&mut out, format_args!("{ON_MISSING}"));
        line(&mut out, format_args!("{ROW_NORM}"));
        if let Some(entries) = &self.libsvm {
            if entries.largest_index == 0 {
                return wrong("there are no entries in it");
            }
            line(&mut out, format_args!("features = {}", entries.largest_index));
            line(&mut out, format_args!("bound = {:?}", rounded_up(entries.values.largest())));
        } else {
            // A first column without a name holds row names.
            let useless = |seen: &Seen| {
                seen.name.is_empty() || matches!(seen.guess(), Guess::Ignore(_) | Guess::Id)
            };
            if self.columns.iter().all(useless) {
                return wrong("no column is a number or one of few texts");
            }
            line(&mut out, format_args!("columns = ["));
            let columns = self.columns.iter().filter(|seen| !seen.name.is_empty());
            columns.for_each(|seen| line(&mut out, format_args!("  {}", seen.column())));
            line(&mut out, format_args!("]"));
        }
        line(&mut out, format_args!("target = {}", self.target.target(self.libsvm.is_none())));
        Ok(out)
    }

    /// How the files are written, where that is the same for all.
    fn text_keys(&self, out: &mut String) {
        let mut sniffed = self.sites.iter().filter_map(|site| site.sniffed.as_ref());
        let Some(first) = sniffed.next() else { return };
        line(out, format_args!("header = {}", first.format.header));
        line(out, format_args!("skip_lines = {}", first.format.skip_lines));
        let delimiter = first.format.separator();
        if sniffed.all(|other| other.format.separator() == delimiter) {
            let delimiter = quoted(&char::from(delimiter).to_string());
            line(out, format_args!("delimiter = {delimiter}"));
        }
    }
}

impl Site {
    fn read_text(path: &Path, missing: &mut Vec<String>) -> Result<Self> {
        let sniffed = Sniffed::of(path)?;
        let mut records = Records::open(path, &sniffed.format)?;
        let mut columns: Vec<Seen> = Vec::new();
        while let Some((line, fields)) = records.next()? {
            let fields: Vec<&str> = fields.collect();
            let place = format!("{}:{line}", path.display());
            if columns.is_empty() {
                let names = match (sniffed.format.header, sniffed.short_header) {
                    (true, false) => fields.iter().map(|name| name.to_string()).collect(),
                    (true, true) => {
                        let names = fields.iter().map(|name| name.to_string());
                        std::iter::once(String::new()).chain(names).collect()
                    }
                    (false, _) => numbered(fields.len()),
                };
                columns = named(&names, &place)?;
                if sniffed.format.header {
                    continue;
                }
            }
            if fields.len() != columns.len() {
                return Err(Error::input(format!(
                    "{place}: the line has {} fields, not {}",
                    fields.len(),
                    columns.len()
                ))
                .hint("all lines need the same number of fields"));
            }
            for (seen, text) in columns.iter_mut().zip(fields) {
                seen.note(Some(text), sniffed.decimal_comma, missing);
            }
        }
        Ok(Self { path: path.into(), sniffed: Some(sniffed), columns })
    }

    #[cfg(feature = "parquet")]
    fn read_parquet(path: &Path, missing: &mut Vec<String>) -> Result<Self> {
        let table = parquet::ParquetTable::open(path)?;
        let mut columns = named(table.names(), &path.display().to_string())?;
        table.visit(|_, cells| {
            for (seen, text) in columns.iter_mut().zip(cells) {
                seen.note(text.as_deref(), false, missing);
            }
            Ok(())
        })?;
        Ok(Self { path: path.into(), sniffed: None, columns })
    }

    #[cfg(not(feature = "parquet"))]
    fn read_parquet(path: &Path, _missing: &mut Vec<String>) -> Result<Self> {
        Err(parquet::refusal(path))
    }

    fn read_libsvm(path: &Path, missing: &mut Vec<String>, entries: &mut Entries) -> Result<Self> {
        let mut labels = Seen::called("label");
        libsvm::visit(path, |row| {
            labels.note(row.label, false, missing);
            for (index, text) in row.entries {
                entries.largest_index = entries.largest_index.max(index);
                entries.values.note(Some(text), false, missing);
            }
            Ok(())
        })?;
        if entries.values.texts > 0 {
            return Err(Error::input(format!("{}: some entries are not numbers", path.display()))
                .hint("a LIBSVM line reads `label index:value index:value`"));
        }
        Ok(Self { path: path.into(), sniffed: None, columns: vec![labels] })
    }

    /// Whether the file has a column.
    fn column(&self, name: &str) -> Option<&Seen> {
        self.columns.iter().find(|seen| seen.name == name)
    }
}

/// The columns of all files in the order of the first; a column that a file lacks says so.
fn joined(sites: &[Site]) -> Vec<Seen> {
    let mut columns: Vec<Seen> = Vec::new();
    for seen in sites.iter().flat_map(|site| &site.columns) {
        match columns.iter_mut().find(|known| known.name == seen.name) {
            Some(known) => known.join(seen),
            None => columns.push(seen.clone()),
        }
    }
    for known in &mut columns {
        let lacking = sites.iter().filter(|site| site.column(&known.name).is_none());
        let name = |site: &Site| site.path.file_name().map(|name| name.display().to_string());
        known.lacking = lacking.filter_map(name).collect();
    }
    columns
}

/// Takes the target out of the columns: the one of this name, or the last of the first file.
fn take_target(columns: &mut Vec<Seen>, name: Option<&str>, first: &Path) -> Result<Seen> {
    let at = match name {
        Some(name) => columns.iter().position(|seen| seen.name == name).ok_or_else(|| {
            let known: Vec<&str> = columns.iter().map(|seen| seen.name.as_str()).collect();
            Error::input(format!("{}: there is no column {}", first.display(), shown(name)))
                .hint(crate::reader::suggestion(name, &known))
        })?,
        None => match columns.iter().rposition(|seen| seen.lacking.is_empty()) {
            Some(at) => at,
            None if columns.is_empty() => {
                return Err(Error::input(format!("{}: there are no rows in it", first.display()))
                    .hint("is this a file of rows, with the target in the last column?"));
            }
            None => {
                return Err(Error::input("the files have no column in common")
                    .hint("are these files of one study, and do all of them have a header?"));
            }
        },
    };
    Ok(columns.remove(at))
}

/// Names for the columns of a file without a header.
fn numbered(width: usize) -> Vec<String> {
    let name = |at| match at == width {
        true => "target".to_string(),
        false => format!("column{at}"),
    };
    (1..=width).map(name).collect()
}

/// Columns of which nothing was seen yet.
fn named(names: &[String], place: &str) -> Result<Vec<Seen>> {
    let wrong =
        |problem: String, hint: &str| Err(Error::input(format!("{place}: {problem}")).hint(hint));
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
    Ok(names.iter().map(|name| Seen::called(name)).collect())
}

const WARNING: &str = "\
# Drafted by `dzoa schema infer`.
#
# WARNING: this draft looked at the data. Its bounds and levels, and which columns it takes for
# always recorded (`missing = false`), tell something about the people in it, and no accountant has
# counted that. Before a private run replace every bound, every list of levels and every `missing`
# by public knowledge (a code book, the range of the instrument), the same for all agents, and take
# the comments out.

[schema]
";

const ON_MISSING: &str = "\
# A missing cell becomes the middle of its range (or no level) and a 1 in a column NAME:missing.
# With \"drop\" its row would go, and the number of rows, which is public, would tell of private
# cells.
on_missing = \"indicator\"";

const ROW_NORM: &str = "\
# All rows are divided by one public number, and longer ones cut to it.
row_norm = \"auto\"";

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}
