//! Proximal Newton steps on few sums: `joint-newton`.
//!
//! ```text
//! M       = c3 times the sum of x x', which no sum of second derivatives exceeds anywhere
//! warm up   w <- argmin g'(v - w) + 1/2 (v - w)'M(v - w) + eta R(v), a few times: no step size
//! H       = sum of second derivatives where that ends; then with g_m, the sum of gradients at w_m,
//! w_{m+1} = argmin g_m'(v - w_m) + 1/2 (v - w_m)'H(v - w_m) + eta R(v)
//! report    argmin 1/2 v'Hv + (mean of g_m - H w_m, weighted by mu_m^2)'v + eta R(v)
//! ```
//!
//! Eigenvalues of a noisy matrix are raised to what its noise can do to them, and cut at what a sum
//! of second derivatives can have (Boehning 1992 has the bound M).

use super::averaged::Averaged;
use super::descent::Shield;
use super::quadratic::{confined, minimise, times};
use super::slopes::Slopes;
use super::{Ask, Hidden, Question, SumMethod};
use crate::problem::regularizer::Penalty;
use dzoa_privacy::joint::{NoRegion, Region};
use std::f64::consts::SQRT_2;
use std::sync::Arc;

/// Numbers of a Newton run, all of them public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonSettings {
    /// Steps in the metric of the first matrix.
    pub warm_up: u64,
    /// Newton steps in the metric of the second matrix.
    pub steps: u64,
    /// Of those, the first ones that are not averaged.
    pub skipped: u64,
    /// The least and the largest eigenvalue that matrices are left with.
    pub eigenvalues: [f64; 2],
    /// c3 of one row: the longest matrix of second derivatives.
    pub curvature: f64,
}

/// A Newton run between two sums.
#[derive(Clone, Debug)]
pub struct Newton {
    settings: NewtonSettings,
    penalty: Penalty,
    shield: Option<Shield>,
    rows_per_person: u64,
    now: Vec<f64>,
    /// The metric of the steps, line by line, once it is known.
    hessian: Vec<f64>,
    late: Averaged,
    done: u64,
}

/// Where in a run a sum is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    First,
    WarmUp,
    Second,
    Newton { step: u64 },
}

impl Newton {
    /// Without protection, from zero.
    pub fn plain(settings: NewtonSettings, penalty: Penalty, columns: usize) -> Self {
        Self {
            settings,
            penalty,
            shield: None,
            rows_per_person: 1,
            now: vec![0.0; columns],
            hessian: Vec::new(),
            late: Averaged::new(columns),
            done: 0,
        }
    }

    /// Protected: one guarantee for each sum.
    pub fn protected(self, slopes: Slopes, mus: Arc<[f64]>, rows_per_person: u64) -> Self {
        Self { shield: Some(Shield { slopes, mus }), rows_per_person, ..self }
    }

    fn stage(&self, round: u64) -> Stage {
        let second = self.settings.warm_up + 1;
        match round {
            0 => Stage::First,
            round if round < second => Stage::WarmUp,
            round if round == second => Stage::Second,
            round => Stage::Newton { step: round - second - 1 },
        }
    }

    fn question(&self, round: u64) -> Question {
        match self.stage(round) {
            Stage::First => Question::Majoriser,
            Stage::Second => Question::Hessian,
            Stage::WarmUp | Stage::Newton { .. } => Question::Gradient,
        }
    }

    fn region(&self, round: u64, point: &[f64]) -> Result<Option<Region>, NoRegion> {
        let Some(Shield { slopes, .. }) = &self.shield else { return Ok(None) };
        let question = self.question(round);
        if let Question::Gradient = question {
            return slopes.gradients(point).map(Some);
        }
        // Matrices `a x x'` with `0 <= a ||x||^2 <= c` have lengths up to c, and no two of them an
        // obtuse angle: they lie at most `sqrt(2) c` apart.
        let c = self.settings.curvature;
        let ball = Region::ball(question.coordinates(point.len()), c)?;
        Ok(Some(ball.narrowed(SQRT_2 * c).rows_per_person(self.rows_per_person)))
    }

    fn mu(&self, round: u64) -> Option<f64> {
        self.shield.as_ref().and_then(|shield| shield.mus.get(round as usize).copied())
    }

    /// The whole matrix from its upper triangle, with eigenvalues in their range.
    fn take_hessian(&mut self, sum: &[f64]) {
        let n = self.now.len();
        let mut h = vec![0.0; n * n];
        let mut at = 0;
        for p in 0..n {
            h[p * n + p] = sum[at];
            for q in p + 1..n {
                let value = sum[at + q - p] / SQRT_2;
                (h[p * n + q], h[q * n + p]) = (value, value);
            }
            at += n - p;
        }
        self.hessian = confined(&h, n, self.settings.eigenvalues);
    }

    /// One step with this sum of gradients.
    fn step(&mut self, gradient: &[f64], stage: Stage) {
        let h = &self.hessian;
        // The model's linear term: g - H w.
        let zero = vec![0.0; self.now.len()];
        let curved = times(h, &self.now, &zero).into_iter().zip(gradient);
        let linear: Vec<f64> = curved.map(|(hw, g)| g - hw).collect();
        if let Stage::Newton { step } = stage
            && step >= self.settings.skipped
        {
            let mu = self.mu(self.done);
            // Without noise only the last step counts.
            if mu.is_none() {
                self.late = Averaged::new(self.now.len());
            }
            self.late.add(mu.map_or(1.0, |mu| mu * mu), linear.iter().copied());
        }
        self.now = minimise(h, &linear, &self.penalty, &self.now);
    }
}

impl SumMethod for Newton {
    fn rounds(&self) -> u64 {
        self.settings.warm_up + 2 + self.settings.steps
    }

    fn done(&self) -> u64 {
        self.done
    }

    fn ask(&self) -> Result<Option<Ask>, NoRegion> {
        if self.done >= self.rounds() {
            return Ok(None);
        }
        self.ask_at(self.done, self.now.clone()).map(Some)
    }

    fn ask_at(&self, round: u64, point: Vec<f64>) -> Result<Ask, NoRegion> {
        let region = self.region(round, &point)?;
        let hidden = region.zip(self.mu(round)).map(|(region, mu)| Hidden { region, mu });
        Ok(Ask { question: self.question(round), point: point.into(), hidden })
    }

    fn absorb(&mut self, sum: &[f64]) {
        match self.stage(self.done) {
            Stage::First | Stage::Second => self.take_hessian(sum),
            stage => {
                let gradient = match &mut self.shield {
                    Some(shield) => shield.answers(self.done, sum),
                    None => sum,
                };
                self.step(gradient, stage);
            }
        }
        self.done += 1;
    }

    fn estimate(&self) -> Vec<f64> {
        match self.late.mean() {
            Some(linear) => minimise(&self.hessian, &linear, &self.penalty, &self.now),
            None => self.now.clone(),
        }
    }

    fn planned(&self) -> Result<Vec<Hidden>, NoRegion> {
        let start = vec![0.0; self.now.len()];
        let hidden = |round: u64| {
            let region = self.region(round, &start)?;
            Ok(region.zip(self.mu(round)).map(|(region, mu)| Hidden { region, mu }))
        };
        (0..self.rounds()).filter_map(|round| hidden(round).transpose()).collect()
    }

    fn calls(&self) -> u64 {
        1
    }
}
