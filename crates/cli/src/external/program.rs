//! An agent's program: started once, asked over its standard input, answering on its standard
//! output.
//!
//! The protocol is on one page: docs/black-box.md. Here is what happens when a program does not
//! keep it.

use crate::config::{Handling, ProgramSpec};
use crate::interrupt;
use dzoa::problem::{Oracle, OracleError, Points};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a program may take to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a wait looks for Ctrl-C.
const LISTEN: Duration = Duration::from_millis(100);

/// All programs of one agent.
pub struct Program {
    spec: ProgramSpec,
    features: usize,
    samples: Option<usize>,
    handling: Handling,
    root: PathBuf,
    restarted: AtomicUsize,
    workers: Vec<Mutex<Option<Running>>>,
}

/// Why a worker gave no answer.
enum Trouble {
    /// It is gone, or must go: another one may do better.
    Gone(String),
    /// It breaks the protocol, or says that it failed: another one would, too.
    Wrong(String),
}

impl Program {
    /// For one agent; nothing is started yet.
    pub fn new(
        spec: ProgramSpec,
        features: usize,
        samples: Option<usize>,
        handling: Handling,
        root: PathBuf,
    ) -> Self {
        let workers = (0..handling.workers).map(|_| Mutex::new(None)).collect();
        Self { spec, features, samples, handling, root, restarted: AtomicUsize::new(0), workers }
    }

    /// Asks one worker, with restarts up to the limit of the agent.
    fn ask_worker(&self, worker: usize, points: Points<'_>, out: &mut [f64]) -> Result<(), String> {
        // A worker whose thread panicked is started anew.
        let mut slot = self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let tried = match slot.as_mut() {
                Some(running) => self.exchange(running, points, out),
                None => Running::start(self, worker)
                    .and_then(|running| self.exchange(slot.insert(running), points, out)),
            };
            let reason = match tried {
                Ok(()) => return Ok(()),
                Err(Trouble::Wrong(reason)) => return Err(reason),
                Err(Trouble::Gone(reason)) => reason,
            };
            *slot = None;
            if interrupt::asked() {
                return Err("stopped by Ctrl-C".into());
            }
            let before = self.restarted.fetch_add(1, Ordering::Relaxed);
            if before >= self.handling.restarts {
                let limit = self.handling.restarts;
                return Err(format!("{reason}, after {limit} restarts (external.restarts)"));
            }
            let (agent, limit) = (&self.spec.name, self.handling.restarts);
            eprintln!("[{agent}] {reason}; restart {} of {limit}", before + 1);
        }
    }

    /// One question, one answer.
    fn exchange(
        &self,
        running: &mut Running,
        points: Points<'_>,
        out: &mut [f64],
    ) -> Result<(), Trouble> {
        running.asked += 1;
        let rows: Vec<&[f64]> = points.iter().collect();
        let question = json!({ "id": running.asked, "points": rows }).to_string();
        let line = running.answer(question, self.handling.timeout)?;
        self.parse(&line, running.asked, points.count(), out).map_err(Trouble::Wrong)
    }

    fn parse(&self, line: &str, id: u64, count: usize, out: &mut [f64]) -> Result<(), String> {
        let shown = dzoa_table::shown(line.trim());
        let answer: Value = serde_json::from_str(line).map_err(|_| {
            format!("its program's answer is not JSON (NaN is not: send null): {shown}")
        })?;
        if let Some(error) = answer.get("error") {
            return Err(format!(
                "its program says: {}",
                error.as_str().unwrap_or(&error.to_string())
            ));
        }
        if let Some(other) = answer.get("id").filter(|other| other.as_u64() != Some(id)) {
            return Err(format!("its program answered question {other}, asked was {id}"));
        }
        let values = answer
            .get("values")
            .and_then(Value::as_array)
            .ok_or_else(|| format!("its program's answer has no array `values`: {shown}"))?;
        if values.len() != count {
            return Err(format!("its program gave {} values for {count} points", values.len()));
        }
        let width = self.samples.unwrap_or(1);
        for (value, out) in values.iter().zip(out.chunks_exact_mut(width)) {
            match (self.samples, value.as_array()) {
                (None, None) => out[0] = number(value)?,
                (Some(samples), Some(list)) if list.len() == samples => {
                    for (value, out) in list.iter().zip(out) {
                        *out = number(value)?;
                    }
                }
                (Some(samples), Some(list)) => {
                    let got = list.len();
                    return Err(format!("its program gave {got} values for {samples} samples"));
                }
                (Some(_), None) => {
                    return Err("its program gave one value, not one per sample".into());
                }
                (None, Some(_)) => {
                    return Err("its program gave a list where one value is due".into());
                }
            }
        }
        Ok(())
    }
}

/// A number; `null` stands for one that is not finite.
fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Null => Ok(f64::NAN),
        Value::Number(number) => Ok(number.as_f64().unwrap_or(f64::NAN)),
        other => Err(format!("its program gave {other} where a number is due")),
    }
}

impl Oracle for Program {
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
        let wrong = |message: String| OracleError { point: None, message };
        let width = self.samples.unwrap_or(1);
        let share = points.count().div_ceil(self.workers.len()).max(1);
        if share >= points.count() {
            return self.ask_worker(0, points, out).map_err(wrong);
        }
        let parts = points.values.chunks(share * points.dim).zip(out.chunks_mut(share * width));
        let answers: Vec<Result<(), String>> = std::thread::scope(|scope| {
            let asked: Vec<_> = parts
                .enumerate()
                .map(|(worker, (values, out))| {
                    let points = Points { dim: points.dim, values };
                    scope.spawn(move || self.ask_worker(worker, points, out))
                })
                .collect();
            let joined = asked.into_iter().map(|thread| thread.join());
            joined
                .map(|answer| answer.unwrap_or_else(|_| Err("a worker panicked".into())))
                .collect()
        });
        for (worker, answer) in answers.into_iter().enumerate() {
            let point = Some(worker * share);
            answer.map_err(|message| OracleError { point, message })?;
        }
        Ok(())
    }
}

/// One process, with a thread for each of its three streams: a program that reads nothing, writes
/// nothing or writes too much must not hold up the run.
struct Running {
    child: Child,
    questions: Option<Sender<String>>,
    answers: Receiver<String>,
    asked: u64,
}

impl Running {
    fn start(program: &Program, worker: usize) -> Result<Self, Trouble> {
        let ProgramSpec { name, command, .. } = &program.spec;
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(if program.root.as_os_str().is_empty() {
                ".".as_ref()
            } else {
                &*program.root
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Trouble::Wrong(format!("its program `{}` cannot be started: {error}", command[0]))
            })?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Trouble::Wrong("its program has no standard streams".into()));
        };
        let (questions, asked) = channel::<String>();
        std::thread::spawn(move || {
            for question in asked {
                let sent = stdin.write_all(question.as_bytes());
                if sent.and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush()).is_err()
                {
                    break;
                }
            }
        });
        let (answered, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if answered.send(line).is_err() {
                    break;
                }
            }
        });
        let agent = name.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                eprintln!("[{agent}] {}", String::from_utf8_lossy(&line));
            }
        });
        let hello = json!({
            "dzoa": 1, "agent": name, "worker": worker, "features": program.features,
            "samples": program.samples,
        });
        // A program that is gone already is found out by its first question.
        let _ = questions.send(hello.to_string());
        Ok(Self { child, questions: Some(questions), answers, asked: 0 })
    }

    fn answer(&mut self, question: String, timeout: Duration) -> Result<String, Trouble> {
        if let Some(questions) = &self.questions {
            let _ = questions.send(question);
        }
        let started = Instant::now();
        loop {
            let left = timeout.saturating_sub(started.elapsed());
            match self.answers.recv_timeout(left.min(LISTEN)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended =
                        self.child.wait().map_or("ended".into(), |status| status.to_string());
                    return Err(Trouble::Gone(format!(
                        "its program ended without an answer ({ended})"
                    )));
                }
                Err(RecvTimeoutError::Timeout) if interrupt::asked() => {
                    return Err(Trouble::Gone("stopped by Ctrl-C".into()));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let _ = self.child.kill();
                    let seconds = timeout.as_secs_f64();
                    return Err(Trouble::Gone(format!(
                        "its program gave no answer within {seconds} s (external.timeout)"
                    )));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for Running {
    /// Closes its input, which asks it to end, and ends it if it does not.
    fn drop(&mut self) {
        self.questions = None;
        let started = Instant::now();
        while started.elapsed() < FAREWELL {
            match self.child.try_wait() {
                Ok(Some(_)) => return,
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
