//! The norm of a group of columns in the interior-point method: `weight t` with (t, b_g) in the
//! second-order cone, scaled as Nesterov and Todd (1997) do.

/// A group.
pub(super) struct Cone {
    pub(super) columns: Vec<usize>,
    pub(super) weight: f64,
}

/// What an iterate, or a step, has beside b: (t, b_g) and its multiplier (weight, s) lie in the
/// cone.
#[derive(Clone)]
pub(super) struct ConePoint {
    pub(super) t: f64,
    pub(super) s: Vec<f64>,
}

/// The matrix W with `W z = W^-1 x` for x = (t, b_g) and z = (weight, s), and that vector.
pub(super) struct ConeScaling {
    eta: f64,
    w: Vec<f64>,
    lambda: Vec<f64>,
}

/// What an affine step and the wished-for complementarity say of the corrector.
pub(super) struct ConeCorrection {
    pub(super) mu: f64,
    /// The step of (t, b_g).
    pub(super) dx: Vec<f64>,
    /// That of s.
    pub(super) ds: Vec<f64>,
}

impl Cone {
    /// These columns of b behind a first number.
    pub(super) fn with_first(&self, first: f64, b: &[f64]) -> Vec<f64> {
        std::iter::once(first).chain(self.columns.iter().map(|&p| b[p])).collect()
    }

    /// `x'z`
    pub(super) fn gap(&self, at: &ConePoint, b: &[f64]) -> f64 {
        let inner: f64 = self.columns.iter().zip(&at.s).map(|(&p, s)| b[p] * s).sum();
        self.weight * at.t + inner
    }

    pub(super) fn scaling(&self, at: &ConePoint, b: &[f64]) -> ConeScaling {
        let (x, z) = (self.with_first(at.t, b), behind(self.weight, &at.s));
        let (size_x, size_z) = (squared(&x).sqrt(), squared(&z).sqrt());
        let (x, z): (Vec<f64>, Vec<f64>) =
            (x.iter().map(|x| x / size_x).collect(), z.iter().map(|z| z / size_z).collect());
        let gamma = (0.5 * (1.0 + dot(&x, &z))).sqrt();
        let mut w: Vec<f64> = x.iter().zip(&z).map(|(x, z)| 0.5 * (x - z) / gamma).collect();
        w[0] = 0.5 * (x[0] + z[0]) / gamma;
        let mut scaling = ConeScaling { eta: (size_x / size_z).sqrt(), w, lambda: Vec::new() };
        scaling.lambda = scaling.times(&behind(self.weight, &at.s));
        scaling
    }

    /// Adds what the columns' equations have of it: with t eliminated, a small matrix.
    pub(super) fn add_to(&self, scaling: &ConeScaling, matrix: &mut [f64], dim: usize) {
        let ConeScaling { eta, w, .. } = scaling;
        let (scale, rest) = (1.0 / (eta * eta), 2.0 / scaling.first());
        for (i, &p) in self.columns.iter().enumerate() {
            matrix[p * dim + p] += scale;
            for (k, &q) in self.columns.iter().enumerate() {
                matrix[p * dim + q] -= scale * rest * w[i + 1] * w[k + 1];
            }
        }
    }

    /// `W^-1 q` for the q that a predictor or a corrector aims at.
    pub(super) fn aim(&self, scaling: &ConeScaling, given: Option<&ConeCorrection>) -> Vec<f64> {
        let mut q: Vec<f64> = scaling.lambda.iter().map(|lambda| -lambda).collect();
        if let Some(ConeCorrection { mu, dx, ds }) = given {
            let (dx, dz) = (scaling.divided(dx), scaling.times(&behind(0.0, ds)));
            let mut rest: Vec<f64> =
                (0..q.len()).map(|i| -(dx[0] * dz[i] + dz[0] * dx[i])).collect();
            rest[0] = mu - dot(&dx, &dz);
            let more = quotient(&rest, &scaling.lambda);
            q.iter_mut().zip(more).for_each(|(q, more)| *q += more);
        }
        scaling.divided(&q)
    }

    /// What the columns' equations have of an aim on their right.
    pub(super) fn pull(&self, scaling: &ConeScaling, aim: &[f64]) -> Vec<f64> {
        let ratio = 2.0 * scaling.w[0] / scaling.first();
        (1..aim.len()).map(|i| aim[i] + ratio * scaling.w[i] * aim[0]).collect()
    }

    /// The step beside that of b.
    pub(super) fn step(&self, scaling: &ConeScaling, aim: &[f64], db: &[f64]) -> ConePoint {
        let ConeScaling { eta, w, .. } = scaling;
        let along: f64 = self.columns.iter().zip(&w[1..]).map(|(&p, w)| db[p] * w).sum();
        let t = (aim[0] * eta * eta + 2.0 * w[0] * along) / scaling.first();
        let of_s = |(i, &p): (usize, &usize)| {
            aim[i + 1] + (2.0 * w[i + 1] * (w[0] * t - along) - db[p]) / (eta * eta)
        };
        ConePoint { t, s: self.columns.iter().enumerate().map(of_s).collect() }
    }

    /// The longest share of a step that stays inside.
    pub(super) fn inside(&self, at: &ConePoint, step: &ConePoint, b: &[f64], db: &[f64]) -> f64 {
        let (x, dx) = (self.with_first(at.t, b), self.with_first(step.t, db));
        let (z, dz) = (behind(self.weight, &at.s), behind(0.0, &step.s));
        longest(&x, &dx).min(longest(&z, &dz))
    }
}

impl ConeScaling {
    /// `eta^2` times the first entry of `W^-2`.
    fn first(&self) -> f64 {
        2.0 * self.w[0] * self.w[0] - 1.0
    }

    /// `W v`
    fn times(&self, v: &[f64]) -> Vec<f64> {
        self.applied(v, self.eta, 1.0)
    }

    /// `W^-1 v`
    fn divided(&self, v: &[f64]) -> Vec<f64> {
        self.applied(v, 1.0 / self.eta, -1.0)
    }

    fn applied(&self, v: &[f64], scale: f64, sign: f64) -> Vec<f64> {
        let w = &self.w;
        let along = dot(&w[1..], &v[1..]);
        let factor = sign * v[0] + along / (1.0 + w[0]);
        let mut out: Vec<f64> = w.iter().zip(v).map(|(w, v)| scale * (v + factor * w)).collect();
        out[0] = scale * (w[0] * v[0] + sign * along);
        out
    }
}

fn behind(first: f64, rest: &[f64]) -> Vec<f64> {
    std::iter::once(first).chain(rest.iter().copied()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `x_0^2 - ||x_1||^2`
fn squared(x: &[f64]) -> f64 {
    let length = dot(&x[1..], &x[1..]).sqrt();
    (x[0] - length) * (x[0] + length)
}

/// The u whose product with lambda, as the cone multiplies, is this.
fn quotient(product: &[f64], lambda: &[f64]) -> Vec<f64> {
    let first = (lambda[0] * product[0] - dot(&lambda[1..], &product[1..])) / squared(lambda);
    let rest = |(r, l): (&f64, &f64)| (r - first * l) / lambda[0];
    let mut out: Vec<f64> = product.iter().zip(lambda).map(rest).collect();
    out[0] = first;
    out
}

/// The share of a step at which a point leaves the cone.
fn longest(x: &[f64], dx: &[f64]) -> f64 {
    let (a, b, c) = (squared(dx), x[0] * dx[0] - dot(&x[1..], &dx[1..]), squared(x));
    let root = b * b - a * c;
    if root < 0.0 {
        return f64::INFINITY;
    }
    let below = root.sqrt() - b;
    if below > 0.0 { (c / below).max(0.0) } else { f64::INFINITY }
}
