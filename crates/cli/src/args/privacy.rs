//! `dzoa privacy`: the calculators.

use super::values::{count, non_negative, open_unit, positive, rounds, theorem1_range};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use dzoa::network::TOPOLOGIES;

/// `dzoa privacy ...`
#[derive(Debug, Subcommand)]
pub enum Calculator {
    /// Corollary 1: the nominal epsilon of a round for a step size; or the exact total of noise
    #[command(after_help = "Examples:
  dzoa privacy epsilon --step 1.1 --features 10 --directions 30 \\
    --inner-steps 100 --rho 4 --neighbourhood 3 --samples 20 --delta 1e-3
  dzoa privacy epsilon --sigma 0.5 --sensitivity 0.01 --rounds 200 --delta 1e-6")]
    Epsilon(EpsilonArgs),
    /// Lemma 3 and Theorem 1 (nominal), and the noise that an exact total epsilon needs
    #[command(after_help = "Example:
  dzoa privacy sigma --rho 4 --neighbourhood 3 --samples 20 --epsilon 0.15 \\
    --delta 1e-3 --total-epsilon 2 --rounds 200")]
    Sigma(SigmaArgs),
    /// The inverse of Corollary 1: the step size alpha0 R for a nominal epsilon
    #[command(after_help = "Example:
  dzoa privacy alpha --features 10 --directions 30 --inner-steps 100 --rho 4 \\
    --neighbourhood 3 --samples 20 --epsilon 0.15 --delta 1e-3")]
    Alpha(AlphaArgs),
    /// The total over many rounds: Theorem 2 (nominal), zCDP and exact
    #[command(after_help = "Example:
  dzoa privacy compose --epsilon 0.15 --delta 1e-3 --rounds 200 --json")]
    Compose(ComposeArgs),
    /// What a budget buys: noise and error floor over rounds and rho, before anything is spent
    #[command(after_help = "Example:
  dzoa privacy plan --agents 5 --samples 2000 --features 10 --total-epsilon 2 --delta 1e-5")]
    Plan(PlanArgs),
}

/// Numbers that Lemma 3 needs.
#[derive(Clone, Copy, Debug, Args)]
pub struct Lemma3Args {
    /// Penalty rho
    #[arg(long, value_parser = positive)]
    pub rho: f64,
    /// |N_k|: neighbours, and one more with self-loops
    #[arg(long, value_parser = count)]
    pub neighbourhood: usize,
    /// N_k: rows of the agent
    #[arg(long, value_parser = count)]
    pub samples: usize,
    /// Bound on the gradient of one sample's loss
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub c1: f64,
}

/// Numbers that Lemma 2 needs.
#[derive(Clone, Copy, Debug, Args)]
pub struct Lemma2Args {
    /// P
    #[arg(long, value_parser = count)]
    pub features: usize,
    /// J
    #[arg(long, value_parser = count)]
    pub directions: usize,
    /// T
    #[arg(long, value_parser = count)]
    pub inner_steps: usize,
    /// The constant of Lemma 2
    #[arg(long, default_value_t = 0.5, value_parser = positive)]
    pub c: f64,
    /// ||beta^c||^2, or a public bound
    #[arg(long, default_value_t = 0.0, value_parser = non_negative)]
    pub optimum_norm_squared: f64,
}

/// `dzoa privacy epsilon`
#[derive(Debug, Args)]
pub struct EpsilonArgs {
    /// alpha0 R, for Corollary 1
    #[arg(long, value_parser = positive, conflicts_with = "sigma")]
    pub step: Option<f64>,
    /// Noise of each release, for the exact total
    #[arg(long, value_parser = positive)]
    #[arg(requires = "sensitivity", required_unless_present = "step")]
    pub sigma: Option<f64>,
    /// L2 sensitivity of each release
    #[arg(long, value_parser = positive)]
    pub sensitivity: Option<f64>,
    /// Releases
    #[arg(long, default_value_t = 1, value_parser = rounds)]
    pub rounds: u64,
    /// delta
    #[arg(long, value_parser = open_unit)]
    pub delta: f64,
    /// P
    #[arg(long, value_parser = count, required_unless_present = "sigma")]
    pub features: Option<usize>,
    /// J
    #[arg(long, value_parser = count, required_unless_present = "sigma")]
    pub directions: Option<usize>,
    /// T
    #[arg(long, value_parser = count, required_unless_present = "sigma")]
    pub inner_steps: Option<usize>,
    /// Penalty rho
    #[arg(long, value_parser = positive, required_unless_present = "sigma")]
    pub rho: Option<f64>,
    /// |N_k|
    #[arg(long, value_parser = count, required_unless_present = "sigma")]
    pub neighbourhood: Option<usize>,
    /// N_k
    #[arg(long, value_parser = count, required_unless_present = "sigma")]
    pub samples: Option<usize>,
    /// Bound on the gradient of one sample's loss
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub c1: f64,
    /// The constant of Lemma 2
    #[arg(long, default_value_t = 0.5, value_parser = positive)]
    pub c: f64,
    /// ||beta^c||^2, or a public bound
    #[arg(long, default_value_t = 0.0, value_parser = non_negative)]
    pub optimum_norm_squared: f64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `dzoa privacy sigma`
#[derive(Debug, Args)]
pub struct SigmaArgs {
    /// Lemma 3.
    #[command(flatten)]
    pub lemma3: Lemma3Args,
    /// Theorem 1's epsilon of one round
    #[arg(long, value_parser = theorem1_range, required_unless_present = "total_epsilon")]
    pub epsilon: Option<f64>,
    /// An exact total over all rounds
    #[arg(long, value_parser = positive)]
    pub total_epsilon: Option<f64>,
    /// Rounds, for the exact total
    #[arg(long, default_value_t = 1, value_parser = rounds)]
    pub rounds: u64,
    /// delta
    #[arg(long, value_parser = open_unit)]
    pub delta: f64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `dzoa privacy alpha`
#[derive(Debug, Args)]
pub struct AlphaArgs {
    /// Lemma 2.
    #[command(flatten)]
    pub lemma2: Lemma2Args,
    /// Lemma 3.
    #[command(flatten)]
    pub lemma3: Lemma3Args,
    /// Nominal epsilon of one round
    #[arg(long, value_parser = theorem1_range)]
    pub epsilon: f64,
    /// delta
    #[arg(long, value_parser = open_unit)]
    pub delta: f64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `dzoa privacy compose`
#[derive(Debug, Args)]
pub struct ComposeArgs {
    /// Theorem 1's epsilon of one round
    #[arg(long, value_parser = theorem1_range)]
    pub epsilon: f64,
    /// delta
    #[arg(long, value_parser = open_unit)]
    pub delta: f64,
    /// M
    #[arg(long, value_parser = rounds)]
    pub rounds: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `dzoa privacy plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// K
    #[arg(long, value_parser = count)]
    pub agents: usize,
    /// N_k, rows of each agent
    #[arg(long, value_parser = count)]
    pub samples: usize,
    /// P
    #[arg(long, value_parser = count)]
    pub features: usize,
    /// The network
    #[arg(long, default_value = "ring", value_parser = plain_topologies())]
    pub topology: String,
    /// Bound on the gradient of one sample's loss
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub c1: f64,
    /// The whole budget
    #[arg(long, value_parser = positive)]
    pub total_epsilon: f64,
    /// delta
    #[arg(long, value_parser = open_unit)]
    pub delta: f64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Networks that need no further numbers.
fn plain_topologies() -> PossibleValuesParser {
    let plain = TOPOLOGIES.iter().filter(|entry| entry.parameters.is_empty());
    plain.map(|entry| PossibleValue::new(entry.name).help(entry.about)).collect::<Vec<_>>().into()
}
