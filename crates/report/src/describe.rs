//! The result of a run in a screenful of text.

use crate::fit::{measured_on, summary_facts};
use crate::intervals::Intervals;
use crate::pages::facts;
use crate::summary::{NOT_TO_BE_SHARED, Summary};
use dzoa::privacy::{Claim, Statement};
use std::fmt::Write as _;
use std::path::Path;

/// The summary on the terminal.
pub fn describe(summary: &Summary, out: &Path) -> String {
    let mut text = String::new();
    let trials = summary.trials_in_words();
    let seeded = if summary.seeded { ", seeded: for tests" } else { "" };
    let _ = writeln!(
        text,
        "{}: {} on {}, {} agents, {} columns, {} rounds, {trials}{seeded}\n",
        summary.name,
        summary.algorithm,
        summary.loss,
        summary.agents,
        summary.features,
        summary.rounds_done
    );
    for (label, value) in facts(summary) {
        let _ = writeln!(text, "  {label:<28}{value}");
    }
    let measured = summary_facts(summary);
    if !measured.is_empty() {
        let unprotected = Statement::UNPROTECTED_VALUE;
        let _ = writeln!(text, "\n  {} ({unprotected})", measured_on(summary));
    }
    for (label, value) in measured {
        let _ = writeln!(text, "  {label:<28}{value}");
    }
    own_units(summary, &mut text);
    text.extend(summary.intervals.as_ref().map(Intervals::describe));
    warnings(summary, &mut text);
    let _ = writeln!(text, "\n  privacy: {}", summary.privacy_statement());
    if summary.privacy.first().is_some_and(|entry| entry.c1_holds == Some(false)) {
        let _ = writeln!(text, "  {}", Statement::c1_does_not_hold(&summary.loss));
    }
    if summary.step_raised {
        let _ = writeln!(text, "  u_2 was raised to what the objective's values can resolve.");
    }
    if summary.moved_inside > 0 {
        let _ = writeln!(
            text,
            "  {} of the releases lay outside the public ball and were moved into it.",
            summary.moved_inside
        );
    }
    let unprotected = match summary.claim() {
        Claim::Exact => "",
        Claim::Nominal => " (no guarantee covers them)",
        Claim::None => " (nothing protects them)",
    };
    let _ = writeln!(
        text,
        "\n  files in {}:\n  {NOT_TO_BE_SHARED}: report.html, summary.json, trace.csv\n  for \
         others{unprotected}: report.shared.html, model.json",
        out.display()
    );
    text
}

/// What is wrong with the model, if anything.
fn warnings(summary: &Summary, text: &mut String) {
    if !summary.redundant && summary.final_error.is_some_and(|error| error > summary.agents as f64)
    {
        text.push_str(match summary.hears_everybody() {
            true => {
                "\n  The model ended farther from the optimum than zero is: the noise is too much \
                 for so few rows.\n  A larger total_epsilon, more rows, fewer columns or a larger \
                 problem.eta help.\n"
            }
            false => {
                "\n  The agents ended farther from the optimum than zero is: the steps are too \
                 long (raise\n  algorithm.lipschitz, or lower algorithm.step), or the noise is \
                 too much for so few rows.\n"
            }
        });
    }
    if is_constant(summary) {
        text.push_str(
            "\n  Every coefficient is zero: the model predicts the same for all rows. A smaller \
             problem.eta\n  lets columns in.\n",
        );
    }
    if let Some(divergence) = &summary.divergence {
        let _ = writeln!(
            text,
            "\n  {divergence}. summary.json has that point (`best`). Lower algorithm.step, or \
             raise external.shortest_step if values are noisy."
        );
    }
}

/// Whether a model of more than a constant is none.
fn is_constant(summary: &Summary) -> bool {
    let columns = summary.own_units.as_ref().map(|own| own.coefficients.as_slice());
    columns.is_some_and(|columns| {
        !columns.is_empty() && columns.iter().all(|column| column.value == 0.0)
    })
}

/// What an agent says in the end.
pub fn where_the_model_is(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "done: the model is {dir}/model.json; {dir}/report.html is for the holder of the rows, \
         {dir}/report.shared.html for others"
    )
}

/// The model in the units of the file.
fn own_units(summary: &Summary, text: &mut String) {
    /// Lines on a screen.
    const MOST: usize = 24;
    let Some(own) = &summary.own_units else { return };
    if own.rows_to_unit_ball {
        text.push_str(
            "\n  Every row is divided by its own length (schema.rows_to_unit_ball): coefficients \
             have no\n  unit; model.json has the formula.\n",
        );
        return;
    }
    let lines = own.lines();
    text.push_str("\n  per unit of the column\n");
    for line in lines.iter().take(MOST) {
        let _ = writeln!(text, "  {line}");
    }
    if lines.len() > MOST {
        let _ = writeln!(text, "  and {} more in model.json", lines.len() - MOST);
    }
}
