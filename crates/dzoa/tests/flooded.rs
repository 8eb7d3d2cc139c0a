//! Baselines without a coordinator: every agent hears every release and computes the rest by
//! itself.

use dzoa::baselines::{ENTRIES, Needs};
use dzoa::joint::{BadNotice, JointAgent, Notice, Saying, SumPart};
use dzoa::plan::{
    Algorithm, Auto, Data, JointSeat, Keys, Mechanism, Plan, Refused, Reported, RunSpec,
};
use dzoa::prelude::*;
use dzoa::privacy::Ledger;
use dzoa::problem::Synthetic;
use dzoa::run::Simulation;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use std::sync::Arc;

const P: usize = 4;
const ROUNDS: u64 = 6;
const SEED: u64 = 5;
const FLOODED: [&str; 2] = ["dp-gd", "dp-admm"];

fn names() -> Vec<String> {
    // Not in the order of the alphabet: positions in the graph and among the members differ.
    ["c", "a", "d", "b"].map(String::from).to_vec()
}

fn graph() -> Graph {
    Graph::from_edges(names(), &[(0, 1), (1, 2), (2, 3), (1, 3)]).unwrap()
}

fn problem() -> Problem {
    let data = Synthetic { agents: 4, samples: 30, features: P, ..Default::default() };
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "", 0);
    let mut agents: Vec<Arc<Samples>> =
        data.draw(Logistic.targets(), &mut rng).into_iter().map(Arc::new).collect();
    let some: Vec<usize> = (0..11).collect();
    agents[2] = Arc::new(agents[2].select(&some));
    Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents,
    }
}

fn spec(algorithm: &str, mechanism: &str) -> RunSpec {
    let keys = match mechanism {
        "none" => Keys::default(),
        _ => Keys { total_epsilon: Some(4.0), delta: Some(1e-5), ..Keys::default() },
    };
    let mechanism = Mechanism::from_keys(mechanism, &keys).unwrap();
    let algorithm = Algorithm::named(algorithm, &Setting::default()).unwrap();
    let (rounds, rho) = (Auto::Given(ROUNDS), Auto::Given(0.4));
    RunSpec { rounds, rho, ..RunSpec::new(algorithm, mechanism) }
}

/// What agent k of a network holds of the data: its own rows, also in everybody else's place.
fn own(problem: &Problem, k: usize) -> Data {
    let agents = vec![problem.agents[k].clone(); problem.agents.len()];
    Data::Rows(Problem { agents, ..problem.clone() })
}

fn agents(spec: &RunSpec, problem: &Problem) -> Vec<JointAgent> {
    let graph = graph();
    let streams = Streams::from_seed(SEED);
    let agent = |k: usize| {
        let data = own(problem, k);
        let seat = JointSeat { spec, data: &data, graph: &graph, k };
        seat.agent(Ledger::default(), &streams).unwrap()
    };
    (0..graph.len()).map(agent).collect()
}

/// Everybody says what it has to say in this stage, and hears all others. `change` may falsify what
/// is on its way.
fn stage(agents: &mut [JointAgent], change: impl Fn(&mut Notice)) -> Result<(), BadNotice> {
    let said: Vec<Notice> = agents
        .iter_mut()
        .map(|agent| {
            if agent.owes() {
                let charged = agent.charge().unwrap();
                let part = agent.contribute(charged.receipt).unwrap();
                agent.say(&part);
            }
            agent.heard(agent.position()).unwrap().clone()
        })
        .collect();
    for agent in agents.iter_mut() {
        let own = agent.position();
        for notice in said.iter().filter(|notice| notice.origin != own) {
            let mut notice = notice.clone();
            change(&mut notice);
            agent.take(notice)?;
        }
    }
    agents.iter_mut().for_each(|agent| {
        agent.advance();
    });
    Ok(())
}

fn bits(values: Vec<f64>) -> Vec<u64> {
    values.into_iter().map(f64::to_bits).collect()
}

fn simulated(spec: &RunSpec, problem: &Problem) -> Box<dyn Simulation> {
    let plan = Plan::new(spec, &Data::Rows(problem.clone()), &graph()).unwrap();
    let mut simulation = plan.simulation(vec![], &Streams::from_seed(SEED)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    simulation
}

/// With unequal agents, each of which knows nobody's rows but its own.
#[test]
fn agents_that_hear_everybody_end_with_the_bits_and_charges_of_the_simulation() {
    for algorithm in FLOODED {
        for mechanism in ["none", "output"] {
            for reported in [Reported::Last, Reported::LastHalf, Reported::Network] {
                for scale in [Scale::Mean, Scale::Sum, Scale::Pooled] {
                    let problem = Problem { scale, ..problem() };
                    let spec =
                        RunSpec { reported: Auto::Given(reported), ..spec(algorithm, mechanism) };
                    let case = format!("{algorithm} {mechanism} {reported:?} {scale:?}");
                    let simulation = simulated(&spec, &problem);
                    let mut agents = agents(&spec, &problem);
                    while agents.iter().any(|agent| agent.status().is_none()) {
                        stage(&mut agents, |_| {}).unwrap();
                    }
                    for (k, agent) in agents.iter().enumerate() {
                        assert_eq!(agent.status(), Some(&Status::Finished), "{case}");
                        assert_eq!(bits(agent.estimate()), bits(simulation.estimate(k)), "{case}");
                        let charged = |ledger: &Ledger| {
                            let charges = ledger.charges().map(|charge| charge.event);
                            charges.collect::<Vec<_>>()
                        };
                        let there = charged(simulation.ledger(k));
                        assert_eq!(charged(agent.ledger()), there, "{case}");
                        assert_eq!(there.len() as u64, ROUNDS, "{case}");
                        assert_eq!(agent.oracle_calls(), ROUNDS, "{case}");
                    }
                }
            }
        }
    }
}

/// K releases, each of which crosses every one of the four links in both directions.
#[test]
fn a_round_costs_every_release_on_every_link_in_both_directions() {
    for algorithm in FLOODED {
        let spec = spec(algorithm, "output");
        let costs = simulated(&spec, &problem()).costs();
        assert_eq!(costs.messages, ROUNDS * 4 * 2 * 4, "{algorithm}");
        assert_eq!(costs.bytes, 8 * P as u64 * costs.messages, "{algorithm}");
        let plan = Plan::new(&spec, &Data::Rows(problem()), &graph()).unwrap();
        assert_eq!(plan.outline().messages, costs.messages, "{algorithm}");
        // All hold the same: nothing is averaged over the network, and no plan says so.
        let averaged = RunSpec { reported: Auto::Given(Reported::Network), ..spec };
        let plan = Plan::new(&averaged, &Data::Rows(problem()), &graph()).unwrap();
        assert_eq!(plan.outline().gossip_rounds, 0, "{algorithm}");
        assert_eq!(simulated(&averaged, &problem()).costs(), costs, "{algorithm}");
    }
}

#[test]
fn who_needs_flooding_needs_no_coordinator_and_its_row_says_so() {
    for entry in ENTRIES {
        let spec = RunSpec {
            algorithm: Algorithm::named(entry.name, &Setting::default()).unwrap(),
            ..spec("dp-gd", "none")
        };
        // Some need a smooth regulariser, and a ridge.
        let problem = Problem { regularizer: Regularizer::L2, ..problem() };
        let plan = Plan::new(&spec, &Data::Rows(problem), &graph()).unwrap();
        let Needs { coordinator, flooding, trusted_solver, .. } = plan.needs().unwrap();
        assert_eq!(flooding, FLOODED.contains(&entry.name), "{}", entry.name);
        assert_eq!(flooding, entry.flooding, "{}", entry.name);
        assert_eq!(coordinator, entry.name == "objective-perturbation", "{}", entry.name);
        assert_eq!(coordinator, trusted_solver, "{}", entry.name);
        assert_eq!(spec.algorithm.floods(), flooding, "{}", entry.name);
    }
}

#[test]
fn nothing_is_charged_before_all_are_ready_with_the_same_plan() {
    for algorithm in FLOODED {
        let spec = spec(algorithm, "output");
        let mut all = agents(&spec, &problem());
        stage(&mut all, |_| {}).unwrap();
        assert!(all.iter().all(|agent| agent.stage() == 1 && !agent.owes()));
        stage(&mut all, |_| {}).unwrap();
        assert!(all.iter().all(|agent| agent.stage() == 2 && agent.owes()));
        assert!(all.iter().all(|agent| agent.ledger().charges().count() == 0));
        // One agent with another eta: the roster is the same, and the plan is not.
        let other = Problem { eta: 0.2, ..problem() };
        let mut mixed: Vec<JointAgent> = agents(&spec, &problem());
        mixed[3] = agents(&spec, &other).pop().unwrap();
        stage(&mut mixed, |_| {}).unwrap();
        let no = stage(&mut mixed, |_| {}).unwrap_err();
        assert!(matches!(no, BadNotice::Diverged { stage: 1, .. }) && no.is_fatal(), "{no}");
        assert!(mixed.iter().all(|agent| agent.ledger().charges().count() == 0));
    }
}

/// What no agent of this program releases ends the run with the name of who said so, everywhere and
/// before anything more is charged.
#[test]
fn a_release_without_numbers_or_of_absurd_length_ends_the_run_by_name() {
    for (value, word) in
        [(f64::NAN, "non-finite"), (f64::INFINITY, "non-finite"), (1e200, "diverged")]
    {
        let mut all = at_first_round("dp-admm");
        let liar = 1;
        let lie = |notice: &mut Notice| {
            if notice.origin == liar {
                notice.saying = Saying::Part(SumPart::Plain(vec![value; P].into()));
            }
        };
        stage(&mut all, lie).unwrap();
        for agent in all.iter().filter(|agent| agent.position() != liar) {
            let status = agent.status().unwrap();
            assert_eq!(status.word(), word, "{status}");
            // Members are in the order of the alphabet.
            assert!(status.to_string().contains("agent b"), "{status}");
            assert_eq!(agent.ledger().charges().count(), 1);
        }
    }
}

#[test]
fn a_release_of_another_length_or_kind_is_out_of_place() {
    for part in [SumPart::Plain(vec![0.0; P + 1].into()), SumPart::Words(vec![0; P].into())] {
        let lie = |notice: &mut Notice| notice.saying = Saying::Part(part.clone());
        let no = stage(&mut at_first_round("dp-gd"), lie).unwrap_err();
        assert!(matches!(no, BadNotice::OutOfPlace { .. }) && !no.is_fatal(), "{no}");
    }
}

/// Agents that have met and agreed.
fn at_first_round(algorithm: &str) -> Vec<JointAgent> {
    let mut all = agents(&spec(algorithm, "output"), &problem());
    (0..2).for_each(|_| stage(&mut all, |_| {}).unwrap());
    all
}

#[test]
fn other_algorithms_are_not_planned_for_one_agent() {
    for entry in ENTRIES.iter().filter(|entry| !entry.flooding) {
        let spec = RunSpec {
            algorithm: Algorithm::named(entry.name, &Setting::default()).unwrap(),
            ..spec("dp-gd", "none")
        };
        let no = Plan::of_one(&spec, &own(&problem(), 0), &graph(), 0).unwrap_err();
        assert!(matches!(no, Refused::OnlyTogether(name) if name == entry.name));
    }
}
