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

/// Rounds of rotations at most; a handful is enough.
const SWEEPS: usize = 60;

/// A symmetric matrix with its eigenvalues moved into a range.
pub(super) fn confined(matrix: &[f64], n: usize, [least, most]: [f64; 2]) -> Vec<f64> {
    let (values, vectors) = eigen(matrix, n);
    let mut out = vec![0.0; n * n];
    for (value, vector) in values.into_iter().zip(vectors.chunks_exact(n)) {
        // A value that is no number ends at the floor.
        let value = if value > least { value.min(most) } else { least };
        for p in 0..n {
            for q in 0..n {
                out[p * n + q] += value * vector[p] * vector[q];
            }
        }
    }
    out
}

/// Eigenvalues of a symmetric matrix and its eigenvectors as lines, by Jacobi's rotations.
pub(super) fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    let size: f64 = a.iter().map(|value| value * value).sum();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n)
            .flat_map(|p| (p + 1..n).map(move |q| (p, q)))
            .map(|(p, q)| a[p * n + q] * a[p * n + q])
            .sum();
        if off <= 1e-30 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, Pair { n, p, q });
            }
        }
    }
    ((0..n).map(|i| a[i * n + i]).collect(), vectors)
}

/// Two lines of a matrix with n of them.
#[derive(Clone, Copy)]
struct Pair {
    n: usize,
    p: usize,
    q: usize,
}

/// One rotation that makes `a_pq` zero (Golub and Van Loan, section 8.5); eigenvectors are lines.
fn rotate(a: &mut [f64], vectors: &mut [f64], Pair { n, p, q }: Pair) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let tau = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = 1.0 / (tau.abs() + (1.0 + tau * tau).sqrt());
    let t = if tau < 0.0 { -t } else { t };
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
    for k in 0..n {
        let (x, y) = turn(a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (x, y);
    }
    for k in 0..n {
        let (x, y) = turn(a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (x, y);
        let (x, y) = turn(vectors[p * n + k], vectors[q * n + k]);
        (vectors[p * n + k], vectors[q * n + k]) = (x, y);
    }
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
        for regularizer in [Regularizer::L1, Regularizer::L2, Regularizer::GroupL1 { groups }] {
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
    fn small_eigenvalues_are_raised_and_others_stay() {
        // [[1, 2], [2, 1]] has the eigenvalues 3 and -1, with vectors (1, 1) and (1, -1).
        let up = confined(&[1.0, 2.0, 2.0, 1.0], 2, [0.5, 9.0]);
        let expected = [1.75, 1.25, 1.25, 1.75];
        assert!(up.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{up:?}");
        let same = confined(&H, 2, [1e-3, 9.0]);
        assert!(same.iter().zip(H).all(|(a, b)| (a - b).abs() < 1e-12), "{same:?}");
    }

    #[test]
    fn a_larger_matrix_keeps_its_eigenvalues_above_the_floor() {
        // The second difference has the eigenvalues 2 - 2 cos(k pi/(n + 1)).
        const N: usize = 12;
        let mut h = vec![0.0; N * N];
        for i in 0..N {
            h[i * N + i] = 2.0;
            if i + 1 < N {
                (h[i * N + i + 1], h[(i + 1) * N + i]) = (-1.0, -1.0);
            }
        }
        let same = confined(&h, N, [1e-9, 9.0]);
        assert!(same.iter().zip(&h).all(|(a, b)| (a - b).abs() < 1e-12));
        // With the floor at the third eigenvalue, the trace grows by what the first two lack.
        let value = |k: f64| 2.0 - 2.0 * (k * std::f64::consts::PI / 13.0).cos();
        let up = confined(&h, N, [value(3.0), 9.0]);
        let trace: f64 = (0..N).map(|i| up[i * N + i]).sum();
        let expected = 24.0 + 2.0 * value(3.0) - value(1.0) - value(2.0);
        assert!((trace - expected).abs() < 1e-10, "{trace} {expected}");
    }
}
