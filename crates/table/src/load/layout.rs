//! Which field of a record belongs to which column of the schema.

use super::{Request, Task};
use crate::error::{Error, Result, shown};
use crate::reader::suggestion;
use crate::schema::Kind;

/// Which field of a record belongs to which column of the schema.
#[derive(Debug)]
pub struct Layout {
    /// One per column of the schema; none for those that are not read.
    pub columns: Vec<Option<usize>>,
    /// If it stands in the record and is needed.
    pub target: Option<usize>,
    /// The column whose raw values are kept.
    pub label: Option<usize>,
    /// Columns that name a row: what they are called, and where they stand.
    pub ids: Vec<NamedField>,
    /// Columns of the file that nobody reads or carries along.
    pub extra: Vec<String>,
}

/// What a column is called, and which field of a record it is.
type NamedField = (String, usize);

/// What a column of row names is called that has no name of its own, as R and pandas write it.
const ROW_NAME: &str = "row_name";

impl Layout {
    /// Finds the columns by name. `place` is where the names stand.
    pub fn by_name(names: &[String], request: &Request<'_>, place: &str) -> Result<Self> {
        let schema = request.schema;
        let finder = Finder { names, request, place };
        finder.check_names()?;
        let column = |name: &str| finder.find(name);
        let columns = schema
            .columns
            .iter()
            .map(|known| match known.kind {
                Kind::TargetColumn | Kind::Ignore | Kind::Id => Ok(None),
                _ => column(&known.name).map(Some),
            })
            .collect::<Result<_>>()?;
        let target = match request.task.needs_target() && schema.target.file.is_none() {
            true => Some(column(&schema.target.name)?),
            false => None,
        };
        let label = match request.label_column {
            Some(name) if finder.knows(name) => Some(column(name)?),
            _ => None,
        };
        let (ids, extra) = finder.ids_and_extra()?;
        Self { columns, target, label, ids, extra }.checked(request)
    }

    /// All columns in order. `fields` is the length of the first record: where no target is needed
    /// it may be absent. Also returns how many fields every record must have.
    pub fn by_position(request: &Request<'_>, fields: usize) -> Result<(Self, usize)> {
        let schema = request.schema;
        let mut columns: Vec<usize> = (0..schema.columns.len()).collect();
        let mut width = columns.len();
        let marked =
            schema.columns.iter().position(|column| matches!(column.kind, Kind::TargetColumn));
        let mut target = match schema.target.file {
            Some(_) => None,
            None => Some(marked.unwrap_or_else(|| {
                width += 1;
                width - 1
            })),
        };
        if let Some(at) = target
            && !request.task.needs_target()
            && fields + 1 == width
        {
            target = None;
            width = fields;
            columns.iter_mut().filter(|column| **column > at).for_each(|column| *column -= 1);
        }
        let label = request.label_column.and_then(|name| {
            let column = schema.columns.iter().position(|column| column.name == name);
            match column {
                Some(at) if !matches!(schema.columns[at].kind, Kind::TargetColumn) => {
                    Some(columns[at])
                }
                _ => target.filter(|_| name == schema.target.name),
            }
        });
        let named = schema.columns.iter().zip(&columns);
        let ids = named
            .filter(|(column, _)| {
                matches!(column.kind, Kind::Id) || request.reading.ids.contains(&column.name)
            })
            .map(|(column, at)| (column.name.clone(), *at))
            .collect();
        let columns = columns.into_iter().map(Some).collect();
        Ok((Self { columns, target, label, ids, extra: Vec::new() }.checked(request)?, width))
    }

    fn checked(mut self, request: &Request<'_>) -> Result<Self> {
        if let (Some(name), None) = (request.label_column, self.label) {
            return Err(Error::input(format!(
                "the partition's column {} is not a column of the schema",
                shown(name)
            ))
            .hint("name one of schema.columns; its kind may be \"ignore\""));
        }
        if !request.task.needs_target() {
            self.target = None;
        }
        for (field, column) in self.columns.iter_mut().zip(&request.schema.columns) {
            if column.width() == 0 {
                *field = None;
            }
        }
        Ok(self)
    }
}

/// Looks for columns in a header.
struct Finder<'a> {
    names: &'a [String],
    request: &'a Request<'a>,
    place: &'a str,
}

impl Finder<'_> {
    fn wrong(&self, problem: String, hint: String) -> Error {
        Error::input(format!("{}: {problem}", self.place)).hint(hint)
    }

    /// Whether the schema has the column, or the site says that it names rows.
    fn knows(&self, name: &str) -> bool {
        let schema = self.request.schema;
        schema.columns.iter().any(|column| column.name == name)
            || (schema.target.name == name && schema.target.file.is_none())
    }

    /// Refuses a name that stands there twice, and to learn from a column that nobody knows: a
    /// slip in a name would otherwise leave a column out. A first column without a name holds row
    /// names, as R and pandas write them.
    fn check_names(&self) -> Result<()> {
        for (at, name) in self.names.iter().enumerate() {
            if self.names[..at].contains(name) {
                return Err(self.wrong(
                    format!("two columns are called {}", shown(name)),
                    "every column needs a name of its own".into(),
                ));
            }
            let is_row_name = at == 0 && name.is_empty();
            let known = self.knows(name) || self.request.reading.ids.contains(name);
            if self.request.task == Task::Fit && !known && !is_row_name {
                return Err(self.wrong(
                    format!("column {} is not in the schema", shown(name)),
                    format!(
                        "add {{ name = {name:?}, kind = \"ignore\" }} to schema.columns; if only \
                         this site has it, id = [{name:?}] beside its file"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|candidate| candidate == name).ok_or_else(|| {
            let list: Vec<&str> = self.names.iter().map(String::as_str).collect();
            self.wrong(
                format!("there is no column {}", shown(name)),
                format!(
                    "{}; a file without column names needs schema.header = false",
                    suggestion(name, &list)
                ),
            )
        })
    }

    /// The columns that name rows, and those that nobody asked for.
    fn ids_and_extra(&self) -> Result<(Vec<NamedField>, Vec<String>)> {
        let Request { schema, reading, .. } = self.request;
        for name in &reading.ids {
            self.find(name)?;
        }
        let (mut ids, mut extra) = (Vec::new(), Vec::new());
        for (at, name) in self.names.iter().enumerate() {
            let kind = schema.columns.iter().find(|column| column.name == *name);
            let is_id = kind.is_some_and(|column| matches!(column.kind, Kind::Id));
            if at == 0 && name.is_empty() {
                ids.push((ROW_NAME.into(), at));
            } else if is_id || reading.ids.contains(name) {
                ids.push((name.clone(), at));
            } else if !self.knows(name) {
                extra.push(name.clone());
            }
        }
        Ok((ids, extra))
    }
}
