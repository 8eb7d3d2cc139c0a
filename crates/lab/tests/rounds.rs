//! `compare` where the rounds are left to the rules.

use dzoa::plan::{Algorithm, Keys, Mechanism, RunSpec, rules};
use dzoa::problem::loss::LOSSES;
use dzoa::registry::Registry;
use dzoa::streams::Streams;
use dzoa_lab::{CompareSpec, Contender, Interrupt, Unwatched, compare};
use dzoa_table::{DataSource, InstanceSpec, Instances, ProblemSpec, Section, ShapeKeys, TomlNode};
use std::path::Path;

/// Few rows and columns: the rounds are what matters.
const CONFIG: &str = r#"
[problem]
loss = "logistic"
eta = 0.05
[data]
synthetic = { agents = 3, samples = 20, features = 2 }
[network]
topology = "path"
"#;

fn instances() -> Instances {
    let node = TomlNode::parse(CONFIG, "rounds.toml").unwrap();
    let root = Section::root(&node);
    let network = root.section("network").unwrap();
    let shape = ShapeKeys::read(&network).unwrap().shape(&network).unwrap();
    let (data, _) = DataSource::read(&root.section("data").unwrap(), false).unwrap();
    let spec = InstanceSpec {
        problem: &ProblemSpec::read(
            &root.section("problem").unwrap(),
            &Registry::new(LOSSES),
            false,
        )
        .unwrap(),
        data: &data,
        schema: None,
        shape: &shape,
        listed: Vec::new(),
        root: Path::new("."),
        note: |_| {},
    };
    Instances::prepare(&spec, &Streams::from_seed(1)).unwrap()
}

#[test]
fn a_ceiling_without_privacy_runs_for_hundreds_of_rounds_where_the_rounds_are_left_to_the_rules() {
    let keys = Keys { total_epsilon: Some(2.0), delta: Some(1e-5), ..Keys::default() };
    let output = Mechanism::from_keys("output", &keys).unwrap();
    // What a config with `rounds = "auto"` and `rho = "auto"` asks for.
    let base = RunSpec::new(Algorithm::DZoa, output);
    let spec = CompareSpec {
        name: "rounds",
        base: &base,
        instances: &instances(),
        contenders: &Contender::parse_list("admm:output,admm,d-zoa:none").unwrap(),
        epsilons: &[2.0],
        delta: None,
        trials: 1,
        tuning_trials: 1,
        seed: 1,
        given: serde_json::Value::Null,
    };
    let compared = compare(&spec, &Unwatched, Interrupt::default()).unwrap();
    let row = |name: &str| {
        compared.comparison.rows.iter().find(|row| row.algorithm == name).expect("a row")
    };
    for ceiling in ["admm", "d-zoa:none"] {
        let found = row(ceiling);
        assert_eq!((found.rounds, found.epsilon), (rules::PLAIN_ROUNDS, None), "{ceiling}");
        // Four directed links on a path of three.
        assert_eq!(found.messages, 4 * rules::PLAIN_ROUNDS, "{ceiling}: all of them were run");
        let error = |name: &str| row(name).error_median.expect("a result");
        assert!(error(ceiling) < error("admm:output"), "{ceiling} is a ceiling");
    }
    // Under a guarantee the tuner gives the rounds.
    assert!([30, 60].contains(&row("admm:output").rounds));
}
