//! One interactive chart: what the script draws, and the words and numbers that stand without it.

use super::thin;
use super::trace::Points;
use maud::{Markup, html};
use serde::Serialize;

/// A chart. The script gets it as JSON and draws it into the figure of the same id.
#[derive(Clone, Debug, Serialize)]
pub struct PageChart {
    id: &'static str,
    title: String,
    x_label: String,
    y_label: String,
    x_log: bool,
    y_log: bool,
    dashed: bool,
    curves: Vec<PageCurve>,
    #[serde(skip)]
    linear: bool,
    #[serde(skip)]
    summary: String,
}

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Look {
    /// The curve to look at first.
    Main,
    /// One of several.
    Line,
    /// A line that is not data, such as a budget.
    Limit,
    /// Points joined by lines, with bars for the spread.
    Bars,
}

/// A curve with its own abscissae, thinned, and its spread where it has one.
#[derive(Clone, Debug, Serialize)]
pub struct PageCurve {
    name: String,
    look: Look,
    points: Points,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
}

/// A spread around a curve.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// What it spans, as the legend says it.
    pub name: String,
    /// Lower edge.
    pub low: Points,
    /// Upper edge.
    pub high: Points,
}

impl PageCurve {
    /// One of several curves.
    pub fn line(name: impl Into<String>, points: Points) -> Self {
        Self { name: name.into(), look: Look::Line, points, spread: None }
    }

    /// Another look.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// With a spread around it.
    pub fn spread(mut self, name: &str, low: Points, high: Points) -> Self {
        self.spread = Some(Spread { name: name.into(), low, high });
        self
    }

    fn parts(&mut self) -> impl Iterator<Item = &mut Points> {
        let edges = self.spread.as_mut().map(|spread| [&mut spread.low, &mut spread.high]);
        std::iter::once(&mut self.points).chain(edges.into_iter().flatten())
    }
}

impl PageChart {
    /// An empty chart with linear axes.
    pub fn new(id: &'static str, title: &str, x_label: &str, y_label: &str) -> Self {
        Self {
            id,
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            x_log: false,
            y_log: false,
            dashed: false,
            linear: false,
            curves: Vec::new(),
            summary: String::new(),
        }
    }

    /// With one more curve.
    pub fn with(mut self, curve: PageCurve) -> Self {
        self.curves.push(curve);
        self
    }

    /// With a linear ordinate whatever the values are, such as shares of a budget.
    pub fn linear(mut self) -> Self {
        self.linear = true;
        self
    }

    /// With a broken main curve, if so: what it shows does not hold.
    pub fn dashed(mut self, dashed: bool) -> Self {
        self.dashed = dashed;
        self
    }

    /// Words under the chart, in front of what its main curve does.
    pub fn words(mut self, words: &str) -> Self {
        self.summary = words.into();
        self
    }

    /// A logarithmic abscissa where all are positive.
    pub fn log_x(mut self) -> Self {
        self.x_log = self.curves.iter().flat_map(|curve| &curve.points).all(|point| point.0 > 0.0);
        self
    }

    /// Chooses the ordinate's scale, thins the curves, and says what the main curve does.
    pub fn finish(mut self) -> Self {
        let mut all = Vec::new();
        for curve in &mut self.curves {
            curve.parts().for_each(|points| all.extend(points.iter().map(|point| point.1)));
        }
        self.y_log = !self.linear && spans_decades(&all);
        let mut lost = 0;
        for points in self.curves.iter_mut().flat_map(PageCurve::parts) {
            if self.y_log {
                let before = points.len();
                points.retain(|point| point.1 > 0.0);
                lost += before - points.len();
            }
            *points = thin::points(points);
            points.iter_mut().for_each(|point| point.1 = short(point.1));
        }
        if lost > 0 {
            self.summary += &format!(
                " {lost} values at or below zero, within rounding of it, \
                 have no place on the logarithmic axis."
            );
        }
        let told = self.curves.iter().find(|curve| curve.look == Look::Main);
        if let Some((curve, [(from, start), .., (to, end)])) =
            told.map(|curve| (curve, curve.points.as_slice()))
        {
            self.summary += &format!(
                " {}: {} in round {from}, {} in round {to}.",
                capitalised(&curve.name),
                number(*start),
                number(*end)
            );
        }
        self
    }

    /// The figure: a place for the script to draw into, words, and the main curves as a table.
    pub fn figure(&self) -> Markup {
        let scale = if self.y_log { ", logarithmic" } else { "" };
        let alt = format!(
            "{}: {} against {}{scale}. {}",
            self.title,
            self.y_label,
            self.x_label,
            self.summary.trim()
        );
        html! {
            figure.chart id=(self.id) {
                h3 { (self.title) }
                div.plot role="img" aria-label=(alt) tabindex="0" {}
                div.readout aria-live="polite" {}
                div.legend role="group" aria-label={ "Curves of " (self.title) } {}
                figcaption { (self.summary.trim()) }
                (self.numbers())
            }
        }
    }

    /// A few values of the curves that matter, readable without a script.
    fn numbers(&self) -> Markup {
        const ROWS: usize = 9;
        const COLUMNS: usize = 6;
        let matter = |curve: &&PageCurve| curve.look != Look::Line;
        let several = self.curves.iter().any(|curve| matter(&curve));
        let curves: Vec<&PageCurve> =
            self.curves.iter().filter(|curve| !several || matter(curve)).take(COLUMNS).collect();
        let mut xs: Vec<f64> =
            curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let rows = xs.len().min(ROWS);
        let at = |row: usize| xs[row * (xs.len() - 1) / (rows - 1).max(1)];
        let value = |curve: &PageCurve, x: f64| {
            let point = curve.points.iter().find(|point| point.0 == x);
            point.map_or(String::new(), |point| number(point.1))
        };
        html! {
            details.numbers {
                summary { "Values" }
                div.scroll tabindex="0" {
                    table {
                        tr { th { (self.x_label) } @for curve in &curves { th { (curve.name) } } }
                        @for row in 0..rows {
                            tr {
                                th scope="row" { (at(row)) }
                                @for curve in &curves { td { (value(curve, at(row))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether a logarithmic axis suits: a decade and a half or more, and nothing below zero but
/// rounding.
fn spans_decades(values: &[f64]) -> bool {
    const SPAN: f64 = 30.0;
    const ROUNDING: f64 = 1e-9;
    let high = values.iter().copied().fold(0.0, f64::max);
    let positive = values.iter().copied().filter(|value| *value > 0.0);
    let low = positive.fold(f64::INFINITY, f64::min);
    let lowest = values.iter().copied().fold(0.0, f64::min);
    low * SPAN <= high && -lowest <= ROUNDING * high
}

/// Five digits: what a pixel can show, in a third of the bytes.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// A value in text.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e4).contains(&size) => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.4}"),
        _ => format!("{value:.3}"),
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_only_where_values_are_positive_and_span_decades() {
        assert!(spans_decades(&[1.0, 1e-2]));
        assert!(spans_decades(&[1.0, 1e-5, 0.0, -1e-12]));
        assert!(!spans_decades(&[1.0, 0.5]));
        assert!(!spans_decades(&[1.0, 1e-5, -0.1]));
        assert!(!spans_decades(&[]) && !spans_decades(&[0.0]));
    }

    #[test]
    fn a_curve_keeps_its_numbers_and_says_what_it_does() {
        let points: Points = (1..=3).map(|m| (f64::from(m), 10f64.powi(-m))).collect();
        let curve = PageCurve::line("mean", points).look(Look::Main);
        let chart = PageChart::new("c", "Error", "round m", "error").with(curve).finish();
        assert_eq!(chart.summary.trim(), "Mean: 0.1000 in round 1, 0.0010 in round 3.");
        let figure = chart.figure().into_string();
        assert!(figure.contains("aria-label=\"Error: error against round m, logarithmic. Mean"));
        assert!(figure.contains("<td>0.0100</td>"), "{figure}");
    }
}
