//! Proximal gradient descent with momentum on sums: `joint-gradient` and `joint-values`.
//!
//! ```text
//! a_m     = w_m + beta_m (w_m - w_{m-1})              the public point of the sum
//! g_m     = sum over all rows of their gradients at a_m, or what J quotients say about it
//! w_{m+1} = prox_{step eta R}(a_m - step g_m)
//! report    prox_{step eta R}(mean of a_m - step g_m, weighted by mu_m^2, after a burn-in)
//! ```
//!
//! The guarantee of a sum is fixed by the schedule and its noise by the point, which is public: at
//! a short `w` rows' gradients lie near each other. Means go into the last prox and not out of it,
//! so that what is zero is exactly zero.

use super::averaged::Averaged;
use super::frame::DirectionFrame;
use super::slopes::Slopes;
use super::{Ask, Hidden, Question, SumMethod};
use crate::problem::regularizer::Penalty;
use dzoa_privacy::joint::{NoRegion, Region};
use std::sync::Arc;

/// Numbers of a descent, all of them public.
#[derive(Clone, Debug)]
pub struct DescentSettings {
    /// Sums.
    pub rounds: u64,
    /// Of a step.
    pub step: f64,
    /// beta: the largest momentum.
    pub momentum: f64,
    /// The part of the rounds that is not averaged.
    pub burn_in: f64,
    /// What the steps take from the rows.
    pub probing: Probing,
}

/// What is asked of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Probing {
    /// Gradients.
    Gradients,
    /// Values along so many directions, so far to either side.
    Values {
        /// J.
        directions: usize,
        /// h.
        half: f64,
    },
}

/// What protects the sums of a run: where answers lie, and the guarantee of each sum.
#[derive(Clone, Debug)]
pub(super) struct Shield {
    pub(super) slopes: Slopes,
    pub(super) mus: Arc<[f64]>,
}

impl Shield {
    /// The answers in the sum of a round, which may say more than those.
    pub(super) fn answers<'a>(&mut self, round: u64, sum: &'a [f64]) -> &'a [f64] {
        match self.mus.get(round as usize) {
            Some(&mu) => self.slopes.absorb(sum, mu),
            None => sum,
        }
    }
}

/// A descent between two sums.
#[derive(Clone, Debug)]
pub struct SumDescent {
    settings: DescentSettings,
    penalty: Penalty,
    shield: Option<Shield>,
    /// `w_m` and `w_{m-1}`
    now: Vec<f64>,
    before: Vec<f64>,
    /// Rounds since the momentum began.
    moving: u64,
    done: u64,
    late: Averaged,
}

impl SumDescent {
    /// Without protection, from zero.
    pub fn plain(settings: DescentSettings, penalty: Penalty, columns: usize) -> Self {
        let (now, before) = (vec![0.0; columns], vec![0.0; columns]);
        let late = Averaged::new(columns);
        Self { settings, penalty, shield: None, now, before, moving: 0, done: 0, late }
    }

    /// Protected: one guarantee for each sum.
    pub fn protected(self, slopes: Slopes, mus: Arc<[f64]>) -> Self {
        Self { shield: Some(Shield { slopes, mus }), ..self }
    }

    /// `a_m`
    fn point(&self) -> Vec<f64> {
        let limit = self.moving as f64 / (self.moving as f64 + 3.0);
        let beta = self.settings.momentum.min(limit);
        let ahead = |(now, before): (&f64, &f64)| now + beta * (now - before);
        self.now.iter().zip(&self.before).map(ahead).collect()
    }

    /// The question of this round.
    fn question(&self, round: u64) -> Question {
        let columns = self.now.len();
        match self.settings.probing {
            Probing::Gradients => Question::Gradient,
            Probing::Values { directions, half } => {
                Question::Values(Arc::new(match directions >= columns {
                    true => DirectionFrame::axes(columns, half),
                    false => DirectionFrame::random(columns, directions, half, seed(round)),
                }))
            }
        }
    }

    fn region(&self, question: &Question, point: &[f64]) -> Result<Option<Region>, NoRegion> {
        let Some(Shield { slopes, .. }) = &self.shield else { return Ok(None) };
        Ok(Some(match question {
            Question::Values(frame) => slopes.quotients(point, frame)?,
            _ => slopes.gradients(point)?,
        }))
    }

    fn mu(&self, round: u64) -> Option<f64> {
        self.shield.as_ref().and_then(|shield| shield.mus.get(round as usize).copied())
    }
}

/// Public bytes for the directions of a round.
fn seed(round: u64) -> [u8; 32] {
    blake3::derive_key("dzoa 2026 joint directions", &round.to_le_bytes())
}

impl SumMethod for SumDescent {
    fn rounds(&self) -> u64 {
        self.settings.rounds
    }

    fn done(&self) -> u64 {
        self.done
    }

    fn ask(&self) -> Result<Option<Ask>, NoRegion> {
        if self.done >= self.settings.rounds {
            return Ok(None);
        }
        self.ask_at(self.done, self.point()).map(Some)
    }

    fn ask_at(&self, round: u64, point: Vec<f64>) -> Result<Ask, NoRegion> {
        let question = self.question(round);
        let region = self.region(&question, &point)?;
        let hidden = region.zip(self.mu(round)).map(|(region, mu)| Hidden { region, mu });
        Ok(Ask { question, point: point.into(), hidden })
    }

    fn absorb(&mut self, sum: &[f64]) {
        let DescentSettings { rounds, step, burn_in, .. } = self.settings;
        let point = self.point();
        let sum = match &mut self.shield {
            Some(shield) => shield.answers(self.done, sum),
            None => sum,
        };
        let gradient = match self.question(self.done) {
            Question::Values(frame) => frame.lift(sum),
            _ => sum.to_vec(),
        };
        let mut next: Vec<f64> = point.iter().zip(&gradient).map(|(a, g)| a - step * g).collect();
        if let Some(mu) = self.mu(self.done)
            && self.done as f64 >= burn_in * rounds as f64
        {
            self.late.add(mu * mu, next.iter().copied());
        }
        self.penalty.prox(&mut next, step);
        self.before = std::mem::replace(&mut self.now, next);
        self.moving += 1;
        // Without noise: where a step goes back on the one before, the momentum begins anew
        // (O'Donoghue and Candes 2015).
        let back = |((a, now), before): ((&f64, &f64), &f64)| (a - now) * (now - before);
        let against: f64 = point.iter().zip(&self.now).zip(&self.before).map(back).sum();
        if self.shield.is_none() && against > 0.0 {
            self.moving = 0;
        }
        self.done += 1;
    }

    fn estimate(&self) -> Vec<f64> {
        match self.late.mean() {
            Some(mut mean) => {
                self.penalty.prox(&mut mean, self.settings.step);
                mean
            }
            None => self.now.clone(),
        }
    }

    fn planned(&self) -> Result<Vec<Hidden>, NoRegion> {
        let Some(Shield { mus, .. }) = &self.shield else { return Ok(Vec::new()) };
        let start = vec![0.0; self.now.len()];
        let Some(region) = self.region(&self.question(0), &start)? else { return Ok(Vec::new()) };
        Ok(mus.iter().map(|&mu| Hidden { region: region.clone(), mu }).collect())
    }

    fn calls(&self) -> u64 {
        match self.settings.probing {
            Probing::Gradients => 1,
            Probing::Values { directions, .. } => 2 * directions as u64,
        }
    }
}
