//! What only a real site has: how long its rounds took, and what its ledger still allows.

use super::chart::{Look, PageChart, PageCurve};
use super::facts;
use super::trace::Points;
use crate::summary::Summary;
use crate::units::readable;
use dzoa::run::evaluate::quantile;
use maud::{Markup, html};

/// Seconds of every round, as far as the rounds were seen to end.
pub fn round_seconds(summary: &Summary) -> Points {
    let before = std::iter::once(&(0, 0.0)).chain(&summary.reached);
    let steps = before.zip(&summary.reached);
    steps
        .filter(|(before, now)| now.0 > before.0)
        .map(|(before, now)| (now.0 as f64, (now.1 - before.1) / (now.0 - before.0) as f64))
        .collect()
}

/// How long rounds took.
pub fn chart(summary: &Summary) -> Option<PageChart> {
    // The first round has the waiting for the others in it.
    let points = round_seconds(summary).split_off(usize::from(summary.reached.len() > 2));
    if points.len() < 2 {
        return None;
    }
    let chart = PageChart::new("pace", "Time of a round", "round m", "seconds");
    let words = "Waiting for neighbours included; without the first round, which waits for all.";
    Some(chart.with(PageCurve::line("seconds", points).look(Look::Main)).words(words).finish())
}

/// The section of a site's page; nothing for a simulation.
pub fn section(summary: &Summary, chart: Option<&PageChart>) -> Markup {
    let facts = site_facts(summary);
    if facts.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="site" {
            h2 id="site" { "This site" }
            (facts::rows(facts))
            @if let Some(chart) = chart { (chart.figure()) }
        }
    }
}

fn site_facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !summary.is_of_one_site() {
        return facts;
    }
    facts.push(("agent", summary.agent_names.join(", ")));
    let seconds: Vec<f64> = round_seconds(summary).iter().map(|point| point.1).collect();
    if !seconds.is_empty() {
        let [half, most] = [0.5, 1.0].map(|share| readable(quantile(&seconds, share)));
        facts.push(("seconds of a round", format!("{half} (median; the longest {most})")));
    }
    facts.push(("vectors sent", summary.messages.to_string()));
    let Some(statement) = summary.privacy.first().map(|entry| &entry.statement) else {
        return facts;
    };
    if let (Some(budget), Some(spent)) = (statement.lifetime_budget, statement.epsilon_lifetime) {
        let spent = readable(spent);
        let all = format!("{spent} of {} (at delta {:e})", budget.epsilon, budget.delta);
        facts.push(("epsilon charged to the ledger", all));
    }
    facts
}
