//! What agents that collude see of the others: for audits.
//!
//! They know their own keys, so they take their masks off everybody's part, and what is left of
//! the honest ones is their sum. Rows and noise of their own they know anyway.

use super::algorithm::{Step, SumPart};
use super::answers::Answers;
use super::ask::Ask;
use super::contributor::Secrets;
use dzoa_privacy::joint::{Masks, NoMasks, Roster};

/// Some colluding agents with their secrets.
pub struct Adversary {
    masks: Vec<Masks>,
    /// Positions of the others among the members.
    honest: Vec<usize>,
}

impl Adversary {
    /// Agents that collude, and the positions of all others.
    pub fn new(
        colluders: Vec<Secrets>,
        honest: Vec<usize>,
        roster: &Roster,
    ) -> Result<Self, NoMasks> {
        let masks = colluders.into_iter().map(|secrets| secrets.masks(roster.clone()));
        Ok(Self { masks: masks.collect::<Result<_, _>>()?, honest })
    }

    /// The sum over the honest agents, with their noise and nothing else; `None` for a sum without
    /// protection, or where masks are missing.
    pub fn view(&mut self, step: &Step, parts: &[SumPart]) -> Option<Vec<f64>> {
        let (context, grid) = (step.context()?, step.grid()?);
        let mut sum = vec![0u64; context.query().coordinates()];
        for &position in &self.honest {
            let SumPart::Words(words) = parts.get(position)? else { return None };
            let mut words = words.to_vec();
            for masks in &mut self.masks {
                masks.lift(context, position, &mut words).ok()?;
            }
            sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        Some(sum.into_iter().map(|word| word as i64 as f64 * grid).collect())
    }

    /// The variance of the noise in that sum, in every coordinate.
    pub fn variance(&self, step: &Step) -> Option<f64> {
        let query = step.context()?.query();
        let multiples = query.shares().multiples();
        let draws: f64 = self.honest.iter().map(|&at| f64::from(multiples[at])).sum();
        Some(query.share() * query.share() * draws)
    }
}

/// An agent's part of a sum without noise: answers moved into the region, weighted and added up.
pub fn noiseless(rows: &dyn Answers, weight: f64, ask: &Ask) -> Option<Vec<f64>> {
    let mut sum = vec![0.0; ask.coordinates()];
    let (count, piece) = (rows.rows(), rows.piece());
    for first in (0..count).step_by(piece) {
        let answered = rows.answer(ask, first..count.min(first + piece), &mut |answer| {
            let mut moved = answer.to_vec();
            moved.resize(sum.len(), 0.0);
            if let Some(hidden) = &ask.hidden {
                hidden.region.project(&mut moved);
            }
            sum.iter_mut().zip(moved).for_each(|(sum, value)| *sum += weight * value);
        });
        answered.ok()?;
    }
    Some(sum)
}
