//! What a tuner tries: settings over which an algorithm may be tuned, scaled by public sizes.

use std::fmt;

/// What the grids are scaled by: public numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// K.
    pub agents: usize,
    /// P.
    pub features: usize,
    /// The weight of all samples of an agent together.
    pub weight: f64,
    /// A bound on the second derivative of the loss, or 1 where it has none.
    pub smoothness: f64,
    /// Whether the loss has a bounded slope.
    pub bounded: bool,
    /// rho by the public rule of `output` at the budget in question.
    pub rho: f64,
    /// Rounds of an algorithm without noise.
    pub rounds: u64,
}

impl Sizes {
    /// A bound on the curvature of the whole data term.
    pub fn curvature(&self) -> f64 {
        self.agents as f64 * self.weight * self.smoothness
    }

    /// A clip for algorithms that can: needed where the loss has no bounded slope.
    pub fn clip(&self) -> Option<(&'static str, f64)> {
        (!self.bounded).then_some(("clip", 1.0))
    }

    /// A setting with this rho, for samples of weight 1 in all, and this number of rounds.
    pub fn setting(&self, rho: f64, rounds: u64) -> Setting {
        Setting { rho: Some(rho * self.weight), rounds: Some(rounds), ..Setting::default() }
    }
}

/// One setting of a grid; what is `None` stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// rho.
    pub rho: Option<f64>,
    /// M.
    pub rounds: Option<u64>,
    /// C of `scalar`.
    pub clip: Option<f64>,
    /// Each round's share of the budget over that of the one before.
    pub growth: Option<f64>,
    /// T, J and u1.
    pub inner: Option<(usize, usize, f64)>,
    /// An algorithm's own options.
    pub options: Vec<(&'static str, f64)>,
}

impl Setting {
    /// The same with an algorithm's own options.
    pub fn with(self, options: impl IntoIterator<Item = (&'static str, f64)>) -> Self {
        Self { options: options.into_iter().collect(), ..self }
    }

    /// The parts as a user would give them with `--set`.
    pub fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.rho.map(|rho| format!("algorithm.rho={rho}")));
        parts.extend(self.rounds.map(|rounds| format!("algorithm.rounds={rounds}")));
        parts.extend(self.clip.map(|clip| format!("privacy.clip={clip}")));
        parts.extend(self.growth.map(|g| format!("privacy.schedule={{ growth = {g} }}")));
        if let Some((inner_steps, directions, smoothing)) = self.inner {
            parts.push(format!("algorithm.inner_steps={inner_steps}"));
            parts.push(format!("algorithm.directions={directions}"));
            parts.push(format!("algorithm.smoothing={smoothing}"));
        }
        let option = |(key, value): &(&str, f64)| format!("algorithm.options.{key}={value}");
        parts.extend(self.options.iter().map(option));
        parts
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().join("; "))
    }
}

/// All combinations of three and two and two values, the first changing slowest: twelve settings.
pub fn product<A: Copy, B: Copy, C: Copy>(
    a: [A; 3],
    b: [B; 2],
    c: [C; 2],
) -> impl Iterator<Item = (A, B, C)> {
    (0..12).map(move |i| (a[i / 4], b[i / 2 % 2], c[i % 2]))
}
