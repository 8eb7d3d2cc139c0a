//! What is measured about dzoa: audits, comparisons, and the paper's figures.
//!
//! [`audit()`] attacks what a neighbour sees of one agent and compares with the claim.
//! [`compare()`] runs every algorithm at the same exact total epsilon, each tuned at equal effort.
//! [`reproduce()`] computes the paper's figures trial by trial, and [`merge()`] joins the trials of
//! several machines. All three read a [`dzoa::plan::Plan`] and decide nothing about a mechanism;
//! they share one tuner, and tune on draws that they do not report.
//!
//! Invariant: no sockets and no terminal. A [`Watcher`] is told what is done, and an [`Interrupt`]
//! ends the work early; what was done until then stays done.

mod audit;
mod compare;
mod figures;
mod recording;
pub mod tuner;
mod watcher;
mod workers;

pub use audit::{AuditReport, AuditSpec, Audited, audit};
pub use compare::{CompareSpec, Compared, Contender, compare};
pub use figures::{FIGURES, PaperProblem, ReproduceSpec, Shard, merge, reproduce};
pub use recording::{Recorded, Recording};
pub use watcher::{Interrupt, Unwatched, Watcher};
