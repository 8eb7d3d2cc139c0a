//! Who shares masks with whom.
//!
//! Masks must make the sum over the honest agents the only thing that is seen of them. They do if
//! the honest agents are connected by edges with masks: the signed words on the edges of a
//! connected graph reach every list of words with the sum zero, each equally often. So the graph
//! must stay connected whichever `t` agents collude, and it is public, so that these may be chosen
//! with the graph in view.
//!
//! Up to [`COMPLETE`] agents everybody shares masks with everybody. Beyond, with the `m` agents
//! before and after it in a circle, `m = ceil((t + 1)/2)`: the circulant of Harary (1962). Removing
//! fewer than `2 m` agents leaves the others connected. Take two that are left. One of the two ways
//! around the circle from one to the other has lost fewer than `m` agents. So among any `m` in a
//! row on it one is left, and nobody on it is farther than `m` from the next one that is left.

/// The largest number of agents that all share masks with each other.
pub const COMPLETE: usize = 128;

/// The positions with which an agent shares masks, among so many agents of which so many collude.
pub(super) fn partners(position: usize, agents: usize, colluders: usize) -> Vec<usize> {
    let half = (colluders + 1).div_ceil(2);
    if agents <= COMPLETE || 2 * half + 1 >= agents {
        return (0..agents).filter(|other| *other != position).collect();
    }
    let around = (1..=half).flat_map(|far| [position + far, position + agents - far]);
    around.map(|other| other % agents).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};

    /// Whether those that are left reach each other.
    fn connected(left: &[bool], colluders: usize) -> bool {
        let start = left.iter().position(|left| *left).unwrap();
        let (mut seen, mut next) = (vec![false; left.len()], vec![start]);
        seen[start] = true;
        while let Some(at) = next.pop() {
            for other in partners(at, left.len(), colluders) {
                if left[other] && !seen[other] {
                    seen[other] = true;
                    next.push(other);
                }
            }
        }
        seen.iter().zip(left).all(|(seen, left)| seen == left)
    }

    #[test]
    fn partners_agree_with_each_other() {
        for (agents, colluders) in
            [(2, 0), (5, 1), (128, 3), (129, 0), (131, 6), (200, 7), (300, 299)]
        {
            for k in 0..agents {
                let partners_of_k = partners(k, agents, colluders);
                let mut unique = partners_of_k.clone();
                unique.sort_unstable();
                unique.dedup();
                assert_eq!(unique.len(), partners_of_k.len(), "nobody twice");
                assert!(unique.len() > colluders.min(agents - 2) && !unique.contains(&k));
                assert!(unique.iter().all(|j| partners(*j, agents, colluders).contains(&k)));
            }
        }
    }

    #[test]
    fn any_colluders_leave_the_honest_connected_and_one_more_need_not() {
        let mut rng = StdRng::seed_from_u64(4);
        for (agents, colluders) in [(129, 1), (150, 4), (200, 9), (257, 30)] {
            // The worst that is known: two runs, which cut a piece of the circle off.
            for piece in 1..agents - colluders {
                for first in 0..=colluders {
                    let mut left = vec![true; agents];
                    (0..first).for_each(|k| left[k] = false);
                    let second =
                        (first + piece..first + piece + colluders - first).map(|k| k % agents);
                    second.for_each(|k| left[k] = false);
                    assert!(connected(&left, colluders), "{agents} {colluders} {piece} {first}");
                }
            }
            for _ in 0..200 {
                let mut order: Vec<usize> = (0..agents).collect();
                // Near each other, where they do most harm.
                order[..3 * colluders + 3].shuffle(&mut rng);
                let shift = rng.random_range(0..agents);
                let mut left = vec![true; agents];
                order[..colluders].iter().for_each(|k| left[(k + shift) % agents] = false);
                assert!(connected(&left, colluders));
            }
            // Two whole runs of m: tight.
            let half = (colluders + 1).div_ceil(2);
            let mut left = vec![true; agents];
            (0..half).chain(half + 5..2 * half + 5).for_each(|k| left[k] = false);
            assert!(!connected(&left, colluders));
        }
    }
}
