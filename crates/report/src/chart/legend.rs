//! The legend below the panels: line, dash and marker together, as the curve has them.

use super::Style;
use kuva::prelude::*;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

/// Width of curves.
pub const STROKE: f64 = 3.0;
/// Radius of markers.
pub const MARKER: f64 = 6.0;
const SAMPLE: f64 = 56.0;
/// Mean width of a letter, and room between columns.
const LETTER: f64 = 0.58;
const GAP: f64 = 28.0;

/// A place in the scene.
#[derive(Clone, Copy)]
struct Position {
    x: f64,
    y: f64,
}

/// Makes the scene taller and draws the entries into the new room.
pub fn append(scene: &mut Scene, entries: &[(&str, &Style)], columns: usize, size: u32) {
    if entries.is_empty() {
        return;
    }
    let rows = entries.len().div_ceil(columns);
    let line = 1.55 * f64::from(size);
    // Down the columns: what belongs together stays together.
    let columns: Vec<&[(&str, &Style)]> = entries.chunks(rows).collect();
    let longest = |column: &&[(&str, &Style)]| {
        column.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<f64> = columns
        .iter()
        .map(|column| SAMPLE + 12.0 + longest(column) as f64 * LETTER * f64::from(size) + GAP)
        .collect();
    let top = scene.height;
    let mut left = (0.5 * (scene.width - widths.iter().sum::<f64>() + GAP)).max(8.0);
    for (column, width) in columns.iter().zip(&widths) {
        for (row, (label, style)) in column.iter().enumerate() {
            let at = Position { x: left, y: top + (row as f64 + 0.5) * line };
            entry(scene, at, label, style, size);
        }
        left += width;
    }
    scene.height = top + rows as f64 * line + 10.0;
}

fn entry(scene: &mut Scene, at: Position, label: &str, style: &Style, size: u32) {
    let Position { x, y } = at;
    scene.add(Primitive::Line {
        x1: x,
        y1: y,
        x2: x + SAMPLE,
        y2: y,
        stroke: Color::from(style.color),
        stroke_width: STROKE,
        stroke_dasharray: style.dash.map(Into::into),
    });
    if let Some(marker) = style.marker {
        scene.add(sample(marker, Position { x: x + 0.5 * SAMPLE, y }, style.color));
    }
    scene.add(Primitive::Text {
        x: x + SAMPLE + 12.0,
        y: y + 0.36 * f64::from(size),
        content: label.to_string(),
        size,
        anchor: TextAnchor::Start,
        rotate: None,
        bold: false,
        color: None,
    });
}

/// A marker in the middle of its line.
fn sample(marker: MarkerShape, at: Position, color: &str) -> Primitive {
    let Position { x, y } = at;
    let r = MARKER;
    let corners: &[(f64, f64)] = match marker {
        MarkerShape::Square => &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)],
        MarkerShape::Triangle => &[(0.0, -1.2), (1.0, 0.8), (-1.0, 0.8)],
        MarkerShape::TriangleDown => &[(0.0, 1.2), (1.0, -0.8), (-1.0, -0.8)],
        MarkerShape::Diamond => &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
        _ => {
            return Primitive::Circle {
                cx: x,
                cy: y,
                r,
                fill: Color::from(color),
                fill_opacity: None,
                stroke: None,
                stroke_width: None,
            };
        }
    };
    let at = corners.iter().map(|(dx, dy)| format!("{} {}", x + r * dx, y + r * dy));
    Primitive::Path(Box::new(PathData {
        d: format!("M {} Z", at.collect::<Vec<_>>().join(" L ")),
        fill: Some(Color::from(color)),
        stroke: Color::None,
        stroke_width: 0.0,
        opacity: None,
        stroke_dasharray: None,
    }))
}
