//! The inner loop asks for no memory once its buffers are there.

mod common;

use dzoa::admm::{Admm, LocalState};
use dzoa::prelude::*;
use dzoa::primal::{Workspace, ZerothOrder};
use dzoa::problem::Directions;
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use std::sync::Arc;

#[test]
fn inner_steps_allocate_nothing() {
    let streams = Streams::from_seed(1);
    for loss in common::losses(0.5) {
        for sparse in [false, true] {
            let data = Synthetic { agents: 1, samples: 40, ..Synthetic::default() };
            let drawn = data.draw(loss.targets(), &mut streams.rng(Purpose::Data, "", 0));
            let mut samples = drawn[0].clone();
            if sparse {
                samples.rows = samples.rows.to_sparse();
            }
            let problem = Problem {
                loss: loss.clone(),
                regularizer: Regularizer::L1,
                eta: 0.1,
                scale: Scale::Mean,
                intercept: false,
                agents: vec![Arc::new(samples)],
            };
            let objective = problem.local(0);
            let state = LocalState::zero(problem.dim(), 2);
            let lagrangian = state.lagrangian(&Admm::default(), &objective);
            let inner = ZerothOrder { inner_steps: 50, alpha0_times_r: 0.01, ..Default::default() };
            let normals = streams.normals(Purpose::Directions, "a", 1);
            let mut work = Workspace::default();
            let mut b = vec![0.0; problem.dim()];
            let mut run = || {
                let draw = |t: usize, directions: &mut Directions| {
                    normals.fill(t as u64, directions.values_mut());
                };
                inner.descend(&lagrangian, &mut b, draw, &mut work).unwrap();
            };
            run();
            let asked = allocation_counter::measure(run);
            assert_eq!(asked.count_total, 0, "{}, sparse: {sparse}", loss.name());
        }
    }
}
