//! The words of a statement. Nobody else has any.

use super::{EarlierRuns, Statement};
use crate::{Claim, Colluders, Condition};
use std::fmt;

impl Condition {
    /// Whom a guarantee holds against.
    fn adversary(&self) -> String {
        let others = self.agents.saturating_sub(1);
        match self.colluders {
            0 => "outsiders only".into(),
            1 => format!("any one of the other {others} agents"),
            colluders => format!("any {colluders} of the other {others} agents together"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = match self.colluders {
            0 => format!("if all {} agents run this program", self.agents),
            _ => "if the rest run this program".into(),
        };
        write!(f, "holds against {}, {run}", self.adversary())
    }
}

impl Statement {
    /// In a few plain sentences. The first word is the claim.
    pub fn sentence(&self) -> String {
        let delta = self.delta.unwrap_or_default();
        match self.claim {
            Claim::Nominal => format!(
                "NOMINAL: epsilon {} per round and {} in total (Theorem 2), delta {delta:e}, is \
                 the paper's figure and is not a guarantee.{}",
                printed(self.epsilon_per_round),
                printed(self.epsilon_theorem2),
                spoken(&self.rests_on),
            ),
            Claim::Exact => format!(
                "EXACT: every agent's releases of this run together are ({}, \
                 {delta:e})-differentially private for replacing one of its rows{}. The number of \
                 rows is public.{}{}{}",
                printed(self.epsilon_exact),
                self.against(),
                self.early_end(),
                self.life(),
                spoken(&self.rests_on),
            ),
            Claim::None if self.is_noisy() => format!(
                "NONE: {}. Without that it would be exact: epsilon {} at delta {delta:e}{}.",
                self.void.join("; "),
                printed(self.epsilon_exact),
                self.condition().map(|it| format!(", which {it}")).unwrap_or_default(),
            ),
            Claim::None => {
                "NONE: the exchanged vectors are not protected, and nothing is promised.".into()
            }
        }
    }

    /// What the guarantee of joint sums rests on.
    fn condition(&self) -> Option<&str> {
        self.joint.as_ref().and_then(|joint| joint.condition.as_deref())
    }

    /// Whom it holds against, on which condition, and what it is worth without.
    fn against(&self) -> String {
        let (Some(joint), Some(condition)) = (&self.joint, self.condition()) else {
            return ", against anybody who sees all releases".into();
        };
        let said = joint.spoken();
        let list = |texts: Vec<String>| texts.join(", ");
        let others = list(said.iter().map(|(others, _)| others.to_string()).collect());
        let epsilons = list(said.iter().map(|(_, epsilon)| printed(Some(*epsilon))).collect());
        let profile = match said.is_empty() {
            true => String::new(),
            false => {
                format!(" If {others} of the other agents collude in truth, epsilon is {epsilons}.")
            }
        };
        format!(
            ". This {condition} and keep their secrets, and as long as X25519 and ChaCha20 are not \
             broken.{profile} Whatever the others do, it is at most {}",
            printed(joint.epsilon_unconditional),
        )
    }

    /// What the number means where a run ended before its plan did.
    fn early_end(&self) -> &'static str {
        // More than rounding.
        const ALIKE: f64 = 1.0 + 1e-6;
        match self.epsilon_exact > self.epsilon_charged.map(|charged| charged * ALIKE) {
            true => {
                " That is the cost of the whole plan: the run ended before, and when it ends may \
                 depend on what it released."
            }
            false => "",
        }
    }

    /// What is known of all runs on the same rows.
    fn life(&self) -> String {
        match (self.earlier_runs, self.epsilon_lifetime, self.lifetime_budget) {
            (None, ..) => String::new(),
            (Some(EarlierRuns::NotCounted), ..) => {
                " No lasting ledger was kept: what earlier runs released about the same rows is \
                 not counted."
                    .into()
            }
            (Some(EarlierRuns::Counted), None, _) => {
                " Over the life of the data NOTHING is promised: the ledger also holds releases \
                 without an exact guarantee."
                    .into()
            }
            (Some(EarlierRuns::Counted), spent, budget) => {
                let most =
                    budget.map(|b| format!(" of at most {} at delta {:e}", b.epsilon, b.delta));
                format!(
                    " Over the life of the data, with what the ledger holds of earlier runs, it \
                     is epsilon {}{}{}.",
                    printed(spent),
                    most.unwrap_or_default(),
                    self.life_rests_on(),
                )
            }
        }
    }

    /// The conditions of all runs, and the total without them.
    fn life_rests_on(&self) -> String {
        if self.lifetime_conditions.is_empty() {
            return String::new();
        }
        let each: Vec<String> = self.lifetime_conditions.iter().map(Condition::to_string).collect();
        format!(
            ", if the conditions of all runs are met (it {}), and {} whatever other agents do",
            each.join("; it "),
            printed(self.epsilon_lifetime_unconditional),
        )
    }

    /// The claim as a heading.
    pub fn headline(&self) -> &'static str {
        match self.claim {
            Claim::Exact if self.condition().is_some() => {
                "Privacy: exact guarantee, on a condition"
            }
            Claim::Exact => "Privacy: exact guarantee",
            Claim::Nominal => "Privacy: nominal, not a guarantee",
            Claim::None if self.is_noisy() => "Privacy: none, no guarantee",
            Claim::None => "Privacy: none, not protected",
        }
    }

    fn who_concludes(&self) -> String {
        match (&self.joint, self.condition()) {
            (Some(joint), Some(_)) => match joint.colluders {
                Colluders::AtMost(0) => "outsiders, who are none of the agents, conclude".into(),
                Colluders::AtMost(colluders) => {
                    let agents = joint.agents;
                    let inside = Condition { agents, colluders }.adversary();
                    format!("outsiders, or {inside}, conclude")
                }
                Colluders::All => "anybody concludes".into(),
            },
            _ => "anybody concludes".into(),
        }
    }

    /// What it means for somebody whose row is in the data.
    pub fn in_plain_words(&self) -> String {
        // Beyond this the factor is so large that only its being large says something.
        const WEAK: f64 = 8.0;
        match (self.claim, self.epsilon_exact) {
            (Claim::Exact, Some(epsilon)) => {
                let weak = if epsilon > WEAK { " That is a weak promise." } else { "" };
                format!(
                    "In plain words: whatever {} from all messages of this run \
                     together is at most {} times as \
                     likely with one row as with another in its place, but for a probability of \
                     delta.{weak}",
                    self.who_concludes(),
                    factor(epsilon.exp()),
                )
            }
            (Claim::Exact, None) => "The summary does not say which epsilon.".into(),
            (Claim::Nominal, _) => "In plain words: do not rely on it. Treat what the agents \
                exchanged as unprotected; \
                 the mechanisms output and scalar keep what they promise."
                .into(),
            (Claim::None, Some(_)) => {
                "In plain words: this is a rehearsal. Do not rely on its noise to protect \
                 anybody."
                    .into()
            }
            (Claim::None, None) => {
                "In plain words: whoever reads the messages may learn about single rows.".into()
            }
        }
    }
}

fn spoken(texts: &[String]) -> String {
    texts.iter().map(|text| format!(" {text}.")).collect()
}

/// Three digits behind the point, never below the value.
pub(super) fn printed(value: Option<f64>) -> String {
    let Some(value) = value else { return "?".into() };
    let text = format!("{value:.3}");
    match text.parse::<f64>() {
        Ok(shown) if shown < value => format!("{:.3}", shown + 0.001),
        _ => text,
    }
}

/// Three digits of a factor, rounded up: nobody needs more.
pub(super) fn factor(value: f64) -> String {
    let up = |unit: f64| (value / unit).ceil() * unit;
    match value {
        value if value < 10.0 => format!("{:.2}", up(0.01)),
        value if value < 100.0 => format!("{:.1}", up(0.1)),
        value if value < 1e4 => format!("{:.0}", up(1.0)),
        value => format!("{:.0e}", up(10f64.powf(value.log10().floor()))),
    }
}
