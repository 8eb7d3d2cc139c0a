//! `[privacy]`: what is guaranteed.

use super::per_agent;
use dzoa::plan::{Auto, DataKind, KeyError, Keys, MECHANISMS, Mechanism, OptimumNorm, Refused};
use dzoa::privacy::Colluders;
use dzoa::privacy::calibrate::Schedule;
use dzoa_table::{Error, Result, Section, TomlNode, Value};

/// `[privacy]`
#[derive(Debug)]
pub struct Privacy {
    /// What protects, or claims to.
    pub mechanism: Mechanism,
    /// What was given.
    pub keys: Keys,
}

impl Privacy {
    pub(super) fn read(section: &Section<'_>, kind: DataKind) -> Result<Self> {
        let words: Vec<&'static str> = MECHANISMS.iter().map(|entry| entry.name).collect();
        let Some(name) = section.choice("mechanism", &words)? else {
            return Err(section
                .required::<String>("mechanism")
                .expect_err("the key is missing")
                .hint(format!("choose one: {}", described().join("; "))));
        };
        let keys = keys(section)?;
        let mechanism = Mechanism::from_keys(name, &keys);
        if let Err(KeyError::NoEffect(key)) = mechanism {
            return Err(section
                .error(key, &format!("has no effect with mechanism `{name}`"))
                .hint("remove it, or choose the mechanism that reads it"));
        }
        section.finish()?;
        let mechanism = mechanism.map_err(|error| match error {
            KeyError::Missing(key) => section.required::<f64>(key).expect_err("it is missing"),
            KeyError::Unknown(_) | KeyError::NoEffect(_) => {
                section.error("mechanism", &error.to_string())
            }
        })?;
        mechanism.accepts(kind).map_err(|refused| unsuited(section, &mechanism, &refused))?;
        Ok(Self { mechanism, keys })
    }
}

/// Every mechanism with a word about it.
fn described() -> Vec<String> {
    MECHANISMS.iter().map(|entry| format!("\"{}\" ({})", entry.name, entry.about)).collect()
}

/// A mechanism that cannot protect programs.
fn unsuited(section: &Section<'_>, mechanism: &Mechanism, refused: &Refused) -> Error {
    let name = mechanism.name();
    let (problem, hint) = match refused {
        Refused::NoCertificate => (
            format!("is `{name}`, which must certify a minimiser; a black box's cannot be"),
            "use \"scalar\" with problem.per_sample = true, or \"none\"",
        ),
        Refused::NotPerSample => (
            format!("is `{name}`, which needs one value per sample"),
            "set problem.per_sample = true, and let the programs answer with one",
        ),
        Refused::NotCounted => (
            format!("is `{name}`, whose Lemma 3 needs every agent's number of samples"),
            "add samples = N to every entry of data.agents",
        ),
        other => (format!("is `{name}`, but {other}"), "choose another mechanism"),
    };
    section.error("mechanism", &problem).hint(hint)
}

fn keys(section: &Section<'_>) -> Result<Keys> {
    let valid = |delta: f64| delta > 0.0 && delta < 1.0;
    let delta = section.number("delta", valid, "strictly between 0 and 1")?;
    let in_range = |epsilon: f64| epsilon > 0.0 && epsilon <= 1.0;
    let epsilon =
        section.number("epsilon", in_range, "above 0 and at most 1 (Theorem 1's range)")?;
    let c = per_agent(section, "c")?;
    let optimum_norm = match section.node("optimum_norm_squared") {
        Some(TomlNode { value: Value::String(word), .. }) if word == "replicate" => {
            Some(OptimumNorm::Replicate)
        }
        Some(TomlNode { value: Value::String(_), .. }) => {
            let problem = "must be a number or \"replicate\"";
            return Err(section.error("optimum_norm_squared", problem));
        }
        _ => section.non_negative("optimum_norm_squared")?.map(OptimumNorm::Bound),
    };
    Ok(Keys {
        epsilon,
        delta,
        total_epsilon: section.positive("total_epsilon")?,
        schedule: schedule(section)?.map(Auto::Given),
        tolerance: section.positive("tolerance")?,
        clip: section.positive("clip")?,
        colluders: colluders(section)?,
        rows_per_person: section.count("rows_per_person")?,
        c,
        optimum_norm,
    })
}

/// `colluders = "all"` or a number.
fn colluders(section: &Section<'_>) -> Result<Option<Colluders>> {
    let problem = "must be \"all\" or a whole number, such as 1";
    match section.node("colluders").map(|node| &node.value) {
        None => Ok(None),
        Some(Value::String(word)) if word == "all" => Ok(Some(Colluders::All)),
        Some(Value::Integer(count)) => match u32::try_from(*count) {
            Ok(count) => Ok(Some(Colluders::AtMost(count))),
            Err(_) => Err(section.error("colluders", problem)),
        },
        Some(_) => Err(section.error("colluders", problem)),
    }
}

/// `schedule = "constant"` or `{ growth = 1.03 }`.
fn schedule(section: &Section<'_>) -> Result<Option<Schedule>> {
    let Some(node) = section.node("schedule") else { return Ok(None) };
    if let Value::String(word) = &node.value {
        return match word.as_str() {
            "constant" => Ok(Some(Schedule::Constant)),
            _ => Err(section.error("schedule", "must be \"constant\" or { growth = NUMBER }")),
        };
    }
    let table = section.section("schedule")?;
    let growth = table.number(
        "growth",
        |growth| (0.5..=2.0).contains(&growth),
        "between 0.5 and 2 (each round's share of the budget over that of the one before)",
    )?;
    table.finish()?;
    match growth {
        Some(growth) => Ok(Some(Schedule::Growth(growth))),
        None => Err(table.required::<f64>("growth").expect_err("the key is missing")),
    }
}
