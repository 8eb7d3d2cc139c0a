//! report.html: one file that needs no network. What a run found, what it guarantees, and how it
//! got there.
//!
//! Rust writes everything that can be read without a script: the claim, the facts, the network, the
//! coefficients, and every chart's words and numbers. The script (`assets/report.js`, with uPlot)
//! draws the curves over that.

mod chart;
mod claim;
mod coefficients;
mod comparison;
mod convergence;
mod facts;
mod fit;
mod intervals;
mod network;
mod shell;
mod site;
mod spent;
mod thin;
mod trace;

pub use comparison::{Comparison, ComparisonRow, FitMedians, ParetoPoint};
pub use facts::facts;
pub use trace::{Points, Trace};

use crate::plot::convergence_svg;
use crate::summary::Summary;
use dzoa::privacy::Claim;
use dzoa_table::Result;
use maud::{Markup, PreEscaped, html};
use shell::Page;

/// The page of a run, for the holder of the rows. `rows` are other algorithms on the same problem,
/// where there are any.
pub fn run_html(summary: &Summary, trace: &Trace, rows: &[ComparisonRow]) -> Result<String> {
    let convergence = convergence::charts(summary, trace);
    let (spent, pace) = (spent::chart(summary, trace), site::chart(summary));
    let body = html! {
        (head(summary))
        (claim::owner_only())
        div.pair {
            section aria-labelledby="result" {
                h2 id="result" { "Result" }
                (facts::table(summary))
            }
            (network_section(summary))
        }
        (site::section(summary, pace.as_ref()))
        (fit::section(summary))
        section aria-labelledby="convergence" {
            h2 id="convergence" { "Convergence" }
            @if convergence.is_empty() {
                p {
                    "The trace holds no curve: no round was recorded, "
                    "or there is no reference to measure against."
                }
            }
            (without_script(summary))
            div.charts { @for chart in &convergence { (chart.figure()) } }
        }
        section aria-labelledby="privacy" {
            h2 id="privacy" { "Privacy of what was exchanged" }
            (claim::banner(summary))
            h3 { "Privacy spent" }
            (spent::words(summary))
            @if let Some(chart) = &spent { (chart.figure()) }
            (spent::table(summary))
        }
        (coefficients_section(summary))
        @if let Some(intervals) = intervals::section(summary) { (intervals) }
        @if !rows.is_empty() {
            section aria-labelledby="comparison" {
                h2 id="comparison" { "Comparison" }
                (comparison::table(rows))
            }
        }
        (config_section(&summary.config, &summary.settings))
    };
    let charts = convergence.into_iter().chain(spent).chain(pace).collect();
    Page { title: &summary.name, body, charts }.render()
}

/// The page of a run for everybody else: what [`Summary::shared`] leaves of it.
pub fn shared_html(summary: &Summary, trace: &Trace) -> Result<String> {
    let summary = &summary.shared();
    let exact = summary.claim() == Claim::Exact;
    let spent = spent::chart(summary, trace).filter(|_| exact);
    let body = html! {
        (head(summary))
        (claim::may_be_shared(summary.claim()))
        (claim::banner(summary))
        (network_section(summary))
        @if exact {
            section aria-labelledby="privacy" {
                h2 id="privacy" { "Privacy spent" }
                (spent::words(summary))
                @if let Some(chart) = &spent { (chart.figure()) }
                (spent::table(summary))
            }
            (coefficients_section(summary))
        }
        (config_section(&summary.config, &summary.settings))
    };
    Page { title: &summary.name, body, charts: spent.into_iter().collect() }.render()
}

fn head(summary: &Summary) -> Markup {
    html! {
        header {
            h1 { (summary.name) }
            p.sub { (subtitle(summary)) }
        }
    }
}

fn network_section(summary: &Summary) -> Markup {
    html! {
        section aria-labelledby="network" {
            h2 id="network" { "Network" }
            (network::figure(summary))
        }
    }
}

fn coefficients_section(summary: &Summary) -> Markup {
    html! {
        section aria-labelledby="coefficients" {
            h2 id="coefficients" { "Coefficients" }
            (coefficients::table(summary))
            @if let Some(own) = coefficients::own_units(summary) { (own) }
        }
    }
}

/// The page of a comparison: its verdict, the table, and error against epsilon.
pub fn comparison_html(comparison: &Comparison) -> Result<String> {
    let Comparison { title, setting, verdict, notes, rows, pareto, config } = comparison;
    let pareto = comparison::pareto(pareto, rows);
    let body = html! {
        header {
            h1 { (title) }
            p.sub { (setting) }
        }
        p.verdict { (verdict) }
        (claim::owner_only())
        @if let Some(chart) = &pareto {
            section aria-labelledby="trade-off" {
                h2 id="trade-off" { "Error against privacy" }
                (chart.figure())
            }
        }
        section aria-labelledby="comparison" {
            h2 id="comparison" { "Comparison" }
            (comparison::table(rows))
            @for note in notes { p { (note) } }
        }
        (config_section(config, &[]))
    };
    Page { title, body, charts: pareto.into_iter().collect() }.render()
}

fn subtitle(summary: &Summary) -> String {
    let trials = summary.trials_in_words();
    let seeded = if summary.seeded { ", seeded: for tests" } else { "" };
    format!(
        "{} on {} loss, mechanism {}: {} agents, {} columns, {} of {} rounds, {trials}, {}{seeded}",
        summary.algorithm,
        summary.loss,
        summary.mechanism,
        summary.agents,
        summary.features,
        summary.rounds_done,
        summary.rounds,
        summary.status,
    )
}

/// A still picture for a browser that runs no scripts.
fn without_script(summary: &Summary) -> Markup {
    html! {
        noscript {
            p { "The charts need JavaScript. Below each of them is its curve as a table." }
            @if let Some(svg) = convergence_svg(summary) {
                figure.still role="img" aria-label="normalised error against the round" {
                    (PreEscaped(svg))
                }
            }
        }
    }
}

fn config_section(config: &serde_json::Value, settings: &[String]) -> Markup {
    html! {
        section aria-labelledby="config" {
            h2 id="config" { "Config" }
            @if !settings.is_empty() {
                p { "As planned, to be pasted into a config or network file:" }
                pre.config tabindex="0" { (settings.join("\n")) }
                p { "As given:" }
            }
            pre.config tabindex="0" { (format!("{config:#}")) }
        }
    }
}
