//! Real processes: `dzoa` beside this program, watched through /proc.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a launch may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(240);
/// After this long an agent whose neighbours are not there has done all it can.
const SETTLED: Duration = Duration::from_secs(4);

/// What many processes took.
pub struct Measured {
    /// From the start of the launch to its report.
    pub seconds: f64,
    /// From the slowest agent's first link to its last round and farewell.
    pub running: f64,
    /// The largest resident memory of one agent, in MB.
    pub largest: f64,
    /// That of all of them at one time.
    pub together: f64,
}

/// The `dzoa` program of the same build.
pub fn program() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = here.parent().and_then(Path::parent).map(|dir| dir.join("dzoa"));
    beside
        .filter(|path| path.exists())
        .ok_or("there is no `dzoa` beside the examples: build with --bins".into())
}

/// What the processes run.
#[derive(Clone, Copy)]
pub enum Content {
    /// One step a round, nothing protected.
    Exchange,
    /// The mechanism `output`, solved exactly.
    Output,
    /// Joint sums of gradients, against all others together or against some.
    Sums(Option<usize>),
}

impl Content {
    fn sections(self, rounds: u64) -> String {
        let budget = "total_epsilon = 8.0\ndelta = 1e-5\n";
        match self {
            Self::Exchange => format!(
                "[problem]\nloss = \"squared\"\nregularizer = \"none\"\n\
                 [algorithm]\nrho = 1.0\nrounds = {rounds}\ninner_steps = 1\ndirections = 1\n\
                 [privacy]\nmechanism = \"none\"\n"
            ),
            Self::Output => format!(
                "[problem]\nloss = \"logistic\"\neta = 0.1\n\
                 [algorithm]\nname = \"admm\"\nrho = 1.0\nrounds = {rounds}\n\
                 [privacy]\nmechanism = \"output\"\n{budget}"
            ),
            Self::Sums(colluders) => {
                let colluders = colluders.map_or("\"all\"".into(), |t| t.to_string());
                format!(
                    "[problem]\nloss = \"logistic\"\neta = 0.1\n\
                     [algorithm]\nname = \"joint-gradient\"\nrounds = {rounds}\n\
                     [privacy]\nmechanism = \"joint\"\ncolluders = {colluders}\n{budget}"
                )
            }
        }
    }
}

/// Agents in a ring with chords, four neighbours each.
fn network(agents: usize, rounds: u64, content: Content) -> String {
    let mut text = format!(
        "name = \"many\"\n{}[data]\n\
         synthetic = {{ agents = {agents}, samples = 20, features = 10 }}\n\
         [run]\nseed = 1\n[network]\nagents = [\n",
        content.sections(rounds)
    );
    for k in 0..agents {
        let _ = writeln!(text, "  {{ name = \"a{k}\", address = \"127.0.0.1:0\" }},");
    }
    text.push_str("]\nedges = [\n");
    for k in 0..agents {
        let (next, far) = ((k + 1) % agents, (k + if agents > 14 { 7 } else { 2 }) % agents);
        let _ = writeln!(text, "  [\"a{k}\", \"a{next}\"], [\"a{k}\", \"a{far}\"],");
    }
    text + "]\n"
}

/// Runs agents as processes of their own, from certificates to report.
pub fn measured(agents: usize, rounds: u64, content: Content) -> Result<Measured, String> {
    let program = program()?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = dir.path().join("network.toml");
    std::fs::write(&file, network(agents, rounds, content)).map_err(|error| error.to_string())?;
    let said = dir.path().join("said");
    let begun = Instant::now();
    let mut launch = Command::new(program)
        .arg("launch")
        .arg("--network")
        .arg(&file)
        .arg("--out")
        .arg(dir.path().join("out"))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let (mut largest, mut together) = (0.0_f64, 0.0_f64);
    let status = loop {
        let each: Vec<f64> = children(launch.id()).into_iter().filter_map(resident).collect();
        largest = each.iter().copied().fold(largest, f64::max);
        together = together.max(each.iter().sum());
        match launch.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(200));
            }
            _ => {
                end(&mut launch);
                return Err(format!("not done after {} s", PATIENCE.as_secs()));
            }
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    if !status.success() {
        let said = std::fs::read_to_string(said).unwrap_or_default();
        return Err(said.lines().find(|line| line.contains("error")).unwrap_or("failed").into());
    }
    let summary = std::fs::read_to_string(dir.path().join("out/summary.json"));
    let summary = summary.ok().and_then(|text| serde_json::from_str(&text).ok());
    let running = summary.and_then(|summary: serde_json::Value| summary["seconds"].as_f64());
    Ok(Measured { seconds, running: running.unwrap_or(f64::NAN), largest, together })
}

/// Rounds a second, from two runs of different lengths: what comes before and after them drops out.
pub fn rate(agents: usize, rounds: (u64, u64), content: Content) -> Result<f64, String> {
    let few = measured(agents, rounds.0, content)?.running;
    let many = measured(agents, rounds.1, content)?.running;
    Ok((rounds.1 - rounds.0) as f64 / (many - few))
}

/// Resident memory of an agent that waits for its neighbours, in MB.
pub fn idle() -> Result<f64, String> {
    let program = program()?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = dir.path().join("network.toml");
    let port = dzoa_node::transport::free_port("127.0.0.1");
    let port = port.and_then(|socket| socket.local_addr()).map_err(|error| error.to_string())?;
    let text = network(15, 10, Content::Exchange).replacen("127.0.0.1:0", &port.to_string(), 1);
    // Nobody is at the discard port.
    std::fs::write(&file, text.replace("127.0.0.1:0", "127.0.0.1:9"))
        .map_err(|error| error.to_string())?;
    let at = |name: &str| dir.path().join(name);
    let certs = Command::new(&program)
        .arg("certs")
        .arg("--network")
        .arg(&file)
        .arg("--out")
        .arg(at("certs"))
        .output()
        .map_err(|error| error.to_string())?;
    if !certs.status.success() {
        return Err(String::from_utf8_lossy(&certs.stderr).lines().next().unwrap_or("").into());
    }
    let mut agent = Command::new(program)
        .args(["agent", "--name", "a0", "--network"])
        .arg(&file)
        .arg("--state")
        .arg(at("state"))
        .arg("--certs")
        .arg(at("certs"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    std::thread::sleep(SETTLED);
    let memory = resident(agent.id());
    end(&mut agent);
    memory.ok_or("the agent ended by itself".into())
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn children(of: u32) -> Vec<u32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    listed.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Resident memory of a process in MB.
fn resident(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
