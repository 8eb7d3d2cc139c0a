//! The privacy claim at the top: three looks that differ in word, shape, border and colour.

use crate::summary::Summary;
use dzoa::privacy::Claim;
use maud::{Markup, PreEscaped, html};

/// The class that gives a claim its look.
fn class(claim: Claim) -> &'static str {
    match claim {
        Claim::Nominal => "nominal",
        Claim::Exact => "exact",
        Claim::None => "none",
    }
}

/// A shield with a tick, a warning triangle, an open padlock: different outlines, not only colours.
fn icon(claim: Claim) -> PreEscaped<&'static str> {
    PreEscaped(match claim {
        Claim::Exact => {
            r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true"><path d="M24 3 42 9v14c0 11-7 18-18 22C13 41 6 34 6 23V9z" fill="currentColor"/><path d="m15 24 6.5 6.5L34 18" fill="none" stroke="var(--card)" stroke-width="5"/></svg>"#
        }
        Claim::Nominal => {
            r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true"><path d="M24 5 45 43H3z" fill="none" stroke="currentColor" stroke-width="4" stroke-linejoin="round" stroke-dasharray="7 4"/><path d="M24 18v13m0 4v4" stroke="currentColor" stroke-width="4.5"/></svg>"#
        }
        Claim::None => {
            r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true"><path d="M29 22V13a7.5 7.5 0 0 1 15 0v5" fill="none" stroke="currentColor" stroke-width="4"/><rect x="4" y="22" width="31" height="22" rx="3" fill="none" stroke="currentColor" stroke-width="4"/></svg>"#
        }
    })
}

/// The claim, once, for all to see.
pub fn banner(summary: &Summary) -> Markup {
    let claim = summary.claim();
    let promised = summary.privacy.iter().any(|entry| entry.epsilon_exact.is_some());
    let headline = match claim {
        Claim::Exact => "Privacy: exact guarantee",
        Claim::Nominal => "Privacy: nominal, not a guarantee",
        Claim::None if promised => "Privacy: none, no guarantee",
        Claim::None => "Privacy: none, not protected",
    };
    let statement = summary.privacy_statement();
    html! {
        aside class={ "claim " (class(claim)) } role="note" aria-label=(headline) {
            (icon(claim))
            div {
                p.headline { (headline) }
                p { (without_word(&statement)) }
                p.plain { (plain(summary, claim, promised)) }
            }
        }
    }
}

/// A claim in a table.
pub fn badge(claim: Claim) -> Markup {
    let words = match claim {
        Claim::Exact => "exact",
        Claim::Nominal => "nominal: no guarantee",
        Claim::None => "none",
    };
    html! { span class={ "badge " (class(claim)) } { (words) } }
}

/// The statement without the word in capitals that the headline has already said.
fn without_word(statement: &str) -> String {
    let is_word = |word: &str| ["EXACT", "NOMINAL", "NONE"].contains(&word);
    let rest = statement.split_once(": ").filter(|(word, _)| is_word(word));
    let mut characters = rest.map_or(statement, |(_, rest)| rest).chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// What it means for somebody whose row is in the data.
fn plain(summary: &Summary, claim: Claim, promised: bool) -> String {
    // Beyond this the factor is so large that only its being large says something.
    const WEAK: f64 = 8.0;
    let epsilon = summary.privacy.iter().filter_map(|entry| entry.epsilon_exact).reduce(f64::max);
    match (claim, epsilon) {
        (Claim::Exact, Some(epsilon)) => {
            let weak = if epsilon > WEAK { " That is a weak promise." } else { "" };
            format!(
                "In plain words: whatever anybody concludes from all messages together is at most {} times as likely with \
                 one row as with another in its place, but for a probability of delta.{weak}",
                factor(epsilon.exp()),
            )
        }
        (Claim::Exact, None) => "The summary does not say which epsilon.".into(),
        (Claim::Nominal, _) => "In plain words: do not rely on it. Treat what the agents exchanged as unprotected; the \
             mechanisms output and scalar keep what they promise."
            .into(),
        (Claim::None, _) if promised => {
            "In plain words: this is a rehearsal. Do not rely on its noise to protect anybody.".into()
        }
        (Claim::None, _) => {
            "In plain words: whoever reads the messages may learn about single rows.".into()
        }
    }
}

/// Three digits of a factor: nobody needs more.
fn factor(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value if value < 1e4 => format!("{value:.0}"),
        value => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_said_once() {
        assert_eq!(without_word("NONE: the run is: seeded."), "The run is: seeded.");
        assert_eq!(without_word("nothing: else"), "Nothing: else");
        assert_eq!(without_word(""), "");
    }
}
