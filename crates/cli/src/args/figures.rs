//! `dzoa reproduce` and `dzoa merge`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use dzoa_lab::{FIGURES, Shard};
use std::path::PathBuf;

/// Flags of `dzoa reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Which figure
    #[arg(value_parser = figures())]
    pub figure: String,
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

/// The figures that the lab knows, with a word about each in `--help`.
fn figures() -> PossibleValuesParser {
    FIGURES.map(|(name, about)| PossibleValue::new(name).help(about)).into()
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
