//! `dzoa report DIR`

use crate::terminal;
use dzoa_report::rewrite_pages;
use dzoa_table::Result;
use std::path::Path;

/// Writes the pages of a run anew.
pub fn report(dir: &Path) -> Result<()> {
    let lines = rewrite_pages(dir)?.into_iter().map(|page| format!("{}\n", page.display()));
    terminal::print(&lines.collect::<String>())
}
