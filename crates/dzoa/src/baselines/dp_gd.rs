//! Proximal gradient descent in which every agent adds its own noise to its gradient: the strongest
//! simple baseline. It needs somebody who adds the gradients up and hands out the model every round.
//!
//! ```text
//! g_k = scale_k sum_i loss'(x_i'w) x_i + noise       sensitivity 2 c1 scale_k
//! w  <- prox_{step eta R}(w - step sum_k g_k)
//! ```

use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::{Baseline, Holder, Needs};
use crate::admm::InnerFailure;
use crate::mechanism::{NoGuarantee, Target};
use crate::problem::Problem;
use crate::problem::regularizer::Penalty;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Step size.
    pub step: f64,
    /// Per-sample gradients are clipped to this norm.
    pub clip: Option<f64>,
}

/// All agents and the coordinator.
pub struct DpGd {
    settings: Settings,
    penalty: Penalty,
    agents: usize,
    w: Vec<f64>,
}

impl DpGd {
    /// Before the first round.
    pub fn new(settings: Settings, problem: &Problem) -> Self {
        let w = vec![0.0; problem.dim()];
        let penalty = problem.penalty(problem.eta);
        Self { settings, penalty, agents: problem.agents.len(), w }
    }
}

impl Baseline for DpGd {
    fn name(&self) -> &'static str {
        "dp-gd"
    }

    fn needs(&self) -> Needs {
        let known_c1 = self.settings.clip.is_none();
        Needs { coordinator: true, gradients: true, known_c1, ..Needs::default() }
    }

    fn events(
        &self,
        problem: &Problem,
        k: usize,
        rounds: u64,
        target: &Target,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let sensitivity = gradient_sensitivity(problem, k, self.settings.clip, target)?;
        let schedule = target.schedule;
        gaussian(&vec![sensitivity; rounds as usize], problem.dim(), target, schedule)
    }

    fn look(
        &self,
        _round: u64,
        holder: &mut Holder,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let risk = &holder.risk;
        let gradient = gradient(risk, None, &self.w, risk.weight, self.settings.clip);
        Ok(Private::new(gradient).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, releases: &[Release]) {
        let step = self.settings.step;
        for release in releases {
            self.w.iter_mut().zip(&release[..]).for_each(|(w, g)| *w -= step * g);
        }
        self.penalty.prox(&mut self.w, step);
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.w.clone()
    }

    fn messages(&self, _round: u64) -> u64 {
        2 * self.agents as u64
    }

    fn gradients_per_look(&self) -> u64 {
        1
    }
}
