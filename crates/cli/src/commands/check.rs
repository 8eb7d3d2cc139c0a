//! `dzoa check`: is everything ready? It releases nothing and writes nothing.

use crate::args::CheckArgs;
use crate::config::{Config, DataSpec};
use crate::files::output_directory;
use crate::objectives::Objectives;
use crate::terminal;
use dzoa_report::ledger_file::standing;
use dzoa_table::{Findings, Result};
use std::path::Path;

/// Looks at everything, and says all that is wrong.
pub fn check(args: &CheckArgs) -> Result<()> {
    let mut found = Findings::default();
    let start = of_config(args, &mut found)?;
    terminal::print_findings(found, &start)
}

/// Whether `dzoa run` could start, and its command.
fn of_config(args: &CheckArgs, found: &mut Findings) -> Result<String> {
    let (mut config, data) = Config::load(args.config.as_deref(), &args.sets)?;
    config.note = |_| {};
    let shown = args.config.as_ref().map_or(String::new(), |path| format!(" {}", path.display()));
    found.ok("config", "every key is known and has a value that it takes");
    if let Some(words) = config.unconfirmed(args.config.as_deref()) {
        found.warn("draft", &words);
    }
    let out = output_directory(args.out.as_deref(), &config.name);
    found.told("output", out.map(|out| format!("{} can be written", out.display())));
    if let DataSpec::Rows(rows) = &data
        && !found.sites(config.instances(rows).check_sites(&[]))
    {
        return Ok(String::new());
    }
    let streams = config.streams()?;
    let Some(objectives) = found.take("data", Objectives::new(&config, &data, &streams)) else {
        return Ok(String::new());
    };
    let forecast = objectives.forecast(&config.spec, &streams.trial(0));
    if let Some(forecast) = found.take("plan", forecast) {
        let (algorithm, mechanism) = (config.spec.algorithm.name(), config.spec.mechanism.name());
        let rounds = forecast.rounds();
        found.ok("plan", &format!("{algorithm} with mechanism {mechanism}, {rounds} rounds"));
        let names = forecast.graph().names().iter().zip(forecast.charges());
        for (name, charges) in names.filter(|_| args.ledger.is_some()) {
            let dir = args.ledger.as_deref().unwrap_or(Path::new(""));
            let path = dir.join(format!("{name}.ledger"));
            found.told(
                &format!("ledger {}", path.display()),
                standing(&path, charges.charged(rounds)),
            );
        }
    }
    Ok(format!("`dzoa run{shown}`"))
}
