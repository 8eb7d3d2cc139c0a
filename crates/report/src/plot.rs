//! Charts as SVG.

use crate::chart::{BLUE, RED, Style, append_legend};
use crate::summary::Summary;
use dzoa::run::evaluate::deviation;
use kuva::prelude::*;
use std::sync::Arc;

/// The scores of an attack under the two data sets, and the threshold between them.
pub fn scores_svg(scores: &[Vec<f64>; 2], threshold: f64, verdict: &str) -> String {
    let unit = Unit::of(scores);
    let plots = histograms(scores, &unit, Some(threshold), ["data set D", ROW_REPLACED]);
    let layout = scores_layout(&plots, &format!("What the attacker sees: {verdict}"))
        .with_reference_line(ReferenceLine::vertical(unit.of_score(threshold)))
        .with_width(760.0)
        .with_height(440.0);
    render_to_svg(plots, layout)
}

const ROW_REPLACED: &str = "data set D', one row replaced";
const WITH_AND_WITHOUT: [&str; 2] =
    ["runs with one person's row", "runs with another in its place"];

/// One attack of several: what was attacked, and its scores under the two data sets.
pub struct OnlookerPanel<'a> {
    /// Above the panel.
    pub title: &'a str,
    /// Under D and D'.
    pub scores: &'a [Vec<f64>; 2],
}

/// What an onlooker can tell from each of several mechanisms, side by side.
pub fn onlooker_svg(attacks: &[OnlookerPanel<'_>]) -> String {
    let (mut all, mut layouts) = (Vec::new(), Vec::new());
    for attack in attacks {
        let unit = Unit::of(attack.scores);
        let plots = histograms(attack.scores, &unit, None, WITH_AND_WITHOUT);
        let whole = TickFormat::Custom(Arc::new(|value: f64| format!("{value:.0}")));
        let mut layout = scores_layout(&plots, attack.title)
            .with_title_size(20)
            .with_label_size(18)
            .with_tick_size(16)
            .with_x_tick_format(whole);
        layout.show_legend = false;
        layouts.push(layout);
        all.push(plots);
    }
    let mut scene = Figure::new(1, attacks.len())
        .with_plots(all)
        .with_layouts(layouts)
        .with_cell_size(620.0, 400.0)
        .with_spacing(10.0)
        .with_padding(8.0)
        .render();
    let styles = [BLUE, RED].map(|color| Style { color, dash: None, marker: None });
    let entries: Vec<(&str, &Style)> = WITH_AND_WITHOUT.into_iter().zip(&styles).collect();
    append_legend(&mut scene, &entries, 2);
    renumbered(&SvgBackend::new().render_scene(&scene))
}

/// Standard deviations under D, from its mean: numbers that a reader knows.
struct Unit {
    mean: f64,
    deviation: f64,
}

impl Unit {
    fn of(scores: &[Vec<f64>; 2]) -> Self {
        let (mean, deviation) = deviation(&scores[0]);
        Self { mean, deviation: if deviation > 0.0 { deviation } else { 1.0 } }
    }

    fn of_score(&self, score: f64) -> f64 {
        (score - self.mean) / self.deviation
    }
}

fn histograms(
    scores: &[Vec<f64>; 2],
    unit: &Unit,
    threshold: Option<f64>,
    names: [&str; 2],
) -> Vec<Plot> {
    let scores = scores
        .each_ref()
        .map(|scores| scores.iter().map(|&score| unit.of_score(score)).collect::<Vec<f64>>());
    let all = || scores.iter().flatten().copied().filter(|score| score.is_finite());
    let (low, high) =
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let middle = unit.of_score(threshold.unwrap_or(unit.mean));
    let range = if low < high { (low, high) } else { (middle - 1.0, middle + 1.0) };
    let histogram = |scores: &[f64], color: &str, label: &str| {
        Histogram::new()
            .with_data(scores.to_vec())
            .with_bins(60)
            .with_range(range)
            .with_color(color)
            .with_step(true)
            .with_legend(label)
    };
    vec![histogram(&scores[0], BLUE, names[0]).into(), histogram(&scores[1], RED, names[1]).into()]
}

fn scores_layout(plots: &[Plot], title: &str) -> Layout {
    Layout::auto_from_plots(plots)
        .with_title(title)
        .with_x_label("score, in standard deviations under D")
        .with_y_label("runs")
}

/// Error against round on a log axis, with the spread over trials. `None` where there is no curve.
pub fn convergence_svg(summary: &Summary) -> Option<String> {
    let mut points = Vec::new();
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (i, round) in summary.error_rounds.iter().enumerate() {
        let at = |series: &[Option<f64>]| series.get(i).copied().flatten().filter(|e| *e > 0.0);
        let (Some(error), Some(l), Some(h)) =
            (at(&summary.error), at(&summary.error_low), at(&summary.error_high))
        else {
            continue;
        };
        points.push((*round as f64, error));
        low.push(l);
        high.push(h);
    }
    if points.len() < 2 {
        return None;
    }
    let mut line = LinePlot::new().with_data(points).with_color(BLUE).with_stroke_width(2.0);
    if summary.trials > 1 {
        line = line.with_band(low, high);
    }
    let plots: Vec<Plot> = vec![line.into()];
    let claim = summary.claim().in_title();
    let trials = match summary.trials {
        1 => String::new(),
        n => format!(", mean and range of {n} trials"),
    };
    let layout = Layout::auto_from_plots(&plots)
        .with_title(format!("{}: {} ({claim})", summary.name, summary.algorithm))
        .with_x_label(format!("round m{trials}"))
        .with_y_label("normalised error Σ‖βₖ − βᶜ‖²/‖βᶜ‖²")
        .with_log_y()
        .with_width(760.0)
        .with_height(440.0);
    Some(renumbered(&render_to_svg(plots, layout)))
}

/// kuva numbers its clip paths over the whole process. A drawing must not depend on how many came
/// before it: the same run gives the same bytes.
fn renumbered(svg: &str) -> String {
    const NAME: &str = "kuva-clip-";
    let mut parts = svg.split(NAME);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        out += NAME;
        out += part.trim_start_matches(|character: char| character.is_ascii_digit());
    }
    out
}
