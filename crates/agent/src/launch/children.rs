//! The agents of `dzoa launch`: child processes that do not outlive it.

use super::state;
use crate::network_file::NetworkFile;
use dzoa_cli::args::LaunchArgs;
use dzoa_cli::interrupt;
use dzoa_cli::progress::Progress;
use dzoa_report::ledger_file::ledger_name;
use dzoa_table::{Error, Exit, Result};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long children may take to stop by themselves.
const GRACE: Duration = Duration::from_secs(5);

/// Running agents.
pub struct Children {
    agents: Vec<(String, Child)>,
    heard: Receiver<(usize, String)>,
}

impl Children {
    /// Starts all agents.
    pub fn start(
        args: &LaunchArgs,
        sets: &[String],
        network: &NetworkFile,
        files: &BTreeMap<String, PathBuf>,
        out: &Path,
    ) -> Result<Self> {
        let program = std::env::current_exe()
            .map_err(|error| Error::run(format!("this program cannot be found: {error}")))?;
        let (sender, heard) = channel();
        let mut children = Self { agents: Vec::new(), heard };
        for (index, place) in network.places.iter().enumerate() {
            let mut command = Command::new(&program);
            command.arg("agent").arg("--network").arg(&args.network);
            command.args(sets.iter().flat_map(|set| ["--set", set]));
            command.args(["--name", &place.name]);
            command.arg("--state").arg(state(out, &place.name));
            command.arg("--certs").arg(out.join("certs"));
            command.args(["--log-format", "json", "--stop-with-stdin"]);
            // A trial: its ledgers end with it.
            let planned = network.config.spec.mechanism.claimed().budget();
            if let (Some(planned), None) = (planned, network.config.run.seed) {
                let ledger = state(out, &place.name).join(ledger_name(false));
                command.arg("--ledger").arg(ledger).arg("--new-ledger");
                command.arg("--budget").arg(planned.epsilon.to_string());
            }
            if let Some(file) = files.get(&place.name) {
                command.arg("--data").arg(file);
            }
            // Its log is read here.
            command.env_remove("RUST_LOG");
            // An agent stops when its stdin ends, which it does however this process ends.
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(|error| {
                Error::run(format!("agent {} cannot be started: {error}", place.name))
            })?;
            if let Some(stderr) = child.stderr.take() {
                listen(index, stderr, sender.clone());
            }
            children.agents.push((place.name.clone(), child));
        }
        Ok(children)
    }

    /// Shows progress until all have ended; the first failure is the error.
    pub fn wait(&mut self, progress: &Progress, rounds: u64) -> Result<()> {
        let mut at = vec![0; self.agents.len()];
        let mut shown = 0;
        let mut told = Instant::now();
        let mut last_words: Vec<Vec<String>> = vec![Vec::new(); self.agents.len()];
        loop {
            let heard = self.heard.recv_timeout(Duration::from_millis(100));
            if let Ok((index, line)) = &heard {
                match parse(line) {
                    Line::Round { round, waiting } => {
                        at[*index] = round;
                        let behind = at.iter().min().copied().unwrap_or(0);
                        (shown..behind).for_each(|_| progress.tick());
                        if behind == 0 && shown == 0 {
                            progress.note(&format!("{}: {waiting}", self.agents[*index].0));
                        }
                        shown = shown.max(behind);
                        // All rounds are done, and somebody still waits to be told so.
                        let done = Instant::now();
                        if behind == rounds
                            && waiting.starts_with("done, staying")
                            && done >= told + GRACE
                        {
                            told = done;
                            progress.note(&format!("{}: {waiting}", self.agents[*index].0));
                        }
                    }
                    Line::Word(word) => {
                        progress.note(&format!("{}: {word}", self.agents[*index].0))
                    }
                    Line::Other => last_words[*index].push(line.clone()),
                }
                continue;
            }
            if interrupt::asked() {
                return Err(Error::interrupted(format!(
                    "stopped by Ctrl-C after round {shown} of {rounds}"
                )));
            }
            let mut running = 0;
            for (index, (name, child)) in self.agents.iter_mut().enumerate() {
                match child.try_wait() {
                    Ok(Some(status)) if !status.success() => {
                        let said = last_words[index].join("\n");
                        let said = said.trim_start_matches("error: ");
                        let (message, hint) = said.split_once("\n\nhint: ").unwrap_or((said, ""));
                        let error = Error::ending(
                            Exit::of(status.code()),
                            format!("agent {name} failed ({status}): {message}"),
                        );
                        return Err(if hint.is_empty() { error } else { error.hint(hint) });
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => running += 1,
                    Err(error) => return Err(Error::run(format!("agent {name}: {error}"))),
                }
            }
            if running == 0 && heard == Err(RecvTimeoutError::Disconnected) {
                (shown..rounds).for_each(|_| progress.tick());
                return Ok(());
            }
        }
    }
}

/// Children are asked to stop by the end of their stdin, and ended if they do not.
impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &mut self.agents {
            drop(child.stdin.take());
        }
        let until = Instant::now() + GRACE;
        for (_, child) in &mut self.agents {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn listen(index: usize, stderr: std::process::ChildStderr, sender: Sender<(usize, String)>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(std::io::Result::ok) {
            if sender.send((index, line)).is_err() {
                break;
            }
        }
    });
}

/// What a child said.
enum Line {
    Round { round: u64, waiting: String },
    Word(String),
    Other,
}

fn parse(line: &str) -> Line {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(line) else { return Line::Other };
    let fields = &json["fields"];
    match fields["round"].as_u64() {
        Some(round) => {
            Line::Round { round, waiting: fields["waiting"].as_str().unwrap_or_default().into() }
        }
        None => Line::Word(fields["message"].as_str().unwrap_or_default().into()),
    }
}
