//! Who takes part in a sum.

use super::fields::Fields;
use crate::Digest;
use std::sync::Arc;
use thiserror::Error;

/// The agents of one sum, sorted by name. Cheap to clone.
///
/// ```
/// use dzoa_privacy::joint::Members;
/// let members = Members::new(["b", "c", "a"])?;
/// assert_eq!((members.position("b"), members.len()), (Some(1), 3));
/// assert_eq!(members.without(&["b"])?.position("c"), Some(1));
/// # Ok::<(), dzoa_privacy::joint::NoMembers>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    names: Arc<[String]>,
    digest: Digest,
}

/// Names that are not those of agents.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoMembers {
    /// Nobody.
    #[error("a sum needs an agent")]
    Nobody,
    /// One name twice.
    #[error("two agents are called {0}")]
    Twice(String),
}

impl Members {
    /// The agents with these names, which are different.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self, NoMembers> {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(NoMembers::Twice(pair[0].clone()));
        }
        if names.is_empty() {
            return Err(NoMembers::Nobody);
        }
        let hash = Fields::hash("dzoa 2026 joint members").number(names.len() as u64);
        let digest = names.iter().fold(hash, |hash, name| hash.bytes(name.as_bytes())).digest();
        Ok(Self { names: names.into(), digest })
    }

    /// Those that are left when some have gone.
    pub fn without(&self, gone: &[&str]) -> Result<Self, NoMembers> {
        Self::new(self.names.iter().filter(|name| !gone.contains(&name.as_str())).cloned())
    }

    /// Where an agent stands in the order of the names.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()
    }

    /// All names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many.
    #[allow(clippy::len_without_is_empty)] // There is always one.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// A digest of all names.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_arrival_does_not_matter_and_names_are_not_shared() {
        let one = Members::new(["ab", "c", "a"]).unwrap();
        assert_eq!(one, Members::new(["c", "a", "ab"]).unwrap());
        assert_ne!(one.digest(), Members::new(["a", "bc", "c"]).unwrap().digest());
        assert_eq!(Members::new(["a", "b", "a"]), Err(NoMembers::Twice("a".into())));
        assert_eq!(one.without(&["a", "ab", "c"]), Err(NoMembers::Nobody));
    }
}
