//! From points to curves.

pub use dzoa_report::ERROR_AXIS as ERROR;

use super::raw::{Key, Point};
use dzoa_report::{BLUE, Curve, MarkerShape, RED, Style};

/// D-ZOA with the paper's mechanism, in CSV files and legends.
pub const D_ZOA: &str = "D-ZOA";
/// The paper's benchmark.
pub const DP_ADMM: &str = "DP-ADMM";

/// The curve through the points that are selected.
pub fn curve(
    points: &[Point],
    label: &str,
    style: Style,
    select: impl Fn(&Key) -> bool,
    x: impl Fn(&Key) -> f64,
) -> Curve {
    let chosen: Vec<&Point> = points.iter().filter(|point| select(&point.key)).collect();
    let several = chosen.iter().any(|point| point.values.len() > 1);
    Curve {
        label: label.into(),
        style,
        points: chosen.iter().map(|point| (x(&point.key), point.mean)).collect(),
        band: match several {
            true => chosen.iter().map(|point| (point.low, point.high)).collect(),
            false => Vec::new(),
        },
        marker_every: 1,
    }
}

/// The look of the two algorithms of the paper's figures, for the smaller and the larger of two
/// values.
pub fn paper_style(algorithm: &str, larger: bool) -> Style {
    use MarkerShape::{Circle, Diamond, Square, Triangle};
    let (color, markers) = match algorithm {
        D_ZOA => (BLUE, [Circle, Square]),
        _ => (RED, [Triangle, Diamond]),
    };
    let dash = if larger { None } else { Some("10 6") };
    Style { color, dash, marker: Some(markers[usize::from(larger)]) }
}
