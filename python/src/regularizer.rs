//! R by its name.

use dzoa::problem::regularizer::Regularizer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The regularizer that Python names.
pub fn regularizer(name: &str, l1_ratio: f64) -> PyResult<Regularizer> {
    Ok(match name {
        "none" => Regularizer::None,
        "l1" => Regularizer::L1,
        "l2" => Regularizer::L2,
        "elastic-net" => Regularizer::ElasticNet { l1_ratio },
        other => {
            return Err(PyValueError::new_err(format!(
                "regularizer: unknown `{other}`; hint: none, l1, l2, elastic-net"
            )));
        }
    })
}
