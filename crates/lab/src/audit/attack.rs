//! Many runs against one agent, and the best score of each.
//!
//! The attacker knows everything but one bit: which of two neighbouring data sets the agent holds.
//! In every round it computes what the agent's noiseless update would be under either, from the
//! vectors exchanged before, and scores the release by how much likelier it is under the one than
//! under the other: the log-likelihood ratio of the noise that was charged, the best score there
//! is.

use super::attacked::Attack;
use super::colluding::Colluding;
use super::follower::Follower;
use super::likelihood::log_likelihood_ratio;
use super::started::{Known, Start};
use dzoa::agent::Output;
use dzoa::plan::{Data, Plan};
use dzoa::prelude::*;
use dzoa::primal::{Lagrangian, RoundContext, Scalar, Workspace};
use dzoa::privacy::Event;
use dzoa::problem::LocalObjective;
use dzoa::run::Simulation;
use dzoa_report::refused;
use dzoa_table::{Error, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the runs of one data set share: they are told apart from the same two.
struct Runs<'a> {
    held: &'a Problem,
    problems: [&'a Problem; 2],
    plan: &'a Plan,
    objectives: [LocalObjective; 2],
    /// Of `output`: what the first round needs is the same in every run.
    known: Option<Known>,
}

impl Attack<'_> {
    /// Scores of many runs under D and under D'.
    pub fn scores(
        &self,
        problems: [&Problem; 2],
        plan: &Plan,
        streams: &Streams,
    ) -> Result<[Vec<f64>; 2]> {
        let under = |bit: usize| {
            self.scores_under(problems[bit], problems, plan, &streams.trial(1 + bit as u64))
        };
        Ok([under(0)?, under(1)?])
    }

    /// Scores of many runs on one data set; the score tells the two given ones apart.
    pub fn scores_under(
        &self,
        held: &Problem,
        problems: [&Problem; 2],
        plan: &Plan,
        streams: &Streams,
    ) -> Result<Vec<f64>> {
        let objectives = problems.map(|problem| problem.local(self.k));
        let own = plan.spec().algorithm.entry().is_none();
        let known = match own && plan.spec().mechanism.certifies() {
            true => Some(Known::new(self, held, problems, plan)?),
            false => None,
        };
        let runs = Runs { held, problems, plan, objectives, known };
        (0..self.trials as u64)
            .into_par_iter()
            .map_init(Workspace::default, |work, trial| {
                if self.interrupt.asked() {
                    return Err(Error::interrupted(
                        "stopped by Ctrl-C; an unfinished audit proves nothing",
                    ));
                }
                let score = self.score(&runs, &streams.trial(trial), work);
                self.watcher.run_done();
                score
            })
            .collect()
    }

    /// One run.
    fn score(&self, runs: &Runs<'_>, streams: &Streams, work: &mut Workspace) -> Result<f64> {
        let k = self.k;
        let held = || runs.plan.with_data(Data::Rows(runs.held.clone()));
        let build = || held().simulation(Vec::new(), streams).map_err(refused);
        if let Some(colluding) = Colluding::new(self, &held(), runs.problems, streams)? {
            let mut simulation = build()?;
            return Ok(colluding.score(&mut *simulation));
        }
        if let Some(mut follower) = Follower::new(self, runs.problems)? {
            let mut simulation = build()?;
            return Ok(follower.score(&mut *simulation));
        }
        let start = Start::default();
        let mut simulation: Box<dyn Simulation> = match &runs.known {
            Some(known) => Box::new(self.started(runs.held, runs.plan, known, &start, streams)?),
            None => build()?,
        };
        let (events, rounds) = (&runs.plan.at(k).charges.events, runs.plan.rounds());
        let mut attacker = Attacker {
            objectives: &runs.objectives,
            shadows: self.shadows(runs, &start, streams),
            predicted: None,
            score: 0.0,
            work: Workspace::default(),
        };
        attacker.predict(&simulation.agents()[k], 1);
        if rounds == 1
            && let Some(agent) = simulation.agents_mut().get_mut(k)
        {
            // One round of one agent: nobody else need compute.
            agent.compute(work);
            while let Some(output) = agent.poll() {
                match output {
                    Output::Send(envelope) => {
                        attacker.see(envelope.message.values(), &events[0]);
                    }
                    Output::Compute | Output::Done(_) => break,
                    Output::Persist(_) | Output::Completed(_) => {}
                }
            }
            return Ok(attacker.score);
        }
        simulation.run(&mut |view: &RoundView<'_>| {
            let agent = &view.simulation.agents()[k];
            let event = &events[(view.round as usize - 1).min(events.len() - 1)];
            attacker.see(agent.beta(), event);
            if view.round < rounds {
                attacker.predict(agent, view.round + 1);
            }
            ControlFlow::Continue(())
        });
        Ok(attacker.score)
    }

    /// What computes the noiseless updates under either data set.
    fn shadows(&self, runs: &Runs<'_>, start: &Start, streams: &Streams) -> Shadows {
        let k = self.k;
        match (runs.plan.clip().zip(runs.plan.at(k).inner), &runs.known) {
            (Some((clip, inner)), _) => Shadows::Scalar {
                steps: Box::new(runs.problems.map(|problem| Scalar {
                    inner,
                    clip,
                    samples: Arc::new(problem.risk(k)),
                })),
                // The directions are public.
                streams: streams.clone(),
                warm: runs.plan.admm().warm_start,
            },
            (_, Some(known)) => {
                let exact = Box::new(known.shadows(runs.problems, k));
                Shadows::Exact { exact, held: Some((known.held, start.clone())) }
            }
            _ => {
                let exact = runs.problems.map(|problem| Exact::new(problem.risk(k), Some(1e-7)));
                Shadows::Exact { exact: Box::new(exact), held: None }
            }
        }
    }
}

enum Shadows {
    Exact {
        exact: Box<[Exact; 2]>,
        /// Which of them is the agent's own, and where it may start: at what its shadow has found.
        held: Option<(usize, Start)>,
    },
    Scalar {
        steps: Box<[Scalar; 2]>,
        streams: Streams,
        warm: bool,
    },
}

/// The release of the round in progress, as either data set would give it without noise.
enum Predicted {
    Points([Vec<f64>; 2]),
    /// With the linear part and the weight of the quadratic that it was predicted for.
    Scalars(Box<[dzoa::primal::ScalarPrediction; 2]>, Vec<f64>, f64),
}

struct Attacker<'a> {
    objectives: &'a [LocalObjective; 2],
    shadows: Shadows,
    predicted: Option<Predicted>,
    score: f64,
    work: Workspace,
}

impl Attacker<'_> {
    /// What the agent's next noiseless update would be under either data set, given everything
    /// exchanged so far.
    fn predict(&mut self, agent: &Agent, round: u64) {
        let known = agent.frozen_lagrangian();
        let lagrangian = |bit: usize| Lagrangian {
            objective: &self.objectives[bit],
            linear: known.linear.clone(),
            quadratic: known.quadratic,
        };
        self.predicted = Some(match &mut self.shadows {
            Shadows::Exact { exact, held } => {
                let points = [0, 1].map(|bit| {
                    let solved = exact[bit].solve(&lagrangian(bit));
                    solved.map(|(b, _)| b).unwrap_or_default()
                });
                if let Some((held, start)) = held {
                    start.set(&points[*held], &exact[*held]);
                }
                Predicted::Points(points)
            }
            Shadows::Scalar { steps, streams, warm } => {
                let context = RoundContext { agent: agent.name(), round, streams };
                let zero = vec![0.0; known.linear.len()];
                let start = if *warm { agent.beta() } else { &zero };
                let work = &mut self.work;
                let predictions =
                    [0, 1].map(|bit| steps[bit].predict(&lagrangian(bit), start, &context, work));
                Predicted::Scalars(Box::new(predictions), known.linear.clone(), known.quadratic)
            }
        });
    }

    /// Scores a release.
    fn see(&mut self, release: &[f64], event: &Event) {
        self.score += match self.predicted.take() {
            None => 0.0,
            Some(Predicted::Points(points)) => log_likelihood_ratio(&points, release, event),
            Some(Predicted::Scalars(predictions, linear, quadratic)) => {
                let Event::DiscreteGaussian { sigma, .. } = *event else { return };
                let lagrangian = Lagrangian { objective: &self.objectives[0], linear, quadratic };
                let [without, with] = &*predictions;
                without.log_likelihood_ratio(with, release, &lagrangian, sigma)
            }
        };
    }
}
