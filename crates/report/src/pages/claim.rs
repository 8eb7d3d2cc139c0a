//! The privacy claim at the top: three looks that differ in word, shape, border and colour.

use crate::summary::{NOT_TO_BE_SHARED, Summary};
use dzoa::privacy::{Claim, Statement};
use maud::{Markup, PreEscaped, html};

/// A shield with a tick, a warning triangle, an open padlock: different outlines, not only colours.
fn icon(claim: Claim) -> PreEscaped<&'static str> {
    PreEscaped(match claim {
        Claim::Exact => {
            concat!(
                r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true">"#,
                r#"<path d="M24 3 42 9v14c0 11-7 18-18 22C13 41 6 34 6 23V9z""#,
                r#" fill="currentColor"/>"#,
                r#"<path d="m15 24 6.5 6.5L34 18" fill="none" stroke="var(--card)""#,
                r#" stroke-width="5"/></svg>"#,
            )
        }
        Claim::Nominal => {
            concat!(
                r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true">"#,
                r#"<path d="M24 5 45 43H3z" fill="none" stroke="currentColor" stroke-width="4""#,
                r#" stroke-linejoin="round" stroke-dasharray="7 4"/>"#,
                r#"<path d="M24 18v13m0 4v4" stroke="currentColor" stroke-width="4.5"/></svg>"#,
            )
        }
        Claim::None => {
            concat!(
                r#"<svg class="icon" viewBox="0 0 48 48" aria-hidden="true">"#,
                r#"<path d="M29 22V13a7.5 7.5 0 0 1 15 0v5" fill="none" stroke="currentColor""#,
                r#" stroke-width="4"/>"#,
                r#"<rect x="4" y="22" width="31" height="22" rx="3" fill="none""#,
                r#" stroke="currentColor" stroke-width="4"/></svg>"#,
            )
        }
    })
}

/// The claim, once, for all to see.
pub fn banner(summary: &Summary) -> Markup {
    let statement = summary.statement();
    let (claim, headline) = (statement.claim, statement.headline());
    html! {
        aside class={ "claim " (claim.word()) } role="note" aria-label=(headline) {
            (icon(claim))
            div {
                p.headline { (headline) }
                p { (without_word(&summary.privacy_statement())) }
                p.plain { (statement.in_plain_words()) }
            }
        }
    }
}

/// Who may see the page of the holder of the rows: it shows more than what was exchanged.
pub fn owner_only() -> Markup {
    notice("holder", NOT_TO_BE_SHARED, Statement::MEASURED_ON_ROWS)
}

/// Who may see the page of everybody else, and why.
pub fn may_be_shared(claim: Claim) -> Markup {
    let why = match claim {
        Claim::Exact => Statement::PROTECTED_ONLY,
        Claim::Nominal | Claim::None => Statement::NOTHING_PROTECTED,
    };
    notice("shared", "this page may be shared", why)
}

fn notice(look: &str, who: &str, why: &str) -> Markup {
    let (first, rest) = who.split_at(1);
    html! {
        aside class=(look) role="note" aria-label="Who may see this page" {
            strong { (first.to_uppercase()) (rest) "." }
            " " (why)
        }
    }
}

/// A claim in a table.
pub fn badge(claim: Claim) -> Markup {
    html! { span class={ "badge " (claim.word()) } { (claim.label()) } }
}

/// The statement without the word in capitals that the headline has already said.
fn without_word(statement: &str) -> String {
    let is_word = |word: &str| ["EXACT", "NOMINAL", "NONE"].contains(&word);
    let rest = statement.split_once(": ").filter(|(word, _)| is_word(word));
    let mut characters = rest.map_or(statement, |(_, rest)| rest).chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
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
