//! Figures for print: panels of curves with bands and markers, and one legend below them.
//!
//! The unit is half a pixel of a column 8.5 cm wide: what is 20 units high here is a little under 8
//! points in print. Colours are those of Okabe and Ito, and every curve also has a dash and a
//! marker of its own, so that nothing rests on colour alone.

mod legend;
mod png;

pub use png::write_png;

use kuva::prelude::*;
use kuva::render::render::Scene;
use std::sync::Arc;

/// Okabe and Ito's blue.
pub const BLUE: &str = "#0072B2";
/// Okabe and Ito's vermilion.
pub const RED: &str = "#D55E00";
/// Okabe and Ito's bluish green.
pub const GREEN: &str = "#009E73";
/// Okabe and Ito's reddish purple.
pub const PURPLE: &str = "#CC79A7";
/// Okabe and Ito's orange.
pub const ORANGE: &str = "#E69F00";
/// For what is no measurement.
pub const BLACK: &str = "#333333";

/// The name of an axis with the paper's metric.
pub const ERROR_AXIS: &str = "error  Σₖ‖βₖ − βᶜ‖²/‖βᶜ‖²";

const WIDTH: f64 = 680.0;
const PANEL_HEIGHT: f64 = 450.0;
const TICK_SIZE: u32 = 18;
const LABEL_SIZE: u32 = 20;

/// How a curve looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// One of the colours above.
    pub color: &'static str,
    /// SVG's stroke-dasharray; none for a solid line.
    pub dash: Option<&'static str>,
    /// None for a plain line.
    pub marker: Option<MarkerShape>,
}

impl Style {
    /// Of the i-th of several measured curves: no two of the first thirty look alike.
    pub fn nth(i: usize) -> Self {
        use MarkerShape::{Circle, Diamond, Square, Triangle, TriangleDown};
        let colors = [BLUE, GREEN, RED, PURPLE, ORANGE, BLACK];
        let dashes = [None, Some("14 5"), Some("8 5"), Some("3 4"), Some("14 4 3 4")];
        let markers = [Circle, Square, Triangle, Diamond, TriangleDown];
        Self {
            color: colors[i % colors.len()],
            dash: dashes[i % dashes.len()],
            marker: Some(markers[i % markers.len()]),
        }
    }
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// In the legend; curves of the same label in several panels share an entry.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// x and y; a log axis leaves out what it cannot show.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper edge at every point; empty for none.
    pub band: Vec<(f64, f64)>,
    /// A marker at every n-th point.
    pub marker_every: usize,
}

/// One set of axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above the axes.
    pub title: String,
    /// With symbol and unit.
    pub x_label: String,
    /// With symbol and unit.
    pub y_label: String,
    /// Powers of ten along x. The y axis always has them.
    pub log_x: bool,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// A whole figure.
#[derive(Clone, Debug)]
pub struct Chart {
    /// In rows of `columns`.
    pub panels: Vec<Panel>,
    /// Panels side by side.
    pub columns: usize,
}

impl Chart {
    /// The figure as SVG.
    pub fn svg(&self) -> String {
        let (plots, layouts): (Vec<_>, Vec<_>) = self.panels.iter().map(Panel::render).unzip();
        let rows = self.panels.len().div_ceil(self.columns);
        let mut scene = Figure::new(rows, self.columns)
            .with_plots(plots)
            .with_layouts(layouts)
            .with_cell_size(WIDTH, PANEL_HEIGHT)
            .with_spacing(10.0)
            .with_padding(8.0)
            .render();
        legend::append(&mut scene, &self.entries(), 2 * self.columns, TICK_SIZE);
        SvgBackend::new().render_scene(&scene)
    }

    /// Labels and styles, each label once.
    fn entries(&self) -> Vec<(&str, &Style)> {
        let mut entries: Vec<(&str, &Style)> = Vec::new();
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            if !entries.iter().any(|(label, _)| *label == curve.label) {
                entries.push((&curve.label, &curve.style));
            }
        }
        entries
    }
}

/// Entries below a scene of other plots.
pub(crate) fn append_legend(scene: &mut Scene, entries: &[(&str, &Style)], columns: usize) {
    legend::append(scene, entries, columns, TICK_SIZE);
}

impl Panel {
    fn render(&self) -> (Vec<Plot>, Layout) {
        let shown =
            |x: f64, y: f64| x.is_finite() && y.is_finite() && y > 0.0 && (!self.log_x || x > 0.0);
        let (mut bands, mut lines, mut markers) = (Vec::new(), Vec::new(), Vec::new());
        let mut extent = Extent::default();
        for curve in &self.curves {
            let keep = |i: &usize| shown(curve.points[*i].0, curve.points[*i].1);
            let kept: Vec<usize> = (0..curve.points.len()).filter(keep).collect();
            let points: Vec<(f64, f64)> = kept.iter().map(|&i| curve.points[i]).collect();
            points.iter().for_each(|&(x, y)| extent.include(x, y));
            let edges: Vec<(f64, f64, f64)> = kept
                .iter()
                .filter_map(|&i| curve.band.get(i).map(|(l, h)| (curve.points[i].0, *l, *h)))
                .filter(|&(x, low, high)| shown(x, low) && shown(x, high))
                .collect();
            for &(x, low, high) in &edges {
                extent.include(x, low);
                extent.include(x, high);
            }
            if edges.len() > 1 {
                let band = BandPlot::new(
                    edges.iter().map(|edge| edge.0),
                    edges.iter().map(|edge| edge.1),
                    edges.iter().map(|edge| edge.2),
                );
                bands.push(band.with_color(curve.style.color).with_opacity(0.15).into());
            }
            if let Some(marker) = curve.style.marker {
                let at = points.iter().copied().skip(curve.marker_every / 2);
                let scatter = ScatterPlot::new()
                    .with_data(at.step_by(curve.marker_every.max(1)))
                    .with_color(curve.style.color)
                    .with_marker(marker)
                    .with_size(legend::MARKER);
                markers.push(scatter.into());
            }
            let line = LinePlot::new().with_data(points).with_color(curve.style.color);
            let dash = curve.style.dash.map_or(LineStyle::Solid, |d| LineStyle::Custom(d.into()));
            lines.push(line.with_stroke_width(legend::STROKE).with_line_style(dash).into());
        }
        let plots: Vec<Plot> = bands.into_iter().chain(lines).chain(markers).collect();
        let layout = self.layout(&plots, &extent);
        (plots, layout)
    }

    fn layout(&self, plots: &[Plot], extent: &Extent) -> Layout {
        let (low, high) = extent.y_decades();
        let mut layout = Layout::auto_from_plots(plots)
            .with_title(self.title.clone())
            .with_x_label(self.x_label.clone())
            .with_y_label(self.y_label.clone())
            .with_title_size(LABEL_SIZE)
            .with_label_size(LABEL_SIZE)
            .with_tick_size(TICK_SIZE)
            .with_body_size(TICK_SIZE)
            .with_box_axes()
            .with_log_y()
            .with_y_axis_min(low)
            .with_y_axis_max(high)
            .with_y_tick_format(TickFormat::Custom(Arc::new(only_powers)));
        layout.show_legend = false;
        if self.log_x {
            let (low, high) = extent.x_margin();
            let ticks = if low < 1e-3 { power_of_ten } else { number };
            layout = layout
                .with_log_x()
                .with_x_axis_min(low)
                .with_x_axis_max(high)
                .with_x_tick_format(TickFormat::Custom(Arc::new(ticks)));
        }
        layout
    }
}

/// The smallest and largest values drawn.
#[derive(Default)]
struct Extent(Option<[f64; 4]>);

impl Extent {
    fn include(&mut self, x: f64, y: f64) {
        let [x0, x1, y0, y1] = self.0.unwrap_or([x, x, y, y]);
        self.0 = Some([x0.min(x), x1.max(x), y0.min(y), y1.max(y)]);
    }

    /// Whole decades around y, so that every axis begins and ends at a labelled tick.
    fn y_decades(&self) -> (f64, f64) {
        let [_, _, low, high] = self.0.unwrap_or([1.0, 1.0, 1.0, 1.0]);
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        (10f64.powf(low), 10f64.powf(if low < high { high } else { low + 1.0 }))
    }

    /// A little room beside the outermost x.
    fn x_margin(&self) -> (f64, f64) {
        let [low, high, _, _] = self.0.unwrap_or([1.0, 1.0, 1.0, 1.0]);
        let room = (high / low).powf(0.04).max(1.1);
        (low / room, high * room)
    }
}

/// Labels along y: short axes have ticks between the powers of ten, which need none.
fn only_powers(value: f64) -> String {
    let exponent = value.log10();
    let is_power = (exponent - exponent.round()).abs() < 1e-8;
    if is_power { power_of_ten(value) } else { String::new() }
}

/// 10⁻³ for 0.001.
fn power_of_ten(value: f64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let exponent = value.log10();
    if !exponent.is_finite() || (exponent - exponent.round()).abs() > 1e-8 {
        return format!("{value}");
    }
    let digits = format!("{:.0}", exponent.abs());
    let raised = digits.chars().filter_map(|c| c.to_digit(10)).map(|d| DIGITS[d as usize]);
    format!("10{}{}", if exponent < -0.5 { "⁻" } else { "" }, raised.collect::<String>())
}

/// A number as a reader wants it: 0.15, 1000, 10⁻⁶, 3.2×10⁻⁴.
pub fn number(value: f64) -> String {
    let exponent = value.abs().log10().floor();
    if !exponent.is_finite() || (-2.0..4.0).contains(&exponent) {
        let digits = (2.0 - exponent).clamp(0.0, 3.0);
        let digits = if exponent.is_finite() { digits as usize } else { 0 };
        let shown = format!("{value:.digits$}");
        return match shown.contains('.') {
            true => shown.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => shown,
        };
    }
    // The formatter rounds 9.96 up to the next power of ten, where a division would print 10.0.
    let rounded = format!("{value:.1e}");
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let power = power_of_ten(10f64.powi(exponent.parse().unwrap_or(0)));
    match mantissa {
        "1.0" if (value.log10() - value.log10().round()).abs() < 1e-9 => power,
        mantissa => format!("{mantissa}×{power}"),
    }
}

/// Puts a description into an SVG, for screen readers and for whoever finds the file alone.
pub fn described(svg: &str, description: &str) -> String {
    let escaped = description.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    match svg.find("<svg").and_then(|start| Some(start + svg[start..].find('>')? + 1)) {
        Some(inside) => {
            format!("{}<desc>{escaped}</desc>{}", &svg[..inside], &svg[inside..])
        }
        None => svg.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_print() {
        for (value, text) in [
            (0.15, "0.15"),
            (1e-6, "10⁻⁶"),
            (3.2e-4, "3.2×10⁻⁴"),
            (9.98e-4, "1.0×10⁻³"),
            (2.0, "2"),
            (16.72, "16.7"),
            (1000.0, "1000"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(power_of_ten(1e-12), "10⁻¹²");
        assert_eq!(power_of_ten(1.0), "10⁰");
    }
}
