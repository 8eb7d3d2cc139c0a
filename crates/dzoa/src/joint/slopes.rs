//! How far two rows' answers can lie apart.

use super::frame::DirectionFrame;
use crate::guarantee::NoGuarantee;
use crate::problem::PublicProblem;
use crate::problem::loss::Loss;
use dzoa_privacy::joint::{Enclosing, NoRegion, Region};
use std::sync::Arc;

/// Where rows' gradients and quotients lie, for every row that could be one: public.
///
/// Answers are moved into the region before they are added, so the guarantee does not rest on any
/// of this: it says where a region is that moves no honest answer, or few.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// Around the origin: c1, or the clip.
    radius: f64,
    /// The ball around a point of the axis of `w` that the loss knows of, and how long rows are.
    axis: Option<(Arc<dyn Loss>, f64)>,
    clipped: bool,
    rows_per_person: u64,
}

impl Slopes {
    /// Of a known loss, whose answers are clipped at `clip` where that is less than they can be.
    pub fn of(
        problem: &PublicProblem,
        clip: Option<f64>,
        rows_per_person: u64,
    ) -> Result<Self, NoGuarantee> {
        let c1 = |k| crate::guarantee::c1(problem, k);
        let most = (0..problem.agents()).try_fold(0.0, |most: f64, k| Ok(most.max(c1(k)?)));
        let radius = match (most, clip) {
            (Ok(c1), Some(clip)) if clip >= c1 => c1,
            (_, Some(clip)) => {
                return Ok(Self::clipped(clip, rows_per_person));
            }
            (c1, None) => c1?,
        };
        let slope = problem.loss.lipschitz().unwrap_or(f64::INFINITY);
        let axis = problem.loss.gradient_ball(0.0).map(|_| (problem.loss.clone(), radius / slope));
        Ok(Self { radius, axis, clipped: false, rows_per_person })
    }

    /// Of anything, clipped.
    pub fn clipped(clip: f64, rows_per_person: u64) -> Self {
        Self { radius: clip, axis: None, clipped: true, rows_per_person }
    }

    /// Whether answers are clipped shorter than loss and rows allow.
    pub fn is_clipped(&self) -> bool {
        self.clipped
    }

    /// The longest answer.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Where gradients lie at this point.
    pub fn gradients(&self, w: &[f64]) -> Result<Region, NoRegion> {
        let Some((along, radius)) = self.ball(w)? else {
            return Ok(Region::ball(w.len(), self.radius)?.rows_per_person(self.rows_per_person));
        };
        let centre = w.iter().map(|w| w * along).collect();
        Ok(Region::around(centre, radius)?.rows_per_person(self.rows_per_person))
    }

    /// Where a row's quotients lie at this point.
    ///
    /// A quotient over a step of length 2 h differs from the slope along its direction by at most
    /// `h/2` times the largest curvature along it, which is at most c3 times the square of the
    /// row's part along it: over orthonormal directions, `c3 h/2` times the row's length squared
    /// in all. For the logistic loss c3 is one quarter.
    pub fn quotients(&self, w: &[f64], frame: &DirectionFrame) -> Result<Region, NoRegion> {
        let remainder = self
            .axis
            .as_ref()
            .and_then(|(loss, row)| Some(0.5 * loss.smoothness()? * frame.half() * row * row));
        let (Some(remainder), Some((along, radius))) = (remainder, self.ball(w)?) else {
            let count = frame.count();
            return Ok(Region::ball(count, self.radius)?.rows_per_person(self.rows_per_person));
        };
        let centre = frame.along(w).into_iter().map(|w| w * along).collect();
        Ok(Region::around(centre, radius + remainder)?.rows_per_person(self.rows_per_person))
    }

    /// The loss's own ball: how far along `w` its centre is, as a part of `w`, and its radius.
    fn ball(&self, w: &[f64]) -> Result<Option<(f64, f64)>, NoRegion> {
        let norm = dzoa_privacy::ball::norm(w);
        if !norm.is_finite() {
            return Err(NoRegion::Point);
        }
        // The ball grows with the norm: the rounding of a sum of so many squares is added.
        let up = norm * (1.0 + (w.len() + 16) as f64 * f64::EPSILON);
        Ok(self.axis.as_ref().and_then(|(loss, row)| {
            let Enclosing { centre, radius } = loss.gradient_ball(row * up)?;
            let along = if norm > 0.0 { row * centre / norm } else { 0.0 };
            (row * radius < self.radius).then_some((along, row * radius))
        }))
    }
}
