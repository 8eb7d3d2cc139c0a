//! The numbers that a reader looks for first.

use crate::summary::Summary;
use crate::units::readable;
use dzoa::run::evaluate::quantile;
use maud::{Markup, html};

/// The facts as a table.
pub fn table(summary: &Summary) -> Markup {
    rows(facts(summary))
}

/// Labels and values as a table.
pub fn rows(facts: Vec<(&'static str, String)>) -> Markup {
    html! {
        table.facts {
            @for (label, value) in facts {
                tr { th scope="row" { (label) } td { (unbroken(&value)) } }
            }
        }
    }
}

/// A value and the remark in brackets behind it: a line may end between them, but not inside.
fn unbroken(value: &str) -> Markup {
    match value.find(" (") {
        Some(at) => html! { span { (&value[..at]) } " " span { (&value[at + 1..]) } },
        None => html! { span { (value) } },
    }
}

/// Label and value of what a reader looks for first.
pub fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if summary.redundant {
        // Other coefficients make the same predictions: only the objective tells how far it is.
        if let (Some(found), Some(least)) = (summary.objective, summary.optimum) {
            let above = (found - least) / least.abs().max(f64::MIN_POSITIVE);
            facts.push(("objective above its least", format!("{} of it", readable(above))));
        }
    } else if let Some(error) = summary.final_error {
        facts.push(("normalised error", readable(error)));
    }
    let errors: Vec<f64> = summary.final_errors.iter().copied().flatten().collect();
    if errors.len() > 1 && !summary.redundant {
        facts.push(("its median over trials", readable(quantile(&errors, 0.5))));
    }
    if let Some(objective) = summary.objective {
        facts.push(("objective", format!("{objective:.9}")));
    }
    if let Some(best) = &summary.best {
        let value = readable(best.objective);
        facts.push(("best objective seen", format!("{value} (in round {})", best.round)));
    }
    if let Some(optimum) = summary.optimum {
        let known =
            |label: &str, value: f64| format!("{label} {:.0e}", value.max(f64::EPSILON * 1e-4));
        let gap = match (summary.optimum_gap, summary.optimum_stationarity) {
            (Some(gap), _) => known("certified to", gap),
            (None, Some(stationarity)) => known("stationary to", stationarity),
            (None, None) => "no certificate".into(),
        };
        facts.push(("centralised optimum", format!("{optimum:.9} ({gap})")));
    }
    if let Some(consensus) = summary.consensus {
        facts.push(("agents agree to", readable(consensus)));
    }
    if summary.oracle_calls > 0 {
        facts.push(("objective values asked for", summary.oracle_calls.to_string()));
    }
    facts.push(("seconds for the rounds", format!("{:.3}", summary.seconds)));
    facts
}
