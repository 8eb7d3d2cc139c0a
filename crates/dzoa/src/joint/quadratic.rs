//! The public subproblem of a Newton step: a quadratic form and a penalty.
//!
//! Plain loops over plain doubles: every processor finds the same bits.

use crate::problem::regularizer::Penalty;

/// Passes over the coordinates at most.
const PASSES: usize = 2000;
/// A pass that moves no coordinate farther, relative to the longest, is the last.
const STILL: f64 = 1e-13;

/// `argmin 1/2 v'Hv + linear'v + penalty(v)`, from a start. `H` is positive definite, line by line.
pub(super) fn minimise(
    hessian: &[f64],
    linear: &[f64],
    penalty: &Penalty,
    start: &[f64],
) -> Vec<f64> {
    match penalty.regularizer.is_grouped() {
        false => by_coordinates(hessian, linear, penalty, start),
        true => by_gradients(hessian, linear, penalty, start),
    }
}

fn by_coordinates(h: &[f64], linear: &[f64], penalty: &Penalty, start: &[f64]) -> Vec<f64> {
    let n = linear.len();
    let mut v = start.to_vec();
    let mut slope = times(h, &v, linear);
    for _ in 0..PASSES {
        let (mut moved, mut longest) = (0.0_f64, 0.0_f64);
        for i in 0..n {
            let curvature = h[i * n + i];
            let target = v[i] - slope[i] / curvature;
            let Some(new) = penalty.prox_coordinate(i, target, 1.0 / curvature) else {
                return by_gradients(h, linear, penalty, start);
            };
            let change = new - v[i];
            if change != 0.0 {
                slope.iter_mut().zip(&h[i * n..]).for_each(|(slope, h)| *slope += h * change);
                v[i] = new;
            }
            moved = moved.max(change.abs());
            longest = longest.max(new.abs());
        }
        if moved <= STILL * longest {
            break;
        }
    }
    v
}

/// Accelerated proximal gradients, for penalties that join coordinates.
fn by_gradients(h: &[f64], linear: &[f64], penalty: &Penalty, start: &[f64]) -> Vec<f64> {
    let n = linear.len();
    // The trace bounds the largest eigenvalue.
    let step = 1.0 / (0..n).map(|i| h[i * n + i]).sum::<f64>();
    let (mut v, mut before, mut t) = (start.to_vec(), start.to_vec(), 0.0);
    for _ in 0..PASSES * 10 {
        let beta = t / (t + 3.0);
        let mut next: Vec<f64> =
            v.iter().zip(&before).map(|(v, before)| v + beta * (v - before)).collect();
        let slope = times(h, &next, linear);
        next.iter_mut().zip(slope).for_each(|(next, slope)| *next -= step * slope);
        penalty.prox(&mut next, step);
        let pairs = || next.iter().zip(&v);
        let moved = pairs().fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        let longest = next.iter().fold(0.0, |most: f64, a| most.max(a.abs()));
        before = std::mem::replace(&mut v, next);
        t += 1.0;
        if moved <= STILL * longest {
            break;
        }
    }
    v
}

/// `H v + linear`
pub(super) fn times(h: &[f64], v: &[f64], linear: &[f64]) -> Vec<f64> {
    let lines = h.chunks_exact(v.len()).zip(linear);
    lines.map(|(line, l)| line.iter().zip(v).map(|(h, v)| h * v).sum::<f64>() + l).collect()
}

/// Whether a symmetric matrix is positive definite, by Cholesky's factorisation.
pub(super) fn is_positive_definite(h: &[f64], n: usize) -> bool {
    let mut l = h.to_vec();
    for j in 0..n {
        let square: f64 = (0..j).map(|k| l[j * n + k] * l[j * n + k]).sum();
        let pivot = l[j * n + j] - square;
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        l[j * n + j] = root;
        for i in j + 1..n {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            l[i * n + j] = (l[i * n + j] - dot) / root;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::regularizer::Regularizer;

    const H: [f64; 4] = [2.0, 0.5, 0.5, 1.0];

    #[test]
    fn without_a_penalty_it_solves_the_linear_system() {
        // H v = -l has the solution [0.8571..., -2.4285...] for l = [-0.5, 2].
        let penalty = Penalty { regularizer: Regularizer::None, weight: 0.0, penalized: 2 };
        let v = minimise(&H, &[-0.5, 2.0], &penalty, &[0.0, 0.0]);
        assert!((v[0] - 6.0 / 7.0).abs() < 1e-12 && (v[1] + 17.0 / 7.0).abs() < 1e-12, "{v:?}");
    }

    #[test]
    fn every_penalty_ends_where_its_optimality_condition_holds() {
        let groups = vec![vec![0, 1]];
        for regularizer in [Regularizer::L1, Regularizer::L2, Regularizer::GroupL1(groups)] {
            let penalty = Penalty { regularizer, weight: 0.3, penalized: 2 };
            let linear = [-0.5, 2.0];
            let v = minimise(&H, &linear, &penalty, &[3.0, -3.0]);
            // A prox step from the minimiser stays there.
            let slope = times(&H, &v, &linear);
            let mut moved: Vec<f64> = v.iter().zip(slope).map(|(v, s)| v - 0.1 * s).collect();
            penalty.prox(&mut moved, 0.1);
            let far = v.iter().zip(&moved).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(far < 1e-9, "{:?}: {v:?} {moved:?}", penalty.regularizer);
        }
    }

    #[test]
    fn a_matrix_with_a_negative_eigenvalue_is_found() {
        assert!(is_positive_definite(&H, 2));
        assert!(!is_positive_definite(&[1.0, 2.0, 2.0, 1.0], 2));
        assert!(!is_positive_definite(&[f64::NAN, 0.0, 0.0, 1.0], 2));
    }
}
