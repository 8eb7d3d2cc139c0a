//! `dzoa._core`: what the Python package `dzoa` needs of the library. Conventions, defaults and
//! classes are Python's business (`python/dzoa`); here are the arrays, the callables, and the long
//! work without the GIL.

mod fit;
mod minimize;
mod named;
mod network;
mod oracle;
mod privacy;
mod run;
mod statement;

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;

create_exception!(
    dzoa,
    ObjectiveError,
    PyRuntimeError,
    "An objective raised, returned something else than numbers, or a value that is not finite."
);

/// The native part of `dzoa`.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::ObjectiveError;
    #[pymodule_export]
    use super::fit::{fit, judged, partition, typical_row_norm};
    #[pymodule_export]
    use super::minimize::minimize;
    #[pymodule_export]
    use super::network::edges;
    #[pymodule_export]
    use super::privacy::{
        ExactGaussian, PyEvent, Renyi, Theorem2, ZeroConcentrated, audit_scores,
        corollary1_epsilon, corollary1_step, gaussian_delta, gaussian_epsilon, gaussian_mu,
        gaussian_sigma, lemma3_sensitivity, theorem1_sigma, theorem2_epsilon, zcdp_epsilon,
    };
    #[pymodule_export]
    use super::statement::PyStatement;
}
