//! The agent as a state machine: any order of delivery gives the same bits, and a message that an
//! honest neighbour would not send is refused.

use dzoa::agent::{Average, Input, LARGEST_NORM, Output, ProtocolError};
use dzoa::prelude::*;
use dzoa::privacy::{Budget, Event, Header, LEDGER_FORMAT, Ledger, RunId};
use dzoa::problem::Synthetic;
use dzoa::run::{Releases, agents};
use dzoa::streams::Purpose;
use proptest::prelude::*;
use std::sync::Arc;

const K: usize = 4;
const P: usize = 3;

fn problem() -> Problem {
    let data = Synthetic { agents: K, samples: 8, features: P, ..Default::default() };
    let loss = Logistic;
    let drawn = data.draw(loss.targets(), &mut Streams::from_seed(3).rng(Purpose::Data, "", 0));
    Problem {
        loss: Arc::new(loss),
        regularizer: Regularizer::L1,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    }
}

fn graph() -> Graph {
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]).unwrap()
}

/// Agents with added noise and a final averaging, so that every kind of message occurs.
fn network(rounds: u64, ledgers: Vec<Ledger>) -> Vec<Agent> {
    let (problem, graph) = (problem(), graph());
    let event = Event::discrete_gaussian(0.01, 0.05, P, 1);
    let releases = Releases {
        events: vec![Arc::from([event]); K],
        ledgers,
        average: Average::Network { gossip: 5 },
        streams: Streams::from_seed(9),
    };
    let settings = Admm { rho: 0.5, rounds, ..Admm::default() };
    agents(&problem, &graph, settings, releases, |k| {
        Box::new(Exact::new(problem.risk(k), Some(1e-9)))
    })
    .unwrap()
}

fn bits(agents: &[Agent]) -> Vec<u64> {
    agents.iter().flat_map(|agent| agent.estimate()).map(f64::to_bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_order_and_repetition_of_messages_gives_the_bits_of_the_simulation(
        choices in prop::collection::vec(any::<u16>(), 2000),
    ) {
        let mut lockstep = network(6, vec![]);
        prop_assert_eq!(simulate(&mut lockstep, &mut ()), Status::Finished);
        let mut agents = network(6, vec![]);
        let mut mail: Vec<(usize, Input)> = Vec::new();
        let mut done = 0;
        let mut choices = choices.into_iter().cycle();
        while done < K {
            // Whoever can, computes and sends; then one message of any age is delivered, perhaps
            // again.
            for k in 0..K {
                while let Some(output) = agents[k].poll() {
                    match output {
                        Output::Compute => agents[k].compute(&mut Default::default()),
                        Output::Persist(_) | Output::Completed(_) => {}
                        Output::Send(envelope) => {
                            for &to in graph().neighbours(k) {
                                let beta = envelope.message.values().clone();
                                mail.push((
                                    to,
                                    Input::Received { from: k, round: envelope.round, beta },
                                ));
                            }
                        }
                        Output::Done(status) => {
                            prop_assert_eq!(status, Status::Finished);
                            done += 1;
                        }
                    }
                }
            }
            if mail.is_empty() {
                break;
            }
            let choice = choices.next().unwrap() as usize;
            let (to, message) = mail[choice % mail.len()].clone();
            agents[to].handle(message).unwrap();
            if !choice.is_multiple_of(3) {
                mail.swap_remove(choice % mail.len());
            }
        }
        prop_assert_eq!(done, K);
        prop_assert_eq!(bits(&agents), bits(&lockstep));
    }
}

#[test]
fn a_message_that_an_honest_neighbour_would_not_send_is_refused() {
    let mut agent = network(6, vec![]).swap_remove(1);
    agent.limit_norm(LARGEST_NORM);
    let vector = |value: f64, len: usize| -> Arc<[f64]> { vec![value; len].into() };
    let mut send = |from, round, beta| agent.handle(Input::Received { from, round, beta });
    assert_eq!(send(3, 1, vector(0.0, P)), Err(ProtocolError::NotANeighbour { from: 3 }));
    let wrong = ProtocolError::WrongDimension { from: 0, round: 1, got: 2, expected: P };
    assert_eq!(send(0, 1, vector(0.0, 2)), Err(wrong));
    for value in [f64::NAN, f64::INFINITY] {
        assert_eq!(
            send(0, 1, vector(value, P)),
            Err(ProtocolError::NonFinite { from: 0, round: 1 })
        );
    }
    let huge = send(0, 1, vector(2e100, P)).unwrap_err();
    assert!(matches!(huge, ProtocolError::HugeNorm { from: 0, round: 1, .. }), "{huge}");
    let ahead = ProtocolError::TooFarAhead { from: 0, round: 3, ours: 1 };
    assert_eq!(send(0, 3, vector(0.0, P)), Err(ahead));
    assert_eq!(send(0, 1, vector(1.0, P)), Ok(()));
    assert_eq!(send(0, 1, vector(1.0, P)), Ok(()), "a repetition is ignored");
    assert_eq!(send(0, 1, vector(2.0, P)), Err(ProtocolError::Equivocation { from: 0, round: 1 }));
    assert_eq!(send(0, 0, vector(5.0, P)), Ok(()), "an old round is ignored");
}

#[test]
fn a_run_stops_before_it_overspends() {
    let budget = Some(Budget { epsilon: 1.0, delta: 1e-5 });
    let (ledger, id, dataset) = (LEDGER_FORMAT, RunId::default(), String::new());
    let header = Header { ledger, id, dataset, budget };
    let ledger = || Ledger::new(header.clone());
    let mut agents = network(50, (0..K).map(|_| ledger()).collect());
    let mut rounds = 0;
    let status = simulate(&mut agents, &mut |view: &RoundView<'_>| {
        rounds = view.round;
        std::ops::ControlFlow::Continue(())
    });
    let Status::BudgetExhausted { rounds: told, .. } = status else { panic!("{status:?}") };
    assert_eq!(told, rounds);
    assert!(rounds > 0 && rounds < 50);
    for agent in &agents {
        assert_eq!(agent.ledger().entries().len() as u64, rounds);
        assert!(agent.ledger().epsilon(1e-5) <= 1.0);
    }
}

#[test]
fn a_neighbours_vector_that_stays_away_is_waited_for_after_lag_rounds() {
    const LAG: u64 = 4;
    let mut agents = network(60, vec![]);
    agents.iter_mut().for_each(|agent| agent.allow_lag(LAG));
    // The first vector of agent 0 does not reach agent 1; everything else does, at once.
    let mut withheld = None;
    let mut furthest = 0;
    for turn in 0..400 {
        let mut mail = Vec::new();
        for k in 0..K {
            while let Some(output) = agents[k].poll() {
                match output {
                    Output::Compute => agents[k].compute(&mut Default::default()),
                    Output::Send(envelope) => {
                        for &to in graph().neighbours(k) {
                            let beta = envelope.message.values().clone();
                            let message = Input::Received { from: k, round: envelope.round, beta };
                            match (k, to, envelope.round) {
                                (0, 1, 1) => withheld = Some(message),
                                _ => mail.push((to, message)),
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        for (to, message) in mail {
            agents[to].handle(message).unwrap();
        }
        // The time limit of a round is over for everybody.
        for agent in &mut agents {
            agent.go_on();
        }
        if turn < 100 {
            furthest = furthest.max(agents[1].round());
        } else if let Some(late) = withheld.take() {
            agents[1].handle(late).unwrap();
        }
    }
    // A neighbour keeps its vectors for a while only: whoever went on would never get this one, and
    // the duals of the two ends would differ for ever.
    assert_eq!(furthest, 1 + LAG, "it did not wait");
    assert!(agents.iter().all(|agent| agent.rounds_done() == 60), "it did not go on afterwards");
}
