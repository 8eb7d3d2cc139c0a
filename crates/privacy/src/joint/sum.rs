//! From all contributions to the public sum.

use super::fields::Fields;
use super::transcript::{Context, Transcript};
use super::words::Words;
use thiserror::Error;

/// A sum over all members: public, and a function of what was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    steps: Vec<i64>,
    step: f64,
}

/// Contributions that are no sum.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NoSum {
    /// Not one from every member.
    #[error("{got} contributions of {members} members")]
    Missing {
        /// Contributions.
        got: usize,
        /// Members.
        members: usize,
    },
    /// A contribution to another sum.
    #[error("a contribution has {got} words where the sum has {coordinates}")]
    Length {
        /// Its words.
        got: usize,
        /// Coordinates.
        coordinates: usize,
    },
    /// Words that did not cancel: somebody has another transcript, or sent something else.
    #[error(
        "masks do not match: coordinate {coordinate} of the sum is beyond all that rows and \
        noise add up to"
    )]
    MasksDoNotMatch {
        /// The first such coordinate.
        coordinate: usize,
    },
}

impl Context {
    /// The transcript after this sum.
    pub fn follow(&self, sum: &Sum) -> Transcript {
        let hash = Fields::hash("dzoa 2026 joint sum").bytes(&self.id().0);
        Transcript(hash.numbers(bytemuck::cast_slice(sum.steps())).digest())
    }
}

impl Sum {
    /// The sum of one contribution from each member, in any order.
    ///
    /// Where it is out of the public range, no sum is returned: that is a function of the sum.
    pub fn of<'a>(
        context: &Context,
        contributions: impl IntoIterator<Item = &'a Words>,
    ) -> Result<Self, NoSum> {
        let query = context.query();
        let (members, coordinates) = (context.members().len(), query.coordinates());
        let (mut words, mut got) = (vec![0u64; coordinates], 0);
        for contribution in contributions {
            if contribution.len() != coordinates {
                return Err(NoSum::Length { got: contribution.len(), coordinates });
            }
            let all = words.iter_mut().zip(contribution.iter());
            all.for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
            got += 1;
        }
        if got != members {
            return Err(NoSum::Missing { got, members });
        }
        let steps: Vec<i64> = words.into_iter().map(|word| word as i64).collect();
        let beyond = |steps: &i64| steps.unsigned_abs() > query.range();
        match steps.iter().position(beyond) {
            Some(coordinate) => Err(NoSum::MasksDoNotMatch { coordinate }),
            None => Ok(Self { steps, step: query.step() }),
        }
    }

    /// In steps of the grid.
    pub fn steps(&self) -> &[i64] {
        &self.steps
    }

    /// In the units of what was summed.
    pub fn values(&self) -> Vec<f64> {
        self.steps.iter().map(|steps| *steps as f64 * self.step).collect()
    }
}
