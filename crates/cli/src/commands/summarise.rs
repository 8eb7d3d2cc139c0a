//! From trials to the summary of a run.

use super::run::Trial;
use crate::agents::Promise;
use crate::config::{Config, Mechanism, Solver};
use crate::inner::{Noise, REPLICATES, c1};
use crate::instance::Instances;
use crate::schema::Schema;
use crate::summary::{NOT_TO_BE_SHARED, PrivacyEntry, Summary};
use dzoa::baselines::Needs;
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Facts, Ledger, RunId, Statement, gaussian};
use dzoa::trace::mean;

/// The summary of a run.
pub fn summarise(
    config: &Config,
    instances: &Instances,
    trials: &[Trial],
    earlier_runs: EarlierRuns,
) -> Summary {
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
    let centre = mean(&first.estimates);
    let consensus = first.estimates.iter().map(|estimate| {
        estimate.iter().zip(&centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    });
    Summary {
        sharing: NOT_TO_BE_SHARED.into(),
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
                    // Of the first trial, whose ledgers are shown.
                    ledger: &first.ledgers[k],
                    run: first.runs[k],
                    earlier_runs,
                    needs: first.needs,
                };
                privacy_entry(config, &about)
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
    /// What was charged to the rows.
    pub ledger: &'a Ledger,
    /// The run.
    pub run: RunId,
    /// Whether the ledger outlives it.
    pub earlier_runs: EarlierRuns,
    /// What the algorithm takes.
    pub needs: Needs,
}

/// What may be said about one agent's privacy, however its run ended, and what is known about its
/// noise.
pub fn privacy_entry(config: &Config, about: &About<'_>) -> PrivacyEntry {
    let &About { noise, promise, ledger, run, earlier_runs, needs } = about;
    let rounds = config.algorithm.admm.rounds;
    let Some(delta) = config.privacy.mechanism.delta() else { return Statement::none().into() };
    let planned = promise.planned(rounds);
    let (void, rests_on) = (void(config), rests_on(config, needs));
    let facts = Facts { ledger, run, planned: &planned, delta, earlier_runs, void, rests_on };
    let plain = PrivacyEntry::from(Statement::new(&facts));
    let (c1, c1_holds) = match (&config.privacy.mechanism, &config.algorithm.solver) {
        // Other algorithms may clip; their sensitivity says it all.
        (Mechanism::Output { .. }, Solver::Baseline(_))
        | (Mechanism::Scalar { .. } | Mechanism::None, _) => (None, None),
        (Mechanism::Output { .. } | Mechanism::Intrinsic { .. }, _) => {
            let (c1, holds) = c1(config);
            (Some(c1), Some(holds))
        }
    };
    let plain = PrivacyEntry { c1, c1_holds, ..plain };
    if config.privacy.mechanism.target().is_some() {
        let sensitivity = Some(promise.sensitivity);
        return PrivacyEntry { sigma_assumed: promise.sigma(), sensitivity, ..plain };
    }
    let measured = noise.and_then(|noise| noise.measured);
    PrivacyEntry {
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
        ..plain
    }
}

/// What takes a guarantee away.
fn void(config: &Config) -> Vec<String> {
    // Whoever knows the seed can subtract the noise; and several trials on the same rows release as often.
    let repeated = config.run.trials > 1 && config.schema.is_some();
    let reasons = [(config.run.seed.is_some(), Statement::SEEDED), (repeated, Statement::REPEATED)];
    reasons.iter().filter(|(given, _)| *given).map(|(_, why)| (*why).into()).collect()
}

/// What an exact guarantee rests on here.
fn rests_on(config: &Config, needs: Needs) -> Vec<String> {
    let exact = config.privacy.mechanism.target().is_some();
    let drops = config.schema.as_ref().is_some_and(Schema::drops_rows);
    let reasons =
        [(drops, Statement::ROWS_DROPPED), (needs.trusted_solver, Statement::TRUSTED_SOLVER)];
    reasons.iter().filter(|(given, _)| exact && *given).map(|(_, what)| (*what).into()).collect()
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
