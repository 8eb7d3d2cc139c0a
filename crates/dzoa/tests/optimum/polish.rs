//! Newton steps on the coefficients that another solver left away from zero: Clarabel ends some
//! digits short of a smooth minimum.

use dzoa::problem::Problem;

/// The gradient of the data term and, where the loss is smooth, its Hessian.
fn derivatives(problem: &Problem, b: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let p = problem.dim();
    let (mut gradient, mut hessian) = (vec![0.0; p], vec![0.0; p * p]);
    for (k, samples) in problem.agents.iter().enumerate() {
        let weight = problem.sample_weight(k);
        for i in 0..samples.count() {
            let (z, y) = (samples.rows.dot(i, b), samples.targets[i]);
            let slope = weight * problem.loss.slope(z, y);
            let bend = weight * problem.loss.curvature(z, y)?;
            samples.rows.visit(i, |a, va| {
                gradient[a] += slope * va;
                samples.rows.visit(i, |c, vc| hessian[a * p + c] += bend * va * vc);
            });
        }
    }
    Some((gradient, hessian))
}

/// Solves a system by elimination, row by row; `None` if it is singular.
fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for i in 0..n {
        let pivot = (i..n).max_by(|&a, &b| matrix[a][i].abs().total_cmp(&matrix[b][i].abs()))?;
        matrix.swap(i, pivot);
        right.swap(i, pivot);
        if matrix[i][i].abs() < 1e-13 {
            return None;
        }
        for k in i + 1..n {
            let factor = matrix[k][i] / matrix[i][i];
            for j in i..n {
                matrix[k][j] -= factor * matrix[i][j];
            }
            right[k] -= factor * right[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| matrix[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    Some(right)
}

/// The minimiser near `b` with the same zeros, as far as the objective falls; otherwise `b`.
pub fn polished(problem: &Problem, b: Vec<f64>) -> Vec<f64> {
    let penalty = problem.penalty(problem.eta);
    let p = problem.dim();
    let largest = b.iter().fold(0.0, |max: f64, b| max.max(b.abs()));
    let support: Vec<usize> =
        (0..p).filter(|&i| i >= penalty.penalized || b[i].abs() > 1e-6 * largest).collect();
    let mut trial = b.clone();
    (0..p).filter(|i| !support.contains(i)).for_each(|i| trial[i] = 0.0);
    for _ in 0..20 {
        let Some((mut gradient, mut hessian)) = derivatives(problem, &trial) else { return b };
        penalty.add_smooth_part(&trial, &mut gradient, &mut hessian);
        let line = |&a: &usize| support.iter().map(|&c| hessian[a * p + c]).collect();
        let right = support.iter().map(|&a| gradient[a]).collect();
        let Some(step) = solved(support.iter().map(line).collect(), right) else { return b };
        support.iter().zip(step).for_each(|(&a, step)| trial[a] -= step);
    }
    if problem.value(&trial) <= problem.value(&b) { trial } else { b }
}
