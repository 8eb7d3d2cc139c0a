//! The tuner: every setting of a grid on every draw, and the setting with the least error.

use dzoa::run::evaluate::quantile;
use rayon::prelude::*;

/// How the errors on several draws become one.
#[derive(Clone, Copy, Debug)]
pub enum Middle {
    /// Their mean.
    Mean,
    /// Their median.
    Median,
}

impl Middle {
    fn of(self, errors: &[f64]) -> f64 {
        match self {
            Middle::Mean => errors.iter().sum::<f64>() / errors.len() as f64,
            Middle::Median => quantile(errors, 0.5),
        }
    }
}

/// The error of every setting over the draws, in the order of the grid; a setting that fails on
/// one of the draws has none.
pub fn tune<S: Sync, D: Sync, E: Send>(
    grid: &[S],
    draws: &[D],
    middle: Middle,
    error: impl Fn(&S, &D) -> Result<f64, E> + Sync,
) -> Vec<Result<f64, E>> {
    let of = |setting: &S| {
        // All of them, whatever fails: whoever counts runs expects every one.
        let tried: Vec<Result<f64, E>> =
            draws.par_iter().map(|draw| error(setting, draw)).collect();
        let errors: Result<Vec<f64>, E> = tried.into_iter().collect();
        Ok(middle.of(&errors?))
    };
    grid.par_iter().map(of).collect()
}

/// The first place with the least error; none where there is no error at all.
pub fn least(errors: impl IntoIterator<Item = Option<f64>>) -> Option<usize> {
    let known = errors.into_iter().enumerate().filter_map(|(i, error)| Some((i, error?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_is_chosen_and_refused_settings_never_are() {
        // Errors |setting - draw|; the setting 9 is refused.
        let error = |s: &f64, d: &f64| if *s == 9.0 { Err(()) } else { Ok((s - d).abs()) };
        let tried = tune(&[9.0, 4.0, 1.0, 1.0], &[0.0, 1.0, 4.0], Middle::Median, error);
        assert_eq!(tried, [Err(()), Ok(3.0), Ok(1.0), Ok(1.0)]);
        assert_eq!(least(tried.into_iter().map(Result::ok)), Some(2));
        let mean = tune(&[1.0], &[0.0, 1.0, 4.0], Middle::Mean, error);
        assert_eq!(mean, [Ok(4.0 / 3.0)]);
        assert_eq!(least([None, None]), None);
        assert_eq!(least([Some(f64::INFINITY), Some(2.0), Some(f64::NAN)]), Some(1));
    }
}
