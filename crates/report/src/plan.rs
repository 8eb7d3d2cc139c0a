//! A plan on the terminal: what `--dry-run` prints.

use dzoa::plan::{AgentOutline, Outline};
use std::fmt::Write as _;

/// Every chosen number, and what it costs, in at most 80 columns.
pub fn describe_plan(name: &str, plan: &Outline) -> String {
    let mut text = format!("{name}: the plan; nothing was computed or released\n\n");
    for (label, value) in facts(plan) {
        let _ = writeln!(text, "  {label:<14}{value}");
    }
    let names = plan.agents.iter().map(|agent| agent.name.chars().count());
    let width = names.max().unwrap_or(0).clamp(5, 16);
    let _ = writeln!(
        text,
        "\n  {:<width$} {:>8} {:>5} {:>9} {:>9} {:>19} {:>8}",
        "agent", "rows", "|N_k|", "step", "sensit.", "noise", "epsilon"
    );
    const MOST: usize = 20;
    for agent in plan.agents.iter().take(MOST) {
        text.push_str(&row(agent, width));
    }
    if plan.agents.len() > MOST {
        let _ = writeln!(text, "  and {} more; --json has all", plan.agents.len() - MOST);
    }
    text
}

fn facts(plan: &Outline) -> Vec<(&'static str, String)> {
    let agents = plan.agents.len();
    let shown = if agents == 1 { "agent" } else { "agents" };
    let mut facts = vec![
        ("algorithm", plan.algorithm.to_string()),
        ("mechanism", format!("{} ({})", plan.mechanism, plan.claim.of_mechanism())),
        ("problem", format!("{} loss, {} columns, {agents} {shown}", plan.loss, plan.features)),
    ];
    if let Some(eta) = plan.eta {
        facts.push(("eta", format!("{} (by rule)", short(eta))));
    }
    let rho = plan.rho.map(|rho| format!(", rho {}", short(rho))).unwrap_or_default();
    let start = if plan.warm_start { "warm" } else { "cold" };
    let own = if plan.self_loop { ", self-loop" } else { "" };
    facts.push(("rounds", format!("{}{rho}{own}, {start} start", plan.rounds)));
    if let (Some(t), Some(j), Some(u1)) = (plan.inner_steps, plan.directions, plan.smoothing) {
        facts.push(("inner loop", format!("T {t}, J {j}, u1 {}", short(u1))));
    }
    if let Some(when) = plan.steps {
        let label = if plan.rho.is_some() { "steps" } else { "rho and steps" };
        facts.push((label, when.into()));
    }
    if let Some(clip) = plan.clip {
        let then = if plan.clip_follows { " at first, then by how many rows it moves" } else { "" };
        facts.push(("clip", format!("{}{then}", short(clip))));
    }
    facts.push(("reports", plan.reports.into()));
    if plan.gossip_rounds > 0 {
        facts.push(("averaging", format!("{} rounds of gossip", plan.gossip_rounds)));
    }
    facts.push(("messages", format!("{} vectors, {}", plan.messages, size(plan.bytes))));
    if let Some(calls) = plan.oracle_calls {
        facts.push(("values", format!("at most {calls} of the objective")));
    }
    if let (Some(epsilon), Some(delta)) = (plan.epsilon_total, plan.delta) {
        let claim = plan.claim.of_total();
        facts.push(("total", format!("epsilon {} at delta {delta:e}, {claim}", short(epsilon))));
    }
    facts
}

fn row(agent: &AgentOutline, width: usize) -> String {
    let number = |value: Option<f64>| value.map_or("-".into(), short);
    let noise = match (agent.noise_first, agent.noise_last) {
        (Some(first), Some(last)) if first != last => {
            format!("{} to {}", short(first), short(last))
        }
        (first, _) => number(first),
    };
    let name: String = agent.name.chars().take(width).collect();
    format!(
        "  {name:<width$} {:>8} {:>5} {:>9} {:>9} {noise:>19} {:>8}\n",
        agent.samples,
        agent.neighbourhood,
        number(agent.step),
        number(agent.sensitivity),
        number(agent.epsilon_total),
    )
}

/// Three digits, as short as they can be written.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
