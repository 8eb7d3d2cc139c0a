//! The program of the interior-point method: kinks, cones, and products with the rows.

use super::cones::{Cone, ConeScaling};
use super::positive::Positive;
use crate::problem::EmpiricalRisk;
use crate::problem::loss::{Epigraph, Line};
use crate::problem::regularizer::{Form, Penalty};
use std::borrow::Cow;

/// Rows whose products are formed at once.
const TILE: usize = 512;

/// One number per kink: those of the agents' rows in their order, then the penalised columns.
pub(super) type PerKink = Vec<f64>;

/// What is minimised: losses of lines over the rows of some agents, a penalty, and
/// `linear'b + quadratic ||b||^2`.
#[derive(Clone, Copy, Debug)]
pub struct KinkObjective<'a> {
    /// The data terms.
    pub risks: &'a [EmpiricalRisk],
    /// The penalty.
    pub penalty: &'a Penalty,
    /// One number per column.
    pub linear: &'a [f64],
    /// At least 0.
    pub quadratic: f64,
}

/// The program.
pub(super) struct KinkProgram<'a> {
    risks: &'a [EmpiricalRisk],
    pub(super) cost: PerKink,
    pub(super) kink: PerKink,
    /// How much a multiplier shifts its kink: what rounds it off.
    pub(super) rounding: PerKink,
    /// The row of every kink; the kinked columns count on behind the rows.
    row: Vec<usize>,
    /// Whether every row has one kink.
    one_each: bool,
    /// Of every row.
    pub(super) slopes: Vec<SlopeRange>,
    pub(super) linear: Vec<f64>,
    /// The diagonal of Q.
    pub(super) quadratic: Vec<f64>,
    /// More of Q, row by row, or nothing.
    bend: &'a [f64],
    /// The size of predictions, or of coefficients where there are no rows.
    pub(super) unit: f64,
    /// Columns with a kink at zero.
    pub(super) kinked: usize,
    pub(super) cones: Vec<Cone>,
}

/// The lowest and the highest slope of a row's lines, and its weight.
#[derive(Clone, Copy)]
pub(super) struct SlopeRange {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) weight: f64,
}

impl<'a> KinkProgram<'a> {
    /// `None` where a loss is not made of lines, rounded off or not.
    pub(super) fn new(objective: &KinkObjective<'a>) -> Option<Self> {
        let &KinkObjective { risks, penalty, linear, quadratic } = objective;
        let mut program = Self::without_rows(linear.to_vec(), &[]);
        program.risks = risks;
        program.quadratic.fill(2.0 * quadratic);
        for EmpiricalRisk { samples, loss, weight } in risks {
            for (i, &y) in samples.targets.iter().enumerate() {
                let low = program.add_row(loss.epigraph(y)?, *weight)?;
                samples.rows.visit(i, |p, x| program.linear[p] += weight * low * x);
            }
        }
        let size = program.kink.iter().map(|kink| kink.abs()).sum::<f64>();
        if size > 0.0 {
            program.unit = size / program.kink.len() as f64;
        }
        program.add_penalty(penalty);
        Some(program)
    }

    /// Of `linear'v + 1/2 v'bend v` and a penalty; coefficients are about as large as the unit.
    pub(super) fn of_quadratic(
        linear: Vec<f64>,
        bend: &'a [f64],
        penalty: &Penalty,
        unit: f64,
    ) -> Self {
        let mut program = Self { unit, ..Self::without_rows(linear, bend) };
        program.add_penalty(penalty);
        program
    }

    fn without_rows(linear: Vec<f64>, bend: &'a [f64]) -> Self {
        Self {
            risks: &[],
            cost: Vec::new(),
            kink: Vec::new(),
            rounding: Vec::new(),
            row: Vec::new(),
            one_each: false,
            slopes: Vec::new(),
            quadratic: vec![0.0; linear.len()],
            linear,
            bend,
            unit: 1.0,
            kinked: 0,
            cones: Vec::new(),
        }
    }

    fn add_penalty(&mut self, penalty: &Penalty) {
        match penalty.regularizer.form() {
            Form::Separable { l1, l2 } => {
                let bent = &mut self.quadratic[..penalty.penalized];
                bent.iter_mut().for_each(|bend| *bend += l2 * penalty.weight);
                self.add_absolutes(penalty.penalized, l1 * penalty.weight);
            }
            Form::Grouped(groups) if penalty.weight > 0.0 => {
                let cone = |columns: &Vec<usize>| {
                    let weight = penalty.weight * (columns.len() as f64).sqrt();
                    Cone { columns: columns.clone(), weight }
                };
                let some = groups.iter().filter(|columns| !columns.is_empty());
                self.cones = some.map(cone).collect();
            }
            Form::Grouped(_) => {}
        }
        let all = self.slopes.len() + self.kinked;
        self.one_each = self.row.iter().copied().eq(0..all);
    }

    /// `Q b`
    pub(super) fn bent(&self, b: &[f64]) -> Vec<f64> {
        let diagonal = self.quadratic.iter().zip(b).map(|(bend, b)| bend * b);
        if self.bend.is_empty() {
            return diagonal.collect();
        }
        let lines = self.bend.chunks_exact(b.len());
        let sum = |line: &[f64]| line.iter().zip(b).map(|(bend, b)| bend * b).sum::<f64>();
        lines.zip(diagonal).map(|(line, diagonal)| diagonal + sum(line)).collect()
    }

    /// The kinks of one row's loss; its lowest slope.
    fn add_row(&mut self, epigraph: Epigraph, weight: f64) -> Option<f64> {
        let (lines, factor, bend) = match epigraph {
            Epigraph::Lines(lines) => (envelope(lines), 1.0, None),
            Epigraph::Rounded { curvature, factor, lines } => {
                (envelope(lines), factor, Some(curvature))
            }
            Epigraph::Square | Epigraph::LogSumExp(_) => return None,
        };
        if lines.is_empty() || bend.is_some_and(|bend| lines.len() != 2 || bend <= 0.0) {
            return None;
        }
        let (row, low) = (self.slopes.len(), factor * lines[0].slope);
        for pair in lines.windows(2) {
            let rise = pair[1].slope - pair[0].slope;
            // Rounded off, the parabola begins where it has the lower line's slope.
            let shift = bend.map_or(0.0, |bend| low / bend);
            self.cost.push(weight * factor * rise);
            self.kink.push((pair[0].offset - pair[1].offset) / rise + shift);
            self.rounding.push(bend.map_or(0.0, |bend| 1.0 / (weight * bend)));
            self.row.push(row);
        }
        let high = factor * lines[lines.len() - 1].slope;
        self.slopes.push(SlopeRange { low, high, weight });
        Some(low)
    }

    /// `l1 |b_p|` of the first columns.
    fn add_absolutes(&mut self, penalized: usize, l1: f64) {
        if l1 > 0.0 {
            self.kinked = penalized;
            self.linear[..penalized].iter_mut().for_each(|linear| *linear -= l1);
            self.cost.extend(vec![2.0 * l1; penalized]);
            self.kink.extend(vec![0.0; penalized]);
            self.rounding.extend(vec![0.0; penalized]);
            self.row.extend((0..penalized).map(|p| self.slopes.len() + p));
        }
    }

    /// `X b` at every kink, and below it the kinked columns themselves.
    pub(super) fn times(&self, b: &[f64]) -> PerKink {
        let mut out = vec![0.0; self.slopes.len() + self.kinked];
        let mut first = 0;
        for EmpiricalRisk { samples, .. } in self.risks {
            samples.rows.times(0, b, &mut out[first..first + samples.count()]);
            first += samples.count();
        }
        out[first..].copy_from_slice(&b[..self.kinked]);
        match self.one_each {
            true => out,
            false => self.row.iter().map(|&row| out[row]).collect(),
        }
    }

    /// One number for every row and kinked column: the sum of those of its kinks.
    pub(super) fn by_row<'v>(&self, values: &'v [f64]) -> Cow<'v, [f64]> {
        if self.one_each {
            return Cow::Borrowed(values);
        }
        let mut sums = vec![0.0; self.slopes.len() + self.kinked];
        self.row.iter().zip(values).for_each(|(&row, value)| sums[row] += value);
        Cow::Owned(sums)
    }

    /// The transpose of [`KinkProgram::times`].
    pub(super) fn transposed(&self, weights: &[f64]) -> Vec<f64> {
        let weights = self.by_row(weights);
        let mut out = vec![0.0; self.linear.len()];
        let mut first = 0;
        for EmpiricalRisk { samples, .. } in self.risks {
            let weights = &weights[first..first + samples.count()];
            samples.rows.add_transposed_from(0, weights, &mut out);
            first += samples.count();
        }
        out.iter_mut().zip(&weights[first..]).for_each(|(out, weight)| *out += weight);
        out
    }

    /// The factors of `Q + X'DX`, with the cones.
    pub(super) fn factor(&self, d: &[f64], scalings: &[ConeScaling]) -> Option<Positive> {
        let d = self.by_row(d);
        let dim = self.linear.len();
        let mut matrix = self.bend.to_vec();
        matrix.resize(dim * dim, 0.0);
        let (mut scratch, mut first) = (Vec::new(), 0);
        for EmpiricalRisk { samples, .. } in self.risks {
            for start in (0..samples.count()).step_by(TILE) {
                let count = TILE.min(samples.count() - start);
                let d = &d[first + start..][..count];
                samples.rows.add_gram(start, d, &mut scratch, &mut matrix);
            }
            first += samples.count();
        }
        for p in 0..dim {
            matrix[p * dim + p] += self.quadratic[p] + d.get(first + p).copied().unwrap_or(0.0);
        }
        let cones = self.cones.iter().zip(scalings);
        cones.for_each(|(cone, scaling)| cone.add_to(scaling, &mut matrix, dim));
        Positive::of_interior(matrix, dim)
    }
}

/// Those lines that are the highest somewhere, by slope.
fn envelope(mut lines: Vec<Line>) -> Vec<Line> {
    let order = |one: &Line, other: &Line| {
        one.slope.total_cmp(&other.slope).then(one.offset.total_cmp(&other.offset))
    };
    lines.sort_by(order);
    let meets = |one: &Line, other: &Line| (one.offset - other.offset) / (other.slope - one.slope);
    let mut kept: Vec<Line> = Vec::new();
    for line in lines {
        while let Some(last) = kept.last() {
            let same = last.slope == line.slope;
            let below = kept.len() > 1 && {
                let before = &kept[kept.len() - 2];
                meets(before, &line) <= meets(before, last)
            };
            if !(same || below) {
                break;
            }
            kept.pop();
        }
        kept.push(line);
    }
    kept
}
