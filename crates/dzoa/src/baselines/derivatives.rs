//! Gradient and Hessian of an objective at a point: what the density of a perturbed objective's
//! minimiser is made of.

use crate::problem::EmpiricalRisk;
use crate::problem::regularizer::Penalty;
use faer::{MatRef, Side};

/// First and second derivatives at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    /// The gradient.
    pub gradient: Vec<f64>,
    /// The Hessian, row by row.
    pub hessian: Vec<f64>,
}

impl Derivatives {
    /// Of `linear'b + quadratic ||b||^2` at `b`.
    pub(super) fn of_forces(b: &[f64], linear: &[f64], quadratic: f64) -> Self {
        let gradient = b.iter().zip(linear).map(|(b, l)| l + 2.0 * quadratic * b).collect();
        let mut hessian = vec![0.0; b.len() * b.len()];
        hessian.iter_mut().step_by(b.len() + 1).for_each(|h| *h = 2.0 * quadratic);
        Self { gradient, hessian }
    }

    /// Adds a data term; a loss with kinks has no curvature to add.
    pub(super) fn add_risk(&mut self, risk: &EmpiricalRisk, b: &[f64]) {
        let EmpiricalRisk { samples, loss, weight } = risk;
        for i in 0..samples.count() {
            let (z, y) = (samples.rows.dot(i, b), samples.targets[i]);
            let slope = weight * loss.slope(z, y);
            let curvature = weight * loss.curvature(z, y).unwrap_or(0.0);
            samples.rows.visit(i, |p, x| {
                self.gradient[p] += slope * x;
                let line = &mut self.hessian[p * b.len()..][..b.len()];
                samples.rows.visit(i, |q, other| line[q] += curvature * x * other);
            });
        }
    }

    /// Adds a penalty, where it has derivatives.
    pub(super) fn add_penalty(&mut self, penalty: &Penalty, b: &[f64]) {
        penalty.add_smooth_part(b, &mut self.gradient, &mut self.hessian);
    }

    /// The logarithm of the Hessian's determinant; `None` where it is not positive definite.
    pub fn log_determinant(&self) -> Option<f64> {
        let dim = self.gradient.len();
        let factor = MatRef::from_row_major_slice(&self.hessian, dim, dim).llt(Side::Lower).ok()?;
        Some((0..dim).map(|p| 2.0 * factor.L()[(p, p)].ln()).sum())
    }

    /// The logarithm of the density, up to a constant, of the minimiser at this point, where the
    /// linear term has density proportional to `exp(-||b||/scale)`: see
    /// [`dzoa_privacy::NoisyObjective`].
    pub fn log_density(&self, scale: f64) -> Option<f64> {
        let norm = self.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        Some(self.log_determinant()? - norm / scale)
    }
}
