//! From trials to the summary of a run.

use crate::config::{Config, RowsSpec};
use crate::objectives::Objectives;
use crate::trial::Trial;
use dzoa::baselines::Needs;
use dzoa::plan::{Circumstances, Data, MeasuredNoise, Plan, REPLICATES};
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Ledger, RunId, Statement, gaussian};
use dzoa::reference::Certificate;
use dzoa::run::evaluate::mean;
use dzoa_report::{
    ErrorCurve, Intervals, NOT_TO_BE_SHARED, OwnUnits, PrivacyEntry, Summary, Units,
};
use dzoa_table::Schema;

/// The summary of a run.
pub fn summarise(
    config: &Config,
    objectives: &Objectives<'_>,
    trials: &[Trial],
    earlier_runs: EarlierRuns,
) -> Summary {
    let graph = objectives.graph();
    let first = &trials[0];
    let plan = first.plan.as_ref().expect("the first trial keeps its plan");
    let optima: Option<Vec<f64>> =
        trials.iter().map(|trial| Some(trial.optimum()?.objective)).collect();
    let on_rows = || trials.iter().filter_map(|trial| trial.on_rows.as_ref());
    let values: Option<Vec<f64>> = trials.iter().map(|trial| trial.objective).collect();
    let errors: Vec<&[(u64, f64)]> = trials.iter().map(|trial| &*trial.errors).collect();
    let curve = ErrorCurve::over(&errors);
    Summary {
        sharing: NOT_TO_BE_SHARED.into(),
        name: config.name.clone(),
        status: status(trials, config.run.trials).into(),
        algorithm: config.spec.algorithm.name().into(),
        mechanism: config.spec.mechanism.name().into(),
        loss: plan.data().loss().into(),
        agent_names: graph.names().to_vec(),
        agents: graph.len(),
        edges: graph.edges().collect(),
        features: objectives.columns().len(),
        rounds: plan.rounds(),
        rounds_done: trials.iter().map(|trial| trial.rounds_done).min().unwrap_or(0),
        trials: trials.len(),
        trials_asked: Some(config.run.trials).filter(|asked| *asked > trials.len()),
        seed: config.run.seed,
        seeded: config.run.seed.is_some(),
        error_rounds: curve.rounds,
        error: curve.mean,
        error_low: curve.low,
        error_high: curve.high,
        final_error: final_error(trials),
        final_errors: on_rows().map(|rows| rows.final_error.and_then(finite)).collect(),
        accuracies: on_rows().filter_map(|rows| rows.fit.as_ref()?.accuracy).collect(),
        fit: first.on_rows.as_ref().and_then(|rows| rows.fit.clone()),
        objective: values.and_then(average),
        optimum: optima.and_then(average),
        optimum_stationarity: worst(trials, |certificate| Some(certificate.stationarity)),
        optimum_gap: worst(trials, |certificate| certificate.duality_gap),
        consensus: first.consensus,
        best: first.best.clone(),
        divergence: first.divergence.clone(),
        coefficients: first.estimates.clone(),
        columns: objectives.columns().to_vec(),
        own_units: own_units(objectives.rows(), &first.estimates),
        intervals: intervals(objectives, first),
        redundant: objectives.rows().is_some_and(RowsSpec::is_redundant),
        oracle_calls: trials.iter().map(|trial| trial.costs.oracle_calls).sum(),
        messages: trials.iter().map(|trial| trial.costs.messages).sum(),
        bytes: trials.iter().map(|trial| trial.costs.bytes).sum(),
        step_raised: trials.iter().any(|trial| trial.step_raised),
        moved_inside: trials.iter().map(|trial| trial.moved_inside).sum(),
        seconds: trials.iter().map(|trial| trial.elapsed.as_secs_f64()).sum(),
        // Of the first trial, whose ledgers are shown.
        privacy: (0..graph.len())
            .map(|k| {
                privacy_entry(config, objectives.rows(), &EntryFacts::of(first, k, earlier_runs))
            })
            .collect(),
        settings: plan.outline().settings(),
        config: config.given.clone(),
        // The rest is what only one site of many has.
        ..Summary::default()
    }
}

/// How trials ended, of so many that were asked for.
fn status(trials: &[Trial], asked: usize) -> &'static str {
    match trials.iter().find(|trial| trial.status != Status::Finished) {
        Some(trial) => trial.status.word(),
        None if trials.len() < asked => "stopped",
        None => Status::Finished.word(),
    }
}

/// The mean model in the units of the file.
pub fn own_units(rows: Option<&RowsSpec>, estimates: &[Vec<f64>]) -> Option<OwnUnits> {
    let rows = rows.filter(|rows| !rows.is_synthetic())?;
    let problem = &rows.problem;
    OwnUnits::new(rows.schema.as_ref()?, &*problem.loss, problem.intercept, &mean(estimates))
}

/// How sure every coefficient is, where that was asked for.
fn intervals(objectives: &Objectives<'_>, first: &Trial) -> Option<Intervals> {
    let (found, rows) = (first.on_rows.as_ref()?.inference.as_ref()?, objectives.rows()?);
    let units = Units {
        schema: rows.schema.as_ref().filter(|_| !rows.is_synthetic()),
        loss: &*rows.problem.loss,
        intercept: rows.problem.intercept,
        columns: objectives.columns(),
    };
    Some(Intervals::new(found, &units))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn average(values: Vec<f64>) -> Option<f64> {
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest violation over the trials; nothing where a trial has no optimum or no such number.
fn worst(trials: &[Trial], violation: fn(&Certificate) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> =
        trials.iter().map(|trial| violation(&trial.optimum()?.certificate)).collect();
    finite(all?.into_iter().fold(0.0, f64::max))
}

/// What a privacy entry is about.
pub struct EntryFacts<'a> {
    /// What was decided.
    pub plan: &'a Plan,
    /// The agent.
    pub k: usize,
    /// The measured noise, if it was measured.
    pub noise: Option<&'a MeasuredNoise>,
    /// What was charged to the rows.
    pub ledger: &'a Ledger,
    /// The run.
    pub run: RunId,
    /// Whether the ledger outlives it.
    pub earlier_runs: EarlierRuns,
    /// What the algorithm takes.
    pub needs: Needs,
}

impl<'a> EntryFacts<'a> {
    /// Agent `k` of a trial. Only a finished first trial has its noise measured.
    fn of(trial: &'a Trial, k: usize, earlier_runs: EarlierRuns) -> Self {
        Self {
            plan: trial.plan.as_ref().expect("the first trial keeps its plan"),
            k,
            noise: trial.on_rows.as_ref().and_then(|rows| rows.noise.get(k)),
            ledger: &trial.ledgers[k],
            run: trial.runs[k],
            earlier_runs,
            needs: trial.needs,
        }
    }
}

/// What may be said about one agent's privacy, however its run ended, and what is known about its
/// noise. `rows` is nothing where programs hold them.
pub fn privacy_entry(
    config: &Config,
    rows: Option<&RowsSpec>,
    about: &EntryFacts<'_>,
) -> PrivacyEntry {
    let &EntryFacts { plan, k, noise, ledger, run, earlier_runs, needs } = about;
    let Some(delta) = plan.claimed().delta() else { return Statement::none().into() };
    let schema = rows.and_then(|rows| rows.schema.as_ref());
    let (void, rests_on) = (void(config, schema), rests_on(schema, plan, needs));
    let circumstances = Circumstances { ledger, run, earlier_runs, void, rests_on };
    let mut entry = PrivacyEntry::from(plan.statement(k, circumstances));
    if plan.uses_c1() {
        // The paper's c1 is the slope of the loss alone, for rows no longer than 1.
        let intercept = rows.is_some_and(|rows| rows.problem.intercept);
        let short = |schema: &Schema| schema.norm_bound(intercept).is_some_and(|b| b <= 1.0);
        let bounded = schema.is_none_or(short);
        entry.c1 = Some(plan.data().assumed_c1());
        entry.c1_holds = Some(plan.data().knows_c1() && bounded);
    }
    // A program is not asked often enough to measure its noise.
    if plan.claimed().budget().is_some() || rows.is_none() {
        let charges = &plan.at(k).charges;
        let sensitivity = Some(charges.sensitivity);
        return PrivacyEntry { sigma_assumed: charges.sigma(), sensitivity, ..entry };
    }
    let measured = noise.and_then(|noise| noise.measured);
    PrivacyEntry {
        sigma_assumed: noise.map(|noise| noise.assumed),
        sigma_measured: measured,
        sigma_measured_how: measured.map(|_| {
            format!(
                "{REPLICATES} repetitions of the inner loop at the inputs after the last round of \
                 the first trial"
            )
        }),
        epsilon_if_measured_noise_were_gaussian: noise.zip(measured).map(|(noise, sigma)| {
            let mu = (plan.rounds() as f64).sqrt() * noise.sensitivity / sigma;
            gaussian::epsilon(delta, mu)
        }),
        sensitivity: noise.map(|noise| noise.sensitivity),
        ..entry
    }
}

/// What takes a guarantee away.
fn void(config: &Config, schema: Option<&Schema>) -> Vec<String> {
    // Whoever knows the seed can subtract the noise; and several trials on the same rows release as
    // often.
    let repeated = config.run.trials > 1 && schema.is_some();
    chosen(&[(config.run.seed.is_some(), Statement::SEEDED), (repeated, Statement::REPEATED)])
}

/// What an exact guarantee rests on here.
fn rests_on(schema: Option<&Schema>, plan: &Plan, needs: Needs) -> Vec<String> {
    let exact = plan.claimed().budget().is_some();
    let drops = schema.is_some_and(Schema::drops_rows);
    let boxes = matches!(plan.data(), Data::Boxes(_));
    chosen(&[
        (exact && drops, Statement::ROWS_DROPPED),
        (exact && needs.trusted_solver, Statement::TRUSTED_SOLVER),
        (exact && boxes, Statement::OWN_SAMPLE),
    ])
}

/// The reasons that there are.
fn chosen(reasons: &[(bool, &str)]) -> Vec<String> {
    reasons.iter().filter(|(given, _)| *given).map(|(_, why)| (*why).into()).collect()
}

/// Mean over trials; nothing if a trial has none.
fn final_error(trials: &[Trial]) -> Option<f64> {
    let errors: Option<Vec<f64>> =
        trials.iter().map(|trial| trial.on_rows.as_ref()?.final_error.and_then(finite)).collect();
    let errors = errors.filter(|_| trials.iter().all(|trial| is_done(&trial.status)))?;
    Some(errors.iter().sum::<f64>() / errors.len() as f64)
}

fn is_done(status: &Status) -> bool {
    matches!(status, Status::Finished | Status::Stopped { .. })
}
