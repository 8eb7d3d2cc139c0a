//! Distributed zeroth-order ADMM (D-ZOA): agents that hold private rows fit one sparse model
//! together, without a coordinator, each talking to its graph neighbours only, from function values
//! alone.
//!
//! The crate is pure and deterministic: no files, no sockets, no clock. Read it in this order:
//! [`problem`] (what is minimised), [`network`] (who talks to whom), [`primal`] (how an agent
//! minimises), [`admm`] (the paper's algorithm box), [`agent`] (that algorithm as a state machine
//! without input and output), [`run`] (all agents in one process).
//! EQUATIONS.md in the repository maps every equation of the paper to one function here.
//!
//! ```
//! use dzoa::prelude::*;
//! use std::sync::Arc;
//!
//! // Three agents on a path, ten rows each, y = 2 x_1.
//! let streams = Streams::from_seed(7);
//! let agents = (0..3)
//!     .map(|_| {
//!         let rows: Vec<f64> = (0..20).map(|i| (i as f64 * 0.7).sin()).collect();
//!         let targets = rows.chunks(2).map(|x| 2.0 * x[0]).collect();
//!         Samples::new(Rows::dense(2, rows)?, targets).map(Arc::new)
//!     })
//!     .collect::<Result<Vec<_>, _>>()?;
//! let problem = Problem {
//!     loss: Arc::new(Squared),
//!     regularizer: Regularizer::L1,
//!     eta: 0.01,
//!     scale: Scale::Mean,
//!     intercept: false,
//!     agents,
//! };
//! let graph = Graph::from_edges(vec!["a".into(), "b".into(), "c".into()], &[(0, 1), (1, 2)])?;
//! let settings = Admm { rho: 0.3, rounds: 100, ..Admm::default() };
//! let mut agents = exact_agents(&problem, &graph, settings, None, &streams)?;
//! let status = simulate(&mut agents, &mut ());
//! assert_eq!(status, Status::Finished);
//! let optimum = reference::optimum(&problem)?;
//! assert!((agents[0].beta()[0] - optimum.coefficients[0]).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod admm;
pub mod agent;
pub mod baselines;
pub mod guarantee;
pub mod inference;
pub mod joint;
pub mod kernels;
pub mod network;
pub mod newton;
pub mod plan;
pub mod primal;
pub mod problem;
pub mod reference;
pub mod registry;
pub mod run;
mod status;
pub mod streams;
pub mod theory;
pub mod tuning;
pub mod worst_case;

pub use dzoa_privacy as privacy;
pub use status::Status;

/// What most programs need.
pub mod prelude {
    pub use crate::admm::Admm;
    pub use crate::agent::{Agent, Input, Output};
    pub use crate::network::Graph;
    pub use crate::primal::{Exact, ZerothOrder};
    pub use crate::problem::data::{Rows, Samples};
    pub use crate::problem::loss::{Absolute, Hinge, Huber, Logistic, Loss, Pinball, Squared};
    pub use crate::problem::regularizer::Regularizer;
    pub use crate::problem::{BlackBox, LocalObjective, Objective, Problem, Scale};
    pub use crate::reference;
    pub use crate::run::{Observer, RoundView, exact_agents, simulate, zeroth_order_agents};
    pub use crate::status::Status;
    pub use crate::streams::Streams;
}
