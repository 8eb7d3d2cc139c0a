//! From trials to the summary of a run.

use super::run::Trial;
use crate::agents::Promise;
use crate::config::{Config, Mechanism, Solver};
use crate::inner::{Noise, REPLICATES, c1};
use crate::instance::Instances;
use crate::summary::{PrivacyEntry, Summary};
use dzoa::mechanism::Target;
use dzoa::prelude::*;
use dzoa::privacy::{
    Accountant, Claim, ExactGaussian, Ledger, ZeroConcentrated, calibrate, gaussian,
};
use dzoa::trace::mean;

/// The summary of a run.
pub fn summarise(config: &Config, instances: &Instances, trials: &[Trial]) -> Summary {
    let graph = &instances.graph;
    let first = &trials[0];
    let finite = |value: f64| value.is_finite().then_some(value);
    let average = |values: Vec<f64>| finite(values.iter().sum::<f64>() / values.len() as f64);
    // Rounds that every trial recorded.
    let errors: Vec<&[(u64, f64)]> = trials.iter().map(|trial| &*trial.errors).collect();
    let shortest = errors.iter().map(|errors| errors.len()).min().unwrap_or(0);
    let column = |i: usize| errors.iter().map(move |errors| errors[i].1);
    let error: Vec<Option<f64>> = (0..shortest).map(|i| average(column(i).collect())).collect();
    let failed = trials.iter().find(|trial| trial.status != Status::Finished);
    let optima: Option<Vec<f64>> =
        trials.iter().map(|trial| Some(trial.optimum.as_ref()?.objective)).collect();
    let gaps: Option<Vec<f64>> =
        trials.iter().map(|trial| trial.optimum.as_ref()?.certificate.duality_gap).collect();
    let rounds_done = trials.iter().map(|trial| trial.rounds_done).min().unwrap_or(0);
    // What was charged is that of the first trial, whose ledgers are shown.
    let charged_rounds = match config.privacy.mechanism.target() {
        Some(_) => first.rounds_done,
        None => rounds_done,
    };
    let centre = mean(&first.estimates);
    let consensus = first.estimates.iter().map(|estimate| {
        estimate.iter().zip(&centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    });
    Summary {
        name: config.name.clone(),
        status: failed.map_or(&Status::Finished, |trial| &trial.status).word().into(),
        algorithm: config.algorithm.name().into(),
        mechanism: config.privacy.mechanism.name().into(),
        loss: config.problem.loss.name().into(),
        agent_names: graph.names().to_vec(),
        agents: graph.len(),
        edges: graph.edges().collect(),
        features: instances.columns.len(),
        rounds: config.algorithm.admm.rounds,
        rounds_done,
        trials: trials.len(),
        seed: config.run.seed,
        seeded: config.run.seed.is_some(),
        error_rounds: errors[0].iter().take(shortest).map(|(round, _)| *round).collect(),
        final_error: final_error(trials),
        error,
        error_low: (0..shortest).map(|i| finite(column(i).fold(f64::INFINITY, f64::min))).collect(),
        error_high: (0..shortest).map(|i| finite(column(i).fold(0.0, f64::max))).collect(),
        final_errors: trials.iter().map(|trial| trial.final_error.and_then(finite)).collect(),
        accuracies: trials.iter().filter_map(|trial| trial.accuracy).collect(),
        objective: average(trials.iter().map(|trial| trial.objective).collect()),
        optimum: optima.and_then(average),
        optimum_stationarity: trials
            .iter()
            .map(|trial| Some(trial.optimum.as_ref()?.certificate.stationarity))
            .collect::<Option<Vec<f64>>>()
            .and_then(|all| finite(all.into_iter().fold(0.0, f64::max))),
        optimum_gap: gaps.and_then(|gaps| finite(gaps.into_iter().fold(0.0, f64::max))),
        consensus: finite(consensus.fold(0.0, f64::max)),
        coefficients: first.estimates.clone(),
        columns: instances.columns.clone(),
        oracle_calls: trials.iter().map(|trial| trial.costs.oracle_calls).sum(),
        messages: trials.iter().map(|trial| trial.costs.messages).sum(),
        bytes: trials.iter().map(|trial| trial.costs.bytes).sum(),
        step_raised: trials.iter().any(|trial| trial.step_raised),
        moved_inside: trials.iter().map(|trial| trial.moved_inside).sum(),
        seconds: trials.iter().map(|trial| trial.elapsed.as_secs_f64()).sum(),
        privacy: (0..graph.len())
            .map(|k| {
                // Only a finished first trial has its noise measured.
                let about = About {
                    noise: first.noise.get(k),
                    promise: &first.promises[k],
                    ledger: &first.ledgers[k],
                };
                privacy_entry(config, &about, charged_rounds)
            })
            .collect(),
        config: config.given.clone(),
    }
}

/// What a privacy entry is about.
pub struct About<'a> {
    /// The measured noise, if it was measured.
    pub noise: Option<&'a Noise>,
    /// What the mechanism promises.
    pub promise: &'a Promise,
    /// What was charged.
    pub ledger: &'a Ledger,
}

/// What may be said about one agent's privacy after so many rounds.
pub fn privacy_entry(config: &Config, about: &About<'_>, rounds: u64) -> PrivacyEntry {
    let none = PrivacyEntry::none();
    let (epsilon, delta) = match &config.privacy.mechanism {
        Mechanism::Intrinsic { epsilon, delta, .. } => (*epsilon, *delta),
        Mechanism::None => return none,
        Mechanism::Output { target, .. } | Mechanism::Scalar { target, .. } => {
            return exact_entry(config, target, about, rounds, none);
        }
    };
    // What the claim would cost if the noise were there, as perfect as Theorem 1 wants it.
    let multiplier = calibrate::theorem1_noise_multiplier(epsilon, delta);
    let mu = (rounds as f64).sqrt() / multiplier;
    let (c1, c1_holds) = c1(config);
    let noise = about.noise;
    let measured = noise.and_then(|noise| noise.measured);
    PrivacyEntry {
        claim: Claim::Nominal,
        epsilon_per_round: Some(epsilon),
        epsilon_theorem2: Some(calibrate::theorem2_epsilon(epsilon, delta, rounds)),
        epsilon_zcdp: Some(gaussian::zcdp_epsilon(0.5 * mu * mu, delta)),
        epsilon_exact: Some(gaussian::epsilon(delta, mu)),
        delta: Some(delta),
        sigma_assumed: noise.map(|noise| noise.assumed),
        sigma_measured: measured,
        sigma_measured_how: measured.map(|_| {
            format!(
                "{REPLICATES} repetitions of the inner loop at the inputs after the last round of the first trial"
            )
        }),
        epsilon_if_measured_noise_were_gaussian: noise.zip(measured).map(|(noise, sigma)| {
            let mu = (rounds as f64).sqrt() * noise.sensitivity / sigma;
            gaussian::epsilon(delta, mu)
        }),
        sensitivity: noise.map(|noise| noise.sensitivity),
        c1: Some(c1),
        c1_holds: Some(c1_holds),
        ..none
    }
}

/// The entry of a mechanism that holds: what the agent's ledger says.
fn exact_entry(
    config: &Config,
    target: &Target,
    about: &About<'_>,
    rounds: u64,
    none: PrivacyEntry,
) -> PrivacyEntry {
    // Whoever knows the seed can subtract the noise; and several trials on the same rows release as often.
    let repeated = config.run.trials > 1 && config.schema.is_some();
    let void = config.run.seed.is_some() || repeated;
    let claim = if void { Claim::None } else { Claim::Exact };
    let (c1, c1_holds) = match config.privacy.mechanism {
        // Other algorithms may clip; their sensitivity says it all.
        Mechanism::Output { .. } if !matches!(config.algorithm.solver, Solver::Baseline(_)) => {
            let (c1, holds) = c1(config);
            (Some(c1), Some(holds))
        }
        _ => (None, None),
    };
    let About { promise, ledger, .. } = about;
    // This run's releases; the ledger may hold those of earlier runs before them.
    let (mut exact, mut zcdp) = (ExactGaussian::default(), ZeroConcentrated::default());
    let charged = || promise.charged(rounds).iter();
    let total = |account: &mut dyn Accountant| {
        charged().try_for_each(|event| account.compose(event)).ok()?;
        Some(account.epsilon(target.delta))
    };
    PrivacyEntry {
        claim,
        epsilon_exact: total(&mut exact),
        epsilon_zcdp: total(&mut zcdp),
        epsilon_lifetime: Some(ledger.epsilon(target.delta)).filter(|e| e.is_finite()),
        delta: Some(target.delta),
        sigma_assumed: promise.sigma(),
        sensitivity: Some(promise.sensitivity),
        c1,
        c1_holds,
        ..none
    }
}

/// Mean over trials; nothing if a trial has none.
fn final_error(trials: &[Trial]) -> Option<f64> {
    let errors: Option<Vec<f64>> =
        trials.iter().map(|trial| trial.final_error.filter(|error| error.is_finite())).collect();
    let errors = errors.filter(|_| trials.iter().all(|trial| is_done(&trial.status)))?;
    Some(errors.iter().sum::<f64>() / errors.len() as f64)
}

fn is_done(status: &Status) -> bool {
    matches!(status, Status::Finished | Status::Stopped { .. })
}
