//! Numbers and phrases that captions share.

use super::raw::Point;
pub use dzoa_report::number;

/// What `intrinsic` and the benchmark's noise are, in every caption that shows them.
pub const NOMINAL: &str = "Privacy is nominal throughout: no guarantee. D-ZOA's ε assumes noise \
that is not there, and both \
     algorithms take a sensitivity with c₁ = 1, which the squared loss does not have, over Nₖ, \
     which the sum scale does not \
     have.";

/// Mean and spread, in words.
pub fn spread(trials: u64) -> String {
    match trials {
        1 => "One trial.".into(),
        n => format!("Lines: mean over {n} trials; bands: 10th to 90th percentile."),
    }
}

/// Says where trials were lost, and how many, if any were.
pub fn lost(points: &[Point]) -> String {
    let mut places: Vec<String> = Vec::new();
    for Point { key, lost, values, .. } in points.iter().filter(|point| point.lost > 0) {
        let (epsilon, delta) = (number(key.epsilon), number(key.delta));
        let which = format!("{} at ε = {epsilon}, δ = {delta}", key.algorithm);
        if !places.iter().any(|place| place.starts_with(&which)) {
            places.push(format!("{which} ({lost} of {} values)", values.len()));
        }
    }
    match places.is_empty() {
        true => String::new(),
        false => format!(" Left out, since runs left the finite numbers: {}.", places.join("; ")),
    }
}
