//! A clip that follows how many rows it moves.
//!
//! ```text
//! f   the part of all weight whose rows were moved, as the last sum says, with noise of
//!     deviation s
//! C  <- C exp(gain min(1, q/s) (f/q - 1)), by -gain to 3 gain at most, between C_1/30 and 6 C_1
//! ```
//!
//! No multiple of a bound on the targets is right for all: labels need 2.7 of it, heavy tails want
//! a fifth, and during a run residuals shrink. How many rows were moved stands in the sum as one
//! more number ([`dzoa_privacy::joint::Region::counting`]): it is noisy, public and paid for, and
//! the next clip is fixed before anybody is asked again.

/// How far from where it began a clip may go, down and up.
const RANGE: [f64; 2] = [1.0 / 30.0, 6.0];

/// The clip between two sums.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FollowingClip {
    first: f64,
    now: f64,
    /// q.
    share: f64,
    /// What all rows weigh together.
    weight: f64,
    /// s, at mu one.
    noise: f64,
    gain: f64,
}

impl FollowingClip {
    /// Where it begins, and stays until it is told what to aim at.
    pub(super) fn new(first: f64) -> Self {
        Self { first, now: first, share: 1.0, weight: 1.0, noise: 0.0, gain: 0.0 }
    }

    /// The share of the rows that it is to move, what all rows weigh together, and the noise in a
    /// sum of diameter one and mu one.
    pub(super) fn aim_at(&mut self, share: f64, weight: f64, unit: f64) {
        // A moved row adds half the clip; two rows differ by the root of 4 1/4 clips.
        let noise = unit * 4.25f64.sqrt() / (0.5 * weight);
        (self.share, self.weight, self.noise) = (share, weight, noise);
    }

    /// By how much it follows from one sum to the next.
    pub(super) fn gain_by(&mut self, gain: f64) {
        self.gain = gain;
    }

    /// The clip of the next sum, after one with this guarantee whose last number was `moved`.
    pub(super) fn next(&mut self, moved: f64, mu: f64) -> f64 {
        let found = moved / (0.5 * self.now * self.weight);
        let trusted = (self.share * mu / self.noise).min(1.0);
        let pull = self.gain * trusted * (found / self.share - 1.0);
        // Powers are those of the portable library: every machine finds the same bits.
        let longer = self.now * libm::exp(pull.clamp(-self.gain, 3.0 * self.gain));
        self.now = longer.clamp(RANGE[0] * self.first, RANGE[1] * self.first);
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose lengths are spread evenly between 0 and 2: a clip C moves the share 1 - C/2.
    fn settled(first: f64, share: f64, sums: usize) -> f64 {
        let (mut clip, weight) = (FollowingClip::new(first), 5.0);
        clip.aim_at(share, weight, 1e-6);
        clip.gain_by(0.1);
        for _ in 0..sums {
            let moved = (1.0 - 0.5 * clip.now).clamp(0.0, 1.0);
            clip.next(moved * 0.5 * clip.now * weight, 1.0);
        }
        clip.now
    }

    #[test]
    fn it_ends_where_it_moves_the_share_that_it_aims_at_from_below_and_from_above() {
        for first in [0.5, 1.0, 8.0] {
            let found = settled(first, 0.1, 300);
            assert!((found - 1.8).abs() < 1e-6, "{first}: {found}");
        }
    }

    #[test]
    fn noise_that_hides_the_share_moves_it_little_and_nothing_moves_it_out_of_its_range() {
        let mut clip = FollowingClip::new(1.0);
        clip.aim_at(0.01, 5.0, 10.0);
        clip.gain_by(0.1);
        // Noise of 8 in a share of 0.01: a thousandth of the gain at most.
        assert!((clip.next(0.0, 1.0) - 1.0).abs() < 2e-4, "{clip:?}");
        clip.aim_at(0.01, 5.0, 1e-9);
        for _ in 0..1000 {
            clip.next(1e300, 1.0);
        }
        assert_eq!(clip.now, 6.0);
        for _ in 0..1000 {
            clip.next(-1e300, 1.0);
        }
        assert_eq!(clip.now, 1.0 / 30.0);
    }
}
