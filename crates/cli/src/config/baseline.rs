//! `[algorithm.options]` of the algorithms that d-zoa is compared with.

use dzoa::admm::Admm;
use dzoa::baselines::{
    DpAdmmSettings, DpGdSettings, DvpSettings, MAdmmSettings, ObjectivePerturbationSettings,
    PAdmmSettings, ProjectedGradientSettings, PsAdmmSettings, PvpSettings, RAdmmSettings, Spec,
};
use dzoa::mechanism::Target;
use dzoa::problem::Problem;
use dzoa_table::{Result, Section};

/// The names users type.
pub const NAMES: [&str; 10] = [
    "dp-admm",
    "pvp",
    "dvp",
    "p-admm",
    "m-admm",
    "r-admm",
    "ps-admm",
    "projected-gradient",
    "objective-perturbation",
    "dp-gd",
];

/// An algorithm with its own settings; what it shares with others is filled in by [`Options::spec`].
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    name: &'static str,
    step: Option<f64>,
    decay: Option<f64>,
    clip: Option<f64>,
    growth: Option<f64>,
    proximity: Option<f64>,
    batch: Option<usize>,
    step_decay: Option<f64>,
    noise_decay: Option<f64>,
    radius: Option<f64>,
    ridge: Option<f64>,
    /// Noise as the D-ZOA paper has it: dp-admm under the mechanism `intrinsic`.
    pub nominal: Option<(f64, f64)>,
}

impl Options {
    /// Reads what the named algorithm understands; any other key is refused by the section.
    pub fn read(name: &'static str, section: &Section<'_>) -> Result<Self> {
        let knows = |names: &[&str]| names.contains(&name);
        let fraction =
            |key| section.number(key, |x| x > 0.0 && x < 1.0, "strictly between 0 and 1");
        let mut options = Self {
            name,
            step: None,
            decay: None,
            clip: None,
            growth: None,
            proximity: None,
            batch: None,
            step_decay: None,
            noise_decay: None,
            radius: None,
            ridge: None,
            nominal: None,
        };
        if knows(&["dp-admm", "dp-gd", "ps-admm", "projected-gradient"]) {
            options.step = section.positive("step")?;
            options.clip = section.positive("clip")?;
        }
        match name {
            "dp-admm" | "ps-admm" => options.decay = section.non_negative("decay")?,
            "p-admm" => options.decay = fraction("decay")?,
            _ => {}
        }
        match name {
            "m-admm" => {
                let valid = |growth: f64| (1.0..=2.0).contains(&growth);
                options.growth = section.number("growth", valid, "between 1 and 2")?;
            }
            "r-admm" => options.proximity = section.positive("proximity")?,
            "ps-admm" => options.batch = section.count("batch")?,
            "projected-gradient" => {
                options.step_decay = fraction("step_decay")?;
                options.noise_decay = fraction("noise_decay")?;
                options.radius = section.positive("radius")?;
                let (q, p) = (options.step_decay(), options.noise_decay());
                if q >= p {
                    return Err(section
                        .error("step_decay", &format!("is {q}, but must be below noise_decay ({p})"))
                        .hint("the noise must fall more slowly than the steps, or no budget is enough"));
                }
            }
            "objective-perturbation" => {
                let valid = |ridge: f64| (1e-6..=1e6).contains(&ridge);
                options.ridge = section.number("ridge", valid, "between 1e-6 and 1e6")?;
            }
            _ => {}
        }
        Ok(options)
    }

    /// The name users type.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether `algorithm.rho` means something to it.
    pub fn reads_rho(&self) -> bool {
        !matches!(self.name, "dp-gd" | "projected-gradient" | "objective-perturbation")
    }

    /// Whether it can clip per-sample gradients.
    pub fn clips(&self) -> bool {
        matches!(self.name, "dp-admm" | "dp-gd" | "ps-admm" | "projected-gradient")
    }

    /// Rounds that look at rows, over all rounds: one in so many.
    pub fn rounds_per_look(&self) -> u64 {
        if self.name == "r-admm" { 2 } else { 1 }
    }

    fn step_decay(&self) -> f64 {
        self.step_decay.unwrap_or(0.96)
    }

    fn noise_decay(&self) -> f64 {
        self.noise_decay.unwrap_or(0.98)
    }

    /// The algorithm, with defaults that depend on public sizes only.
    pub fn spec(&self, admm: Admm, problem: &Problem, target: Option<&Target>) -> Spec {
        let clip = self.clip;
        // Rows lie in the unit ball: the data term's curvature is at most this.
        let weight: f64 = (0..problem.agents.len())
            .map(|k| problem.sample_weight(k) * problem.agents[k].count() as f64)
            .sum();
        let curvature = weight * problem.loss.smoothness().unwrap_or(1.0);
        match self.name {
            "dp-admm" => Spec::DpAdmm(DpAdmmSettings {
                rho: admm.rho,
                step: self.step.unwrap_or(0.3),
                decay: self.decay.unwrap_or(0.5),
                clip,
                nominal: self.nominal,
            }),
            "dp-gd" => {
                Spec::DpGd(DpGdSettings { step: self.step.unwrap_or(1.0 / curvature), clip })
            }
            "pvp" => Spec::Pvp(PvpSettings { admm }),
            "dvp" => Spec::Dvp(DvpSettings { admm }),
            "p-admm" => Spec::PAdmm(PAdmmSettings { admm, decay: self.decay.unwrap_or(0.97) }),
            "m-admm" => Spec::MAdmm(MAdmmSettings { admm, growth: self.growth.unwrap_or(1.01) }),
            "r-admm" => Spec::RAdmm(RAdmmSettings { admm, proximity: self.proximity }),
            "ps-admm" => Spec::PsAdmm(PsAdmmSettings {
                admm,
                step: self.step.unwrap_or(problem.agents.len() as f64 / curvature),
                decay: self.decay.unwrap_or(0.0),
                batch: self.batch,
                clip,
            }),
            "projected-gradient" => Spec::ProjectedGradient(ProjectedGradientSettings {
                step: self.step.unwrap_or(problem.agents.len() as f64 / curvature),
                step_decay: self.step_decay(),
                noise_decay: self.noise_decay(),
                radius: self.radius.unwrap_or(10.0),
                clip,
            }),
            _ => Spec::ObjectivePerturbation(ObjectivePerturbationSettings {
                ridge: self.ridge.unwrap_or(match target {
                    None => 1e-6,
                    Some(target) => ridge(problem, target),
                }),
            }),
        }
    }
}

/// The ridge at which one person's rows change the Hessian by a tenth of epsilon: public sizes only.
fn ridge(problem: &Problem, target: &Target) -> f64 {
    let weight = (0..problem.agents.len()).map(|k| problem.sample_weight(k)).fold(0.0, f64::max);
    let curvature = weight * problem.loss.smoothness().unwrap_or(1.0);
    let share = 0.1 * target.total_epsilon / target.rows_per_person as f64;
    (curvature / share.exp_m1()).max(1e-6)
}
