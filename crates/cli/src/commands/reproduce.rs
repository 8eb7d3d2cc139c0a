//! `dzoa reproduce` and `dzoa merge`: the paper's figures, and those it should have had.

use crate::args::{MergeArgs, ReproduceArgs};
use crate::progress::Waiting;
use crate::{interrupt, terminal};
use dzoa_lab::ReproduceSpec;
use dzoa_table::Result;
use std::path::PathBuf;

/// Computes the trials that are not there yet, and draws what is complete.
pub fn reproduce(args: &ReproduceArgs) -> Result<()> {
    let out = match (&args.out, &args.shard) {
        (Some(out), _) => out.clone(),
        (None, None) => PathBuf::from("figures"),
        (None, Some(shard)) => {
            PathBuf::from(format!("figures-shard-{}-of-{}", shard.index, shard.count))
        }
    };
    let ReproduceArgs { figure, trials, shard, seed, .. } = args;
    let spec = ReproduceSpec { figure, trials: *trials, shard: *shard, seed: *seed, out };
    interrupt::listen();
    let (text, outcome) = dzoa_lab::reproduce(&spec, &Waiting::default(), interrupt::flag())?;
    terminal::print_words(&text)?;
    outcome
}

/// Joins the trials of several machines and draws their figures.
pub fn merge(args: &MergeArgs) -> Result<()> {
    terminal::print_words(&dzoa_lab::merge(&args.dirs, &args.out)?)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use dzoa::streams::Streams;
    use dzoa_lab::PaperProblem;
    use dzoa_table::Instances;

    #[test]
    fn figures_show_the_problem_that_a_run_without_a_config_has() {
        let (config, rows) = Config::load_rows(None, &[]).unwrap();
        for seed in [1, 2] {
            let streams = Streams::from_seed(seed);
            let instances = Instances::prepare(&config.instances(&rows), &streams).unwrap();
            let (run, figure) = (instances.problem(&streams), PaperProblem::draw(&streams));
            assert_eq!(format!("{run:?}"), format!("{figure:?}"));
            // A problem does not print its rows.
            assert!(run.agents == figure.agents);
            let edges = |graph: &dzoa::network::Graph| graph.edges().collect::<Vec<_>>();
            assert_eq!(edges(&instances.graph), edges(&PaperProblem::graph().unwrap()));
        }
    }
}
