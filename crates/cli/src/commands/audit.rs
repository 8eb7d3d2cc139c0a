//! `dzoa audit`: attacks what a neighbour sees of one agent, and compares with the claim.

use crate::args::AuditArgs;
use crate::config::Config;
use crate::progress::Waiting;
use crate::{files, interrupt, terminal};
use dzoa_lab::{AuditSpec, audit as attack};
use dzoa_report::{to_json, write_file};
use dzoa_table::{Instances, Result};

/// Runs the attack and its controls, and writes what was found.
pub fn audit(args: &AuditArgs) -> Result<()> {
    let (config, rows) = Config::load_rows(args.common.config.as_deref(), &args.common.sets)?;
    let name = format!("{}-audit", config.name);
    let out = files::output_directory(args.common.out.as_deref(), &name)?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config.instances(&rows), &streams)?;
    let spec = AuditSpec {
        name: &config.name,
        run: &config.spec,
        problem: &instances.problem(&streams.trial(0)),
        graph: &instances.graph,
        bounded_targets: rows.schema.is_some(),
        trials: args.trials,
        rounds: args.rounds,
        agent: args.agent.as_deref(),
        confidence: args.confidence,
        noise_scale: args.noise_scale,
        controls: !args.no_controls,
        colluders: args.colluders,
    };
    interrupt::listen();
    let waiting = Waiting::default();
    let found = pool.install(|| attack(&spec, &streams, &waiting, interrupt::flag()))?;
    write_file(&out, "audit.svg", found.svg)?;
    write_file(&out, "audit.json", &to_json(&found.report)?)?;
    if args.common.json {
        return terminal::print_json(&found.report);
    }
    let files = format!("\n  files in {}: audit.json, audit.svg\n", out.display());
    terminal::print_words(&(found.report.describe() + &files))
}
