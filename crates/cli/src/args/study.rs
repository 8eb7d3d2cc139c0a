//! Flags of `dzoa study`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `dzoa study ...`
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// Write a page in plain words for those who decide: who, which columns, what leaves, epsilon
    Draft {
        /// The network file
        #[arg(long = "network", value_name = "FILE")]
        study: PathBuf,
        /// Where to write it [default: stdout]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Sign the network file, to the last byte, with the key of the site's certificate
    Sign(StudySignArgs),
    /// Who has signed, and who has not
    Show(StudyArgs),
    /// The same, and exit status 0 only if all sites have signed
    Verify(StudyArgs),
}

/// Flags of `dzoa study sign`.
#[derive(Debug, Args)]
pub struct StudySignArgs {
    /// The network file
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Which of its agents this site is
    #[arg(long)]
    pub name: String,
    /// Where ca.pem, NAME.pem and NAME.key are
    #[arg(long, value_name = "DIR")]
    pub certs: PathBuf,
    /// Do not sign what is beyond the site's own limits
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where to write NAME.signature.json [default: the directory of the certificates]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Flags of `dzoa study show` and `dzoa study verify`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// The network file
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Where ca.pem is
    #[arg(long, value_name = "DIR")]
    pub certs: PathBuf,
    /// Where the files NAME.signature.json are [default: the directory of the certificates]
    #[arg(long, value_name = "DIR")]
    pub signatures: Option<PathBuf>,
}
