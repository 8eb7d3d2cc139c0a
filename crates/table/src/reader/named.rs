//! A name with the numbers that go with it, as the tables of the library have them.

use super::{Section, only_with};
use crate::error::Result;
use dzoa::registry::{NumberRange, OptionKey, Options, Registry, RegistryEntry};

/// A key that names a row of a [`Registry`], and the parameters that stand beside it.
#[derive(Debug)]
pub struct Named {
    key: &'static str,
    /// The name, if one was given.
    pub name: Option<&'static str>,
    /// The parameters that were given.
    pub given: Options,
}

impl Named {
    /// Reads the key, which may also be one of some `other` words, and the parameters of all rows.
    pub fn read<T>(
        section: &Section<'_>,
        key: &'static str,
        registry: &Registry<T>,
        others: &[&'static str],
    ) -> Result<Self> {
        let words = [&registry.names(), others].concat();
        let name = section.choice(key, &words)?;
        let own = name.and_then(|name| registry.entry(name)).map(|entry| entry.parameters);
        let known = registry.parameters().into_iter().map(|any| {
            // Rows may have different ranges for one key.
            let own = own.and_then(|own| own.iter().find(|own| own.key == any.key));
            OptionKey::from(*own.unwrap_or(&any))
        });
        Ok(Self { key, name, given: read_options(section, known)? })
    }

    /// Refuses parameters that only other rows take.
    pub fn check<T>(&self, section: &Section<'_>, registry: &Registry<T>) -> Result<()> {
        for (parameter, _) in self.given.iter() {
            let takers = registry.that_take(parameter);
            let chosen = self.name.is_some_and(|name| takers.contains(&name));
            only_with(section, parameter, true, &self.owner(&takers), chosen)?;
        }
        Ok(())
    }

    /// The row, if one was named, and not another word.
    pub fn entry<'r, T>(&self, registry: &'r Registry<T>) -> Option<&'r RegistryEntry<T>> {
        registry.entry(self.name?)
    }

    /// What must be chosen so that a parameter of these rows has an effect.
    fn owner(&self, names: &[&str]) -> String {
        match names {
            [name] => format!("{} = \"{name}\"", self.key),
            names => {
                let names = names.join(" or ");
                let vowel = names.starts_with(['a', 'e', 'i', 'o', 'u']);
                format!("{} {names} {}", if vowel { "an" } else { "a" }, self.key)
            }
        }
    }
}

/// Reads the options that were given, each in its range.
pub fn read_options(
    section: &Section<'_>,
    known: impl IntoIterator<Item = OptionKey>,
) -> Result<Options> {
    let mut options = Options::default();
    for OptionKey { key, range } in known {
        let value = match range {
            NumberRange::Count => section.count(key)?.map(|count| count as f64),
            _ => section.number(key, |value| range.holds(value), &range.to_string())?,
        };
        if let Some(value) = value {
            options.set(key, value);
        }
    }
    Ok(options)
}
