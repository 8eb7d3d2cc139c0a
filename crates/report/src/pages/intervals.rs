//! The forest plot: every coefficient with its interval, as a table that is the picture, too.

use super::chart::number;
use crate::intervals::{Interval, Intervals, probability};
use crate::summary::Summary;
use crate::units::readable;
use dzoa_table::INTERCEPT;
use maud::{Markup, html};

/// Rows of the table.
const MOST_ROWS: usize = 60;

/// The section, where intervals were asked for.
pub fn section(summary: &Summary) -> Option<Markup> {
    let intervals = summary.intervals.as_ref()?;
    Some(html! {
        section aria-labelledby="intervals" {
            h2 id="intervals" { "Intervals" }
            @match &intervals.refused {
                Some(refused) => p { "There are none: " (refused) "." },
                None => (table(intervals)),
            }
        }
    })
}

/// What half of a column's range does: columns can be compared by it, and the constant cannot.
fn over_half(one: &Interval) -> Option<[f64; 3]> {
    let found = one.found.filter(|found| found.low.is_finite() && found.high.is_finite())?;
    if one.name == INTERCEPT {
        return None;
    }
    Some([found.low, found.estimate, found.high].map(|value| value * one.half_range))
}

fn table(intervals: &Intervals) -> Markup {
    let percent = 100.0 * intervals.confidence;
    let shown = &intervals.coefficients[..intervals.coefficients.len().min(MOST_ROWS)];
    let odds = shown.iter().any(|one| one.odds_ratio.is_some());
    let drawn = || shown.iter().filter_map(over_half);
    let low = drawn().map(|[low, ..]| low).fold(0.0, f64::min);
    let high = drawn().map(|[.., high]| high).fold(0.0, f64::max);
    // Halves, so that the width of huge numbers does not overflow.
    let width = high / 2.0 - low / 2.0;
    let place = |value: f64| {
        let share = if width > 0.0 { (value / 2.0 - low / 2.0) / width } else { 0.5 };
        100.0 * share.clamp(0.0, 1.0)
    };
    html! {
        p {
            (percent) " % intervals over " (intervals.rows) " rows, " (intervals.about) ". "
            "Dot and bar: estimate and interval over half of a number's public range, so that \
             columns can be compared; the numbers are per unit. "
            @if intervals.coefficients.len() > shown.len() {
                "The first " (shown.len()) " of " (intervals.coefficients.len())
                " are shown; model.json has all. "
            }
        }
        table.coefficients.forest aria-label="Coefficients with their intervals" {
            thead { tr {
                th scope="col" { "column" }
                th.track scope="col" { span { (number(low)) } span { (number(high)) } }
                th scope="col" { "estimate" }
                th.range scope="col" { "std. error" }
                th.range scope="col" { "p" }
                th scope="col" { @if odds { "odds ratio" } @else { (percent) " %" } }
            } }
            @for one in shown { (row(one, place)) }
        }
    }
}

fn row(one: &Interval, place: impl Fn(f64) -> f64) -> Markup {
    let Some(found) = one.found else {
        return html! {
            tr {
                th scope="row" title=(one.name) { (one.name) }
                td.track { (one.lacks.as_deref().unwrap_or_default()) }
                td { "–" }
                td.range { "–" }
                td.range { "–" }
                td { "–" }
            }
        };
    };
    let interval = format!("{} to {}", readable(found.low), readable(found.high));
    html! {
        tr {
            th scope="row" title=(one.name) { (one.name) }
            td.track title={ (one.name) ": " (readable(found.estimate)) ", " (interval) } {
                @if let Some([low, middle, high]) = over_half(one) {
                    div {
                        i.zero style={ "left:" (format!("{:.2}%", place(0.0))) } {}
                        i.bar style={
                            "left:" (format!("{:.2}%", place(low)))
                            ";right:" (format!("{:.2}%", 100.0 - place(high)))
                        } {}
                        i.dot style={ "left:" (format!("{:.2}%", place(middle))) } {}
                    }
                }
            }
            td { (readable(found.estimate)) }
            td.range { (readable(found.standard_error)) }
            td.range { (probability(found.p_value)) }
            td {
                @match one.odds_ratio {
                    Some([odds, low, high]) => {
                        (readable(odds)) " (" (readable(low)) " to " (readable(high)) ")"
                    }
                    None => { (readable(found.estimate)) " (" (interval) ")" }
                }
            }
        }
    }
}
