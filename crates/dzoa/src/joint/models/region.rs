//! The step to the least value of a quadratic model, in a ball and between bounds.

use crate::joint::quadratic::{eigen, times};

/// Halvings of the interval that a multiplier lies in.
const HALVINGS: usize = 200;

/// A model around a point: `g's + 1/2 s'Hs`, H line by line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quadratic<'a> {
    pub gradient: &'a [f64],
    pub hessian: &'a [f64],
}

impl Quadratic<'_> {
    /// What a step changes.
    pub fn change(&self, step: &[f64]) -> f64 {
        let zero = vec![0.0; step.len()];
        let bent = times(self.hessian, step, &zero);
        let terms = step.iter().zip(self.gradient).zip(bent);
        terms.map(|((s, g), b)| s * (g + 0.5 * b)).sum()
    }
}

/// Where a step may end: no farther than `radius`, and every coordinate within its room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within<'a> {
    pub radius: f64,
    /// How far each coordinate may go down and up: `[low, high]` with `low <= 0 <= high`.
    pub room: &'a [[f64; 2]],
}

/// The best step, up to what bounds leave of it: coordinates that meet a bound stay there, and the
/// others go on.
pub(super) fn best_step(model: Quadratic<'_>, within: Within<'_>) -> Vec<f64> {
    let n = model.gradient.len();
    let mut step = vec![0.0; n];
    let mut slope = model.gradient.to_vec();
    let stuck = |slope: f64, at: f64, [low, high]: [f64; 2]| {
        (at <= low && slope >= 0.0) || (at >= high && slope <= 0.0)
    };
    let mut free: Vec<usize> = (0..n).filter(|&p| !stuck(slope[p], 0.0, within.room[p])).collect();
    while !free.is_empty() {
        let length: f64 = step.iter().map(|s| s * s).sum();
        let left = (within.radius * within.radius - length).max(0.0).sqrt();
        if left <= 1e-3 * within.radius {
            break;
        }
        let part: Vec<f64> = free.iter().map(|&p| slope[p]).collect();
        let matrix: Vec<f64> = free
            .iter()
            .flat_map(|&p| free.iter().map(move |&q| model.hessian[p * n + q]))
            .collect();
        let way = in_ball(&part, &matrix, left);
        let (share, met) = longest(&free, &way, &step, within.room);
        for (&p, way) in free.iter().zip(&way) {
            step[p] += share * way;
        }
        let Some(met) = met else { break };
        let p = free[met];
        let [low, high] = within.room[p];
        step[p] = if way[met] < 0.0 { low } else { high };
        free.remove(met);
        slope = times(model.hessian, &step, model.gradient);
    }
    step
}

/// How much of a way there is room for, and who meets its bound then.
fn longest(free: &[usize], way: &[f64], step: &[f64], room: &[[f64; 2]]) -> (f64, Option<usize>) {
    let mut shortest = (1.0, None);
    for (at, (&p, way)) in free.iter().zip(way).enumerate() {
        let [low, high] = room[p];
        let far = if *way < 0.0 { low - step[p] } else { high - step[p] };
        let share = far / way;
        if *way != 0.0 && share < shortest.0 {
            shortest = (share.max(0.0), Some(at));
        }
    }
    shortest
}

/// The least value in a ball, by the eigenvalues (More and Sorensen 1983).
fn in_ball(gradient: &[f64], hessian: &[f64], radius: f64) -> Vec<f64> {
    let n = gradient.len();
    let (values, vectors) = eigen(hessian, n);
    let along: Vec<f64> = vectors
        .chunks_exact(n)
        .map(|vector| vector.iter().zip(gradient).map(|(v, g)| v * g).sum())
        .collect();
    let least = values.iter().fold(f64::INFINITY, |least: f64, v| least.min(*v));
    let steps = |shift: f64| -> Vec<f64> {
        let step = |(a, v): (&f64, &f64)| -a / (v + shift).max(f64::MIN_POSITIVE);
        along.iter().zip(&values).map(step).collect()
    };
    let length = |step: &[f64]| step.iter().map(|s| s * s).sum::<f64>().sqrt();
    let mut best = if least > 0.0 { steps(0.0) } else { Vec::new() };
    if best.is_empty() || length(&best).partial_cmp(&radius) != Some(std::cmp::Ordering::Less) {
        let slope = length(&along);
        let mut low = (-least).max(0.0);
        let mut high = low + slope / radius + f64::MIN_POSITIVE;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if length(&steps(middle)) > radius { low = middle } else { high = middle }
        }
        best = steps(high);
        let left = radius * radius - best.iter().map(|s| s * s).sum::<f64>();
        if least < 0.0 && left > 0.02 * radius * radius {
            // The slope has no part along the most negative curvature: go along it all the same.
            let at = values.iter().position(|v| *v == least).unwrap_or(0);
            let sign = if best[at] < 0.0 { -1.0 } else { 1.0 };
            best[at] = sign * (left + best[at] * best[at]).sqrt();
        }
    }
    let mut step = vec![0.0; n];
    for (along, vector) in best.iter().zip(vectors.chunks_exact(n)) {
        step.iter_mut().zip(vector).for_each(|(s, v)| *s += along * v);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: [f64; 4] = [2.0, 0.5, 0.5, 1.0];
    const FREE: [[f64; 2]; 2] = [[f64::NEG_INFINITY, f64::INFINITY]; 2];

    #[test]
    fn a_minimiser_inside_is_found_and_one_outside_is_met_at_the_edge() {
        let model = Quadratic { gradient: &[-0.5, 2.0], hessian: &H };
        let step = best_step(model, Within { radius: 10.0, room: &FREE });
        // H s = [0.5, -2]: s = [0.857142..., -2.428571...].
        assert!((step[0] - 6.0 / 7.0).abs() < 1e-12 && (step[1] + 17.0 / 7.0).abs() < 1e-12);
        let edge = best_step(model, Within { radius: 0.5, room: &FREE });
        let length = (edge[0] * edge[0] + edge[1] * edge[1]).sqrt();
        assert!((length - 0.5).abs() < 1e-9, "{edge:?}");
        // No other point of the circle is better.
        let value = model.change(&edge);
        for turn in 0..1000 {
            let (sin, cos) = (f64::from(turn) * 0.00628).sin_cos();
            assert!(model.change(&[0.5 * cos, 0.5 * sin]) >= value - 1e-9);
        }
    }

    #[test]
    fn a_saddle_is_left_downhill_even_where_it_is_flat() {
        let model = Quadratic { gradient: &[0.0, 0.0], hessian: &[1.0, 0.0, 0.0, -2.0] };
        let step = best_step(model, Within { radius: 2.0, room: &FREE });
        assert!((model.change(&step) + 4.0).abs() < 1e-9, "{step:?}");
    }

    #[test]
    fn bounds_are_met_exactly_and_the_rest_goes_on() {
        let model = Quadratic { gradient: &[-4.0, -1.0], hessian: &[1.0, 0.0, 0.0, 1.0] };
        let room = [[-1.0, 0.5], [0.0, 9.0]];
        let step = best_step(model, Within { radius: 10.0, room: &room });
        assert_eq!(step[0], 0.5);
        assert!((step[1] - 1.0).abs() < 1e-12, "{step:?}");
    }
}
