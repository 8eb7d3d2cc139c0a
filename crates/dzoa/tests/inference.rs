//! Intervals against closed forms. python/tests/test_inference.py has them against statsmodels on
//! public data.

use dzoa::inference::{Estimate, Inference, NoInference};
use dzoa::prelude::*;
use dzoa::reference::ReferenceError;
use std::sync::Arc;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

/// Rows with a constant behind them, dealt out to agents of these sizes.
fn problem(loss: Arc<dyn Loss>, rows: &[Vec<f64>], targets: &[f64], sizes: &[usize]) -> Problem {
    let mut first = 0;
    let agents = sizes.iter().map(|size| {
        let part = first..first + size;
        first = part.end;
        let with_constant = rows[part.clone()].iter().map(|row| [&row[..], &[1.0]].concat());
        let rows = Rows::dense(rows[0].len() + 1, with_constant.flatten().collect()).unwrap();
        Arc::new(Samples::new(rows, targets[part].to_vec()).unwrap())
    });
    Problem {
        loss,
        regularizer: Regularizer::L1,
        eta: 3.0,
        scale: Scale::Mean,
        intercept: true,
        agents: agents.collect(),
    }
}

/// So many rows of each cell of a table: exposed and ill, exposed and well, and the others.
fn two_by_two([a, b, c, d]: [usize; 4]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let cells = [(a, 1.0, 1.0), (b, 1.0, -1.0), (c, 0.0, 1.0), (d, 0.0, -1.0)];
    cells.iter().flat_map(|&(n, x, y)| std::iter::repeat_n((vec![x], y), n)).unzip()
}

#[test]
fn a_line_has_the_standard_errors_of_the_textbook() {
    let x = [1.0, 2.0, 4.0, 7.0, 11.0_f64];
    let y = [2.0, 1.0, 5.0, 6.0, 11.0_f64];
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let sxx: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let sxy: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = sxy / sxx;
    let constant = mean_y - slope * mean_x;
    let rest: f64 = x.iter().zip(y).map(|(x, y)| (y - constant - slope * x).powi(2)).sum();
    let s = (rest / (n - 2.0)).sqrt();
    let rows: Vec<Vec<f64>> = x.iter().map(|x| vec![*x]).collect();
    for sizes in [&[5][..], &[1, 4], &[2, 2, 1]] {
        let found = Inference::new(&problem(Arc::new(Squared), &rows, &y, sizes)).unwrap();
        assert_eq!((found.rows, found.freedom), (5, Some(3.0)));
        let of = |column| found.coefficient(column).unwrap();
        assert!(close(of(0).value, slope) && close(of(1).value, constant), "{found:?}");
        assert!(close(of(0).error, s / sxx.sqrt()), "{found:?}");
        assert!(close(of(1).error, s * (1.0 / n + mean_x * mean_x / sxx).sqrt()), "{found:?}");
        // The prediction at 3.
        let there = found.combination(&[3.0, 1.0]);
        let error = s * (1.0 / n + (3.0 - mean_x).powi(2) / sxx).sqrt();
        assert!(close(there.value, constant + 3.0 * slope) && close(there.error, error));
    }
}

#[test]
fn a_two_by_two_table_has_the_log_odds_ratio_and_error_of_woolf() {
    let cells = [12, 5, 7, 30];
    let [a, b, c, d] = cells.map(|count| count as f64);
    let (rows, targets) = two_by_two(cells);
    for sizes in [&[54][..], &[20, 34]] {
        let found = Inference::new(&problem(Arc::new(Logistic), &rows, &targets, sizes)).unwrap();
        let Estimate { value, error } = found.coefficient(0).unwrap();
        assert!(close(value, (a * d / (b * c)).ln()), "{value}");
        assert!(close(error, (1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d).sqrt()), "{error}");
        assert_eq!(found.freedom, None);
    }
}

#[test]
fn neither_the_penalty_nor_the_weights_of_agents_move_it() {
    let (rows, targets) = two_by_two([12, 5, 7, 30]);
    let given = problem(Arc::new(Logistic), &rows, &targets, &[10, 44]);
    let expected = Inference::new(&given).unwrap();
    for scale in [Scale::Sum, Scale::Pooled] {
        for regularizer in [Regularizer::None, Regularizer::L2] {
            let other = Problem { scale, regularizer, eta: 0.1, ..given.clone() };
            assert_eq!(Inference::new(&other).unwrap(), expected);
        }
    }
}

#[test]
fn rows_without_a_target_make_nothing_surer() {
    let rows: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 7.0].iter().map(|x| vec![*x]).collect();
    let given = problem(Arc::new(Squared), &rows, &[2.0, 1.0, 5.0, 6.0], &[4]);
    let mut more = given.clone();
    // As a file with missing targets is read.
    let blank = Samples::new(Rows::dense(2, vec![0.0; 6]).unwrap(), vec![0.0; 3]).unwrap();
    more.agents.push(Arc::new(blank));
    assert_eq!(Inference::new(&more).unwrap(), Inference::new(&given).unwrap());
}

#[test]
fn a_column_that_is_a_sum_of_others_is_left_out_and_the_others_are_as_without_it() {
    let (plain, targets) = two_by_two([12, 5, 7, 30]);
    let alone = problem(Arc::new(Logistic), &plain, &targets, &[54]);
    let alone = Inference::new(&alone).unwrap();
    // Both levels beside a constant, and a column that is never anything.
    let rows: Vec<Vec<f64>> = plain.iter().map(|row| vec![row[0], 1.0 - row[0], 0.0]).collect();
    let found = Inference::new(&problem(Arc::new(Logistic), &rows, &targets, &[54])).unwrap();
    assert_eq!((found.coefficient(1), found.coefficient(2)), (None, None));
    for (column, same) in [(0, 0), (3, 1)] {
        let (one, other) = (found.coefficient(column).unwrap(), alone.coefficient(same).unwrap());
        assert!(close(one.value, other.value) && close(one.error, other.error), "{found:?}");
    }
}

#[test]
fn a_level_of_one_class_has_no_interval_and_the_others_are_as_without_its_rows() {
    let (plain, targets) = two_by_two([12, 5, 7, 30]);
    let alone = Inference::new(&problem(Arc::new(Logistic), &plain, &targets, &[54])).unwrap();
    // A rare level of which everybody is ill, as two numbers that are not 0 and 1.
    for (without, with) in [(0.0, 1.0), (-1.0, 1.0)] {
        let mut rows: Vec<Vec<f64>> = plain.iter().map(|row| vec![row[0], without]).collect();
        rows.extend([vec![1.0, with], vec![0.0, with], vec![0.0, with]]);
        let targets = [&targets[..], &[1.0; 3]].concat();
        let given = problem(Arc::new(Logistic), &rows, &targets, &[54, 3]);
        let found = Inference::new(&given).unwrap();
        assert_eq!((found.one_sided(), found.coefficient(1)), (&[1][..], None));
        assert_eq!(found.rows, 54);
        let (one, other) = (found.coefficient(0).unwrap(), alone.coefficient(0).unwrap());
        assert!(close(one.value, other.value) && close(one.error, other.error), "{found:?}");
    }
}

#[test]
fn what_determines_no_interval_is_refused_by_name() {
    // A number that parts the classes: no level is to blame.
    let line: Vec<Vec<f64>> = (0..8).map(|i| vec![i as f64 - 3.5]).collect();
    let signs: Vec<f64> = line.iter().map(|x| x[0].signum()).collect();
    let apart = Inference::new(&problem(Arc::new(Logistic), &line, &signs, &[8]));
    assert_eq!(apart, Err(NoInference::NoEstimate(ReferenceError::NoMinimiser)));
    let (rows, targets) = two_by_two([12, 0, 0, 30]);
    let hinge = Inference::new(&problem(Arc::new(Hinge), &rows, &targets, &[42]));
    assert_eq!(hinge, Err(NoInference::NoLikelihood("hinge")));
    let two = problem(Arc::new(Squared), &[vec![1.0], vec![2.0]], &[1.0, 3.0], &[2]);
    assert_eq!(Inference::new(&two), Err(NoInference::FewRows { rows: 2, columns: 2 }));
}
