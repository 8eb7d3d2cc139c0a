//! The deterministic half of an audit: does any pair of rows move the noiseless update farther than
//! claimed?

use dzoa::plan::{AgentPlan, Claimed, Data, Plan};
use dzoa::primal::Scalar;
use dzoa::worst_case::{Attacked, LargestMove, of_baseline, of_output, of_scalar, of_sums};
use dzoa_report::refused;
use dzoa_table::Result;
use std::sync::Arc;

/// The largest move that was found at agent `k`, beside its claim; `None` where no sensitivity is
/// claimed.
pub fn largest_move(plan: &Plan, k: usize) -> Result<Option<LargestMove>> {
    let (Claimed::Exact { rows_per_person, .. }, Data::Rows(problem)) =
        (plan.claimed(), plan.data())
    else {
        return Ok(None);
    };
    let attacked = Attacked { problem, k, rows_per_person };
    let AgentPlan { neighbourhood, inner, charges } = plan.at(k);
    // Refused here once, so that nothing is left to fail below.
    if plan.baseline().map_err(refused)?.is_some() {
        let fresh = || plan.baseline().ok().flatten().expect("built above");
        return Ok(of_baseline(&attacked, &charges.events, plan.rounds(), fresh));
    }
    if let Some(joint) = plan.joint() {
        let method = joint.method().map_err(refused)?;
        return Ok(of_sums(&attacked, &*method, joint.weight(&plan.graph().names()[k])));
    }
    Ok(match (plan.clip(), inner) {
        (Some(clip), Some(inner)) => {
            let samples = Arc::new(problem.risk(k));
            let scalar = Scalar { inner: *inner, clip, samples };
            of_scalar(&attacked, &charges.events[0], &scalar)
        }
        (None, inner) => {
            let quadratic = plan.admm().rho * *neighbourhood as f64;
            of_output(&attacked, &charges.events[0], quadratic, *inner, charges.tau)
        }
        (Some(_), None) => None,
    })
}
