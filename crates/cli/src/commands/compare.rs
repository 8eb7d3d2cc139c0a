//! `dzoa compare`: every algorithm at the same exact total epsilon, tuned at equal effort.

use crate::args::CompareArgs;
use crate::config::Config;
use crate::progress::Waiting;
use crate::{files, interrupt, terminal};
use dzoa::streams::Streams;
use dzoa_lab::{CompareSpec, Compared, Contender, compare as measure};
use dzoa_report::{comparison_html, to_json, write_file, write_png};
use dzoa_table::{Error, Instances, Result};
use std::path::Path;

/// Tunes, runs and compares, and writes what came out.
pub fn compare(args: &CompareArgs) -> Result<()> {
    let (config, rows) = Config::load_rows(args.common.config.as_deref(), &args.common.sets)?;
    let contenders = Contender::parse_list(&args.algorithms)?;
    let name = format!("{}-compare", config.name);
    let out = files::output_directory(args.common.out.as_deref(), &name)?;
    if out.join("comparison.json").exists() {
        return Err(Error::input(format!("--out {}: holds another comparison", out.display()))
            .hint("choose another directory; nothing is overwritten"));
    }
    let seed = config.run.seed.unwrap_or(1);
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config.instances(&rows), &Streams::from_seed(seed))?;
    let spec = CompareSpec {
        name: &config.name,
        base: &config.spec,
        instances: &instances,
        contenders: &contenders,
        epsilons: &args.epsilon,
        delta: args.delta,
        trials: args.trials,
        tuning_trials: args.tuning_trials,
        seed,
        given: config.given.clone(),
    };
    interrupt::listen();
    let waiting = Waiting::default();
    let compared = pool.install(|| measure(&spec, &waiting, interrupt::flag()))?;
    let drawn = write(&out, &compared)?;
    if args.common.json {
        return terminal::print_json(&compared.comparison);
    }
    terminal::print_words(&format!(
        "{}\n  files in {}: report.html, comparison.json, comparison.csv, comparison.md, \
         pareto.svg, {drawn}tuning.csv\n",
        compared.text,
        out.display()
    ))
}

/// Writes all files; of those that not every build writes, it says which it wrote.
fn write(out: &Path, compared: &Compared) -> Result<&'static str> {
    let mut drawn = "";
    write_file(out, "comparison.csv", &compared.csv)?;
    write_file(out, "comparison.md", &compared.markdown)?;
    write_file(out, "tuning.csv", &compared.tuning)?;
    if let Some(svg) = &compared.pareto {
        write_file(out, "pareto.svg", svg)?;
        if write_png(out, "pareto.png", svg)? {
            drawn = "pareto.png, ";
        }
    }
    write_file(out, "report.html", &comparison_html(&compared.comparison)?)?;
    // Last, so that a directory with it is a whole comparison.
    write_file(out, "comparison.json", &to_json(&compared.comparison)?)?;
    Ok(drawn)
}
