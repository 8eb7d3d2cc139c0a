//! A ledger on disk: one JSON object a line, durable before the release it pays for.

use crate::error::{Error, Result};
use dzoa::privacy::{Budget, Entry, Header, Ledger};
use dzoa::problem::data::Samples;
use rand::TryRng;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An open ledger. The file is locked while it is open: two runs cannot spend the same budget.
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    /// What was spent before.
    pub ledger: Ledger,
}

impl LedgerFile {
    /// Opens the ledger of a data set and checks every entry, and that it belongs to these rows.
    pub fn open(path: &Path, samples: &Samples) -> Result<Self> {
        let shown = path.display();
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(|error| {
            Error::input(format!("{shown}: the ledger cannot be opened: {error}")).hint(
                "a ledger lives as long as its data; where there has been none, --new-ledger starts one",
            )
        })?;
        lock(&file, path)?;
        let ledger = read(path)?;
        let header = ledger.header().expect("a ledger that was read has a header");
        if header.data != digest(&header.key, samples) {
            return Err(Error::input(format!("{shown}: this ledger belongs to other rows"))
                .hint("give the ledger of this data set; one ledger accompanies one data set for its life"));
        }
        Ok(Self { path: path.into(), file, ledger })
    }

    /// Starts a ledger for rows that never had one.
    pub fn create(path: &Path, samples: &Samples, budget: Option<Budget>) -> Result<Self> {
        let shown = path.display();
        let mut key = [0; 32];
        rand::rngs::SysRng
            .try_fill_bytes(&mut key)
            .map_err(|error| Error::run(format!("the operating system has no entropy: {error}")))?;
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let data = digest(&key, samples);
        let ledger = Ledger::new(Header { ledger: 1, data, key, budget });
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::input(format!("{shown}: {error}")))?;
        }
        let file =
            OpenOptions::new().append(true).create_new(true).open(path).map_err(|error| {
                Error::input(format!("{shown}: a new ledger cannot be made: {error}"))
                    .hint("without --new-ledger the existing one is used")
            })?;
        lock(&file, path)?;
        let mut new = Self { path: path.into(), file, ledger };
        let header = serde_json::to_string(new.ledger.header().expect("a new ledger has a header"));
        new.write(&header.map_err(|error| Error::run(error.to_string()))?)?;
        // The name must survive a power failure, too, or the next run would start from nothing.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))
            .and_then(|directory| directory.sync_all())
            .map_err(|error| Error::run(format!("{shown}: cannot be made durable: {error}")))?;
        Ok(new)
    }

    /// Makes an entry durable, unless it is there already: a restarted agent tells of it again.
    pub fn keep(&mut self, entry: &Entry) -> Result<()> {
        match self.ledger.entries().get((entry.index as usize).saturating_sub(1)) {
            Some(known) if known == entry => Ok(()),
            Some(_) => Err(Error::run(format!(
                "{}: entry {} is another one than this run made",
                self.path.display(),
                entry.index
            ))
            .hint("the ledger or the journal was changed; restore both from the same backup")),
            None => {
                // Refuses an entry that does not continue the chain.
                self.ledger
                    .follow(entry.clone())
                    .map_err(|error| Error::run(format!("{}: {error}", self.path.display())))?;
                self.append(entry)
            }
        }
    }

    /// Makes an entry durable.
    pub fn append(&mut self, entry: &Entry) -> Result<()> {
        let line = serde_json::to_string(entry).map_err(|error| Error::run(error.to_string()))?;
        self.write(&line)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| {
                Error::run(format!("{}: cannot be written: {error}", self.path.display()))
            })
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    file.try_lock().map_err(|_| {
        Error::run(format!("{}: another run holds this ledger", path.display()))
            .hint("wait for it to end: two runs cannot spend the same budget at once")
    })
}

/// Reads and verifies a ledger. A damaged one is refused: dropping an entry would under-count.
pub fn read(path: &Path) -> Result<Ledger> {
    let shown = path.display();
    let hint = "restore it from a backup; what it says can no longer be trusted";
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::input(format!("{shown}: cannot be read: {error}")).hint("give a ledger file")
    })?;
    if !text.ends_with('\n') {
        return Err(Error::input(format!("{shown}: the last entry is cut off")).hint(hint));
    }
    let mut lines = text.lines();
    let header: Header = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .filter(|header: &Header| header.ledger == 1)
        .ok_or_else(|| {
            Error::input(format!("{shown}:1: not a ledger")).hint("give a ledger file")
        })?;
    let entries = lines
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_str::<Entry>(line)
                .map_err(|_| Error::input(format!("{shown}:{}: not an entry", i + 2)).hint(hint))
        })
        .collect::<Result<Vec<_>>>()?;
    Ledger::replay(header, entries)
        .map_err(|error| Error::input(format!("{shown}:{}: {error}", error.index + 1)).hint(hint))
}

/// A digest of the rows that only the holder of the key can compare.
pub fn digest(key: &str, samples: &Samples) -> String {
    let mut hasher = blake3::Hasher::new_keyed(blake3::hash(key.as_bytes()).as_bytes());
    for i in 0..samples.count() {
        samples.rows.visit(i, |column, value| {
            // Zeros are not stored in sparse rows: the same rows have the same digest either way.
            if value != 0.0 {
                hasher.update(&(column as u64).to_le_bytes());
                hasher.update(&value.to_bits().to_le_bytes());
            }
        });
        hasher.update(b"y").update(&samples.targets[i].to_bits().to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
