//! Measures dzoa against its floor and itself; `cargo xtask bench` runs it beside the peers and
//! writes docs/performance.md. Every section prints one JSON object.

mod clock;
mod document;
mod floor;
mod normality;
mod plot;
mod setting;

use clock::{Timing, once};
use dzoa::kernels::{Level, at, level};
use dzoa::prelude::*;
use dzoa::problem::LeastSquares;
use dzoa::problem::Samples;
use dzoa::problem::Sharing;
use floor::Floor;
use serde_json::{Value, json};
use setting::{BenchSetting, agents, agents_of, descend};
use std::path::Path;
use std::sync::Arc;

/// `dzoa-benches SECTION[=ARGUMENT]...` prints; with `document=FILE numpy=SECONDS,...` it writes
/// the document, too.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut results, mut file, mut numpy) = (Vec::new(), None, [f64::NAN; 3]);
    if arguments.is_empty() {
        refuse("no section is named", SECTIONS);
    }
    for argument in &arguments {
        let (section, value) = argument.split_once('=').unwrap_or((argument, ""));
        let result = match section {
            "paper" => paper(),
            "shapes" => shapes(),
            "sparse" => sparse(value),
            "threads" => threads(),
            "scaling" => scaling(),
            "memory" => memory(),
            "normals" => normals(value),
            "count" => count(value),
            "others" => read(value),
            "document" => {
                file = Some(value.to_string());
                continue;
            }
            "numpy" => {
                let seconds: Option<Vec<f64>> =
                    value.split(',').map(|seconds| seconds.parse().ok()).collect();
                match seconds.map(<[f64; 3]>::try_from) {
                    Some(Ok(seconds)) => numpy = seconds,
                    _ => refuse(&format!("`{argument}` is not three numbers"), SECTIONS),
                }
                continue;
            }
            unknown => refuse(&format!("there is no section `{unknown}`"), SECTIONS),
        };
        println!(
            "{}",
            json!({ "section": section, "level": format!("{:?}", level()), "result": result })
        );
        results.push((section.to_string(), result));
    }
    if let Some(file) = file {
        let text = document::document(&results, &format!("{:?}", level()), numpy);
        write(&file, &text);
        if let Some((_, axes)) = results.iter().find(|(section, _)| section == "scaling") {
            let picture = Path::new(&file).with_file_name("scaling.svg");
            write(&picture.display().to_string(), &plot::scaling(axes));
        }
    }
}

const SECTIONS: &str = "paper shapes sparse=LIBSVM_FILE threads scaling memory normals[=LOG2] \
    count=squares|logistic|sparse others=FILE, \
     and for the document numpy=SECONDS,SECONDS,SECONDS document=FILE; `cargo xtask bench` names \
     them all";

/// Ends with one line and a way out.
fn refuse(message: &str, hint: &str) -> ! {
    eprintln!("error: {message}\n\nhint: {hint}");
    std::process::exit(2);
}

/// The text of a file that an argument names.
fn text_of(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| {
        refuse(&format!("`{file}`: {error}"), "a file is named behind the section: sparse=FILE")
    })
}

fn write(file: &str, text: &str) {
    if let Err(error) = std::fs::write(file, text) {
        refuse(&format!("`{file}`: {error}"), "document=FILE, in a folder that can be written");
    }
}

/// What another program measured.
fn read(file: &str) -> Value {
    serde_json::from_str(&text_of(file)).unwrap_or_else(|error| {
        refuse(&format!("`{file}`: {error}"), "what benches/others/measure.py wrote is wanted")
    })
}

/// The least seconds of several things and of their floors, measured in turns: a slow minute of the
/// machine then hits all.
fn in_turns<const N: usize>(
    turns: usize,
    things: [&dyn Fn() -> (f64, Floor); N],
) -> [(f64, Floor); N] {
    let mut least = things.map(|thing| thing());
    for _ in 1..turns {
        for (least, thing) in least.iter_mut().zip(things) {
            let (seconds, floor) = thing();
            *least = (least.0.min(seconds), least.1.least(floor));
        }
    }
    least
}

/// One trial of the paper's example on one core, and its floor: at this processor's best level, and
/// where that is above AVX2, held down to it as well, which more machines have.
fn paper() -> Value {
    let setting = BenchSetting::paper();
    let pool = one_thread();
    let problem = setting.problem();
    let form = LeastSquares::new(problem.risk(0));
    // As long as a trial takes.
    let timing = Timing { repeat: 2, piece: 0.1 };
    let trial = || {
        timing.best(|_| {
            let mut agents = agents(&setting);
            assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
        })
    };
    let floor = || floor::gram(&form, setting.directions, timing);
    let beside = |level| pool.install(|| at(level, || (trial(), floor())));
    let [(seconds, floor), (lower, lower_floor)] =
        in_turns(20, [&|| beside(level()), &|| beside(level().min(Level::Avx2))]);
    let steps = (setting.agents * setting.inner_steps) as f64 * setting.rounds as f64;
    json!({
        "seconds": seconds, "steps": steps, "floor": floor.total() * steps,
        "normals": floor.normals * steps,
        "products": floor.products * steps, "differences": floor.differences * steps,
        "nanoseconds_a_normal": floor.normals * 1e9 / 600.0,
        "avx2_seconds": lower, "avx2_floor": lower_floor.total() * steps,
    })
}

/// One agent's inner steps at larger shapes.
fn shapes() -> Value {
    let pool = one_thread();
    let losses: [Arc<dyn Loss>; 3] = [Arc::new(Squared), Arc::new(Logistic), Arc::new(Hinge)];
    let mut rows = Vec::new();
    for (samples, features, repeat) in [(1000, 100, 30), (10_000, 1000, 3)] {
        for loss in &losses {
            let setting = BenchSetting {
                agents: 5,
                samples,
                features,
                loss: loss.clone(),
                ..BenchSetting::paper()
            };
            let problem = setting.problem();
            let form = (loss.name() == "squared").then(|| LeastSquares::new(problem.risk(0)));
            let timing = Timing::short(repeat);
            let floor = || match &form {
                Some(form) => floor::gram(form, setting.directions, timing),
                None => floor::per_sample(&problem.agents[0], &**loss, &setting.inner(), timing),
            };
            let step = || pool.install(|| descend(&problem, &setting, repeat));
            let [(step, floor)] = in_turns(5, [&|| (step(), floor())]);
            rows.push(json!({
                "loss": loss.name(), "samples": samples, "features": features, "step": step,
                "floor": floor.total(), "normals": floor.normals, "products": floor.products,
                "differences": floor.differences,
            }));
        }
    }
    json!(rows)
}

/// a9a (or any LIBSVM file), sparse: against its floor and against the dense path.
fn sparse(file: &str) -> Value {
    let all = setting::libsvm(&text_of(file));
    let part: Vec<usize> = (0..all.count()).step_by(5).collect();
    let samples = all.select(&part);
    let dense = Samples::new(samples.rows.to_dense(), samples.targets.clone()).expect("same rows");
    let setting = BenchSetting { agents: 1, loss: Arc::new(Logistic), ..BenchSetting::paper() };
    let pool = one_thread();
    let step = |samples: &Samples, setting: &BenchSetting| {
        let problem = Problem { agents: vec![Arc::new(samples.clone())], ..setting.problem() };
        pool.install(|| descend(&problem, setting, 10))
    };
    let beside = |samples: &Samples| {
        (
            step(samples, &setting),
            floor::per_sample(samples, &Logistic, &setting.inner(), Timing::short(10)),
        )
    };
    let [(sparse_step, floor), (dense_step, dense_floor)] =
        in_turns(20, [&|| beside(&samples), &|| beside(&dense)]);
    // The steps with the longest shifts, which are the most work.
    let few = BenchSetting { inner_steps: 4, ..setting.clone() };
    let mut first = [f64::INFINITY; 2];
    for _ in 0..20 {
        for (least, samples) in first.iter_mut().zip([&samples, &dense]) {
            *least = least.min(step(samples, &few));
        }
    }
    let (_, directions) = floor::directions(samples.rows.width(), setting.directions);
    let plain =
        floor::sparse_products(&samples, directions.block(), Sharing::Nothing, Timing::short(100));
    json!({
        "rows": samples.count(), "features": samples.rows.width(), "stored": samples.rows.stored(),
        "step": sparse_step, "dense_step": dense_step, "first_steps": first,
        "floor": floor.total(), "normals": floor.normals,
        "products": floor.products, "differences": floor.differences,
        "plain_products": plain, "dense_products": dense_floor.products,
    })
}

/// One thread against two: one trial with eight agents, and two trials.
fn threads() -> Value {
    use rayon::prelude::*;
    let setting = BenchSetting { agents: 8, samples: 200, rounds: 60, ..BenchSetting::paper() };
    // The draws are not part of a trial's time.
    let problem = setting.problem();
    let one_trial = || {
        let mut agents = agents_of(&setting, &problem);
        assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
    };
    let paper = BenchSetting { rounds: 60, ..BenchSetting::paper() };
    let drawn = paper.problem();
    let two_trials = || {
        (0..2).into_par_iter().for_each(|_| {
            let mut agents = agents_of(&paper, &drawn);
            assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
        });
    };
    // In turns, so that a busy moment of the machine hits both.
    let pools = [1, 2].map(|threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
    });
    let times = |work: &(dyn Fn() + Sync)| {
        let mut least = [f64::INFINITY; 2];
        // Many, because two threads need a moment in which both cores are free.
        for _ in 0..200 {
            for (least, pool) in least.iter_mut().zip(&pools) {
                *least = least.min(pool.install(|| once(work)));
            }
        }
        least
    };
    json!({ "trial": times(&one_trial), "trials": times(&two_trials) })
}

/// How the cost grows along each axis: sizes, seconds, and the slope of a line through their
/// logarithms.
fn scaling() -> Value {
    let pool = one_thread();
    let run = |setting: &BenchSetting| {
        let problem = setting.problem();
        pool.install(|| {
            Timing::short(4).best(|_| {
                let mut agents = agents_of(setting, &problem);
                assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
            })
        })
    };
    let base = BenchSetting {
        agents: 10,
        samples: 1000,
        loss: Arc::new(Hinge),
        rounds: 2,
        inner_steps: 2,
        topology: setting::ring,
        ..BenchSetting::paper()
    };
    let axis = |name: &str, sizes: &[usize], of: &dyn Fn(usize) -> BenchSetting| {
        let seconds: Vec<f64> = sizes.iter().map(|&size| run(&of(size))).collect();
        let exponent = slope(sizes, &seconds);
        json!({ "axis": name, "sizes": sizes, "seconds": seconds, "exponent": exponent })
    };
    let small = BenchSetting { samples: 100, ..base.clone() };
    json!([
        axis("K", &[10, 32, 100, 320, 1000], &|agents| BenchSetting { agents, ..small.clone() }),
        axis("T", &[2, 6, 20, 60, 200], &|inner_steps| BenchSetting {
            inner_steps,
            ..small.clone()
        }),
        axis("J", &[10, 32, 100, 320, 1000], &|directions| BenchSetting {
            directions,
            ..small.clone()
        }),
        axis("M", &[2, 6, 20, 60, 200], &|rounds| BenchSetting {
            rounds: rounds as u64,
            ..small.clone()
        }),
        axis("N_k", &[1000, 3200, 10_000, 32_000, 100_000], &|samples| BenchSetting {
            samples,
            agents: 3,
            ..base.clone()
        }),
        axis("P", &[10, 32, 100, 320, 1000], &|features| BenchSetting {
            features,
            agents: 3,
            ..base.clone()
        }),
    ])
}

/// Ten thousand agents in this process; whoever started it reads the peak memory.
fn memory() -> Value {
    let setting = BenchSetting {
        agents: 10_000,
        samples: 20,
        features: 100,
        rounds: 2,
        inner_steps: 5,
        topology: setting::ring,
        ..BenchSetting::paper()
    };
    let mut agents = agents(&setting);
    assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    json!({ "agents": agents.len(), "peak_kilobytes": kilobytes })
}

/// A small fixed run, for whoever counts its instructions.
fn count(run: &str) -> Value {
    let loss: Arc<dyn Loss> = match run {
        "squares" => Arc::new(Squared),
        "logistic" | "sparse" => Arc::new(Logistic),
        _ => refuse(&format!("there is no run `{run}` to count"), SECTIONS),
    };
    let setting =
        BenchSetting { loss, samples: 50, rounds: 2, inner_steps: 10, ..BenchSetting::paper() };
    let mut problem = setting.problem();
    if run == "sparse" {
        for samples in &mut problem.agents {
            let rows = samples.rows.to_sparse();
            *samples = Arc::new(Samples::new(rows, samples.targets.clone()).expect("same rows"));
        }
    }
    let mut agents = agents_of(&setting, &problem);
    let status = one_thread().install(|| simulate(&mut agents, &mut ()));
    json!(format!("{status:?}"))
}

/// The directions, judged by 2^LOG2 draws (28 unless said otherwise).
fn normals(log2: &str) -> Value {
    let log2 = if log2.is_empty() { "28" } else { log2 };
    let Some(log2) = log2.parse().ok().filter(|log2| (10..=40).contains(log2)) else {
        refuse(&format!("`{log2}` is not an exponent of two from 10 to 40"), SECTIONS)
    };
    let draws = 1u64 << log2;
    json!({ "draws": draws, "deviations": normality::deviations(draws) })
}

fn slope(sizes: &[usize], seconds: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> =
        sizes.iter().zip(seconds).map(|(&x, y)| ((x as f64).ln(), y.ln())).collect();
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (top, bottom) = points.iter().fold((0.0, 0.0), |(top, bottom), (px, py)| {
        (top + (px - x) * (py - y), bottom + (px - x) * (px - x))
    });
    top / bottom
}

fn one_thread() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread")
}
