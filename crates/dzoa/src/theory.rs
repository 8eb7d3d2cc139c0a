//! The paper's convergence bounds, with what they leave out.

use crate::network::Graph;
use crate::primal::ZerothOrder;

/// The inner loop's bound on `E[F(average iterate) - F(minimiser)]` after T steps:
/// `c R L sqrt(P/T) (max(alpha0, 1/alpha0) sqrt(log 2P) + u1 log(2T)/sqrt T)`.
///
/// It speaks of the *average* of the iterates and of a function that is Lipschitz with constant L
/// everywhere. `F_k` has a quadratic term and is not; D-ZOA takes the last iterate. Here `alpha0`
/// and `R` are needed apart.
#[doc(alias = "convergence1")]
pub fn inner_loop_bound(inner: &ZerothOrder, features: usize, radius: f64, c: f64) -> f64 {
    let (p, t) = (features as f64, inner.inner_steps as f64);
    let alpha0 = inner.alpha0_times_r / radius;
    c * radius
        * inner.lipschitz
        * (p / t).sqrt()
        * (alpha0.max(1.0 / alpha0) * (2.0 * p).ln().sqrt()
            + inner.smoothing * (2.0 * t).ln() / t.sqrt())
}

/// The two terms of Theorem 3's bound on `E[f(average) - f(optimum)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem3 {
    /// `||q^(0) - q||_G^2/M`, which falls as 1/M.
    pub optimisation: f64,
    /// The noise floor, which does not fall with M.
    pub noise_floor: f64,
}

/// What Theorem 3 needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Theorem3Inputs {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// P.
    pub features: usize,
    /// `||beta^c||^2`
    pub optimum_norm_squared: f64,
    /// The agent's noise level sigma_k, by Theorem 1 for the printed bound.
    pub sigma: f64,
    /// Self-inclusive neighbourhoods.
    pub self_loop: bool,
}

/// Theorem 3 as printed, with one agent's `sigma_k`.
///
/// `q^(0) = 0` and `q = (0, w*)`, as in its proof, so that `||q||_G^2 = rho/2 w*'L+ w*`. Two
/// caveats: the printed second term holds one agent's noise, while the stacked vector has that of
/// all K; and the bound is on the *exact* primal updates' average, in expectation, given noise of
/// exactly that variance, which `intrinsic` does not have.
///
/// `None` for a single agent, whose Laplacian has no non-zero eigenvalue.
#[doc(alias = "Theorem 3")]
#[doc(alias = "convergence4")]
#[doc(alias = "convergenceone")]
pub fn theorem3_bound(graph: &Graph, inputs: &Theorem3Inputs) -> Option<Theorem3> {
    let Theorem3Inputs { rho, rounds, features, optimum_norm_squared, sigma, self_loop } = *inputs;
    let (largest_plus, smallest_minus) = graph.extreme_eigenvalues(self_loop)?;
    // 1'L+ 1 = 2 sum_k |N_k|
    let ones: f64 = (0..graph.len()).map(|k| 2.0 * graph.neighbourhood(k, self_loop) as f64).sum();
    Some(Theorem3 {
        optimisation: 0.5 * rho * optimum_norm_squared * ones / rounds as f64,
        noise_floor: rho * largest_plus * largest_plus * features as f64 * sigma * sigma
            / (2.0 * smallest_minus),
    })
}
