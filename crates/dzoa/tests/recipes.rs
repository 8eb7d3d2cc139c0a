//! The recipes "a mechanism" and "an algorithm" of CONTRIBUTING.md, from outside: what the files to
//! write must hold is enough for a plan and a simulation.

use dzoa::baselines::{AlgorithmEntry, Baseline, Needs, NumberRange, OptionKey, Options, Party};
use dzoa::guarantee::{BudgetTarget, NoGuarantee};
use dzoa::plan::{
    AgentPlace, Algorithm, Auto, Charges, Choice, Claimed, Data, Mechanism, Plan, Protection,
    Refused, Reported, RunSpec, Unprotected,
};
use dzoa::prelude::*;
use dzoa::primal::{InnerFailure, PrimalStep};
use dzoa::privacy::{Event, NoiseKey, Private, Receipt, Release};
use dzoa::problem::PublicProblem;
use dzoa::problem::Synthetic;
use dzoa::problem::regularizer::Penalty;
use dzoa::run::Simulation;
use dzoa::streams::Purpose;
use dzoa::tuning::{Setting, Sizes};
use std::sync::Arc;

const ROUNDS: u64 = 40;

fn problem() -> Problem {
    let data = Synthetic { agents: 3, samples: 30, features: 2, ..Default::default() };
    let drawn = data.draw(Logistic.targets(), &mut Streams::from_seed(3).rng(Purpose::Data, "", 0));
    Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L2,
        eta: 0.2,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    }
}

fn graph() -> Graph {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2)]).unwrap()
}

fn run(spec: &RunSpec) -> (Plan, Box<dyn Simulation>) {
    let plan = Plan::new(spec, &Data::Rows(problem()), &graph()).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(5)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    (plan, simulation)
}

/// Noise of one scale on every release. Without a sensitivity it claims nothing.
#[derive(Debug)]
struct FixedNoise {
    sigma: f64,
}

impl Protection for FixedNoise {
    fn name(&self) -> &'static str {
        "fixed-noise"
    }

    fn claimed(&self) -> Claimed {
        Claimed::Nothing
    }

    fn choose(&self, data: &Data) -> Choice {
        Choice { rounds: ROUNDS, reported: Reported::LastHalf, ..Unprotected.choose(data) }
    }

    fn grid(&self, sizes: &Sizes) -> Vec<Setting> {
        Unprotected.grid(sizes)
    }

    fn charges(&self, place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        let event = Event::discrete_gaussian(1.0, self.sigma, place.data.dim(), 1);
        let events = vec![event; place.rounds as usize].into();
        Ok(Charges { events, ..Charges::of_every_round(event, 1.0) })
    }

    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        Unprotected.step(place, inner)
    }

    fn primal(
        &self,
        place: &AgentPlace<'_>,
        charges: &Charges,
        tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        Unprotected.primal(place, charges, tolerance)
    }
}

#[test]
fn a_mechanism_from_outside_is_planned_charged_and_adds_its_noise() {
    let spec =
        |mechanism| RunSpec { rho: Auto::Given(0.3), ..RunSpec::new(Algorithm::Admm, mechanism) };
    const SIGMA: f64 = 0.01;
    let (plan, noisy) = run(&spec(Mechanism::new(FixedNoise { sigma: SIGMA })));
    assert_eq!((plan.spec().mechanism.name(), plan.rounds()), ("fixed-noise", ROUNDS));
    let charged: Vec<&Event> = noisy.ledger(0).charges().map(|charge| &charge.event).collect();
    assert_eq!(charged.len() as u64, ROUNDS);
    assert!(charged.iter().all(|event| **event == plan.at(0).charges.events[0]));
    // After one round a release is the minimiser that goes out without protection, and noise: ten
    // sigma bound that with a false alarm below 1e-21 over all coordinates.
    let once = |mechanism| run(&RunSpec { rounds: Auto::Given(1), ..spec(mechanism) }).1;
    let plain = once(Mechanism::none());
    let noisy = once(Mechanism::new(FixedNoise { sigma: SIGMA }));
    for k in 0..plain.len() {
        for (noisy, plain) in noisy.release(k).iter().zip(plain.release(k)) {
            let noise = (noisy - plain).abs();
            assert!(noise > 0.0 && noise < 10.0 * SIGMA, "agent {k}: {noise}");
        }
    }
}

/// Proximal gradient descent without noise, by a coordinator.
struct Descent {
    step: f64,
    penalty: Penalty,
    w: Vec<f64>,
}

static DESCENT: AlgorithmEntry = AlgorithmEntry {
    options: &[OptionKey::new("step", NumberRange::Positive)],
    reads_rho: false,
    ..AlgorithmEntry::new(
        "descent",
        "docs/algorithms/descent.md",
        |making| {
            Box::new(Descent {
                step: making.option("step", 1.0),
                penalty: making.problem.penalty(making.problem.eta),
                w: vec![0.0; making.problem.dim()],
            })
        },
        |_| vec![Setting::default()],
    )
};

impl Baseline for Descent {
    fn name(&self) -> &'static str {
        DESCENT.name
    }

    fn needs(&self) -> Needs {
        Needs { coordinator: true, gradients: true, ..Needs::default() }
    }

    fn events(
        &self,
        _problem: &PublicProblem,
        _k: usize,
        rounds: u64,
        _target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        Ok(vec![Event::Unprotected; rounds as usize])
    }

    fn query(
        &self,
        _round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let (samples, loss) = (&party.risk.samples, &party.risk.loss);
        let slope = |i: usize| {
            party.risk.weight * loss.slope(samples.rows.dot(i, &self.w), samples.targets[i])
        };
        let slopes: Vec<f64> = (0..samples.count()).map(slope).collect();
        let mut gradient = vec![0.0; self.w.len()];
        samples.rows.add_transposed(&slopes, &mut gradient);
        Ok(Private::new(gradient).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, released: &[Arc<[f64]>]) {
        for release in released {
            self.w.iter_mut().zip(&release[..]).for_each(|(w, g)| *w -= self.step * g);
        }
        self.penalty.prox(&mut self.w, self.step);
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.w.clone()
    }

    fn messages(&self, _round: u64, _graph: &Graph) -> u64 {
        6
    }
}

#[test]
fn an_algorithm_from_outside_is_planned_runs_in_lockstep_and_finds_the_optimum() {
    let mut options = Options::default();
    options.set("step", 0.5);
    let spec = RunSpec {
        rounds: Auto::Given(200),
        ..RunSpec::new(Algorithm::Baseline(&DESCENT, options), Mechanism::none())
    };
    let (plan, simulation) = run(&spec);
    assert_eq!(plan.spec().algorithm.name(), "descent");
    assert_eq!(plan.needs().unwrap().words(), ["coordinator", "gradients"]);
    assert_eq!(simulation.costs().messages, 200 * 6);
    let optimum = reference::optimum(&problem()).unwrap().coefficients;
    for (found, best) in simulation.estimate(0).iter().zip(&optimum) {
        assert!((found - best).abs() < 1e-6, "{found} {best}");
    }
}
