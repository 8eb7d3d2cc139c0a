//! What is said about noise that a nominal claim assumes and nobody adds.

/// The noise of one agent, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FoundNoise {
    /// Theorem 1's sigma.
    pub assumed: Option<f64>,
    /// The standard deviation that is really there.
    pub measured: Option<f64>,
    /// What all rounds would cost if the measured noise were Gaussian.
    pub epsilon_if_gaussian: Option<f64>,
}

impl FoundNoise {
    /// How the noise of all agents compares with what the claim assumes; nothing where it was not
    /// measured.
    pub fn sentence(agents: &[Self]) -> Option<String> {
        let range = |get: &dyn Fn(&Self) -> Option<f64>| {
            let values: Vec<f64> = agents.iter().filter_map(get).collect();
            let low = values.iter().copied().reduce(f64::min)?;
            Some((low, values.iter().copied().reduce(f64::max)?))
        };
        let assumed = range(&|agent| agent.assumed)?;
        let measured = range(&|agent| agent.measured)?;
        let ratio = range(&|agent| Some(agent.assumed? / agent.measured.filter(|s| *s > 0.0)?))?;
        let verdict = if ratio.0 > 1.0 {
            format!("{:.1} to {:.1} times less than it needs", ratio.0, ratio.1)
        } else {
            format!("{:.2} to {:.2} of what it needs", 1.0 / ratio.1, 1.0 / ratio.0)
        };
        let if_gaussian = range(&|agent| agent.epsilon_if_gaussian)
            .map(|(_, largest)| {
                format!(
                    " If that noise were Gaussian, all rounds together would cost epsilon \
                     {largest:.0}."
                )
            })
            .unwrap_or_default();
        Some(format!(
            " It assumes noise of standard deviation {:.2e} to {:.2e}; \
             measured: {:.2e} to {:.2e}, {verdict}.{if_gaussian}",
            assumed.0, assumed.1, measured.0, measured.1
        ))
    }
}
