//! The shards of several machines as one figure.

use super::store::Store;
use super::{ALL, Figure, figures, publish};
use dzoa_table::{Error, Result};
use std::path::{Path, PathBuf};

/// Joins the trials of every figure in the shards and draws it; a line about each.
pub fn merge(dirs: &[PathBuf], out: &Path) -> Result<String> {
    let mut found: Vec<(Box<dyn Figure>, Store)> = Vec::new();
    for mut figure in figures(ALL)? {
        let file = format!("{}.settings.json", figure.name());
        let with: Vec<&PathBuf> = dirs.iter().filter(|dir| dir.join(&file).exists()).collect();
        if with.is_empty() {
            continue;
        }
        let store = join(&*figure, &with)?;
        store.restore(&mut *figure)?;
        found.push((figure, store));
    }
    if found.is_empty() {
        return Err(Error::input(format!(
            "{}: no figure's `.settings.json` in there",
            dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
        ))
        .hint("name the directories of `dzoa reproduce ... --shard I/N`"));
    }
    // Everything is checked before anything is written.
    for (figure, _) in &found {
        let taken = out.join(format!("{}.settings.json", figure.name()));
        if taken.exists() {
            return Err(Error::input(format!("--out {}: holds {}", out.display(), figure.name()))
                .hint("choose another directory; a figure is never overwritten by another"));
        }
    }
    let mut text = String::new();
    for (figure, store) in &found {
        text.push_str(&publish(out, &**figure, store)?);
        store.write(out)?;
    }
    Ok(text)
}

/// One figure's trials from all directories, complete.
fn join(figure: &dyn Figure, dirs: &[&PathBuf]) -> Result<Store> {
    let name = figure.name();
    let mut whole = Store::read(dirs[0], figure)?;
    for (i, dir) in dirs.iter().enumerate().skip(1) {
        let shard = Store::read(dir, figure)?;
        if shard.settings != whole.settings {
            return Err(Error::input(format!(
                "{name}: {} (settings {}) and {} (settings {}) differ in {}",
                dirs[0].display(),
                whole.settings.digest(),
                dir.display(),
                shard.settings.digest(),
                difference(&whole, &shard)
            ))
            .hint("shards belong together only if version, seed, trials and tuning are the same"));
        }
        whole.raw.merge(shard.raw).map_err(|clash| {
            let found = |dir: &&&PathBuf| has(dir, figure, clash.trial);
            let first = dirs[..i].iter().find(found).unwrap_or(&dirs[0]);
            Error::input(format!(
                "{name}: trial {} {} in {} and {}",
                clash.trial,
                clash.what,
                first.display(),
                dir.display()
            ))
            .hint(
                "name every shard once; `--shard I/N` with the same N and different I never \
            overlap",
            )
        })?;
    }
    let missing: Vec<u64> = (0..whole.settings.trials).filter(|t| !whole.raw.has(*t)).collect();
    if !missing.is_empty() {
        return Err(Error::input(format!(
            "{name}: {} of {} trials are missing: {}",
            missing.len(),
            whole.settings.trials,
            ranges(&missing)
        ))
        .hint(
            "shard I of N holds the trials t with t mod N = I - 1; compute what is missing, then \
        merge",
        ));
    }
    Ok(whole)
}

fn has(dir: &Path, figure: &dyn Figure, trial: u64) -> bool {
    Store::read(dir, figure).is_ok_and(|store| store.raw.has(trial))
}

/// The first setting that differs.
fn difference(one: &Store, other: &Store) -> &'static str {
    let (a, b) = (&one.settings, &other.settings);
    match () {
        () if a.seed != b.seed => "seed",
        () if a.trials != b.trials => "trials",
        () if a.version != b.version => "version",
        () => "what was tuned",
    }
}

/// `3, 5-8`
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = ranges.iter().take(20).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let more = if ranges.len() > 20 { ", ..." } else { "" };
    shown.collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    #[test]
    fn missing_trials_are_named_in_ranges() {
        assert_eq!(super::ranges(&[3, 5, 6, 7, 9]), "3, 5-7, 9");
    }
}
