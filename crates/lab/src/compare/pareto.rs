//! The Pareto plot of a comparison, for print.

use dzoa_report::{Chart, Curve, ERROR_AXIS, Panel, ParetoPoint, Style};

/// Error against total epsilon, a curve for each algorithm; nothing where nobody has a result.
pub fn svg(points: &[ParetoPoint]) -> Option<String> {
    let mut algorithms: Vec<&str> = points.iter().map(|point| point.algorithm.as_str()).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    let curves: Vec<Curve> = algorithms
        .into_iter()
        .enumerate()
        .map(|(i, algorithm)| {
            let mut of: Vec<_> = points.iter().filter(|p| p.algorithm == algorithm).collect();
            of.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
            Curve {
                label: algorithm.into(),
                style: Style::nth(i),
                points: of.iter().map(|p| (p.epsilon, p.error_median)).collect(),
                band: of.iter().map(|p| (p.error_low, p.error_high)).collect(),
                marker_every: 1,
            }
        })
        .collect();
    if curves.is_empty() {
        return None;
    }
    let panel = Panel {
        title: "median, and 10 % to 90 % of the trials".into(),
        x_label: "exact total ε".into(),
        y_label: ERROR_AXIS.into(),
        log_x: true,
        curves,
    };
    Some(Chart { panels: vec![panel], columns: 1 }.svg())
}
