//! A Python callable as the oracle behind a black box.

use crate::run::Stop;
use dzoa::problem::{Oracle, OracleError, Points};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of any callable of a run, kept so that the caller can raise from it.
#[derive(Clone, Default)]
pub struct FirstError(Arc<Mutex<Option<PyErr>>>);

impl FirstError {
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What ends a run before its last round: somebody asked for it, or a callable raised.
#[derive(Clone, Default)]
pub struct EarlyEnd {
    pub stop: Stop,
    pub error: FirstError,
}

/// One agent's callable.
pub struct PyOracle {
    pub callable: Py<PyAny>,
    /// It takes an array of points.
    pub batched: bool,
    /// It gives one value per sample.
    pub samples: Option<usize>,
    pub early: EarlyEnd,
}

impl Oracle for PyOracle {
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
        if self.early.stop.load(Ordering::Relaxed) {
            return Err(OracleError { point: None, message: "stopped".into() });
        }
        Python::attach(|py| {
            let outcome = match self.batched {
                true => self.ask_all(py, points, out).map_err(|error| (None, error)),
                false => points.iter().enumerate().try_for_each(|(i, point)| {
                    let width = out.len() / points.count();
                    let out = &mut out[i * width..][..width];
                    self.ask_one(py, point, out).map_err(|error| (Some(i), error))
                }),
            };
            outcome.map_err(|(point, error)| {
                let message = one_line(py, &error);
                self.early.error.keep(error);
                OracleError { point, message }
            })
        })
    }
}

impl PyOracle {
    /// The arrays are made for the call: a callable may keep or change them.
    fn ask_all(&self, py: Python<'_>, points: Points<'_>, out: &mut [f64]) -> PyResult<()> {
        let count = points.count();
        let array = PyArray1::from_slice(py, points.values).reshape([count, points.dim])?;
        let answer = self.callable.bind(py).call1((array,))?;
        match self.samples {
            None => copy(&answer, &[count], out),
            Some(samples) => copy(&answer, &[count, samples], out),
        }
    }

    fn ask_one(&self, py: Python<'_>, point: &[f64], out: &mut [f64]) -> PyResult<()> {
        let answer = self.callable.bind(py).call1((PyArray1::from_slice(py, point),))?;
        match (self.samples, answer.extract::<f64>()) {
            (None, Ok(value)) => {
                out[0] = value;
                Ok(())
            }
            (None, Err(_)) => Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "the objective returned {}, expected one number",
                kind(&answer)
            ))),
            (Some(samples), _) => copy(&answer, &[samples], out),
        }
    }
}

/// How many values per sample a callable gives, from one value at the start.
pub fn count_samples(callable: &Bound<'_, PyAny>, start: &[f64], batched: bool) -> PyResult<usize> {
    let py = callable.py();
    let point = PyArray1::from_slice(py, start);
    let answer = match batched {
        true => callable.call1((point.reshape([1, start.len()])?,))?,
        false => callable.call1((point,))?,
    };
    let array = as_array(&answer)?;
    let array = array.cast::<PyArrayDyn<f64>>()?;
    match (array.shape(), batched) {
        (&[samples], false) | (&[1, samples], true) if samples > 0 => Ok(samples),
        (shape, _) => Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "the objective returned an array of shape {shape:?} at the start, expected {} with one \
             value per sample",
            if batched { "[1, samples]" } else { "[samples]" }
        ))),
    }
}

/// Copies an array-like of exactly this shape.
fn copy(answer: &Bound<'_, PyAny>, shape: &[usize], out: &mut [f64]) -> PyResult<()> {
    let wrong = |got: String| {
        pyo3::exceptions::PyTypeError::new_err(format!(
            "the objective returned {got}, expected numbers of shape {shape:?}"
        ))
    };
    let array = as_array(answer).map_err(|_| wrong(kind(answer)))?;
    let array = array.cast::<PyArrayDyn<f64>>()?;
    if array.shape() != shape {
        return Err(wrong(format!("an array of shape {:?}", array.shape())));
    }
    let values = array.try_readonly()?;
    out.copy_from_slice(values.as_slice()?);
    Ok(())
}

/// `numpy.ascontiguousarray(answer, dtype=float)`, without a copy where it is one already.
fn as_array<'py>(answer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Ok(array) = answer.cast::<PyArrayDyn<f64>>()
        && array.is_contiguous()
        && array.is_c_contiguous()
    {
        return Ok(answer.clone());
    }
    let py = answer.py();
    let convert = CONVERT
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("require")?.unbind()))?;
    convert.bind(py).call1((answer, "f8", "C"))
}

fn kind(answer: &Bound<'_, PyAny>) -> String {
    let name = answer.get_type().name().map_or("an object".into(), |name| name.to_string());
    match answer.getattr("shape").and_then(|shape| shape.str()) {
        Ok(shape) => format!("{name} of shape {shape}"),
        Err(_) => name,
    }
}

/// `ValueError: text`, on one line.
fn one_line(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or("an exception".into(), |name| name.to_string());
    let text = error.value(py).to_string();
    let text: Vec<&str> = text.split_whitespace().collect();
    format!("{kind}: {}", text.join(" "))
}
