//! Figure 3 as it should have been: at equal exact total epsilon, with mechanisms that hold.

use super::captions::{number, spread};
use super::curves::{ERROR, curve};
use super::exact::{AGENTS, Budget, ETA, FEATURES, Method, SAMPLES, Tuned};
use super::raw::{Key, Measurement, Point};
use super::trials::{Stop, Trial, in_parallel};
use super::{Drawing, Figure};
use crate::chart::{BLUE, Chart, GREEN, Panel, RED, Style};
use crate::error::Result;
use crate::interrupt;
use kuva::prelude::MarkerShape;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

const LOSSES: [&str; 2] = ["logistic", "hinge"];
/// Along the first panels, at [`DELTA`].
const EPSILONS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
const DELTA: f64 = 1e-5;
/// Along the others, at [`EPSILON`].
const DELTAS: [f64; 5] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4];
const EPSILON: f64 = 2.0;
const MOST_TRIALS: u64 = 20;
const TUNING_TRIALS: u64 = 3;

/// The exact trade-off.
#[derive(Default)]
pub struct Honest {
    tuned: Vec<Choice>,
}

/// What was tuned for one baseline, loss and epsilon (at [`DELTA`]).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Choice {
    loss: String,
    epsilon: f64,
    algorithm: String,
    settings: Tuned,
    error: f64,
}
