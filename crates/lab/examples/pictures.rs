//! The two pictures of docs/why.md: error against epsilon, from the tables of docs/comparison.md,
//! and what an onlooker sees, from two attacks on the paper's example.
//! `cargo run --release -p dzoa-lab --example pictures`

use dzoa::plan::{Algorithm, Auto, Keys, Mechanism, OptimumNorm, RunSpec};
use dzoa::prelude::*;
use dzoa::tuning::Setting;
use dzoa_lab::{AuditSpec, Audited, Interrupt, PaperProblem, Unwatched, audit};
use dzoa_report::{Chart, Curve, OnlookerPanel, Panel, Style, described, onlooker_svg};
use std::error::Error;
use std::path::Path;

/// Tables by their heading, and what stands above their panel.
const TABLES: [(&str, &str); 2] = [
    ("## Generated data: L2 logistic", "(a) 5 agents, 2000 made-up rows each"),
    ("## Four hospitals", "(b) 4 hospitals, 46 to 303 patients each"),
];

/// Rows of the tables by name, and what a reader who has never heard of them is told.
const SHOWN: [(&str, &str); 6] = [
    ("joint-gradient:1", "joint sums, if at most one colludes"),
    ("joint-gradient", "joint sums, whoever colludes"),
    ("d-zoa:output", "D-ZOA with added noise"),
    ("dp-gd", "gradient descent with noise"),
    ("dp-admm", "DP-ADMM"),
    ("objective-perturbation", "a solver trusted with all rows"),
];

/// The claim of the paper for all its 200 rounds, taken for an exact budget.
const TOTAL: f64 = 2.038;
const DELTA: f64 = 1e-3;

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let comparison = std::fs::read_to_string(docs.join("comparison.md"))?;
    let panels = TABLES.iter().map(|(heading, title)| panel(&comparison, heading, title));
    let chart = Chart { panels: panels.collect::<Result<_, _>>()?, columns: 2 };
    let words = "Error of the model against the exact total epsilon, of dzoa's joint sums and of \
                 others: medians, for joint sums with the range from 10 to 90 percent of runs, from \
                 the tables \
                 of docs/comparison.md.";
    std::fs::write(docs.join("error-epsilon.svg"), described(&chart.svg(), words))?;

    let keys = Keys {
        epsilon: Some(0.15),
        delta: Some(DELTA),
        optimum_norm: Some(OptimumNorm::Replicate),
        ..Keys::default()
    };
    let spec = RunSpec::new(Algorithm::DZoa, Mechanism::from_keys("intrinsic", &keys)?);
    let paper = attack(&RunSpec { rounds: Auto::Given(200), ..spec })?;
    let keys = Keys { total_epsilon: Some(TOTAL), delta: Some(DELTA), ..Keys::default() };
    let algorithm = Algorithm::named("joint-gradient", &Setting::default()).ok_or("no table")?;
    let joint = attack(&RunSpec::new(algorithm, Mechanism::from_keys("joint", &keys)?))?;
    let found = [
        ("The paper's own noise, one round (nominal ε = 0.15)", &paper),
        ("Joint sums, a whole run (exact ε = 2.04)", &joint),
    ];
    for (title, audited) in &found {
        println!("{title}\n{}", audited.report.describe());
    }
    let attacks = found.map(|(title, audited)| OnlookerPanel { title, scores: &audited.scores });
    let words = "What an onlooker can tell about one person's row, on the paper's example: scores \
                 of the best attack in 2000 runs with the row and 2000 with another in its place. \
                 Under the paper's own noise the two lie far apart; under joint sums they overlap.";
    std::fs::write(docs.join("onlooker.svg"), described(&onlooker_svg(&attacks), words))?;
    Ok(())
}

/// One table as curves.
fn panel(page: &str, heading: &str, title: &str) -> Result<Panel, Box<dyn Error>> {
    let section = page.split(heading).nth(1).ok_or(format!("no table is called {heading}"))?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut curves = Vec::new();
    for (i, (name, label)) in SHOWN.iter().enumerate() {
        let mut points: Vec<(f64, [f64; 3])> = section
            .lines()
            .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
            .filter(|cells| cells.len() > 3 && cells[2] == *name)
            .filter_map(|cells| Some((cells[1].parse().ok()?, spread(cells[3])?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !points.is_empty() {
            curves.push(Curve {
                label: (*label).into(),
                style: Style::nth(i),
                points: points.iter().map(|(epsilon, [median, ..])| (*epsilon, *median)).collect(),
                // Six bands would hide each other.
                band: match name.starts_with("joint") {
                    true => points.iter().map(|(_, [_, low, high])| (*low, *high)).collect(),
                    false => Vec::new(),
                },
                marker_every: 1,
            });
        }
    }
    Ok(Panel {
        title: title.into(),
        x_label: "total ε of a run, exact (smaller: more private)".into(),
        y_label: "error of the model (smaller: better)".into(),
        log_x: true,
        curves,
    })
}

/// `0.014 (7.50e-3 to 0.027)`
fn spread(cell: &str) -> Option<[f64; 3]> {
    let (median, range) = cell.strip_suffix(')')?.split_once(" (")?;
    let (low, high) = range.split_once(" to ")?;
    Some([median.parse().ok()?, low.parse().ok()?, high.parse().ok()?])
}

/// Attacks the paper's example.
fn attack(run: &RunSpec) -> Result<Audited, Box<dyn Error>> {
    let streams = Streams::from_seed(1);
    let spec = AuditSpec {
        name: "paper",
        run,
        problem: &PaperProblem::draw(&streams.trial(0)),
        graph: &PaperProblem::graph().map_err(|error| error.to_string())?,
        bounded_targets: false,
        trials: 2000,
        rounds: None,
        agent: None,
        confidence: 0.95,
        noise_scale: 1.0,
        controls: false,
        colluders: None,
    };
    let audited = audit(&spec, &streams, &Unwatched, Interrupt::default());
    Ok(audited.map_err(|error| error.to_string())?)
}
