//! `dzoa ledger show|verify`

use crate::args::LedgerAction;
use crate::error::Result;
use crate::ledger_file::read;
use serde_json::json;
use std::fmt::Write;

/// What was ever released about a data set, and what is left.
pub fn ledger(action: &LedgerAction) -> Result<()> {
    let (file, json, verify) = match action {
        LedgerAction::Show { file, json } => (file, *json, false),
        LedgerAction::Verify { file, json } => (file, *json, true),
    };
    // Reading verifies: a ledger that does not replay is refused with the line that does not fit.
    let ledger = read(file)?;
    let budget = ledger.budget();
    let spent = budget.map(|budget| ledger.epsilon(budget.delta));
    if json {
        return super::print_json(&json!({
            "entries": ledger.entries().len(), "head": ledger.head(), "claim": ledger.claim(),
            "budget": budget, "epsilon_spent": spent.filter(|spent| spent.is_finite()),
            "valid": true,
        }));
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {} releases, every entry fits the chain",
        file.display(),
        ledger.entries().len()
    );
    let _ = writeln!(text, "head   {}", ledger.head());
    match (budget, spent) {
        (Some(budget), Some(spent)) => {
            let _ = writeln!(
                text,
                "budget epsilon {} at delta {:e}: spent {spent:.6}, left {:.6} (not additive: what is left buys more than its difference)",
                budget.epsilon,
                budget.delta,
                (budget.epsilon - spent).max(0.0)
            );
        }
        _ => text.push_str("budget none\n"),
    }
    if !verify {
        for entry in ledger.entries() {
            let event = serde_json::to_string(&entry.event).unwrap_or_default();
            let _ = writeln!(text, "{:>6}  {}  {event}", entry.index, entry.note);
        }
    }
    super::print(&text)
}
