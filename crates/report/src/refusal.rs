//! What is said when there is no plan: the one place that adds the way out.

use dzoa::baselines::Broken;
use dzoa::guarantee::NoGuarantee;
use dzoa::plan::{Decider, Refused};
use dzoa_table::Error;

/// Why there is no plan, and what to do about it.
pub fn refused(refused: Refused) -> Error {
    match &refused {
        Refused::NoGuarantee { decider: Decider::Mechanism { name, in_loop }, error } => {
            Error::input(format!("`privacy.mechanism` is `{name}`, but {error}"))
                .hint(guarantee_hint(error, *in_loop))
        }
        Refused::NoGuarantee { decider: Decider::Algorithm(entry), error } => {
            Error::input(format!("`algorithm.name` is `{}`, but {error}", entry.name))
                .hint(own_noise_hint(error, entry.reads("ridge")))
        }
        Refused::NoGuarantee { decider: Decider::Sums(name), error } => {
            Error::input(format!("`algorithm.name` is `{name}`, but {error}"))
                .hint(sums_hint(error))
        }
        Refused::NoSums { .. } => Error::input(refused.to_string())
            .hint("set privacy.mechanism = \"joint\" (exact), or \"none\""),
        Refused::OnlySums { .. } => Error::input(refused.to_string()).hint(
            "set algorithm.name = \"auto\", \"joint-gradient\", \"joint-newton\" or \
             \"joint-values\"",
        ),
        Refused::NoShares(_) | Refused::NoRound(_) => Error::input(refused.to_string())
            .hint("every agent needs a name of its own, rows, and a budget above the grid"),
        Refused::Broken { broken, clips } => {
            Error::input(format!("`algorithm.name`: {broken}")).hint(broken_hint(broken, *clips))
        }
        Refused::Failed { .. } => Error::run(refused.to_string())
            .hint("try the program by hand: docs/black-box.md shows what it is sent"),
        Refused::PerAgent { .. } => Error::input(refused.to_string())
            .hint("give one number for all agents, or one for each"),
        Refused::NotPositive { .. } => {
            Error::input(refused.to_string()).hint("leave it out: a public rule chooses")
        }
        Refused::NoLoop { .. } => Error::input(refused.to_string())
            .hint("set privacy.mechanism = \"output\" or \"none\", or algorithm.name = \"d-zoa\""),
        Refused::NoIntervals { .. } => Error::input(refused.to_string()).hint(
            "leave it out; or --not-private, for the intervals of a run that nothing protects",
        ),
        Refused::NoInference(_) => {
            Error::input(refused.to_string()).hint("use loss = \"logistic\" or \"squared\"")
        }
        Refused::OnlyTogether(_) => {
            Error::input(refused.to_string()).hint("`dzoa run` simulates it")
        }
        Refused::RowsOfOthers => Error::input(refused.to_string()).hint(
            "give every agent's rows in the network file: agents = [{ name = \"a\", address = \
             \"...\", rows = 303 }, ...]; or set problem.scale = \"mean\"",
        ),
        Refused::NoOptimum => Error::input(refused.to_string()).hint("give a public bound, or 0"),
        Refused::Build(_) | Refused::Empty { .. } => {
            Error::input(refused.to_string()).hint("every agent needs rows and a neighbourhood")
        }
        Refused::Arranged
        | Refused::NoCertificate
        | Refused::NotPerSample
        | Refused::NotCounted
        | Refused::Samples { .. }
        | Refused::NeedsRows(_)
        | Refused::PenaltyElsewhere
        | Refused::Unmeasured => Error::input(refused.to_string())
            .hint("docs/black-box.md says what programs can be asked for"),
    }
}

fn guarantee_hint(error: &NoGuarantee, in_loop: bool) -> &'static str {
    match error {
        NoGuarantee::BudgetTooSmall { .. } if in_loop => {
            "raise privacy.total_epsilon, or take fewer rounds and inner steps"
        }
        NoGuarantee::NoLipschitz(_) => {
            "for regression use loss = \"huber\" or \"absolute\"; or the mechanism `scalar`, which \
             clips"
        }
        NoGuarantee::UnboundedRows(_) => {
            "set schema.rows_to_unit_ball = true: the loss's c1 holds for rows of norm at most 1"
        }
        NoGuarantee::Tolerance { .. } => "raise privacy.tolerance, or algorithm.rho",
        NoGuarantee::Steps { .. } => "raise algorithm.options.ridge",
        NoGuarantee::Hessian { .. } => {
            "raise algorithm.rho or privacy.total_epsilon, or take fewer rounds"
        }
        NoGuarantee::NotSmooth(_) => "use loss = \"logistic\" or \"huber\"",
        NoGuarantee::BudgetTooSmall { .. } => "raise privacy.total_epsilon, or take fewer rounds",
    }
}

/// For sums over all agents.
fn sums_hint(error: &NoGuarantee) -> &'static str {
    match error {
        NoGuarantee::NoLipschitz(_) => {
            "set privacy.clip: every row's gradient is clipped to that length; or use loss = \
             \"huber\" or \"absolute\""
        }
        NoGuarantee::UnboundedRows(_) => "set schema.rows_to_unit_ball = true, or privacy.clip",
        NoGuarantee::NotSmooth(_) => "use joint-gradient or joint-values",
        other => guarantee_hint(other, false),
    }
}

/// For an algorithm with noise of its own, with or without a ridge to raise.
fn own_noise_hint(error: &NoGuarantee, ridge: bool) -> &'static str {
    match error {
        NoGuarantee::BudgetTooSmall { .. } if ridge => {
            "raise algorithm.options.ridge, or privacy.total_epsilon"
        }
        NoGuarantee::Tolerance { .. } => "raise algorithm.options.ridge",
        NoGuarantee::BudgetTooSmall { .. } => {
            "raise privacy.total_epsilon or algorithm.rho, or take fewer rounds"
        }
        other => guarantee_hint(other, false),
    }
}

fn broken_hint(broken: &Broken, clips: bool) -> &'static str {
    match broken {
        Broken::Kinks { .. } => "use loss = \"logistic\" or \"huber\"",
        Broken::RegularizerKinks { .. } | Broken::NotStronglyConvex { .. } => {
            "use regularizer = \"l2\" with eta above 0"
        }
        Broken::NoBound { .. } if clips => "clip per-sample gradients: set algorithm.options.clip",
        Broken::NoBound { .. } => "for regression use loss = \"huber\"",
    }
}
