//! Fewer points and fewer curves, without losing the extremes.

use super::trace::Points;

/// Points of one curve: more than a screen has pixels for would only cost time.
pub const MOST_POINTS: usize = 400;

/// Agents that get a curve of their own.
pub const MOST_AGENTS: usize = 20;

/// At most [`MOST_POINTS`] of the points: the first, the last, and smallest and largest of every
/// bucket between.
pub fn points(curve: &[(f64, f64)]) -> Points {
    let [first, between @ .., last] = curve else { return curve.to_vec() };
    if curve.len() <= MOST_POINTS {
        return curve.to_vec();
    }
    let mut kept = vec![*first];
    let buckets = (MOST_POINTS - 2) / 2;
    for bucket in between.chunks(between.len().div_ceil(buckets)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let low = bucket.iter().min_by(by_value).into_iter();
        let high = bucket.iter().max_by(by_value).into_iter();
        let mut ends: Points = low.chain(high).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.extend(ends);
    }
    kept.push(*last);
    kept
}

/// The agents to draw, by position: all, or those that end lowest and highest and some evenly
/// between, by their last value.
pub fn agents(curves: &[Points]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..curves.len()).filter(|&k| !curves[k].is_empty()).collect();
    if ranked.len() > MOST_AGENTS {
        let last = |k: usize| curves[k].last().map_or(f64::NAN, |point| point.1);
        ranked.sort_by(|&a, &b| last(a).total_cmp(&last(b)));
        let step = (ranked.len() - 1) as f64 / (MOST_AGENTS - 1) as f64;
        ranked = (0..MOST_AGENTS).map(|i| ranked[(i as f64 * step).round() as usize]).collect();
        ranked.sort_unstable();
    }
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thinning_keeps_ends_and_extremes_and_invents_nothing(
            values in prop::collection::vec(-1e3f64..1e3, 0..3000)
        ) {
            let curve: Points = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
            let thin = points(&curve);
            prop_assert!(thin.len() <= MOST_POINTS);
            prop_assert!(thin.len() == curve.len() || thin.len() > MOST_POINTS / 3);
            prop_assert_eq!(thin.first(), curve.first());
            prop_assert_eq!(thin.last(), curve.last());
            prop_assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(thin.iter().all(|point| curve[point.0 as usize] == *point));
            let extreme = |curve: &Points, pick: fn(f64, f64) -> f64| {
                curve.iter().map(|point| point.1).reduce(pick)
            };
            prop_assert_eq!(extreme(&thin, f64::min), extreme(&curve, f64::min));
            prop_assert_eq!(extreme(&thin, f64::max), extreme(&curve, f64::max));
        }
    }

    #[test]
    fn of_many_agents_the_extremes_are_drawn() {
        // Agent k ends at (37 k mod 100): every value from 0 to 99 once.
        let curves: Vec<Points> =
            (0..100).map(|k| vec![(1.0, 5.0), (2.0, f64::from(37 * k % 100))]).collect();
        let drawn = agents(&curves);
        assert_eq!(drawn.len(), MOST_AGENTS);
        // 37 * 27 = 999: agent 27 ends at 99, agent 0 at 0.
        assert!(drawn.contains(&0) && drawn.contains(&27), "{drawn:?}");
        assert_eq!(agents(&curves[..20]), (0..20).collect::<Vec<_>>());
    }
}
