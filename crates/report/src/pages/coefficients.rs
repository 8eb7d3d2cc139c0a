//! The coefficients with their names: mean over the agents as a dot, their spread as a bar, sorted
//! by size.

use super::chart::number;
use crate::summary::Summary;
use crate::units::readable;
use maud::{Markup, html};

/// Rows of the table.
const MOST_ROWS: usize = 40;

/// One coefficient over the agents.
struct Spread<'a> {
    name: &'a str,
    mean: f64,
    low: f64,
    high: f64,
}

/// The table, which is the chart, too.
pub fn table(summary: &Summary) -> Markup {
    let mut all: Vec<Spread<'_>> =
        summary.columns.iter().enumerate().map(|(p, name)| spread(summary, p, name)).collect();
    all.sort_by(|a, b| b.mean.abs().total_cmp(&a.mean.abs()));
    let zeros = all.iter().filter(|row| row.low == 0.0 && row.high == 0.0).count();
    let shown = &all[..all.len().min(MOST_ROWS)];
    let low = shown.iter().map(|row| row.low).fold(0.0, f64::min);
    let high = shown.iter().map(|row| row.high).fold(0.0, f64::max);
    // Halves, so that the width of huge numbers does not overflow.
    let width = high / 2.0 - low / 2.0;
    let percent = |value: f64| {
        let share = if width > 0.0 { (value / 2.0 - low / 2.0) / width } else { 0.5 };
        100.0 * share.clamp(0.0, 1.0)
    };
    let trial = if summary.trials > 1 { " of the first trial" } else { "" };
    html! {
        p {
            @if summary.own_units.as_ref().is_some_and(|own| !own.rows_to_unit_ball) {
                "For columns scaled to their public bounds, so that they can be compared; the \
                 data's own units are below. "
            }
            "Dot: mean over the agents" (trial) ". Bar: from the smallest to the largest agent. "
            @if zeros > 0 { (zeros) " of " (all.len()) " are zero at every agent. " }
            @if all.len() > shown.len() {
                "The " (shown.len()) " largest of " (all.len()) " are shown; model.json has all. "
            }
        }
        table.coefficients aria-label="Coefficients: mean and spread over the agents" {
            thead { tr {
                th scope="col" { "column" }
                th.track scope="col" { span { (number(low)) } span { (number(high)) } }
                th scope="col" { "mean" }
                th.range scope="col" { "smallest" }
                th.range scope="col" { "largest" }
            } }
            @for row in shown {
                tr {
                    th scope="row" title=(row.name) { (row.name) }
                    td.track title={
                        (row.name) ": " (number(row.mean))
                        ", from " (number(row.low)) " to " (number(row.high))
                    } {
                        div {
                            i.zero style={ "left:" (place(percent(0.0))) } {}
                            i.bar style={
                                "left:" (place(percent(row.low)))
                                ";right:" (place(100.0 - percent(row.high)))
                            } {}
                            i.dot style={ "left:" (place(percent(row.mean))) } {}
                        }
                    }
                    td { (number(row.mean)) }
                    td.range { (number(row.low)) }
                    td.range { (number(row.high)) }
                }
            }
        }
    }
}

/// The coefficients in the units of the file.
pub fn own_units(summary: &Summary) -> Option<Markup> {
    let own = summary.own_units.as_ref().filter(|own| !own.rows_to_unit_ball)?;
    let odds = own.coefficients.iter().any(|own| own.odds_ratio.is_some());
    let found: Vec<_> = own.coefficients.iter().filter(|own| own.value != 0.0).collect();
    Some(html! {
        p {
            "In the data's own units: what one unit of a number adds"
            @if odds { " to the log-odds, and by what it multiplies the odds" }
            ", or a level in place of the one that is left out. model.json has the formula."
        }
        table.facts aria-label="Coefficients in the data's own units" {
            tr { th scope="row" { "(intercept)" } td { (readable(own.intercept)) } }
            @for own in found.iter().take(MOST_ROWS) {
                tr {
                    th scope="row" { (own.name) }
                    td {
                        (readable(own.value))
                        @if let Some(odds) = own.odds_ratio { " (odds × " (readable(odds)) ")" }
                    }
                }
            }
        }
    })
}

fn place(percent: f64) -> String {
    format!("{percent:.2}%")
}

fn spread<'a>(summary: &Summary, p: usize, name: &'a str) -> Spread<'a> {
    let values = || summary.coefficients.iter().filter_map(|beta| beta.get(p).copied());
    let n = values().count().max(1) as f64;
    Spread {
        name,
        mean: values().map(|value| value / n).sum(),
        low: values().reduce(f64::min).unwrap_or(0.0),
        high: values().reduce(f64::max).unwrap_or(0.0),
    }
}
