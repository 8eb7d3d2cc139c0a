//! The study that `dzoa init` writes: something that runs, to change from there.

use dzoa::problem::loss::LOSSES;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::registry::Registry;
use dzoa::streams::{Purpose, Streams, fill_normal};
use rand::RngExt;
use std::fmt::Write;

const HOSPITALS: [&str; 5] = ["north", "south", "east", "west", "coast"];
const PATIENTS: usize = 2000;
const DEMO: &str = include_str!("demo.toml");
const CONFIG: &str = include_str!("starter.toml");
/// How often a pressure is not taken and a patient not asked, as in real files.
const FORGOTTEN: f64 = 0.04;
const CLINICS: [(&str, usize); 3] = [("north", 80), ("south", 60), ("west", 40)];

/// What to do first, for whoever types `dzoa` alone.
pub const FIRST_STEPS: &str = "\
dzoa: sparse models from private rows, without a coordinator

  dzoa demo                              the whole story in two minutes
  dzoa init --from north.csv south.csv   draft a config from one file per site
  dzoa init my-study                     or begin with a small made-up study
  dzoa check run.toml                    is everything ready?
  dzoa run run.toml                      fit, with all sites in one process
  dzoa predict --model model.json FILE   use the model
  dzoa --help                            all commands: sites, audits, budgets
  dzoa help config                       every key of a config
";

/// The names and contents of its files: a config, and the rows of three clinics.
pub fn starter_study() -> Vec<(String, String)> {
    let rows = CLINICS.map(|(name, rows)| (format!("{name}.csv"), clinic(name, rows)));
    std::iter::once(("run.toml".to_string(), config())).chain(rows).collect()
}

/// The same for `dzoa demo`: five hospitals with as many rows as a private model needs.
pub fn demo_study() -> Vec<(String, String)> {
    let rows = HOSPITALS.map(|name| (format!("{name}.csv"), clinic(name, PATIENTS)));
    std::iter::once(("hospitals.toml".to_string(), DEMO.to_string())).chain(rows).collect()
}

/// The starter config, with the names that its comments list.
fn config() -> String {
    CONFIG
        .replace("{losses}", &Registry::new(LOSSES).names().join(" | "))
        .replace("{regularizers}", &Registry::new(REGULARIZERS).names().join(" | "))
}

/// Made-up patients: the risk of a stay rises with age, blood pressure and smoking.
fn clinic(name: &str, rows: usize) -> String {
    let mut rng = Streams::from_seed(7).rng(Purpose::Data, name, 0);
    // Of its own, so that what is not recorded changes nothing else.
    let mut forgotten = Streams::from_seed(7).rng(Purpose::Data, name, 1);
    let mut csv = String::from("age,pressure,smoker,ward,readmitted\n");
    for _ in 0..rows {
        let mut normal = [0.0; 2];
        fill_normal(&mut rng, &mut normal);
        let age = (58.0 + 14.0 * normal[0]).round().clamp(18.0, 95.0);
        let pressure = (128.0 + 16.0 * normal[1]).round().clamp(85.0, 220.0);
        let smoker = rng.random::<f64>() < 0.3;
        let ward = ["medicine", "surgery"][usize::from(rng.random::<f64>() < 0.4)];
        let score = 0.06 * (age - 58.0)
            + 0.03 * (pressure - 128.0)
            + if smoker { 1.5 } else { -0.6 }
            + if ward == "surgery" { 0.4 } else { 0.0 };
        let readmitted = rng.random::<f64>() < 1.0 / (1.0 + (-score).exp());
        let yes_no = |flag: bool| if flag { "yes" } else { "no" };
        let mut or_empty = |text: String| match forgotten.random::<f64>() < FORGOTTEN {
            true => String::new(),
            false => text,
        };
        let (pressure, smoker) = (or_empty(pressure.to_string()), or_empty(yes_no(smoker).into()));
        let _ = writeln!(csv, "{age},{pressure},{smoker},{ward},{}", yes_no(readmitted));
    }
    csv
}
