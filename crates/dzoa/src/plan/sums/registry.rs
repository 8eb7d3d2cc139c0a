//! The registry of algorithms on joint sums.
//!
//! To add one, write its [`SumMethod`] in `crate::joint` and a row here. Config, `--help`, errors
//! and Python read the table.

use super::rules::{
    CLIP_GAINS, DescentRule, FINEST, HALF_STEP, JointSizes, NEWTON_SUMS, NewtonRule,
    PLAIN_NEWTON_STEPS, descent_rule, model_values, newton_rule, shares,
};
use crate::guarantee::NoGuarantee;
use crate::joint::{
    DescentSettings, ModelSettings, Models, Newton, NewtonSettings, Probing, Question, Slopes,
    SumDescent, SumMethod,
};
use crate::problem::regularizer::Penalty;
use crate::problem::{PublicProblem, Variables};
use crate::registry::{NumberRange, OptionKey, Options};
use std::sync::Arc;

/// A row of the registry.
#[derive(Debug)]
pub struct JointEntry {
    /// The name users type.
    pub name: &'static str,
    /// What it is, in few words.
    pub about: &'static str,
    /// Its page.
    pub page: &'static str,
    /// What `[algorithm.options]` may hold.
    pub options: &'static [OptionKey],
    /// Whether function values are enough for it.
    pub values_only: bool,
    /// Whether it needs a loss without kinks.
    pub smooth_loss: bool,
    /// Whether noise would leave nothing of it.
    pub plain_only: bool,
    pub(in crate::plan) build: fn(&JointMaking<'_>) -> Result<Box<dyn SumMethod>, NoGuarantee>,
}

impl PartialEq for JointEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl JointEntry {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        JOINT.iter().find(|entry| entry.name == name)
    }
}

const PAGE: &str = "docs/algorithms/joint.md";
const GROWTH: NumberRange = NumberRange::Positive;

/// All algorithms on joint sums.
pub const JOINT: &[JointEntry] = &[
    JointEntry {
        name: "joint-gradient",
        about: "sums of gradients at a public point",
        page: PAGE,
        options: &[
            OptionKey::new("step", NumberRange::Positive),
            OptionKey::new("momentum", NumberRange::NonNegative),
            OptionKey::new("growth", GROWTH),
            OptionKey::new("burn_in", NumberRange::NonNegative),
        ],
        values_only: false,
        smooth_loss: false,
        plain_only: false,
        build: |making| making.descent(Probing::Gradients),
    },
    JointEntry {
        name: "joint-newton",
        about: "few sums of gradients, and two of second derivatives",
        page: PAGE,
        options: &[
            OptionKey::new("hessian_share", NumberRange::Positive),
            OptionKey::new("warm_up_share", NumberRange::Positive),
            OptionKey::new("growth", GROWTH),
        ],
        values_only: false,
        smooth_loss: true,
        plain_only: false,
        build: |making| making.newton(),
    },
    JointEntry {
        name: "joint-values",
        about: "sums of difference quotients along common directions: values only",
        page: PAGE,
        options: &[
            OptionKey::new("step", NumberRange::Positive),
            OptionKey::new("momentum", NumberRange::NonNegative),
            OptionKey::new("growth", GROWTH),
            OptionKey::new("burn_in", NumberRange::NonNegative),
            OptionKey::new("difference", NumberRange::Positive),
        ],
        values_only: true,
        smooth_loss: false,
        plain_only: false,
        build: |making| {
            let directions = making.directions.unwrap_or(making.sizes.columns);
            let directions = directions.min(making.sizes.columns);
            let half = making.options.get("difference").unwrap_or(HALF_STEP);
            making.descent(Probing::Values { directions, half })
        },
    },
    JointEntry {
        name: "joint-models",
        about: "quadratic models from values at common points: few values, no noise",
        page: PAGE,
        options: &[OptionKey::new("values", NumberRange::Positive)],
        values_only: true,
        smooth_loss: false,
        plain_only: true,
        build: |making| Ok(Box::new(making.models())),
    },
];

/// What an algorithm on joint sums is made from: public numbers.
pub struct JointMaking<'a> {
    /// Its own options.
    pub options: &'a Options,
    /// What the rules go by.
    pub sizes: JointSizes,
    /// Everything but the rows; boxes have none.
    pub problem: Option<&'a PublicProblem>,
    /// `eta R`
    pub penalty: Penalty,
    /// What the coordinates stand for.
    pub variables: Arc<Variables>,
    /// Values of every agent at most, where that was given.
    pub values: Option<u64>,
    /// Sums, where they were given.
    pub rounds: Option<u64>,
    /// J, where it was given.
    pub directions: Option<usize>,
    /// What protects the sums.
    pub noise: Option<JointBudget>,
}

/// What protects the sums of a run.
#[derive(Clone, Debug)]
pub struct JointBudget {
    /// Of all sums together.
    pub mu: f64,
    /// A: the noise in a sum of diameter one and mu one.
    pub unit: f64,
    /// Where answers lie.
    pub slopes: Slopes,
    /// Rows that one person may have.
    pub rows_per_person: u64,
}

impl JointMaking<'_> {
    fn descent(&self, probing: Probing) -> Result<Box<dyn SumMethod>, NoGuarantee> {
        self.descent_in(probing, u64::MAX)
    }

    /// A descent of at most so many sums.
    fn descent_in(&self, probing: Probing, most: u64) -> Result<Box<dyn SumMethod>, NoGuarantee> {
        let rule = descent_rule(&self.sizes);
        let rounds = self.rounds.unwrap_or(rule.rounds.min(most));
        // Over other rounds the last share is still so many times the first.
        let longer = rule.rounds as f64 / rounds as f64;
        let growth = libm::pow(rule.growth, longer).min(rule.growth.max(1.3));
        let DescentRule { step, momentum, burn_in, .. } = rule;
        let option = |key: &str, default: f64| self.options.get(key).unwrap_or(default);
        let settings = DescentSettings {
            rounds,
            step: option("step", step * self.shorter(probing)),
            momentum: option("momentum", momentum),
            burn_in: option("burn_in", burn_in),
            probing,
        };
        let descent = SumDescent::plain(settings, self.penalty.clone(), self.sizes.columns);
        let Some(noise) = &self.noise else { return Ok(Box::new(descent)) };
        let shares = shares(rounds, option("growth", growth));
        let mus = shares.into_iter().map(|share| noise.mu * share.sqrt()).collect();
        let slopes = noise.slopes.clone().gaining(CLIP_GAINS[usize::from(rounds <= NEWTON_SUMS)]);
        Ok(Box::new(descent.protected(slopes, mus)))
    }

    fn models(&self) -> Models {
        let asked = self.options.get("values").map(|values| values as u64);
        let usual = model_values(self.sizes.columns);
        let values = asked.or(self.values).unwrap_or(usual).min(self.values.unwrap_or(u64::MAX));
        let rounds = self.rounds.unwrap_or(values.max(1));
        let settings = ModelSettings { values, rounds, finest: FINEST };
        Models::new(settings, self.variables.clone(), self.penalty.clone())
    }

    /// Fewer directions than columns make an estimate that is longer than the gradient: steps are
    /// shorter by as much.
    fn shorter(&self, probing: Probing) -> f64 {
        match probing {
            Probing::Gradients => 1.0,
            Probing::Values { directions, .. } => directions as f64 / self.sizes.columns as f64,
        }
    }

    fn newton(&self) -> Result<Box<dyn SumMethod>, NoGuarantee> {
        let Some(rule) = newton_rule(&self.sizes) else {
            return self.descent_in(Probing::Gradients, NEWTON_SUMS);
        };
        let problem = self.problem.ok_or(NoGuarantee::NoLipschitz("external"))?;
        let c3 = |k| crate::guarantee::c3(problem, k);
        let curvature = match &self.noise {
            Some(_) => (0..problem.agents()).try_fold(0.0, |most: f64, k| Ok(most.max(c3(k)?)))?,
            None => problem.loss.smoothness().ok_or(NoGuarantee::NotSmooth(problem.loss.name()))?,
        };
        let option = |key: &str, default: f64| self.options.get(key).unwrap_or(default);
        let hessian_share = option("hessian_share", rule.hessian_share).min(0.4);
        let warm_up_share =
            option("warm_up_share", rule.warm_up_share).min(0.9 - 2.0 * hessian_share);
        let steps = match (&self.noise, self.rounds) {
            (_, Some(rounds)) => rounds.saturating_sub(rule.warm_up + 2).max(1),
            (Some(_), None) => rule.steps,
            (None, None) => PLAIN_NEWTON_STEPS,
        };
        let NewtonRule { warm_up, skipped, growth: [early, late], .. } = rule;
        // What the noise of a matrix does to its eigenvalues, nearly always.
        let columns = self.sizes.columns as f64;
        let level = self.noise.as_ref().map_or(0.0, |noise| {
            let diameter = std::f64::consts::SQRT_2 * curvature * noise.rows_per_person as f64;
            let noise = noise.unit * diameter / (noise.mu * hessian_share.sqrt());
            rule.floor * noise * (2.0 * columns).sqrt()
        });
        let floor = level.max(1e-4 * self.sizes.curvature);
        let skipped = skipped.min(steps - 1);
        let eigenvalues = [floor, self.sizes.curvature.max(floor)];
        let settings = NewtonSettings { warm_up, steps, skipped, eigenvalues, curvature };
        let newton = Newton::plain(settings, self.penalty.clone(), self.sizes.columns);
        let Some(noise) = &self.noise else { return Ok(Box::new(newton)) };
        let rest = 1.0 - warm_up_share - 2.0 * hessian_share;
        let scaled = |share: f64, part: f64| share * part;
        let first = shares(warm_up, early).into_iter().map(|s| scaled(s, warm_up_share));
        let second = shares(steps, option("growth", late)).into_iter().map(|s| scaled(s, rest));
        let all = std::iter::once(hessian_share).chain(first);
        let all = all.chain(std::iter::once(hessian_share)).chain(second);
        let mus = all.map(|share| noise.mu * share.sqrt()).collect();
        let slopes = noise.slopes.clone().gaining(CLIP_GAINS[1]);
        Ok(Box::new(newton.protected(slopes, mus, noise.rows_per_person)))
    }

    /// Numbers in one answer.
    pub fn coordinates(&self) -> usize {
        Question::Gradient.coordinates(self.sizes.columns)
    }
}
