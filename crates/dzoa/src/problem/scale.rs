//! How much one sample counts.

/// How the samples of one agent are weighted.
///
/// ```
/// # use dzoa::problem::Scale;
/// // Three agents with 60 samples in all, whose weights sum to 3 as under `mean`.
/// assert_eq!(Scale::PooledOver(60).heaviest(3), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// `1/N_k`: eq. (1). Every agent counts the same.
    Mean,
    /// 1: the paper's simulations.
    Sum,
    /// `K/N` with N the samples of all agents, all of whom are here. Every sample counts the same.
    Pooled,
    /// `K/N` with this N: what one agent of a network has, who holds nobody else's samples.
    PooledOver(usize),
}

/// Agents and their samples, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub agents: usize,
    pub samples: usize,
}

impl Scale {
    /// The weight of one of so many samples of one agent.
    pub(super) fn weight(self, samples: usize, total: Total) -> f64 {
        match self {
            Self::Mean => 1.0 / samples as f64,
            Self::Sum => 1.0,
            // The quotient of the same numbers as under `mean` where all agents are as large, and
            // so the same bits.
            Self::Pooled => total.agents as f64 / total.samples as f64,
            Self::PooledOver(all) => total.agents as f64 / all as f64,
        }
    }

    /// The inverse of that weight: what stands for `N_k` in Lemma 3.
    pub(super) fn samples_to_weight_one(self, samples: usize, total: Total) -> f64 {
        match self {
            Self::Mean => samples as f64,
            Self::Sum => 1.0,
            Self::Pooled => total.samples as f64 / total.agents as f64,
            Self::PooledOver(all) => all as f64 / total.agents as f64,
        }
    }

    /// A bound on the weight of all samples of one agent together, from what every agent of a
    /// network knows. Under `sum` the sizes of other agents are not known: 65,536 are assumed.
    pub fn heaviest(self, agents: usize) -> f64 {
        match self {
            Self::Mean => 1.0,
            Self::Sum => 65_536.0,
            Self::Pooled | Self::PooledOver(_) => agents as f64,
        }
    }

    /// The same words for the same weights, whoever holds the other samples.
    pub(super) fn said(self, samples: usize, total: Total) -> String {
        let weight = self.weight(samples, total);
        match self {
            Self::Mean | Self::Sum => format!("{self:?}"),
            _ if weight == Self::Mean.weight(samples, total) => Self::Mean.said(samples, total),
            Self::Pooled | Self::PooledOver(_) => format!("Pooled {weight:e}"),
        }
    }
}
