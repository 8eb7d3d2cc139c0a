//! `loss = "external"`: black boxes that ask programs.

mod program;

use crate::config::{Config, Programs};
use dzoa::plan::Boxes;
use dzoa::problem::{BlackBox, Oracle};
use dzoa_table::{Asking, Result, ValueJournal};
use program::Program;
use std::sync::Arc;

/// One box per program, and what the config says about them. No program is started before its box
/// is asked for a value.
pub fn boxes(spec: &Programs, config: &Config) -> Result<Boxes> {
    let root = &config.root;
    let features = spec.columns.len();
    let known = |own: &crate::config::ProgramSpec| {
        let samples = own.samples.filter(|_| spec.per_sample);
        let program = Program::new(own.clone(), features, samples, spec.handling, root.into());
        let mut oracle: Box<dyn Oracle> = Box::new(program);
        if let Some(directory) = &config.run.journal {
            let asking = Asking {
                numbers: features,
                values: samples.unwrap_or(1),
                at_once: spec.handling.workers,
            };
            oracle = ValueJournal(&root.join(directory)).oracle(&own.name, asking, oracle)?;
        }
        let known = BlackBox::from_oracle(features, samples, oracle);
        let known = known.with_limits(spec.limits);
        Ok(Arc::new(match &spec.variables {
            Some(variables) => known.with_variables(variables.clone()),
            None => known,
        }))
    };
    let known: Vec<Arc<BlackBox>> = spec.programs.iter().map(known).collect::<Result<_>>()?;
    Ok(Boxes {
        variables: spec.variables.clone(),
        regularizer: spec.regularizer.clone(),
        eta: spec.eta,
        samples: spec.programs.iter().map(|program| program.samples).collect(),
        curvature: spec.curvature,
        ..Boxes::new(known)
    })
}
