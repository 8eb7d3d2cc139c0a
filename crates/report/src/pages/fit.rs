//! How well the model fits the rows: for their holder only.

use super::facts;
use crate::fit::{measured_on, summary_facts};
use crate::summary::Summary;
use dzoa::privacy::Statement;
use dzoa::run::evaluate::{Calibration, Confusion};
use maud::{Markup, html};

/// The measures, marked as what they are; nothing where none was taken.
pub fn section(summary: &Summary) -> Markup {
    let Some(fit) = &summary.fit else { return html! {} };
    html! {
        section aria-labelledby="fit" {
            h2 id="fit" { "How well it fits" }
            p {
                span.unprotected { (Statement::UNPROTECTED_VALUE) }
                " Measured " (measured_on(summary)) "; new rows fit less well."
            }
            div.pair {
                div { (facts::rows(summary_facts(summary))) }
                div {
                    @if let Some(confusion) = &fit.confusion { (confusion_table(confusion)) }
                    @if let Some(calibration) = &fit.calibration { (deciles(calibration)) }
                }
            }
        }
    }
}

fn confusion_table(confusion: &Confusion) -> Markup {
    html! {
        table.confusion {
            caption { "Rows by true and predicted class" }
            tr { td {} th scope="col" { "predicted +" } th scope="col" { "predicted \u{2212}" } }
            tr {
                th scope="row" { "truly +" }
                td { (confusion.true_positives) } td { (confusion.false_negatives) }
            }
            tr {
                th scope="row" { "truly \u{2212}" }
                td { (confusion.false_positives) } td { (confusion.true_negatives) }
            }
        }
    }
}

fn deciles(calibration: &Calibration) -> Markup {
    html! {
        details.numbers {
            summary { "Calibration in deciles of the predicted probability" }
            table {
                tr {
                    th scope="col" { "rows" } th scope="col" { "predicted" }
                    th scope="col" { "observed" }
                }
                @for group in &calibration.groups {
                    tr {
                        td { (group.rows) } td { (format!("{:.3}", group.predicted)) }
                        td { (format!("{:.3}", group.observed)) }
                    }
                }
            }
        }
    }
}
