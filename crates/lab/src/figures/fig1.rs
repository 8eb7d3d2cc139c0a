//! Figure 1: the network.

use super::paper::PaperProblem;
use super::raw::{Measurement, Point};
use super::trials::FigureTrial;
use super::{Columns, Drawing, Figure};
use crate::workers::Stop;
use dzoa::prelude::*;
use dzoa_report::{BLACK, BLUE};
use dzoa_table::Result;
use std::fmt::Write as _;

/// The paper's graph, drawn from the config that all its figures use.
pub struct Fig1;

impl Figure for Fig1 {
    fn name(&self) -> &'static str {
        "fig1"
    }

    fn columns(&self) -> Columns {
        Columns { x: "x", value: "value" }
    }

    fn trials(&self, _asked: u64, _all: bool) -> u64 {
        0
    }

    fn cost(&self) -> f64 {
        0.0
    }

    fn measure(&self, _trial: &mut FigureTrial) -> Result<Vec<Measurement>, Stop> {
        Ok(Vec::new())
    }

    fn draw(&self, _points: &[Point], _trials: u64) -> Result<Drawing> {
        let graph = PaperProblem::graph()?;
        let names = graph.names();
        let mut csv = String::from("figure,from,to\n");
        for (a, b) in graph.edges() {
            let _ = writeln!(csv, "fig1,{},{}", names[a], names[b]);
        }
        let degrees: Vec<String> =
            (0..graph.len()).map(|k| graph.neighbourhood(k, true).to_string()).collect();
        let caption = format!(
            "**Figure 1.** The network: {} agents, {} edges. Every agent talks to its neighbours \
             only. The paper \
             does not list the edges; these are the project's reading. |Nₖ|, the agent itself \
             included: {}.",
            graph.len(),
            graph.edges().count(),
            degrees.join(", ")
        );
        Ok(Drawing { svg: picture(&graph), caption, further: vec![("fig1.csv".into(), csv)] })
    }
}

/// Agents on a circle, the first at the top.
fn picture(graph: &Graph) -> String {
    const SIZE: f64 = 680.0;
    const HEIGHT: f64 = 560.0;
    const RADIUS: f64 = 200.0;
    let place = |k: usize| {
        let angle = std::f64::consts::TAU * k as f64 / graph.len() as f64;
        (0.5 * SIZE + RADIUS * angle.sin(), 0.53 * HEIGHT - RADIUS * angle.cos())
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{SIZE}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {SIZE} {HEIGHT}\" \
         font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\"><rect width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n"
    );
    for (a, b) in graph.edges() {
        let ((x1, y1), (x2, y2)) = (place(a), place(b));
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{BLACK}\" \
             stroke-width=\"4\"/>"
        );
    }
    for (k, name) in graph.names().iter().enumerate() {
        let (x, y) = place(k);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"38\" fill=\"{BLUE}\" stroke=\"white\" \
             stroke-width=\"5\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"34\" font-weight=\"bold\" fill=\"white\" \
             text-anchor=\"middle\">{name}</text>",
            y + 12.0
        );
    }
    svg + "</svg>\n"
}
