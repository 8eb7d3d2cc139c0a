//! Which field of a record belongs to which column of the schema.

use super::Request;
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
}

impl Layout {
    /// Finds the columns by name. `place` is where the names stand.
    pub fn by_name(names: &[String], request: &Request<'_>, place: &str) -> Result<Self> {
        let schema = request.schema;
        let has_own_file = schema.target.file.is_some();
        let wrong =
            |problem: String, hint: String| Error::input(format!("{place}: {problem}")).hint(hint);
        let known = |name: &str| {
            schema.columns.iter().any(|column| column.name == name)
                || (schema.target.name == name && !has_own_file)
        };
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(wrong(
                    format!("two columns are called {}", shown(name)),
                    "every column needs a name of its own".into(),
                ));
            }
            if !known(name) {
                return Err(wrong(
                    format!("column {} is not in the schema", shown(name)),
                    format!("add {{ name = {name:?}, kind = \"ignore\" }} to schema.columns"),
                ));
            }
        }
        let find = |name: &str| {
            names.iter().position(|candidate| candidate == name).ok_or_else(|| {
                let list: Vec<&str> = names.iter().map(String::as_str).collect();
                wrong(
                    format!("there is no column {}", shown(name)),
                    format!(
                        "{}; a file without column names needs schema.header = false",
                        suggestion(name, &list)
                    ),
                )
            })
        };
        let columns = schema
            .columns
            .iter()
            .map(|column| match column.kind {
                Kind::TargetColumn => Ok(None),
                _ => find(&column.name).map(Some),
            })
            .collect::<Result<_>>()?;
        let target = match request.task.needs_target() && !has_own_file {
            true => Some(find(&schema.target.name)?),
            false => None,
        };
        let label = match request.label_column {
            Some(name) if known(name) => Some(find(name)?),
            _ => None,
        };
        Self { columns, target, label }.checked(request)
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
        let columns = columns.into_iter().map(Some).collect();
        Ok((Self { columns, target, label }.checked(request)?, width))
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
