//! The public ball into which every row's vector is moved before it is added.
//!
//! A row's vector is a gradient, a Hessian or a list of quotients at a public point. It is made
//! finite, projected onto the ball and only then added: so replacing a row moves the sum by at most
//! the ball's diameter, whatever the row, the loss or the processor did. That is a fact about this
//! code and not about the data.

use super::diameter::{Enclosing, enclosing};
use crate::{ball, round_up};
use std::sync::Arc;
use thiserror::Error;

/// Numbers beyond this are cut to it: so many squares still have a finite sum.
const LARGEST: f64 = 1e140;
/// The square of a smaller radius has lost its digits, or is zero.
const SMALLEST: f64 = 1e-140;

/// Where rows' vectors lie. A function of public values alone.
///
/// ```
/// use dzoa_privacy::joint::Region;
/// // The gradients of the logistic loss at a public point: D(5), and not 2.
/// let region = Region::logistic(&[3.0, 4.0])?;
/// assert!((region.diameter() - 1.617).abs() < 5e-4);
/// // Any other loss: clipped at length one.
/// assert!(Region::ball(2, 1.0)?.diameter() >= 2.0);
/// # Ok::<(), dzoa_privacy::joint::NoRegion>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    centre: Arc<[f64]>,
    radius: f64,
    diameter: f64,
    /// Whether one more number says how many rows were moved.
    counting: bool,
}

/// A ball that is none. All of its numbers are public, so this ends a run in public.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoRegion {
    /// The point at which the rows are asked is not finite.
    #[error("the point at which the sum is taken is not finite")]
    Point,
    /// A radius or a centre that is no such thing.
    #[error("there is no ball of radius {radius} around this centre")]
    Ball {
        /// The radius.
        radius: f64,
    },
}

impl Region {
    /// The ball of this radius around the origin: for a loss whose gradients are that long at most,
    /// and for clipping.
    pub fn ball(coordinates: usize, radius: f64) -> Result<Self, NoRegion> {
        Self::around(vec![0.0; coordinates], radius)
    }

    /// The ball of this radius around a public centre.
    pub fn around(centre: Vec<f64>, radius: f64) -> Result<Self, NoRegion> {
        let reach = ball::norm(&centre) + radius;
        let has_square = radius == 0.0 || radius >= SMALLEST;
        if !(has_square && reach <= LARGEST) {
            return Err(NoRegion::Ball { radius });
        }
        // A projected vector may be off by the last place of its coordinates.
        let diameter = round_up(2.0 * (radius + f64::EPSILON * reach));
        Ok(Self { centre: centre.into(), radius, diameter, counting: false })
    }

    /// The region with one more number a row: half the radius where the row was moved, and nothing
    /// where it was not. So the sum says how many rows are clipped, under the same noise and paid
    /// by the same charge: two rows differ by a diameter in all numbers but the last, and by half a
    /// radius in that one.
    pub fn counting(self) -> Self {
        let diameter = round_up(self.diameter.hypot(0.5 * self.radius) * (1.0 + 1e-15));
        Self { diameter, counting: true, ..self }
    }

    /// The ball that holds the gradients of the logistic loss at the point `w`, for rows of at most
    /// unit length.
    pub fn logistic(w: &[f64]) -> Result<Self, NoRegion> {
        let norm = ball::norm(w);
        if !norm.is_finite() {
            return Err(NoRegion::Point);
        }
        // The diameter grows with the norm: the rounding of a sum of so many squares is added.
        let Enclosing { centre, radius } =
            enclosing(norm * (1.0 + (w.len() + 16) as f64 * f64::EPSILON));
        let along = if norm > 0.0 { centre / norm } else { 0.0 };
        Self::around(w.iter().map(|w| w * along).collect(), radius)
    }

    /// The region with a smaller diameter, where it is proven that no two rows' vectors lie farther
    /// apart than that: a projection brings points closer, but for the rounding of two of them.
    pub fn narrowed(self, diameter: f64) -> Self {
        let rounding = 2.0 * (self.coordinates() + 32) as f64 * f64::EPSILON * self.reach();
        let narrow = if diameter >= 0.0 { round_up(diameter + rounding) } else { f64::INFINITY };
        Self { diameter: self.diameter.min(narrow), ..self }
    }

    /// The region for persons with up to so many rows each, all of which may be replaced.
    pub fn rows_per_person(self, rows: u64) -> Self {
        Self { diameter: round_up(self.diameter * rows.max(1) as f64), ..self }
    }

    /// How far a sum of the vectors moves when one row is replaced, at most.
    pub fn diameter(&self) -> f64 {
        self.diameter
    }

    /// Coordinates of a row's vector as it is added.
    pub fn coordinates(&self) -> usize {
        self.answers() + usize::from(self.counting)
    }

    /// Coordinates of what a row answers.
    pub fn answers(&self) -> usize {
        self.centre.len()
    }

    /// The length of the longest vector, rounded up.
    pub fn reach(&self) -> f64 {
        let rounding = 1.0 + (self.centre.len() + 32) as f64 * f64::EPSILON;
        (ball::norm(&self.centre) + self.radius) * rounding
    }

    /// Moves a row's vector into the ball. What is no number counts as 0. Where rows are counted,
    /// whatever stands in the last place is replaced.
    ///
    /// The distance from the centre is compared with a margin for its own rounding, which is at
    /// most an eighth of a last place a coordinate: what ends here is within the radius, but for
    /// the last place of its coordinates.
    pub fn project(&self, vector: &mut [f64]) {
        let (vector, count) = vector.split_at_mut(self.answers().min(vector.len()));
        let moved = self.project_answer(vector);
        count.iter_mut().for_each(|count| *count = if moved { 0.5 * self.radius } else { 0.0 });
    }

    /// Whether the vector had to be moved.
    fn project_answer(&self, vector: &mut [f64]) -> bool {
        for value in vector.iter_mut() {
            *value = if value.is_finite() { value.clamp(-LARGEST, LARGEST) } else { 0.0 };
        }
        let mut squares = [0.0; 8];
        for (at, (value, centre)) in vector.iter().zip(self.centre.iter()).enumerate() {
            squares[at % 8] += (value - centre) * (value - centre);
        }
        let margin = 1.0 + (vector.len() + 32) as f64 * f64::EPSILON;
        let length = squares.iter().sum::<f64>().sqrt() * margin;
        let moved = length > self.radius;
        if moved {
            let factor = self.radius / length;
            for (value, centre) in vector.iter_mut().zip(self.centre.iter()) {
                *value = centre + (*value - centre) * factor;
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn projected(region: &Region, mut vector: Vec<f64>) -> Vec<f64> {
        region.project(&mut vector);
        vector
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        ball::norm(&difference)
    }

    #[test]
    fn a_row_without_numbers_counts_as_zero_and_a_huge_one_ends_on_the_sphere() {
        let region = Region::ball(3, 2.0).unwrap();
        assert_eq!(projected(&region, vec![f64::NAN, 1.0, f64::INFINITY]), [0.0, 1.0, 0.0]);
        let huge = projected(&region, vec![f64::MAX, f64::MIN, 0.0]);
        assert!((ball::norm(&huge) - 2.0).abs() < 1e-13, "{huge:?}");
        // Inside nothing moves.
        assert_eq!(projected(&region, vec![0.1, 0.2, -0.3]), [0.1, 0.2, -0.3]);
        // A ball of radius zero is its centre.
        let point = Region::around(vec![0.5, 0.25], 0.0).unwrap();
        assert_eq!(projected(&point, vec![9.0, f64::NAN]), [0.5, 0.25]);
    }

    #[test]
    fn a_point_or_a_ball_that_is_none_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            assert_eq!(Region::logistic(&[1.0, bad]), Err(NoRegion::Point));
            assert!(Region::around(vec![bad], 1.0).is_err() && Region::ball(1, bad).is_err());
        }
        assert!(Region::ball(1, -1.0).is_err() && Region::ball(1, 1e-200).is_err());
        // What counts says who was moved.
        let counting = Region::ball(2, 2.0).unwrap().counting();
        assert_eq!(projected(&counting, vec![1.0, 1.0, 9.0]), [1.0, 1.0, 0.0]);
        assert_eq!(projected(&counting, vec![0.0, 5.0, 9.0])[2], 1.0);
        assert!((counting.diameter() - 17.0f64.sqrt()).abs() < 1e-12);
        // A diameter that is no number narrows nothing.
        let region = Region::ball(2, 1.0).unwrap();
        assert_eq!(region.clone().narrowed(f64::NAN), region);
        let narrow = region.clone().narrowed(0.5).diameter();
        assert!((0.5..0.5 + 1e-13).contains(&narrow), "{narrow}");
        assert_eq!(region.clone().rows_per_person(3).diameter(), round_up(3.0 * region.diameter()));
    }

    proptest! {
        #[test]
        fn no_two_rows_lie_farther_apart_than_the_diameter(
            w in prop::collection::vec(-9.0..9.0f64, 1..30),
            seeds in prop::collection::vec(any::<(u64, u64)>(), 30),
        ) {
            let region = Region::logistic(&w).unwrap();
            let counting = Region::ball(w.len(), 0.5).unwrap().counting();
            // Any bits at all: subnormal, huge, infinite, none.
            let pick = |which: fn(&(u64, u64)) -> u64| {
                let bits = seeds[..w.len()].iter().map(|pair| f64::from_bits(which(pair)));
                let answer: Vec<f64> = bits.collect();
                let counted = answer.iter().copied().chain([f64::NAN]).collect();
                [projected(&region, answer), projected(&counting, counted)]
            };
            let ([a, a_counted], [b, b_counted]) = (pick(|pair| pair.0), pick(|pair| pair.1));
            prop_assert!(distance(&a_counted, &b_counted) <= counting.diameter());
            prop_assert!(distance(&a, &b) <= region.diameter());
            for v in [&a, &b] {
                prop_assert!(v.iter().all(|x| x.abs() <= region.reach()));
            }
        }

        #[test]
        fn every_logistic_gradient_lies_in_the_region_of_its_point(
            pairs in prop::collection::vec((-9.0..9.0f64, -1.0..1.0f64), 1..20),
        ) {
            let (w, v): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let length = ball::norm(&v).max(1e-300);
            let z: f64 = v.iter().zip(&w).map(|(v, w)| v * w / length).sum();
            let gradient: Vec<f64> = v.iter().map(|v| v / length / (1.0 + (-z).exp())).collect();
            let moved = projected(&Region::logistic(&w).unwrap(), gradient.clone());
            prop_assert!(distance(&moved, &gradient) < 1e-12, "{moved:?} {gradient:?}");
        }
    }
}
