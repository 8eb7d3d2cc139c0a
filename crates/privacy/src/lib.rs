//! Privacy accounting for dzoa, pure: no optimiser, no data, no input or output.
//!
//! The crate answers three questions. What was released ([`Event`])? What does all of it cost
//! ([`Accountant`])? And how much noise, or which step size, does a target need ([`calibrate`])?
//! [`Ledger::charge`] is the only source of a [`Receipt`], and a [`Receipt`] is the only way to
//! turn a [`Private`] value into a [`Release`]: what has not been charged cannot be sent.
//!
//! Every result that is a bound is rounded towards safety: an epsilon up, a noise level up.
//!
//! Adjacency is *replace-one* everywhere: two data sets of one agent are neighbours when one row of
//! the one is replaced by another row in the other. The number of rows is public.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod accountant;
pub mod audit;
pub mod ball;
pub mod calibrate;
mod charge;
mod colluders;
mod event;
pub mod gaussian;
mod hex;
pub mod joint;
mod ledger;
pub mod noise;
pub mod packed;
mod rdp;
mod release;
mod statement;
mod theorem2;

pub use accountant::{Accountant, ExactGaussian, Unsupported, ZeroConcentrated};
pub use charge::{Begin, Budget, Charge, Query, Seen};
pub use colluders::{Colluders, Condition};
pub use event::{Claim, Event};
pub use hex::{Digest, Hex, NotHex, RunId};
pub use ledger::{
    ChargeRefused, ENTRY_VERSION, Entry, Header, LEDGER_FORMAT, Ledger, LedgerRecord, OldEntry,
    OldHeader, Receipt, Tampered, migrate,
};
pub use rdp::Renyi;
pub use release::{
    BrokenSeal, NoiseKey, NoisyObjective, NoisyScalars, Private, Release, Sealed, WrongEvent,
};
pub use statement::{
    CurveWords, EarlierRuns, Facts, FoundNoise, JointStatement, Statement, Stressed,
};
pub use theorem2::Theorem2;

/// Rounds a computed bound up by a few units in the last place: more than the rounding error of the
/// short closed forms used here, less than anybody can see.
pub(crate) fn round_up(bound: f64) -> f64 {
    bound * (1.0 + 8.0 * f64::EPSILON)
}
