//! Who is compared, and over which settings each is tuned.

use crate::error::{Error, Result, shown};
use crate::reader::suggestion;
use dzoa::baselines::Needs;
use dzoa::mechanism::output_rule;
use dzoa::problem::{Problem, Scale};

/// One entry of `--algorithms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// As the user names it, with the mechanism of d-zoa.
    pub label: String,
    /// `algorithm.name`
    pub algorithm: &'static str,
    /// `privacy.mechanism`
    pub mechanism: &'static str,
}

/// What may be compared.
const KNOWN: [(&str, &str, &str); 16] = [
    ("d-zoa:output", "d-zoa", "output"),
    ("d-zoa:scalar", "d-zoa", "scalar"),
    ("d-zoa:none", "d-zoa", "none"),
    ("d-zoa", "d-zoa", "output"),
    ("admm", "admm", "none"),
    ("admm:output", "admm", "output"),
    ("dp-admm", "dp-admm", "output"),
    ("pvp", "pvp", "output"),
    ("dvp", "dvp", "output"),
    ("p-admm", "p-admm", "output"),
    ("m-admm", "m-admm", "output"),
    ("r-admm", "r-admm", "output"),
    ("ps-admm", "ps-admm", "output"),
    ("projected-gradient", "projected-gradient", "output"),
    ("objective-perturbation", "objective-perturbation", "output"),
    ("dp-gd", "dp-gd", "output"),
];

/// What the tuning grids are scaled by: public numbers.
pub struct Sizes {
    samples: usize,
    agents: usize,
    /// The weight of all samples of an agent together.
    weight: f64,
    smoothness: f64,
    bounded: bool,
    rounds: u64,
}

impl Sizes {
    /// Of one problem; `rounds` is the config's, for contenders without noise.
    pub fn of(problem: &Problem, rounds: u64) -> Self {
        let samples = problem.agents.iter().map(|samples| samples.count()).min().unwrap_or(1);
        Self {
            samples,
            agents: problem.agents.len(),
            weight: match problem.scale {
                Scale::Mean => 1.0,
                Scale::Sum => samples as f64,
            },
            smoothness: problem.loss.smoothness().unwrap_or(1.0),
            bounded: problem.loss.lipschitz().is_some(),
            rounds,
        }
    }
}

impl Contender {
    /// Parses a comma-separated list.
    pub fn parse_list(list: &str) -> Result<Vec<Self>> {
        let mut contenders: Vec<Self> = Vec::new();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word == "d-zoa:intrinsic" {
                return Err(Error::input(
                    "--algorithms: `d-zoa:intrinsic` is nominal: it has no exact epsilon to compare at",
                )
                .hint("`dzoa reproduce fig2` and `fig3` show it as the paper does, marked nominal"));
            }
            let found = KNOWN.iter().find(|(label, ..)| *label == word);
            let Some(&(label, algorithm, mechanism)) = found else {
                let labels: Vec<&str> = KNOWN.iter().map(|(label, ..)| *label).collect();
                return Err(Error::input(format!("--algorithms: {} is not known", shown(word)))
                    .hint(suggestion(word, &labels)));
            };
            let label = if label == "d-zoa" { "d-zoa:output" } else { label }.to_string();
            if contenders.iter().any(|known| known.label == label) {
                return Err(Error::input(format!("--algorithms: `{label}` is listed twice"))
                    .hint("list each once"));
            }
            contenders.push(Self { label, algorithm, mechanism });
        }
        if contenders.is_empty() {
            return Err(Error::input("--algorithms: the list is empty")
                .hint("for example --algorithms d-zoa:output,dp-admm,dp-gd"));
        }
        Ok(contenders)
    }

    /// Whether it promises anything.
    pub fn is_private(&self) -> bool {
        self.mechanism != "none"
    }

    /// What d-zoa and admm take; the baselines say it themselves.
    pub fn own_needs(&self) -> Needs {
        Needs {
            // `output` certifies how near it came, and an exact solver finishes.
            exact_solver: self.algorithm == "admm" || self.mechanism == "output",
            known_c1: self.mechanism == "output",
            ..Needs::default()
        }
    }

    /// The declared grid: twelve settings for everybody, as `--set` would have them.
    pub fn grid(&self, sizes: &Sizes, epsilon: f64) -> Vec<Vec<String>> {
        let rule = output_rule(sizes.samples, epsilon).rho;
        let weight = sizes.weight;
        let rho = |rho: f64| format!("algorithm.rho={}", rho * weight);
        let rounds = |rounds: u64| format!("algorithm.rounds={rounds}");
        let option = |key: &str, value: f64| format!("algorithm.options.{key}={value}");
        // A loss without a bound is clipped where the algorithm can.
        let clip = if sizes.bounded { None } else { Some(option("clip", 1.0)) };
        let curvature = sizes.agents as f64 * weight * sizes.smoothness;
        let mut grid: Vec<Vec<String>> = Vec::new();
        let mut add = |setting: Vec<String>| grid.push(setting);
        match (self.algorithm, self.mechanism) {
            ("d-zoa", "scalar") => {
                for (r, c, m) in product([0.01, 0.03, 0.1], [1.0, 2.0], [50, 100]) {
                    let look = ["inner_steps=1", "directions=40", "smoothing=0.1"];
                    let look = look.map(|set| format!("algorithm.{set}"));
                    add([vec![rho(r), rounds(m), format!("privacy.clip={c}")], look.to_vec()]
                        .concat());
                }
            }
            ("d-zoa" | "admm", "output") => {
                for (r, growth, m) in product([0.3, 1.0, 3.0], [1.0, 1.03], [30, 60]) {
                    let schedule = format!("privacy.schedule={{ growth = {growth} }}");
                    add(vec![rho(r * rule), rounds(m), schedule]);
                }
            }
            ("p-admm", _) => {
                for (r, q, m) in product([0.3, 1.0, 3.0], [0.995, 0.97], [30, 60]) {
                    add(vec![rho(r * rule), rounds(m), option("decay", q)]);
                }
            }
            ("dp-admm", _) => {
                for (s, r, m) in product([1.0, 5.0, 20.0], [0.03, 0.3], [30, 100]) {
                    let step = option("step", s / weight);
                    let mut setting = vec![rho(r), rounds(m), step, option("decay", 0.0)];
                    setting.extend(clip.clone());
                    add(setting);
                }
            }
            ("ps-admm", _) => {
                for (s, r, m) in product([1.0, 4.0, 16.0], [0.01, 0.1], [30, 100]) {
                    let mut setting = vec![rho(r), rounds(m), option("step", s / weight)];
                    setting.extend(clip.clone());
                    add(setting);
                }
            }
            ("dp-gd", _) => {
                for s in [0.5, 2.0, 4.0, 8.0] {
                    for m in [30, 100, 200] {
                        let mut setting = vec![rounds(m), option("step", s / curvature)];
                        setting.extend(clip.clone());
                        add(setting);
                    }
                }
            }
            ("projected-gradient", _) => {
                for (s, (q, p), m) in
                    product([1.0, 4.0, 16.0], [(0.9, 0.95), (0.97, 0.985)], [40, 100])
                {
                    let decays = [option("step_decay", q), option("noise_decay", p)];
                    let mut setting = vec![rounds(m), option("step", s / weight)];
                    setting.extend(decays);
                    setting.extend(clip.clone());
                    add(setting);
                }
            }
            ("m-admm", _) => {
                for (r, growth, m) in product([0.03, 0.3, 3.0], [1.0, 1.05], [5, 20]) {
                    add(vec![rho(r), rounds(m), option("growth", growth)]);
                }
            }
            ("pvp" | "dvp" | "r-admm", _) => {
                let twice = if self.algorithm == "r-admm" { 2 } else { 1 };
                for r in [0.03, 0.1, 0.3, 1.0, 3.0, 10.0] {
                    for m in [5, 20] {
                        add(vec![rho(r), rounds(m * twice)]);
                    }
                }
            }
            ("objective-perturbation", _) => {
                for power in 0..12 {
                    add(vec![option("ridge", 1e-5 * weight * 10f64.powf(0.5 * f64::from(power)))]);
                }
            }
            // Without noise: consensus alone decides.
            (_, _) => {
                for power in 0..12 {
                    add(vec![rho(1e-3 * 10f64.powf(0.4 * f64::from(power))), rounds(sizes.rounds)]);
                }
            }
        }
        grid
    }
}

/// All combinations, the first changing slowest.
fn product<A: Copy, B: Copy, C: Copy>(
    a: [A; 3],
    b: [B; 2],
    c: [C; 2],
) -> impl Iterator<Item = (A, B, C)> {
    (0..12).map(move |i| (a[i / 4], b[i / 2 % 2], c[i % 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_tuned_over_as_many_settings() {
        let sizes = Sizes {
            samples: 100,
            agents: 5,
            weight: 1.0,
            smoothness: 0.25,
            bounded: true,
            rounds: 50,
        };
        for (label, ..) in KNOWN {
            let contender = &Contender::parse_list(label).unwrap()[0];
            assert_eq!(contender.grid(&sizes, 1.0).len(), 12, "{label}");
        }
    }

    #[test]
    fn a_nominal_contender_is_refused() {
        assert!(Contender::parse_list("d-zoa:intrinsic").is_err());
        assert!(Contender::parse_list("dp-gd,dp-gd").is_err());
        assert!(Contender::parse_list(" , ").is_err());
        assert_eq!(Contender::parse_list("d-zoa").unwrap()[0].label, "d-zoa:output");
    }
}
