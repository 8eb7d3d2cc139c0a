//! Means of what the rounds found, weighted by how much each may tell.

/// A weighted mean.
#[derive(Clone, Debug)]
pub(super) struct Averaged {
    sum: Vec<f64>,
    weight: f64,
}

impl Averaged {
    pub(super) fn new(length: usize) -> Self {
        Self { sum: vec![0.0; length], weight: 0.0 }
    }

    pub(super) fn add(&mut self, weight: f64, values: impl IntoIterator<Item = f64>) {
        self.sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        self.weight += weight;
    }

    /// `None` before anything was added.
    pub(super) fn mean(&self) -> Option<Vec<f64>> {
        let scaled = || self.sum.iter().map(|sum| sum / self.weight).collect();
        (self.weight > 0.0).then(scaled)
    }
}
