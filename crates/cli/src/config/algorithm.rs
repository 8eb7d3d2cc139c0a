//! `[algorithm]`: outer and inner loop.

use super::{Privacy, only_with, per_agent};
use dzoa::baselines::{self, AlgorithmEntry, Options};
use dzoa::plan::{
    Algorithm, Auto, Claimed, DataKind, JointEntry, PerAgent, Reported, RunSpec, Suited,
};
use dzoa_table::{Result, Section, TomlNode, Value};
use std::time::Duration;

/// `algorithm.name`, where the rules choose.
const AUTO: &str = "auto";

/// `algorithm.mode`
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// A round waits for all neighbours.
    Synchronous,
    /// A round goes on with those heard within a time limit. In a simulation nobody is late.
    Partial {
        /// The limit.
        limit: Duration,
        /// How many rounds a neighbour may be behind.
        lag: u64,
    },
}

/// Reads the section into a spec; the network's self-loop is filled in by the caller.
pub(super) fn read(
    section: &Section<'_>,
    privacy: &Privacy,
    public: Suited<'_>,
) -> Result<(RunSpec, Mode)> {
    let kind = public.kind;
    let mut names = Algorithm::names_for(kind);
    names.push(AUTO);
    let name = match section.choice("name", &names)? {
        Some(AUTO) => privacy.mechanism.algorithm_for(public),
        name => name.unwrap_or("d-zoa"),
    };
    let options = section.section("options")?;
    let algorithm = match (baselines::entry(name), JointEntry::named(name), name) {
        (Some(entry), ..) => Algorithm::Baseline(entry, read_options(entry, &options)?),
        (None, Some(entry), _) => {
            let known = dzoa_table::read_options(&options, entry.options.iter().copied())?;
            Algorithm::Joint(entry, known)
        }
        (None, None, "admm") => Algorithm::Admm,
        (None, None, _) => Algorithm::DZoa,
    };
    if privacy.mechanism.only_sums() && algorithm.joint().is_none() {
        let mechanism = privacy.mechanism.name();
        let problem = format!("is `{name}`, and mechanism `{mechanism}` protects joint sums only");
        return Err(section
            .error("name", &problem)
            .hint("set algorithm.name = \"auto\", or privacy.mechanism = \"output\""));
    }
    let asked = RunSpec::new(algorithm, privacy.mechanism.clone());
    let spec = read_spec(section, &options, asked, kind)?;
    let mode = mode(section)?;
    options.finish()?;
    section.finish()?;
    check_directions(&options, &spec)?;
    match spec.algorithm {
        Algorithm::DZoa => check_d_zoa(section, &options, &spec, kind)?,
        Algorithm::Admm => check_admm(section, &options, &spec)?,
        Algorithm::Joint(entry, _) => check_joint(section, entry, privacy)?,
        Algorithm::Baseline(entry, _) => check_baseline(section, entry, privacy)?,
    }
    Ok((spec, mode))
}

fn read_spec(
    section: &Section<'_>,
    options: &Section<'_>,
    asked: RunSpec,
    kind: DataKind,
) -> Result<RunSpec> {
    let algorithm = &asked.algorithm;
    // For programs everything may be left to rules; for rows all but what the paper chose.
    let boxes = kind != DataKind::Rows;
    let joint = algorithm.joint().is_some();
    let ruled = boxes || joint || !matches!(asked.mechanism.claimed(), Claimed::Nominal { .. });
    // Whoever leaves the algorithm to the rules leaves its numbers to them, unless they say one.
    let open = boxes || (ruled && section.optional::<String>("name")?.as_deref() == Some(AUTO));
    let missing = |key| section.required::<f64>(key).expect_err("the key is missing");
    let rho = match is_auto(section, "rho", ruled)? {
        true => Auto::Auto,
        false => match section.positive("rho")? {
            None if algorithm.reads_rho() && !open => return Err(missing("rho")),
            rho => Auto::from(rho),
        },
    };
    let fixed = algorithm.entry().is_some_and(|entry| entry.rounds.is_some());
    let rounds = match is_auto(section, "rounds", ruled)? {
        true => Auto::Auto,
        false => match section.count("rounds")? {
            None if !fixed && !open && !joint => return Err(missing("rounds")),
            rounds => Auto::from(rounds.map(|rounds| rounds as u64)),
        },
    };
    let own = algorithm.entry().is_none() && !joint;
    let arranged = |key: &'static str| match own {
        true => options.optional::<bool>(key),
        false => Ok(None),
    };
    let given_rounds = !rounds.is_auto();
    let spec = RunSpec {
        rho,
        rounds,
        antithetic: arranged("antithetic")?.into(),
        orthogonal: arranged("orthogonal")?.into(),
        inner_steps: section.count("inner_steps")?.into(),
        directions: section.count("directions")?.into(),
        smoothing: section.positive("smoothing")?.into(),
        inner_average: section.or("inner_average", false)?,
        step: per_agent(section, "step")?.into(),
        lipschitz: per_agent(section, "lipschitz")?.unwrap_or(PerAgent::All(1.0)),
        warm_start: section.optional::<bool>("warm_start")?.into(),
        reported: reported(section)?,
        // Nothing can be certified about a program.
        tolerance: Auto::Given(match own && !boxes {
            true => options.positive("tolerance")?,
            false => None,
        }),
        ..asked
    };
    // The documented defaults of T, J and u1 on rows are the paper's; a rule that chooses the
    // rounds chooses them, too.
    Ok(if given_rounds && !boxes && !joint { spec.with_paper_loop() } else { spec })
}

/// What the agents report.
fn reported(section: &Section<'_>) -> Result<Auto<Reported>> {
    let words = ["auto", "none", "last-half", "network"];
    Ok(match section.choice("average", &words)? {
        Some("none") => Auto::Given(Reported::Last),
        Some("last-half") => Auto::Given(Reported::LastHalf),
        Some("network") => Auto::Given(Reported::Network),
        _ => Auto::Auto,
    })
}

/// What the named algorithm understands; any other key is refused by the section.
fn read_options(entry: &'static AlgorithmEntry, section: &Section<'_>) -> Result<Options> {
    let options = dzoa_table::read_options(section, entry.options.iter().copied())?;
    (entry.check)(&options)
        .map_err(|error| section.error(error.key, &error.problem).hint(error.hint))?;
    Ok(options)
}

fn check_directions(options: &Section<'_>, spec: &RunSpec) -> Result<()> {
    for (key, given) in [("antithetic", spec.antithetic), ("orthogonal", spec.orthogonal)] {
        let d_zoa = spec.algorithm.is_zeroth_order();
        only_with(options, key, !given.is_auto(), "algorithm.name = \"d-zoa\"", d_zoa)?;
        if given == Auto::Given(true) && spec.mechanism.needs_independent_directions() {
            return Err(options
                .error(key, "is true, but this mechanism counts on independent directions")
                .hint("remove it, or set privacy.mechanism = \"output\" or \"none\""));
        }
    }
    Ok(())
}

fn check_baseline(section: &Section<'_>, entry: &AlgorithmEntry, privacy: &Privacy) -> Result<()> {
    let name = entry.name;
    let nominal = matches!(privacy.mechanism.claimed(), Claimed::Nominal { .. });
    match privacy.mechanism.needs_of_loop() {
        Some(_) if nominal && entry.nominal => Ok(()),
        Some(needs) => {
            Err(section.error("name", &format!("is `{name}`, which has no {needs}")).hint(
                "set privacy.mechanism = \"output\" (its own noise, accounted exactly) or \"none\"",
            ))
        }
        None if privacy.keys.tolerance.is_some() => Err(section
            .error("name", &format!("is `{name}`, which does not read privacy.tolerance"))
            .hint("remove privacy.tolerance")),
        None => Ok(()),
    }
}

/// Joint sums read few of the keys of a loop, and have mechanisms of their own.
fn check_joint(section: &Section<'_>, entry: &JointEntry, privacy: &Privacy) -> Result<()> {
    let name = entry.name;
    if privacy.mechanism.sums().is_none() {
        let mechanism = privacy.mechanism.name();
        let problem = format!("is `{name}`, whose sums mechanism `{mechanism}` does not protect");
        return Err(section
            .error("name", &problem)
            .hint("set privacy.mechanism = \"joint\" (exact), or \"none\""));
    }
    let unread = ["rho", "inner_steps", "smoothing", "step", "warm_start", "average"];
    let given = unread.into_iter().find(|key| section.node(key).is_some());
    let given = given
        .or((!entry.values_only && section.node("directions").is_some()).then_some("directions"));
    match given {
        Some(key) => Err(section
            .error(key, &format!("has no effect on `{name}`"))
            .hint("remove it; algorithm.options has the numbers of joint sums")),
        None => Ok(()),
    }
}

fn check_admm(section: &Section<'_>, options: &Section<'_>, spec: &RunSpec) -> Result<()> {
    if let Some(needs) = spec.mechanism.needs_of_loop() {
        return Err(section
            .error("name", &format!("is `admm`, whose exact inner solver has no {needs}"))
            .hint(
                "set privacy.mechanism = \"output\" or \"none\", or algorithm.name = \"d-zoa\"",
            ));
    }
    if spec.mechanism.certifies() && spec.tolerance != Auto::Given(None) {
        return Err(options
            .error("tolerance", "has no effect with mechanism `output`")
            .hint("under output the tolerance is part of the guarantee: privacy.tolerance"));
    }
    only_with(section, "step", !spec.step.is_auto(), "algorithm.name = \"d-zoa\"", false)
}

fn check_d_zoa(
    section: &Section<'_>,
    options: &Section<'_>,
    spec: &RunSpec,
    kind: DataKind,
) -> Result<()> {
    let claimed = spec.mechanism.claimed();
    if spec.tolerance != Auto::Given(None) && claimed != Claimed::Nothing {
        return Err(options
            .error("tolerance", "has no effect with this mechanism")
            .hint("under output it is privacy.tolerance; the others take all their steps"));
    }
    let owner = "another mechanism: intrinsic takes it from Corollary 1";
    let nominal = matches!(claimed, Claimed::Nominal { .. }) && kind == DataKind::Rows;
    only_with(section, "step", nominal && !spec.step.is_auto(), owner, false)
}

/// `mode = "partial"` with `round_limit` (seconds) and `lag` (rounds).
fn mode(section: &Section<'_>) -> Result<Mode> {
    const LIMIT_SECONDS: f64 = 1.0;
    const LAG: usize = 10;
    let partial = section.choice("mode", &["synchronous", "partial"])? == Some("partial");
    let limit = section.positive("round_limit")?;
    let lag = section.count("lag")?;
    only_with(section, "round_limit", limit.is_some(), "mode = \"partial\"", partial)?;
    only_with(section, "lag", lag.is_some(), "mode = \"partial\"", partial)?;
    if !partial {
        return Ok(Mode::Synchronous);
    }
    let limit = Duration::try_from_secs_f64(limit.unwrap_or(LIMIT_SECONDS))
        .map_err(|_| section.error("round_limit", "must be a number of seconds"))?;
    Ok(Mode::Partial { limit, lag: lag.unwrap_or(LAG) as u64 })
}

/// Whether a key says "auto", which only mechanisms with a budget know.
fn is_auto(section: &Section<'_>, key: &'static str, guaranteed: bool) -> Result<bool> {
    match section.node(key) {
        Some(TomlNode { value: Value::String(word), .. }) if word == "auto" && guaranteed => {
            Ok(true)
        }
        Some(TomlNode { value: Value::String(word), .. }) if word == "auto" => Err(section
            .error(key, "is \"auto\", and the paper's mechanism has no rule for it")
            .hint("give a number, or another privacy.mechanism")),
        _ => Ok(false),
    }
}
