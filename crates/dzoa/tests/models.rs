//! `joint-models`: what it finds from how many values, and that no question leaves the bounds.

use dzoa::plan::{Algorithm, Auto, Boxes, Data, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::{BlackBox, Failure, Limits, Variable, Variables};
use dzoa::tuning::Setting;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const P: usize = 10;
const AGENTS: usize = 5;

type Function = fn(&[f64]) -> f64;

/// One function five times, each with its own translation and rotation.
struct Parts {
    each: Vec<(Vec<f64>, Vec<Vec<f64>>)>,
    function: Function,
}

impl Parts {
    fn new(seed: u64, function: Function) -> Arc<Self> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normals = |count: usize| {
            let mut out = vec![0.0; count];
            let mut fast = dzoa::streams::Streams::from_seed(seed ^ rand::Rng::next_u64(&mut rng))
                .rng(dzoa::streams::Purpose::Curvature, "test", 0);
            dzoa::streams::fill_normal(&mut fast, &mut out);
            out
        };
        let each = (0..AGENTS)
            .map(|_| {
                let shift = normals(P);
                let mut rows: Vec<Vec<f64>> = Vec::new();
                while rows.len() < P {
                    let mut row = normals(P);
                    for _ in 0..2 {
                        for known in &rows {
                            let along: f64 = dot(known, &row);
                            row.iter_mut().zip(known).for_each(|(r, k)| *r -= along * k);
                        }
                    }
                    let long = dot(&row, &row).sqrt();
                    rows.push(row.iter().map(|r| r / long).collect());
                }
                (shift, rows)
            })
            .collect();
        Arc::new(Self { each, function })
    }

    fn part(&self, k: usize, x: &[f64]) -> f64 {
        let (shift, rotation) = &self.each[k];
        let away: Vec<f64> = x.iter().zip(shift).map(|(x, t)| x - t).collect();
        let turned: Vec<f64> = rotation.iter().map(|row| dot(row, &away)).collect();
        (self.function)(&turned)
    }

    fn sum(&self, x: &[f64]) -> f64 {
        (0..AGENTS).map(|k| self.part(k, x)).sum()
    }

    /// Where a sum of quadratics `z'diag(d)z` is least.
    fn optimum(&self, diagonal: &[f64; P]) -> Vec<f64> {
        let mut system = vec![vec![0.0; P + 1]; P];
        for (shift, rotation) in &self.each {
            for (row, d) in rotation.iter().zip(diagonal) {
                let along = dot(row, shift);
                for p in 0..P {
                    for q in 0..P {
                        system[p][q] += d * row[p] * row[q];
                    }
                    system[p][P] += d * row[p] * along;
                }
            }
        }
        for p in 0..P {
            let pivot = system[p].clone();
            for (q, line) in system.iter_mut().enumerate().filter(|(q, _)| *q != p) {
                let factor = line[p] / pivot[p];
                line.iter_mut().zip(&pivot).for_each(|(l, v)| *l -= factor * v);
                assert!(q != p);
            }
        }
        (0..P).map(|p| system[p][P] / system[p][p]).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn ring(agents: usize) -> Graph {
    let names = (0..agents).map(|k| format!("a{k}")).collect();
    let edges: Vec<(usize, usize)> = (1..agents).map(|k| (k - 1, k)).collect();
    Graph::from_edges(names, &edges).unwrap()
}

/// A run of `joint-models` over these boxes.
fn run(boxes: Vec<BlackBox>, variables: Option<Variables>, values: Option<u64>) -> Found {
    let variables = variables.map(Arc::new);
    let boxes: Vec<Arc<BlackBox>> = boxes
        .into_iter()
        .map(|known| {
            let known = known.with_limits(Limits { budget: values, ..Limits::default() });
            Arc::new(match &variables {
                Some(variables) => known.with_variables(variables.clone()),
                None => known,
            })
        })
        .collect();
    let data = Data::Boxes(Boxes { variables: variables.clone(), ..Boxes::new(boxes.clone()) });
    let algorithm = Algorithm::named("joint-models", &Setting::default()).unwrap();
    let spec = RunSpec { rounds: Auto::Auto, ..RunSpec::new(algorithm, Mechanism::none()) };
    let plan = Plan::new(&spec, &data, &ring(boxes.len())).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(1)).unwrap();
    let status = simulation.run(&mut ());
    let spent = matches!(
        &status,
        Status::ObjectiveFailed { failure: Failure::OutOfEvaluations { .. }, .. }
    );
    assert!(status == Status::Finished || spent, "{status}");
    let u = simulation.estimate(0);
    let asked = boxes.iter().map(|known| known.evaluations()).max().unwrap_or(0);
    let certainty = simulation.sums().and_then(|sums| sums.certainty()).unwrap();
    let x = variables.map_or(u.clone(), |variables| variables.outside(&u));
    Found { x, u, asked, certainty, told: simulation.told().unwrap().estimate }
}

struct Found {
    x: Vec<f64>,
    u: Vec<f64>,
    asked: u64,
    certainty: dzoa::joint::Certainty,
    told: f64,
}

/// All parts as boxes, and how low their sum was after so many values.
fn split(parts: &Arc<Parts>, values: u64) -> (Found, Vec<f64>) {
    let lows = Arc::new(Mutex::new(Vec::new()));
    let boxes = (0..AGENTS)
        .map(|k| {
            let (parts, lows) = (parts.clone(), lows.clone());
            BlackBox::new(P, move |x: &[f64]| {
                if k == 0 {
                    let mut lows = lows.lock().unwrap();
                    let low = lows.last().copied().unwrap_or(f64::INFINITY);
                    lows.push(parts.sum(x).min(low));
                }
                parts.part(k, x)
            })
        })
        .collect();
    let found = run(boxes, None, Some(values));
    let lows = lows.lock().unwrap().clone();
    (found, lows)
}

fn spread(power: f64) -> [f64; P] {
    std::array::from_fn(|p| 10f64.powf(power * p as f64 / (P - 1) as f64))
}

fn ellipsoid(z: &[f64]) -> f64 {
    z.iter().zip(spread(6.0)).map(|(z, d)| d * z * z).sum()
}

fn cigar(z: &[f64]) -> f64 {
    z[0] * z[0] + 1e6 * z[1..].iter().map(|z| z * z).sum::<f64>()
}

fn sphere(z: &[f64]) -> f64 {
    z.iter().map(|z| z * z).sum()
}

fn rosenbrock(z: &[f64]) -> f64 {
    let z: Vec<f64> = z.iter().map(|z| z + 1.0).collect();
    z.windows(2).map(|z| 100.0 * (z[1] - z[0] * z[0]).powi(2) + (1.0 - z[0]).powi(2)).sum()
}

fn log_sum_exp(z: &[f64]) -> f64 {
    z.iter().map(|z| z.exp() + (-z).exp()).sum::<f64>().ln()
}

fn corners(z: &[f64]) -> f64 {
    z.iter().map(|z| z.abs()).sum()
}

#[test]
fn quadratics_are_solved_at_any_condition_number() {
    let mut cigars = [1e6; P];
    cigars[0] = 1.0;
    let cases: [(Function, [f64; P], u64); 3] =
        [(ellipsoid, spread(6.0), 72), (cigar, cigars, 72), (sphere, [1.0; P], 26)];
    for (function, diagonal, most) in cases {
        for seed in 0..3 {
            let parts = Parts::new(seed, function);
            let least = parts.sum(&parts.optimum(&diagonal));
            let (found, lows) = split(&parts, 150);
            let first = lows.iter().position(|low| low - least < 1e-8);
            assert!(first.is_some_and(|at| (at as u64) < most), "{first:?} {:?}", lows.last());
            assert!(parts.sum(&found.x) - least < 1e-8 && found.told - least < 1e-7);
            assert!(!found.certainty.broken);
        }
    }
}

#[test]
fn smooth_functions_take_few_values() {
    for (function, most) in [(rosenbrock as Function, 300), (log_sum_exp, 150)] {
        for seed in 0..3 {
            let parts = Parts::new(seed, function);
            let (_, lows) = split(&parts, 1000);
            let least = *lows.last().unwrap();
            let first = lows.iter().position(|low| low - least < 1e-6).unwrap();
            eprintln!("{first} of {}", lows.len());
            assert!(first < most, "{first} of {}", lows.len());
        }
    }
}

#[test]
fn kinks_are_told_from_noise() {
    let parts = Parts::new(3, corners);
    let (found, lows) = split(&parts, 2000);
    eprintln!("{:?} {:?} {}", found.certainty, found.asked, lows.last().unwrap());
    assert!(found.certainty.broken && found.certainty.noise == Some(0.0));
    let noisy: Vec<BlackBox> = (0..AGENTS as u64)
        .map(|k| {
            let calls = AtomicU64::new(0);
            BlackBox::new(P, move |x: &[f64]| {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                let mut noise = [0.0; 1];
                let mut rng =
                    Streams::from_seed(k).rng(dzoa::streams::Purpose::Curvature, "noise", call);
                dzoa::streams::fill_normal(&mut rng, &mut noise);
                sphere(&x.iter().map(|x| x - k as f64 / 4.0).collect::<Vec<f64>>()) + 0.1 * noise[0]
            })
        })
        .collect();
    let found = run(noisy, None, Some(2000));
    let away: f64 = found.x.iter().map(|x| (x - 0.5).powi(2)).sum();
    eprintln!("{:?} {away} {}", found.certainty, found.asked);
    // The noise of the sum is 0.1 sqrt(5), and what is above the minimum is 5 |x - 1/2|^2.
    let noise = found.certainty.noise.unwrap();
    assert!((0.15..0.35).contains(&noise), "{noise}");
    assert!(5.0 * away < 0.02, "{away}");
}

/// Boxes that fail where a question leaves the bounds.
fn fenced(all: &[Variable], function: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> BlackBox {
    let bounds: Vec<[f64; 2]> = all.iter().map(|v| [v.low, v.high]).collect();
    BlackBox::new(all.len(), move |x: &[f64]| {
        for (x, [low, high]) in x.iter().zip(&bounds) {
            assert!((low..=high).contains(&x), "{x} is outside {low} to {high}");
        }
        function(x)
    })
}

fn variable(name: &str, low: f64, high: f64) -> Variable {
    Variable { low, high, ..Variable::free(name) }
}

#[test]
fn a_bounded_valley_is_followed_along_its_bound() {
    // Of Rosenbrock's function under x1 <= 0.5 the least value is (1 - x1)^2 at (0.5, 0.25).
    let all = vec![
        Variable { start: Some(-1.2), ..variable("a", -2.0, 0.5) },
        Variable { start: Some(1.0), ..variable("b", -2.0, 2.0) },
    ];
    let valley = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
    let found = run(vec![fenced(&all, valley)], Some(Variables::new(all).unwrap()), None);
    assert!((found.told - 0.25).abs() < 1e-6, "{} after {}", found.told, found.asked);
    assert_eq!(found.x[0], 0.5);
}

#[test]
fn scales_make_factors_of_ten_thousand_alike() {
    // A quadratic of logarithms: least at 1e-5 and 30.
    let scaled = |name, low, high| Variable { log: true, ..variable(name, low, high) };
    let all = vec![scaled("rate", 1e-8, 1.0), scaled("size", 1.0, 1e4)];
    let bowl = |x: &[f64]| {
        let (a, b) = ((x[0] / 1e-5).ln(), (x[1] / 30.0).ln());
        a * a + a * b + 2.0 * b * b
    };
    let found = run(vec![fenced(&all, bowl)], Some(Variables::new(all).unwrap()), None);
    assert!(found.told < 1e-10 && found.asked < 40, "{} after {}", found.told, found.asked);
    assert!((found.x[0] / 1e-5 - 1.0).abs() < 1e-4 && (found.x[1] / 30.0 - 1.0).abs() < 1e-4);
}

#[test]
fn whole_numbers_are_found_on_a_staircase() {
    let whole = |name, low, high| Variable { integer: true, ..variable(name, low, high) };
    let all = vec![whole("a", 0.0, 40.0), whole("b", -9.0, 9.0), variable("c", -4.0, 4.0)];
    let stairs = |x: &[f64]| {
        assert!(x[0].fract() == 0.0 && x[1].fract() == 0.0);
        (x[0] - 31.0).powi(2) + 3.0 * (x[1] + 7.0).abs() + (x[2] - 0.25 * x[1]).powi(2)
    };
    let found = run(vec![fenced(&all, stairs)], Some(Variables::new(all).unwrap()), None);
    assert!(found.told < 1e-8, "{:?} {} after {}", found.x, found.told, found.asked);
    assert_eq!(&found.x[..2], [31.0, -7.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_question_leaves_the_box(
        kinds in prop::collection::vec((0..5_u8, -3.0..3.0_f64, 0.0..6.0_f64, 0.0..1.0_f64), 1..5),
        tilt in -2.0..2.0_f64,
    ) {
        let all: Vec<Variable> = kinds
            .iter()
            .enumerate()
            .map(|(p, &(kind, low, width, at))| {
                let mut v = variable(&format!("x{p}"), low, low + width);
                v.start = Some(low + at * width);
                match kind {
                    0 => v.high = f64::INFINITY,
                    1 => (v.low, v.high, v.integer) = (low.floor(), (low + width).ceil(), true),
                    2 => {
                        let exp = |x: f64| 10f64.powf(x);
                        (v.low, v.high, v.log) = (exp(low), exp(low + width), true);
                        v.start = None;
                    }
                    3 => v.high = v.low,
                    _ => {}
                }
                if v.high == v.low || v.integer {
                    v.start = None;
                }
                v
            })
            .collect();
        let jagged = move |x: &[f64]| {
            x.iter().map(|x| (x - tilt).powi(2) + (3.0 * x).sin() + x.abs()).sum()
        };
        let variables = Variables::new(all.clone()).unwrap();
        if variables.free() > 0 {
            let found = run(vec![fenced(&all, jagged)], Some(variables), Some(200));
            prop_assert!(found.asked <= 200 && found.u.len() <= all.len());
        }
    }
}
