//! Values that are given, or left to a rule.

/// A value that was given, or one that the public rules choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auto<T> {
    /// The rules of [`super::rules`] choose.
    #[default]
    Auto,
    /// As given.
    Given(T),
}

impl<T> Auto<T> {
    /// The given value, or what a rule chooses.
    pub fn or(self, rule: T) -> T {
        match self {
            Auto::Given(value) => value,
            Auto::Auto => rule,
        }
    }

    /// The given value, or what a rule computes.
    pub fn or_else(self, rule: impl FnOnce() -> T) -> T {
        match self {
            Auto::Given(value) => value,
            Auto::Auto => rule(),
        }
    }

    /// The given value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Auto::Given(value) => Some(value),
            Auto::Auto => None,
        }
    }

    /// Whether the rules choose.
    pub fn is_auto(&self) -> bool {
        matches!(self, Auto::Auto)
    }
}

impl<T> From<Option<T>> for Auto<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Auto::Auto, Auto::Given)
    }
}

/// One number for all agents, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub enum PerAgent {
    /// The same for all.
    All(f64),
    /// In the order of the agents.
    Each(Vec<f64>),
}

impl PerAgent {
    /// The value for agent k; [`super::Plan::new`] has checked that there is one.
    pub fn at(&self, k: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[k],
        }
    }

    /// How many numbers were given, where there is one for each agent.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Each(values) => Some(values.len()),
        }
    }
}

/// What the agents report in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// The last release.
    Last,
    /// The mean over the second half of the rounds.
    LastHalf,
    /// That mean, averaged over the network by gossip.
    Network,
}
