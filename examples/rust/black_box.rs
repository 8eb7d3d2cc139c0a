//! Black boxes: three plants tune two knobs together, and each can only try a setting and see what
//! it costs.
//!
//! No gradient, no rows: `BlackBox` takes a function, and the agents work from its values alone.
//!
//! `cargo run --release -p dzoa --example black_box`

use dzoa::plan::{Algorithm, Auto, Boxes, Data, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::run::evaluate::mean;
use std::error::Error;
use std::sync::Arc;

/// What each plant would choose for itself.
const WISHES: [[f64; 2]; 3] = [[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]];

/// Costs grow with the square of the distance: a stand-in for a simulator or a service.
fn plant(wish: [f64; 2]) -> Arc<BlackBox> {
    let cost = move |knobs: &[f64]| knobs.iter().zip(wish).map(|(b, w)| (b - w).powi(2)).sum();
    Arc::new(BlackBox::new(2, cost))
}

fn main() -> Result<(), Box<dyn Error>> {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2)])?;
    let spec = RunSpec::new(Algorithm::DZoa, Mechanism::none());
    // How far apart two points are that a plant tries: small for a cost without noise.
    let spec = RunSpec { smoothing: Auto::Given(0.1), ..spec };
    let streams = Streams::from_seed(1);

    // Nobody gave a step: the curvature is measured first, at 17 points of each plant. Under a
    // guarantee that would be a release, and is not done.
    let boxes = Boxes::new(WISHES.map(plant).to_vec()).measured(&spec, &graph, &streams)?;
    let plan = Plan::new(&spec, &Data::Boxes(boxes.clone()), &graph)?;
    let mut plants = plan.simulation(Vec::new(), &streams)?;
    println!("{} rounds: {}", plan.rounds(), plants.run(&mut ()));

    for (k, name) in graph.names().iter().enumerate() {
        let found = plants.estimate(k);
        let asked = boxes.boxes[k].evaluations();
        println!("plant {name}: ({:.3}, {:.3}) after {asked} values", found[0], found[1]);
    }
    let agreed = mean(&(0..WISHES.len()).map(|k| plants.estimate(k)).collect::<Vec<_>>());
    println!("together: ({:.3}, {:.3})", agreed[0], agreed[1]);
    // Squares add up to least at the mean of the wishes.
    println!("best:     (1.000, 1.000)");
    Ok(())
}
