//! Quadratic models from values: `joint-models`.
//!
//! ```text
//! ask      all agents for their values at the same public points
//! add up   their answers: the values of the sum, which is all that anybody needs
//! model    a quadratic through the points around the best one
//! step     to where the model is least in a region of trust: the same point everywhere
//! ```
//!
//! At common points the sum of all agents' models is the model of their sum, since a model is a
//! linear function of its values. So agents answer with values, and the model is public.
//!
//! Where values do not follow the models again and again, the best point is asked again, a few
//! times over. Values that differ are noise: `noise.rs`, regression over many points. Values that
//! do not have kinks: `kinks.rs`, smoothing by a cloud of points.

mod interpolation;
mod kinks;
mod noise;
mod random;
mod region;
mod search;

use super::quadratic::eigen;
use super::{Ask, Hidden, Question, SumMethod, Told};
use crate::problem::Variables;
use crate::problem::regularizer::Penalty;
use dzoa_privacy::joint::NoRegion;
use interpolation::Seen;
use kinks::Cloud;
use noise::Spread;
use search::{Next, Search, View};
use std::ops::Range;
use std::sync::Arc;

/// How often the best point is asked again where models do not hold.
const REPEATS: usize = 4;
/// The size of the cloud that smooths kinks, in first steps.
const CLOUD: f64 = 0.2;

/// Numbers of a run, all of them public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSettings {
    /// Values of every agent at most.
    pub values: u64,
    /// Sums at most.
    pub rounds: u64,
    /// Steps shorter than this part of the first one are not worth a value.
    pub finest: f64,
}

/// What the values said about how sure a result is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certainty {
    /// The standard deviation of one value of the sum; zero where asking again gave the same.
    /// `None` where nothing was asked again.
    pub noise: Option<f64>,
    /// What the last model promised of one more step.
    pub promised: Option<f64>,
    /// The least and the largest curvature of the last model, in first steps.
    pub curvature: Option<[f64; 2]>,
    /// Values did not follow models.
    pub broken: bool,
    /// It ended because values could tell no more, or was to use all of them, as it is under noise;
    /// and not because there were no more.
    pub found: bool,
    /// Values that every agent gave, and those it might have given.
    pub asked: [u64; 2],
}

/// A run between two sums.
#[derive(Clone, Debug)]
pub struct Models {
    settings: ModelSettings,
    variables: Arc<Variables>,
    penalty: Penalty,
    seen: Seen,
    stage: Stage,
    /// What is asked now; nothing once all is said.
    pending: Arc<[f64]>,
    done: u64,
    certainty: Certainty,
}

#[derive(Clone, Debug)]
enum Stage {
    Opening,
    Searching(Box<Search>),
    /// The best point again.
    Repeating(Box<Search>),
    Spread(Spread),
    Cloud(Cloud),
}

impl Models {
    /// From the start of the variables. The penalty is about their coordinates.
    pub fn new(settings: ModelSettings, variables: Arc<Variables>, penalty: Penalty) -> Self {
        let mut new = Self {
            settings,
            penalty,
            seen: Seen::default(),
            stage: Stage::Opening,
            pending: Arc::from([]),
            done: 0,
            certainty: Certainty::default(),
            variables,
        };
        new.put(Search::opening(&new.variables));
        new
    }

    /// Asks for these points next, or for as many as there are values left.
    fn put(&mut self, mut points: Vec<Vec<f64>>) {
        let left = self.settings.values.saturating_sub(self.seen.points.len() as u64);
        points.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if self.done >= self.settings.rounds {
            points.clear();
        }
        self.pending = points.concat().into();
    }

    /// Goes on to the next question.
    fn go_on(&mut self) {
        loop {
            let view = View { seen: &self.seen, variables: &self.variables };
            let points = match &mut self.stage {
                Stage::Opening => {
                    let search = Search::new(view, self.settings.finest);
                    self.stage = Stage::Searching(Box::new(search));
                    continue;
                }
                Stage::Searching(search) => match search.next(view) {
                    Next::Ask(points) => points,
                    Next::Found => {
                        self.certainty.found = true;
                        Vec::new()
                    }
                    Next::Broken => {
                        self.certainty.broken = true;
                        let best = self.seen.points[self.seen.best()].clone();
                        self.stage = Stage::Repeating(search.clone());
                        vec![best; REPEATS]
                    }
                },
                Stage::Repeating(search) => {
                    let best = self.seen.points[search.model().centre].clone();
                    self.stage = match self.certainty.noise {
                        Some(noise) if noise > 0.0 => Stage::Spread(Spread::new(best, 1.0)),
                        _ => Stage::Cloud(Cloud::new(best, CLOUD)),
                    };
                    continue;
                }
                Stage::Spread(spread) => spread.next(view),
                Stage::Cloud(cloud) if cloud.size() < self.settings.finest => {
                    self.certainty.found = true;
                    Vec::new()
                }
                Stage::Cloud(cloud) => cloud.next(view),
            };
            self.note();
            return self.put(points);
        }
    }

    /// Hands on the values that were asked for.
    fn learn(&mut self, asked: Range<usize>) {
        let view = View { seen: &self.seen, variables: &self.variables };
        match &mut self.stage {
            Stage::Searching(search) => search.learn(asked, view),
            Stage::Repeating(_) => self.certainty.noise = Some(deviation(&self.seen.values[asked])),
            Stage::Cloud(cloud) => cloud.learn(asked, &self.seen),
            Stage::Opening | Stage::Spread(_) => {}
        }
    }

    /// Writes down what the values say about the result.
    fn note(&mut self) {
        match &self.stage {
            Stage::Searching(search) => {
                let n = search.model().gradient.len();
                let (values, _) = eigen(&search.model().hessian, n);
                let least = values.iter().fold(f64::INFINITY, |least: f64, v| least.min(*v));
                let most = values.iter().fold(f64::NEG_INFINITY, |most: f64, v| most.max(*v));
                self.certainty.curvature = Some([least, most]);
                self.certainty.promised = Some(search.promised());
            }
            Stage::Spread(spread) => {
                self.certainty.noise = spread.noise().or(self.certainty.noise);
                self.certainty.found = true;
            }
            _ => {}
        }
    }
}

/// The standard deviation of values at one point.
fn deviation(values: &[f64]) -> f64 {
    let (Some(first), count) = (values.first(), values.len() as f64) else { return 0.0 };
    // From the first: equal values have none, to the last bit.
    let mean = values.iter().map(|v| v - first).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - first - mean) * (v - first - mean)).sum();
    (squares / (count - 1.0).max(1.0)).sqrt()
}

impl SumMethod for Models {
    fn rounds(&self) -> u64 {
        self.settings.rounds
    }

    fn done(&self) -> u64 {
        self.done
    }

    fn ask(&self) -> Result<Option<Ask>, NoRegion> {
        match self.pending.is_empty() {
            true => Ok(None),
            false => self.ask_at(self.done, self.estimate()).map(Some),
        }
    }

    fn ask_at(&self, _round: u64, point: Vec<f64>) -> Result<Ask, NoRegion> {
        let question = Question::Points(self.pending.clone());
        Ok(Ask { question, point: point.into(), hidden: None })
    }

    fn absorb(&mut self, sum: &[f64]) {
        let first = self.seen.points.len();
        let points = self.pending.chunks_exact(self.variables.free().max(1));
        for (point, value) in points.zip(sum) {
            self.seen.values.push(value + self.penalty.value(point));
            self.seen.points.push(point.to_vec());
        }
        self.done += 1;
        self.learn(first..self.seen.points.len());
        self.go_on();
    }

    fn estimate(&self) -> Vec<f64> {
        match &self.stage {
            Stage::Spread(spread) => spread.centre().to_vec(),
            _ if self.seen.points.is_empty() => vec![0.0; self.variables.free()],
            _ => self.seen.points[self.seen.best()].clone(),
        }
    }

    fn told(&self) -> Option<Told> {
        let start = *self.seen.values.first()?;
        let best = self.seen.values[self.seen.best()];
        let estimate = match &self.stage {
            Stage::Spread(spread) => spread.value().unwrap_or(best),
            _ => best,
        };
        Some(Told { start, estimate })
    }

    fn certainty(&self) -> Option<Certainty> {
        let asked = [self.seen.points.len() as u64, self.settings.values];
        Some(Certainty { asked, ..self.certainty })
    }

    fn planned(&self) -> Result<Vec<Hidden>, NoRegion> {
        Ok(Vec::new())
    }

    fn calls(&self) -> u64 {
        (self.pending.len() / self.variables.free().max(1)) as u64
    }
}
