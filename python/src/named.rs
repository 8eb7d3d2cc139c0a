//! What Python names, from the tables of the library.

use dzoa::problem::regularizer::{REGULARIZERS, Regularizer};
use dzoa::registry::{Options, Registry};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// What this name stands for, with the numbers that were given for it.
pub fn named<T>(
    argument: &str,
    registry: &Registry<T>,
    name: &str,
    number: impl Fn(&str) -> Option<f64>,
) -> PyResult<T> {
    let entry = registry.entry(name).ok_or_else(|| {
        let known = registry.names().join(", ");
        PyValueError::new_err(format!("{argument}: unknown `{name}`; hint: {known}"))
    })?;
    entry
        .from_numbers(number)
        .map_err(|error| PyValueError::new_err(format!("{argument}: {error}")))
}

/// R by its name, of those that need no groups of columns.
pub fn regularizer(name: &str, l1_ratio: f64) -> PyResult<Regularizer> {
    let known = Registry::new(REGULARIZERS)
        .filter(|entry| !(entry.build)(&Options::default()).is_grouped());
    named("regularizer", &known, name, |key| (key == "l1_ratio").then_some(l1_ratio))
}
