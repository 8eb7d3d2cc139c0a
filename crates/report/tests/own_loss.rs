//! The recipe "a loss" of CONTRIBUTING.md, from outside: one file with a loss and its row is enough
//! to type it in a config, run it, report it, write its model, and predict with that.

use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::loss::{Epigraph, LOSSES, Line, LossEntry, Losses, Targets};
use dzoa::registry::{NumberRange, Parameter, Registry};
use dzoa::run::evaluate::{Fit, Prediction};
use dzoa_report::{Model, Summary, describe, to_json, write_file};
use dzoa_table::{
    DataSource, InstanceSpec, Instances, ProblemSpec, Reading, Request, Schema, Section, ShapeKeys,
    Task, TomlNode, load,
};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// The hinge with its kink rounded off over a width w. With the shortfall `m = 1 - y z`: 0 for
/// `m <= 0`, `m^2/(2 w)` up to w, and `m - w/2` beyond.
#[derive(Debug)]
struct SmoothHinge {
    width: f64,
}

const WIDTH: Parameter = Parameter::new("hinge_width", NumberRange::Positive, 1.0);

const ENTRY: LossEntry = LossEntry {
    name: "smooth-hinge",
    about: "the hinge, rounded off over hinge_width",
    parameters: &[WIDTH],
    build: |given| Arc::new(SmoothHinge { width: given.of(WIDTH) }),
};

impl SmoothHinge {
    /// How much of the full slope is taken at this shortfall.
    fn share(&self, shortfall: f64) -> f64 {
        (shortfall / self.width).clamp(0.0, 1.0)
    }
}

impl Loss for SmoothHinge {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![(WIDTH.key, self.width)]
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let short = 1.0 - y * z;
        let share = self.share(short);
        share * (short - 0.5 * self.width * share)
    }

    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let (short, change) = (1.0 - y * z, -y * step);
        let (share, moved) = (self.share(short), self.share(short + change));
        share * change + (moved - share) * (short + change - 0.5 * self.width * (moved + share))
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        -y * self.share(1.0 - y * z)
    }

    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        let inside = (0.0..=self.width).contains(&(1.0 - y * z));
        Some(if inside { 1.0 / self.width } else { 0.0 })
    }

    fn smoothness(&self) -> Option<f64> {
        Some(1.0 / self.width)
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn targets(&self) -> Targets {
        Targets::Signs
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        -y * ((1.0 - y * w) / (self.width + kappa)).clamp(0.0, 1.0)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let (short, weight) = (1.0 - y * z, -y * a);
        let share = self.share(short);
        let excess = share - weight;
        // Inside, half the squared distance of the slopes; at the ends, the line's part as well.
        excess * (short - share * self.width) + 0.5 * self.width * excess * excess
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        let lines = vec![Line::new(0.0, 0.0), Line::new(-y, 1.0)];
        Some(Epigraph::Rounded { curvature: 1.0 / self.width, factor: 1.0, lines })
    }
}

const CONFIG: &str = r#"
    [problem]
    loss = "smooth-hinge"
    hinge_width = 0.5
    regularizer = "l2"
    eta = 0.05
    [data]
    agents = [{ name = "a", file = "a.csv" }, { name = "b", file = "b.csv" },
              { name = "c", file = "c.csv" }]
    [network]
    topology = "path"
    [schema]
    columns = [{ name = "u", kind = "numeric", bound = 1.0 },
               { name = "v", kind = "numeric", bound = 1.0 }]
    target = { name = "y", positive = { above = 0 } }
"#;

/// What this program knows: the table, and its own loss.
fn losses() -> Losses {
    Registry::new(LOSSES).with(ENTRY)
}

/// 60 rows whose label is the sign of u - v.
fn write_rows(dir: &Path, name: &str, phase: f64) {
    let mut csv = String::from("u,v,y\n");
    for i in 0..60 {
        let (u, v) = ((f64::from(i) * 0.9 + phase).sin(), (f64::from(i) * 0.37 + phase).cos());
        let label = if u > v { 1 } else { 0 };
        writeln!(csv, "{u},{v},{label}").unwrap();
    }
    std::fs::write(dir.join(format!("{name}.csv")), csv).unwrap();
}

/// The config's problem, network and schema, and the names of its columns.
fn prepared(dir: &Path) -> (Problem, Instances, Schema) {
    for (name, phase) in [("a", 0.0), ("b", 0.3), ("c", 0.7)] {
        write_rows(dir, name, phase);
    }
    let node = TomlNode::parse(CONFIG, "run.toml").unwrap();
    let file = Section::root(&node);
    let network = file.section("network").unwrap();
    let schema = Schema::read(&file.section("schema").unwrap()).unwrap();
    let spec = InstanceSpec {
        problem: &ProblemSpec::read(&file.section("problem").unwrap(), &losses(), false).unwrap(),
        data: &DataSource::read(&file.section("data").unwrap(), false).unwrap().0,
        schema: Some(&schema),
        shape: &ShapeKeys::read(&network).unwrap().shape(&network).unwrap(),
        listed: Vec::new(),
        root: dir,
        note: |_| {},
    };
    let streams = Streams::from_seed(1);
    let instances = Instances::prepare(&spec, &streams).unwrap();
    (instances.problem(&streams), instances, schema)
}

/// Every agent's coefficients after a run.
fn run(spec: &RunSpec, problem: &Problem, graph: &Graph) -> Vec<Vec<f64>> {
    let plan = Plan::new(spec, &Data::Rows(problem.clone()), graph).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(2)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    (0..simulation.len()).map(|k| simulation.estimate(k)).collect()
}

#[test]
fn a_loss_from_outside_runs_and_reaches_its_certified_optimum() {
    let dir = tempfile::tempdir().unwrap();
    let (problem, instances, _) = prepared(dir.path());
    assert_eq!(problem.loss.parameters(), [("hinge_width", 0.5)]);
    let optimum = reference::optimum(&problem).unwrap();
    // A duality gap is a proof, and it takes value, slope, gap and conic form to agree.
    assert!(optimum.certificate.duality_gap.unwrap() < 1e-9);
    let admm = RunSpec {
        rho: Auto::Given(0.1),
        rounds: Auto::Given(400),
        ..RunSpec::new(Algorithm::Admm, Mechanism::none())
    };
    // Zeroth-order under a guarantee: steps, sensitivity and certificate come from the loss, too.
    // With such a budget the noise is what is left of the distance.
    let keys = Keys { total_epsilon: Some(1e4), delta: Some(1e-5), ..Keys::default() };
    let output = Mechanism::for_loss(&*problem.loss, &keys).unwrap();
    let d_zoa = RunSpec {
        rho: Auto::Given(0.1),
        rounds: Auto::Given(100),
        ..RunSpec::new(Algorithm::DZoa, output)
    };
    for (spec, tolerance) in [(admm, 1e-6), (d_zoa, 0.02)] {
        for b in run(&spec, &problem, &instances.graph) {
            for (found, best) in b.iter().zip(&optimum.coefficients) {
                assert!((found - best).abs() < tolerance, "{}: {b:?}", spec.algorithm);
            }
        }
    }
}

#[test]
fn a_loss_from_outside_is_reported_and_predicts_from_its_model() {
    let dir = tempfile::tempdir().unwrap();
    let (problem, instances, schema) = prepared(dir.path());
    let spec =
        RunSpec { rho: Auto::Given(0.1), ..RunSpec::new(Algorithm::Admm, Mechanism::none()) };
    let summary = Summary {
        name: "own".into(),
        loss: problem.loss.name().into(),
        algorithm: spec.algorithm.name().into(),
        columns: instances.columns.clone(),
        coefficients: run(&spec, &problem, &instances.graph),
        ..Summary::default()
    };
    let text = describe(&summary, dir.path());
    assert!(text.starts_with("own: admm on smooth-hinge"), "{text}");

    let model =
        Model { schema: Some(schema.to_json()), ..Model::new(&summary).with_loss(&*problem.loss) };
    write_file(dir.path(), "model.json", to_json(&model).unwrap()).unwrap();
    let path = dir.path().join("model.json");
    let read = Model::read(&path).unwrap();
    let loss = read.loss(&path, &losses()).unwrap();
    assert_eq!((loss.name(), loss.parameters()), ("smooth-hinge", vec![("hinge_width", 0.5)]));
    // A program that was not told of the loss says so.
    let unknown = read.loss(&path, &Registry::new(LOSSES)).unwrap_err().to_string();
    assert!(unknown.contains("unknown loss `smooth-hinge`"), "{unknown}");

    write_rows(dir.path(), "new", 1.1);
    let request = Request {
        schema: &read.schema(&path).unwrap(),
        targets: loss.targets(),
        intercept: read.intercept,
        label_column: None,
        task: Task::Evaluate,
        reading: &Reading::default(),
    };
    let rows = load(&dir.path().join("new.csv"), &request).unwrap().samples;
    let weights = read.weights();
    let scores: Vec<f64> = (0..rows.count()).map(|i| rows.rows.dot(i, &weights)).collect();
    // The labels are the sign of u - v, which is what the model should have found.
    let fit = Fit::new(&*loss, &scores, &rows.targets, 1.0);
    assert!(fit.accuracy.unwrap() > 0.95 && fit.r2.is_none(), "{fit:?}");
    let first = Prediction::new(&*loss, scores[0]);
    assert_eq!((first.value, first.probability), (rows.targets[0], None));
}

#[test]
fn a_parameter_of_a_loss_from_outside_is_checked_like_any_other() {
    let read = |text: &str| {
        let node = TomlNode::parse(&format!("[problem]\neta = 1\n{text}"), "run.toml").unwrap();
        ProblemSpec::read(&Section::root(&node).section("problem").unwrap(), &losses(), false)
    };
    for (text, expected) in [
        ("loss = \"smooth-hinge\"\nhinge_width = 0", "must be a finite number above 0, not 0"),
        ("loss = \"hinge\"\nhinge_width = 1", "has no effect without loss = \"smooth-hinge\""),
        ("loss = \"smoth-hinge\"", "did you mean `smooth-hinge`?"),
        ("loss = \"smooth-hinge\"\nwidth = 1", "is not a key that dzoa knows"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
