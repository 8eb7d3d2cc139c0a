//! Who is compared, and over which settings each is tuned.

use dzoa::baselines;
use dzoa::plan::{Auto, Keys, Mechanism, Total};
use dzoa::privacy::calibrate::Schedule;
use dzoa::tuning::{Setting, Sizes};
use dzoa_table::{Error, Result, shown, suggestion};

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

/// What may be compared: d-zoa and admm by mechanism, and every baseline with its own noise.
fn known() -> Vec<(&'static str, &'static str, &'static str)> {
    let own = [
        ("d-zoa:output", "d-zoa", "output"),
        ("d-zoa:scalar", "d-zoa", "scalar"),
        ("d-zoa:none", "d-zoa", "none"),
        ("d-zoa", "d-zoa", "output"),
        ("admm", "admm", "none"),
        ("admm:output", "admm", "output"),
    ];
    own.into_iter().chain(baselines::names().map(|name| (name, name, "output"))).collect()
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
            let known = known();
            let found = known.iter().find(|(label, ..)| *label == word);
            let Some(&(label, algorithm, mechanism)) = found else {
                let labels: Vec<&str> = known.iter().map(|(label, ..)| *label).collect();
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

    /// Whether it guarantees anything.
    pub fn is_private(&self) -> bool {
        self.mechanism != "none"
    }

    /// Its mechanism at a budget, with one setting of its grid.
    pub fn mechanism(&self, total: &Total, setting: &Setting) -> Result<Mechanism> {
        let growth = setting.growth.map(|growth| Auto::Given(Schedule::Growth(growth)));
        let keys = match self.is_private() {
            true => Keys {
                total_epsilon: Some(total.budget.epsilon),
                delta: Some(total.budget.delta),
                rows_per_person: Some(total.rows_per_person),
                schedule: growth,
                clip: setting.clip,
                ..Keys::default()
            },
            false => Keys::default(),
        };
        Mechanism::from_keys(self.mechanism, &keys).map_err(|error| Error::input(error.to_string()))
    }

    /// The declared grid: twelve settings for everybody.
    pub fn grid(&self, sizes: &Sizes, total: &Total) -> Result<Vec<Setting>> {
        match baselines::entry(self.algorithm) {
            Some(entry) => Ok((entry.grid)(sizes)),
            None => Ok(self.mechanism(total, &Setting::default())?.grid(sizes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dzoa::privacy::Budget;

    #[test]
    fn everybody_is_tuned_over_as_many_settings() {
        let sizes = Sizes {
            agents: 5,
            weight: 1.0,
            smoothness: 0.25,
            bounded: true,
            rho: 0.02,
            rounds: 50,
        };
        let total = Total {
            budget: Budget { epsilon: 1.0, delta: 1e-5 },
            schedule: Auto::Auto,
            rows_per_person: 1,
        };
        for (label, ..) in known() {
            let contender = &Contender::parse_list(label).unwrap()[0];
            assert_eq!(contender.grid(&sizes, &total).unwrap().len(), 12, "{label}");
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
