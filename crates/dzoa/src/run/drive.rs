//! Takes agents through their rounds in lockstep, whoever makes their releases.

use super::{Observer, RoundView, Simulation};
use crate::agent::{Agent, Envelope, Input, Message, Output};
use crate::status::Status;
use std::ops::ControlFlow;
use thiserror::Error;

/// How the agents of a round come to their releases: they compute them, or take up earlier ones.
pub trait Releasing {
    /// Why there is none.
    type Error: From<OutOfStep>;

    /// Lets every agent that is ready release. A break ends the run: nothing is left to release.
    fn release(&mut self, agents: &mut [Agent]) -> Result<ControlFlow<()>, Self::Error>;
}

/// Agents that do not wait for each other in every round.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the agents did not wait for each other in every round")]
pub struct OutOfStep;

/// Runs agents round by round until they are done, or until an observer stops them. An algorithm
/// without agents is done at once.
#[doc(alias = "Algorithm 1, line 2: the loop over m")]
pub fn drive<R: Releasing>(
    simulation: &mut dyn Simulation,
    releasing: &mut R,
    observer: &mut dyn Observer,
) -> Result<Status, R::Error> {
    let mut round = 0;
    loop {
        let agents = simulation.agents_mut();
        if releasing.release(agents)?.is_break() {
            return Ok(Status::Stopped { round });
        }
        let Collected { mail, done } = match collect(agents, observer) {
            ControlFlow::Continue(collected) => collected,
            ControlFlow::Break(None) => return Ok(Status::Stopped { round }),
            ControlFlow::Break(Some(failed)) => return Ok(failed),
        };
        if mail.is_empty() {
            let over = done || agents.iter().all(Agent::is_over);
            return if over { Ok(Status::Finished) } else { Err(OutOfStep.into()) };
        }
        let fresh = mail.iter().any(|envelope| matches!(envelope.message, Message::Release(_)));
        deliver(agents, mail)?;
        if fresh {
            round += 1;
            if observer.round(&RoundView { round, simulation }).is_break() {
                return Ok(Status::Stopped { round });
            }
        }
    }
}

/// What the agents of a round ask for.
struct Collected {
    mail: Vec<Envelope>,
    /// Whether an agent said that it is done.
    done: bool,
}

/// Performs what the agents ask for, up to the next round. A break has the status of an agent that
/// failed, or none where the observer ends the run.
fn collect(
    agents: &mut [Agent],
    observer: &mut dyn Observer,
) -> ControlFlow<Option<Status>, Collected> {
    let (mut mail, mut done, mut failed) = (Vec::new(), false, None);
    for (k, agent) in agents.iter_mut().enumerate() {
        while let Some(output) = agent.poll() {
            match output {
                Output::Compute => break,
                Output::Persist(entry) => {
                    if observer.persist(k, &entry).is_break() {
                        return ControlFlow::Break(None);
                    }
                }
                // A simulation that crashes starts anew.
                Output::Completed(_) => {}
                Output::Send(envelope) => mail.push(envelope),
                // An agent without neighbours is done as soon as it has computed.
                Output::Done(Status::Finished) => done = true,
                Output::Done(status) => failed = failed.or(Some(status)),
            }
        }
    }
    match failed {
        Some(status) => ControlFlow::Break(Some(status)),
        None => ControlFlow::Continue(Collected { mail, done }),
    }
}

/// Hands every vector to the sender's neighbours, in the order of the agents.
fn deliver(agents: &mut [Agent], mail: Vec<Envelope>) -> Result<(), OutOfStep> {
    for Envelope { from, round, message } in mail {
        for neighbour in agents[from].neighbours().to_vec() {
            let beta = message.values().clone();
            let received = Input::Received { from, round, beta };
            agents[neighbour].handle(received).map_err(|_| OutOfStep)?;
        }
    }
    Ok(())
}
