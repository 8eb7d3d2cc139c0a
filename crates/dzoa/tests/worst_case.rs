//! No claimed sensitivity is smaller than the largest move that an adversary's rows find.

mod common;

use dzoa::baselines::{Baseline, Making, Options, entry};
use dzoa::guarantee::{BudgetTarget, NoGuarantee};
use dzoa::plan::{OutputQuery, ScalarQuery};
use dzoa::prelude::*;
use dzoa::primal::Scalar;
use dzoa::privacy::Event;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::loss::Targets;
use dzoa::streams::{Purpose, fill_normal};
use dzoa::worst_case::{Attacked, LargestMove, of_baseline, of_output, of_scalar};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Instant;

const NAMES: [&str; 12] = [
    "output",
    "scalar",
    "dp-admm",
    "dp-gd",
    "ps-admm",
    "projected-gradient",
    "pvp",
    "p-admm",
    "dvp",
    "m-admm",
    "r-admm",
    "objective-perturbation",
];

/// Everything that a claim may depend on.
#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    loss: Arc<dyn Loss>,
    l1: bool,
    scale: Scale,
    self_loop: bool,
    unit_ball: bool,
    clip: Option<f64>,
    batch: Option<usize>,
    rows_per_person: usize,
    samples: usize,
    samples_of_others: usize,
    features: usize,
    rho: f64,
    inner_loop: bool,
}

impl Case {
    /// In the unit ball, without options.
    fn plain(name: &'static str) -> Self {
        Self {
            name,
            loss: Arc::new(Logistic),
            l1: false,
            scale: Scale::Mean,
            self_loop: true,
            unit_ball: true,
            clip: None,
            batch: None,
            rows_per_person: 1,
            samples: 12,
            samples_of_others: 12,
            features: 4,
            rho: 0.5,
            inner_loop: false,
        }
    }

    fn problem(&self) -> Problem {
        let streams = Streams::from_seed(self.samples as u64);
        let sign = |y: f64| match self.loss.targets() {
            Targets::Signs => y.signum(),
            Targets::Real => y,
        };
        let part = |k: u64| {
            let mut rng = streams.rng(Purpose::Data, "worst", k);
            // The agent that is attacked may be larger or smaller than the others.
            let samples = if k == 0 { self.samples } else { self.samples_of_others };
            let mut rows = vec![0.0; samples * self.features];
            let mut targets = vec![0.0; samples];
            fill_normal(&mut rng, &mut rows);
            fill_normal(&mut rng, &mut targets);
            targets.iter_mut().for_each(|y| *y = sign(*y));
            let rows = Rows::dense(self.features, rows).unwrap();
            let rows = if self.unit_ball { rows.into_unit_ball() } else { rows };
            Arc::new(Samples::new(rows, targets).unwrap())
        };
        Problem {
            loss: self.loss.clone(),
            regularizer: if self.l1 { Regularizer::L1 } else { Regularizer::L2 },
            eta: 0.05,
            scale: self.scale,
            intercept: false,
            agents: (0..3).map(part).collect(),
        }
    }

    fn target(&self) -> BudgetTarget {
        BudgetTarget {
            total_epsilon: 8.0,
            delta: 1e-5,
            schedule: Schedule::Constant,
            rows_per_person: self.rows_per_person,
        }
    }

    /// The algorithm of that name, with options that this case may have.
    fn baseline(&self, problem: &Problem, graph: &Graph) -> Box<dyn Baseline> {
        let entry = entry(self.name).unwrap();
        let own: &[(&str, f64)] = match self.name {
            "dp-admm" => &[("step", 0.5), ("decay", 0.5)],
            "dp-gd" => &[("step", 0.5)],
            "ps-admm" => &[("step", 0.5), ("decay", 0.1)],
            "projected-gradient" => {
                &[("step", 0.5), ("step_decay", 0.9), ("noise_decay", 0.95), ("radius", 10.0)]
            }
            "p-admm" => &[("decay", 0.97)],
            "m-admm" => &[("growth", 1.2)],
            "objective-perturbation" => &[("ridge", 2.0)],
            _ => &[],
        };
        let mut options = Options::default();
        own.iter().for_each(|&(key, value)| options.set(key, value));
        let case = [("clip", self.clip), ("batch", self.batch.map(|batch| batch as f64))];
        for (key, value) in case.into_iter().filter(|(key, _)| entry.reads(key)) {
            value.into_iter().for_each(|value| options.set(key, value));
        }
        let admm = Admm { rho: self.rho, self_loop: self.self_loop, ..Admm::default() };
        let (options, target, nominal) = (&options, None, None);
        (entry.build)(&Making { options, admm, problem: &problem.public(), graph, target, nominal })
    }

    /// The largest move, where the claim is made at all.
    fn audit(&self) -> Result<Option<LargestMove>, NoGuarantee> {
        const ROUNDS: u64 = 3;
        let problem = self.problem();
        let graph = Graph::from_edges(["a", "b", "c"].map(String::from).into(), &[(0, 1), (1, 2)]);
        let graph = graph.unwrap();
        let (target, k) = (self.target(), 0);
        let attacked = Attacked { problem: &problem, k, rows_per_person: self.rows_per_person };
        let near = graph.neighbourhood(k, self.self_loop);
        let inner = ZerothOrder { inner_steps: 20, directions: 8, ..ZerothOrder::default() };
        match self.name {
            "output" => {
                let (rho, problem) = (self.rho, &problem);
                let query = OutputQuery {
                    problem: &problem.public(),
                    k,
                    rho,
                    neighbourhood: near,
                    rounds: ROUNDS,
                };
                let plan = query.charges(None, &target)?;
                let inner = self.inner_loop.then_some(inner);
                let quadratic = self.rho * near as f64;
                Ok(of_output(&attacked, &plan.events[0], quadratic, inner, plan.tau))
            }
            "scalar" => {
                let clip = self.clip.unwrap_or(1.0);
                let (directions, samples) = (inner.directions, self.samples);
                let query = ScalarQuery { clip, directions, inner_steps: 1, samples };
                let events = query.charges(ROUNDS, &target)?.events;
                let scalar = Scalar { inner, clip, samples: Arc::new(problem.risk(k)) };
                Ok(of_scalar(&attacked, &events[0], &scalar))
            }
            _ => {
                let fresh = || self.baseline(&problem, &graph);
                let events = fresh().events(&problem.public(), k, ROUNDS, &target)?;
                Ok(of_baseline(&attacked, &events, ROUNDS, fresh))
            }
        }
    }

    /// Whether the algorithm takes the loss and the penalty at all.
    fn is_allowed(&self) -> bool {
        let smooth = matches!(self.name, "pvp" | "dvp" | "m-admm" | "r-admm");
        let kinks = self.loss.smoothness().is_none();
        !(smooth && (kinks || self.l1)) && !(self.name == "objective-perturbation" && kinks)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let what = (prop::sample::select(NAMES.to_vec()), prop::sample::select(common::losses(0.8)));
    let scales = prop::sample::select(vec![Scale::Mean, Scale::Sum, Scale::Pooled]);
    let flags = (any::<bool>(), scales, any::<bool>(), any::<bool>(), any::<bool>());
    let clip = prop::option::of(prop::sample::select(vec![0.3, 1.0, 5.0]));
    let sizes = (1usize..4, 3usize..16, 3usize..16, 1usize..6, prop::option::of(1usize..12));
    (what, flags, clip, sizes, prop::sample::select(vec![0.05, 0.5, 4.0])).prop_map(
        |((name, loss), (l1, scale, self_loop, unit_ball, inner_loop), clip, sizes, rho)| {
            let (rows_per_person, samples, samples_of_others, features, batch) = sizes;
            Case {
                name,
                loss,
                l1,
                scale,
                self_loop,
                unit_ball,
                clip,
                batch,
                rows_per_person,
                samples,
                samples_of_others,
                features,
                rho,
                inner_loop,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every mechanism, every algorithm, every option: the plan refuses, or no rows move the update
    /// farther than it says.
    #[test]
    fn no_update_moves_farther_than_its_claim(case in cases()) {
        prop_assume!(case.is_allowed());
        match case.audit() {
            Ok(Some(found)) => prop_assert!(found.holds(), "{case:?}: {found:?}"),
            Ok(None) => prop_assert!(false, "{case:?}: nothing was compared"),
            Err(NoGuarantee::UnboundedRows(_)) => prop_assert!(!case.unit_ball),
            Err(NoGuarantee::NoLipschitz(loss)) => prop_assert_eq!(loss, "squared"),
            Err(NoGuarantee::Hessian { .. } | NoGuarantee::Tolerance { .. }) => {}
            Err(refused) => prop_assert!(false, "{case:?}: {refused}"),
        }
    }
}

/// An audit that finds nothing would hold any claim.
#[test]
fn the_largest_move_comes_near_every_claim() {
    for name in NAMES {
        let mut case = Case::plain(name);
        // Many directions are clipped at once only if the clip is low against the slope.
        case.clip = (name == "scalar").then_some(0.05);
        let found = case.audit().unwrap().unwrap();
        println!("{name}: {found:?}");
        assert!(found.holds(), "{name}: {found:?}");
        assert!(found.moved >= 0.7 * found.claimed, "{name}: {found:?}");
    }
}

/// With a clip, rows of any length are let in, so that the loss's own bound says nothing: a
/// sensitivity of min(c1, clip) was claimed, and is too small by the factor clip/c1.
#[test]
fn a_clip_above_the_loss_own_bound_is_the_sensitivity_where_nothing_bounds_the_rows() {
    for name in ["dp-gd", "dp-admm", "ps-admm", "projected-gradient"] {
        let case = Case { unit_ball: false, clip: Some(5.0), ..Case::plain(name) };
        let begun = Instant::now();
        let found = case.audit().unwrap().unwrap();
        println!("{name}: {found:?} in {:?}", begun.elapsed());
        assert!(found.holds(), "{name}: {found:?}");
        assert!(found.moved >= 0.8 * found.claimed, "{name}: {found:?}");
        // These rows in the unit ball need the loss's own bound only: five times less.
        let inside = Case { clip: Some(5.0), ..Case::plain(name) }.audit().unwrap().unwrap();
        assert!((found.claimed / inside.claimed - 5.0).abs() < 1e-6, "{name}: {inside:?}");
        // And without a clip there is nothing to claim.
        let refused = Case { unit_ball: false, ..Case::plain(name) }.audit();
        assert_eq!(refused, Err(NoGuarantee::UnboundedRows("logistic")), "{name}");
    }
}

/// The claim of `output` and of everything that rests on Lemma 3 is refused for rows that nothing
/// bounds.
#[test]
fn without_a_bound_on_the_rows_nothing_that_needs_c1_is_planned() {
    for name in NAMES.into_iter().filter(|name| *name != "scalar") {
        let refused = Case { unit_ball: false, ..Case::plain(name) }.audit();
        assert_eq!(refused, Err(NoGuarantee::UnboundedRows("logistic")), "{name}");
    }
}

/// Noise that was calibrated to a smaller sensitivity than there is must be found out, whatever the
/// norm.
#[test]
fn a_claim_that_is_too_small_is_refuted() {
    let case = Case::plain("dp-gd");
    let problem = case.problem();
    let graph = Graph::from_edges(vec!["a".into(), "b".into(), "c".into()], &[(0, 1), (1, 2)]);
    let graph = graph.unwrap();
    let attacked = Attacked { problem: &problem, k: 0, rows_per_person: 1 };
    let fresh = || case.baseline(&problem, &graph);
    let honest = 2.0 / case.samples as f64;
    for (claimed, holds) in [(honest * 1.01, true), (honest * 0.9, false)] {
        let event = Event::discrete_gaussian(claimed, 1.0, case.features, 1);
        let found = of_baseline(&attacked, &[event], 1, fresh).unwrap();
        assert_eq!(found.holds(), holds, "{found:?}");
    }
    // The Hessian's part of an objective perturbation, with a gradient's part that holds anyhow.
    let dvp = Case::plain("dvp");
    let fresh = || dvp.baseline(&problem, &graph);
    // One row of curvature 1/4 in F_k, which is 2 rho |N_k|-strongly convex without it.
    let strong = 2.0 * dvp.rho * 2.0 + 0.05 / 3.0;
    let honest = (0.25 / case.samples as f64 / strong).ln_1p();
    for (log_determinant, holds) in [(honest * 1.01, true), (honest * 0.9, false)] {
        let event = Event::ObjectivePerturbation {
            gradient: 1.0,
            scale: 1.0,
            log_determinant,
            tolerance: 0.0,
            output_scale: 1.0,
            coordinates: dvp.features as u64,
        };
        let found = of_baseline(&attacked, &[event], 1, fresh).unwrap();
        assert_eq!(found.holds(), holds, "{found:?}");
    }
}
