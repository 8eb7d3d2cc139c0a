//! Whom the guarantee of a joint sum holds against.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// How many of the other agents may work together against one.
///
/// In files it is the word `"all"`, or a number.
///
/// ```
/// use dzoa_privacy::Colluders;
/// let any: Colluders = serde_json::from_str("2").unwrap();
/// assert_eq!((any, any.honest(5)), (Colluders::AtMost(2), 3));
/// assert_eq!(serde_json::to_string(&Colluders::All).unwrap(), "\"all\"");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colluders {
    /// Every other agent. No masks, no assumption: each agent adds all the noise it needs.
    #[default]
    All,
    /// Any so many of them. Masks hide single contributions, and the noise is shared.
    AtMost(u32),
}

/// What the guarantee of a joint sum rests on: of so many agents, so many collude at most.
///
/// The others run this program and keep their secrets, and X25519 and ChaCha20 are not broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Agents in the sum, the protected one included.
    pub agents: u32,
    /// Others that may work together.
    pub colluders: u32,
}

impl Colluders {
    /// How many collude among so many agents, at most: never the protected one.
    pub fn among(self, agents: usize) -> usize {
        let others = agents.saturating_sub(1);
        match self {
            Colluders::All => others,
            Colluders::AtMost(colluders) => {
                usize::try_from(colluders).map_or(others, |colluders| colluders.min(others))
            }
        }
    }

    /// How many agents are honest at least, the protected one included.
    pub fn honest(self, agents: usize) -> usize {
        agents - self.among(agents)
    }

    /// Whether contributions are masked: not where every other agent may be a colluder.
    pub fn masked(self, agents: usize) -> bool {
        self.honest(agents) > 1
    }
}

impl fmt::Display for Colluders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Colluders::All => f.write_str("all"),
            Colluders::AtMost(colluders) => write!(f, "{colluders}"),
        }
    }
}

impl Serialize for Colluders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Colluders::All => serializer.serialize_str("all"),
            Colluders::AtMost(colluders) => serializer.serialize_u32(*colluders),
        }
    }
}

impl<'de> Deserialize<'de> for Colluders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColludersVisitor)
    }
}

struct ColludersVisitor;

impl de::Visitor<'_> for ColludersVisitor {
    type Value = Colluders;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"all\" or a number of agents")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Colluders, E> {
        match text {
            "all" => Ok(Colluders::All),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, colluders: u64) -> Result<Colluders, E> {
        let number = de::Unexpected::Unsigned(colluders);
        u32::try_from(colluders).map(Colluders::AtMost).map_err(|_| E::invalid_value(number, &self))
    }

    fn visit_i64<E: de::Error>(self, colluders: i64) -> Result<Colluders, E> {
        let number = de::Unexpected::Signed(colluders);
        u32::try_from(colluders).map(Colluders::AtMost).map_err(|_| E::invalid_value(number, &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_agent_is_always_honest_and_all_are_never_masked() {
        for agents in 1..6 {
            assert_eq!(Colluders::All.honest(agents), 1);
            assert_eq!(Colluders::AtMost(99).among(agents), agents - 1);
            assert_eq!(Colluders::AtMost(0).honest(agents), agents);
            assert!(!Colluders::All.masked(agents));
            let last = Colluders::AtMost(agents as u32 - 1);
            assert!(!last.masked(agents), "against all others a mask hides nothing");
        }
        assert!(Colluders::AtMost(1).masked(3));
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        for (colluders, text) in [(Colluders::All, "\"all\""), (Colluders::AtMost(3), "3")] {
            assert_eq!(serde_json::to_string(&colluders).unwrap(), text);
            assert_eq!(serde_json::from_str::<Colluders>(text).unwrap(), colluders);
        }
        for bad in ["\"some\"", "-1", "1.5", "null", "4294967296"] {
            assert!(serde_json::from_str::<Colluders>(bad).is_err(), "{bad}");
        }
    }
}
