//! Privacy spent over the rounds, against the budget, in the words that the claim allows.

use super::chart::{Look, PageChart, PageCurve, number};
use super::thin;
use super::trace::{Points, Trace, over_agents};
use crate::summary::{PrivacyEntry, Summary};
use dzoa::privacy::{Claim, CurveWords, Statement, Stressed};
use maud::{Markup, html};

/// The chart, where the trace knows what was spent.
pub fn chart(summary: &Summary, trace: &Trace) -> Option<PageChart> {
    let [smallest, _, largest] = over_agents(&trace.epsilon_spent);
    let (first, last) = (largest.first()?.0, largest.last()?.0);
    let curves = &trace.epsilon_spent;
    // Calibrated one by one, agents with the same budget differ in the last digits only.
    const ALIKE: f64 = 1.001;
    let alike = smallest.iter().zip(&largest).all(|(low, high)| high.1 <= low.1 * ALIKE);
    let CurveWords { title, axis, curve } = summary.claim().of_curve();
    let who = if alike { "every agent" } else { "largest of the agents" };
    let mut chart = PageChart::new("spent", title, "round m", axis)
        .linear()
        .dashed(summary.claim() != Claim::Exact)
        .with(PageCurve::line(format!("{curve}, {who}"), largest).look(Look::Main));
    if !alike {
        for k in thin::agents(curves) {
            let name = summary.agent_names.get(k).map_or("?", String::as_str);
            chart = chart.with(PageCurve::line(name, curves[k].clone()));
        }
    }
    if let Some(budget) = budget(summary) {
        let line: Points = vec![(first, budget), (last, budget)];
        let name = format!("budget {}", number(budget));
        chart = chart.with(PageCurve::line(name, line).look(Look::Limit));
    }
    Some(chart.finish())
}

/// The budget of the whole run, where the config gives one.
fn budget(summary: &Summary) -> Option<f64> {
    summary.config.pointer("/privacy/total_epsilon")?.as_f64().filter(|budget| *budget > 0.0)
}

/// What the chart means, in plain words.
pub fn words(summary: &Summary) -> Markup {
    let Stressed { before, strong, after } = summary.statement().of_spending();
    html! {
        p { (before) @if !strong.is_empty() { strong { (strong) } } (after) }
    }
}

/// What is known about every agent's privacy.
pub fn table(summary: &Summary) -> Markup {
    type Column = (&'static str, fn(&PrivacyEntry) -> Option<f64>);
    let columns: [Column; 10] = [
        ("ε per round", |entry| entry.statement.epsilon_per_round),
        ("ε by Theorem 2 (nominal)", |entry| entry.statement.epsilon_theorem2),
        ("ε by zCDP", |entry| entry.statement.epsilon_zcdp),
        ("ε by the Gaussian formula", |entry| entry.statement.epsilon_exact),
        ("ε of the ledger, earlier runs included", |entry| entry.statement.epsilon_lifetime),
        ("δ", |entry| entry.statement.delta),
        ("σ assumed", |entry| entry.sigma_assumed),
        ("σ measured", |entry| entry.sigma_measured),
        ("ε if the measured noise were Gaussian", |e| e.epsilon_if_measured_noise_were_gaussian),
        ("sensitivity", |entry| entry.sensitivity),
    ];
    let known: Vec<&Column> = columns
        .iter()
        .filter(|(_, get)| summary.privacy.iter().any(|entry| get(entry).is_some()))
        .collect();
    if known.is_empty() {
        return html! {};
    }
    let agents = summary.agent_names.iter().zip(&summary.privacy);
    html! {
        details.numbers {
            summary { "Every agent's numbers" }
            @if summary.claim() != Claim::Exact {
                p { (Statement::FIGURES_ON_PAPER) }
            }
            div.scroll tabindex="0" {
                table {
                    tr { th { "agent" } th { "claim" } @for (name, _) in &known { th { (name) } } }
                    @for (agent, entry) in agents {
                        tr {
                            th scope="row" { (agent) }
                            td { (super::claim::badge(entry.statement.claim)) }
                            @for (_, get) in &known {
                                td { (get(entry).map_or(String::new(), number)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
