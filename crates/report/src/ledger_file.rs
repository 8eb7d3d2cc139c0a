//! A ledger on disk: one JSON object a line, durable before the release it pays for.
//!
//! The ledger belongs to a data set as its owner names it. The rows may grow or change under that
//! name, and the budget goes on; the digests of the rows that it has seen are inside. Their key
//! lies in a file beside it, so that who is shown the ledger cannot try out rows.

use crate::private_file::{create_private, replace_private, sync_parent};
use dzoa::privacy::{
    Begin, Budget, Digest, ENTRY_VERSION, Entry, Event, Header, LEDGER_FORMAT, Ledger,
    LedgerRecord, OldEntry, OldHeader, RunId, migrate,
};
use dzoa_table::{Error, Result, shown};
use rand::TryRng;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An open ledger. The file is locked while it is open: two runs cannot spend the same budget.
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    key: [u8; 32],
    /// What was spent before.
    pub ledger: Ledger,
}

/// The name of the ledger in a state directory; that of a seeded one says what it is worth.
pub fn ledger_name(seeded: bool) -> &'static str {
    if seeded { "ledger.seeded-for-tests" } else { "ledger" }
}

/// Refuses a run that the budget does not last for: half of one is charged all the same, and gives
/// a model that nobody asked for.
pub fn affordable<'a>(ledger: &Ledger, charges: impl IntoIterator<Item = &'a Event>) -> Result<()> {
    ledger.affords(charges).map_err(|refused| {
        Error::input(refused.to_string()).hint(
            "lower privacy.total_epsilon or algorithm.rounds; \
             --spend-what-is-left runs until the budget ends",
        )
    })
}

/// The lifetime budget of a new ledger. Nobody but the owner of the rows can say it: that of the
/// first run leaves nothing for a second one.
pub fn lifetime(planned: Option<Budget>, given: Option<f64>) -> Result<Option<Budget>> {
    let Some(planned) = planned else { return Ok(None) };
    let epsilon = given.ok_or_else(|| {
        Error::input("--budget is missing: a new ledger holds what may ever be spent on its rows")
            .hint(format!(
                "this run costs {}, and --budget {0} leaves nothing for another one",
                planned.epsilon
            ))
    })?;
    Ok(Some(Budget { epsilon, ..planned }))
}

/// What a ledger has spent, if these charges would still be in its budget. Nothing is locked or
/// written.
pub fn standing<'a>(path: &Path, charges: impl IntoIterator<Item = &'a Event>) -> Result<String> {
    let ledger = read(path)?;
    affordable(&ledger, charges)?;
    Ok(ledger.budget().map_or("it has no budget".into(), |Budget { epsilon, delta }| {
        format!("epsilon {:.4} of {epsilon} spent at delta {delta:e}", ledger.epsilon(delta))
    }))
}

/// A run that is about to charge a ledger.
pub struct Run<'a> {
    /// Its id.
    pub id: RunId,
    /// Writes its rows into a digest: the rows themselves are not seen here.
    pub rows: &'a dyn Fn(&mut blake3::Hasher),
    /// What all of it may cost.
    pub planned: Option<Budget>,
    /// Its name.
    pub note: &'a str,
}

impl LedgerFile {
    /// Opens a ledger and checks every entry, and that it is that of this data set, if one is
    /// named.
    pub fn open(path: &Path, dataset: Option<&str>) -> Result<Self> {
        let file = opened(path)?;
        Self::read_all(path, file, dataset)
    }

    /// The same for a run that goes on from its journal: an entry that a full disk or a power
    /// failure left unfinished is cut off where it can only be the last charge of this run. Nothing
    /// was released on it, or the journal holds it, and the ledger takes it in again. Returns
    /// whether that was so.
    pub fn open_for(path: &Path, dataset: Option<&str>, run: RunId) -> Result<(Self, bool)> {
        let file = opened(path)?;
        let torn = cut_off(path, run)?;
        if let Some(whole) = torn {
            file.set_len(whole).and_then(|()| file.sync_all()).map_err(|error| {
                Error::run(format!("{}: cannot be written: {error}", path.display()))
            })?;
        }
        Ok((Self::read_all(path, file, dataset)?, torn.is_some()))
    }

    fn read_all(path: &Path, file: File, dataset: Option<&str>) -> Result<Self> {
        let ledger = read(path)?;
        let named = &ledger.header().expect("a ledger that was read has a header").dataset;
        if let Some(dataset) = dataset.filter(|dataset| dataset != named) {
            return Err(Error::input(format!(
                "{}: is the ledger of data set {}, not of {}",
                path.display(),
                shown(named),
                shown(dataset)
            ))
            .hint(
                "give the ledger of this data set; one ledger accompanies one data set for its \
            life",
            ));
        }
        let key = key_beside(path)?;
        Ok(Self { path: path.into(), file, key, ledger })
    }

    /// A ledger that is not on disk yet.
    pub fn unwritten(dataset: &str, budget: Option<Budget>) -> Result<Ledger> {
        let (id, dataset) = (random::<16>()?.into(), dataset.into());
        Ok(Ledger::new(Header { ledger: LEDGER_FORMAT, id, dataset, budget }))
    }

    /// Begins a ledger for a data set that never had one.
    pub fn create(path: &Path, dataset: &str, budget: Option<Budget>) -> Result<Self> {
        let ledger = Self::unwritten(dataset, budget)?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::input(format!("{}: {error}", path.display())))?;
        }
        let file = create_private(path).map_err(|error| {
            Error::input(format!("{}: a new ledger cannot be made: {error}", path.display()))
                .hint("without --new-ledger the existing one is used")
        })?;
        lock(&file, path)?;
        let key = key_beside(path)?;
        let mut new = Self { path: path.into(), file, key, ledger };
        new.write(&line(new.ledger.header())?)?;
        // The name must survive a power failure, too, or the next run would start from nothing.
        sync_parent(path).map_err(|error| {
            Error::run(format!("{}: cannot be made durable: {error}", path.display()))
        })?;
        Ok(new)
    }

    /// Writes down that a run begins. Returns what its owner should know about the rows.
    pub fn begin(&mut self, run: &Run<'_>) -> Result<Option<String>> {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        (run.rows)(&mut hasher);
        let rows = Digest::from(*hasher.finalize().as_bytes());
        let seen = |entry: &Entry| match &entry.record {
            LedgerRecord::Begin(begin) => Some(begin.rows),
            _ => None,
        };
        let mut before = self.ledger.entries().iter().filter_map(seen).peekable();
        let others = before.peek().is_some() && !before.any(|known| known == rows);
        let written = self.ledger.entries().len();
        let Run { id, planned, note, .. } = *run;
        self.ledger.begin(Begin { run: id, rows, planned, note: note.into() });
        if let Some(entry) = self.ledger.entries().get(written) {
            self.write(&line(entry)?)?;
        }
        let dataset = self.ledger.header().map(|header| shown(&header.dataset)).unwrap_or_default();
        Ok(others.then(|| {
            format!(
                "the rows of data set {dataset} are not those of earlier runs; its budget goes on \
                 from what was spent"
            )
        }))
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
                self.write(&line(entry)?)
            }
        }
    }

    /// What cannot be written whole is not left there in part: nothing was released on it.
    fn write(&mut self, line: &str) -> Result<()> {
        let write = |file: &mut File| {
            let before = file.metadata()?.len();
            let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
            if written.is_err() {
                let _ = file.set_len(before).and_then(|()| file.sync_data());
            }
            written
        };
        write(&mut self.file).map_err(|error| {
            Error::run(format!("{}: cannot be written: {error}", self.path.display()))
                .hint("make room, or mend the disk; the same command goes on from there")
        })
    }
}

/// Where the ledger of a data set lies if nobody says where.
pub fn path_of(dataset: &str) -> Result<PathBuf> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if dataset.is_empty() || dataset.starts_with('.') || !dataset.chars().all(plain) {
        return Err(Error::input(format!("--dataset {}: cannot name a file", shown(dataset)))
            .hint("use letters, digits, `-`, `_` and `.`"));
    }
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    let home = home.ok_or_else(|| {
        Error::input("--dataset: there is no home directory to find its ledger in")
            .hint("say where it is with --ledger FILE")
    })?;
    Ok(home.join("dzoa/ledgers").join(format!("{dataset}.ledger")))
}

fn opened(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).append(true).open(path).map_err(|error| {
        Error::input(format!("{}: the ledger cannot be opened: {error}", path.display())).hint(
            "a ledger lives as long as its data; where there has been none, --new-ledger \
             begins one",
        )
    })?;
    lock(&file, path)?;
    Ok(file)
}

/// Where the whole entries of a ledger end, if behind them there is an entry of this run that was
/// never finished. An end that was lost in any other way is not recognised: that is no crash.
fn cut_off(path: &Path, run: RunId) -> Result<Option<u64>> {
    let bytes = std::fs::read(path)
        .map_err(|error| Error::input(format!("{}: cannot be read: {error}", path.display())))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let (text, torn) = bytes.split_at(whole);
    let lines = std::str::from_utf8(text).unwrap_or_default().lines().skip(1);
    let entries: Vec<Entry> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begins = |entry: &Entry| match &entry.record {
        LedgerRecord::Begin(begin) => Some(begin.run),
        _ => None,
    };
    let ours = entries.iter().rev().find_map(begins) == Some(run);
    let begun = |kind: &str| {
        let index = entries.len() + 1;
        format!("{{\"index\":{index},\"version\":{ENTRY_VERSION},\"record\":{{{kind}").into_bytes()
    };
    let [begin, charge] = ["begin", "charge"].map(|kind| format!("\"{kind}\":{{\"run\":\"{run}\""));
    let like = |kind: &str| torn.iter().zip(begun(kind)).all(|(torn, entry)| *torn == entry);
    // Zeros are what some file systems leave behind.
    let zeros = torn.iter().all(|byte| *byte == 0);
    let known = ours && (like(&charge) || like("\"witness\":{") || zeros);
    Ok((!torn.is_empty() && (known || torn.starts_with(&begun(&begin)))).then_some(whole as u64))
}

/// Reads and verifies a ledger. A damaged one is refused: dropping an entry would under-count.
pub fn read(path: &Path) -> Result<Ledger> {
    let shown = path.display();
    let text = read_text(path)?;
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let header: Header = match serde_json::from_str(first) {
        Ok(header) => header,
        Err(_) => return Err(not_a_header(path, first)),
    };
    let entries = entries::<Entry>(path, lines)?;
    Ledger::replay(header, entries).map_err(|error| {
        Error::input(format!("{shown}:{}: {error}", error.index + 1)).hint(DAMAGED)
    })
}

/// Carries an old ledger over to today's format, in place; the old file is kept beside it. Returns
/// the new ledger, and where the old one is.
pub fn carry_over(path: &Path, dataset: &str) -> Result<(Ledger, PathBuf)> {
    let text = read_text(path)?;
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let Some(header) = serde_json::from_str::<OldHeader>(first).ok().filter(|h| h.ledger == 1)
    else {
        return Err(match serde_json::from_str::<Header>(first) {
            Ok(_) => Error::input(format!("{}: has today's format already", path.display()))
                .hint("nothing needs to be done"),
            Err(_) => not_a_header(path, first),
        });
    };
    let old =
        File::open(path).map_err(|error| Error::input(format!("{}: {error}", path.display())))?;
    lock(&old, path)?;
    let entries = entries::<OldEntry>(path, lines)?;
    let ledger = migrate(&header, &entries, dataset, random::<16>()?.into()).map_err(|error| {
        Error::input(format!("{}:{}: {error}", path.display(), error.index + 1)).hint(DAMAGED)
    })?;
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let (kept, new) = (beside(".format-1"), beside(".new"));
    let failed = |error: std::io::Error| {
        Error::run(format!("{}: cannot be carried over: {error}", path.display()))
            .hint("the old ledger is unchanged")
    };
    let mut content = line(ledger.header())?;
    for entry in ledger.entries() {
        content += &line(entry)?;
    }
    let _ = std::fs::remove_file(&new);
    // At every moment one whole ledger has the name.
    let mut file = create_private(&new).map_err(failed)?;
    file.write_all(content.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::hard_link(path, &kept).map_err(failed)?;
    std::fs::rename(&new, path).and_then(|()| sync_parent(path)).map_err(failed)?;
    key_beside(path)?;
    Ok((ledger, kept))
}

const DAMAGED: &str = "restore it from a backup; what it says can no longer be trusted";

fn read_text(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::input(format!("{shown}: cannot be read: {error}")).hint("give a ledger file")
    })?;
    if !text.ends_with('\n') {
        return Err(Error::input(format!("{shown}: the last entry is cut off")).hint(DAMAGED));
    }
    Ok(text)
}

fn entries<'a, T: serde::de::DeserializeOwned>(
    path: &Path,
    lines: impl Iterator<Item = &'a str>,
) -> Result<Vec<T>> {
    let parse = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|_| {
            let place = format!("{}:{}", path.display(), i + 2);
            Error::input(format!("{place}: not an entry that this version knows"))
                .hint("update the program if a newer one wrote it; else restore it from a backup")
        })
    };
    lines.enumerate().map(parse).collect()
}

/// What is wrong with a first line.
fn not_a_header(path: &Path, line: &str) -> Error {
    let shown = path.display();
    let format = serde_json::from_str::<serde_json::Value>(line)
        .ok()
        .and_then(|header| header.get("ledger")?.as_u64());
    match format {
        Some(1) => {
            Error::input(format!("{shown}: is a ledger of format 1, of version 0.2.3 or older"))
                .hint("`dzoa ledger migrate FILE --dataset NAME` carries every charge over")
        }
        Some(format) => Error::input(format!(
            "{shown}: is a ledger of format {format}, and this version reads format {LEDGER_FORMAT}"
        ))
        .hint("update the program"),
        None => Error::input(format!("{shown}:1: not a ledger")).hint("give a ledger file"),
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    file.try_lock().map_err(|_| {
        Error::run(format!("{}: another run holds this ledger", path.display()))
            .hint("wait for it to end: two runs cannot spend the same budget at once")
    })
}

/// The key of the rows' digests, in a file of its own. A lost one is made anew: then rows are not
/// recognised, which changes nothing about the budget.
fn key_beside(path: &Path) -> Result<[u8; 32]> {
    let mut name = path.as_os_str().to_os_string();
    name.push(".key");
    let path = PathBuf::from(name);
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Ok(key) = text.trim().parse::<Digest>()
    {
        return Ok(key.0);
    }
    let key = random::<32>()?;
    replace_private(&path, format!("{}\n", Digest::from(key)).as_bytes())
        .map_err(|error| Error::run(format!("{}: cannot be written: {error}", path.display())))?;
    Ok(key)
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| Error::run(format!("the operating system has no entropy: {error}")))?;
    Ok(bytes)
}

fn line(value: impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string(&value).map_err(|error| Error::run(error.to_string()))?;
    Ok(text + "\n")
}
