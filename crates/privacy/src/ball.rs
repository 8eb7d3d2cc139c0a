//! The ball that exchanged vectors lie in: its radius is public, and whoever releases moves its
//! vector into it.

use std::sync::Arc;

/// The Euclidean norm, infinite where a square is not finite. Sender and receiver measure with the
/// same function, so that they agree on the last bit.
///
/// ```
/// assert_eq!(dzoa_privacy::ball::norm(&[3.0, -4.0]), 5.0);
/// ```
pub fn norm(values: &[f64]) -> f64 {
    // In lanes: one sum would wait for itself at every entry.
    let (lanes, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for lane in lanes {
        sums.iter_mut().zip(lane).for_each(|(sum, value)| *sum += value * value);
    }
    let rest: f64 = rest.iter().map(|value| value * value).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}

/// The nearest vector of at most this norm. Vectors inside keep their bits; one whose norm is not
/// finite cannot be moved, and stays.
///
/// ```
/// use dzoa_privacy::ball::{norm, project};
/// assert_eq!(&project([3.0, -4.0].into(), 5.0)[..], &[3.0, -4.0]);
/// let moved = project([3e9, -4e9].into(), 5.0);
/// assert!(norm(&moved) <= 5.0 && (moved[0] - 3.0).abs() < 1e-14);
/// ```
pub fn project(values: Arc<[f64]>, radius: f64) -> Arc<[f64]> {
    let length = norm(&values);
    if length <= radius || !length.is_finite() {
        return values;
    }
    let mut factor = radius / length;
    loop {
        let moved: Arc<[f64]> = values.iter().map(|value| value * factor).collect();
        if norm(&moved) <= radius {
            return moved;
        }
        // Rounding left it a hair outside.
        factor *= 1.0 - 2.0 * f64::EPSILON;
    }
}
