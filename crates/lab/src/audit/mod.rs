//! Attacks what a neighbour sees of one agent, and compares with the claim.

mod attack;
mod attacked;
mod colluding;
mod follower;
mod likelihood;
mod pair;
mod report;
mod sensitivity;
mod started;

pub use report::AuditReport;

use crate::{Interrupt, Watcher};
use attacked::Attack;
use dzoa::plan::{Charges, Claimed, Data, JointPlan, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::privacy::audit::{Finding, Scores, separation, test};
use dzoa_report::{refused, scores_svg};
use dzoa_table::{Error, Result};
use pair::worst_pair;
use report::{Control, IfGaussian, Sensitivity, verdict};
use sensitivity::largest_move;

/// How far the noise is scaled down in the control that must be caught.
const CONTROL_SCALE: f64 = 0.03;

/// What is attacked, and how.
pub struct AuditSpec<'a> {
    /// Names the run.
    pub name: &'a str,
    /// What the run is asked for.
    pub run: &'a RunSpec,
    /// The rows of all agents.
    pub problem: &'a Problem,
    /// Who talks to whom.
    pub graph: &'a Graph,
    /// Whether targets are bounded by 1, as those from files are.
    pub bounded_targets: bool,
    /// Runs under each of the two data sets.
    pub trials: usize,
    /// Rounds that the attacker sees; `None` for one of a nominal claim and all of an exact one.
    pub rounds: Option<u64>,
    /// The attacked agent; `None` for the one with the fewest neighbours.
    pub agent: Option<&'a str>,
    /// Of the lower bound.
    pub confidence: f64,
    /// For tests of the audit: scales the noise that is added, and leaves the claim.
    pub noise_scale: f64,
    /// Whether to attack where the outcome is known, too.
    pub controls: bool,
    /// Agents that collude in truth, of joint sums; `None` for as many as were planned for.
    pub colluders: Option<u32>,
}

/// What came out.
pub struct Audited {
    /// audit.json
    pub report: AuditReport,
    /// The scores under both data sets, as a picture.
    pub svg: String,
    /// The same as numbers.
    pub scores: [Vec<f64>; 2],
}

/// Runs the attack and its controls.
pub fn audit(
    spec: &AuditSpec<'_>,
    streams: &Streams,
    watcher: &dyn Watcher,
    interrupt: Interrupt,
) -> Result<Audited> {
    let plan = whole_plan(spec)?;
    let rounds = rounds_seen(spec.rounds, &plan)?;
    let k = target_agent(spec.agent, spec.graph)?;
    let colluders = colluders(spec.colluders, &plan, k)?;
    let claimed = Claim::of(&plan, k, rounds, colluders)?;
    let sensitivity = largest_move(&plan, k)?.map(Sensitivity::of);
    sensitivity.iter().for_each(|found| watcher.note(&found.sentence()));
    // The plan is for the whole run; the attacker sees its first rounds. Averages are free.
    let plan = plan.seen_for(rounds);
    let pair = worst_pair(&plan, k, spec.bounded_targets)?;
    let masked = plan.joint().is_some_and(JointPlan::masked);
    let unmasked = masked && colluders != spec.graph.len() - 1;
    let weakened = scaled(&plan, CONTROL_SCALE).is_some();
    let controls = 1 + u64::from(weakened) + u64::from(unmasked);
    let runs = 2 * spec.trials as u64 * (1 + if spec.controls { controls } else { 0 });
    let agent = &spec.graph.names()[k];
    watcher.begin_runs(runs, &format!("{}: attacking agent {agent}", spec.name));
    let attack = Attack { plan: &plan, k, colluders, trials: spec.trials, watcher, interrupt };
    let trial = Trial {
        attack: &attack,
        problems: [spec.problem, &pair.problem],
        plan: &plan,
        claimed: &claimed,
        confidence: spec.confidence,
    };
    let attacked = scaled(&plan, spec.noise_scale).unwrap_or_else(|| plan.clone());
    let scores = attack.scores(trial.problems, &attacked, streams)?;
    let controls = if spec.controls { trial.controls(streams)? } else { Vec::new() };
    watcher.finish();
    let finding = trial.judge(&scores);
    let refuted = sensitivity.as_ref().is_some_and(|found| !found.holds);
    let report = AuditReport {
        name: spec.name.into(),
        algorithm: spec.run.algorithm.name().into(),
        mechanism: spec.run.mechanism.name().into(),
        agent: agent.clone(),
        rounds,
        pair: pair.description,
        claim: claimed.claim,
        claimed_epsilon: claimed.epsilon,
        epsilon_lower_bound: finding.epsilon_lower_bound,
        delta: claimed.delta,
        confidence: spec.confidence,
        trials: spec.trials,
        largest_provable_epsilon: finding.largest_provable_epsilon,
        verdict: verdict(refuted || finding.epsilon_lower_bound > claimed.epsilon),
        mu_estimate: finding.mu_estimate,
        sensitivity,
        if_gaussian: claimed.mu.map(|mu| trial.if_gaussian(&scores, mu)),
        controls,
    };
    let svg = scores_svg(&scores, finding.threshold, report.verdict);
    Ok(Audited { report, svg, scores })
}

/// The plan of the whole run.
fn whole_plan(spec: &AuditSpec<'_>) -> Result<Plan> {
    let wanted = spec.run.mechanism.needs_optimum();
    let mechanism = match wanted.then(|| reference::optimum(spec.problem)) {
        Some(Ok(optimum)) => spec.run.mechanism.with_optimum(&optimum.coefficients),
        _ => spec.run.mechanism.clone(),
    };
    let run = RunSpec { mechanism, ..spec.run.clone() };
    Plan::new(&run, &Data::Rows(spec.problem.clone()), spec.graph).map_err(refused)
}

/// As many rounds as the attacker sees.
fn rounds_seen(asked: Option<u64>, plan: &Plan) -> Result<u64> {
    let planned = plan.rounds();
    let rounds = asked.unwrap_or(match plan.claimed() {
        Claimed::Nominal { .. } => 1,
        Claimed::Nothing | Claimed::Exact { .. } => planned,
    });
    if rounds > planned {
        return Err(Error::input(format!(
            "--rounds {rounds}: the config has only {planned} rounds"
        ))
        .hint("lower --rounds, or raise algorithm.rounds"));
    }
    Ok(rounds)
}

/// What is attacked, and how it is judged.
struct Trial<'a> {
    attack: &'a Attack<'a>,
    problems: [&'a Problem; 2],
    plan: &'a Plan,
    claimed: &'a Claim,
    confidence: f64,
}

impl Trial<'_> {
    fn judge(&self, scores: &[Vec<f64>; 2]) -> Finding {
        let found = Scores { without: &scores[0], with: &scores[1] };
        test(found, self.claimed.delta, self.confidence)
    }

    fn if_gaussian(&self, scores: &[Vec<f64>; 2], claimed_mu: f64) -> IfGaussian {
        let found = Scores { without: &scores[0], with: &scores[1] };
        let found = separation(found, self.claimed.delta, self.confidence);
        IfGaussian {
            claimed_mu,
            mu_lower_bound: found.mu_lower_bound,
            epsilon_lower_bound: found.epsilon_lower_bound,
            verdict: verdict(found.mu_lower_bound > claimed_mu),
        }
    }

    /// The attack where its outcome is known: identical data sets, and noise that is far too weak.
    fn controls(&self, streams: &Streams) -> Result<Vec<Control>> {
        // Both halves hold D; the score would tell D from D'. Nothing may be found.
        let same = |trial: u64| {
            let (held, streams) = (self.problems[0], streams.trial(trial));
            self.attack.scores_under(held, self.problems, self.plan, &streams)
        };
        let same = self.judge(&[same(11)?, same(12)?]);
        let mut controls = vec![Control {
            name: "identical data sets".into(),
            epsilon_lower_bound: same.epsilon_lower_bound,
            largest_provable_epsilon: same.largest_provable_epsilon,
            passed: same.epsilon_lower_bound == 0.0,
        }];
        if let Some(weak) = scaled(self.plan, CONTROL_SCALE) {
            let scores = self.attack.scores(self.problems, &weak, &streams.trial(3))?;
            let found = self.judge(&scores);
            let claimed = self.claimed.epsilon;
            controls.push(Control {
                name: "noise scaled by 0.03".into(),
                epsilon_lower_bound: found.epsilon_lower_bound,
                largest_provable_epsilon: found.largest_provable_epsilon,
                // Where the trials cannot reach the claim, nothing can be caught.
                passed: found.epsilon_lower_bound > claimed
                    || found.largest_provable_epsilon <= claimed,
            });
        }
        controls.extend(self.without_masks(streams)?);
        Ok(controls)
    }

    /// Where masks are claimed: the same words without any. The attack must find more than the
    /// claim.
    fn without_masks(&self, streams: &Streams) -> Result<Option<Control>> {
        let others = self.plan.graph().len() - 1;
        if !self.plan.joint().is_some_and(JointPlan::masked) || self.attack.colluders == others {
            return Ok(None);
        }
        let attack = Attack { colluders: others, ..*self.attack };
        let scores = attack.scores(self.problems, self.plan, &streams.trial(4))?;
        let found = self.judge(&scores);
        let claimed_mu = self.claimed.mu.unwrap_or(f64::INFINITY);
        let caught = self.if_gaussian(&scores, claimed_mu).mu_lower_bound > claimed_mu;
        Ok(Some(Control {
            name: format!("no masks ({others} colluders)"),
            epsilon_lower_bound: found.epsilon_lower_bound,
            largest_provable_epsilon: found.largest_provable_epsilon,
            passed: caught,
        }))
    }
}

/// What the mechanism claims about the rounds that the attacker sees.
struct Claim {
    claim: &'static str,
    epsilon: f64,
    delta: f64,
    /// Where all noise is Gaussian: `sqrt(sum mu_i^2)`.
    mu: Option<f64>,
}

/// mu of composed releases with Gaussian noise; `None` where some have other noise.
fn composed_mu(events: &[Event]) -> Option<f64> {
    let square = |event: &Event| match *event {
        Event::DiscreteGaussian { sensitivity, sigma, count, .. } => {
            Some(count as f64 * (sensitivity / sigma).powi(2))
        }
        Event::JointSum { sensitivity, .. } => {
            event.noise().map(|noise| (sensitivity / noise).powi(2))
        }
        _ => None,
    };
    events.iter().map(square).sum::<Option<f64>>().map(f64::sqrt)
}

impl Claim {
    fn of(plan: &Plan, k: usize, rounds: u64, colluders: usize) -> Result<Self> {
        let seen = |event: &Event| event.if_colluding(colluders as u32);
        let charged: Vec<Event> = plan.at(k).charges.charged(rounds).iter().map(seen).collect();
        match plan.claimed() {
            Claimed::Nothing => {
                Err(Error::input("`privacy.mechanism` is `none`: nothing is claimed")
                    .hint("audit a mechanism that claims something: intrinsic, output or scalar"))
            }
            claimed @ Claimed::Nominal { epsilon, delta } => {
                // Theorem 1 for one round, Theorem 2 for several.
                let several = claimed.spent(rounds, []).unwrap_or(epsilon);
                let epsilon = if rounds == 1 { epsilon } else { several };
                Ok(Self { claim: claimed.claim().word(), epsilon, delta, mu: None })
            }
            claimed @ Claimed::Exact { budget, .. } => {
                let epsilon = claimed.spent(rounds, &charged).unwrap_or(f64::INFINITY);
                let mu = composed_mu(&charged);
                Ok(Self { claim: claimed.claim().word(), epsilon, delta: budget.delta, mu })
            }
        }
    }
}

/// The agent to attack: the named one, or the one with the fewest neighbours.
fn target_agent(name: Option<&str>, graph: &Graph) -> Result<usize> {
    match name {
        Some(name) => graph.names().iter().position(|known| known == name).ok_or_else(|| {
            Error::input(format!("--agent {}: no such agent", dzoa_table::shown(name)))
                .hint(format!("the agents are: {}", graph.names().join(", ")))
        }),
        None => Ok((0..graph.len()).min_by_key(|&k| graph.neighbours(k).len()).unwrap_or(0)),
    }
}

/// How many others collude: as many as were asked for, or planned for.
fn colluders(asked: Option<u32>, plan: &Plan, k: usize) -> Result<usize> {
    let others = plan.graph().len() - 1;
    let planned = plan.at(k).charges.events.first().and_then(Event::condition);
    let planned = planned.map_or(others, |condition| condition.colluders as usize);
    match asked.map(|asked| asked as usize) {
        None => Ok(planned),
        Some(asked) if plan.joint().is_none() => {
            Err(Error::input(format!("--colluders {asked}: has no effect without joint sums"))
                .hint("everything that agents send is seen by all: remove it"))
        }
        Some(asked) if asked > others => {
            Err(Error::input(format!("--colluders {asked}: there are only {others} others"))
                .hint("lower it"))
        }
        Some(asked) => Ok(asked),
    }
}

/// The plan with scaled noise; `None` where no noise is added.
fn scaled(plan: &Plan, scale: f64) -> Option<Plan> {
    if plan.joint().is_some() {
        return plan.with_sum_noise_scaled(scale);
    }
    let weaker = |event: &Event| match *event {
        Event::DiscreteGaussian { sensitivity, sigma, coordinates, count, .. } => {
            let (coordinates, count) = (coordinates as usize, count as usize);
            Some(Event::discrete_gaussian(sensitivity, scale * sigma, coordinates, count))
        }
        Event::Laplace { sensitivity, scale: noise, coordinates } => {
            Some(Event::Laplace { sensitivity, scale: scale * noise, coordinates })
        }
        Event::SphericalLaplace { sensitivity, scale: noise, coordinates } => {
            Some(Event::SphericalLaplace { sensitivity, scale: scale * noise, coordinates })
        }
        Event::ObjectivePerturbation { .. } => Some(scaled_objective(event, scale)),
        _ => None,
    };
    plan.with_charges(|charges| {
        let events: Option<Vec<Event>> = charges.events.iter().map(weaker).collect();
        Some(Charges { events: events?.into(), ..charges.clone() })
    })
}

/// Objective perturbation with both of its noises scaled.
fn scaled_objective(event: &Event, factor: f64) -> Event {
    let mut event = *event;
    if let Event::ObjectivePerturbation { scale, output_scale, .. } = &mut event {
        *scale *= factor;
        *output_scale *= factor;
    }
    event
}
