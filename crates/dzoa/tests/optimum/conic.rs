//! Eq. (1) as a conic program over `x = (b, auxiliaries)`, for Clarabel: an interior-point solver
//! that shares no code with ours.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use dzoa::problem::Problem;
use dzoa::problem::loss::{Epigraph, Line};
use dzoa::problem::regularizer::Form;

/// Builds and solves the program: the minimiser, or the solver's last word.
pub fn minimiser(problem: &Problem) -> Result<Vec<f64>, String> {
    let mut program = ConicProgram::new(problem.dim());
    for (k, samples) in problem.agents.iter().enumerate() {
        let weight = problem.sample_weight(k);
        for i in 0..samples.count() {
            let (mut x, y) = (Vec::new(), samples.targets[i]);
            samples.rows.visit(i, |column, value| x.push((column, value)));
            let epigraph = problem.loss.epigraph(y).ok_or("the loss has no conic form")?;
            program.add_sample(epigraph, &WeightedRow { x, y, weight });
        }
    }
    program.add_penalty(problem);
    program.solve()
}

/// One row with its target and weight.
struct WeightedRow {
    x: Vec<(usize, f64)>,
    y: f64,
    weight: f64,
}

impl WeightedRow {
    /// `factor x`
    fn scaled(&self, factor: f64) -> impl Iterator<Item = (usize, f64)> {
        self.x.iter().map(move |&(column, value)| (column, factor * value))
    }
}

/// The entries of a sparse matrix.
#[derive(Default)]
struct Triplets {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Triplets {
    fn push(&mut self, row: usize, column: usize, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    fn matrix(self, height: usize, width: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(height, width, self.rows, self.columns, self.values)
    }
}

/// ConeRows of `A x + s = b, s in cones`, collected cone by cone.
#[derive(Default)]
struct ConeRows {
    triplets: Triplets,
    right: Vec<f64>,
}

impl ConeRows {
    fn push(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, right: f64) {
        for (column, value) in entries {
            self.triplets.push(self.right.len(), column, value);
        }
        self.right.push(right);
    }

    /// These rows with others below them.
    fn above(mut self, rows: ConeRows) -> Self {
        let offset = self.right.len();
        self.triplets.rows.extend(rows.triplets.rows.into_iter().map(|row| row + offset));
        self.triplets.columns.extend(rows.triplets.columns);
        self.triplets.values.extend(rows.triplets.values);
        self.right.extend(rows.right);
        self
    }
}

/// The program, as far as it is built. Columns are those of `b`, then one per auxiliary.
struct ConicProgram {
    features: usize,
    /// One cost per column.
    linear: Vec<f64>,
    /// The quadratic cost of auxiliaries.
    quadratic: Triplets,
    /// That of `b`: the upper triangle, row by row.
    gram: Vec<f64>,
    nonnegative: ConeRows,
    second_order: ConeRows,
    /// The size of each second-order cone.
    orders: Vec<usize>,
    exponential: ConeRows,
}

impl ConicProgram {
    fn new(features: usize) -> Self {
        Self {
            features,
            linear: vec![0.0; features],
            quadratic: Triplets::default(),
            gram: vec![0.0; features * features],
            nonnegative: ConeRows::default(),
            second_order: ConeRows::default(),
            orders: Vec::new(),
            exponential: ConeRows::default(),
        }
    }

    /// An auxiliary of this cost.
    fn fresh(&mut self, cost: f64) -> usize {
        self.linear.push(cost);
        self.linear.len() - 1
    }

    fn add_sample(&mut self, epigraph: Epigraph, sample: &WeightedRow) {
        match epigraph {
            Epigraph::Square => self.add_square(sample),
            Epigraph::Lines(lines) => self.add_lines(sample, &lines),
            Epigraph::Rounded { curvature, factor, lines } => {
                self.add_rounded(sample, &lines, curvature, factor);
            }
            Epigraph::LogSumExp(lines) => self.add_log_sum_exp(sample, &lines),
        }
    }

    /// `t >= l(x'b)` for every line
    fn add_lines(&mut self, sample: &WeightedRow, lines: &[Line]) {
        let t = self.fresh(sample.weight);
        for &Line { slope, offset } in lines {
            self.nonnegative.push(sample.scaled(slope).chain([(t, -1.0)]), -offset);
        }
    }

    /// `weight (x'b - y)^2`, through the Gram matrix: no variable per sample.
    fn add_square(&mut self, WeightedRow { x, y, weight }: &WeightedRow) {
        for &(a, va) in x {
            self.linear[a] -= 2.0 * weight * y * va;
            for &(c, vc) in x {
                if a <= c {
                    self.gram[a * self.features + c] += 2.0 * weight * va * vc;
                }
            }
        }
    }

    /// `min over s of curvature/2 s^2 + factor t`, with `t >= l(x'b - s)` for every line
    fn add_rounded(&mut self, sample: &WeightedRow, lines: &[Line], curvature: f64, factor: f64) {
        let s = self.fresh(0.0);
        let t = self.fresh(sample.weight * factor);
        self.quadratic.push(s, s, sample.weight * curvature);
        for &Line { slope, offset } in lines {
            let entries = sample.scaled(slope).chain([(s, -slope), (t, -1.0)]);
            self.nonnegative.push(entries, -offset);
        }
    }

    /// `t >= log sum_l e^l(x'b)`: `e^(l(x'b) - t) <= u_l` for every line, and `sum_l u_l <= 1`
    fn add_log_sum_exp(&mut self, sample: &WeightedRow, lines: &[Line]) {
        let t = self.fresh(sample.weight);
        let shares: Vec<usize> = lines.iter().map(|_| self.fresh(0.0)).collect();
        self.nonnegative.push(shares.iter().map(|&u| (u, 1.0)), 1.0);
        for (&Line { slope, offset }, &u) in lines.iter().zip(&shares) {
            // A constant has no entries in the columns of b.
            let row = (slope != 0.0).then(|| sample.scaled(-slope)).into_iter().flatten();
            self.exponential.push(row.chain([(t, 1.0)]), offset);
            self.exponential.push([], 1.0);
            self.exponential.push([(u, -1.0)], 0.0);
        }
    }

    /// `eta R(b)`
    fn add_penalty(&mut self, problem: &Problem) {
        let eta = problem.eta;
        match problem.regularizer.form() {
            Form::Separable { l1, l2 } => {
                for i in 0..problem.penalty(eta).penalized {
                    self.gram[i * self.features + i] += eta * l2;
                    if l1 * eta > 0.0 {
                        let t = self.fresh(l1 * eta);
                        self.nonnegative.push([(i, 1.0), (t, -1.0)], 0.0);
                        self.nonnegative.push([(i, -1.0), (t, -1.0)], 0.0);
                    }
                }
            }
            Form::Grouped(groups) => {
                for group in groups {
                    let t = self.fresh(eta * (group.len() as f64).sqrt());
                    self.second_order.push([(t, -1.0)], 0.0);
                    group.iter().for_each(|&i| self.second_order.push([(i, -1.0)], 0.0));
                    self.orders.push(group.len() + 1);
                }
            }
        }
    }

    fn solve(mut self) -> Result<Vec<f64>, String> {
        let (features, columns) = (self.features, self.linear.len());
        for a in 0..features {
            for c in a..features {
                let value = self.gram[a * features + c];
                if value != 0.0 {
                    self.quadratic.push(a, c, value);
                }
            }
        }
        let exponential_cones = self.exponential.right.len() / 3;
        let mut cones = vec![SupportedConeT::NonnegativeConeT(self.nonnegative.right.len())];
        cones.extend(self.orders.into_iter().map(SupportedConeT::SecondOrderConeT));
        cones.extend((0..exponential_cones).map(|_| SupportedConeT::ExponentialConeT()));
        let ConeRows { triplets, right } =
            self.nonnegative.above(self.second_order).above(self.exponential);
        let hessian = self.quadratic.matrix(columns, columns);
        let matrix = triplets.matrix(right.len(), columns);
        let mut solver =
            DefaultSolver::new(&hessian, &self.linear, &matrix, &right, &cones, settings())
                .map_err(|error| error.to_string())?;
        solver.solve();
        let solution = &solver.solution;
        match solution.status {
            // Tolerances this tight may end as "almost" or without progress.
            SolverStatus::Solved
            | SolverStatus::AlmostSolved
            | SolverStatus::InsufficientProgress => {}
            status => return Err(format!("{status:?}")),
        }
        Ok(solution.x[..features].to_vec())
    }
}

fn settings() -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        max_iter: 500,
        // The default factorisation left small logistic problems at 5e-6.
        direct_solve_method: "faer".into(),
        tol_gap_abs: 1e-11,
        tol_gap_rel: 1e-11,
        tol_feas: 1e-11,
        ..DefaultSettings::default()
    }
}

/// The minimiser over z of a sum of losses.
fn minimiser_of(losses: Vec<Epigraph>) -> f64 {
    let mut program = ConicProgram::new(1);
    for loss in losses {
        program.add_sample(loss, &WeightedRow { x: vec![(0, 1.0)], y: 0.0, weight: 0.7 });
    }
    program.solve().unwrap()[0]
}

#[test]
fn a_log_sum_of_two_exponentials_is_least_where_they_are_equal() {
    // log(e^(z + a) + e^(-z + b)) at z = (b - a)/2; a third line is far below both.
    let (a, b) = (0.3, 1.7);
    let lines = vec![Line::new(1.0, a), Line::new(-1.0, b), Line::new(0.0, -60.0)];
    assert!((minimiser_of(vec![Epigraph::LogSumExp(lines)]) - 0.7).abs() < 1e-6);
}

#[test]
fn rounded_lines_are_a_parabola_around_their_kink() {
    // 2 max(z - 1, 1 - z), rounded off, pulled by -z: curvature (z - 1) = 1 between the lines.
    let lines = vec![Line::new(1.0, -1.0), Line::new(-1.0, 1.0)];
    let rounded = Epigraph::Rounded { curvature: 4.0, factor: 2.0, lines };
    let pulled = minimiser_of(vec![rounded, Epigraph::Lines(vec![Line::new(-1.0, 0.0)])]);
    assert!((pulled - 1.25).abs() < 1e-6, "{pulled}");
}
