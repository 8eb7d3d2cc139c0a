//! `policy.toml`: what a site takes part in. It is the site's own, and nobody else sees it.

use crate::network_file::NetworkFile;
use dzoa::plan::{Claimed, MECHANISMS, SumTerms};
use dzoa::privacy::Colluders;
use dzoa_table::{Error, Result, Section, TomlNode, Value, shown, suggestion};
use std::path::Path;

/// The limits of a site.
#[derive(Debug)]
pub struct Policy {
    node: TomlNode,
}

/// What a study asks for.
struct Asked<'a> {
    network: &'a NetworkFile,
    /// The site's own name.
    name: &'a str,
}

impl Policy {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::input(format!("{file}: cannot be read: {error}"))
                .hint("--policy takes the site's own limits: epsilon, delta, mechanisms, ...")
        })?;
        Ok(Self { node: TomlNode::parse(&text, &file)? })
    }

    /// Refuses a study that goes beyond a limit, naming the limit, its place and the value.
    pub fn admit(&self, network: &NetworkFile, name: &str) -> Result<()> {
        let limits = Section::root(&self.node);
        let asked = Asked { network, name };
        let mut broken = None;
        // All keys are read, so that one that is misspelt is never a limit that silently is none.
        for check in [Asked::mechanism, Asked::budget, Asked::colluders, Asked::data, Asked::people]
        {
            let checked = check(&asked, &limits)?;
            broken = broken.or(checked);
        }
        limits.finish().map_err(|error| {
            error.hint(
                "a policy has epsilon, delta, mechanisms, least_colluders, columns, targets \
                        and partners",
            )
        })?;
        broken.map_or(Ok(()), |error: Error| {
            Err(error.hint("whoever answers for the data decides whether the policy changes"))
        })
    }
}

/// What is wrong, if anything: the first limit that is passed.
type Broken = Result<Option<Error>>;

impl Asked<'_> {
    fn mechanism(&self, limits: &Section<'_>) -> Broken {
        let allowed = texts(limits, "mechanisms")?;
        let known: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).collect();
        if let Some(word) = allowed.iter().flatten().find(|word| !known.contains(&word.as_str())) {
            let problem = format!("holds {}", shown(word));
            return Err(limits.error("mechanisms", &problem).hint(suggestion(word, &known)));
        }
        let asked = self.network.config.spec.mechanism.name();
        // A site that says nothing takes part in what is guaranteed, and in nothing else.
        let fine = match &allowed {
            Some(allowed) => allowed.iter().any(|word| word == asked),
            None => self.network.config.spec.mechanism.claimed().budget().is_some(),
        };
        Ok((!fine).then(|| match allowed {
            Some(allowed) => limits.error(
                "mechanisms",
                &format!("allows {}, and the study asks for `{asked}`", allowed.join(", ")),
            ),
            None => Error::input(format!(
                "{}: the study's mechanism `{asked}` guarantees nothing, and no `mechanisms` of \
                 the policy allow it",
                limits.place()
            )),
        }))
    }

    fn budget(&self, limits: &Section<'_>) -> Broken {
        let [epsilon, delta] = [limits.positive("epsilon")?, limits.positive("delta")?];
        let Claimed::Exact { budget, .. } = self.network.config.spec.mechanism.claimed() else {
            return Ok(None);
        };
        let beyond = |key, most: Option<f64>, asked: f64| {
            let most = most.filter(|most| asked > *most)?;
            Some(limits.error(key, &format!("is at most {most}, and the study asks for {asked}")))
        };
        Ok(beyond("epsilon", epsilon, budget.epsilon).or(beyond("delta", delta, budget.delta)))
    }

    fn colluders(&self, limits: &Section<'_>) -> Broken {
        let least = match limits.node("least_colluders").map(|node| &node.value) {
            None => return Ok(None),
            Some(Value::String(word)) if word == "all" => Colluders::All,
            Some(Value::Integer(count)) if u32::try_from(*count).is_ok() => {
                Colluders::AtMost(u32::try_from(*count).unwrap_or(u32::MAX))
            }
            Some(_) => {
                let problem = "must be \"all\" or a whole number, such as 1";
                return Err(limits.error("least_colluders", problem));
            }
        };
        let agents = self.network.places.len();
        let Some(SumTerms::Hidden { colluders, .. }) = self.network.config.spec.mechanism.sums()
        else {
            return Ok(None);
        };
        Ok((colluders.among(agents) < least.among(agents)).then(|| {
            let said = format!("is {least}, and the study protects against {colluders}");
            limits.error("least_colluders", &said)
        }))
    }

    fn data(&self, limits: &Section<'_>) -> Broken {
        let (columns, targets) = (texts(limits, "columns")?, texts(limits, "targets")?);
        let Some(schema) = &self.network.rows.schema else { return Ok(None) };
        let used: Vec<String> = schema.features().iter().map(|f| f.column().to_string()).collect();
        let foreign = |allowed: Option<Vec<String>>, used: &[String]| {
            let allowed = allowed?;
            used.iter().find(|word| !allowed.contains(word)).cloned()
        };
        let refused = |key: &str, word: String| {
            limits.error(key, &format!("does not have {}, which the study uses", shown(&word)))
        };
        let column = foreign(columns, &used).map(|word| refused("columns", word));
        let target = foreign(targets, &[schema.target_name().into()]);
        Ok(column.or(target.map(|word| refused("targets", word))))
    }

    fn people(&self, limits: &Section<'_>) -> Broken {
        let Some(partners) = texts(limits, "partners")? else { return Ok(None) };
        let others = self.network.places.iter().map(|place| &place.name);
        let foreign = others.filter(|other| *other != self.name).find(|o| !partners.contains(o));
        Ok(foreign.map(|other| {
            let said = format!("does not have {}, who takes part", shown(other));
            limits.error("partners", &said)
        }))
    }
}

/// A list of texts.
fn texts(limits: &Section<'_>, key: &'static str) -> Result<Option<Vec<String>>> {
    let Some(node) = limits.node(key) else { return Ok(None) };
    let wrong = || limits.error(key, "must be a list of texts");
    let Value::Array(items) = &node.value else { return Err(wrong()) };
    let text = |item: &TomlNode| match &item.value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(wrong()),
    };
    items.iter().map(text).collect::<Result<_>>().map(Some)
}
