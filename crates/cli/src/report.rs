//! report.html: one file, plain, works offline. The charts of a richer report come later.

use crate::error::{Error, Result};
use crate::plot;
use crate::summary::Summary;
use dzoa::privacy::Claim;
use std::fmt::Write;

/// Text that a browser shows as it is: names come from configs and data files.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8885; --nominal: #b45309; --exact: #047857; --none: #b91c1c }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } .sub { opacity: .7; margin-top: .2rem }
.claim { border-left: .5rem solid; padding: .6rem 1rem; margin: 1.2rem 0; background: #8881 }
.nominal { border-color: var(--nominal); border-left-style: dashed } .exact { border-color: var(--exact) }
.none { border-color: var(--none); border-left-style: dotted }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: right }
th:first-child, td:first-child { text-align: left }
figure { margin: 1rem 0; background: #fff; padding: .5rem } figure svg { width: 100%; height: auto }
pre { overflow-x: auto; background: #8881; padding: 1rem; font-size: 13px }
";

/// The page.
pub fn html(summary: &Summary) -> Result<String> {
    let claim = match summary.privacy.first().map(|entry| entry.claim) {
        Some(Claim::Nominal) => "nominal",
        Some(Claim::Exact) => "exact",
        _ => "none",
    };
    let mut page = String::new();
    let config = serde_json::to_string_pretty(&summary.config).unwrap_or_default();
    let write = |page: &mut String| -> std::fmt::Result {
        let name = escape(&summary.name);
        write!(
            page,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{name}: dzoa</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n\
             <p class=\"sub\">{} on {}: {} agents, {} columns, {} of {} rounds, {} trial(s), {}{}</p>\n\
             <p class=\"claim {claim}\"><strong>Privacy.</strong> {}</p>\n",
            escape(&summary.algorithm),
            escape(&summary.loss),
            summary.agents,
            summary.features,
            summary.rounds_done,
            summary.rounds,
            summary.trials,
            escape(&summary.status),
            if summary.seeded { ", seeded: for tests" } else { "" },
            escape(&summary.privacy_statement()),
        )?;
        page.push_str("<h2>Result</h2><div class=\"scroll\"><table>\n");
        for (label, value) in facts(summary) {
            writeln!(page, "<tr><td>{label}</td><td>{value}</td></tr>")?;
        }
        page.push_str("</table></div>\n");
        if let Some(svg) = plot::convergence(summary) {
            writeln!(
                page,
                "<h2>Convergence</h2><figure role=\"img\" aria-label=\"normalised error against \
                 round\">{svg}</figure>"
            )?;
        }
        page.push_str("<h2>Coefficients</h2><div class=\"scroll\"><table><tr><th>column</th>");
        for agent in &summary.agent_names {
            write!(page, "<th>{}</th>", escape(agent))?;
        }
        page.push_str("</tr>\n");
        for (p, column) in summary.columns.iter().enumerate() {
            write!(page, "<tr><td>{}</td>", escape(column))?;
            for beta in &summary.coefficients {
                write!(page, "<td>{:.4}</td>", beta.get(p).copied().unwrap_or_default())?;
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table></div>\n");
        writeln!(page, "<h2>Config</h2><pre>{}</pre>\n</body></html>", escape(&config))
    };
    write(&mut page).map_err(|error| Error::run(format!("report.html: {error}")))?;
    Ok(page)
}

/// Label and value of what a reader looks for first.
pub fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(error) = summary.final_error {
        facts.push(("normalised error", format!("{error:.3e}")));
    }
    let mut errors: Vec<f64> = summary.final_errors.iter().copied().flatten().collect();
    if errors.len() > 1 {
        errors.sort_by(f64::total_cmp);
        let middle = 0.5 * (errors[(errors.len() - 1) / 2] + errors[errors.len() / 2]);
        facts.push(("its median over trials", format!("{middle:.3e}")));
    }
    if let Some(objective) = summary.objective {
        facts.push(("objective", format!("{objective:.9}")));
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
        facts.push(("agents agree to", format!("{consensus:.2e}")));
    }
    if summary.oracle_calls > 0 {
        facts.push(("objective values asked for", summary.oracle_calls.to_string()));
    }
    let n = summary.accuracies.len() as f64;
    if n > 0.0 {
        let mean = summary.accuracies.iter().sum::<f64>() / n;
        let variance = summary.accuracies.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / n;
        let spread =
            if n > 1.0 { format!(" ± {:.4} over trials", variance.sqrt()) } else { String::new() };
        facts.push(("training accuracy", format!("{mean:.4}{spread}")));
    }
    facts.push(("seconds for the rounds", format!("{:.3}", summary.seconds)));
    facts
}
