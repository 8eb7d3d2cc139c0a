//! R by its name.

use crate::named::named;
use dzoa::problem::regularizer::{REGULARIZERS, Regularizer};
use dzoa::registry::{Options, Registry};
use pyo3::prelude::*;

/// R by its name, of those that need no groups of columns.
pub fn regularizer(name: &str, l1_ratio: f64) -> PyResult<Regularizer> {
    let known = Registry::new(REGULARIZERS)
        .filter(|entry| !(entry.build)(&Options::default()).is_grouped());
    named("regularizer", &known, name, |key| (key == "l1_ratio").then_some(l1_ratio))
}
