//! `loss = "external"`: black boxes that ask programs.

mod program;

use crate::config::Programs;
use dzoa::plan::Boxes;
use dzoa::problem::BlackBox;
use program::Program;
use std::path::Path;
use std::sync::Arc;

/// One box per program, and what the config says about them. No program is started before its box
/// is asked for a value.
pub fn boxes(spec: &Programs, root: &Path) -> Boxes {
    let features = spec.columns.len();
    let known = |own: &crate::config::ProgramSpec| {
        let samples = own.samples.filter(|_| spec.per_sample);
        let program = Program::new(own.clone(), features, samples, spec.handling, root.into());
        let known = BlackBox::from_oracle(features, samples, Box::new(program));
        let known = known.with_limits(spec.limits);
        Arc::new(match &spec.variables {
            Some(variables) => known.with_variables(variables.clone()),
            None => known,
        })
    };
    Boxes {
        variables: spec.variables.clone(),
        regularizer: spec.regularizer.clone(),
        eta: spec.eta,
        samples: spec.programs.iter().map(|program| program.samples).collect(),
        curvature: spec.curvature,
        ..Boxes::new(spec.programs.iter().map(known).collect())
    }
}
