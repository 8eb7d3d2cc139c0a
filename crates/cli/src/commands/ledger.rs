//! `dzoa ledger show|verify|migrate`

use crate::args::LedgerAction;
use crate::terminal;
use dzoa::privacy::{Ledger, LedgerRecord};
use dzoa_report::ledger_file::{carry_over, read};
use dzoa_table::Result;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// What was ever released about a data set, and what is left.
pub fn ledger(action: &LedgerAction) -> Result<()> {
    match action {
        // Reading verifies: a ledger that does not replay is refused with the line that does not
        // fit.
        LedgerAction::Verify { file, json } => print(file, &read(file)?, *json, None),
        LedgerAction::Show { file, json } => {
            let ledger = read(file)?;
            print(file, &ledger, *json, Some(listed(&ledger)))
        }
        LedgerAction::Migrate { file, dataset, json } => {
            let (ledger, kept) = carry_over(file, dataset)?;
            let note = format!("the ledger of the old format is kept as {}\n", kept.display());
            print(file, &ledger, *json, Some(note))
        }
    }
}

fn print(file: &Path, ledger: &Ledger, json: bool, more: Option<String>) -> Result<()> {
    let (budget, releases) = (ledger.budget(), ledger.charges().count());
    let spent = budget.map(|budget| ledger.epsilon(budget.delta));
    let dataset = ledger.header().map(|header| header.dataset.as_str()).unwrap_or_default();
    if json {
        return terminal::print_json(&json!({
            "dataset": dataset, "entries": ledger.entries().len(), "releases": releases,
            "head": ledger.head(), "claim": ledger.claim(), "budget": budget,
            "epsilon_spent": spent.filter(|spent| spent.is_finite()), "valid": true,
        }));
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: data set {dataset}, {releases} releases; every entry fits the chain",
        file.display(),
    );
    let _ = writeln!(text, "head   {}", ledger.head());
    match (budget, spent) {
        (Some(budget), Some(spent)) => {
            let _ = writeln!(
                text,
                "budget epsilon {} at delta {:e}: spent {spent:.6}, left {:.6}\n       (not \
                 additive: what is left buys more than its difference)",
                budget.epsilon,
                budget.delta,
                (budget.epsilon - spent).max(0.0)
            );
        }
        _ => text.push_str("budget none\n"),
    }
    terminal::print_words(&(text + &more.unwrap_or_default()))
}

/// A line for every entry.
fn listed(ledger: &Ledger) -> String {
    let short = |text: String| text.chars().take(8).collect::<String>();
    let mut text = String::new();
    for entry in ledger.entries() {
        let what = match &entry.record {
            LedgerRecord::Begin(begin) => {
                let planned = begin.planned.map_or("no guarantee".into(), |planned| {
                    format!("at most epsilon {} at delta {:e}", planned.epsilon, planned.delta)
                });
                format!("run {} begins: {}, {planned}", short(begin.run.to_string()), begin.note)
            }
            LedgerRecord::Charge(charge) => {
                let event = serde_json::to_string(&charge.event).unwrap_or_default();
                let again = if charge.attempt > 0 { ", made anew" } else { "" };
                let run = short(charge.run.to_string());
                format!("run {run} round {}{again}  {event}", charge.round)
            }
            LedgerRecord::Witness { agent, seen } => {
                let head = short(seen.head.to_string());
                format!("saw {agent}'s ledger: {} entries, head {head}", seen.entries)
            }
            LedgerRecord::Migrated { from, entries, .. } => {
                format!("carried over from format {from}: the {entries} releases that follow")
            }
            other => format!("{other:?}"),
        };
        let _ = writeln!(text, "{:>6}  {what}", entry.index);
    }
    text
}
