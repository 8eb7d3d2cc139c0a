//! Who is compared, and over which settings each is tuned.

use dzoa::baselines;
use dzoa::plan::{
    Algorithm, Auto, JOINT, JointEntry, Keys, MECHANISMS, Mechanism, MechanismEntry, Total,
};
use dzoa::privacy::calibrate::Schedule;
use dzoa::privacy::{Claim, Colluders};
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
    pub mechanism: &'static MechanismEntry,
    /// `privacy.colluders`, of joint sums.
    pub colluders: Option<Colluders>,
}

/// What may be compared: d-zoa and admm with every mechanism that they can have and that has an
/// exact epsilon, or none at all; and every baseline with its own noise.
fn known() -> Vec<Contender> {
    let own = [Algorithm::DZoa, Algorithm::Admm].into_iter().flat_map(|algorithm| {
        let loops = algorithm.is_zeroth_order();
        let fits = move |entry: &&MechanismEntry| {
            entry.claim != Claim::Nominal && (loops || !entry.in_loop) && !entry.only_sums
        };
        MECHANISMS.iter().filter(fits).map(move |mechanism| {
            let algorithm = algorithm.name();
            // An exact step without any noise is admm as such.
            let label = match loops || mechanism.claim == Claim::Exact {
                true => format!("{algorithm}:{}", mechanism.name),
                false => algorithm.into(),
            };
            Contender { label, algorithm, mechanism, colluders: None }
        })
    });
    let noisy = MECHANISMS.iter().find(|entry| entry.claim == Claim::Exact);
    let others = baselines::names().zip(noisy.into_iter().cycle());
    let others = others.map(|(name, mechanism)| Contender {
        label: name.into(),
        algorithm: name,
        mechanism,
        colluders: None,
    });
    let sums = MECHANISMS.iter().filter(|entry| entry.only_sums);
    let joint = sums.flat_map(|mechanism| {
        JOINT.iter().filter(|entry| !entry.plain_only).map(move |entry| Contender {
            label: entry.name.into(),
            algorithm: entry.name,
            mechanism,
            colluders: Some(Colluders::All),
        })
    });
    own.chain(joint).chain(others).collect()
}

/// What d-zoa means without a mechanism behind it.
const SHORT: (&str, &str) = ("d-zoa", "d-zoa:output");

impl Contender {
    /// Parses a comma-separated list.
    pub fn parse_list(list: &str) -> Result<Vec<Self>> {
        let mut contenders: Vec<Self> = Vec::new();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let found = Self::parse(word)?;
            if contenders.iter().any(|known| known.label == found.label) {
                let label = found.label;
                return Err(Error::input(format!("--algorithms: `{label}` is listed twice"))
                    .hint("list each once"));
            }
            contenders.push(found);
        }
        if contenders.is_empty() {
            return Err(Error::input("--algorithms: the list is empty")
                .hint("for example --algorithms d-zoa:output,dp-admm,dp-gd"));
        }
        Ok(contenders)
    }

    fn parse(word: &str) -> Result<Self> {
        let named = word.split_once(':').and_then(|(_, name)| MechanismEntry::named(name));
        if named.is_some_and(|entry| entry.claim == Claim::Nominal) {
            return Err(Error::input(format!(
                "--algorithms: `{word}` is nominal: it has no exact epsilon to compare at"
            ))
            .hint("`dzoa reproduce fig2` and `fig3` show it as the paper does, marked nominal"));
        }
        // Joint sums against so many colluders.
        if let Some((name, count)) = word.split_once(':')
            && JointEntry::named(name).is_some()
        {
            let count = count.parse().map_err(|_| {
                Error::input(format!("--algorithms: {} names no number of colluders", shown(word)))
                    .hint(format!("for example `{name}:1`, or `{name}` against all others"))
            })?;
            let colluders = Some(Colluders::AtMost(count));
            return Ok(Self { label: word.into(), colluders, ..Self::parse(name)? });
        }
        let known = known();
        let long = if word == SHORT.0 { SHORT.1 } else { word };
        let Some(found) = known.iter().find(|contender| contender.label == long) else {
            let mut labels: Vec<&str> = known.iter().map(|known| known.label.as_str()).collect();
            labels.push(SHORT.0);
            return Err(Error::input(format!("--algorithms: {} is not known", shown(word)))
                .hint(suggestion(word, &labels)));
        };
        Ok(found.clone())
    }

    /// Whether it guarantees anything.
    pub fn is_private(&self) -> bool {
        self.mechanism.claim == Claim::Exact
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
                colluders: self.colluders,
                ..Keys::default()
            },
            false => Keys::default(),
        };
        Mechanism::from_keys(self.mechanism.name, &keys)
            .map_err(|error| Error::input(error.to_string()))
    }

    /// The declared grid: twelve settings for everybody but joint sums, whose public rule is the
    /// only one.
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
            features: 10,
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
        for contender in known() {
            let label = &contender.label;
            let settings = if contender.colluders.is_some() { 1 } else { 12 };
            assert_eq!(contender.grid(&sizes, &total).unwrap().len(), settings, "{label}");
        }
    }

    #[test]
    fn a_nominal_contender_is_refused() {
        assert!(Contender::parse_list("d-zoa:intrinsic").is_err());
        assert!(Contender::parse_list("dp-gd,dp-gd").is_err());
        assert!(Contender::parse_list(" , ").is_err());
        assert_eq!(Contender::parse_list("d-zoa").unwrap()[0].label, "d-zoa:output");
        let labels: Vec<String> = known().into_iter().map(|contender| contender.label).collect();
        let own = ["d-zoa:output", "d-zoa:scalar", "d-zoa:none", "admm:output", "admm"];
        assert_eq!(labels[..5], own);
    }
}
