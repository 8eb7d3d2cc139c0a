//! Joint sums over a network: the bits of the simulation, whatever the network does, and nothing
//! that a neighbour makes up.

mod faults;
mod liars;
mod losses;
mod released;
mod world;

use dzoa::prelude::*;
use dzoa_node::transport::Faults;
use world::{Protected, ROUNDS, World, complete, paper, path, spec, star};

#[test]
fn any_number_of_agents_on_any_graph_ends_with_the_bits_of_the_simulation() {
    let ways = [Protected::Nothing, Protected::Alone, Protected::Masks(1), Protected::Masks(0)];
    for agents in 2..=8 {
        for graph in [path(agents), star(agents), complete(agents)] {
            for protected in ways {
                let spec = spec("joint-gradient", protected);
                let mut world = World::new(graph.clone(), spec, Faults::default(), 1);
                let expected = world.expected();
                world.start_all();
                world.run();
                let case = format!("{agents} agents, {protected:?}, {:?}", graph.edges().count());
                world.assert_finished(&expected, ROUNDS, &case);
            }
        }
    }
}

#[test]
fn every_algorithm_ends_with_the_bits_of_the_simulation() {
    for algorithm in ["joint-gradient", "joint-newton", "joint-values"] {
        for protected in [Protected::Nothing, Protected::Alone, Protected::Masks(2)] {
            let spec = spec(algorithm, protected);
            let mut world = World::new(paper(), spec, Faults::default(), 1);
            let expected = world.expected();
            let plan = dzoa::plan::Plan::new(&world.spec, &world.data, &world.graph).unwrap();
            world.start_all();
            world.run();
            world.assert_finished(&expected, plan.rounds(), &format!("{algorithm} {protected:?}"));
        }
    }
}

#[test]
fn unequal_agents_and_pooled_rows_end_with_the_bits_of_the_simulation() {
    for scale in [Scale::Mean, Scale::Pooled] {
        let spec = spec("joint-gradient", Protected::Masks(1));
        let mut world = World::new(paper(), spec, Faults::default(), 1);
        let mut problem = world::problem(5);
        problem.scale = scale;
        let few = &problem.agents[2];
        let rows: Vec<f64> = (0..5 * world::P).map(|i| (i as f64).sin() / 4.0).collect();
        let targets = few.targets[..5].to_vec();
        let rows = Rows::dense(world::P, rows).unwrap().into_unit_ball();
        problem.agents[2] = std::sync::Arc::new(Samples::new(rows, targets).unwrap());
        world.data = dzoa::plan::Data::Rows(problem);
        let expected = world.expected();
        world.start_all();
        world.run();
        world.assert_finished(&expected, ROUNDS, &format!("{scale:?}"));
    }
}
