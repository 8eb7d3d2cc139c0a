//! From black boxes to agents: what the program and the Python package do alike when only values are known.

use crate::admm::{Admm, PrimalStep};
use crate::agent::{Agent, Average};
use crate::graph::Graph;
use crate::mechanism::{NoGuarantee, Target, plan_scalar, scalar_rule, scalar_step};
use crate::problem::regularizer::{Penalty, Regularizer};
use crate::problem::{BlackBox, Failure, LocalObjective, Objective, PerSample};
use crate::scalar::Scalar;
use crate::simulate::{BuildError, Releases, agents_of};
use crate::step_rule::{first_step, stable_step};
use crate::streams::{Purpose, Streams};
use crate::zeroth_order::ZerothOrder;
use dzoa_privacy::{Event, calibrate};
use std::sync::Arc;
use thiserror::Error;

/// How far the agents' averages may still differ after the final gossip, as a fraction of before.
pub const GOSSIP_FRACTION: f64 = 1e-3;

/// Directions along which the curvature of a box is measured where no step is given.
const CURVATURE_DIRECTIONS: usize = 8;

/// What protects the releases.
#[derive(Clone, Debug, PartialEq)]
pub enum Protection {
    /// Nothing.
    None,
    /// Noise on clipped difference quotients: exact. Needs one value per sample.
    Scalar {
        /// The budget.
        target: Target,
        /// C; without one, the public rule chooses.
        clip: Option<f64>,
        /// A public bound on the curvature of the data term, for the step.
        curvature: f64,
    },
    /// The paper's, nominal: not a guarantee.
    Intrinsic {
        /// Per round.
        epsilon: f64,
        /// Per round.
        delta: f64,
        /// The constant of Lemma 3, assumed.
        c1: f64,
        /// Samples of every agent.
        samples: Vec<usize>,
    },
}

/// Settings of a run; what is `None` is chosen by rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// rho.
    pub rho: Option<f64>,
    /// M.
    pub rounds: Option<u64>,
    /// T.
    pub inner_steps: Option<usize>,
    /// J.
    pub directions: Option<usize>,
    /// `u_1`
    pub smoothing: Option<f64>,
    /// `alpha_0 R`
    pub step: Option<f64>,
    /// L.
    pub lipschitz: f64,
    /// Average the iterates of the inner loop.
    pub inner_average: bool,
    /// Pairs of opposite directions; not by default.
    pub antithetic: Option<bool>,
    /// Directions at right angles; by default without protection and without an l1 penalty.
    pub orthogonal: Option<bool>,
    /// Start a primal step at the last release.
    pub warm_start: Option<bool>,
    /// Count an agent in its own neighbourhood.
    pub self_loop: bool,
    /// What the agents report; by default the network's average under `scalar`, else the last release.
    pub average: Option<Average>,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rho: None,
            rounds: None,
            inner_steps: None,
            directions: None,
            smoothing: None,
            step: None,
            lipschitz: 1.0,
            inner_average: false,
            antithetic: None,
            orthogonal: None,
            warm_start: None,
            self_loop: true,
            average: None,
            regularizer: Regularizer::None,
            eta: 0.0,
        }
    }
}

/// Black boxes that cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PrepareError {
    /// Directions that depend on each other, where a claim counts on their independence.
    #[error("antithetic or orthogonal directions, but this mechanism counts on independent ones")]
    Arranged,
    /// A box gave no value before the first round.
    #[error("agent {agent}, before round 1: {failure}")]
    Failed {
        /// The agent.
        agent: String,
        /// Where, and why.
        failure: Failure,
    },
    /// Boxes and network differ.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No guarantee can be given.
    #[error("the mechanism is `scalar`, but {0}")]
    NoGuarantee(#[from] NoGuarantee),
    /// As many sample counts as agents are needed.
    #[error("{got} numbers of samples for {agents} agents")]
    Samples {
        /// Counts given.
        got: usize,
        /// Agents there are.
        agents: usize,
    },
}

/// Agents that are ready to run, and what was chosen for them.
pub struct Prepared {
    /// The agents.
    pub agents: Vec<Agent>,
    /// Outer loop.
    pub admm: Admm,
    /// Every agent's inner loop.
    pub inner: Vec<ZerothOrder>,
    /// Every agent's charges.
    pub events: Vec<Arc<[Event]>>,
    /// Sensitivity of one look (`scalar`) or one release by Lemma 3 (`intrinsic`), for every agent.
    pub sensitivity: Vec<f64>,
    /// C, for `scalar`.
    pub clip: Option<f64>,
}

/// Makes agents of black boxes.
pub fn prepare(
    boxes: &[Arc<BlackBox>],
    graph: &Graph,
    settings: &Settings,
    protection: &Protection,
    streams: &Streams,
) -> Result<Prepared, PrepareError> {
    let agents = boxes.len();
    if agents != graph.len() {
        return Err(BuildError::Count { data: agents, graph: graph.len() }.into());
    }
    let shape = shape(boxes, settings, protection)?;
    let neighbourhood = |k: usize| graph.neighbourhood(k, settings.self_loop) as f64;
    let features = boxes[0].dim();
    let measures = matches!(protection, Protection::None) && settings.step.is_none();
    let curvatures = match measures {
        true => measure(boxes, graph, shape.inner.smoothing, streams)?,
        false => Vec::new(),
    };
    let rho = shape.rho.unwrap_or_else(|| consensus_rule(&curvatures, &neighbourhood));
    let admm =
        Admm { rho, rounds: shape.rounds, self_loop: settings.self_loop, warm_start: shape.warm };
    let (events, sensitivity) = charges(boxes, graph, &admm, &shape, protection)?;
    let step = |k: usize| {
        let quadratic = rho * neighbourhood(k);
        let inner = &shape.inner;
        match (settings.step, protection) {
            (Some(step), _) => step,
            (None, Protection::Scalar { curvature, .. }) => {
                first_step(scalar_step(*curvature, quadratic), inner, features)
            }
            (None, Protection::Intrinsic { epsilon, delta, .. }) => calibrate::Corollary1 {
                sensitivity: sensitivity[k],
                delta: *delta,
                features,
                directions: inner.directions,
                inner_steps: inner.inner_steps,
                c: 0.5,
                optimum_norm_squared: 0.0,
            }
            .alpha0_times_r(*epsilon),
            (None, Protection::None) => {
                let curvature = curvatures[k] + 2.0 * quadratic;
                first_step(stable_step(curvature, features, inner), inner, features)
            }
        }
    };
    let inner: Vec<ZerothOrder> =
        (0..agents).map(|k| ZerothOrder { alpha0_times_r: step(k), ..shape.inner }).collect();
    let share = |weight: f64| Penalty {
        regularizer: settings.regularizer.clone(),
        weight,
        penalized: features,
    };
    let objectives = boxes
        .iter()
        .map(|data| LocalObjective {
            data: data.clone(),
            penalty: share(settings.eta / agents as f64),
        })
        .collect();
    let average = settings.average.unwrap_or(match protection {
        Protection::Scalar { .. } => {
            Average::Network { gossip: graph.gossip_rounds(GOSSIP_FRACTION) }
        }
        _ => Average::None,
    });
    let releases = Releases { events: events.clone(), ledgers: Vec::new(), average };
    let clip = shape.clip;
    let built =
        agents_of(objectives, graph, admm, releases, streams, |k| -> Box<dyn PrimalStep> {
            match clip {
                Some(clip) => Box::new(Scalar { inner: inner[k], clip, samples: boxes[k].clone() }),
                None => Box::new(inner[k]),
            }
        })?;
    Ok(Prepared { agents: built, admm, inner, events, sensitivity, clip })
}

/// What does not depend on measured values.
struct Shape {
    rho: Option<f64>,
    rounds: u64,
    inner: ZerothOrder,
    warm: bool,
    clip: Option<f64>,
}

fn shape(
    boxes: &[Arc<BlackBox>],
    settings: &Settings,
    protection: &Protection,
) -> Result<Shape, PrepareError> {
    // T, J and u1 where nobody gave them: few values a round without protection, one look a round with noise
    // on it, the paper's loop for the paper's claim.
    let (inner_steps, directions, smoothing, rounds) = match protection {
        Protection::None => (10, 10, 1.0, 100),
        Protection::Scalar { .. } => (1, 40, 0.1, 0),
        Protection::Intrinsic { .. } => (100, 30, 1.0, 200),
    };
    let (mut rho, mut rounds, mut clip) = (settings.rho, settings.rounds.unwrap_or(rounds), None);
    match protection {
        Protection::Scalar { target, clip: given, .. } => {
            let smallest = boxes.iter().map(|known| known.samples()).min().unwrap_or(1);
            let (rule, public_clip) = scalar_rule(smallest, target.total_epsilon);
            rho = rho.or(Some(rule.rho));
            rounds = settings.rounds.unwrap_or(rule.rounds);
            clip = Some(given.unwrap_or(public_clip));
        }
        Protection::Intrinsic { samples, .. } if samples.len() != boxes.len() => {
            return Err(PrepareError::Samples { got: samples.len(), agents: boxes.len() });
        }
        // The paper's rho.
        Protection::Intrinsic { .. } => rho = rho.or(Some(4.0)),
        Protection::None if settings.step.is_some() => rho = rho.or(Some(1.0)),
        Protection::None => {}
    }
    let unprotected = matches!(protection, Protection::None);
    // Over a kink, steps that are not averaged by chance jump to and fro.
    let kinked = settings.regularizer.separable().is_none_or(|(l1, _)| l1 > 0.0);
    if !unprotected && (settings.antithetic == Some(true) || settings.orthogonal == Some(true)) {
        return Err(PrepareError::Arranged);
    }
    let inner = ZerothOrder {
        antithetic: settings.antithetic.unwrap_or(false),
        orthogonal: settings.orthogonal.unwrap_or(unprotected && !kinked),
        inner_steps: settings.inner_steps.unwrap_or(inner_steps),
        directions: settings.directions.unwrap_or(directions),
        smoothing: settings.smoothing.unwrap_or(smoothing),
        alpha0_times_r: 1.0,
        lipschitz: settings.lipschitz,
        inner_average: settings.inner_average,
    };
    let warm = settings.warm_start.unwrap_or(!matches!(protection, Protection::Intrinsic { .. }));
    Ok(Shape { rho, rounds, inner, warm, clip })
}

fn measure(
    boxes: &[Arc<BlackBox>],
    graph: &Graph,
    u: f64,
    streams: &Streams,
) -> Result<Vec<f64>, PrepareError> {
    boxes
        .iter()
        .zip(graph.names())
        .map(|(known, name)| {
            let mut rng = streams.rng(Purpose::Curvature, name, 0);
            let zero = vec![0.0; known.dim()];
            known
                .measure_curvature(&zero, u, CURVATURE_DIRECTIONS, &mut rng)
                .map_err(|failure| PrepareError::Failed { agent: name.clone(), failure })
        })
        .collect()
}

/// rho where nobody gave one: consensus pulls about as hard as the objectives, whose curvature was measured
/// with a margin of up to three.
fn consensus_rule(curvatures: &[f64], neighbourhood: &dyn Fn(usize) -> f64) -> f64 {
    let agents = curvatures.len().max(1) as f64;
    let curvature = curvatures.iter().sum::<f64>() / agents;
    let pull = (0..curvatures.len()).map(neighbourhood).sum::<f64>() / agents;
    let rho = curvature / (6.0 * pull);
    if rho > 0.0 && rho.is_finite() { rho } else { 1.0 }
}

type Charges = (Vec<Arc<[Event]>>, Vec<f64>);

/// The events of every agent, and the sensitivity behind them.
fn charges(
    boxes: &[Arc<BlackBox>],
    graph: &Graph,
    admm: &Admm,
    shape: &Shape,
    protection: &Protection,
) -> Result<Charges, PrepareError> {
    let same = |event: Event| vec![Arc::from([event]); boxes.len()];
    match protection {
        Protection::None => Ok((same(Event::Unprotected), vec![0.0; boxes.len()])),
        Protection::Intrinsic { epsilon, delta, c1, samples } => {
            let sensitivity = |(k, samples): (usize, &usize)| {
                let neighbourhood = graph.neighbourhood(k, admm.self_loop);
                calibrate::lemma3_sensitivity(*c1, admm.rho, neighbourhood, *samples)
            };
            let events = same(Event::Nominal { epsilon: *epsilon, delta: *delta });
            Ok((events, samples.iter().enumerate().map(sensitivity).collect()))
        }
        Protection::Scalar { target, .. } => {
            let looks = (shape.inner.directions, shape.inner.inner_steps);
            let clip = shape.clip.unwrap_or(1.0);
            let plans = boxes
                .iter()
                .map(|known| plan_scalar(clip, looks, known.samples(), admm.rounds, target))
                .collect::<Result<Vec<_>, _>>()?;
            let (sensitivity, events) = plans.into_iter().unzip();
            Ok((events, sensitivity))
        }
    }
}
