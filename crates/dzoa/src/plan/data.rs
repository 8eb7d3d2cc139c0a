//! What is minimised over: rows under a known loss, or black boxes that only give values.

use super::Refused;
use super::rules::BOX_RHO;
use super::steps::{bounded_curvature, typical_curvature};
use crate::primal::ZerothOrder;
use crate::problem::regularizer::{Penalty, Regularizer};
use crate::problem::{BlackBox, LocalObjective, Objective, PerSample, Problem, Variables};
use std::sync::Arc;

/// All agents' data terms.
#[derive(Clone, Debug)]
pub enum Data {
    /// Rows under a known loss.
    Rows(Problem),
    /// Functions that are known by their values only.
    Boxes(Boxes),
}

/// Black boxes, one per agent, and what is publicly known of them.
#[derive(Clone, Debug)]
pub struct Boxes {
    /// One per agent.
    pub boxes: Vec<Arc<BlackBox>>,
    /// What they are functions of; `None` for as many numbers as they take, without bounds.
    pub variables: Option<Arc<Variables>>,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// Samples of every agent, where a claim needs numbers that the boxes do not know.
    pub samples: Option<Vec<usize>>,
    /// A public bound on the curvature of each data term, for steps under a guarantee.
    pub curvature: f64,
    /// The constant of Lemma 3, assumed.
    pub c1: f64,
    /// What [`Boxes::measured`] found.
    pub measured: Option<Measured>,
}

/// The curvature of every box around zero, made by [`Boxes::measured`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub(super) curvatures: Vec<f64>,
    pub(super) rho: f64,
}

impl Boxes {
    /// Boxes without a regulariser, of which nothing else is known.
    pub fn new(boxes: Vec<Arc<BlackBox>>) -> Self {
        Self {
            boxes,
            variables: None,
            regularizer: Regularizer::None,
            eta: 0.0,
            samples: None,
            curvature: 1.0,
            c1: 1.0,
            measured: None,
        }
    }

    /// `eta R`, the whole regulariser or one agent's share of it.
    pub fn penalty(&self, weight: f64) -> Penalty {
        let penalized = self.boxes.first().map_or(0, |known| known.dim());
        Penalty { regularizer: self.regularizer.clone(), weight, penalized }
    }

    /// rho without protection: from the measured curvatures, or a constant where there are none.
    pub(super) fn rho(&self) -> f64 {
        self.measured.as_ref().map_or(BOX_RHO, |measured| measured.rho)
    }

    /// Whether the penalty has kinks.
    pub(super) fn has_kinks(&self) -> bool {
        !self.regularizer.is_smooth()
    }

    /// Values that every box may still give.
    pub(super) fn values_left(&self) -> Option<u64> {
        let left = |known: &Arc<BlackBox>| {
            Some(known.limits().budget?.saturating_sub(known.evaluations()))
        };
        self.boxes.iter().filter_map(left).min()
    }

    /// Whether every box gives one value per sample.
    pub(super) fn are_per_sample(&self) -> bool {
        self.boxes.iter().all(|known| known.is_per_sample())
    }
}

impl Data {
    /// The problem over rows; boxes have none.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Rows(problem) => Some(problem),
            Self::Boxes(_) => None,
        }
    }

    /// K.
    pub fn agents(&self) -> usize {
        match self {
            Self::Rows(problem) => problem.agents.len(),
            Self::Boxes(boxes) => boxes.boxes.len(),
        }
    }

    /// P.
    pub fn dim(&self) -> usize {
        match self {
            Self::Rows(problem) => problem.dim(),
            Self::Boxes(boxes) => boxes.boxes.first().map_or(0, |known| known.dim()),
        }
    }

    /// `N_k`, as far as it is known.
    pub fn samples(&self, k: usize) -> usize {
        match self {
            Self::Rows(problem) => problem.agents[k].count(),
            // What a box counts itself comes first: a guarantee rests on it.
            Self::Boxes(boxes) => match &boxes.samples {
                Some(samples) if !boxes.boxes[k].is_per_sample() => samples[k],
                _ => boxes.boxes[k].samples(),
            },
        }
    }

    /// The rows of the agent whose rows weigh most: what public rules go by.
    pub fn smallest(&self) -> usize {
        match self {
            Self::Rows(problem) => problem.fewest_samples(),
            Self::Boxes(_) => (0..self.agents()).map(|k| self.samples(k)).min().unwrap_or(1),
        }
    }

    /// The name of the loss.
    pub fn loss(&self) -> &'static str {
        match self {
            Self::Rows(problem) => problem.loss.name(),
            Self::Boxes(_) => "external",
        }
    }

    /// `f_k`
    pub fn objective(&self, k: usize) -> LocalObjective {
        match self {
            Self::Rows(problem) => problem.local(k),
            Self::Boxes(boxes) => LocalObjective {
                data: boxes.boxes[k].clone(),
                penalty: boxes.penalty(boxes.eta / boxes.boxes.len() as f64),
            },
        }
    }

    /// The data term of agent k, sample by sample.
    pub(super) fn per_sample(&self, k: usize) -> Arc<dyn PerSample> {
        match self {
            Self::Rows(problem) => Arc::new(problem.risk(k)),
            Self::Boxes(boxes) => boxes.boxes[k].clone(),
        }
    }

    /// A bound on the slope of the loss, where one is known.
    pub(super) fn steepest(&self) -> Option<f64> {
        match self {
            Self::Rows(problem) => problem.loss.lipschitz(),
            Self::Boxes(_) => None,
        }
    }

    /// c1 for Lemma 3. The paper takes 1 for the squared loss, which has none.
    pub fn assumed_c1(&self) -> f64 {
        match self {
            Self::Rows(problem) => problem.loss.lipschitz().unwrap_or(1.0),
            Self::Boxes(boxes) => boxes.c1,
        }
    }

    /// Whether c1 is a bound on the loss's slope, and not only assumed.
    pub fn knows_c1(&self) -> bool {
        matches!(self, Self::Rows(problem) if problem.loss.lipschitz().is_some())
    }

    /// A bound on the curvature of agent k's data term, or what was measured of it.
    pub(super) fn curvature(&self, k: usize, inner: &ZerothOrder) -> Result<f64, Refused> {
        match self {
            Self::Rows(problem) => Ok(bounded_curvature(problem, k, inner)),
            Self::Boxes(boxes) => {
                let measured = boxes.measured.as_ref().ok_or(Refused::Unmeasured)?;
                Ok(measured.curvatures[k])
            }
        }
    }

    /// What the curvature of agent k's data term is like, from public numbers.
    pub(super) fn typical_curvature(&self, k: usize) -> f64 {
        match self {
            Self::Rows(problem) => typical_curvature(problem, k),
            Self::Boxes(boxes) => boxes.curvature,
        }
    }

    /// What of it matters to who protects it.
    pub fn kind(&self) -> DataKind {
        match self {
            Self::Rows(_) => DataKind::Rows,
            Self::Boxes(boxes) => DataKind::Boxes {
                per_sample: boxes.are_per_sample(),
                counted: boxes.samples.is_some(),
            },
        }
    }
}

/// What of the data matters to who protects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Rows under a known loss.
    Rows,
    /// Black boxes.
    Boxes {
        /// One value per sample instead of one in all.
        per_sample: bool,
        /// The numbers of samples are known.
        counted: bool,
    },
}
