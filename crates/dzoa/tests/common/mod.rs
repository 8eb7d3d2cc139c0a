//! Every loss and regulariser of the tables, so that a new row is tested without another line here.
#![allow(dead_code, reason = "no test needs all of them")]

use dzoa::prelude::*;
use dzoa::problem::loss::LOSSES;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::registry::{NumberRange, RegistryEntry};
use std::sync::Arc;

/// All losses; those with parameters have them at this share of the range from 0 to 1, or of their
/// own.
pub fn losses(share: f64) -> Vec<Arc<dyn Loss>> {
    LOSSES.iter().map(|entry| built(entry, share)).collect()
}

/// Losses whose slope is bounded: those that a guarantee can be given for.
pub fn bounded_losses(share: f64) -> Vec<Arc<dyn Loss>> {
    losses(share).into_iter().filter(|loss| loss.lipschitz().is_some()).collect()
}

/// All regularisers, over these groups of columns where they take groups.
pub fn regularizers(share: f64, groups: &[Vec<usize>]) -> Vec<Regularizer> {
    let all = REGULARIZERS.iter().map(|entry| built(entry, share));
    all.map(|regularizer| regularizer.with_groups(groups.to_vec())).collect()
}

fn built<T>(entry: &RegistryEntry<T>, share: f64) -> T {
    let number = |key: &str| {
        let parameter = entry.parameters.iter().find(|parameter| parameter.key == key)?;
        Some(match parameter.range {
            NumberRange::Positive | NumberRange::NonNegative | NumberRange::Fraction => share,
            NumberRange::Between(low, high) => low + share * (high - low),
            NumberRange::Count => 2.0,
        })
    };
    entry.from_numbers(number).unwrap()
}
