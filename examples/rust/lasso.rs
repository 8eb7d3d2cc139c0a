//! Lasso over a network: three sites hold rows, two of ten columns matter, and nobody pools.
//!
//! Each site solves its own small problem and exchanges coefficients with its neighbours only.
//! Nothing is private here; `private_logistic.rs` adds a guarantee.
//!
//! `cargo run --release -p dzoa --example lasso`

use dzoa::plan::{Algorithm, Auto, Data, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::run::evaluate::mean;
use std::error::Error;
use std::sync::Arc;

const SITES: usize = 3;
const ROWS: usize = 40;
const COLUMNS: usize = 10;
/// How strongly coefficients are pulled to zero.
const ALPHA: f64 = 0.05;

/// Rows that any language can make: no generator has to agree. Only columns 0 and 3 matter.
fn site(k: usize) -> Result<Arc<Samples>, Box<dyn Error>> {
    let cell =
        |row: usize, column: usize| ((k * ROWS + row + 1) as f64 * (1.3 + column as f64)).sin();
    let mut values = Vec::new();
    let mut targets = Vec::new();
    for row in 0..ROWS {
        values.extend((0..COLUMNS).map(|column| cell(row, column)));
        targets.push(2.0 * cell(row, 0) - cell(row, 3) + 0.3 * cell(row, 20));
    }
    Ok(Arc::new(Samples::new(Rows::dense(COLUMNS, values)?, targets)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let problem = Problem {
        loss: Arc::new(Squared),
        regularizer: Regularizer::L1,
        // scikit-learn halves the squares and counts all rows once; here every site's mean counts.
        eta: 2.0 * SITES as f64 * ALPHA,
        scale: Scale::Mean,
        intercept: false,
        agents: (0..SITES).map(site).collect::<Result<_, _>>()?,
    };
    let names = ["north", "south", "west"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2), (2, 0)])?;

    // What is not said, public rules choose. rho, how hard neighbours pull, matters to the speed.
    let spec = RunSpec::new(Algorithm::Admm, Mechanism::none());
    let spec = RunSpec { rho: Auto::Given(0.1), ..spec };
    let plan = Plan::new(&spec, &Data::Rows(problem.clone()), &graph)?;
    let streams = Streams::from_os()?;
    let mut sites = plan.simulation(Vec::new(), &streams)?;
    println!("{}: {}", graph.names().join(", "), sites.run(&mut ()));

    let agreed = mean(&(0..SITES).map(|k| sites.estimate(k)).collect::<Vec<_>>());
    // One computer with all rows: what pooling would have given.
    let pooled = reference::optimum(&problem)?.coefficients;
    println!("column   network   pooled");
    for (column, (ours, theirs)) in agreed.iter().zip(&pooled).enumerate() {
        // Adding zero turns a negative zero into zero.
        println!("{column:>6} {:>9.4} {:>8.4}", ours + 0.0, theirs + 0.0);
    }
    println!("vectors sent between neighbours: {}", sites.costs().messages);
    Ok(())
}
