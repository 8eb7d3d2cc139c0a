//! A hostile neighbour cannot make the exact solver end on one data set and not on another: what it
//! sends lies in a public ball, and within that ball every solve ends with a distance that is true.

mod common;

use dzoa::agent::{Average, Input, LARGEST_NORM, Output as Asked, ProtocolError};
use dzoa::guarantee::{BudgetTarget, NoGuarantee, radius};
use dzoa::plan::OutputQuery;
use dzoa::prelude::*;
use dzoa::primal::{
    Certified, Lagrangian, SampleWeights, Workspace, least_distance, least_smooth_distance,
};
use dzoa::privacy::Event;
use dzoa::privacy::ball::norm;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::EmpiricalRisk;
use dzoa::problem::regularizer::Penalty;
use dzoa::run::{Releases, agents};
use proptest::prelude::*;
use std::sync::Arc;

/// The quadratic part of every objective here: a power of two, so that centres come out of it
/// exactly.
const Q: f64 = 0.125;
/// The error of the reference: plain numbers near the origin, and kinks at angles above 2^-18.
const REFERENCE: f64 = 1e-9;

fn losses() -> Vec<Arc<dyn Loss>> {
    common::bounded_losses(0.25)
}

/// Rows that a vector `size (1, -1, 1)` meets at predictions of j/2: its columns cancel but for
/// that. All numbers have so few digits that these predictions are exact.
fn rows(steps: &[(i32, i32, i32)], size: f64) -> Vec<[f64; 3]> {
    let (coarse, fine) = (f64::from(1 << 14), f64::from(1 << 22));
    let row = |&(a, b, j): &(i32, i32, i32)| {
        let (first, tilt) = (0.5 + f64::from(a) / coarse, f64::from(b) / coarse);
        let wanted = (0.5 * f64::from(j) * fine / size).round() / fine;
        [first, first + tilt, tilt + wanted]
    };
    steps.iter().map(row).collect()
}

fn data(rows: &[[f64; 3]], targets: &[f64], loss: Arc<dyn Loss>) -> EmpiricalRisk {
    let values = rows.iter().flatten().copied().collect();
    let samples =
        Samples::new(Rows::dense(3, values).unwrap().into_unit_ball(), targets.to_vec()).unwrap();
    EmpiricalRisk { samples: Arc::new(samples), loss, weight: 1.0 / rows.len() as f64 }
}

/// `argmin F_k` with the quadratic part around this centre, and the distance that was certified.
fn solve(risk: &EmpiricalRisk, penalty: &Penalty, centre: &[f64; 3], tau: f64) -> (Vec<f64>, f64) {
    let data = Arc::new(risk.clone());
    let objective = LocalObjective { data, penalty: penalty.clone() };
    let linear = centre.iter().map(|c| -2.0 * Q * c).collect();
    let lagrangian = Lagrangian { objective: &objective, linear, quadratic: Q };
    Exact::new(risk.clone(), Some(tau)).until_certified().solve(&lagrangian).unwrap()
}

/// The penalties whose minimiser far out is that of no penalty around another centre, with another
/// q.
fn penalties(centre: &[f64; 3]) -> Vec<(Penalty, [f64; 3], f64)> {
    let penalty = |regularizer, weight| Penalty { regularizer, weight, penalized: 3 };
    vec![
        (penalty(Regularizer::None, 0.0), *centre, Q),
        (penalty(Regularizer::L1, Q), centre.map(|c| c - 0.5 * c.signum()), Q),
        (penalty(Regularizer::L2, 2.0 * Q), centre.map(|c| 0.5 * c), 2.0 * Q),
    ]
}

/// How far from the centre the minimiser of `weight sum loss + q ||b - centre||^2` lies. The
/// predictions at the centre are exact (few digits everywhere), and what is left to find is small:
/// plain numbers do.
fn reference(risk: &EmpiricalRisk, rows: &[[f64; 3]], centre: &[f64; 3], q: f64) -> [f64; 3] {
    let far: Vec<f64> = rows.iter().map(|x| dot(x, centre)).collect();
    match risk.loss.smoothness() {
        Some(_) => newton(risk, rows, &far, q),
        None => kinks(risk, rows, &far, q),
    }
}

fn dot(x: &[f64; 3], b: &[f64; 3]) -> f64 {
    x[0] * b[0] + x[1] * b[1] + x[2] * b[2]
}

/// Gaussian elimination with pivots; `None` where there is no unique solution.
fn linear_system(mut m: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = m.len();
    for p in 0..n {
        let best = (p..n).max_by(|&i, &j| m[i][p].abs().total_cmp(&m[j][p].abs()))?;
        m.swap(p, best);
        if m[p][p].abs() < 1e-14 {
            return None;
        }
        for i in 0..n {
            if i != p {
                let factor = m[i][p] / m[p][p];
                (p..=n).for_each(|j| m[i][j] -= factor * m[p][j]);
            }
        }
    }
    Some((0..n).map(|i| m[i][n] / m[i][i]).collect())
}

/// Newton's method, held back where it does not descend.
fn newton(risk: &EmpiricalRisk, rows: &[[f64; 3]], far: &[f64], q: f64) -> [f64; 3] {
    let (loss, weight) = (&risk.loss, risk.weight);
    let at = |d: &[f64; 3], i: usize| (far[i] + dot(&rows[i], d), risk.samples.targets[i]);
    let slope = |d: &[f64; 3]| -> [f64; 3] {
        std::array::from_fn(|p| {
            let sum: f64 =
                (0..rows.len()).map(|i| loss.slope(at(d, i).0, at(d, i).1) * rows[i][p]).sum();
            weight * sum + 2.0 * q * d[p]
        })
    };
    let size = |g: [f64; 3]| dot(&g, &g);
    let mut d = [0.0; 3];
    for _ in 0..200 {
        let g = slope(&d);
        let hessian = (0..3).map(|p| {
            let mut line: Vec<f64> = (0..3)
                .map(|r| {
                    let sum: f64 = (0..rows.len())
                        .map(|i| {
                            let (z, y) = at(&d, i);
                            loss.curvature(z, y).unwrap() * rows[i][p] * rows[i][r]
                        })
                        .sum();
                    weight * sum + if p == r { 2.0 * q } else { 0.0 }
                })
                .collect();
            line.push(-g[p]);
            line
        });
        let step = linear_system(hessian.collect()).unwrap();
        let mut share = 1.0;
        let moved = |share: f64| -> [f64; 3] { std::array::from_fn(|p| d[p] + share * step[p]) };
        while share > 1e-3 && size(slope(&moved(share))) > size(g) {
            share *= 0.5;
        }
        d = moved(share);
    }
    d
}

/// Every row lies below its kink, above it or at it: the one choice that fits is the minimiser.
fn kinks(risk: &EmpiricalRisk, rows: &[[f64; 3]], far: &[f64], q: f64) -> [f64; 3] {
    let (n, scale) = (rows.len(), risk.weight / (2.0 * q));
    let (loss, targets) = (&risk.loss, &risk.samples.targets);
    let kink: Vec<f64> = (0..n)
        .map(|i| if loss.name() == "hinge" { 1.0 / targets[i] } else { targets[i] })
        .collect();
    let slopes: Vec<[f64; 2]> =
        (0..n).map(|i| [kink[i] - 1.0, kink[i] + 1.0].map(|z| loss.slope(z, targets[i]))).collect();
    let mut best = (f64::INFINITY, [0.0; 3]);
    for choice in 0..3usize.pow(n as u32) {
        let state: Vec<usize> = (0..n).map(|i| choice / 3usize.pow(i as u32) % 3).collect();
        let held: Vec<usize> = (0..n).filter(|&i| state[i] == 2).collect();
        if held.len() > 3 {
            continue;
        }
        let mut a: Vec<f64> =
            (0..n).map(|i| if state[i] < 2 { slopes[i][state[i]] } else { 0.0 }).collect();
        let point = |a: &[f64]| -> [f64; 3] {
            std::array::from_fn(|p| -scale * (0..n).map(|i| a[i] * rows[i][p]).sum::<f64>())
        };
        let free = point(&a);
        let system = held.iter().map(|&i| {
            let mut line: Vec<f64> =
                held.iter().map(|&j| scale * dot(&rows[i], &rows[j])).collect();
            line.push(far[i] - kink[i] + dot(&rows[i], &free));
            line
        });
        let Some(found) = linear_system(system.collect()) else { continue };
        held.iter().zip(&found).for_each(|(&i, found)| a[i] = *found);
        let d = point(&a);
        // By how much a row is on the wrong side, or its dual outside.
        let wrong = (0..n).map(|i| {
            let r = far[i] - kink[i] + dot(&rows[i], &d);
            match state[i] {
                0 => r,
                1 => -r,
                _ => (a[i] - slopes[i][1]).max(slopes[i][0] - a[i]),
            }
        });
        let wrong = wrong.fold(0.0, f64::max);
        if wrong < best.0 {
            best = (wrong, d);
        }
    }
    best.1
}

fn far_out(loss: &Arc<dyn Loss>) -> f64 {
    // rho = Q/2 with two in the neighbourhood.
    radius(loss.lipschitz().unwrap(), Scale::Mean.heaviest(1), 0.5 * Q, 60)
}

fn tau(loss: &Arc<dyn Loss>, count: usize) -> f64 {
    let weight = 1.0 / count as f64;
    let weights = SampleWeights { sample: weight, total: 1.0 };
    if let Some(c3) = loss.smoothness() {
        return least_smooth_distance(c3, 1.0, Q, 2.0 * far_out(loss));
    }
    least_distance(loss.lipschitz().unwrap(), weights, Q, 2.0 * far_out(loss))
}

/// Checks every loss and penalty around one centre, at a share of the radius.
fn check(steps: &[(i32, i32, i32)], flips: u32, share: f64) -> Result<(), TestCaseError> {
    let targets: Vec<f64> =
        (0..steps.len()).map(|i| if flips >> i & 1 == 0 { 1.0 } else { -1.0 }).collect();
    for loss in losses() {
        // So far out that no coefficient changes its sign.
        let size = (share * far_out(&loss) / 2.0).floor().max(64.0);
        let (rows, centre) = (rows(steps, size), [size, -size, size]);
        let (risk, tau) = (data(&rows, &targets, loss.clone()), tau(&loss, rows.len()));
        for (penalty, origin, q) in penalties(&centre) {
            let (b, certified) = solve(&risk, &penalty, &centre, tau);
            let d = reference(&risk, &rows, &origin, q);
            // The first difference is exact.
            let off: Vec<f64> = (0..3).map(|p| b[p] - origin[p] - d[p]).collect();
            let off = norm(&off);
            prop_assert!(certified <= tau);
            prop_assert!(
                off <= certified + REFERENCE,
                "{} {:?} around {size:e}: {off:e} from the minimiser, certified {certified:e}",
                loss.name(),
                penalty.regularizer
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_solve_within_the_radius_ends_with_a_distance_that_is_true(
        steps in prop::collection::vec((-99i32..99, -99i32..99, -6i32..6), 1..6),
        flips in any::<u32>(),
        exponent in -14.0f64..0.0,
    ) {
        check(&steps, flips, exponent.exp2())?;
    }
}

#[test]
fn kinks_at_small_angles_far_out_end_alike_on_neighbouring_data_sets() {
    let steps = [(0, 1, 1), (1, 1, 2), (2, 1, 1), (3, -1, -2), (4, 1, 0), (5, 0, 1)];
    for flips in 0..64 {
        check(&steps, flips, 1.0).unwrap();
    }
}

#[test]
fn thousands_of_rows_at_one_kink_end_at_the_smallest_tolerance() {
    // Every row adds to the rounding of the sums that a pass carries along, and every row sees it.
    const COUNT: usize = 4096;
    let centre = [3.0e5, -3.0e5, 1.0];
    for loss in losses() {
        let risk = data(&[[0.6, 0.6, 0.1]; COUNT], &[1.0; COUNT], loss.clone());
        let penalty = Penalty { regularizer: Regularizer::None, weight: 0.0, penalized: 3 };
        let tau = tau(&loss, COUNT);
        let (b, certified) = solve(&risk, &penalty, &centre, tau);
        // All rows alike are one row of weight 1: b = centre - t x, with t from one equation.
        let [x, far] = [[0.6, 0.6, 0.1], centre];
        let z = |t: f64| 0.1 - t * dot(&x, &x);
        let (mut low, mut high) = (-8.0f64, 8.0);
        for _ in 0..200 {
            let t = 0.5 * (low + high);
            if loss.slope(z(t), 1.0) > 2.0 * Q * t { low = t } else { high = t }
        }
        let off = (0..3).map(|p| b[p] - (far[p] - low * x[p])).collect::<Vec<_>>();
        assert!(certified <= tau && norm(&off) <= certified + REFERENCE, "{}", loss.name());
    }
}

/// An agent of two under `output`, with one row that is the attacker's to guess.
fn attacked(last: f64, loss: Arc<dyn Loss>) -> (Agent, f64) {
    let one = |last: f64| {
        let mut values = Vec::new();
        for i in 0..20 {
            let t = (f64::from(i) + 0.5) / 20.0;
            values.extend([0.5 + 0.2 * t, 0.5 + 0.2 * t, 0.3 * (t - 0.5)]);
        }
        let mut targets: Vec<f64> = (0..20).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        targets[19] = last;
        Arc::new(Samples::new(Rows::dense(3, values).unwrap().into_unit_ball(), targets).unwrap())
    };
    let (regularizer, scale) = (Regularizer::L1, Scale::Mean);
    let agents_data = vec![one(last), one(1.0)];
    let problem =
        Problem { loss, regularizer, eta: 0.02, scale, intercept: false, agents: agents_data };
    let graph = Graph::from_edges(vec!["a".into(), "b".into()], &[(0, 1)]).unwrap();
    let target = BudgetTarget {
        total_epsilon: 1.0,
        delta: 1e-5,
        schedule: Schedule::Constant,
        rows_per_person: 1,
    };
    let (k, rho, neighbourhood, rounds) = (0, 0.05, 2, 3);
    let query = OutputQuery { problem: &problem.public(), k, rho, neighbourhood, rounds };
    let plan = query.charges(None, &target).unwrap();
    let (events, streams) = (vec![plan.events; 2], Streams::from_seed(1));
    let releases = Releases { events, ledgers: vec![], average: Average::None, streams };
    let settings = Admm { rho: 0.05, rounds: 3, ..Admm::default() };
    let mut all = agents(&problem, &graph, settings, releases, |k| {
        Box::new(Certified::output(None, problem.risk(k), plan.tau, plan.radius))
    })
    .unwrap();
    (all.swap_remove(0), plan.radius)
}

#[test]
fn vectors_that_cancel_are_refused_beyond_the_radius_and_answered_up_to_it() {
    for loss in losses() {
        for last in [1.0, -1.0] {
            let (mut agent, radius) = attacked(last, loss.clone());
            agent.limit_norm(LARGEST_NORM);
            agent.compute(&mut Workspace::default());
            let send = |agent: &mut Agent, round, size: f64| {
                let beta = Arc::from([size, -size, 0.0]);
                agent.handle(Input::Received { from: 1, round, beta })
            };
            let huge = send(&mut agent, 1, 1e14).unwrap_err();
            assert!(matches!(huge, ProtocolError::HugeNorm { limit, .. } if limit == radius));
            for round in 1..=2 {
                send(&mut agent, round, radius * 0.7).unwrap();
                agent.compute(&mut Workspace::default());
                assert_eq!(agent.round(), round + 1, "it answers on either data set");
            }
            let failed = std::iter::from_fn(|| match agent.poll() {
                Some(Asked::Compute) | None => None,
                output => output,
            })
            .any(|output| matches!(output, Asked::Done(_)));
            assert!(!failed, "{} with {last}", loss.name());
        }
    }
}

#[test]
fn the_edge_of_the_ball_belongs_to_it_and_the_next_number_does_not() {
    let (mut agent, radius) = attacked(1.0, Arc::new(Hinge));
    agent.compute(&mut Workspace::default());
    let beyond = radius.next_up();
    let refused =
        agent.handle(Input::Received { from: 1, round: 1, beta: [beyond, 0.0, 0.0].into() });
    let refused = refused.unwrap_err();
    let told = refused.to_string();
    assert!(told.contains(&format!("{beyond:e}")), "{told}");
    assert!(told.contains(&format!("{radius:e}")), "{told}");
    agent.handle(Input::Received { from: 1, round: 1, beta: [radius, 0.0, 0.0].into() }).unwrap();
}

#[test]
fn a_release_beyond_the_radius_is_moved_and_both_ends_use_what_was_sent() {
    let values = (0..24).map(|i| (f64::from(i) * 0.9).cos() * 0.5).collect();
    let targets = (0..8).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let one =
        Arc::new(Samples::new(Rows::dense(3, values).unwrap().into_unit_ball(), targets).unwrap());
    let problem = Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents: vec![one.clone(), one.clone(), one],
    };
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2)]).unwrap();
    // Noise a hundred times the radius.
    let event = Event::discrete_gaussian(0.1, 100.0, 3, 1);
    let average = Average::Network { gossip: 4 };
    let (events, streams) = (vec![Arc::from([event]); 3], Streams::from_seed(4));
    let releases = Releases { events, ledgers: vec![], average, streams };
    let settings = Admm { rho: 0.5, rounds: 10, ..Admm::default() };
    let build = |radius: f64| {
        agents(&problem, &graph, settings, releases.clone(), |k| {
            Box::new(Certified::output(None, problem.risk(k), 1e-4, radius))
        })
        .unwrap()
    };
    let mut inside = build(1.0);
    let mut longest: f64 = 0.0;
    let status = simulate(&mut inside, &mut |view: &RoundView<'_>| {
        for agent in view.simulation.agents() {
            longest = longest.max(norm(agent.beta()));
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(status, Status::Finished);
    assert!(longest <= 1.0 && longest > 1.0 - 1e-12, "{longest}");
    for agent in &inside {
        assert_eq!(agent.moved_inside(), 10, "all of them lay outside");
        assert!(norm(&agent.estimate()) <= 1.0);
    }
    // Had one end used another vector than the one it sent, the duals of an edge would no longer
    // cancel.
    let duals = (0..3).map(|p| inside.iter().map(|agent| agent.gamma()[p]).sum::<f64>());
    assert!(duals.into_iter().all(|sum| sum.abs() < 1e-12));
    let mut wide = build(1e6);
    assert_eq!(simulate(&mut wide, &mut ()), Status::Finished);
    assert!(wide.iter().all(|agent| agent.moved_inside() == 0), "inside nothing is moved");
}

#[test]
fn whether_a_tolerance_can_be_certified_is_decided_before_any_row_is_seen() {
    let target = BudgetTarget {
        total_epsilon: 1.0,
        delta: 1e-5,
        schedule: Schedule::Constant,
        rows_per_person: 1,
    };
    let problem = |sign: f64| {
        let rows = Rows::dense(2, vec![0.5 * sign; 40]).unwrap().into_unit_ball();
        let samples = Arc::new(Samples::new(rows, vec![sign; 20]).unwrap());
        Problem {
            loss: Arc::new(Hinge),
            regularizer: Regularizer::L2,
            eta: 0.1,
            scale: Scale::Mean,
            intercept: false,
            agents: vec![samples],
        }
    };
    let plan = |sign, tau| {
        let (problem, k, rho) = (&problem(sign), 0, 0.1);
        let query =
            OutputQuery { problem: &problem.public(), k, rho, neighbourhood: 1, rounds: 10 };
        query.charges(Some(tau), &target)
    };
    let Err(NoGuarantee::Tolerance { least, .. }) = plan(1.0, 1e-9) else { panic!("1e-9") };
    for sign in [1.0, -1.0] {
        assert!(plan(sign, least).is_ok());
        assert!(plan(sign, least.next_down()).is_err());
    }
    // Where no neighbour reaches, doubles resolve that much of a kink: the bound is not a guess far
    // above it.
    let floor = (512.0 * f64::EPSILON / 2.0 / 0.1).sqrt();
    assert!((floor..4.0 * floor).contains(&least), "{least:e} {floor:e}");
}
