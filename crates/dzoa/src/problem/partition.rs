//! Ways to split one data set over agents.

use crate::streams::FastRng;
use rand::RngExt;
use rand_distr::{Distribution, Gamma};
use thiserror::Error;

/// How rows go to agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Partition {
    /// In order, the first `N mod K` parts one row longer.
    Contiguous,
    /// A random permutation, then contiguous.
    Iid,
    /// Every class is spread by Dirichlet(alpha) shares: small alpha, very different agents.
    Dirichlet {
        /// The concentration.
        alpha: f64,
    },
}

/// An agent would be left without rows.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{rows} rows over {agents} agents leave agent {agent} without rows")]
pub struct EmptyAgent {
    /// Rows there are.
    pub rows: usize,
    /// Agents wanted.
    pub agents: usize,
    /// The first agent without rows, counted from 1.
    pub agent: usize,
}

impl Partition {
    /// The row numbers of each of `agents` agents.
    ///
    /// ```
    /// use dzoa::problem::Partition;
    /// use dzoa::streams::{Purpose, Streams};
    /// let mut rng = Streams::from_seed(1).rng(Purpose::Layout, "", 0);
    /// let parts = Partition::Contiguous.split(&[0.0; 7], 3, &mut rng)?;
    /// assert_eq!(parts, [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
    /// # Ok::<(), dzoa::problem::EmptyAgent>(())
    /// ```
    pub fn split(
        self,
        targets: &[f64],
        agents: usize,
        rng: &mut FastRng,
    ) -> Result<Vec<Vec<usize>>, EmptyAgent> {
        let rows = targets.len();
        let parts = match self {
            Partition::Contiguous => contiguous((0..rows).collect(), agents),
            Partition::Iid => contiguous(shuffled((0..rows).collect(), rng), agents),
            Partition::Dirichlet { alpha } => dirichlet(targets, agents, alpha, rng),
        };
        match parts.iter().position(Vec::is_empty) {
            Some(agent) => Err(EmptyAgent { rows, agents, agent: agent + 1 }),
            None => Ok(parts),
        }
    }
}

fn contiguous(rows: Vec<usize>, agents: usize) -> Vec<Vec<usize>> {
    let (share, longer) = (rows.len() / agents, rows.len() % agents);
    let mut rest = rows.as_slice();
    (0..agents)
        .map(|k| {
            let (part, after) = rest.split_at(share + usize::from(k < longer));
            rest = after;
            part.to_vec()
        })
        .collect()
}

fn shuffled(mut rows: Vec<usize>, rng: &mut FastRng) -> Vec<usize> {
    for i in (1..rows.len()).rev() {
        rows.swap(i, rng.random_range(0..=i));
    }
    rows
}

fn dirichlet(targets: &[f64], agents: usize, alpha: f64, rng: &mut FastRng) -> Vec<Vec<usize>> {
    // Classes are the distinct targets, or four quantile bins where there are many.
    const MOST_CLASSES: usize = 16;
    let mut sorted = targets.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() > MOST_CLASSES {
        distinct =
            (1..=4).map(|quarter| sorted[(sorted.len() * quarter / 4).saturating_sub(1)]).collect();
    }
    let class = |y: f64| distinct.partition_point(|&edge| edge < y);
    let gamma = Gamma::new(alpha, 1.0).expect("alpha is checked to be positive and finite");
    let mut parts = vec![Vec::new(); agents];
    for label in 0..=distinct.len() {
        let rows =
            shuffled((0..targets.len()).filter(|&i| class(targets[i]) == label).collect(), rng);
        // Tiny alphas can underflow every share: then one agent takes the class.
        let mut shares: Vec<f64> = (0..agents).map(|_| gamma.sample(rng)).collect();
        if shares.iter().sum::<f64>() <= 0.0 {
            shares[rng.random_range(0..agents)] = 1.0;
        }
        let total: f64 = shares.iter().sum();
        let (mut sum, mut from) = (0.0, 0);
        for (part, share) in parts.iter_mut().zip(shares) {
            sum += share / total;
            let to = ((sum * rows.len() as f64).round() as usize).clamp(from, rows.len());
            part.extend_from_slice(&rows[from..to]);
            from = to;
        }
        parts[agents - 1].extend_from_slice(&rows[from..]);
    }
    // Nobody may be left without rows: the largest part gives one away.
    while let Some(empty) = parts.iter().position(Vec::is_empty) {
        let largest = (0..agents).max_by_key(|&k| parts[k].len()).expect("there are agents");
        if parts[largest].len() < 2 {
            break;
        }
        let row = parts[largest].pop().expect("the largest part has rows");
        parts[empty].push(row);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}
