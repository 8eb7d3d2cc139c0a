//! From files to rows: the public schema, the readers, and the problem that a run is about.
//!
//! [`Schema`] says what the columns of a file mean. [`load()`] reads a text, LIBSVM or Parquet file
//! as its schema says, and [`infer_schema`] drafts a schema. [`InstanceSpec`] says which rows a run
//! is about and who talks to whom; [`Instances`] holds both, loaded or generated. [`Section`] reads
//! TOML so that every complaint names its place, and [`Error`] is how all front ends complain.
//!
//! ```
//! use dzoa_table::{TomlNode, Schema, Section};
//!
//! let text = r#"
//!     [schema]
//!     columns = [{ name = "sex", kind = "categorical", levels = ["f", "m"] }]
//!     target = { name = "ill" }
//! "#;
//! let file = TomlNode::parse(text, "run.toml")?;
//! let schema = Schema::read(&Section::root(&file).section("schema")?)?;
//! assert_eq!(schema.feature_names(), ["sex=f", "sex=m"]);
//! # Ok::<(), dzoa_table::Error>(())
//! ```
//!
//! Invariant: bounds, levels and widths come from the schema and never from rows, so that reading
//! costs no privacy. Whatever a file holds, the answer is rows or an [`Error`] with a place, never
//! a panic. [`infer_schema`] alone looks at the data for its answer, and its draft says so.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod check;
mod encoding;
mod error;
mod exit;
mod infer;
mod instances;
mod keys;
mod load;
mod predictions;
mod problem;
mod reader;
mod reading;
mod schema;
mod shape;
mod source;
mod starter;
mod value_journal;

pub use check::{Findings, SiteCheck, unconfirmed};
pub use error::{Error, Result, shown};
pub use exit::{Exit, explain_exits};
pub use infer::{StudyDraft, draft_study, infer_schema};
pub use instances::{INTERCEPT, InstanceSpec, Instances};
pub use keys::{explain_keys, json_schema, known_keys, plain_path, reference_page};
pub use load::{Counts, InputRow, Loaded, Request, Task, load};
pub use predictions::predictions_csv;
pub use problem::{ColumnRef, ProblemSpec, read_regularizer, reference_wish, weighed_by_rows};
pub use reader::{
    FromNode, Named, Section, TomlNode, TomlPlace, Value, keys_asked_for, only_with, read_options,
    suggestion,
};
pub use reading::{Reading, SiteFile};
pub use schema::{Feature, Schema};
pub use shape::{Shape, ShapeKeys};
pub use source::{DataSource, Split};
pub use starter::{FIRST_STEPS, demo_study, starter_study};
pub use value_journal::{Asking, ValueJournal};
