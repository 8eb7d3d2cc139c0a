//! Charts as SVG.

use crate::summary::Summary;
use kuva::prelude::*;

/// Okabe and Ito's blue: readable in print and for the colour-blind.
const BLUE: &str = "#0072B2";

/// Error against round on a log axis, with the spread over trials. `None` where there is no curve.
pub fn convergence(summary: &Summary) -> Option<String> {
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
    let claim = match summary.privacy.first().map(|entry| entry.claim) {
        Some(dzoa::privacy::Claim::Nominal) => "privacy nominal: not a guarantee",
        Some(dzoa::privacy::Claim::Exact) => "privacy exact",
        _ => "no privacy claim",
    };
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
    Some(render_to_svg(plots, layout))
}
