//! `dzoa reproduce` and `dzoa merge`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Flags of `dzoa reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Which figure
    #[arg(value_enum)]
    pub figure: FigureName,
    /// Trials of every curve; with `all`, fig3-honest takes at most 20
    #[arg(long, default_value_t = 100, value_parser = trials)]
    pub trials: u64,
    /// Compute only the trials t with t mod N = I - 1, and draw nothing: `dzoa merge` does
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// The root of all randomness: the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to write [default: figures, or figures-shard-I-of-N]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FigureName {
    /// The network
    Fig1,
    /// Error against round, D-ZOA and tuned DP-ADMM (nominal)
    Fig2,
    /// Error against total epsilon and against delta (nominal)
    Fig3,
    /// The same axes at equal exact total epsilon, with mechanisms that hold
    Fig3Honest,
    /// Assumed against measured noise of `intrinsic`
    Noise,
    /// Error against the number of rounds, beside Theorem 3
    Rate,
    /// All of them
    All,
}

/// One of several equal parts of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u64,
    /// How many there are.
    pub count: u64,
}

impl Shard {
    /// Whether a trial, counted from 0, is in this part.
    pub fn has(self, trial: u64) -> bool {
        trial % self.count == self.index - 1
    }
}

/// Flags of `dzoa merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The directories of the shards
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Where to write
    #[arg(long, value_name = "DIR", default_value = "figures")]
    pub out: PathBuf,
}

fn trials(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|trials| (1..=1_000_000).contains(trials))
        .ok_or("must be a whole number from 1 to 1000000".into())
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(index, count)| {
        Some(Shard { index: index.parse().ok()?, count: count.parse().ok()? })
    });
    parts
        .filter(|shard| (1..=shard.count).contains(&shard.index))
        .ok_or("must be I/N with I from 1 to N, for example 2/8".into())
}
