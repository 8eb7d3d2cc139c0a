//! Averaging over the network: what agents do with vectors that may be shared.

/// In which order a mixed value is summed up. The results differ by rounding alone; both are kept,
/// so that results that were written down stay the same.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// The neighbours' first, then our own: agents.
    NeighboursFirst,
    /// Our own first, then the neighbours' one by one: the algorithms that are compared with.
    OwnFirst,
}

/// Our own values mixed with those of the neighbours. The weights are public and at most 1
/// together; what is left of 1 stays with our own.
pub(crate) fn mixed(own: &[f64], weights: &[f64], theirs: &[&[f64]], order: Order) -> Vec<f64> {
    let kept = 1.0 - weights.iter().sum::<f64>();
    let mix = |(p, own): (usize, &f64)| {
        let theirs = weights.iter().zip(theirs).map(|(weight, theirs)| weight * theirs[p]);
        match order {
            Order::NeighboursFirst => kept * own + theirs.sum::<f64>(),
            Order::OwnFirst => theirs.fold(kept * own, |sum, value| sum + value),
        }
    };
    own.iter().enumerate().map(mix).collect()
}

/// The mean of vectors that come one by one.
#[derive(Clone, Debug)]
pub(crate) struct RunningMean {
    sum: Vec<f64>,
    count: u64,
}

impl RunningMean {
    /// Of no vector.
    pub(crate) fn new(dim: usize) -> Self {
        Self { sum: vec![0.0; dim], count: 0 }
    }

    /// One vector more.
    pub(crate) fn add(&mut self, values: &[f64]) {
        self.sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        self.count += 1;
    }

    /// `None` of no vector.
    pub(crate) fn mean(&self) -> Option<Vec<f64>> {
        let mean = || self.sum.iter().map(|sum| sum / self.count as f64).collect();
        (self.count > 0).then(mean)
    }
}
