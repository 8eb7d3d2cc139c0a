//! What was released, as data.

use crate::{Condition, Digest, noise};
use serde::{Deserialize, Serialize};

/// One release about one agent's rows, described without the value that was released.
///
/// Events are append-only: a variant keeps its meaning for ever, so that an old ledger replays.
///
/// ```
/// use dzoa_privacy::{Claim, Event};
/// let event = Event::Gaussian { sensitivity: 0.1, sigma: 1.0 };
/// assert_eq!(event.claim(), Claim::Exact);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event", deny_unknown_fields)]
#[non_exhaustive]
pub enum Event {
    /// A value of the given L2 sensitivity plus `N(0, sigma^2 I)`.
    Gaussian {
        /// Largest change of the value when one row is replaced.
        sensitivity: f64,
        /// Standard deviation of the added noise.
        sigma: f64,
    },
    /// `count` vectors of the given L2 sensitivity, each coordinate rounded to a public grid and
    /// given discrete Gaussian noise on it.
    DiscreteGaussian {
        /// Largest change of one vector when one row is replaced, the rounding included.
        sensitivity: f64,
        /// Parameter of the noise.
        sigma: f64,
        /// Step of the grid.
        step: f64,
        /// Coordinates of one vector.
        coordinates: u64,
        /// Vectors.
        count: u64,
    },
    /// A pure epsilon-DP release, such as one with Laplace noise.
    Pure {
        /// epsilon.
        epsilon: f64,
    },
    /// A vector of the given L1 sensitivity, each coordinate rounded to a public grid and given
    /// discrete Laplace noise on it: pure.
    Laplace {
        /// Largest L1 change of the vector when one row is replaced, the rounding included.
        sensitivity: f64,
        /// Scale of the noise.
        scale: f64,
        /// Coordinates of the vector.
        coordinates: u64,
    },
    /// A vector of the given L2 sensitivity, rounded to a public grid, plus noise on that grid with
    /// probabilities proportional to `exp(-||noise||/scale)`: pure. See [`crate::noise`].
    SphericalLaplace {
        /// Largest L2 change of the vector when one row is replaced, the rounding included.
        sensitivity: f64,
        /// Scale of the noise.
        scale: f64,
        /// Coordinates of the vector.
        coordinates: u64,
    },
    /// The minimiser of a strongly convex objective that got a random linear term of density
    /// proportional to `exp(-||noise||/scale)`, found to a tolerance that spherical Laplace noise
    /// hides: pure. See [`crate::NoisyObjective`].
    ObjectivePerturbation {
        /// Largest change of the objective's gradient when one row is replaced.
        gradient: f64,
        /// Scale of the linear term.
        scale: f64,
        /// Largest change of the logarithm of the Hessian's determinant.
        log_determinant: f64,
        /// Twice the tolerance of the minimiser, the rounding included.
        tolerance: f64,
        /// Scale of the noise that hides it.
        output_scale: f64,
        /// Coordinates of the minimiser.
        coordinates: u64,
    },
    /// A sum over `batch` of `samples` rows, drawn without replacement, plus `N(0, sigma^2 I)`.
    SubsampledGaussian {
        /// Largest change of the sum when one drawn row is replaced.
        sensitivity: f64,
        /// Standard deviation of the added noise.
        sigma: f64,
        /// Rows drawn.
        batch: u64,
        /// Rows there are.
        samples: u64,
    },
    /// A sum over all agents of vectors on a public grid, in which every agent hides its part with
    /// discrete Gaussian noise, and all but the sum with masks. See [`crate::joint`].
    ///
    /// It says all that any accountant needs, for ever: under the planned number of colluders,
    /// under any other, and if masks hide nothing.
    JointSum {
        /// Largest change of the sum when one row of this agent is replaced, the rounding included.
        sensitivity: f64,
        /// Parameter of one draw of noise.
        share: f64,
        /// Step of the grid.
        step: f64,
        /// Coordinates of the sum.
        coordinates: u64,
        /// Draws of this agent for one coordinate: what protects it if all others collude.
        multiples: u32,
        /// Draws of this agent and of the other honest ones, at least, under the planned number of
        /// colluders.
        honest: u64,
        /// Draws that every agent makes, at least.
        least: u32,
        /// Agents in the sum.
        agents: u32,
        /// Agents that may collude. One less than `agents`: all others, and there are no masks.
        colluders: u32,
        /// Which sum of which transcript; zero in a plan.
        context: Digest,
    },
    /// A release whose only claim is the paper's Theorem 1: the noise is assumed, not added.
    Nominal {
        /// The paper's epsilon of one round.
        epsilon: f64,
        /// The paper's delta of one round.
        delta: f64,
    },
    /// A release without any protection.
    Unprotected,
}

/// What may be said about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// No statement about privacy at all.
    None,
    /// The paper's figure, which is not a guarantee: see [`crate::calibrate`].
    Nominal,
    /// A differential-privacy guarantee that holds as stated.
    Exact,
}

impl Event {
    /// `count` vectors of `coordinates` values and this L2 sensitivity, with discrete Gaussian
    /// noise on the grid of [`crate::noise`]. What rounding adds to the sensitivity is added here.
    pub fn discrete_gaussian(
        sensitivity: f64,
        sigma: f64,
        coordinates: usize,
        count: usize,
    ) -> Self {
        Event::DiscreteGaussian {
            sensitivity: crate::round_up(sensitivity + noise::rounding(sigma, coordinates)),
            sigma,
            step: noise::step(sigma),
            coordinates: coordinates as u64,
            count: count as u64,
        }
    }

    /// A vector of this L1 sensitivity with discrete Laplace noise; what rounding adds is added
    /// here.
    pub fn laplace(sensitivity: f64, scale: f64, coordinates: usize) -> Self {
        let rounding = 2.0 * noise::laplace_step(scale) * coordinates as f64;
        let sensitivity = crate::round_up(sensitivity + rounding);
        Event::Laplace { sensitivity, scale, coordinates: coordinates as u64 }
    }

    /// A vector of this L2 sensitivity with spherical Laplace noise; what rounding adds is added
    /// here.
    pub fn spherical_laplace(sensitivity: f64, scale: f64, coordinates: usize) -> Self {
        let sensitivity =
            crate::round_up(sensitivity + noise::laplace_rounding(scale, coordinates));
        Event::SphericalLaplace { sensitivity, scale, coordinates: coordinates as u64 }
    }

    /// The sensitivity that its noise is for: that of the gradient where the objective is
    /// perturbed, and 0 where no noise is added.
    pub fn sensitivity(&self) -> f64 {
        match *self {
            Event::Gaussian { sensitivity, .. }
            | Event::SubsampledGaussian { sensitivity, .. }
            | Event::DiscreteGaussian { sensitivity, .. }
            | Event::JointSum { sensitivity, .. }
            | Event::Laplace { sensitivity, .. }
            | Event::SphericalLaplace { sensitivity, .. } => sensitivity,
            Event::ObjectivePerturbation { gradient, .. } => gradient,
            Event::Pure { .. } | Event::Nominal { .. } | Event::Unprotected => 0.0,
        }
    }

    /// The scale of its noise: a standard deviation, or that of a Laplace law; `None` where no
    /// noise is added. Of a joint sum, what is there under the planned number of colluders.
    pub fn noise(&self) -> Option<f64> {
        match *self {
            Event::JointSum { share, honest, .. } => Some(share * (honest as f64).sqrt()),
            Event::Gaussian { sigma, .. }
            | Event::SubsampledGaussian { sigma, .. }
            | Event::DiscreteGaussian { sigma, .. } => Some(sigma),
            Event::Laplace { scale, .. }
            | Event::SphericalLaplace { scale, .. }
            | Event::ObjectivePerturbation { scale, .. } => Some(scale),
            Event::Pure { .. } | Event::Nominal { .. } | Event::Unprotected => None,
        }
    }

    /// Whether every number that describes the release is finite and not negative. What is not
    /// sound costs everything: an accountant that has a price for the event takes it as
    /// unprotected.
    pub fn is_sound(&self) -> bool {
        if let Event::JointSum { multiples, honest, least, agents, colluders, .. } = *self {
            // Every agent draws, and those that cannot collude are counted on for no more than they
            // draw at least; the protected one is honest.
            let others = agents.checked_sub(colluders).and_then(|honest| honest.checked_sub(1));
            let Some(others) = others else { return false };
            let least_drawn = drawn(multiples, others, least);
            if least == 0 || multiples < least || honest < least_drawn || !self.is_fine() {
                return false;
            }
        }
        let numbers: &[f64] = match self {
            Event::Gaussian { sensitivity, sigma }
            | Event::SubsampledGaussian { sensitivity, sigma, .. } => &[*sensitivity, *sigma],
            Event::DiscreteGaussian { sensitivity, sigma, step, .. } => {
                &[*sensitivity, *sigma, *step]
            }
            Event::JointSum { sensitivity, share, step, .. } => &[*sensitivity, *share, *step],
            Event::Pure { epsilon } => &[*epsilon],
            Event::Laplace { sensitivity, scale, .. }
            | Event::SphericalLaplace { sensitivity, scale, .. } => &[*sensitivity, *scale],
            Event::ObjectivePerturbation {
                gradient,
                scale,
                log_determinant,
                tolerance,
                output_scale,
                ..
            } => &[*gradient, *scale, *log_determinant, *tolerance, *output_scale],
            Event::Nominal { epsilon, delta } => &[*epsilon, *delta],
            Event::Unprotected => &[],
        };
        numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
    }

    /// The pure epsilon of a release that has one, rounded up; infinite where a number is missing.
    pub fn pure_epsilon(&self) -> Option<f64> {
        let ratio = |change: f64, scale: f64| match (change, scale) {
            (change, _) if change <= 0.0 => 0.0,
            (change, scale) if scale > 0.0 => change / scale,
            _ => f64::INFINITY,
        };
        let epsilon = match *self {
            Event::Pure { epsilon } if self.is_sound() => return Some(epsilon),
            Event::Laplace { sensitivity, scale, .. } => ratio(sensitivity, scale),
            Event::SphericalLaplace { sensitivity, scale, coordinates } => {
                noise::spherical_epsilon(ratio(sensitivity, scale), coordinates)
            }
            Event::ObjectivePerturbation {
                gradient,
                scale,
                log_determinant,
                tolerance,
                output_scale,
                coordinates,
            } => {
                let linear = ratio(gradient, scale) + noise::cell_epsilon(coordinates);
                noise::spherical_epsilon(linear, coordinates)
                    + log_determinant
                    + noise::spherical_epsilon(ratio(tolerance, output_scale), coordinates)
            }
            Event::Pure { .. } => f64::INFINITY,
            _ => return None,
        };
        Some(if self.is_sound() { crate::round_up(epsilon) } else { f64::INFINITY })
    }

    /// The strongest statement this release allows.
    pub fn claim(&self) -> Claim {
        match self {
            event if !event.is_sound() => Claim::None,
            Event::Gaussian { .. }
            | Event::DiscreteGaussian { .. }
            | Event::JointSum { .. }
            | Event::Pure { .. }
            | Event::Laplace { .. }
            | Event::SphericalLaplace { .. }
            | Event::ObjectivePerturbation { .. }
            | Event::SubsampledGaussian { .. } => Claim::Exact,
            Event::Nominal { .. } => Claim::Nominal,
            Event::Unprotected => Claim::None,
        }
    }
}

/// Joint sums, under other assumptions than they were planned for.
impl Event {
    /// The event if others cannot be relied on for anything: they all collude, or masks hide
    /// nothing. Other events are the same under every assumption.
    pub fn unconditional(self) -> Self {
        match self {
            Event::JointSum { agents, .. } => self.if_colluding(agents.saturating_sub(1)),
            event => event,
        }
    }

    /// The event if so many others collude in truth. Exact for more than planned, and where all
    /// agents draw alike; else a bound.
    ///
    /// By the solution of [`crate::joint::Shares`] the agents that draw least are enough to make up
    /// every honest set of the planned size or less.
    pub fn if_colluding(mut self, others: u32) -> Self {
        if let Event::JointSum { multiples, honest, least, agents, colluders, .. } = &mut self {
            let all = agents.saturating_sub(1);
            // Without masks every contribution is seen by itself, whoever looks.
            if *colluders < all {
                let others = others.min(all);
                *honest = match others {
                    fewer if fewer <= *colluders => {
                        honest.saturating_add(drawn(0, *colluders - fewer, *least))
                    }
                    more => drawn(*multiples, all - more, *least).min(*honest),
                };
                *colluders = others;
            }
        }
        self
    }

    /// What the guarantee rests on beyond this agent's own noise, if on anything.
    pub fn condition(&self) -> Option<Condition> {
        match *self {
            Event::JointSum { agents, colluders, .. } if colluders.saturating_add(1) < agents => {
                Some(Condition { agents, colluders })
            }
            _ => None,
        }
    }

    /// A joint sum as it is seen by whom it is protected against: the noise of all honest draws is
    /// discrete Gaussian, too.
    pub(crate) fn as_seen(self) -> Self {
        match self {
            Event::JointSum { sensitivity, step, coordinates, share, honest, .. } => {
                let sigma = share * (honest as f64).sqrt();
                Event::DiscreteGaussian { sensitivity, sigma, step, coordinates, count: 1 }
            }
            event => event,
        }
    }

    /// Whether the grid of a joint sum is so fine that the sum of its draws is one draw.
    fn is_fine(&self) -> bool {
        match *self {
            Event::JointSum { share, step, .. } => step * 65_536.0 <= share,
            _ => true,
        }
    }
}

/// Draws of an agent, and of so many others that draw so often: numbers of 32 bits do not overflow.
fn drawn(multiples: u32, others: u32, least: u32) -> u64 {
    u64::from(multiples) + u64::from(others) * u64::from(least)
}
