//! summary.json: the result of a run, in the words of the interface.

use crate::intervals::Intervals;
use crate::units::OwnUnits;
use dzoa::privacy::{Claim, FoundNoise, Statement};
use dzoa::run::BestSeen;
use dzoa::run::evaluate::Fit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is written into every file that holds values which depend on private rows and are not
/// protected: errors, gaps, accuracies, what was measured.
pub const NOT_TO_BE_SHARED: &str = "for the holder of the rows: do not share";

/// What is written into files that others may have.
const SHARED: &str = "may be shared: protected quantities only";

fn not_to_be_shared() -> String {
    NOT_TO_BE_SHARED.into()
}

/// The whole file. Numbers that do not exist are null, never NaN.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Who may see the file.
    #[serde(default = "not_to_be_shared")]
    pub sharing: String,
    /// The run's name.
    pub name: String,
    /// `finished`, `stopped`, `non-finite`, `diverged`, `budget-exhausted` or `not-certified`; from
    /// an agent also `neighbour-lost`, `neighbour-left`, `left-behind`, `too-few-left` or
    /// `no-agreement`.
    pub status: String,
    /// d-zoa, admm.
    pub algorithm: String,
    /// intrinsic, none.
    pub mechanism: String,
    /// The loss.
    pub loss: String,
    /// The agents' names.
    pub agent_names: Vec<String>,
    /// The names of all agents of the network, where `agent_names` has one site's only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// K.
    pub agents: usize,
    /// Edges of the network, by position.
    pub edges: Vec<(usize, usize)>,
    /// P.
    pub features: usize,
    /// Rounds asked for.
    pub rounds: u64,
    /// Rounds done in every trial.
    pub rounds_done: u64,
    /// Repetitions.
    pub trials: usize,
    /// How many were asked for, where the run was stopped before all of them had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_asked: Option<usize>,
    /// The seed, if any.
    pub seed: Option<u64>,
    /// A seeded run is repeatable, and states no guarantee.
    pub seeded: bool,
    /// The rounds at which `error` was recorded.
    pub error_rounds: Vec<u64>,
    /// The paper's metric at those rounds, mean over trials.
    pub error: Vec<Option<f64>>,
    /// Smallest and largest over trials.
    pub error_low: Vec<Option<f64>>,
    /// Largest over trials.
    pub error_high: Vec<Option<f64>>,
    /// The paper's metric of what the agents report in the end, mean over trials.
    pub final_error: Option<f64>,
    /// And for every trial.
    pub final_errors: Vec<Option<f64>>,
    /// Training accuracy of the mean model in every trial, for classifiers.
    pub accuracies: Vec<f64>,
    /// How well the mean model fits the rows, first trial; from an agent, its own rows. Nothing of
    /// it is protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// The centralised objective at the mean model, mean over trials.
    pub objective: Option<f64>,
    /// The optimum, mean over trials.
    pub optimum: Option<f64>,
    /// Largest duality gap of the reference over trials.
    pub optimum_gap: Option<f64>,
    /// Largest violation of stationarity over trials: what is known where a free intercept leaves
    /// no gap.
    pub optimum_stationarity: Option<f64>,
    /// Largest distance of an agent from the mean of the agents, first trial.
    pub consensus: Option<f64>,
    /// Of black boxes: the best point whose value was seen, first trial. Nothing protects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestSeen>,
    /// What is to be said of a run whose result is worse than its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
    /// One array per agent, first trial.
    pub coefficients: Vec<Vec<f64>>,
    /// Names of the coefficients.
    pub columns: Vec<String>,
    /// The mean model in the units of the file, first trial; absent for generated rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_units: Option<OwnUnits>,
    /// How sure every coefficient is, where that was asked for: of all rows, first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// Whether other coefficients make the same predictions, so that a distance from the optimum's
    /// says nothing.
    #[serde(default)]
    pub redundant: bool,
    /// Values of the objective asked for, all agents and trials.
    pub oracle_calls: u64,
    /// Vectors sent over a link from one agent to another (or to a coordinator), all trials.
    #[serde(default)]
    pub messages: u64,
    /// Their values, at eight bytes each.
    #[serde(default)]
    pub bytes: u64,
    /// Whether u_2 was raised to what an opaque objective can resolve.
    pub step_raised: bool,
    /// Releases that lay outside the public ball and were moved into it, all agents and trials.
    #[serde(default)]
    pub moved_inside: u64,
    /// Time of the rounds alone, summed over trials.
    pub seconds: f64,
    /// Of one site: seconds since its start at which it had done so many rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<(u64, f64)>,
    /// Agents that the others went on without, and from which round on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub went_on_without: BTreeMap<String, u64>,
    /// One entry per agent.
    pub privacy: Vec<PrivacyEntry>,
    /// Every public number as it was planned, `auto` ones among them: they may be pasted into a
    /// config or network file, or behind `--set`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The config as given.
    pub config: serde_json::Value,
}

/// What may be said about one agent's privacy, and what is known about its noise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrivacyEntry {
    /// What may be said.
    #[serde(flatten)]
    pub statement: Statement,
    /// Theorem 1's sigma_k.
    pub sigma_assumed: Option<f64>,
    /// The standard deviation that is really there.
    pub sigma_measured: Option<f64>,
    /// How it was measured.
    pub sigma_measured_how: Option<String>,
    /// The exact total that the measured noise would give if it were Gaussian. An estimate.
    pub epsilon_if_measured_noise_were_gaussian: Option<f64>,
    /// Lemma 3.
    pub sensitivity: Option<f64>,
    /// c1 used in it.
    pub c1: Option<f64>,
    /// Whether c1 holds for this loss.
    pub c1_holds: Option<bool>,
}

impl From<Statement> for PrivacyEntry {
    fn from(statement: Statement) -> Self {
        Self {
            statement,
            sigma_assumed: None,
            sigma_measured: None,
            sigma_measured_how: None,
            epsilon_if_measured_noise_were_gaussian: None,
            sensitivity: None,
            c1: None,
            c1_holds: None,
        }
    }
}

impl PrivacyEntry {
    fn noise(&self) -> FoundNoise {
        FoundNoise {
            assumed: self.sigma_assumed,
            measured: self.sigma_measured,
            epsilon_if_gaussian: self.epsilon_if_measured_noise_were_gaussian,
        }
    }
}

impl Summary {
    /// Its trials, in words.
    pub fn trials_in_words(&self) -> String {
        match (self.trials_asked, self.trials) {
            (Some(asked), ended) => format!("{ended} of {asked} trials, the rest was stopped"),
            (None, 1) => "1 trial".into(),
            (None, trials) => format!("{trials} trials"),
        }
    }

    /// The names of all agents of the network.
    pub fn all_names(&self) -> &[String] {
        if self.network.is_empty() { &self.agent_names } else { &self.network }
    }

    /// Whether it is one site's summary of a run with others.
    pub fn is_of_one_site(&self) -> bool {
        self.agent_names.len() < self.agents
    }

    /// What may be said about the whole run.
    pub fn statement(&self) -> Statement {
        Statement::together(self.privacy.iter().map(|entry| &entry.statement))
    }

    /// Whether what an agent says is passed on to all.
    pub fn hears_everybody(&self) -> bool {
        let floods = dzoa::baselines::entry(&self.algorithm).is_some_and(|entry| entry.flooding);
        floods || dzoa::plan::JointEntry::named(&self.algorithm).is_some()
    }

    /// The claim of the whole run: the weakest of the agents'.
    pub fn claim(&self) -> Claim {
        self.statement().claim
    }

    /// The statement in plain sentences, and how the noise of a nominal claim compares with what it
    /// assumes.
    pub fn privacy_statement(&self) -> String {
        let statement = self.statement();
        let noise = match statement.claim {
            Claim::Nominal => {
                let found = self.privacy.iter().map(PrivacyEntry::noise).collect::<Vec<_>>();
                FoundNoise::sentence(&found).unwrap_or_default()
            }
            Claim::Exact | Claim::None => String::new(),
        };
        statement.sentence() + &noise
    }

    /// The summary without what was measured on private rows, for sentences about privacy.
    pub fn public(&self) -> Self {
        let mut public = self.clone();
        for entry in &mut public.privacy {
            entry.sigma_measured = None;
            entry.epsilon_if_measured_noise_were_gaussian = None;
        }
        public
    }

    /// What may be shared: what was public before the run, and under an exact guarantee functions
    /// of what was exchanged. A field that is not named here is not in it.
    pub fn shared(&self) -> Self {
        let exact = self.claim() == Claim::Exact;
        let entry = |entry: &PrivacyEntry| PrivacyEntry::from(entry.statement.clone());
        // What the agents agreed on. Where rows are, and what was asked of this machine, is left
        // out.
        let agreed = ["problem", "algorithm", "privacy", "schema"];
        let config = agreed.iter().filter_map(|key| Some((*key, self.config.get(key)?.clone())));
        Self {
            sharing: SHARED.into(),
            name: self.name.clone(),
            status: self.status.clone(),
            algorithm: self.algorithm.clone(),
            mechanism: self.mechanism.clone(),
            loss: self.loss.clone(),
            agent_names: self.agent_names.clone(),
            network: self.network.clone(),
            agents: self.agents,
            edges: self.edges.clone(),
            features: self.features,
            rounds: self.rounds,
            rounds_done: self.rounds_done,
            trials: self.trials,
            seeded: self.seeded,
            coefficients: if exact { self.coefficients.clone() } else { Vec::new() },
            columns: self.columns.clone(),
            own_units: self.own_units.clone().filter(|_| exact),
            privacy: self.privacy.iter().map(entry).collect(),
            settings: self.settings.clone(),
            went_on_without: self.went_on_without.clone(),
            config: config.map(|(key, value)| (key.to_string(), value)).collect(),
            ..Self::default()
        }
    }
}
