//! What is measured of black boxes before a run.

use super::Refused;
use super::data::{Boxes, Measured};
use super::rules::{self, BOX_LOOP, CURVATURE_DIRECTIONS};
use super::spec::RunSpec;
use crate::network::Graph;
use crate::problem::{BlackBox, Objective};
use crate::run::BuildError;
use crate::streams::{Purpose, Streams};
use std::sync::Arc;

/// Whether black boxes are asked for their curvature before the first round.
pub(super) fn are_measured(spec: &RunSpec) -> bool {
    let loops = spec.algorithm.is_zeroth_order();
    loops && spec.mechanism.measures_curvature() && spec.step.is_auto()
}

impl Boxes {
    /// Asks every box for its curvature where a step or rho is to be chosen from it: without
    /// protection only, since a measured number is a release.
    pub fn measured(
        mut self,
        spec: &RunSpec,
        graph: &Graph,
        streams: &Streams,
    ) -> Result<Self, Refused> {
        if self.boxes.len() != graph.len() {
            let (data, graph) = (self.boxes.len(), graph.len());
            return Err(BuildError::Count { data, graph }.into());
        }
        if !are_measured(spec) {
            return Ok(self);
        }
        let u1 = spec.smoothing.or(BOX_LOOP.smoothing);
        let measure = |(known, name): (&Arc<BlackBox>, &String)| {
            let mut rng = streams.rng(Purpose::Curvature, name, 0);
            let zero = vec![0.0; known.dim()];
            known
                .measure_curvature(&zero, u1, CURVATURE_DIRECTIONS, &mut rng)
                .map_err(|failure| Refused::Failed { agent: name.clone(), failure })
        };
        let curvatures: Vec<f64> =
            self.boxes.iter().zip(graph.names()).map(measure).collect::<Result<_, _>>()?;
        let near = |k: usize| graph.neighbourhood(k, spec.self_loop);
        let neighbourhoods: Vec<usize> = (0..graph.len()).map(near).collect();
        let rho = rules::box_rho(&curvatures, &neighbourhoods);
        self.measured = Some(Measured { curvatures, rho });
        Ok(self)
    }
}
