//! Proximal Newton steps on few sums: `joint-newton`.
//!
//! ```text
//! a few gradient steps; at the point where they end, the sum H of second derivatives, once; then
//! g_m     = sum of gradients at w_m
//! w_{m+1} = argmin g_m'(v - w_m) + 1/2 (v - w_m)'H(v - w_m) + eta R(v)
//! report    argmin 1/2 v'Hv - (mean of H w_m - g_m, weighted by mu_m^2)'v + eta R(v)
//! ```

use super::averaged::Averaged;
use super::descent::{Descent, DescentSettings, Probing, Shield};
use super::quadratic::{is_positive_definite, minimise, times};
use super::slopes::Slopes;
use super::{Ask, Hidden, Method, Question};
use crate::problem::regularizer::Penalty;
use dzoa_privacy::joint::{NoRegion, Region};
use std::sync::Arc;

/// Numbers of a Newton run, all of them public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonSettings {
    /// Gradient steps before the second derivatives are asked for.
    pub warm_up: u64,
    /// Of those steps.
    pub step: f64,
    /// beta: the largest momentum of those steps.
    pub momentum: f64,
    /// Newton steps.
    pub steps: u64,
    /// Newton steps that are not averaged.
    pub skipped: u64,
    /// Added to the diagonal of H: what its noise may have taken away.
    pub ridge: f64,
    /// c3 of one row: the longest matrix of second derivatives.
    pub curvature: f64,
}

/// A Newton run between two sums.
#[derive(Clone, Debug)]
pub struct Newton {
    settings: NewtonSettings,
    penalty: Penalty,
    warm_up: Descent,
    shield: Option<Shield>,
    rows_per_person: u64,
    now: Vec<f64>,
    /// Line by line, once it is known.
    hessian: Option<Vec<f64>>,
    late: Averaged,
    done: u64,
}

impl Newton {
    /// Without protection, from zero.
    pub fn plain(settings: NewtonSettings, penalty: Penalty, columns: usize) -> Self {
        let NewtonSettings { warm_up: rounds, step, momentum, .. } = settings;
        let (burn_in, probing) = (1.0, Probing::Gradients);
        let warm_up = DescentSettings { rounds, step, momentum, burn_in, probing };
        Self {
            settings,
            warm_up: Descent::plain(warm_up, penalty.clone(), columns),
            penalty,
            shield: None,
            rows_per_person: 1,
            now: vec![0.0; columns],
            hessian: None,
            late: Averaged::new(columns),
            done: 0,
        }
    }

    /// Protected: one guarantee for each sum.
    pub fn protected(self, slopes: Slopes, mus: Arc<[f64]>, rows_per_person: u64) -> Self {
        let warm_up = self.warm_up.protected(slopes.clone(), mus.clone());
        Self { warm_up, shield: Some(Shield { slopes, mus }), rows_per_person, ..self }
    }

    fn question(&self, round: u64) -> Question {
        match round == self.settings.warm_up {
            true => Question::Hessian,
            false => Question::Gradient,
        }
    }

    fn region(&self, round: u64, point: &[f64]) -> Result<Option<Region>, NoRegion> {
        let Some(Shield { slopes, .. }) = &self.shield else { return Ok(None) };
        let question = self.question(round);
        let Question::Hessian = question else { return slopes.gradients(point).map(Some) };
        // Matrices `a x x'` with `0 <= a ||x||^2 <= c` have lengths up to c, and no two of them an
        // obtuse angle: they lie at most `sqrt(2) c` apart.
        let c = self.settings.curvature;
        let ball = Region::ball(question.coordinates(point.len()), c)?;
        Ok(Some(ball.narrowed(std::f64::consts::SQRT_2 * c).rows_per_person(self.rows_per_person)))
    }

    fn mu(&self, round: u64) -> Option<f64> {
        self.shield.as_ref().and_then(|shield| shield.mus.get(round as usize).copied())
    }

    /// The whole matrix from its upper triangle, with a ridge that makes it positive definite.
    fn take_hessian(&mut self, sum: &[f64]) {
        let n = self.now.len();
        let mut h = vec![0.0; n * n];
        let mut at = 0;
        for p in 0..n {
            h[p * n + p] = sum[at] + self.settings.ridge;
            for q in p + 1..n {
                let value = sum[at + q - p] / std::f64::consts::SQRT_2;
                (h[p * n + q], h[q * n + p]) = (value, value);
            }
            at += n - p;
        }
        // The ridge is above what noise does nearly always; otherwise it grows, in public.
        let trace: f64 = (0..n).map(|p| h[p * n + p].abs()).sum();
        let mut more = self.settings.ridge.max(1e-12 * trace).max(f64::MIN_POSITIVE);
        while !is_positive_definite(&h, n) && more.is_finite() {
            (0..n).for_each(|p| h[p * n + p] += more);
            more *= 2.0;
        }
        self.hessian = Some(h);
    }

    /// One Newton step with this sum of gradients.
    fn step(&mut self, gradient: &[f64]) {
        let Some(h) = &self.hessian else { return };
        // The quadratic model's linear term: g - H w.
        let at_zero: Vec<f64> = times(h, &self.now, &vec![0.0; self.now.len()])
            .into_iter()
            .zip(gradient)
            .map(|(hw, g)| g - hw)
            .collect();
        let newton_steps_done = self.done - self.settings.warm_up - 1;
        if newton_steps_done >= self.settings.skipped {
            let mu = self.mu(self.done);
            // Without noise only the last step counts.
            if mu.is_none() {
                self.late = Averaged::new(self.now.len());
            }
            self.late.add(mu.map_or(1.0, |mu| mu * mu), at_zero.iter().copied());
        }
        self.now = minimise(h, &at_zero, &self.penalty, &self.now);
    }
}

impl Method for Newton {
    fn rounds(&self) -> u64 {
        self.settings.warm_up + 1 + self.settings.steps
    }

    fn done(&self) -> u64 {
        self.done
    }

    fn ask(&self) -> Result<Option<Ask>, NoRegion> {
        if self.done >= self.rounds() {
            return Ok(None);
        }
        if self.done < self.settings.warm_up {
            return self.warm_up.ask();
        }
        let region = self.region(self.done, &self.now)?;
        let hidden = region.zip(self.mu(self.done)).map(|(region, mu)| Hidden { region, mu });
        let point = self.now.clone().into();
        Ok(Some(Ask { question: self.question(self.done), point, hidden }))
    }

    fn absorb(&mut self, sum: &[f64]) {
        match self.done.cmp(&self.settings.warm_up) {
            std::cmp::Ordering::Less => {
                self.warm_up.absorb(sum);
                self.now = self.warm_up.estimate();
            }
            std::cmp::Ordering::Equal => self.take_hessian(sum),
            std::cmp::Ordering::Greater => self.step(sum),
        }
        self.done += 1;
    }

    fn estimate(&self) -> Vec<f64> {
        match (&self.hessian, self.late.mean()) {
            (Some(h), Some(linear)) => minimise(h, &linear, &self.penalty, &self.now),
            _ => self.now.clone(),
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
