//! What the agents of a run minimise: a loss over rows, or programs.

use crate::config::{Config, DataSpec, RowsSpec};
use crate::external;
use dzoa::plan::{Boxes, Data, Forecast, Outline, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::reference::Optimum;
use dzoa_report::refused;
use dzoa_table::{Instances, Result};

/// The agents' objectives, from which every trial makes its [`Data`].
pub enum Objectives<'a> {
    /// A loss over rows that are there, or drawn in every trial.
    Rows {
        /// How they are described.
        spec: &'a RowsSpec,
        /// The rows.
        instances: Instances,
    },
    /// Programs, of which nothing is known but their values.
    Programs {
        /// They are not asked for anything yet.
        boxes: Boxes,
        /// Who talks to whom.
        graph: Graph,
        /// Names of the variables.
        columns: &'a [String],
    },
}

impl<'a> Objectives<'a> {
    /// Loads the rows that are to be loaded; starts no program.
    pub fn new(config: &Config, data: &'a DataSpec, streams: &Streams) -> Result<Self> {
        match data {
            DataSpec::Rows(spec) => Self::of_rows(config, spec, streams),
            DataSpec::Programs(spec) => {
                let names = spec.programs.iter().map(|program| program.name.clone()).collect();
                let graph = config.network.shape.graph(names, streams)?;
                let boxes = external::boxes(spec, config)?;
                Ok(Self::Programs { boxes, graph, columns: &spec.columns })
            }
        }
    }

    /// Those over rows.
    pub fn of_rows(config: &Config, spec: &'a RowsSpec, streams: &Streams) -> Result<Self> {
        let instances = Instances::prepare(&config.instances(spec), streams)?;
        Ok(Self::Rows { spec, instances })
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        match self {
            Self::Rows { instances, .. } => &instances.graph,
            Self::Programs { graph, .. } => graph,
        }
    }

    /// Names of the columns, or variables.
    pub fn columns(&self) -> &[String] {
        match self {
            Self::Rows { instances, .. } => &instances.columns,
            Self::Programs { columns, .. } => columns,
        }
    }

    /// What the targets of a regression were divided by.
    pub fn target_unit(&self) -> f64 {
        match self {
            Self::Rows { instances, .. } => instances.target_unit,
            Self::Programs { .. } => 1.0,
        }
    }

    /// How the rows are described, where there are rows.
    pub fn rows(&self) -> Option<&'a RowsSpec> {
        match self {
            Self::Rows { spec, .. } => Some(spec),
            Self::Programs { .. } => None,
        }
    }

    /// What a run begins with, for whoever waits: over rows there is an optimum to find first.
    pub fn begins_by(&self) -> &'static str {
        match self {
            Self::Rows { .. } => "solving",
            Self::Programs { .. } => "running",
        }
    }

    /// The data of one trial before anything is computed.
    fn before(&self, streams: &Streams) -> Data {
        match self {
            Self::Rows { instances, .. } => Data::Rows(instances.problem(streams)),
            Self::Programs { boxes, .. } => Data::Boxes(boxes.clone()),
        }
    }

    /// The data of one trial. Programs are asked for what a rule needs of them.
    pub fn data(&self, spec: &RunSpec, streams: &Streams) -> Result<Data> {
        match self.before(streams) {
            Data::Boxes(boxes) => {
                boxes.measured(spec, self.graph(), streams).map(Data::Boxes).map_err(refused)
            }
            rows => Ok(rows),
        }
    }

    /// What a trial costs, before anything is computed.
    pub fn forecast(&self, spec: &RunSpec, streams: &Streams) -> Result<Forecast> {
        Forecast::new(spec, &self.before(streams), self.graph()).map_err(refused)
    }

    /// What `--dry-run` shows. Only a claim that takes the optimum's norm, as the paper does, is
    /// worth the search for it; and no program is started.
    pub fn outline(&self, spec: &RunSpec, streams: &Streams) -> Result<Outline> {
        let data = self.before(streams);
        let problem = data.problem().filter(|_| spec.mechanism.needs_optimum());
        let optimum = problem.and_then(|problem| reference::optimum(problem).ok());
        match plan(spec, &data, self.graph(), optimum.as_ref()) {
            Ok(plan) => Ok(plan.outline()),
            Err(Refused::Unmeasured) => Ok(self.forecast(spec, streams)?.outline()),
            Err(error) => Err(refused(error)),
        }
    }
}

/// The plan of a trial whose optimum is known, where there is one.
pub fn plan(
    spec: &RunSpec,
    data: &Data,
    graph: &Graph,
    optimum: Option<&Optimum>,
) -> std::result::Result<Plan, Refused> {
    let mechanism = match optimum {
        Some(optimum) => spec.mechanism.with_optimum(&optimum.coefficients),
        None => spec.mechanism.clone(),
    };
    Plan::new(&RunSpec { mechanism, ..spec.clone() }, data, graph)
}
