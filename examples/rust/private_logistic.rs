//! Logistic regression with an exact guarantee: four clinics, one classifier, epsilon 4 in total.
//!
//! The mechanism `output` releases certified minimisers with Gaussian noise. Its sensitivity rests
//! on public bounds only: the loss's slope, and rows that are cut to norm 1. The noise comes from
//! the operating system. A seed would make the run repeatable, and void the guarantee.
//!
//! `cargo run --release -p dzoa --example private_logistic`

use dzoa::plan::{Algorithm, Circumstances, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Statement};
use dzoa::run::evaluate::{accuracy, mean};
use std::error::Error;
use std::sync::Arc;

const CLINICS: usize = 4;
const PATIENTS: usize = 2000;
const COLUMNS: usize = 3;

/// Made-up patients: ill where the first column outweighs the second.
fn clinic(k: usize) -> Result<Arc<Samples>, Box<dyn Error>> {
    let cell =
        |row: usize, column: usize| ((k * PATIENTS + row + 1) as f64 * (1.3 + column as f64)).sin();
    let mut values = Vec::new();
    let mut ill = Vec::new();
    for row in 0..PATIENTS {
        values.extend((0..COLUMNS).map(|column| cell(row, column)));
        let sign = cell(row, 0) - cell(row, 1) + 0.5 * cell(row, 20);
        ill.push(if sign > 0.0 { 1.0 } else { -1.0 });
    }
    // The bound on the rows is public and comes first: without it there is no guarantee.
    let rows = Rows::dense(COLUMNS, values)?.into_unit_ball();
    Ok(Arc::new(Samples::new(rows, ill)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let problem = Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L2,
        eta: 0.01,
        scale: Scale::Mean,
        intercept: false,
        agents: (0..CLINICS).map(clinic).collect::<Result<_, _>>()?,
    };
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
    let keys = Keys { total_epsilon: Some(4.0), delta: Some(1e-5), ..Keys::default() };
    let spec = RunSpec::new(Algorithm::Admm, Mechanism::from_keys("output", &keys)?);

    // Everything about privacy is decided here, before anything is computed from rows.
    let plan = Plan::new(&spec, &Data::Rows(problem.clone()), &graph)?;
    let planned = plan.outline();
    if let (Some(noise), Some(epsilon)) = (planned.agents[0].noise_first, planned.epsilon_total) {
        println!("plan: {} rounds, noise {noise:.3}, epsilon {epsilon:.3}", planned.rounds);
    }
    let mut clinics = plan.simulation(Vec::new(), &Streams::from_os()?)?;
    println!("run: {}", clinics.run(&mut ()));

    let agreed = mean(&(0..CLINICS).map(|k| clinics.estimate(k)).collect::<Vec<_>>());
    let shown: Vec<String> = agreed.iter().map(|b| format!("{b:.2}")).collect();
    println!("model: {}", shown.join(", "));
    // For the reader of this example: an accuracy is computed from rows, and is not protected.
    println!("accuracy on the rows: {:.3}", accuracy(&problem, &agreed).unwrap_or(f64::NAN));

    // What may be said comes from what was charged, and from the plan.
    let about = |k: usize| Circumstances {
        ledger: clinics.ledger(k),
        run: clinics.run_id(k),
        earlier_runs: EarlierRuns::NotCounted,
        void: Vec::new(),
        rests_on: Vec::new(),
    };
    let each: Vec<Statement> = (0..CLINICS).map(|k| plan.statement(k, about(k))).collect();
    println!("privacy: {}", Statement::together(&each).sentence());
    Ok(())
}
