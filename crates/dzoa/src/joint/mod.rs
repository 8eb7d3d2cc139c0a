//! Sums over all agents at a public point: the accuracy of a trusted curator, and no curator.
//!
//! In a round everybody is asked the same question at the same public point ([`Ask`]). Every agent
//! adds up what its own rows answer, hides its part, and floods it over the network. Everybody adds
//! up all parts and holds the same public sum, from which the same next point follows. So the state
//! between two rounds is public by its type: a [`SumMethod`] sees sums only.
//!
//! [`Session`] is that public state with its transcript, [`Contributor`] is one agent with its
//! rows, ledger and keys. A simulation has one session and all contributors; an agent over a
//! network has one of each, in a [`JointAgent`]. `algorithm.rs` is one round of both, in order.
//!
//! Masks, shares of the noise, the theorem and its proof are in [`dzoa_privacy::joint`];
//! docs/algorithms/joint.md has the update equations.

mod adversary;
mod agent;
mod algorithm;
mod answers;
mod ask;
mod averaged;
mod clip;
mod contributor;
mod descent;
mod frame;
mod leaving;
mod models;
mod newton;
mod quadratic;
mod shared;
mod slopes;

pub use adversary::{Adversary, noiseless};
pub use agent::{BadNotice, JointAgent, JointSetup, Notice, Open, Saying, Unplanned};
pub use algorithm::{NoRound, Session, SessionOpening, Step, SumPart};
pub use answers::Answers;
pub use ask::{Ask, Hidden, Question};
pub use contributor::{
    Charged, Contribution, Contributor, ContributorSetup, PastPart, Resumed, SealedPart, Secrets,
};
pub use descent::{DescentSettings, Probing, SumDescent};
pub use frame::DirectionFrame;
pub use models::{Certainty, ModelSettings, Models};
pub use newton::{Newton, NewtonSettings};
pub use shared::{Joined, Reshare, SharedRounds};
pub use slopes::Slopes;

use dzoa_privacy::joint::NoRegion;

/// Values that everybody knows without asking for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// The objective at the start.
    pub start: f64,
    /// The objective at the estimate.
    pub estimate: f64,
}

/// An algorithm between two sums. A function of public numbers and of the sums so far.
pub trait SumMethod: Send + Sync {
    /// Sums that it takes in all.
    fn rounds(&self) -> u64;

    /// Sums that it has taken in.
    fn done(&self) -> u64;

    /// The next question; `None` once all sums are taken.
    fn ask(&self) -> Result<Option<Ask>, NoRegion>;

    /// The question of a round, at any point: what an auditor asks.
    fn ask_at(&self, round: u64, point: Vec<f64>) -> Result<Ask, NoRegion>;

    /// Goes on with the sum of all answers.
    fn absorb(&mut self, sum: &[f64]);

    /// What everybody would report now.
    fn estimate(&self) -> Vec<f64>;

    /// The questions of a whole run as far as they can be known before it: regions and guarantees
    /// of all sums, at the point where it begins. Empty without a guarantee.
    fn planned(&self) -> Result<Vec<Hidden>, NoRegion>;

    /// Values of the objective, where the sums told them.
    fn told(&self) -> Option<Told> {
        None
    }

    /// How sure the estimate is, where the sums told it.
    fn certainty(&self) -> Option<Certainty> {
        None
    }

    /// What one answer to one question costs an agent, in values or gradients.
    fn calls(&self) -> u64;
}
