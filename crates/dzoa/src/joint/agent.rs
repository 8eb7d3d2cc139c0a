//! One agent of a network in which everybody hears everybody, without sockets and without a clock.
//!
//! Everybody says one thing to all others in every *stage*, and goes on to the next stage once it
//! has heard everybody:
//!
//! ```text
//! stage 0      Hello: my mask key, and how many rows I have  ->  roster, and then the plan
//! stage 1      Ready: this is the roster, and this is what I am going to do
//! stage m + 1  SumPart:  my part of round m, charged and hidden ->  the sum, and the next point
//! ```
//!
//! What a round is about is a [`SharedRounds`]: joint sums, or releases that all take in alike. So
//! nobody is charged before everybody has the same roster and the same plan. A driver makes an
//! agent's own words durable before it sends them.

use super::algorithm::SumPart;
use super::contributor::{Charged, Contribution, PastPart, Resumed};
use super::shared::SharedRounds;
use crate::agent::CannotResume;
use crate::status::Status;
use dzoa_privacy::joint::{Members, Roster};
use dzoa_privacy::{Digest, Entry, Ledger, Receipt, RunId, Seen};
use thiserror::Error;

/// From everybody's keys and rows, in the order of the names, to a run.
pub type Open =
    Box<dyn FnOnce(&Roster, &[u64], Ledger) -> Result<Box<dyn SharedRounds>, Unplanned> + Send>;

/// Why there is no run after the meeting.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct Unplanned(pub String);

/// Everything that makes an agent.
pub struct JointSetup {
    /// Its name.
    pub name: String,
    /// All agents.
    pub members: Members,
    /// Its public mask key.
    pub key: [u8; 32],
    /// Its rows.
    pub rows: u64,
    /// What was spent on them before, and how much may be.
    pub ledger: Ledger,
    /// The run that it is charged for.
    pub run: RunId,
    /// Whether its root is erased: then it says again what it said, and nothing else.
    pub past: bool,
    /// What follows from the meeting.
    pub open: Open,
}

/// What one agent says to all others in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Whose it is: a position among the members.
    pub origin: usize,
    /// The stage.
    pub stage: u64,
    /// How often the stage was begun before.
    pub attempt: u64,
    /// What all who agree have alike: nothing at first, then the plan, then the step of a sum.
    pub id: Digest,
    /// What is said.
    pub saying: Saying,
}

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Saying {
    /// Who I am.
    Hello {
        /// My public mask key.
        key: [u8; 32],
        /// My rows.
        rows: u64,
    },
    /// What I have heard.
    Ready {
        /// The digest of the roster.
        roster: Digest,
    },
    /// My part of a sum.
    Part(SumPart),
    /// I give up this attempt at a sum, whatever I hear of it, to begin it anew without these.
    Leave {
        /// Their positions among the members, in order.
        gone: Vec<usize>,
    },
}

/// A notice that is not taken.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BadNotice {
    /// From nobody.
    #[error("member {0} does not exist")]
    NoMember(usize),
    /// Two different ones.
    #[error("{name} said two different things in stage {stage}")]
    Equivocation {
        /// Who.
        name: String,
        /// When.
        stage: u64,
    },
    /// Other keys than we have.
    #[error("{name} has the roster {theirs}, and here it is {ours}: somebody is in between")]
    Roster {
        /// Who.
        name: String,
        /// The digest there.
        theirs: Digest,
        /// The digest here.
        ours: Digest,
    },
    /// Another past, plan or point than ours.
    #[error("{name} is at another point in stage {stage}: it says {theirs}, and here it is {ours}")]
    Diverged {
        /// Who.
        name: String,
        /// When.
        stage: u64,
        /// The id there.
        theirs: Digest,
        /// The id here.
        ours: Digest,
    },
    /// Another stage, attempt, kind or length than this stage has.
    #[error("{name} said something in stage {stage} that is not said there")]
    OutOfPlace {
        /// Who.
        name: String,
        /// When.
        stage: u64,
    },
}

impl BadNotice {
    /// Whether the run cannot go on after it, if its origin really said so.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Equivocation { .. } | Self::Roster { .. } | Self::Diverged { .. })
    }
}

/// One agent between two inputs.
pub struct JointAgent {
    name: String,
    pub(super) members: Members,
    pub(super) position: usize,
    hello: Saying,
    run: RunId,
    past: bool,
    /// Until everybody has met.
    before: Ledger,
    open: Option<Open>,
    roster: Option<Roster>,
    rows: Vec<u64>,
    pinned: Option<Digest>,
    pub(super) joined: Option<Box<dyn SharedRounds>>,
    /// What tells the open round from every other.
    open_round: Option<Digest>,
    pub(super) stage: u64,
    /// What everybody said in this stage, by position.
    pub(super) heard: Vec<Option<Notice>>,
    /// Who gave this attempt up, by position.
    pub(super) leaves: Vec<Option<Notice>>,
    /// How often the stage was begun before.
    pub(super) attempt: u64,
    /// All attempts at all stages before this one.
    pub(super) turn: u64,
    /// Who is gone, and from which round on, by position.
    pub(super) gone: Vec<Option<u64>>,
    pub(super) status: Option<Status>,
    calls: u64,
}

impl JointAgent {
    /// Before anybody has met. The name is one of the members'.
    pub fn new(setup: JointSetup) -> Self {
        let JointSetup { name, members, key, rows, ledger, run, past, open } = setup;
        let position = members.position(&name).unwrap_or(0);
        let mut agent = Self {
            heard: vec![None; members.len()],
            leaves: vec![None; members.len()],
            gone: vec![None; members.len()],
            attempt: 0,
            turn: 0,
            name,
            members,
            position,
            hello: Saying::Hello { key, rows },
            run,
            past,
            before: ledger,
            open: Some(open),
            roster: None,
            rows: Vec::new(),
            pinned: None,
            joined: None,
            open_round: None,
            stage: 0,
            status: None,
            calls: 0,
        };
        agent.announce();
        agent
    }

    /// Ends before anything is charged if the roster has another digest.
    pub fn pin(&mut self, roster: Digest) {
        self.pinned = Some(roster);
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All agents.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Where it stands among them.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The stage.
    pub fn stage(&self) -> u64 {
        self.stage
    }

    /// Sums in all, once the plan is known.
    pub fn rounds(&self) -> Option<u64> {
        self.joined.as_ref().map(|joined| joined.rounds())
    }

    /// How it ended, once it has.
    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// Whether its root is erased: then it says again what it said, and nothing else.
    pub fn is_past(&self) -> bool {
        self.past
    }

    /// Whether the run has ended at all agents alike. Nothing of it is computed again, and nobody
    /// needs its root.
    pub fn is_over(&self) -> bool {
        self.stage > 1 && self.status.is_some()
    }

    /// Everybody's mask keys, once everybody has met.
    pub fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// Everybody's rows in the order of the members, once everybody has met.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// What was charged to its rows.
    pub fn ledger(&self) -> &Ledger {
        self.joined.as_ref().map_or(&self.before, |joined| joined.ledger())
    }

    /// The run that it is charged for.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Sums that were taken in.
    pub fn rounds_done(&self) -> u64 {
        self.joined.as_ref().map_or(0, |joined| joined.done())
    }

    /// Values or gradients of its own that were computed.
    pub fn oracle_calls(&self) -> u64 {
        self.calls
    }

    /// What everybody would report now; nothing before the plan is known.
    pub fn estimate(&self) -> Vec<f64> {
        self.joined.as_ref().map_or_else(Vec::new, |joined| joined.estimate())
    }

    /// Writes down how far a neighbour's ledger was seen. The entry is to be made durable.
    pub fn witness(&mut self, neighbour: &str, seen: Seen) -> Option<Entry> {
        match &mut self.joined {
            Some(joined) => joined.witness(neighbour, seen),
            None => {
                let news = self.before.witness(neighbour, seen);
                self.before.entries().last().filter(|_| news).cloned()
            }
        }
    }

    /// What was said in this stage by the member at this position.
    pub fn heard(&self, position: usize) -> Option<&Notice> {
        self.heard.get(position)?.as_ref()
    }

    /// Who has not spoken in this stage.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let missing = |position: &usize| self.misses(*position);
        (0..self.heard.len()).filter(missing).map(|k| self.members.names()[k].as_str())
    }

    /// Whether its own part of this stage's sum is to be charged and computed.
    pub fn owes(&self) -> bool {
        self.status.is_none() && self.heard[self.position].is_none() && !self.has_left()
    }

    /// Whether everybody has spoken, and this agent may take it in.
    pub fn is_complete(&self) -> bool {
        let missing = (0..self.heard.len()).any(|position| self.misses(position));
        self.status.is_none() && !missing && !self.has_left()
    }

    /// Charges its part of this sum. Nothing is drawn before the entry is durable.
    pub fn charge(&mut self) -> Result<Charged, Status> {
        self.at_round()?.charge()
    }

    /// Its part of this sum, which is to be made durable before it is [said](Self::say).
    pub fn contribute(&mut self, receipt: Receipt) -> Result<Contribution, Status> {
        let joined = self.at_round()?;
        let (contribution, calls) = (joined.contribute(receipt)?, joined.calls());
        self.calls += calls;
        Ok(contribution)
    }

    fn at_round(&mut self) -> Result<&mut Box<dyn SharedRounds>, Status> {
        let no = || Status::NoSum { round: 0, reason: "nobody has met yet".into() };
        self.joined.as_mut().ok_or_else(no)
    }

    /// Says its own part. Returns what everybody is told.
    pub fn say(&mut self, contribution: &Contribution) -> Notice {
        let notice = self.notice(Saying::Part(contribution.part()));
        self.heard[self.position] = Some(notice.clone());
        notice
    }

    /// Takes up a part that was charged and said before a restart.
    pub fn resume(&mut self, past: PastPart) -> Result<Resumed, CannotResume> {
        if !self.owes() {
            return Err(CannotResume::NotReady);
        }
        let joined = self.at_round().map_err(|_| CannotResume::NotReady)?;
        let (resumed, calls) = (joined.resume(past)?, joined.calls());
        self.calls += calls;
        self.say(&resumed.contribution);
        Ok(resumed)
    }

    /// Refuses what no honest member says in this stage. The same thing twice is fine.
    pub fn check(&self, notice: &Notice) -> Result<(), BadNotice> {
        let Notice { origin, stage, attempt, id, saying } = notice;
        let name = self.members.names().get(*origin).ok_or(BadNotice::NoMember(*origin))?.clone();
        let out_of_place = || BadNotice::OutOfPlace { name: name.clone(), stage: *stage };
        if (*stage, *attempt) != (self.stage, self.attempt) || self.gone[*origin].is_some() {
            return Err(out_of_place());
        }
        if self.said(notice).is_some_and(|known| known != notice) {
            return Err(BadNotice::Equivocation { name, stage: *stage });
        }
        match (saying, self.stage) {
            (Saying::Hello { .. }, 0) => {}
            (Saying::Ready { roster: theirs }, 1) => {
                let ours = self.roster.as_ref().map(Roster::digest).unwrap_or_default();
                if *theirs != ours {
                    return Err(BadNotice::Roster { name, theirs: *theirs, ours });
                }
            }
            (Saying::Part(part), _) => {
                let open = self.open_round.and(self.joined.as_ref());
                if !open.is_some_and(|joined| joined.fits(part)) {
                    return Err(out_of_place());
                }
            }
            (Saying::Leave { gone }, 2..) if self.may_leave(*origin, gone) => {}
            _ => return Err(out_of_place()),
        }
        let ours = self.id();
        match *id == ours {
            true => Ok(()),
            false => Err(BadNotice::Diverged { name, stage: *stage, theirs: *id, ours }),
        }
    }

    /// Takes in what another member said. Returns whether it is news.
    pub fn take(&mut self, notice: Notice) -> Result<bool, BadNotice> {
        self.check(&notice)?;
        let news = self.said(&notice).is_none();
        if news && notice.origin == self.position {
            // What it says itself is charged first.
            let (name, stage) = (self.name.clone(), self.stage);
            return Err(BadNotice::OutOfPlace { name, stage });
        }
        self.keep(notice);
        Ok(news)
    }

    /// Goes on to the next stage once everybody has spoken. Returns what everybody said, by
    /// position.
    pub fn advance(&mut self) -> Vec<Notice> {
        let count = self.members.len();
        let heard = std::mem::replace(&mut self.heard, vec![None; count]);
        let said: Vec<Notice> = heard.into_iter().flatten().collect();
        self.leaves = vec![None; count];
        (self.stage, self.attempt, self.turn) = (self.stage + 1, 0, self.turn + 1);
        let ended = match self.stage {
            1 => self.meet(&said),
            2 => self.next_round(),
            _ => self.absorb(&said),
        };
        self.status = self.status.take().or(ended.err());
        self.announce();
        said
    }

    /// Everybody has met: the roster, and the plan.
    fn meet(&mut self, said: &[Notice]) -> Result<(), Status> {
        let no = |reason: String| Status::NoSum { round: 0, reason };
        let mut keys = Vec::new();
        for (notice, name) in said.iter().zip(self.members.names()) {
            if let Saying::Hello { key, rows } = notice.saying {
                keys.push((name.clone(), key));
                self.rows.push(rows);
            }
        }
        let roster = Roster::new(keys).map_err(|bad| no(bad.to_string()))?;
        let digest = roster.digest();
        self.roster = Some(roster.clone());
        if let Some(pinned) = self.pinned.filter(|pinned| *pinned != digest) {
            return Err(no(format!("the roster is {digest}, and {pinned} was asked for")));
        }
        let open = self.open.take().ok_or_else(|| no("everybody has met before".into()))?;
        let joined = open(&roster, &self.rows, self.before.clone());
        self.joined = Some(joined.map_err(|why| no(why.to_string()))?);
        Ok(())
    }

    fn absorb(&mut self, said: &[Notice]) -> Result<(), Status> {
        let part = |notice: &Notice| match &notice.saying {
            Saying::Part(part) => Some(part.clone()),
            Saying::Hello { .. } | Saying::Ready { .. } | Saying::Leave { .. } => None,
        };
        let parts: Vec<SumPart> = said.iter().filter_map(part).collect();
        self.at_round()?.absorb(&parts)?;
        self.next_round()
    }

    pub(super) fn next_round(&mut self) -> Result<(), Status> {
        let Some(joined) = &mut self.joined else { return Ok(()) };
        self.open_round = joined.begin()?;
        match self.open_round {
            Some(_) => Ok(()),
            None => Err(Status::Finished),
        }
    }

    /// Says what costs nothing.
    fn announce(&mut self) {
        let saying = match (self.stage, &self.roster) {
            (0, _) => self.hello.clone(),
            (1, Some(roster)) => Saying::Ready { roster: roster.digest() },
            _ => return,
        };
        self.heard[self.position] = Some(self.notice(saying));
    }

    pub(super) fn notice(&self, saying: Saying) -> Notice {
        let (origin, stage, id) = (self.position, self.stage, self.id());
        Notice { origin, stage, attempt: self.attempt, id, saying }
    }

    /// What all who agree have alike in this stage.
    fn id(&self) -> Digest {
        match (self.stage, self.open_round, &self.joined) {
            (1, _, Some(joined)) => joined.digest(),
            (_, Some(id), _) => id,
            _ => Digest::default(),
        }
    }
}
