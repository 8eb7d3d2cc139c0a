//! What a run leaves behind: summary.json, trace.csv, model.json, charts, and pages.
//!
//! [`Summary`] is the result of a run and [`Model`] the part of it that may be shared.
//! [`TraceFile`] writes the rounds while they go and [`Trace`] reads them back. [`run_html`] and
//! [`comparison_html`] make one page each that needs no network. [`Chart`] draws figures for print.
//!
//! [`ledger_file`] keeps a ledger on disk.
//!
//! Invariant: nothing here sees rows. Everything is made from numbers that a run handed over, so
//! that `dzoa report` writes the same page from the files alone. What depends on private rows is
//! written with [`write_private`], readable by its owner only, and says so in its first words
//! ([`NOT_TO_BE_SHARED`]). No sentence about privacy is made here: it comes from
//! [`dzoa::privacy::Statement`].

mod chart;
mod describe;
mod ending;
mod error_curve;
mod fit;
mod intervals;
pub mod ledger_file;
mod model;
mod page_files;
mod pages;
mod plan;
mod plot;
mod private_file;
mod refusal;
mod summary;
mod trace_file;
mod units;
mod wrap;
mod write;

pub use chart::{
    BLACK, BLUE, Chart, Curve, ERROR_AXIS, GREEN, ORANGE, PURPLE, Panel, RED, Style, described,
    number, write_png,
};
pub use describe::{describe, where_the_model_is};
pub use ending::{ended_badly, exit_of};
pub use error_curve::ErrorCurve;
pub use fit::{describe_fit, fit_facts};
pub use intervals::{Interval, Intervals, Units};
pub use kuva::prelude::MarkerShape;
pub use model::{Coefficient, MODEL_FORMAT, Model};
pub use page_files::{rewrite_pages, write_pages};
pub use pages::{
    Comparison, ComparisonRow, FitMedians, ParetoPoint, Points, Trace, comparison_html, facts,
    run_html, shared_html,
};
pub use plan::describe_plan;
pub use plot::{OnlookerPanel, convergence_svg, onlooker_svg, scores_svg};
pub use private_file::{create_private, let_group_read, replace_private, sync_parent};
pub use refusal::refused;
pub use summary::{NOT_TO_BE_SHARED, PrivacyEntry, Summary};
pub use trace_file::{SHARED_TRACE_HEADER, TraceFile, TraceOf, join_traces};
pub use units::{OwnCoefficient, OwnUnits, readable, readable_to};
pub use wrap::wrapped;
pub use write::{csv_field, csv_number, to_json, write_file, write_private};
