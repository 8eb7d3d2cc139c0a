//! `dzoa audit`: attacks what a neighbour sees of one agent, and compares with the claim.

use crate::agents::{self, Promise};
use crate::args::AuditArgs;
use crate::attack::{Attack, largest_move, worst_pair};
use crate::config::{self, Config, Mechanism};
use crate::error::{Error, Result};
use crate::inner::inner_loops;
use crate::instance::Instances;
use crate::progress::Progress;
use crate::{files, interrupt, plot};
use dzoa::prelude::*;
use dzoa::privacy::audit::{Finding, Scores, separation, test};
use dzoa::privacy::{Accountant, Event, ExactGaussian, calibrate};
use dzoa::worst_case::LargestMove;
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
    let mut config = Config::load(args.common.config.as_deref(), &args.common.sets)?;
    let out =
        files::output_directory(args.common.out.as_deref(), &format!("{}-audit", config.name))?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config, &streams)?;
    agents::apply_public_rule(&mut config, &instances);
    let rounds = rounds_seen(args, &config)?;
    let (graph, problem) = (&instances.graph, instances.problem(&streams.trial(0)));
    let promises = agents::promises(&config, &problem, graph)?;
    let k = target_agent(args.agent.as_deref(), graph)?;
    let claimed = Claimed::of(&config, &promises[k], rounds)?;
    let optimum = reference::optimum(&problem).ok();
    let inner = inner_loops(&config, &problem, graph, optimum.as_ref())?;
    let moved = largest_move(&config, &problem, graph, (k, inner.get(k)), &promises[k])?;
    let sensitivity = moved.map(Sensitivity::of);
    sensitivity.iter().for_each(|found| eprintln!("{}", found.sentence()));
    // The plan is for the whole run; the attacker sees its first rounds. Averages are free.
    config.algorithm.admm.rounds = rounds;
    config.algorithm.average = config::Average::None;
    let pair = worst_pair(&config, &problem, graph, k)?;
    interrupt::listen();
    let runs = 2 * args.trials as u64 * if args.no_controls { 1 } else { 3 };
    let what = format!("{}: attacking agent {}", config.name, graph.names()[k]);
    let progress = Progress::new(runs, &what);
    let (config, trials) = (&config, args.trials);
    let attack = Attack { config, graph, inner: &inner, k, trials, progress: &progress };
    let trial = Trial {
        attack: &attack,
        problems: [&problem, &pair.problem],
        promises: &promises,
        claimed: &claimed,
        confidence: args.confidence,
    };
    let attacked = scaled(&promises, args.noise_scale).unwrap_or_else(|| promises.clone());
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
        algorithm: config.algorithm.name().into(),
        mechanism: config.privacy.mechanism.name().into(),
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
    files::write_file(&out, "audit.svg", plot::scores(&scores, finding.threshold, report.verdict))?;
    hand_over(&report, &out, args.common.json)
}

fn hand_over(report: &Report, out: &std::path::Path, json: bool) -> Result<()> {
    files::write_file(out, "audit.json", &files::json(report)?)?;
    if json { super::print_json(report) } else { super::print(&describe(report, out)) }
}

/// As many rounds as the attacker sees.
fn rounds_seen(args: &AuditArgs, config: &Config) -> Result<u64> {
    let planned = config.algorithm.admm.rounds;
    let rounds = args.rounds.unwrap_or(match config.privacy.mechanism {
        Mechanism::Intrinsic { .. } => 1,
        _ => planned,
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
    promises: &'a [Promise],
    claimed: &'a Claimed,
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
            self.attack.scores_under(held, self.problems, self.promises, &streams)
        };
        let same = self.judge(&[same(11)?, same(12)?]);
        let mut controls = vec![Control {
            name: "identical data sets",
            epsilon_lower_bound: same.epsilon_lower_bound,
            largest_provable_epsilon: same.largest_provable_epsilon,
            passed: same.epsilon_lower_bound == 0.0,
        }];
        if let Some(weak) = scaled(self.promises, CONTROL_SCALE) {
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
struct Claimed {
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

impl Claimed {
    fn of(config: &Config, promise: &Promise, rounds: u64) -> Result<Self> {
        match &config.privacy.mechanism {
            Mechanism::None => {
                Err(Error::input("`privacy.mechanism` is `none`: nothing is claimed")
                    .hint("audit a mechanism that claims something: intrinsic, output or scalar"))
            }
            Mechanism::Intrinsic { epsilon, delta, .. } => {
                // Theorem 1 for one round, Theorem 2 for several.
                let epsilon = match rounds {
                    1 => *epsilon,
                    _ => calibrate::theorem2_epsilon(*epsilon, *delta, rounds),
                };
                Ok(Self { claim: "nominal", epsilon, delta: *delta, mu: None })
            }
            Mechanism::Output { target, .. } | Mechanism::Scalar { target, .. } => {
                let mut total = ExactGaussian::default();
                for event in promise.charged(rounds) {
                    total.compose(event).map_err(|error| Error::run(error.to_string()))?;
                }
                let (epsilon, delta) = (total.epsilon(target.delta), target.delta);
                Ok(Self {
                    claim: "exact",
                    epsilon,
                    delta,
                    mu: composed_mu(promise.charged(rounds)),
                })
            }
        }
    }
}

/// The agent to attack: the named one, or the one with the fewest neighbours.
fn target_agent(name: Option<&str>, graph: &Graph) -> Result<usize> {
    match name {
        Some(name) => graph.names().iter().position(|known| known == name).ok_or_else(|| {
            Error::input(format!("--agent {}: no such agent", crate::error::shown(name)))
                .hint(format!("the agents are: {}", graph.names().join(", ")))
        }),
        None => Ok((0..graph.len()).min_by_key(|&k| graph.neighbours(k).len()).unwrap_or(0)),
    }
}

/// Promises with scaled noise; `None` where no noise is added.
fn scaled(promises: &[Promise], scale: f64) -> Option<Vec<Promise>> {
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
    promises
        .iter()
        .map(|promise| {
            let events: Option<Vec<Event>> = promise.events.iter().map(weaker).collect();
            Some(Promise { events: events?.into(), ..promise.clone() })
        })
        .collect()
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
