//! `dzoa privacy ...`: the calculators.

use crate::args::{
    AlphaArgs, Calculator, ComposeArgs, EpsilonArgs, Lemma3Args, PlanArgs, SigmaArgs,
};
use crate::terminal;
use dzoa::network::{Graph, TOPOLOGIES};
use dzoa::privacy::calibrate::{self, Corollary1};
use dzoa::privacy::{Claim, gaussian};
use dzoa::registry::{Options, Registry};
use dzoa::streams::{Purpose, Streams};
use dzoa::theory::{Theorem3, Theorem3Inputs, theorem3_bound};
use dzoa_report::{readable, readable_to};
use dzoa_table::{Error, Result};
use serde_json::json;
use std::fmt::Write;

const NOMINAL: &str = Claim::PAPERS_FIGURE;

/// Runs one calculator and prints its result.
pub fn calculate(calculator: &Calculator) -> Result<()> {
    match calculator {
        Calculator::Epsilon(args) => epsilon(args),
        Calculator::Sigma(args) => sigma(args),
        Calculator::Alpha(args) => alpha(args),
        Calculator::Compose(args) => compose(args),
        Calculator::Plan(args) => plan(args),
    }
}

fn lemma3(args: &Lemma3Args) -> f64 {
    calibrate::lemma3_sensitivity(args.c1, args.rho, args.neighbourhood, args.samples)
}

fn show(json: bool, value: &serde_json::Value, lines: &[(&str, String)]) -> Result<()> {
    if json {
        return terminal::print_json(value);
    }
    let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let text: String = lines.iter().fold(String::new(), |mut text, (label, value)| {
        let _ = writeln!(text, "{label:<width$}  {value}");
        text
    });
    terminal::print_words(&text)
}

fn epsilon(args: &EpsilonArgs) -> Result<()> {
    if let (Some(sigma), Some(sensitivity)) = (args.sigma, args.sensitivity) {
        let mu = (args.rounds as f64).sqrt() * sensitivity / sigma;
        let exact = gaussian::epsilon(args.delta, mu);
        let zcdp = gaussian::zcdp_epsilon(0.5 * mu * mu, args.delta);
        return show(
            args.json,
            &json!({ "mu": mu, "delta": args.delta, "rounds": args.rounds,
                     "epsilon_exact": exact, "epsilon_zcdp": zcdp }),
            &[
                ("epsilon (exact)", format!("{exact:.6}")),
                ("epsilon (zCDP)", format!("{zcdp:.6}")),
                ("mu", format!("{mu:.6}")),
            ],
        );
    }
    let missing =
        || Error::input("either --sigma with --sensitivity, or --step with the loop's sizes");
    let lemma3_args = Lemma3Args {
        rho: args.rho.ok_or_else(missing)?,
        neighbourhood: args.neighbourhood.ok_or_else(missing)?,
        samples: args.samples.ok_or_else(missing)?,
        c1: args.c1,
    };
    let corollary = Corollary1 {
        sensitivity: lemma3(&lemma3_args),
        delta: args.delta,
        features: args.features.ok_or_else(missing)?,
        directions: args.directions.ok_or_else(missing)?,
        inner_steps: args.inner_steps.ok_or_else(missing)?,
        c: args.c,
        optimum_norm_squared: args.optimum_norm_squared,
    };
    let step = args.step.ok_or_else(missing)?;
    let epsilon = corollary.epsilon(step).ok_or_else(|| {
        Error::input(format!(
            "--step {step}: Lemma 2's bound is not positive, so Corollary 1 says nothing"
        ))
        .hint("a longer step, or a smaller --optimum-norm-squared")
    })?;
    show(
        args.json,
        &json!({
            "epsilon": epsilon,
            "delta": args.delta,
            "alpha0_times_R": step,
            "claim": "nominal",
        }),
        &[("epsilon of one round", format!("{epsilon:.6}")), ("claim", NOMINAL.into())],
    )
}

fn sigma(args: &SigmaArgs) -> Result<()> {
    let sensitivity = lemma3(&args.lemma3);
    let nominal = args.epsilon.map(|e| calibrate::theorem1_sigma(sensitivity, e, args.delta));
    let exact = args
        .total_epsilon
        .map(|total| calibrate::gaussian_sigma(sensitivity, total, args.delta, args.rounds));
    let mut lines = vec![("sensitivity (Lemma 3)", readable_to(sensitivity, 7))];
    if let Some(sigma) = nominal {
        lines.push(("sigma (Theorem 1, one round)", readable_to(sigma, 7)));
    }
    if let Some(sigma) = exact {
        lines.push(("sigma (exact, all rounds)", readable_to(sigma, 7)));
    }
    show(
        args.json,
        &json!({ "sensitivity_lemma3": sensitivity, "sigma_theorem1": nominal,
                 "sigma_exact": exact, "rounds": args.rounds, "delta": args.delta }),
        &lines,
    )
}

fn alpha(args: &AlphaArgs) -> Result<()> {
    let sensitivity = lemma3(&args.lemma3);
    let corollary = Corollary1 {
        sensitivity,
        delta: args.delta,
        features: args.lemma2.features,
        directions: args.lemma2.directions,
        inner_steps: args.lemma2.inner_steps,
        c: args.lemma2.c,
        optimum_norm_squared: args.lemma2.optimum_norm_squared,
    };
    let step = corollary.alpha0_times_r(args.epsilon);
    let sigma = calibrate::theorem1_sigma(sensitivity, args.epsilon, args.delta);
    show(
        args.json,
        &json!({
            "features": args.lemma2.features, "directions": args.lemma2.directions,
            "inner_steps": args.lemma2.inner_steps, "rho": args.lemma3.rho,
            "neighbourhood": args.lemma3.neighbourhood, "samples": args.lemma3.samples,
            "epsilon": args.epsilon, "delta": args.delta, "c1": args.lemma3.c1,
            "c": args.lemma2.c, "optimum_norm_squared": args.lemma2.optimum_norm_squared,
            "sigma_theorem1": sigma, "sensitivity_lemma3": sensitivity, "alpha0_times_R": step,
            "claim": "nominal",
        }),
        &[
            ("alpha0 R", format!("{step:.6}")),
            ("sigma assumed (Theorem 1)", readable_to(sigma, 7)),
            ("sensitivity (Lemma 3)", readable_to(sensitivity, 7)),
            ("claim", NOMINAL.into()),
        ],
    )
}

fn compose(args: &ComposeArgs) -> Result<()> {
    let ComposeArgs { epsilon, delta, rounds, json } = *args;
    let multiplier = calibrate::theorem1_noise_multiplier(epsilon, delta);
    let mu = (rounds as f64).sqrt() / multiplier;
    let theorem2 = calibrate::theorem2_epsilon(epsilon, delta, rounds);
    let zcdp = gaussian::zcdp_epsilon(0.5 * mu * mu, delta);
    let exact = gaussian::epsilon(delta, mu);
    let true_delta = gaussian::ln_delta(theorem2, mu).exp();
    show(
        json,
        &json!({
            "epsilon": epsilon, "delta": delta, "rounds": rounds, "noise_multiplier": multiplier,
            "mu": mu, "epsilon_theorem2": theorem2, "epsilon_zcdp": zcdp, "epsilon_exact": exact,
            "delta_exact_at_theorem2_epsilon": true_delta,
        }),
        &[
            ("epsilon (exact)", format!("{exact:.6}")),
            ("epsilon (zCDP)", format!("{zcdp:.6}")),
            ("epsilon (Theorem 2)", format!("{theorem2:.6}  {NOMINAL}")),
            ("true delta at Theorem 2's epsilon", readable(true_delta)),
            ("", "all for noise as Theorem 1 asks for it; the intrinsic noise is smaller".into()),
        ],
    )
}

/// Noise and error floor over rounds and rho at an exact total budget.
fn plan(args: &PlanArgs) -> Result<()> {
    let graph = planned_graph(args)?;
    // The smallest neighbourhood has the largest sensitivity.
    let neighbourhood = (0..graph.len()).map(|k| graph.neighbourhood(k, true)).min().unwrap_or(1);
    let choices = choices(args, &graph, neighbourhood);
    match args.json {
        true => terminal::print_json(&plan_json(args, neighbourhood, &choices)),
        false => terminal::print_words(&plan_text(args, neighbourhood, &choices)),
    }
}

fn planned_graph(args: &PlanArgs) -> Result<Graph> {
    let known = Registry::new(TOPOLOGIES);
    let topology = known
        .entry(&args.topology)
        .map(|entry| (entry.build)(&Options::default()))
        .ok_or_else(|| Error::input(format!("--topology {}: is unknown", args.topology)))?;
    if args.agents > 2000 {
        return Err(Error::input(format!(
            "--agents {}: the eigenvalues of Theorem 3 are computed for at most 2000",
            args.agents
        ))
        .hint("the floor changes slowly with K: plan with fewer agents of the same topology"));
    }
    let names = (1..=args.agents).map(|k| k.to_string()).collect();
    let mut rng = Streams::from_seed(0).rng(Purpose::Layout, "plan", 0);
    Graph::generate(topology, names, &mut rng)
        .map_err(|error| Error::input(error.to_string()).hint("choose another --topology"))
}

/// Rounds and rho that may be chosen, and what they come to.
struct Choice {
    rounds: u64,
    rho: f64,
    sensitivity: f64,
    sigma: f64,
    /// Where Theorem 3 says something.
    bound: Option<Theorem3>,
}

fn choices(args: &PlanArgs, graph: &Graph, neighbourhood: usize) -> Vec<Choice> {
    let mut choices = Vec::new();
    for rounds in [10, 30, 100, 300] {
        for rho in [0.003, 0.01, 0.03, 0.1, 0.3, 1.0] {
            let sensitivity =
                calibrate::lemma3_sensitivity(args.c1, rho, neighbourhood, args.samples);
            let sigma =
                calibrate::gaussian_sigma(sensitivity, args.total_epsilon, args.delta, rounds);
            let inputs = Theorem3Inputs {
                rho,
                rounds,
                features: args.features,
                optimum_norm_squared: 1.0,
                sigma,
                self_loop: true,
            };
            let bound = theorem3_bound(graph, &inputs);
            choices.push(Choice { rounds, rho, sensitivity, sigma, bound });
        }
    }
    choices
}

fn plan_json(args: &PlanArgs, neighbourhood: usize, choices: &[Choice]) -> serde_json::Value {
    let table: Vec<_> = choices
        .iter()
        .map(|Choice { rounds, rho, sensitivity, sigma, bound }| {
            json!({ "rounds": rounds, "rho": rho, "sensitivity": sensitivity, "sigma": sigma,
                    "noise_floor": bound.map(|b| b.noise_floor),
                    "optimisation_term": bound.map(|b| b.optimisation) })
        })
        .collect();
    json!({
        "total_epsilon": args.total_epsilon, "delta": args.delta, "agents": args.agents,
        "samples": args.samples, "features": args.features, "neighbourhood": neighbourhood,
        "adjacency": "replace-one", "plan": table,
    })
}

fn plan_text(args: &PlanArgs, neighbourhood: usize, choices: &[Choice]) -> String {
    let mut text = format!(
        "exact total epsilon {} at delta {:e}, replace-one, c1 = {}, |N_k| = {neighbourhood} \
         (smallest)\n\
         noise added to every release (sigma), and the two terms of Theorem 3 (per unit of \
         ||beta^c||^2):\n\n\
         {:>7} {:>7} {:>12} {:>12} {:>12}\n",
        args.total_epsilon,
        args.delta,
        args.c1,
        "rounds",
        "rho",
        "sigma",
        "noise floor",
        "1/M term"
    );
    for Choice { rounds, rho, sigma, bound, .. } in choices {
        let term = |value: Option<f64>| value.map_or("-".into(), readable);
        let _ = writeln!(
            text,
            "{rounds:>7} {rho:>7} {:>12} {:>12} {:>12}",
            readable(*sigma),
            term(bound.map(|b| b.noise_floor)),
            term(bound.map(|b| b.optimisation))
        );
    }
    text.push_str(
        "\nMore rounds need more noise in each; a larger rho needs less noise but converges more \
         slowly.\n",
    );
    text
}
