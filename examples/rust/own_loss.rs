//! A loss of your own: the squared hinge, `max(0, 1 - y z)^2`, which is not built in.
//!
//! Values and differences are all that d-zoa needs. With the dual step and the gap of Fenchel's
//! inequality the exact solver can certify itself: both then find the same model.
//!
//! `cargo run --release -p dzoa --example own_loss`

use dzoa::plan::{Algorithm, Auto, Data, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::loss::Targets;
use dzoa::run::evaluate::{accuracy, mean};
use std::{error::Error, sync::Arc};

#[derive(Debug)]
struct SquaredHinge;

impl Loss for SquaredHinge {
    fn name(&self) -> &'static str {
        "squared-hinge"
    }
    fn value(&self, z: f64, y: f64) -> f64 {
        (1.0 - y * z).max(0.0).powi(2)
    }
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let (before, after) = ((1.0 - y * z).max(0.0), (1.0 - y * (z + step)).max(0.0));
        // Not `after - before` where the loss is one parabola: a tiny step would lose its digits.
        let moved = if before.min(after) > 0.0 { -y * step } else { after - before };
        moved * (before + after)
    }
    fn slope(&self, z: f64, y: f64) -> f64 {
        -2.0 * y * (1.0 - y * z).max(0.0)
    }
    fn smoothness(&self) -> Option<f64> {
        Some(2.0)
    }
    /// The slope has no bound: the mechanism `output` refuses this loss, and `scalar` clips it.
    fn lipschitz(&self) -> Option<f64> {
        None
    }
    fn targets(&self) -> Targets {
        Targets::Signs
    }
    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        self.slope(w, y) / (1.0 + 2.0 * kappa)
    }
    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let (margin, s) = (1.0 - y * z, -a * y);
        (margin.max(0.0) - 0.5 * s).powi(2) + s * (-margin).max(0.0)
    }
}

/// Made-up rows: positive where the first column outweighs the second.
fn site(k: usize) -> Result<Arc<Samples>, Box<dyn Error>> {
    let cell = |row: usize, column: f64| ((40 * k + row + 1) as f64 * (1.3 + column)).sin();
    let values = (0..40).flat_map(|row| [cell(row, 0.0), cell(row, 1.0)]).collect();
    let sign = |row| (cell(row, 0.0) - cell(row, 1.0) + 0.5 * cell(row, 20.0)).signum();
    Ok(Arc::new(Samples::new(Rows::dense(2, values)?, (0..40).map(sign).collect())?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let agents = (0..3).map(site).collect::<Result<_, _>>()?;
    let (regularizer, scale) = (Regularizer::L2, Scale::Mean);
    let loss = Arc::new(SquaredHinge);
    let problem = Problem { loss, regularizer, eta: 0.3, scale, intercept: false, agents };
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2)])?;
    for algorithm in [Algorithm::Admm, Algorithm::DZoa] {
        let spec = RunSpec::new(algorithm, Mechanism::none());
        // How hard neighbours pull, and how far apart the points are that d-zoa compares.
        let spec = RunSpec { rho: Auto::Given(0.1), smoothing: Auto::Given(0.1), ..spec };
        let plan = Plan::new(&spec, &Data::Rows(problem.clone()), &graph)?;
        let mut sites = plan.simulation(Vec::new(), &Streams::from_seed(1))?;
        let status = sites.run(&mut ());
        let model = mean(&(0..3).map(|k| sites.estimate(k)).collect::<Vec<_>>());
        let share = accuracy(&problem, &model).unwrap_or(f64::NAN);
        println!("{}: {:.3} {:.3}", spec.algorithm, model[0], model[1]);
        println!("    {:.0} % of the rows on the right side; {status}", 100.0 * share);
    }
    Ok(())
}
