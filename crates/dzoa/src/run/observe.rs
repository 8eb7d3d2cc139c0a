//! What watches a run from outside the algorithm.

use super::Simulation;
use dzoa_privacy::Entry;
use std::ops::ControlFlow;

/// All agents after a round.
pub struct RoundView<'a> {
    /// m, counted from 1.
    pub round: u64,
    /// The agents, in the order of the graph.
    pub simulation: &'a dyn Simulation,
}

/// Watches a run, and may end it.
pub trait Observer {
    /// Called after every round.
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()>;

    /// Called with every charge of an agent's ledger, before the release that it pays for is sent.
    /// An observer that persists the ledger makes the entry durable here, or ends the run.
    fn persist(&mut self, _agent: usize, _entry: &Entry) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _view: &RoundView<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Several observers; the run ends when one of them says so, after all have seen the round.
impl Observer for Vec<&mut dyn Observer> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        for observer in self {
            if observer.round(view).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        flow
    }
}

/// A closure is an observer.
impl<F: FnMut(&RoundView<'_>) -> ControlFlow<()>> Observer for F {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        self(view)
    }
}

/// How far releases are from consensus, from releases alone: public wherever they are.
#[derive(Clone, Debug, Default)]
pub struct Residuals {
    rho: f64,
    last: Vec<Vec<f64>>,
    /// The largest coordinate by which two agents differ.
    pub primal: f64,
    /// rho times the largest coordinate by which a release moved in the last round; infinite after
    /// the first.
    pub dual: f64,
}

impl Residuals {
    /// For a run with this rho.
    pub fn new(rho: f64) -> Self {
        Self { rho, last: Vec::new(), primal: f64::INFINITY, dual: f64::INFINITY }
    }
}

impl Observer for Residuals {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let simulation = view.simulation;
        let now: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.release(k).to_vec()).collect();
        let apart = |a: &Vec<f64>, b: &Vec<f64>| {
            a.iter().zip(b).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
        };
        self.primal = now.iter().map(|beta| apart(beta, &now[0])).fold(0.0, f64::max);
        if self.last.len() == now.len() {
            let moved = self.last.iter().zip(&now).map(|(last, now)| apart(last, now));
            self.dual = self.rho * moved.fold(0.0, f64::max);
        }
        self.last = now;
        ControlFlow::Continue(())
    }
}

/// Ends a run once no release moves any more and all agents agree, to within a tolerance. It looks
/// at releases only: a stopping rule that saw private values would be a release itself.
#[derive(Debug)]
pub struct EarlyStop {
    tolerance: f64,
    last: Vec<Vec<f64>>,
}

impl EarlyStop {
    /// Stops when changes and disagreement are at most `tolerance` in every coordinate.
    pub fn new(tolerance: f64) -> Self {
        Self { tolerance, last: Vec::new() }
    }
}

impl Observer for EarlyStop {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let simulation = view.simulation;
        let now: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.release(k).to_vec()).collect();
        let near =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= self.tolerance);
        let still = self.last.len() == now.len()
            && self.last.iter().zip(&now).all(|(last, now)| near(last, now))
            && now.iter().all(|beta| near(beta, &now[0]));
        self.last = now;
        if still { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
