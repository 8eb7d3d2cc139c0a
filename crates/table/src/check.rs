//! Whether the files of sites can be read, and what is in them: for their holders.

use crate::error::{Error, Result};
use crate::instances::InstanceSpec;
use crate::load::Loaded;
use crate::reading::{Reading, SiteFile};
use crate::source::DataSource;
use std::path::Path;

/// What was found about the rows of one site. Local: counts depend on the rows.
#[derive(Debug)]
pub struct SiteCheck {
    /// The site, or the file of all of them.
    pub name: String,
    /// What its holder should know.
    pub lines: Vec<String>,
    /// Why its rows cannot be used.
    pub problem: Option<Error>,
}

/// All that was found so far: what is ready, and every problem.
#[derive(Debug, Default)]
pub struct Findings {
    text: String,
    problems: Vec<Error>,
}

impl Findings {
    /// Something is ready.
    pub fn ok(&mut self, about: &str, what: &str) {
        self.text += &format!("ok       {about}: {what}\n");
    }

    /// Something to know that stops nothing.
    pub fn warn(&mut self, about: &str, what: &str) {
        self.text += &format!("warning  {about}: {what}\n");
    }

    /// Something that was not looked at.
    pub fn skipped(&mut self, about: &str, how: &str) {
        self.text += &format!("not seen {about}: {how}\n");
    }

    /// The value, if there is one; what is wrong otherwise.
    pub fn take<T>(&mut self, about: &str, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.bad(about, error)).ok()
    }

    /// What is ready, in words, or what is wrong.
    pub fn told(&mut self, about: &str, words: Result<String>) {
        if let Some(words) = self.take(about, words) {
            self.ok(about, &words);
        }
    }

    /// Whether the rows of all these sites can be used.
    pub fn sites(&mut self, sites: Vec<SiteCheck>) -> bool {
        let before = self.problems.len();
        for SiteCheck { name, lines, problem } in sites {
            for line in &lines {
                match line.strip_prefix("warning: ") {
                    Some(word) => self.warn(&name, word),
                    None => self.ok(&name, line),
                }
            }
            problem.into_iter().for_each(|error| self.bad(&name, error));
        }
        self.problems.len() == before
    }

    /// A line for each.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first problem, and how many there are.
    pub fn conclude(mut self) -> Result<()> {
        let all = self.problems.len();
        if all == 0 {
            return Ok(());
        }
        let first = self.problems.remove(0).as_input();
        Err(if all == 1 { first } else { first.at(&format!("first of {all} problems")) })
    }

    fn bad(&mut self, about: &str, error: Error) {
        self.text += &format!("PROBLEM  {about}: {}\n", error.message());
        self.problems.push(error);
    }
}

/// What a draft left for a person to confirm and nobody has, in words; a file that cannot be read
/// says nothing.
pub fn unconfirmed(config: &Path) -> Option<String> {
    let text = std::fs::read_to_string(config).ok()?;
    let open: Vec<usize> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.contains("# CONFIRM"))
        .map(|(at, _)| at)
        .collect();
    let first = open.first()?;
    let lines = if open.len() == 1 { "line says" } else { "lines say" };
    Some(format!(
        "{} {lines} CONFIRM, the first is {}:{first}. A bound or level that was taken from the \
         data tells of it, and no guarantee covers that: put public knowledge in its place, and \
         take the word out",
        open.len(),
        config.display()
    ))
}

impl InstanceSpec<'_> {
    /// How many rows of these files are used, which is public.
    pub fn count_rows(&self, sites: &[SiteFile]) -> Result<Vec<usize>> {
        let silent = InstanceSpec { note: |_| {}, ..self.clone() };
        let count =
            |site: &SiteFile| Ok(silent.load(&site.file, &site.reading, None)?.samples.count());
        sites.iter().map(count).collect()
    }

    /// Every file that the data name, or these instead. Nothing ends at the first that is wrong.
    pub fn check_sites(&self, given: &[SiteFile]) -> Vec<SiteCheck> {
        if !given.is_empty() {
            return given.iter().map(|site| self.check_site(site)).collect();
        }
        match self.data {
            DataSource::Synthetic(_) | DataSource::Elsewhere => Vec::new(),
            DataSource::Files(files) => files
                .iter()
                .map(|site| SiteFile { file: self.root.join(&site.file), ..site.clone() })
                .map(|site| self.check_site(&site))
                .collect(),
            DataSource::Split { file, .. } => {
                let file = self.root.join(file);
                let name = file.display().to_string();
                let reading = Reading::default();
                vec![self.check_site(&SiteFile { name, file, reading })]
            }
        }
    }

    fn check_site(&self, site: &SiteFile) -> SiteCheck {
        let name = site.name.clone();
        match self.look(site) {
            Ok(lines) => SiteCheck { name, lines, problem: None },
            Err(error) => SiteCheck { name, lines: Vec::new(), problem: Some(error) },
        }
    }

    fn look(&self, site: &SiteFile) -> Result<Vec<String>> {
        let silent = InstanceSpec { note: |_| {}, ..self.clone() };
        let loaded: Loaded = silent.load(&site.file, &site.reading, None)?;
        let rows = loaded.samples.count();
        let mut lines = vec![format!("{}: {rows} rows", site.file.display())];
        lines.extend(loaded.counts.note());
        let schema = self.schema.filter(|_| loaded.classes.is_some());
        if let (Some(schema), Some([no, yes])) = (schema, loaded.classes) {
            let [negative, positive] = schema.labels();
            lines.push(format!("labels: {positive} {yes}, {negative} {no}"));
            lines.extend(loaded.one_class(schema));
        }
        Ok(lines)
    }
}
