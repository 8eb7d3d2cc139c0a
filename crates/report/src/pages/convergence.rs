//! The curves of a run: the paper's metric over trials, and what every agent does.

use super::chart::{Look, PageChart, PageCurve};
use super::thin;
use super::trace::{Points, Trace, over_agents};
use crate::summary::Summary;

const ROUND: &str = "round m";

/// Every chart that has something to show.
pub fn charts(summary: &Summary, trace: &Trace) -> Vec<PageChart> {
    let names = &summary.agent_names;
    let error = PageChart::new("error", "Error of every agent", ROUND, "‖βₖ − βᶜ‖² / ‖βᶜ‖²");
    let gap = PageChart::new("gap", "Objective gap of every agent", ROUND, "f(βₖ) − f(βᶜ)");
    let consensus = PageChart::new(
        "consensus",
        "Consensus: distance of every agent from the mean",
        ROUND,
        "‖βₖ − mean β‖",
    );
    let charts = [
        metric(summary),
        objective(trace),
        by_agent(error, names, &trace.error, summary.trials),
        by_agent(gap, names, &trace.objective_gap, summary.trials),
        // One agent always agrees with itself.
        by_agent(consensus, names, &trace.consensus, summary.trials).filter(|_| names.len() > 1),
    ];
    charts.into_iter().flatten().collect()
}

/// The paper's metric, the sum over the agents: mean and range over trials.
fn metric(summary: &Summary) -> Option<PageChart> {
    let points = |values: &[Option<f64>]| -> Points {
        let known = summary.error_rounds.iter().zip(values);
        known.filter_map(|(round, value)| Some((*round as f64, (*value)?))).collect()
    };
    let mean = points(&summary.error);
    if mean.is_empty() {
        return None;
    }
    let mut curve = PageCurve::line("normalised error", mean);
    let mut words = "The paper's metric, summed over the agents.".to_string();
    if summary.trials > 1 {
        curve = curve.spread(
            "smallest to largest trial",
            points(&summary.error_low),
            points(&summary.error_high),
        );
        words += &format!(" Mean of {} trials, and their range.", summary.trials);
    }
    let chart = PageChart::new(
        "metric",
        "Distance from the centralised optimum",
        ROUND,
        "Σₖ ‖βₖ − βᶜ‖² / ‖βᶜ‖²",
    );
    Some(chart.with(curve.look(Look::Main)).words(&words).finish())
}

/// The objective at the mean of the agents: all that a black box can show.
fn objective(trace: &Trace) -> Option<PageChart> {
    let points = trace.objective.iter().find(|points| !points.is_empty())?.clone();
    let chart =
        PageChart::new("objective", "Objective at the mean of the agents", ROUND, "Σₖ fₖ(mean β)");
    Some(chart.with(PageCurve::line("objective", points).look(Look::Main)).finish())
}

/// One curve per agent, their mean, and the range of all where not all are drawn.
fn by_agent(
    chart: PageChart,
    names: &[String],
    curves: &[Points],
    trials: usize,
) -> Option<PageChart> {
    let [low, mean, high] = over_agents(curves);
    if mean.is_empty() {
        return None;
    }
    let drawn = thin::agents(curves);
    let mut words = String::new();
    if trials > 1 {
        words += &format!("Every agent's mean over {trials} trials.");
    }
    let mut middle = PageCurve::line("mean of the agents", mean).look(Look::Main);
    if drawn.len() < curves.len() {
        middle = middle.spread("smallest to largest agent", low, high);
        let ends = |pick: fn(&f64, &f64) -> bool| {
            drawn.iter().copied().reduce(|best, k| {
                let last = |k: usize| curves[k].last().map_or(f64::NAN, |point| point.1);
                if pick(&last(k), &last(best)) { k } else { best }
            })
        };
        let name =
            |k: Option<usize>| k.and_then(|k| names.get(k)).map_or("?", String::as_str).to_string();
        words += &format!(
            " {} of {} agents are drawn: {}, which ends lowest, {}, which ends highest, \
             and others evenly between by their last value. The band spans all agents.",
            drawn.len(),
            curves.len(),
            name(ends(f64::lt)),
            name(ends(f64::gt)),
        );
    }
    let chart = drawn.iter().fold(chart.with(middle), |chart, &k| {
        let name = names.get(k).map_or("?", String::as_str);
        chart.with(PageCurve::line(name, curves[k].clone()))
    });
    Some(chart.words(&words).finish())
}
