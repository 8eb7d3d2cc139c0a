//! `dzoa init --from`: a config and a schema for the files of several sites.

use super::labels::Classes;
use super::seen::{Guess, Seen};
use super::written::{quoted, table};
use super::{Draft, Site, line};
use crate::encoding::Encoding;
use crate::error::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What `dzoa init --from` writes, and what only the owner of the rows should read.
#[derive(Debug)]
pub struct StudyDraft {
    /// The config with its schema.
    pub config: String,
    /// What was seen, for the terminal: counts and warnings. Not to be shared.
    pub notes: String,
}

/// Drafts a config from one file per site. The files are named relative to `dir` where they are
/// near it.
pub fn draft_study(paths: &[PathBuf], target: Option<&str>, dir: &Path) -> Result<StudyDraft> {
    let mut draft = Draft::read(paths, target)?;
    let recodes = draft.recode_labels();
    let schema = draft.schema()?;
    let names = site_names(&draft.sites);
    let mut config = format!("{HEAD}\n[problem]\n");
    let regression = draft.target.distinct.len() > 2 && draft.target.texts == 0;
    let loss = if regression { "huber" } else { "logistic" };
    line(&mut config, format_args!("loss = \"{loss}\""));
    config.push_str(PROBLEM);
    line(&mut config, format_args!("agents = ["));
    for ((site, name), recode) in draft.sites.iter().zip(&names).zip(&recodes) {
        let ids = draft.own_ids(site);
        line(&mut config, format_args!("  {},", site.entry(name, recode, &ids, dir)));
    }
    line(&mut config, format_args!("]"));
    config.push_str(match names.len() {
        1 | 2 => "\n[network]\ntopology = \"path\"         # who talks to whom\n",
        _ => "\n[network]\ntopology = \"ring\"         # who talks to whom\n",
    });
    config.push_str(REST);
    config.push('\n');
    config.push_str(&schema.replace("dzoa schema infer", "dzoa init --from"));
    Ok(StudyDraft { config, notes: draft.notes(&names, &recodes) })
}

type Recode = std::collections::BTreeMap<String, String>;

impl Draft {
    /// Puts the labels of all sites into the words of the first; what each site's words become.
    fn recode_labels(&mut self) -> Vec<Recode> {
        let name = self.target.name.clone();
        let labels = |site: &Site| site.column(&name).map(|seen| seen.distinct.clone());
        let classes = Classes::of(&self.codes());
        let of = |site: &Site| labels(site).map(|own| classes.recode(&own)).unwrap_or_default();
        let recodes: Vec<Recode> = self.sites.iter().map(of).collect();
        for (from, to) in recodes.iter().flatten() {
            if let Some(count) = self.target.distinct.remove(from) {
                *self.target.distinct.entry(to.clone()).or_default() += count;
            }
        }
        recodes
    }

    /// What was seen, for the terminal of whoever owns the rows.
    fn notes(&self, names: &[String], recodes: &[Recode]) -> String {
        let mut out = String::new();
        line(&mut out, format_args!("For your eyes only: what was seen in the rows.\n"));
        let target = &self.target.name;
        line(&mut out, format_args!("target {}", quoted(target)));
        for ((site, name), recode) in self.sites.iter().zip(names).zip(recodes) {
            let Some(seen) = site.column(target) else { continue };
            let rows = seen.values + seen.absent;
            line(&mut out, format_args!("  {name}: {rows} rows{}", site.classes(seen, recode)));
            let other = site.other_labels(seen, recode, self);
            for word in other.into_iter().chain(site.warnings(self, seen)) {
                line(&mut out, format_args!("    warning: {word}"));
            }
        }
        for seen in &self.columns {
            let sites: Vec<&str> = (self.sites.iter().zip(names))
                .filter(|(site, _)| self.own_ids(site).contains(&seen.name.as_str()))
                .map(|(_, name)| name.as_str())
                .collect();
            match seen.guess() {
                _ if seen.name.is_empty() => line(
                    &mut out,
                    format_args!("left out: a first column without a name (row names)"),
                ),
                Guess::Ignore(_) if !sites.is_empty() => line(
                    &mut out,
                    format_args!(
                        "not learned from: {} (names the rows of {})",
                        quoted(&seen.name),
                        sites.join(", ")
                    ),
                ),
                Guess::Ignore(why) => {
                    line(&mut out, format_args!("left out: {} ({why})", quoted(&seen.name)))
                }
                Guess::Id => line(
                    &mut out,
                    format_args!("not learned from: {} (names the rows)", quoted(&seen.name)),
                ),
                Guess::Numeric { .. } | Guess::Categorical => {}
            }
        }
        out
    }

    /// Columns that name the rows of this site, where not all sites have them.
    fn own_ids<'a>(&self, site: &'a Site) -> Vec<&'a str> {
        let alone = |seen: &&Seen| {
            let known = self.columns.iter().find(|known| known.name == seen.name);
            known.is_some_and(|known| !known.lacking.is_empty())
        };
        let named = site.columns.iter().filter(|seen| !seen.name.is_empty()).filter(alone);
        named.filter(|seen| seen.guess() == Guess::Id).map(|seen| seen.name.as_str()).collect()
    }
}

impl Site {
    /// The site's entry in `data.agents`.
    fn entry(&self, name: &str, recode: &Recode, own_ids: &[&str], dir: &Path) -> String {
        let file = path_from(dir, &self.path);
        let mut keys = vec![
            format!("name = {}", quoted(name)),
            format!("file = {}", quoted(&file.display().to_string())),
        ];
        if let Some(sniffed) = &self.sniffed {
            let delimiter = sniffed.format.separator();
            if delimiter != b',' {
                let delimiter = quoted(&char::from(delimiter).to_string());
                keys.push(format!("delimiter = {delimiter}"));
            }
            if sniffed.decimal_comma {
                keys.push("decimal = \",\"".into());
            }
            if sniffed.format.encoding == Some(Encoding::Latin1) {
                keys.push("encoding = \"latin-1\"".into());
            }
        }
        let ids: Vec<String> = own_ids.iter().map(|id| quoted(id)).collect();
        if !ids.is_empty() {
            keys.push(format!("id = [{}]", ids.join(", ")));
        }
        if !recode.is_empty() {
            keys.push(format!("recode = {}", table(recode)));
        }
        format!("{{ {} }}", keys.join(", "))
    }

    /// How often each label stands here.
    fn classes(&self, target: &Seen, recode: &Recode) -> String {
        if target.distinct.len() > 10 {
            return format!(", from {} to {}", target.lowest, target.highest);
        }
        let count = |(label, count): (&String, &usize)| match recode.get(label) {
            Some(to) => format!("{count} {label} (read as {to})"),
            None => format!("{count} {label}"),
        };
        let counts: Vec<String> = target.distinct.iter().map(count).collect();
        format!(": {}", counts.join(", "))
    }

    /// A word about labels that are none of the study's, in whatever words.
    fn other_labels(&self, target: &Seen, recode: &Recode, draft: &Draft) -> Option<String> {
        if draft.target.distinct.len() != 2 {
            return None;
        }
        let known = |label: &String| {
            recode.contains_key(label) || draft.target.distinct.contains_key(label)
        };
        let strange: Vec<&String> = target.distinct.keys().filter(|label| !known(label)).collect();
        let (first, study) = (quoted(strange.first()?), listed(draft.target.distinct.keys()));
        Some(format!(
            "{} is no label of the study, which has {study}: say beside the file what this \
             site's labels mean, recode = {{ {first} = ... }}",
            listed(strange)
        ))
    }

    /// A word about levels of which no other site has any.
    fn other_levels(&self, draft: &Draft, own: &Seen) -> Option<String> {
        let others = draft.sites.iter().filter(|site| site.path != self.path);
        let others: BTreeSet<&String> = others
            .filter_map(|site| site.column(&own.name))
            .flat_map(|seen| seen.distinct.keys())
            .collect();
        let apart = own.distinct.keys().all(|level| !others.contains(level));
        let (first, name) = (own.distinct.keys().next()?, quoted(&own.name));
        (apart && !others.is_empty()).then(|| {
            format!(
                "column {name} has {} where others have {}; if they mean the same, take one of \
                 them out of the schema and say it beside the file: recode = {{ {name} = {{ {} = \
                 ... }} }}",
                listed(own.distinct.keys()),
                listed(others),
                quoted(first)
            )
        })
    }

    /// What may go wrong with this site.
    fn warnings(&self, draft: &Draft, target: &Seen) -> Vec<String> {
        let mut words = Vec::new();
        if target.distinct.len() == 1 {
            let label = target.distinct.keys().next().map_or("", String::as_str);
            words.push(format!("one class only, {}: are the labels right?", quoted(label)));
        }
        for seen in &draft.columns {
            let Some(own) = self.column(&seen.name) else { continue };
            match seen.guess() {
                Guess::Categorical => match own.written_otherwise(seen) {
                    Some(word) => words.extend(own.never_has(seen).into_iter().chain([word])),
                    None => {
                        let other = self.other_levels(draft, own);
                        words.extend(other.or_else(|| own.never_has(seen)));
                    }
                },
                Guess::Numeric { .. } => words.extend(own.near_constant()),
                Guess::Id | Guess::Ignore(_) => {}
            }
        }
        words
    }
}

/// Texts in quotes, the first of many.
fn listed<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    const MOST: usize = 6;
    let all: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    match all.len().saturating_sub(MOST) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..MOST].join(", ")),
    }
}

impl Seen {
    /// A word about levels that only others have.
    fn never_has(&self, all: &Seen) -> Option<String> {
        let unseen = all.distinct.keys().filter(|level| !self.distinct.contains_key(*level));
        let levels = listed(unseen);
        let name = quoted(&self.name);
        (!levels.is_empty()).then(|| format!("column {name} never has {levels}"))
    }

    /// A word about a level that others write with other letters, large or small.
    fn written_otherwise(&self, all: &Seen) -> Option<String> {
        let twin = |own: &&String| {
            let same = |other: &&String| *other != *own && other.eq_ignore_ascii_case(own);
            all.distinct.keys().find(same).filter(|other| !self.distinct.contains_key(*other))
        };
        let (own, other) = self.distinct.keys().find_map(|own| Some((own, twin(&own)?)))?;
        let [name, own, other] = [&self.name, own, other].map(|text| quoted(text));
        Some(format!(
            "column {name} has {own} where others have {other}; if they mean the same, take one \
             level out of the schema and say it beside the file: recode = {{ {name} = {{ {own} = \
             {other} }} }}"
        ))
    }

    /// A word about a column that has one value in nearly all rows.
    fn near_constant(&self) -> Option<String> {
        let (value, count) = self.distinct.iter().max_by_key(|(_, count)| **count)?;
        (*count * 50 >= self.values * 49 && self.values >= 20).then(|| {
            format!("column {} is {} in {count} of {} rows", quoted(&self.name), value, self.values)
        })
    }
}

/// A file as a config in `dir` names it: from there where that is near, whole elsewhere.
fn path_from(dir: &Path, file: &Path) -> PathBuf {
    /// Directories up, at most.
    const NEAR: usize = 3;
    let (dir, file) = (resolved(dir), resolved(file));
    let shared = dir.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = dir.components().count() - shared;
    if shared < 2 || up > NEAR {
        return file;
    }
    let above = std::iter::repeat_n(std::path::Component::ParentDir, up);
    above.chain(file.components().skip(shared)).collect()
}

/// A path without links, so that one can go up from it; what does not exist yet stays as it is.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    match (whole.canonicalize(), whole.parent(), whole.file_name()) {
        (Ok(found), ..) => found,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        (Err(_), ..) => whole,
    }
}

/// Names of agents from the names of files, each once.
fn site_names(sites: &[Site]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for site in sites {
        let stem = site.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let plain: String = stem
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' })
            .collect();
        let plain = if plain.is_empty() { "site".to_string() } else { plain };
        let numbered = (2..).map(|n| format!("{plain}-{n}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|n| !names.contains(n));
        names.push(free.unwrap_or(plain));
    }
    names
}

const HEAD: &str = "\
# Drafted by `dzoa init --from`. Lines with CONFIRM hold what only you can know: bounds and levels
# must be public, the same for all sites, and not from the data. `dzoa run run.toml --dry-run`
# prints everything that is decided from this file; `dzoa help config KEY` explains a key.
name = \"study\"
";

const PROBLEM: &str = "\
regularizer = \"l1\"
eta = \"auto\"              # how strongly; or a number: larger means fewer columns
scale = \"pooled\"          # every row counts alike; \"mean\": every site does
intercept = true

[data]                    # how a site writes its file stands beside it, and is its own affair
";

const REST: &str = "
[algorithm]
name = \"auto\"             # sums over all sites; steps and rounds by public rules

[privacy]
mechanism = \"none\"        # none: nothing is promised. For a private run take this line out,
# mechanism = \"joint\"     # and the # before these: holds exactly, noise in shares on every sum
# total_epsilon = 2.0     # over the whole run
# delta = 1e-5
# colluders = \"all\"       # against all others together; or a number: masks, and less noise
";
