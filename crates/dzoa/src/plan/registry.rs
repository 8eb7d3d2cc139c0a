//! The registry of mechanisms.
//!
//! To add a mechanism, write a file like `none.rs` that implements
//! [`Protection`](super::Protection), name it in `mod.rs`, and add a row to [`MECHANISMS`]. Config,
//! `--help`, errors and Python read that table; nothing else asks which mechanism it is.

use super::Refused;
use super::data::DataKind;
use super::keys::{KeyError, Keys};
use super::mechanism::Mechanism;
use super::{intrinsic, none, output, scalar, sums};
use crate::problem::loss::Loss;
use dzoa_privacy::Claim;

/// A row of the registry.
#[derive(Debug)]
pub struct MechanismEntry {
    /// The name users type.
    pub name: &'static str,
    /// What it is, in few words.
    pub about: &'static str,
    /// What it may claim at best.
    pub claim: Claim,
    /// Whether it protects what happens inside the inner loop: an exact primal step has none.
    pub in_loop: bool,
    /// Whether it protects sums over all agents and nothing else.
    pub only_sums: bool,
    /// The keys that only some mechanisms read, and this one does.
    pub reads: &'static [&'static str],
    /// Refuses data that it cannot protect, whatever its settings.
    pub accepts: fn(DataKind) -> Result<(), Refused>,
    build: fn(&Keys) -> Result<Mechanism, KeyError>,
}

impl MechanismEntry {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MECHANISMS.iter().find(|entry| entry.name == name)
    }
}

impl PartialEq for MechanismEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All mechanisms.
pub const MECHANISMS: &[MechanismEntry] = &[
    MechanismEntry {
        name: "intrinsic",
        about: "the paper's, nominal only",
        claim: Claim::Nominal,
        in_loop: true,
        only_sums: false,
        reads: &[],
        accepts: intrinsic::Intrinsic::protects,
        build: intrinsic::Intrinsic::from_keys,
    },
    MechanismEntry {
        name: "output",
        about: "noise on a certified minimiser: holds exactly",
        claim: Claim::Exact,
        in_loop: false,
        only_sums: false,
        reads: &["total_epsilon", "schedule", "rows_per_person", "tolerance"],
        accepts: output::OutputNoise::protects,
        build: output::OutputNoise::from_keys,
    },
    MechanismEntry {
        name: "scalar",
        about: "noise on clipped difference quotients: holds exactly",
        claim: Claim::Exact,
        in_loop: true,
        only_sums: false,
        reads: &["total_epsilon", "schedule", "rows_per_person", "clip"],
        accepts: scalar::ScalarNoise::protects,
        build: scalar::ScalarNoise::from_keys,
    },
    MechanismEntry {
        name: "joint",
        about: "noise in shares on sums over all agents: holds exactly, most accurate",
        claim: Claim::Exact,
        in_loop: false,
        only_sums: true,
        reads: &["total_epsilon", "rows_per_person", "clip", "colluders"],
        accepts: sums::JointNoise::protects,
        build: sums::JointNoise::from_keys,
    },
    MechanismEntry {
        name: "none",
        about: "guarantees nothing",
        claim: Claim::None,
        in_loop: false,
        only_sums: false,
        reads: &[],
        accepts: |_| Ok(()),
        build: |_| Ok(Mechanism::none()),
    },
];

impl Mechanism {
    /// No protection at all.
    pub fn none() -> Self {
        Self::new(none::Unprotected)
    }

    /// The mechanism of this name, from the keys that were given.
    pub fn from_keys(name: &str, keys: &Keys) -> Result<Self, KeyError> {
        let entry = MechanismEntry::named(name).ok_or_else(|| KeyError::Unknown(name.into()))?;
        let given = [
            ("total_epsilon", keys.total_epsilon.is_some()),
            ("schedule", keys.schedule.is_some()),
            ("rows_per_person", keys.rows_per_person.is_some()),
            ("tolerance", keys.tolerance.is_some()),
            ("clip", keys.clip.is_some()),
            ("colluders", keys.colluders.is_some()),
        ];
        match given.iter().find(|(key, given)| *given && !entry.reads.contains(key)) {
            Some(&(key, _)) => Err(KeyError::NoEffect(key)),
            None => (entry.build)(keys),
        }
    }

    /// The mechanism that suits a loss where only a budget is given: noise on a certified
    /// minimiser, or clipped queries where no bound on the slope gives a sensitivity.
    pub fn for_loss(loss: &dyn Loss, keys: &Keys) -> Result<Self, KeyError> {
        let bounded = loss.lipschitz().is_some();
        Self::from_keys(if bounded { "output" } else { "scalar" }, keys)
    }
}
