//! The network, drawn: circles for agents, lines for who talks to whom.

use super::chart::number;
use crate::summary::Summary;
use maud::{Markup, html};
use std::f64::consts::TAU;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 34.0;

/// Names fit beside so many circles.
const MOST_NAMED: usize = 24;

/// Springs are simulated for so many agents; more sit on a circle.
const MOST_SPRINGS: usize = 200;

/// More lines than this are a blot.
const MOST_EDGES: usize = 5_000;

/// The drawing, with its words.
pub fn figure(summary: &Summary) -> Markup {
    let names = summary.all_names();
    let n = names.len();
    // A summary from elsewhere may name agents that do not exist.
    let edges: Vec<(usize, usize)> =
        summary.edges.iter().copied().filter(|&(a, b)| a < n && b < n && a != b).collect();
    let degree = |k: usize| edges.iter().filter(|&&(a, b)| a == k || b == k).count();
    let degrees: Vec<usize> = if edges.len() <= MOST_EDGES {
        (0..n).map(degree).collect()
    } else {
        let mut degrees = vec![0; n];
        edges
            .iter()
            .for_each(|&(a, b)| (degrees[a], degrees[b]) = (degrees[a] + 1, degrees[b] + 1));
        degrees
    };
    let words = format!(
        "{n} agents and {} links; an agent has {} neighbours, and talks to nobody else{}.",
        edges.len(),
        match (degrees.iter().min().unwrap_or(&0), degrees.iter().max().unwrap_or(&0)) {
            (fewest, most) if fewest == most => most.to_string(),
            (fewest, most) => format!("{fewest} to {most}"),
        },
        if summary.hears_everybody() { "; they pass on what is for all" } else { "" },
    );
    let own = |name: &String| summary.is_of_one_site() && summary.agent_names.contains(name);
    let at = layout(n, &edges);
    let radius = if n <= MOST_NAMED { 9.0 } else { (60.0 / (n as f64).sqrt()).clamp(1.5, 7.0) };
    html! {
        figure.network {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                aria-label={ "The network: " (words) } {
                @for &(a, b) in edges.iter().take(MOST_EDGES) {
                    line x1=(px(at[a].0)) y1=(px(at[a].1)) x2=(px(at[b].0)) y2=(px(at[b].1)) {}
                }
                @for (k, name) in names.iter().enumerate() {
                    circle.own[own(name)] cx=(px(at[k].0)) cy=(px(at[k].1)) r=(px(radius)) {
                        title { (name) ": " (degrees[k]) " neighbours" }
                    }
                    @if n <= MOST_NAMED {
                        text x=(px(at[k].0)) y=(px(at[k].1 - radius - 5.0)) { (clipped(name, 14)) }
                    }
                }
            }
            figcaption {
                (words)
                @if summary.is_of_one_site() { " The ringed circle is this site." }
                @if edges.len() > MOST_EDGES {
                    " The first " (number(MOST_EDGES as f64)) " links are drawn."
                }
            }
        }
    }
}

/// A name short enough for a drawing.
pub fn clipped(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into(),
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Positions inside the drawing: springs along the links, all agents pushing each other away
/// (Fruchterman and Reingold), from a circle. No chance is involved: the same network looks the
/// same in every report.
fn layout(n: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    const STEPS: usize = 300;
    let mut at: Vec<(f64, f64)> = (0..n)
        .map(|k| {
            let angle = TAU * k as f64 / n as f64 - TAU / 4.0;
            (angle.cos(), angle.sin())
        })
        .collect();
    if n > 2 && n <= MOST_SPRINGS {
        let rest = 2.0 / (n as f64).sqrt();
        for step in 0..STEPS {
            let mut force = vec![(0.0, 0.0); n];
            let mut push = |a: usize, b: usize, at: &[(f64, f64)], law: &dyn Fn(f64) -> f64| {
                let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
                let distance = dx.hypot(dy).max(1e-6);
                let strength = law(distance) / distance;
                force[a] = (force[a].0 + dx * strength, force[a].1 + dy * strength);
                force[b] = (force[b].0 - dx * strength, force[b].1 - dy * strength);
            };
            for a in 0..n {
                for b in 0..a {
                    push(a, b, &at, &|distance| rest * rest / distance);
                }
            }
            for &(a, b) in edges.iter().take(MOST_EDGES) {
                push(a, b, &at, &|distance| -distance * distance / rest);
            }
            // Smaller and smaller moves, so that it comes to rest.
            let most = 0.2 * (1.0 - step as f64 / STEPS as f64);
            for (at, force) in at.iter_mut().zip(&force) {
                let size = force.0.hypot(force.1).max(1e-9);
                let scale = size.min(most) / size;
                *at = (at.0 + force.0 * scale, at.1 + force.1 * scale);
            }
        }
    }
    fit(&mut at);
    at
}

/// Stretches the positions over the drawing.
fn fit(at: &mut [(f64, f64)]) {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (left, right) = range(&mut at.iter().map(|at| at.0));
    let (top, bottom) = range(&mut at.iter().map(|at| at.1));
    let place = |value: f64, low: f64, high: f64, size: f64| {
        let share = if high - low > 1e-9 { (value - low) / (high - low) } else { 0.5 };
        MARGIN + share * (size - 2.0 * MARGIN)
    };
    for at in at {
        *at = (place(at.0, left, right, WIDTH), place(at.1, top, bottom, HEIGHT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_place_of_its_own_inside_the_drawing() {
        for (n, edges) in [
            (1, vec![]),
            (2, vec![(0, 1)]),
            (5, vec![(0, 1), (1, 2), (2, 3), (3, 4)]),
            (12, (1..12).map(|k| (0, k)).collect()),
            (300, vec![]),
        ] {
            let at = layout(n, &edges);
            assert_eq!(at, layout(n, &edges), "the same network looks the same");
            for (k, a) in at.iter().enumerate() {
                assert!((0.0..=WIDTH).contains(&a.0) && (0.0..=HEIGHT).contains(&a.1), "{a:?}");
                assert!(at[..k].iter().all(|b| (a.0 - b.0).hypot(a.1 - b.1) > 1.0), "{n}: {k}");
            }
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(clipped("größe-der-klinik", 4), "größ…");
        assert_eq!(clipped("va", 4), "va");
    }
}
