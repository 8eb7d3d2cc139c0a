//! What all agents must agree on before their masks cancel.
//!
//! ```text
//! T_0 = H(network, program, roster, rows of all agents, colluders)
//! ctx = H(T_(m-1), m, attempt, members, purpose, coordinates, point, grid, shares)
//! T_m = H(ctx, words of the sum)
//! ```
//!
//! Masks and noise are keyed with `ctx`. So two agents that differ in the past, in the members, in
//! the point or in the noise share no mask: nothing cancels, and nothing is shown. That is why
//! nobody can be led to another point than the others, where the sensitivity is smaller and less
//! noise is added.

use super::fields::Fields;
use super::{JointQuery, Members, ShareKey};
use crate::{Colluders, Digest, Event, Query, RunId};
use thiserror::Error;

/// The chain of everything public that happened. Equal at all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcript(pub(super) Digest);

/// What a transcript begins with.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// A digest of the network's file.
    pub network: Digest,
    /// The program's name and version.
    pub program: &'a str,
    /// The digest of the roster, whose keys are those of this run and of no other. Without masks it
    /// may be missing: then only the network's file tells two runs apart.
    pub roster: Option<Digest>,
    /// The rows of all agents, by name.
    pub rows: &'a [u64],
    /// Whom the run protects against.
    pub colluders: Colluders,
}

/// Which sum of a run is to come.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Counted from 1.
    pub round: u64,
    /// How often the round was begun before.
    pub attempt: u64,
    /// Who takes part.
    pub members: &'a Members,
    /// What is summed.
    pub purpose: &'a str,
    /// The public point at which the rows are asked.
    pub point: &'a [f64],
}

/// One sum, with everything that all agents agree on.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    id: Digest,
    round: u64,
    members: Members,
    query: JointQuery,
}

/// A sum that cannot be taken. All of it is public.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NoContext {
    /// The point is not finite.
    #[error("the point at which the sum is taken is not finite")]
    Point,
    /// The noise was planned for others.
    #[error("noise for {planned} agents cannot be shared by {members}")]
    Members {
        /// Agents of the plan.
        planned: usize,
        /// Agents in the sum.
        members: usize,
    },
}

impl Transcript {
    /// The transcript of a run before its first sum.
    pub fn new(opening: &Opening<'_>) -> Self {
        let Opening { network, program, roster, rows, colluders } = opening;
        let hash = Fields::hash("dzoa 2026 joint transcript")
            .bytes(&network.0)
            .bytes(program.as_bytes())
            .bytes(roster.as_ref().map_or(&[], |roster| &roster.0[..]))
            .numbers(rows)
            .bytes(colluders.to_string().as_bytes());
        Self(hash.digest())
    }

    /// The context of a sum to come.
    pub fn context(&self, turn: &Turn<'_>, query: JointQuery) -> Result<Context, NoContext> {
        let Turn { round, attempt, members, purpose, point } = *turn;
        let planned = query.shares().agents();
        if planned != members.len() {
            return Err(NoContext::Members { planned, members: members.len() });
        }
        if !point.iter().all(|value| value.is_finite()) {
            return Err(NoContext::Point);
        }
        let grid = [query.step(), query.share(), query.region().diameter()];
        let hash = Fields::hash("dzoa 2026 joint context")
            .bytes(&self.0.0)
            .numbers(&[round, attempt, query.coordinates() as u64])
            .bytes(&members.digest().0)
            .bytes(purpose.as_bytes())
            .bits(point)
            .bits(&grid)
            .bytes(&query.shares().digest().0);
        Ok(Context { id: hash.digest(), round, members: members.clone(), query })
    }

    /// The digest, for comparison.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

impl Context {
    /// What tells this sum from every other. Frames and ledger entries carry it.
    pub fn id(&self) -> Digest {
        self.id
    }

    /// Who takes part.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The sum, as it is planned.
    pub fn query(&self) -> &JointQuery {
        &self.query
    }

    /// What the sum costs the member at this position.
    pub fn event(&self, position: usize) -> Event {
        let mut event = self.query.event(position);
        if let Event::JointSum { context, .. } = &mut event {
            *context = self.id;
        }
        event
    }

    /// What the ledger of the member at this position is to charge.
    pub fn charge(&self, position: usize, run: RunId, program: &str, key: &ShareKey) -> Query {
        Query {
            run,
            round: self.round,
            inputs: key.inputs(self.id),
            program: program.into(),
            event: self.event(position),
        }
    }
}
