//! What an audit found.

use dzoa::worst_case::LargestMove;
use dzoa_report::readable_to;
use serde::Serialize;

/// audit.json
#[derive(Debug, Serialize)]
pub struct AuditReport {
    /// Of the run that was attacked.
    pub name: String,
    pub(super) algorithm: String,
    pub(super) mechanism: String,
    pub(super) agent: String,
    /// Rounds that the attacker saw.
    pub(super) rounds: u64,
    /// The replaced row and what replaced it.
    pub(super) pair: String,
    pub(super) claim: &'static str,
    pub(super) claimed_epsilon: f64,
    pub(super) epsilon_lower_bound: f64,
    pub(super) delta: f64,
    pub(super) confidence: f64,
    /// Runs under each of the two data sets.
    pub(super) trials: usize,
    pub(super) largest_provable_epsilon: f64,
    pub(super) verdict: &'static str,
    /// An estimate, not a bound.
    pub(super) mu_estimate: f64,
    /// What no run is needed for.
    pub(super) sensitivity: Option<Sensitivity>,
    /// What holds if the noise is Gaussian as claimed.
    pub(super) if_gaussian: Option<IfGaussian>,
    pub(super) controls: Vec<Control>,
}

/// The largest move of the noiseless update beside the claimed sensitivity.
#[derive(Debug, Serialize)]
pub struct Sensitivity {
    pub(super) claimed: f64,
    pub(super) largest_move: f64,
    pub(super) round: u64,
    pub(super) rows: String,
    pub(super) holds: bool,
}

/// Bounds from the means of the scores, which are Gaussian if the noise is.
#[derive(Debug, Serialize)]
pub struct IfGaussian {
    pub(super) claimed_mu: f64,
    pub(super) mu_lower_bound: f64,
    pub(super) epsilon_lower_bound: f64,
    pub(super) verdict: &'static str,
}

/// A run of the attack whose outcome is known.
#[derive(Debug, Serialize)]
pub struct Control {
    pub(super) name: String,
    pub(super) epsilon_lower_bound: f64,
    pub(super) largest_provable_epsilon: f64,
    pub(super) passed: bool,
}

pub(super) fn verdict(violated: bool) -> &'static str {
    if violated { "violated" } else { "consistent" }
}

impl Sensitivity {
    pub(super) fn of(found: LargestMove) -> Self {
        let holds = found.holds();
        let LargestMove { moved, claimed, round, pair } = found;
        Self { claimed, largest_move: moved, round, rows: pair, holds }
    }

    pub(super) fn sentence(&self) -> String {
        let Self { claimed, largest_move, round, rows, holds } = self;
        let verdict = if *holds { "within" } else { "BEYOND" };
        format!(
            "without noise, {rows} moves the update of round {round} by {}: {verdict} the claimed \
             {}",
            readable_to(*largest_move, 5),
            readable_to(*claimed, 5)
        )
    }
}

impl AuditReport {
    /// What was found, for a terminal.
    pub fn describe(&self) -> String {
        let report = self;
        let caught = match report.verdict {
            "violated" => "VIOLATED: the mechanism leaks more than it claims",
            _ => "consistent: this attack proves nothing against the claim",
        };
        let mut text = format!(
            "{}: {} with mechanism {}, agent {}, {} round(s) seen, {} runs under each data set\n\n \
              \
         pair               {}\n  \
         claimed            epsilon {:.4} at delta {:e} ({})\n  \
         lower bound        epsilon {:.4} at confidence {}\n  \
         could have proven  epsilon {:.4} at most, with this many runs\n  \
         separation         mu about {:.3} (an estimate)\n  \
         verdict            {caught}\n",
            report.name,
            report.algorithm,
            report.mechanism,
            report.agent,
            report.rounds,
            report.trials,
            report.pair,
            report.claimed_epsilon,
            report.delta,
            report.claim,
            report.epsilon_lower_bound,
            report.confidence,
            report.largest_provable_epsilon,
            report.mu_estimate,
        );
        if let Some(found) = &report.if_gaussian {
            text.push_str(&format!(
            "  if Gaussian        mu at least {:.4} of {:.4} claimed, epsilon at least {:.4}: {}\n",
            found.mu_lower_bound, found.claimed_mu, found.epsilon_lower_bound, found.verdict
        ));
        }
        if let Some(found) = &report.sensitivity {
            text.push_str(&format!(
                "  sensitivity        {} claimed, largest move found {}\n",
                readable_to(found.claimed, 5),
                readable_to(found.largest_move, 5)
            ));
        }
        for control in &report.controls {
            let outcome = if control.passed { "as it must be" } else { "NOT AS IT MUST BE" };
            text.push_str(&format!(
                "  control            {}: lower bound {:.4}, {outcome}\n",
                control.name, control.epsilon_lower_bound
            ));
        }
        text
    }
}
