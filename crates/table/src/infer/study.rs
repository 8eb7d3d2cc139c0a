//! `dzoa init --from`: a config and a schema for the files of several sites.

use super::labels::Classes;
use super::seen::{Guess, Seen};
use super::written::{quoted, table};
use super::{Draft, Site, line};
use crate::encoding::Encoding;
use crate::error::Result;
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
/// below it.
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
        line(&mut config, format_args!("  {},", site.entry(name, recode, dir)));
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
        let Some(first) = self.sites.first().and_then(labels) else { return Vec::new() };
        let classes = Classes::of(&first);
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
            for word in site.warnings(self, seen) {
                line(&mut out, format_args!("    warning: {word}"));
            }
        }
        for seen in &self.columns {
            if let Guess::Ignore(why) = seen.guess()
                && !seen.name.is_empty()
            {
                line(&mut out, format_args!("left out: {} ({why})", quoted(&seen.name)));
            }
        }
        out
    }
}

impl Site {
    /// The site's entry in `data.agents`.
    fn entry(&self, name: &str, recode: &Recode, dir: &Path) -> String {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
        let file = whole(&self.path);
        let file = file.strip_prefix(whole(dir)).unwrap_or(&file);
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
                Guess::Categorical => {
                    let unseen: Vec<String> = seen
                        .distinct
                        .keys()
                        .filter(|level| !own.distinct.contains_key(*level))
                        .map(|level| quoted(level))
                        .collect();
                    if !unseen.is_empty() {
                        let levels = unseen.join(", ");
                        words.push(format!("column {} never has {levels}", quoted(&seen.name)));
                    }
                }
                Guess::Numeric { .. } => words.extend(own.near_constant()),
                Guess::Id | Guess::Ignore(_) => {}
            }
        }
        words
    }
}

impl Seen {
    /// A word about a column that has one value in nearly all rows.
    fn near_constant(&self) -> Option<String> {
        let (value, count) = self.distinct.iter().max_by_key(|(_, count)| **count)?;
        (*count * 50 >= self.values * 49 && self.values >= 20).then(|| {
            format!("column {} is {} in {count} of {} rows", quoted(&self.name), value, self.values)
        })
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
eta = 0.02                # how strongly; larger means fewer columns
intercept = true

[data]                    # how a site writes its file stands beside it, and is its own affair
";

const REST: &str = "
[algorithm]
name = \"auto\"             # sums over all sites; steps and rounds by public rules

[privacy]
mechanism = \"none\"        # none: nothing is promised
# mechanism = \"joint\"     # holds exactly: noise in shares on every sum
# total_epsilon = 4.0       # over the whole run
# delta = 1e-5
# colluders = \"all\"       # against all others together; or a number: masks, and less noise
";
