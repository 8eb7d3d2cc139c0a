//! The best score there is of one release.

use dzoa::privacy::Event;

/// How much likelier a release is around the second point than around the first, as a logarithm,
/// for the noise that was charged. Without noise to speak of, any score will do.
pub(super) fn log_likelihood_ratio(points: &[Vec<f64>; 2], release: &[f64], event: &Event) -> f64 {
    if points.iter().any(|point| point.len() != release.len()) {
        return 0.0;
    }
    let off =
        |point: &[f64]| -> Vec<f64> { release.iter().zip(point).map(|(r, p)| r - p).collect() };
    let [without, with] = [off(&points[0]), off(&points[1])];
    let l1 = |v: &[f64]| v.iter().map(|v| v.abs()).sum::<f64>();
    let l2 = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    match event {
        Event::Laplace { scale, .. } => (l1(&without) - l1(&with)) / scale,
        Event::SphericalLaplace { scale, .. } => (l2(&without) - l2(&with)) / scale,
        _ => {
            let variance = match event {
                Event::DiscreteGaussian { sigma, .. } => sigma * sigma,
                _ => 1.0,
            };
            // The difference of two squares, without their cancellation.
            let product = |(a, b): (&f64, &f64)| 0.5 * (a - b) * (a + b);
            without.iter().zip(&with).map(product).sum::<f64>() / variance
        }
    }
}
