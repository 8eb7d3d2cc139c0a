//! `dzoa audit`: attacks what a neighbour sees of one agent, and compares with the claim.

use crate::agents::{self, Promise};
use crate::args::AuditArgs;
use crate::attack::{Attack, worst_pair};
use crate::config::{self, Config, Mechanism};
use crate::error::{Error, Result};
use crate::inner::inner_loops;
use crate::instance::Instances;
use crate::progress::Progress;
use crate::{files, interrupt, plot};
use dzoa::prelude::*;
use dzoa::privacy::audit::{Scores, test};
use dzoa::privacy::{Accountant, Event, ExactGaussian, calibrate};
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
    controls: Vec<Control>,
}

/// A run of the attack whose outcome is known.
#[derive(Debug, Serialize)]
struct Control {
    name: &'static str,
    epsilon_lower_bound: f64,
    largest_provable_epsilon: f64,
    passed: bool,
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
    let rounds = args.rounds.unwrap_or(match config.privacy.mechanism {
        Mechanism::Intrinsic { .. } => 1,
        _ => config.algorithm.admm.rounds,
    });
    if rounds > config.algorithm.admm.rounds {
        return Err(Error::input(format!(
            "--rounds {rounds}: the config has only {} rounds",
            config.algorithm.admm.rounds
        ))
        .hint("lower --rounds, or raise algorithm.rounds"));
    }
    let problem = instances.problem(&streams.trial(0));
    let promises = agents::promises(&config, &problem, &instances.graph)?;
    let k = target_agent(args.agent.as_deref(), &instances.graph)?;
    let claimed = Claimed::of(&config, &promises[k], rounds)?;
    let optimum = reference::optimum(&problem).ok();
    let inner = inner_loops(&config, &problem, &instances.graph, optimum.as_ref())?;
    // The plan is for the whole run; the attacker sees its first rounds. Averages are post-processing.
    config.algorithm.admm.rounds = rounds;
    config.algorithm.average = config::Average::None;
    let pair = worst_pair(&config, &problem, &instances.graph, k)?;
    interrupt::listen();
    let runs = 2 * args.trials as u64 * if args.no_controls { 1 } else { 3 };
    let progress = Progress::new(
        runs,
        &format!("{}: attacking agent {}", config.name, instances.graph.names()[k]),
    );
    let attack = Attack {
        config: &config,
        graph: &instances.graph,
        inner: &inner,
        k,
        trials: args.trials,
        progress: &progress,
    };
    let judge = |scores: &[Vec<f64>; 2]| {
        let found = Scores { without: &scores[0], with: &scores[1] };
        test(found, claimed.delta, args.confidence)
    };
    let pair_of = [&problem, &pair.problem];
    let attacked = scaled(&promises, args.noise_scale).unwrap_or_else(|| promises.clone());
    let scores = pool.install(|| attack.scores(pair_of, &attacked, &streams))?;
    let finding = judge(&scores);
    let mut controls = Vec::new();
    if !args.no_controls {
        // Both halves hold D; the score would tell D from D'. Nothing may be found.
        let same = |trial: u64| {
            let streams = streams.trial(trial);
            pool.install(|| attack.scores_under(&problem, pair_of, &promises, &streams))
        };
        let same = judge(&[same(11)?, same(12)?]);
        controls.push(Control {
            name: "identical data sets",
            epsilon_lower_bound: same.epsilon_lower_bound,
            largest_provable_epsilon: same.largest_provable_epsilon,
            passed: same.epsilon_lower_bound == 0.0,
        });
        if let Some(weak) = scaled(&promises, CONTROL_SCALE) {
            let streams = streams.trial(3);
            let found = judge(&pool.install(|| attack.scores(pair_of, &weak, &streams))?);
            controls.push(Control {
                name: "noise scaled by 0.03",
                epsilon_lower_bound: found.epsilon_lower_bound,
                largest_provable_epsilon: found.largest_provable_epsilon,
                // Where the trials cannot reach the claim, nothing can be caught.
                passed: found.epsilon_lower_bound > claimed.epsilon
                    || found.largest_provable_epsilon <= claimed.epsilon,
            });
        }
    }
    progress.finish();
    let report = Report {
        name: config.name.clone(),
        algorithm: config.algorithm.name().into(),
        mechanism: config.privacy.mechanism.name().into(),
        agent: instances.graph.names()[k].clone(),
        rounds,
        pair: pair.description,
        claim: claimed.claim,
        claimed_epsilon: claimed.epsilon,
        epsilon_lower_bound: finding.epsilon_lower_bound,
        delta: claimed.delta,
        confidence: args.confidence,
        trials: args.trials,
        largest_provable_epsilon: finding.largest_provable_epsilon,
        verdict: if finding.epsilon_lower_bound > claimed.epsilon {
            "violated"
        } else {
            "consistent"
        },
        mu_estimate: finding.mu_estimate,
        controls,
    };
    files::write_file(&out, "audit.json", &files::json(&report)?)?;
    files::write_file(&out, "audit.svg", plot::scores(&scores, finding.threshold, report.verdict))?;
    if args.common.json {
        super::print_json(&report)
    } else {
        super::print(&describe(&report, &out))
    }
}

/// What the mechanism claims about the rounds that the attacker sees.
struct Claimed {
    claim: &'static str,
    epsilon: f64,
    delta: f64,
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
                Ok(Self { claim: "nominal", epsilon, delta: *delta })
            }
            Mechanism::Output { target, .. } | Mechanism::Scalar { target, .. } => {
                let mut total = ExactGaussian::default();
                for event in promise.charged(rounds) {
                    total.compose(event).map_err(|error| Error::run(error.to_string()))?;
                }
                let (epsilon, delta) = (total.epsilon(target.delta), target.delta);
                Ok(Self { claim: "exact", epsilon, delta })
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
