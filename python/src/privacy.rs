//! `dzoa.privacy`: accountants and calculators, and the statistics behind `dzoa.audit`.

use dzoa::privacy::audit::{Scores, test};
use dzoa::privacy::calibrate::{self, Corollary1};
use dzoa::privacy::{self as library, Accountant as _, gaussian};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What was released, without the value.
#[pyclass(frozen, eq, from_py_object, name = "Event", module = "dzoa.privacy")]
#[derive(Clone, Debug, PartialEq)]
pub struct PyEvent(library::Event);

#[pymethods]
impl PyEvent {
    /// A value of this L2 sensitivity plus Gaussian noise.
    #[staticmethod]
    fn gaussian(sensitivity: f64, sigma: f64) -> PyResult<Self> {
        at_least_zero("sensitivity", sensitivity)?;
        positive("sigma", sigma)?;
        Ok(Self(library::Event::Gaussian { sensitivity, sigma }))
    }

    /// A vector with discrete Gaussian noise on the library's grid.
    #[staticmethod]
    #[pyo3(signature = (sensitivity, sigma, coordinates, count=1))]
    fn discrete_gaussian(
        sensitivity: f64,
        sigma: f64,
        coordinates: usize,
        count: usize,
    ) -> PyResult<Self> {
        at_least_zero("sensitivity", sensitivity)?;
        positive("sigma", sigma)?;
        Ok(Self(library::Event::discrete_gaussian(sensitivity, sigma, coordinates, count)))
    }

    /// A pure epsilon-DP release.
    #[staticmethod]
    fn pure(epsilon: f64) -> PyResult<Self> {
        at_least_zero("epsilon", epsilon)?;
        Ok(Self(library::Event::Pure { epsilon }))
    }

    /// A vector of this L1 sensitivity with discrete Laplace noise.
    #[staticmethod]
    fn laplace(sensitivity: f64, scale: f64, coordinates: usize) -> PyResult<Self> {
        at_least_zero("sensitivity", sensitivity)?;
        positive("scale", scale)?;
        Ok(Self(library::Event::laplace(sensitivity, scale, coordinates)))
    }

    /// A noisy sum over `batch` of `samples` rows, drawn without replacement.
    #[staticmethod]
    fn subsampled_gaussian(
        sensitivity: f64,
        sigma: f64,
        batch: u64,
        samples: u64,
    ) -> PyResult<Self> {
        at_least_zero("sensitivity", sensitivity)?;
        positive("sigma", sigma)?;
        if batch == 0 || batch > samples {
            return Err(PyValueError::new_err(format!(
                "batch must lie between 1 and samples ({samples}), not {batch}"
            )));
        }
        Ok(Self(library::Event::SubsampledGaussian { sensitivity, sigma, batch, samples }))
    }

    /// A release whose only claim is the paper's Theorem 1: not a guarantee.
    #[staticmethod]
    fn nominal(epsilon: f64, delta: f64) -> PyResult<Self> {
        positive("epsilon", epsilon)?;
        probability("delta", delta)?;
        Ok(Self(library::Event::Nominal { epsilon, delta }))
    }

    /// `exact`, `nominal` or `none`.
    #[getter]
    fn claim(&self) -> &'static str {
        match self.0.claim() {
            library::Claim::Exact => "exact",
            library::Claim::Nominal => "nominal",
            library::Claim::None => "none",
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

macro_rules! accountant {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[pyclass(module = "dzoa.privacy")]
        #[derive(Clone, Default)]
        pub struct $name(library::$name);

        #[pymethods]
        impl $name {
            #[new]
            fn new() -> Self {
                Self::default()
            }

            /// Adds an event, `count` times; returns the accountant.
            #[pyo3(signature = (event, count=1))]
            fn compose<'py>(
                mut this: PyRefMut<'py, Self>,
                event: PyEvent,
                count: u64,
            ) -> PyResult<PyRefMut<'py, Self>> {
                for _ in 0..count {
                    this.0
                        .compose(&event.0)
                        .map_err(|error| PyValueError::new_err(error.to_string()))?;
                }
                Ok(this)
            }

            /// Total epsilon at this delta.
            fn epsilon(&self, delta: f64) -> PyResult<f64> {
                probability("delta", delta)?;
                Ok(self.0.epsilon(delta))
            }
        }
    };
}

accountant!(ExactGaussian, "The exact cost of adaptively composed Gaussian mechanisms.");
accountant!(ZeroConcentrated, "Zero-concentrated differential privacy: an upper bound.");
accountant!(
    Renyi,
    "Renyi differential privacy, with sampling without replacement: an upper bound."
);
accountant!(Theorem2, "The paper's Theorem 2. Nominal, and not an upper bound.");

fn positive(name: &str, value: f64) -> PyResult<()> {
    check(value > 0.0 && value.is_finite(), name, "a finite number above 0", value)
}

fn at_least_zero(name: &str, value: f64) -> PyResult<()> {
    check(value >= 0.0 && value.is_finite(), name, "a finite number of at least 0", value)
}

fn probability(name: &str, value: f64) -> PyResult<()> {
    check(value > 0.0 && value < 1.0, name, "strictly between 0 and 1", value)
}

fn check(holds: bool, name: &str, wanted: &str, value: f64) -> PyResult<()> {
    match holds {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("{name} must be {wanted}, not {value}"))),
    }
}

fn count(name: &str, value: u64) -> PyResult<()> {
    check(value > 0, name, "at least 1", value as f64)
}

/// The exact epsilon of `releases` Gaussian releases.
#[pyfunction]
#[pyo3(signature = (sensitivity, sigma, delta, releases=1))]
pub fn gaussian_epsilon(sensitivity: f64, sigma: f64, delta: f64, releases: u64) -> PyResult<f64> {
    positive("sensitivity", sensitivity)?;
    positive("sigma", sigma)?;
    probability("delta", delta)?;
    count("releases", releases)?;
    let mut total = library::ExactGaussian::default();
    for _ in 0..releases {
        total
            .compose(&library::Event::Gaussian { sensitivity, sigma })
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    Ok(total.epsilon(delta))
}

/// The noise of each of `releases` Gaussian releases for an exact total, rounded up.
#[pyfunction]
#[pyo3(signature = (sensitivity, total_epsilon, delta, releases=1))]
pub fn gaussian_sigma(
    sensitivity: f64,
    total_epsilon: f64,
    delta: f64,
    releases: u64,
) -> PyResult<f64> {
    positive("sensitivity", sensitivity)?;
    positive("total_epsilon", total_epsilon)?;
    probability("delta", delta)?;
    count("releases", releases)?;
    Ok(calibrate::gaussian_sigma(sensitivity, total_epsilon, delta, releases))
}

/// The delta of a Gaussian mechanism with this mu (sensitivity over sigma).
#[pyfunction]
pub fn gaussian_delta(epsilon: f64, mu: f64) -> PyResult<f64> {
    at_least_zero("epsilon", epsilon)?;
    positive("mu", mu)?;
    Ok(gaussian::ln_delta(epsilon, mu).exp())
}

/// The largest mu that is (epsilon, delta)-DP.
#[pyfunction]
pub fn gaussian_mu(epsilon: f64, delta: f64) -> PyResult<f64> {
    positive("epsilon", epsilon)?;
    probability("delta", delta)?;
    Ok(gaussian::mu(epsilon, delta))
}

/// From zCDP to epsilon.
#[pyfunction]
pub fn zcdp_epsilon(zcdp_rho: f64, delta: f64) -> PyResult<f64> {
    at_least_zero("zcdp_rho", zcdp_rho)?;
    probability("delta", delta)?;
    Ok(gaussian::zcdp_epsilon(zcdp_rho, delta))
}

/// Lemma 3.
#[pyfunction]
pub fn lemma3_sensitivity(
    c1: f64,
    rho: f64,
    neighbourhood: usize,
    samples: usize,
) -> PyResult<f64> {
    positive("c1", c1)?;
    positive("rho", rho)?;
    count("neighbourhood", neighbourhood as u64)?;
    count("samples", samples as u64)?;
    Ok(calibrate::lemma3_sensitivity(c1, rho, neighbourhood, samples))
}

/// Theorem 1's noise of one round: nominal.
#[pyfunction]
pub fn theorem1_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> PyResult<f64> {
    positive("sensitivity", sensitivity)?;
    positive("epsilon", epsilon)?;
    probability("delta", delta)?;
    Ok(calibrate::theorem1_sigma(sensitivity, epsilon, delta))
}

/// The paper's total: nominal, not an upper bound.
#[pyfunction]
pub fn theorem2_epsilon(epsilon: f64, delta: f64, rounds: u64) -> PyResult<f64> {
    positive("epsilon", epsilon)?;
    probability("delta", delta)?;
    count("rounds", rounds)?;
    Ok(calibrate::theorem2_epsilon(epsilon, delta, rounds))
}

/// The sizes of Corollary 1.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Loop {
    sensitivity: f64,
    delta: f64,
    features: usize,
    directions: usize,
    inner_steps: usize,
    c: f64,
    optimum_norm_squared: f64,
}

impl Loop {
    fn corollary(&self) -> PyResult<Corollary1> {
        positive("sensitivity", self.sensitivity)?;
        probability("delta", self.delta)?;
        count("features", self.features as u64)?;
        count("directions", self.directions as u64)?;
        count("inner_steps", self.inner_steps as u64)?;
        positive("c", self.c)?;
        at_least_zero("optimum_norm_squared", self.optimum_norm_squared)?;
        Ok(Corollary1 {
            sensitivity: self.sensitivity,
            delta: self.delta,
            features: self.features,
            directions: self.directions,
            inner_steps: self.inner_steps,
            c: self.c,
            optimum_norm_squared: self.optimum_norm_squared,
        })
    }
}

/// Corollary 1: nominal.
#[pyfunction]
pub fn corollary1_epsilon(step: f64, sizes: Loop) -> PyResult<f64> {
    positive("step", step)?;
    sizes.corollary()?.epsilon(step).ok_or_else(|| {
        PyValueError::new_err(format!(
            "step {step}: Lemma 2's bound is not positive, so Corollary 1 says nothing; hint: a \
             longer step"
        ))
    })
}

/// The inverse of Corollary 1: nominal.
#[pyfunction]
pub fn corollary1_step(epsilon: f64, sizes: Loop) -> PyResult<f64> {
    positive("epsilon", epsilon)?;
    Ok(sizes.corollary()?.alpha0_times_r(epsilon))
}

/// What scores of many runs on two neighbouring data sets prove: lower bound, largest provable
/// bound, separation.
#[pyfunction]
pub fn audit_scores(
    py: Python<'_>,
    without: Vec<f64>,
    with: Vec<f64>,
    delta: f64,
    confidence: f64,
) -> PyResult<(f64, f64, f64)> {
    check((0.0..1.0).contains(&delta), "delta", "at least 0 and below 1", delta)?;
    probability("confidence", confidence)?;
    if without.len() < 4 || with.len() < 4 {
        return Err(PyValueError::new_err("an audit needs at least 4 trials on each data set"));
    }
    let finding = py.detach(|| test(Scores { without: &without, with: &with }, delta, confidence));
    Ok((finding.epsilon_lower_bound, finding.largest_provable_epsilon, finding.mu_estimate))
}
