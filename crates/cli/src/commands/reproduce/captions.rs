//! Numbers and phrases that captions share.

use super::raw::Point;
pub use crate::chart::number;

/// What `intrinsic` and the benchmark's noise are, in every caption that shows them.
pub const NOMINAL: &str = "Privacy is nominal throughout: no guarantee. D-ZOA's epsilon assumes noise that is not \
     there, and both algorithms take c₁ = 1, which the squared loss does not satisfy.";

/// Mean and spread, in words.
pub fn spread(trials: u64) -> String {
    match trials {
        1 => "One trial.".into(),
        n => format!("Lines: mean over {n} trials; bands: 10th to 90th percentile."),
    }
}

/// Says how many trials were lost, where any were.
pub fn lost(points: &[Point]) -> String {
    let worst = points.iter().filter(|point| point.lost > 0).max_by_key(|point| point.lost);
    match worst {
        None => String::new(),
        Some(Point { key, lost, values, .. }) => format!(
            " Left out where a trial left the finite numbers (at worst {lost} of {}: {}, ε = {}, δ = {}).",
            values.len(),
            key.algorithm,
            number(key.epsilon),
            number(key.delta)
        ),
    }
}
