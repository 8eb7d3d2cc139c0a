//! The page for those who decide whether a site takes part: plain words, from the network file
//! alone.

use crate::network_file::NetworkFile;
use dzoa::plan::{Auto, Claimed, SumTerms};
use dzoa::privacy::Colluders;
use dzoa_table::{Feature, Schema};
use std::fmt::Write as _;

/// The page, as Markdown.
pub fn page(network: &NetworkFile, digest: &str) -> String {
    let title = format!("# Study {}\n\nStudy {digest}\n", network.config.name);
    let note = "This page was made from the network file. The file is what counts, and what every \
                site signs: any other file has another number above.\n";
    let parts = [
        title,
        section("Who takes part", &people(network)),
        section("What is asked", &question(network)),
        section("What leaves a site", &leaves(network)),
        section("What is promised to the people in the rows", &promise(network)),
        section("What is not promised", &caveats(network)),
        note.into(),
    ];
    parts.join("\n")
}

fn section(title: &str, lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    format!("## {title}\n\n{}\n", lines.join("\n"))
}

fn people(network: &NetworkFile) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for place in &network.places {
        lines.push(format!("{} ({})", place.name, place.address));
    }
    for router in &network.routers {
        lines.push(format!(
            "router {} ({}): passes messages on, has no rows, and cannot change what it carries",
            router.name, router.address
        ));
    }
    lines
}

fn question(network: &NetworkFile) -> Vec<String> {
    let NetworkFile { config, rows, .. } = network;
    let mut lines = vec![format!(
        "One model for all sites: {} loss, {} regulariser, by {}.",
        rows.problem.loss.name(),
        config.given["problem"]["regularizer"].as_str().unwrap_or("l1"),
        config.spec.algorithm.name()
    )];
    let Some(schema) = &rows.schema else {
        lines.push("Rows are generated: nobody's data take part.".into());
        return lines;
    };
    lines.push(outcome(schema));
    let columns: Vec<String> = columns(schema);
    lines.push(format!("Columns that are used, and no others: {}.", columns.join("; ")));
    lines
}

fn outcome(schema: &Schema) -> String {
    match schema.target_is_label() {
        true => {
            let [negative, positive] = schema.labels();
            let name = schema.target_name();
            format!("To be predicted: {name}, whether it is {positive} and not {negative}.")
        }
        false => format!("To be predicted: {}, a number.", schema.target_name()),
    }
}

/// Every column once, with its public bounds or levels.
fn columns(schema: &Schema) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for feature in schema.features() {
        let (column, said) = match &feature {
            Feature::Number { column, low, high } => {
                (column.clone(), format!("{column} from {low} to {high}"))
            }
            Feature::Level { column, level } => (column.clone(), format!("{column}: {level}")),
            Feature::Missing { column } => (column.clone(), format!("{column}: may be missing")),
        };
        match lines.iter_mut().find(|(known, _)| *known == column) {
            Some((_, line)) => {
                let more = said.split_once(": ").map_or(said.as_str(), |(_, more)| more);
                let _ = write!(line, ", {more}");
            }
            None => lines.push((column, said)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

fn leaves(network: &NetworkFile) -> Vec<String> {
    let spec = &network.config.spec;
    let rounds = match spec.rounds {
        Auto::Given(rounds) => format!("at most {rounds} times"),
        Auto::Auto => "as often as a public rule says before the first time".into(),
    };
    let masked = matches!(spec.mechanism.sums(),
        Some(SumTerms::Hidden { colluders, .. }) if colluders.masked(network.places.len()));
    let what = match (spec.algorithm.joint().is_some(), masked) {
        (true, true) => {
            "sums over all its rows, with its share of the noise, hidden so that only \
                         the total over all sites can be read"
        }
        (true, false) => "sums over all its rows, with noise",
        (false, _) => "the coefficients of its own model of the round",
    };
    let mut lines = vec![format!("Numbers, {rounds}: {what}. No row ever leaves.")];
    lines.push("How many rows it has, which counts as public.".into());
    lines.push("When it is there, and how long it takes.".into());
    lines
}

fn promise(network: &NetworkFile) -> Vec<String> {
    let mechanism = &network.config.spec.mechanism;
    match mechanism.claimed() {
        Claimed::Exact { budget, rows_per_person } => {
            let person = match rows_per_person {
                1 => "one row is replaced by another".into(),
                rows => format!("the {rows} rows of one person are replaced by others"),
            };
            vec![
                format!(
                    "EXACT: what is sent in the whole study is (epsilon {}, delta {:e})-\
                     differentially private for every site ({}).",
                    budget.epsilon,
                    budget.delta,
                    mechanism.name()
                ),
                format!(
                    "In words: where {person}, whatever anybody concludes from all that was sent \
                     becomes at most {:.3} times as likely, up to a probability of {:e}.",
                    up(budget.epsilon.exp()),
                    budget.delta
                ),
                against(network),
            ]
        }
        Claimed::Nominal { epsilon, delta } => vec![
            format!(
                "NOMINAL, which is no guarantee: the paper's epsilon {epsilon} and delta {delta:e} \
                 a round assume noise that is not there."
            ),
            "Nothing is promised that holds.".into(),
        ],
        Claimed::Nothing => {
            vec!["NOTHING: whoever sees what is sent can learn of single rows.".into()]
        }
    }
}

/// Three digits behind the point, never less than the value.
fn up(value: f64) -> f64 {
    (value * 1000.0).ceil() / 1000.0
}

fn against(network: &NetworkFile) -> String {
    let others = network.places.len().saturating_sub(1);
    match network.config.spec.mechanism.sums() {
        Some(SumTerms::Hidden { colluders: Colluders::AtMost(t), .. }) if t as usize >= others => {
            "It holds whatever the other sites do.".into()
        }
        Some(SumTerms::Hidden { colluders: Colluders::AtMost(0), .. }) => {
            "It holds against outsiders only: any other site can learn more.".into()
        }
        Some(SumTerms::Hidden { colluders: Colluders::AtMost(t), .. }) => format!(
            "On a condition: it holds against any {t} of the {others} other sites together, if \
             the rest run this program and keep their secrets, and as long as X25519 and ChaCha20 \
             are not broken. Against more of them it is weaker, by degrees that every report \
             states."
        ),
        _ => "It holds whatever the other sites do.".into(),
    }
}

fn caveats(network: &NetworkFile) -> Vec<String> {
    let mut lines = vec![
        "That the model is true of anybody, or useful: that is for the study to show.".into(),
        "That another site's numbers are honest: a site that lies can spoil the model, and no \
         site can see more of your rows by it."
            .into(),
        "Other studies on the same rows: what they send adds up, and the ledger of your site \
         counts it."
            .into(),
    ];
    if !network.routers.is_empty() {
        lines.push("Who talks to whom and when, which routers see.".into());
    }
    lines
}
