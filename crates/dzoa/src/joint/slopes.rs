//! How far two rows' answers can lie apart.

use super::clip::FollowingClip;
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
    /// Where nobody knows how long answers are: a clip that finds out.
    following: Option<FollowingClip>,
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
        Ok(Self { radius, following: None, axis, clipped: false, rows_per_person })
    }

    /// Of a smooth loss whose slopes have no bound: a clip that begins at residuals of a third of
    /// the bound of the targets.
    pub fn following_residuals(
        problem: &PublicProblem,
        targets: f64,
        rows_per_person: u64,
    ) -> Result<Self, NoGuarantee> {
        let c3 = |k| crate::guarantee::c3(problem, k);
        let most = (0..problem.agents()).try_fold(0.0, |most: f64, k| Ok(most.max(c3(k)?)))?;
        let curvature = problem.loss.smoothness().unwrap_or(1.0);
        // c3 is the curvature times the square of the longest row.
        let first = (curvature * most).sqrt() * targets / 3.0;
        Ok(Self::following(first, rows_per_person))
    }

    /// Of anything, clipped.
    pub fn clipped(clip: f64, rows_per_person: u64) -> Self {
        Self { radius: clip, following: None, axis: None, clipped: true, rows_per_person }
    }

    /// Of anything, clipped at first so short or long, and then as the sums say.
    pub fn following(first: f64, rows_per_person: u64) -> Self {
        let following = Some(FollowingClip::new(first));
        Self { following, ..Self::clipped(first, rows_per_person) }
    }

    /// Where a clip follows: the share of the rows that it is to move, what all rows weigh
    /// together, and the noise in a sum of diameter one and mu one.
    pub fn aiming_at(mut self, share: f64, weight: f64, unit: f64) -> Self {
        if let Some(following) = &mut self.following {
            following.aim_at(share, weight, unit * self.rows_per_person as f64);
        }
        self
    }

    /// Where a clip follows: by how much.
    pub fn gaining(mut self, gain: f64) -> Self {
        if let Some(following) = &mut self.following {
            following.gain_by(gain);
        }
        self
    }

    /// Goes on with a sum of answers at this guarantee. Returns the answers in it.
    pub(super) fn absorb<'a>(&mut self, sum: &'a [f64], mu: f64) -> &'a [f64] {
        match (&mut self.following, sum.split_last()) {
            (Some(following), Some((moved, answers))) => {
                self.radius = following.next(*moved, mu);
                answers
            }
            _ => sum,
        }
    }

    /// Whether answers are clipped shorter than loss and rows allow.
    pub fn is_clipped(&self) -> bool {
        self.clipped
    }

    /// Whether the clip follows how many rows it moves.
    pub fn is_following(&self) -> bool {
        self.following.is_some()
    }

    /// The longest answer.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Where gradients lie at this point.
    pub fn gradients(&self, w: &[f64]) -> Result<Region, NoRegion> {
        let Some((along, radius)) = self.ball(w)? else {
            return self.around_zero(w.len());
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
            return self.around_zero(frame.count());
        };
        let centre = frame.along(w).into_iter().map(|w| w * along).collect();
        Ok(Region::around(centre, radius + remainder)?.rows_per_person(self.rows_per_person))
    }

    fn around_zero(&self, coordinates: usize) -> Result<Region, NoRegion> {
        let ball = Region::ball(coordinates, self.radius)?;
        let ball = if self.following.is_some() { ball.counting() } else { ball };
        Ok(ball.rows_per_person(self.rows_per_person))
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
