//! The paper's metric over several trials.

/// The paper's metric in the rounds that every trial recorded: mean, smallest and largest.
pub struct ErrorCurve {
    /// m.
    pub rounds: Vec<u64>,
    /// Nothing where it is not finite.
    pub mean: Vec<Option<f64>>,
    /// The smallest.
    pub low: Vec<Option<f64>>,
    /// The largest.
    pub high: Vec<Option<f64>>,
}

impl ErrorCurve {
    /// Of the recorded rounds of each trial.
    pub fn over(errors: &[&[(u64, f64)]]) -> Self {
        let shortest = errors.iter().map(|errors| errors.len()).min().unwrap_or(0);
        let column = |i: usize| errors.iter().map(move |errors| errors[i].1);
        let all = 0..shortest;
        let average = |i: usize| column(i).sum::<f64>() / errors.len() as f64;
        let finite = |value: f64| value.is_finite().then_some(value);
        let rounds = errors.first().map_or(&[][..], |first| &first[..shortest]);
        Self {
            rounds: rounds.iter().map(|(round, _)| *round).collect(),
            mean: all.clone().map(|i| finite(average(i))).collect(),
            low: all.clone().map(|i| finite(column(i).fold(f64::INFINITY, f64::min))).collect(),
            high: all.map(|i| finite(column(i).fold(0.0, f64::max))).collect(),
        }
    }
}
