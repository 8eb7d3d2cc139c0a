//! `dzoa audit`: attacks what a neighbour sees of one agent, and compares with the claim.

use crate::args::AuditArgs;
use crate::attack::{Attack, largest_move, worst_pair};
use crate::config::Config;
use crate::progress::Progress;
use crate::refusal::refused;
use crate::terminal;
use crate::{files, interrupt};
use dzoa::plan::{Charges, Claimed, Data, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::privacy::audit::{Finding, Scores, separation, test};
use dzoa::worst_case::LargestMove;
use dzoa_report::{scores_svg, to_json, write_file};
use dzoa_table::{Error, Instances, Result};
use serde::Serialize;

/// How far the noise is scaled down in the control that must be caught.
const CONTROL_SCALE: f64 = 0.03;

/// audit.json
#[derive(Debug, Serialize)]
struct Report {
    name: String,
    algorithm: String,
    mechanism: String,
    agent: String,
    /// Rounds that the attacker saw.
    rounds: u64,
    /// The replaced row and what replaced it.
    pair: String,
    claim: &'static str,
    claimed_epsilon: f64,
    epsilon_lower_bound: f64,
    delta: f64,
    confidence: f64,
    /// Runs under each of the two data sets.
    trials: usize,
    largest_provable_epsilon: f64,
    verdict: &'static str,
    /// An estimate, not a bound.
    mu_estimate: f64,
    /// What no run is needed for.
    sensitivity: Option<Sensitivity>,
    /// What holds if the noise is Gaussian as claimed.
    if_gaussian: Option<IfGaussian>,
    controls: Vec<Control>,
}

/// The largest move of the noiseless update beside the claimed sensitivity.
#[derive(Debug, Serialize)]
struct Sensitivity {
    claimed: f64,
    largest_move: f64,
    round: u64,
    rows: String,
    holds: bool,
}

/// Bounds from the means of the scores, which are Gaussian if the noise is.
#[derive(Debug, Serialize)]
struct IfGaussian {
    claimed_mu: f64,
    mu_lower_bound: f64,
    epsilon_lower_bound: f64,
    verdict: &'static str,
}

/// A run of the attack whose outcome is known.
#[derive(Debug, Serialize)]
struct Control {
    name: &'static str,
    epsilon_lower_bound: f64,
    largest_provable_epsilon: f64,
    passed: bool,
}

fn verdict(violated: bool) -> &'static str {
    if violated { "violated" } else { "consistent" }
}

/// Runs the attack and its controls.
pub fn audit(args: &AuditArgs) -> Result<()> {
    let config = Config::load(args.common.config.as_deref(), &args.common.sets)?;
    let out =
        files::output_directory(args.common.out.as_deref(), &format!("{}-audit", config.name))?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config.instances(), &streams)?;
    let (graph, problem) = (&instances.graph, instances.problem(&streams.trial(0)));
    let mechanism = match reference::optimum(&problem) {
        Ok(optimum) => config.spec.mechanism.with_optimum(&optimum.coefficients),
        Err(_) => config.spec.mechanism.clone(),
    };
    let spec = RunSpec { mechanism, ..config.spec.clone() };
    let plan = Plan::new(&spec, &Data::Rows(problem.clone()), graph).map_err(refused)?;
    let rounds = rounds_seen(args, &plan)?;
    let k = target_agent(args.agent.as_deref(), graph)?;
    let claimed = Claim::of(&plan, k, rounds)?;
    let moved = largest_move(&plan, k)?;
    let sensitivity = moved.map(Sensitivity::of);
    sensitivity.iter().for_each(|found| eprintln!("{}", found.sentence()));
    // The plan is for the whole run; the attacker sees its first rounds. Averages are free.
    let plan = plan.seen_for(rounds);
    let pair = worst_pair(&plan, k, config.schema.is_some())?;
    interrupt::listen();
    let runs = 2 * args.trials as u64 * if args.no_controls { 1 } else { 3 };
    let what = format!("{}: attacking agent {}", config.name, graph.names()[k]);
    let progress = Progress::new(runs, &what);
    let trials = args.trials;
    let attack = Attack { plan: &plan, k, trials, progress: &progress };
    let trial = Trial {
        attack: &attack,
        problems: [&problem, &pair.problem],
        plan: &plan,
        claimed: &claimed,
        confidence: args.confidence,
    };
    let attacked = scaled(&plan, args.noise_scale).unwrap_or_else(|| plan.clone());
    let scores = pool.install(|| attack.scores(trial.problems, &attacked, &streams))?;
    let controls = match args.no_controls {
        true => Vec::new(),
        false => pool.install(|| trial.controls(&streams))?,
    };
    progress.finish();
    let finding = trial.judge(&scores);
    let refuted = sensitivity.as_ref().is_some_and(|found| !found.holds);
    let report = Report {
        name: config.name.clone(),
        algorithm: config.spec.algorithm.name().into(),
        mechanism: config.spec.mechanism.name().into(),
        agent: graph.names()[k].clone(),
        rounds,
        pair: pair.description,
        claim: claimed.claim,
        claimed_epsilon: claimed.epsilon,
        epsilon_lower_bound: finding.epsilon_lower_bound,
        delta: claimed.delta,
        confidence: args.confidence,
        trials,
        largest_provable_epsilon: finding.largest_provable_epsilon,
        verdict: verdict(refuted || finding.epsilon_lower_bound > claimed.epsilon),
        mu_estimate: finding.mu_estimate,
        sensitivity,
        if_gaussian: claimed.mu.map(|mu| trial.if_gaussian(&scores, mu)),
        controls,
    };
    write_file(&out, "audit.svg", scores_svg(&scores, finding.threshold, report.verdict))?;
    hand_over(&report, &out, args.common.json)
}

fn hand_over(report: &Report, out: &std::path::Path, json: bool) -> Result<()> {
    write_file(out, "audit.json", &to_json(report)?)?;
    if json { terminal::print_json(report) } else { terminal::print(&describe(report, out)) }
}

/// As many rounds as the attacker sees.
fn rounds_seen(args: &AuditArgs, plan: &Plan) -> Result<u64> {
    let planned = plan.rounds();
    let rounds = args.rounds.unwrap_or(match plan.claimed() {
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

impl Sensitivity {
    fn of(found: LargestMove) -> Self {
        let holds = found.holds();
        let LargestMove { moved, claimed, round, pair } = found;
        Self { claimed, largest_move: moved, round, rows: pair, holds }
    }

    fn sentence(&self) -> String {
        let Self { claimed, largest_move, round, rows, holds } = self;
        let verdict = if *holds { "within" } else { "BEYOND" };
        format!(
            "without noise, {rows} moves the update of round {round} by {largest_move:.4e}: \
             {verdict} the claimed {claimed:.4e}"
        )
    }
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
            name: "identical data sets",
            epsilon_lower_bound: same.epsilon_lower_bound,
            largest_provable_epsilon: same.largest_provable_epsilon,
            passed: same.epsilon_lower_bound == 0.0,
        }];
        if let Some(weak) = scaled(self.plan, CONTROL_SCALE) {
            let scores = self.attack.scores(self.problems, &weak, &streams.trial(3))?;
            let found = self.judge(&scores);
            let claimed = self.claimed.epsilon;
            controls.push(Control {
                name: "noise scaled by 0.03",
                epsilon_lower_bound: found.epsilon_lower_bound,
                largest_provable_epsilon: found.largest_provable_epsilon,
                // Where the trials cannot reach the claim, nothing can be caught.
                passed: found.epsilon_lower_bound > claimed
                    || found.largest_provable_epsilon <= claimed,
            });
        }
        Ok(controls)
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
        _ => None,
    };
    events.iter().map(square).sum::<Option<f64>>().map(f64::sqrt)
}

impl Claim {
    fn of(plan: &Plan, k: usize, rounds: u64) -> Result<Self> {
        let charged = plan.at(k).charges.charged(rounds);
        match plan.claimed() {
            Claimed::Nothing => {
                Err(Error::input("`privacy.mechanism` is `none`: nothing is claimed")
                    .hint("audit a mechanism that claims something: intrinsic, output or scalar"))
            }
            claimed @ Claimed::Nominal { epsilon, delta } => {
                // Theorem 1 for one round, Theorem 2 for several.
                let several = claimed.spent(rounds, []).unwrap_or(epsilon);
                let epsilon = if rounds == 1 { epsilon } else { several };
                Ok(Self { claim: "nominal", epsilon, delta, mu: None })
            }
            claimed @ Claimed::Exact { budget, .. } => {
                let epsilon = claimed.spent(rounds, charged).unwrap_or(f64::INFINITY);
                let mu = composed_mu(charged);
                Ok(Self { claim: "exact", epsilon, delta: budget.delta, mu })
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

/// The plan with scaled noise; `None` where no noise is added.
fn scaled(plan: &Plan, scale: f64) -> Option<Plan> {
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

fn describe(report: &Report, out: &std::path::Path) -> String {
    let caught = match report.verdict {
        "violated" => "VIOLATED: the mechanism leaks more than it claims",
        _ => "consistent: this attack proves nothing against the claim",
    };
    let mut text = format!(
        "{}: {} with mechanism {}, agent {}, {} round(s) seen, {} runs under each data set\n\n  \
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
            "  sensitivity        {:.4e} claimed, largest move found {:.4e}\n",
            found.claimed, found.largest_move
        ));
    }
    for control in &report.controls {
        let outcome = if control.passed { "as it must be" } else { "NOT AS IT MUST BE" };
        text.push_str(&format!(
            "  control            {}: lower bound {:.4}, {outcome}\n",
            control.name, control.epsilon_lower_bound
        ));
    }
    text.push_str(&format!("\n  files in {}: audit.json, audit.svg\n", out.display()));
    text
}
