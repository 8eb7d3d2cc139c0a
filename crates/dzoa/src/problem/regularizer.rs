//! Regularisers `R(b)`, and the penalty `(eta/K) R(b)` that an agent minimises with its loss.
//!
//! To add a regulariser, add a variant to [`Regularizer`] with its [`Form`], and a row to
//! [`REGULARIZERS`]. Config, Python and errors read that table; solvers ask for the form only.

use super::probe::Probe;
use crate::registry::{NumberRange, Parameter, RegistryEntry};

/// A regulariser that users can name. One over groups of columns is built without them.
pub type RegularizerEntry = RegistryEntry<Regularizer>;

const L1_RATIO: Parameter = Parameter::new("l1_ratio", NumberRange::Between(0.0, 1.0), 0.5);

/// All of them, in the order of the documentation.
pub const REGULARIZERS: &[RegularizerEntry] = &[
    RegularizerEntry { name: "l1", about: "||b||_1", parameters: &[], build: |_| Regularizer::L1 },
    RegularizerEntry {
        name: "l2",
        about: "1/2 ||b||^2",
        parameters: &[],
        build: |_| Regularizer::L2,
    },
    RegularizerEntry {
        name: "elastic-net",
        about: "r ||b||_1 + (1 - r)/2 ||b||^2, with r = l1_ratio",
        parameters: &[L1_RATIO],
        build: |given| Regularizer::ElasticNet { l1_ratio: given.of(L1_RATIO) },
    },
    RegularizerEntry {
        name: "group-l1",
        about: "the norms of groups of columns, each with weight sqrt(size)",
        parameters: &[],
        build: |_| Regularizer::GroupL1 { groups: Vec::new() },
    },
    RegularizerEntry {
        name: "none",
        about: "nothing",
        parameters: &[],
        build: |_| Regularizer::None,
    },
];

/// A convex function of the coefficients that holds no data.
#[derive(Clone, Debug, PartialEq)]
pub enum Regularizer {
    /// `||b||_1`
    L1,
    /// `1/2 ||b||^2`
    L2,
    /// `r ||b||_1 + (1 - r)/2 ||b||^2`
    ElasticNet {
        /// r, between 0 and 1.
        l1_ratio: f64,
    },
    /// `sum_g sqrt(|g|) ||b_g||` over disjoint groups of columns.
    GroupL1 {
        /// Column indices of each group; columns in no group are not regularised.
        groups: Vec<Vec<usize>>,
    },
    /// Nothing.
    None,
}

/// `weight R(b)` on the first `penalized` coordinates; an intercept comes last and is left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Penalty {
    /// R.
    pub regularizer: Regularizer,
    /// `eta/K` at an agent, `eta` at the reference.
    pub weight: f64,
    /// How many leading coordinates are penalised.
    pub penalized: usize,
}

/// A regulariser as solvers need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form<'a> {
    /// `l1 ||b||_1 + l2/2 ||b||^2`
    Separable {
        /// Weight of the norm.
        l1: f64,
        /// Weight of half the squared norm.
        l2: f64,
    },
    /// `sum_g sqrt(|g|) ||b_g||`
    Grouped(&'a [Vec<usize>]),
}

impl Regularizer {
    /// What solvers need to know of it.
    pub fn form(&self) -> Form<'_> {
        match self {
            Self::L1 => Form::Separable { l1: 1.0, l2: 0.0 },
            Self::L2 => Form::Separable { l1: 0.0, l2: 1.0 },
            Self::ElasticNet { l1_ratio } => Form::Separable { l1: *l1_ratio, l2: 1.0 - l1_ratio },
            Self::GroupL1 { groups } => Form::Grouped(groups),
            Self::None => Form::Separable { l1: 0.0, l2: 0.0 },
        }
    }

    /// Whether it is over groups of columns, which [`with_groups`](Self::with_groups) gives it.
    pub fn is_grouped(&self) -> bool {
        matches!(self.form(), Form::Grouped(_))
    }

    /// Over these groups of columns; as it is, if it is not [grouped](Self::is_grouped).
    pub fn with_groups(self, groups: Vec<Vec<usize>>) -> Self {
        match self {
            Self::GroupL1 { .. } => Self::GroupL1 { groups },
            other => other,
        }
    }

    /// Whether it is nothing at all, so that eta has no meaning.
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether it has no kinks.
    pub fn is_smooth(&self) -> bool {
        matches!(self.separable(), Some((l1, _)) if l1 == 0.0)
    }

    /// Its modulus of strong convexity.
    pub fn strong_convexity(&self) -> f64 {
        self.separable().map_or(0.0, |(_, l2)| l2)
    }

    /// The weights of the l1 and the squared l2 part, where the regulariser is separable.
    pub(crate) fn separable(&self) -> Option<(f64, f64)> {
        match self.form() {
            Form::Separable { l1, l2 } => Some((l1, l2)),
            Form::Grouped(_) => None,
        }
    }
}

/// The groups with their weights `sqrt(|g|)`.
fn weighted(groups: &[Vec<usize>]) -> impl Iterator<Item = (f64, &[usize])> {
    groups.iter().map(|group| ((group.len() as f64).sqrt(), group.as_slice()))
}

fn norm(group: &[usize], b: &[f64]) -> f64 {
    group.iter().map(|&i| b[i] * b[i]).sum::<f64>().sqrt()
}

impl Penalty {
    /// Adds a subgradient at `b`: zero where `b` sits on a kink.
    pub fn add_subgradient(&self, b: &[f64], out: &mut [f64]) {
        match self.regularizer.form() {
            Form::Separable { l1, l2 } => {
                for (out, &b) in out.iter_mut().zip(&b[..self.penalized]) {
                    let sign = if b == 0.0 { 0.0 } else { b.signum() };
                    *out += self.weight * (l1 * sign + l2 * b);
                }
            }
            Form::Grouped(groups) => {
                for (size, group) in weighted(groups) {
                    let length = norm(group, b);
                    if length > 0.0 {
                        group.iter().for_each(|&i| out[i] += self.weight * size * b[i] / length);
                    }
                }
            }
        }
    }

    /// `weight R(b)`.
    pub fn value(&self, b: &[f64]) -> f64 {
        let b = &b[..self.penalized];
        let value = match self.regularizer.form() {
            Form::Separable { l1, l2 } => {
                l1 * b.iter().map(|b| b.abs()).sum::<f64>()
                    + 0.5 * l2 * b.iter().map(|b| b * b).sum::<f64>()
            }
            Form::Grouped(groups) => {
                weighted(groups).map(|(weight, group)| weight * norm(group, b)).sum()
            }
        };
        self.weight * value
    }

    /// `argmin_b 1/2 ||b - v||^2 + scale weight R(b)`, in place.
    pub fn prox(&self, v: &mut [f64], scale: f64) {
        let strength = scale * self.weight;
        match self.regularizer.form() {
            Form::Separable { l1, l2 } => {
                v[..self.penalized].iter_mut().for_each(|v| *v = shrink(*v, strength, l1, l2));
            }
            Form::Grouped(groups) => {
                weighted(groups).for_each(|(weight, group)| {
                    let length = norm(group, v);
                    let threshold = strength * weight;
                    let factor = if length > threshold { 1.0 - threshold / length } else { 0.0 };
                    group.iter().for_each(|&i| v[i] *= factor);
                });
            }
        }
    }

    /// Coordinate `i` of the prox of `v`, for a separable regulariser; `None` for a grouped one.
    #[inline]
    pub fn prox_coordinate(&self, i: usize, v: f64, scale: f64) -> Option<f64> {
        let (l1, l2) = self.regularizer.separable()?;
        Some(if i < self.penalized { shrink(v, scale * self.weight, l1, l2) } else { v })
    }

    /// `out[j] += weight [R(b + u1 nu1_j + u2 nu2_j) - R(b + u1 nu1_j)]/u2` without cancellation,
    /// where R is grouped.
    pub(super) fn add_group_quotients(&self, probe: &Probe<'_>, out: &mut [f64]) {
        let Probe { point, u1, u2, directions } = *probe;
        let scale = self.weight / u2;
        if let Form::Grouped(groups) = self.regularizer.form() {
            for (weight, group) in weighted(groups) {
                for (j, out) in out.iter_mut().enumerate() {
                    let (mut aa, mut av, mut vv, mut there) = (0.0, 0.0, 0.0, 0.0);
                    for &p in group {
                        let (nu1, nu2) = directions.feature(p);
                        let a = point[p] + u1 * nu1[j];
                        let moved = a + u2 * nu2[j];
                        aa += a * a;
                        av += a * nu2[j];
                        vv += nu2[j] * nu2[j];
                        there += moved * moved;
                    }
                    // ||a + h v|| - ||a|| = h (2 a'v + h v'v)/(||a + h v|| + ||a||), with the
                    // moved norm from its own coordinates: from a'a and the change it would cancel
                    // near zero.
                    let change = u2 * (2.0 * av + u2 * vv);
                    let sum = f64::sqrt(there) + f64::sqrt(aa);
                    if sum > 0.0 {
                        *out += scale * weight * change / sum;
                    }
                }
            }
        }
    }

    /// The largest factor `<= 1` by which the dual vector `g` must shrink so that the conjugate of
    /// the penalty is finite at `-g`; 0 where only `g = 0` would do.
    pub fn dual_scale(&self, g: &[f64]) -> f64 {
        let g = &g[..self.penalized];
        let limit = |largest: f64, allowed: f64| {
            if largest <= allowed { 1.0 } else { allowed / largest }
        };
        match self.regularizer.form() {
            Form::Separable { l2, .. } if l2 > 0.0 => 1.0,
            Form::Separable { l1, .. } => {
                limit(g.iter().fold(0.0, |largest, g| g.abs().max(largest)), l1 * self.weight)
            }
            Form::Grouped(groups) => weighted(groups)
                .map(|(weight, group)| limit(norm(group, g), weight * self.weight))
                .fold(1.0, f64::min),
        }
    }

    /// `penalty(b) + penalty*(-g) + g'b >= 0` over the penalised coordinates, for a `g` within
    /// [`Penalty::dual_scale`].
    pub fn fenchel_gap(&self, b: &[f64], g: &[f64]) -> f64 {
        let weight = self.weight;
        match self.regularizer.form() {
            Form::Separable { l1, l2 } => b[..self.penalized]
                .iter()
                .zip(g)
                .map(|(b, g)| {
                    let linear = l1 * weight * b.abs() + g * b;
                    if l2 > 0.0 {
                        let excess = (g.abs() - l1 * weight).max(0.0);
                        linear + 0.5 * l2 * weight * b * b + 0.5 * excess * excess / (l2 * weight)
                    } else {
                        linear
                    }
                })
                .sum(),
            Form::Grouped(groups) => weighted(groups)
                .map(|(size, group)| {
                    let inner: f64 = group.iter().map(|&i| g[i] * b[i]).sum();
                    weight * size * norm(group, b) + inner
                })
                .sum(),
        }
    }

    /// Adds gradient and Hessian (row-major, `b.len()` wide) where the penalty is smooth: on the
    /// coordinates that are not zero.
    pub fn add_smooth_part(&self, b: &[f64], gradient: &mut [f64], hessian: &mut [f64]) {
        let (width, weight) = (b.len(), self.weight);
        match self.regularizer.form() {
            Form::Separable { l1, l2 } => {
                for i in 0..self.penalized {
                    if b[i] != 0.0 {
                        gradient[i] += weight * (l1 * b[i].signum() + l2 * b[i]);
                    }
                    hessian[i * width + i] += weight * l2;
                }
            }
            Form::Grouped(groups) => {
                for (size, group) in weighted(groups) {
                    let length = norm(group, b);
                    if length == 0.0 {
                        continue;
                    }
                    for &i in group {
                        gradient[i] += weight * size * b[i] / length;
                        hessian[i * width + i] += weight * size / length;
                        for &k in group {
                            hessian[i * width + k] -=
                                weight * size * b[i] * b[k] / (length * length * length);
                        }
                    }
                }
            }
        }
    }
}

/// Soft threshold by the l1 part, then shrinkage by the l2 part.
#[inline]
fn shrink(v: f64, strength: f64, l1: f64, l2: f64) -> f64 {
    let threshold = strength * l1;
    let soft = if v > threshold {
        v - threshold
    } else if v < -threshold {
        v + threshold
    } else {
        0.0
    };
    soft / (1.0 + strength * l2)
}
