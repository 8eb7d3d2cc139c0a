//! The command line, each flag defined once.

mod figures;
mod privacy;
mod study;
mod values;

pub use figures::{MergeArgs, ReproduceArgs};
pub use privacy::{
    AlphaArgs, Calculator, ComposeArgs, EpsilonArgs, Lemma3Args, PlanArgs, SigmaArgs,
};
pub use study::{StudyAction, StudyArgs, StudySignArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use values::{count, metrics_address, open_unit, positive, rounds};

/// Sparse models from private rows, without a coordinator.
#[derive(Debug, Parser)]
#[command(name = "dzoa", version, propagate_version = true, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "Examples:
  dzoa demo                                  the whole story in two minutes
  dzoa run                                   the paper's example
  dzoa run config.toml --set run.trials=20   a config, with one value changed
  dzoa init my-study                         a config, a schema and a small data set to start from
  dzoa privacy compose --epsilon 0.15 --delta 1e-3 --rounds 200

Exit status: 0 done, 1 failed, 2 wrong input, 3 budget spent, 4 neighbour lost, 130 interrupted;
`dzoa help exit-codes` says more.")]
pub struct Cli {
    /// Say only results, warnings and errors: no progress, no counts
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 900)]
    pub quiet: bool,
    /// Say more: the plan before a run, an agent's exchanges
    #[arg(short, long, global = true, display_order = 901)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The whole story in two minutes: a private fit, its pages, and the audit of a false claim
    #[command(after_help = "Examples:
  dzoa demo                 told step by step; Enter goes on
  dzoa demo --dir talk      what it writes goes there")]
    Demo {
        /// Where to write
        #[arg(long, value_name = "DIR", default_value = "dzoa-demo")]
        dir: PathBuf,
    },
    /// Simulate all agents in one process; without CONFIG, the paper's example
    #[command(after_help = "Examples:
  dzoa run
  dzoa run examples/hospitals/run.toml --set data.root=DIR
  dzoa run --set algorithm.lipschitz=3 --set run.trials=20 --json")]
    Run(RunArgs),
    /// Is everything ready? Files, rows, plan, budget, output; nothing is released or written
    #[command(after_help = "Examples:
  dzoa check run.toml                                               all sites of a config
  dzoa check --network network.toml --name north --data north.csv   one site

Counts are of this machine's rows: they are for their holder.")]
    Check(CheckArgs),
    /// Attack a mechanism: a lower bound on its epsilon, beside the claim
    #[command(after_help = "Examples:
  dzoa audit                                      the paper's nominal claim, one round
  dzoa audit config.toml --trials 5000            everything a neighbour sees of a whole run
  dzoa audit config.toml --rounds 3 --agent west --json")]
    Audit(AuditArgs),
    /// Compare algorithms at the same exact total epsilon: table, plot and verdict
    #[command(after_help = "Examples:
  dzoa compare                                                   the paper's example
  dzoa compare examples/hospitals/run.toml --set data.root=DIR --epsilon 1 4 16
  dzoa compare config.toml --algorithms joint-gradient:1,d-zoa:output,dp-gd --trials 50

Joint sums take their public rules; every other algorithm is tuned over twelve
declared settings, on other draws than those reported. d-zoa takes a mechanism
behind a colon: d-zoa:output, d-zoa:scalar, d-zoa:none. Joint sums take the
number of agents that may collude: joint-gradient:1; without it, all others may.
`admm` is exact and not private.")]
    Compare(CompareArgs),
    /// Draw the paper's figures, and those it should have had, as SVG, PNG and CSV
    #[command(after_help = "Examples:
  dzoa reproduce all                                       everything, 100 trials
  dzoa reproduce fig2 --trials 20 --out quick
  dzoa reproduce all --shard 2/8 --out shard-2      one of eight jobs of an array; then
  dzoa merge shard-1 shard-2 shard-3 ... --out figures

The same command goes on from the trials that are in DIR. Figures 2 and 3, noise and rate show the
paper's privacy, which is nominal: no guarantee. fig3-honest shows mechanisms that hold.")]
    Reproduce(ReproduceArgs),
    /// Join the shards of `dzoa reproduce --shard` and draw their figures
    #[command(after_help = "Example:
  dzoa merge shard-1 shard-2 --out figures")]
    Merge(MergeArgs),
    /// Write a commented starter config with its schema and a small generated data set
    #[command(after_help = "Examples:
  dzoa init my-study && dzoa run my-study/run.toml
  dzoa init --from north.csv south.csv              drafts run.toml here")]
    Init {
        /// Where to write
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Draft the config from these files, one per site, instead. It looks at the rows
        #[arg(long, value_name = "FILE", num_args = 1..)]
        from: Vec<PathBuf>,
        /// With --from: the column to be predicted [default: the last]
        #[arg(long, value_name = "COLUMN", requires = "from")]
        target: Option<String>,
    },
    /// Privacy calculators: Theorem 1, Lemma 3, Corollary 1 and its inverse, Theorem 2, zCDP, exact
    Privacy {
        /// Which calculator.
        #[command(subcommand)]
        calculator: Calculator,
    },
    /// Predict the rows of FILE with a model, as CSV on stdout: one line for every row
    #[command(after_help = "Examples:
  dzoa predict --model runs/hospitals/model.json new-patients.csv > predictions.csv
  cat new-patients.csv | dzoa predict --model model.json --id patient -

A row that cannot be predicted has an empty prediction, and the reason in the last column.")]
    Predict(PredictArgs),
    /// How well a model fits the rows of FILE: AUC, confusion, calibration; or R2, absolute error
    #[command(after_help = "Example:
  dzoa evaluate --model runs/adult/model.json adult.test --json")]
    Evaluate {
        /// Model and file.
        #[command(flatten)]
        model: ModelArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Work with schemas
    Schema {
        /// What.
        #[command(subcommand)]
        action: SchemaAction,
    },
    /// Make a site's own key and the request for its certificate; the key never leaves the site
    #[command(after_help = "Example:
  dzoa key --name cleveland --out /etc/dzoa        at the site; cleveland.request.pem travels
  dzoa certs --network network.toml --out certs --sign cleveland.request.pem
                                                   where certificates are made; ca.pem and
                                                   cleveland.pem travel back")]
    Key(KeyArgs),
    /// Make a private CA and sign the sites' requests; or, for a trial, make all keys here
    #[command(after_help = "Examples:
  dzoa certs --network network.toml --out certs --sign *.request.pem
  dzoa certs --network network.toml --out certs        all keys here: for trials

The same command again renews the certificates under the authority that is there.")]
    Certs(CertsArgs),
    /// What the sites agree to: a page for those who decide, and their signatures
    #[command(after_help = "Examples:
  dzoa study draft --network network.toml --out study.md
  dzoa study sign --network network.toml --name cleveland --certs /etc/dzoa
  dzoa study verify --network network.toml --certs /etc/dzoa")]
    Study {
        /// What.
        #[command(subcommand)]
        action: StudyAction,
    },
    /// Run one real agent, which talks to its neighbours only
    #[command(after_help = "Example:
  dzoa agent --network network.toml --name cleveland --data cleveland.csv \\
    --state state --certs certs

SIGTERM and Ctrl-C stop it after everything is kept; the same command goes on from there.")]
    Agent(AgentArgs),
    /// Run all agents of a network as processes on this machine: the trial before the real thing
    #[command(after_help = "Example:
  dzoa launch --network network.toml --data a=a.csv --data b=b.csv")]
    Launch(LaunchArgs),
    /// What was ever released about a data set, and what is left
    Ledger {
        /// What.
        #[command(subcommand)]
        action: LedgerAction,
    },
    /// Write report.html and report.shared.html anew from a run's files
    Report {
        /// The directory of a run
        dir: PathBuf,
    },
    /// Explain a command; `config [KEY]`: the keys of config, schema and network file; `exit-codes`
    #[command(after_help = "Examples:
  dzoa help run
  dzoa help config                     every key
  dzoa help config schema.row_norm     one of them; `schema` for all of a table
  dzoa help exit-codes                 what scripts see")]
    Help {
        /// A command, `config` and a key, or `exit-codes`
        topic: Vec<String>,
    },
    /// Print shell completions
    #[command(after_help = "Example:
  dzoa completions bash > ~/.local/share/bash-completion/completions/dzoa")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write a manual page for every command into DIR, for packages
    #[command(hide = true)]
    Man {
        /// Where to write
        dir: PathBuf,
    },
}

/// A config, where to write, and how to print: what every command on a config takes.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// The config; without one, the paper's example
    pub config: Option<PathBuf>,
    /// Change one value of the config: a.b.c=value (TOML if it parses, else a string)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Where to write [default: below runs/, named after the config, numbered if that exists]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as one JSON object on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// Flags of `dzoa run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Config and output.
    #[command(flatten)]
    pub common: ConfigArgs,
    /// Charge the ledgers in DIR, one per agent: they go on from what earlier runs spent
    #[arg(long, value_name = "DIR")]
    pub ledger: Option<PathBuf>,
    /// Start new ledgers: only for rows about which nothing was ever released
    #[arg(long, requires = "ledger")]
    pub new_ledger: bool,
    /// The lifetime budget of new ledgers, at the run's delta: what may ever be spent on the rows
    #[arg(long, value_name = "EPSILON", value_parser = positive, requires = "new_ledger")]
    pub budget: Option<f64>,
    /// Begin although the budget does not last for all rounds, and stop where it ends
    #[arg(long, requires = "ledger")]
    pub spend_what_is_left: bool,
    /// Keep every value of programs in DIR, and go on from those that are there: a run that was
    /// killed asks no point twice (the same as run.journal)
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Print the plan (every chosen number, noise, charges, messages) and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Refuse to run unless the config's mechanism has a guarantee
    #[arg(long, conflicts_with = "not_private")]
    pub private: bool,
    /// Run the same config without its mechanism, to see what privacy costs: nothing is protected
    #[arg(long, conflicts_with = "ledger")]
    pub not_private: bool,
}

/// Flags of `dzoa check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The config of `dzoa run`; without one, and without --network, the paper's example
    #[arg(conflicts_with = "network")]
    pub config: Option<PathBuf>,
    /// The network file of `dzoa agent` and `dzoa launch` instead
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,
    /// Which of its agents this is, with --data [default: all whose files it names]
    #[arg(long, requires = "network")]
    pub name: Option<String>,
    /// The rows of that agent, or a .toml with `file` and how that is written
    #[arg(long, value_name = "FILE", requires = "name")]
    pub data: Option<PathBuf>,
    /// Where ca.pem, NAME.pem and NAME.key are
    #[arg(long, value_name = "DIR", requires = "name")]
    pub certs: Option<PathBuf>,
    /// Where the signatures NAME.signature.json of all sites are, which are needed unless every
    /// address is loopback [default: the directory of the certificates]
    #[arg(long, value_name = "DIR", requires = "certs")]
    pub signatures: Option<PathBuf>,
    /// The site's own limits: a study beyond them is refused
    #[arg(long, value_name = "FILE", requires = "name")]
    pub policy: Option<PathBuf>,
    /// The ledger that would be charged: the agent's FILE, or the DIR of `dzoa run --ledger`
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,
    /// Where it would write
    #[arg(long, visible_alias = "state", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Change one value of the config or network file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// Flags of `dzoa key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// The agent's or router's name in the network file
    #[arg(long)]
    pub name: String,
    /// Where to write NAME.key and NAME.request.pem; a key that is there stays
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Flags of `dzoa certs`.
#[derive(Debug, Args)]
pub struct CertsArgs {
    /// The network file
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Where to write ca.pem, ca.key and NAME.pem for every agent; NAME.key too without --sign
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Sign these requests of `dzoa key`, and make no key
    #[arg(long, value_name = "REQUEST", num_args = 1..)]
    pub sign: Vec<PathBuf>,
    /// Days that the agents' certificates are valid
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=825))]
    pub days: u16,
}

/// Flags of `dzoa agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The network file, the same for all agents
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Which of its agents this is
    #[arg(long)]
    pub name: String,
    /// Print this agent's plan (every chosen number, noise, charges, messages) and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Its rows, or a .toml with `file` and how that is written; not with data.synthetic
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Where its journal and results live; a second start goes on from there
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Where ca.pem, NAME.pem and NAME.key are
    #[arg(long, value_name = "DIR")]
    pub certs: PathBuf,
    /// Where the signatures NAME.signature.json of all sites are, which are needed unless every
    /// address is loopback [default: the directory of the certificates]
    #[arg(long, value_name = "DIR")]
    pub signatures: Option<PathBuf>,
    /// The site's own limits: a study beyond them is refused
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The ledger of its rows. A mechanism with a guarantee needs it, or --dataset
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// The data set, as its owner calls it [its ledger is below the home directory, unless
    /// --ledger says where]
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Begin a new ledger: only for rows about which nothing was ever released
    #[arg(long)]
    pub new_ledger: bool,
    /// The lifetime budget of a new ledger, at the run's delta: what may ever be spent on the rows
    #[arg(long, value_name = "EPSILON", value_parser = positive, requires = "new_ledger")]
    pub budget: Option<f64>,
    /// Begin although the budget does not last for all rounds, and stop where it ends
    #[arg(long)]
    pub spend_what_is_left: bool,
    /// Release from these rows without a guarantee (mechanisms `none` and `intrinsic`) to other
    /// machines
    #[arg(long)]
    pub allow_unprotected: bool,
    /// Let the group read what this agent writes; without it only its owner can
    #[arg(long)]
    pub group_readable: bool,
    /// Stop before anything is charged unless the roster of all agents has this digest
    #[arg(long, value_name = "DIGEST")]
    pub roster: Option<dzoa::privacy::Digest>,
    /// Keep root.key when joint sums are over; without it the key is erased: with it, whoever
    /// recorded what was sent can subtract this agent's noise
    #[arg(long)]
    pub keep_root: bool,
    /// Where to listen, if not at the address in the network file
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Serve Prometheus metrics here: PORT (on loopback) or HOST:PORT
    #[arg(long, value_name = "ADDR", value_parser = metrics_address)]
    pub metrics: Option<std::net::SocketAddr>,
    /// How to log
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Change one value of the network file; every agent must be given the same
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Stop when stdin ends: how `launch` takes its agents along, however it ends
    #[arg(long, hide = true)]
    pub stop_with_stdin: bool,
    /// For tests: append every frame to this file before it is sent
    #[arg(long, hide = true, value_name = "FILE")]
    pub record_frames: Option<PathBuf>,
}

/// How to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum LogFormat {
    Text,
    Json,
}

/// Flags of `dzoa launch`.
#[derive(Debug, Args)]
pub struct LaunchArgs {
    /// The network file; a port 0 in all its addresses is replaced by a free one
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// The rows of one agent, or a .toml with `file` and how that is written
    #[arg(long = "data", value_name = "NAME=FILE")]
    pub data: Vec<String>,
    /// Change one value of the network file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Where to write [default: below runs/, named after the network, numbered if that exists]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as one JSON object on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Print the plan (every chosen number, noise, charges, messages) and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Flags of `dzoa audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Config and output.
    #[command(flatten)]
    pub common: ConfigArgs,
    /// Runs under each of the two data sets
    #[arg(long, default_value_t = 2000, value_parser = count)]
    pub trials: usize,
    /// Rounds that the attacker sees [default: 1 for intrinsic, all for the others]
    #[arg(long, value_parser = rounds)]
    pub rounds: Option<u64>,
    /// The attacked agent [default: the one with the fewest neighbours]
    #[arg(long)]
    pub agent: Option<String>,
    /// Confidence of the lower bound
    #[arg(long, default_value_t = 0.95, value_parser = open_unit)]
    pub confidence: f64,
    /// Skip the controls (identical data sets, weakened noise)
    #[arg(long)]
    pub no_controls: bool,
    /// Others that pool their keys against the agent, of joint sums [default: as planned for]
    #[arg(long, value_name = "T")]
    pub colluders: Option<u32>,
    /// For tests of the audit: scale the added noise, keep the claim
    #[arg(long, hide = true, default_value_t = 1.0, value_parser = positive)]
    pub noise_scale: f64,
}

/// Flags of `dzoa compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Config and output.
    #[command(flatten)]
    pub common: ConfigArgs,
    /// Who is compared, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        default_value = "joint-gradient,d-zoa:output,d-zoa:scalar,dp-admm,p-admm,dp-gd,admm"
    )]
    pub algorithms: String,
    /// Total epsilons of whole runs
    #[arg(long, value_name = "E", num_args = 1.., allow_negative_numbers = true)]
    #[arg(default_values_t = [0.5, 2.0, 8.0], value_parser = positive)]
    pub epsilon: Vec<f64>,
    /// delta of whole runs [default: the config's, or 1e-5]
    #[arg(long, value_parser = open_unit)]
    pub delta: Option<f64>,
    /// Trials that are reported
    #[arg(long, default_value_t = 20, value_parser = count)]
    pub trials: usize,
    /// Draws that every setting is tuned on
    #[arg(long, default_value_t = 3, value_parser = count)]
    pub tuning_trials: usize,
}

/// A model and rows for it.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// model.json of a run
    #[arg(long, value_name = "FILE")]
    pub model: PathBuf,
    /// Rows in the format of the model's schema; `-` for standard input, or a .toml with `file` and
    /// how it is written
    pub file: PathBuf,
}

/// Flags of `dzoa predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// Model and file.
    #[command(flatten)]
    pub model: ModelArgs,
    /// A column that names the rows: it is carried along [those of the kind "id" always are]
    #[arg(long = "id", value_name = "COLUMN")]
    pub ids: Vec<String>,
}

/// `dzoa ledger ...`
#[derive(Debug, Subcommand)]
pub enum LedgerAction {
    /// List every release and what is left of the budget
    Show {
        /// The ledger
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Carry a ledger of version 0.2.3 or older over to today's format, with every charge
    Migrate {
        /// The ledger; the old one is kept beside it, with the ending .format-1
        file: PathBuf,
        /// The data set, as its owner calls it
        #[arg(long, value_name = "NAME")]
        dataset: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check that no entry was changed, and print the head of the chain
    Verify {
        /// The ledger
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// The commands that open a network, of which only `dzoa-agent` knows how.
#[derive(Debug)]
pub enum NetworkCommand {
    /// `dzoa check --network`, and that file
    Check(CheckArgs, PathBuf),
    /// `dzoa key`
    Key(KeyArgs),
    /// `dzoa certs`
    Certs(CertsArgs),
    /// `dzoa study`
    Study(StudyAction),
    /// `dzoa agent`
    Agent(AgentArgs),
    /// `dzoa launch`
    Launch(LaunchArgs),
}

/// `dzoa schema ...`
#[derive(Debug, Subcommand)]
pub enum SchemaAction {
    /// Draft a schema from data files, on stdout. It looks at the data, and says so
    Infer {
        /// Data files of the same layout
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The column to be predicted [default: the last]
        #[arg(long, value_name = "COLUMN")]
        target: Option<String>,
    },
    /// Print the JSON Schema of configs and network files, by which editors complete and check
    #[command(after_help = "Example:
  dzoa schema json > dzoa.schema.json

With `#:schema ./dzoa.schema.json` as its first line, a config is completed and checked by
editors that know TOML (Taplo, Even Better TOML).")]
    Json,
}
