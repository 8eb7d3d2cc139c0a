//! Agents killed with SIGKILL at random moments, old backups and second state directories: the same bits,
//! nothing released twice with other values, nothing charged twice.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::Agent;
use common::{dzoa, json};
use dzoa::joint::{Notice, Saying, SumPart};
use dzoa_node::wire::{Frame, Received};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Long enough for a slow machine; a hang ends here.
const LIMIT: Duration = Duration::from_secs(150);

fn start(dir: &Path, name: &str) -> Agent {
    let frames = format!("frames-{name}");
    agents::start(dir, name, &["--record-frames", &frames, "--log-format", "json"])
}

/// A small generator of its own: the schedule of kills is printed with the seed if a test fails.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// What is run, and how often it is hit.
struct Ordeal {
    rounds: usize,
    kills: usize,
    /// Every so many kills the agent is started with an old state or a second one first.
    impostor_every: Option<usize>,
    algorithm: &'static str,
}

const VECTORS: Ordeal = Ordeal {
    rounds: 1500,
    kills: 200,
    impostor_every: None,
    algorithm: r#"
rho = 0.1
rounds = 1500
inner_steps = 20
directions = 20
[privacy]
mechanism = "output""#,
};

const SUMS: Ordeal = Ordeal {
    rounds: 1200,
    kills: 200,
    impostor_every: Some(10),
    algorithm: r#"
name = "joint-gradient"
rounds = 1200
[privacy]
mechanism = "joint"
colluders = 2"#,
};

const RELEASES: Ordeal = Ordeal {
    rounds: 600,
    kills: 60,
    impostor_every: None,
    algorithm: r#"
name = "dp-gd"
rounds = 600
[privacy]
mechanism = "output""#,
};

fn network_file(algorithm: &str) -> String {
    format!(
        r#"
name = "kills"
[problem]
loss = "logistic"
eta = 0.1
[data]
synthetic = {{ agents = 5, samples = 400, features = 8 }}
[network]
topology = "paper"
{}
[algorithm]{algorithm}
total_epsilon = 8.0
delta = 1e-5
[run]
seed = 7
"#,
        agents::on_loopback(&NAMES)
    )
}

#[test]
fn two_hundred_kills_change_no_bit_and_charge_nothing_twice() {
    survive(&VECTORS);
}

#[test]
fn two_hundred_kills_old_backups_and_second_states_change_no_bit_of_joint_sums() {
    survive(&SUMS);
}

#[test]
fn sixty_kills_change_no_bit_of_releases_that_all_hear_and_charge_nothing_twice() {
    survive(&RELEASES);
}

fn survive(ordeal: &Ordeal) {
    let Ordeal { rounds, kills: most, impostor_every, algorithm } = *ordeal;
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    std::fs::write(dir.join("net.toml"), network_file(algorithm)).unwrap();
    let simulated = json(dir, &["run", "net.toml", "--out", "simulated", "--json"]);
    assert!(dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]).status.success());

    let begun = Instant::now();
    let mut dice = Dice(11);
    let mut agents: Vec<Option<Agent>> = NAMES.iter().map(|name| Some(start(dir, name))).collect();
    let mut restart = [begun; 5];
    let mut impostors = Impostors::default();
    let mut volley = Volley { left: 0, mark: 0, until: begun };
    let (mut hit, mut kills) = ([0; 5], 0);
    let mut done = [false; 5];
    while !done.iter().all(|done| *done) {
        if begun.elapsed() > LIMIT {
            let logs = NAMES.map(|name| last_lines(dir, name)).join("\n");
            panic!("not done after {LIMIT:?}: {kills} kills, {done:?}\n{logs}");
        }
        std::thread::sleep(Duration::from_millis(20 + dice.below(60)));
        impostors.watch(dir);
        for k in 0..5 {
            if let Some(agent) = &mut agents[k]
                && let Some(status) = agent.0.try_wait().unwrap()
            {
                let end = last_lines(dir, NAMES[k]);
                assert!(status.success(), "{} ended with {status}: {end}", NAMES[k]);
                (agents[k], done[k]) = (None, true);
            }
            let due = Instant::now() >= restart[k] && !impostors.plays(k);
            if agents[k].is_none() && !done[k] && due {
                agents[k] = Some(start(dir, NAMES[k]));
            }
        }
        if impostor_every.is_some() && !volley.goes_on(dir, &mut dice) {
            continue;
        }
        let k = dice.below(5) as usize;
        if kills < most && agents[k].is_some() && !done[k] && !impostors.plays(k) {
            // SIGKILL: it gets no chance to tidy up.
            agents[k] = None;
            restart[k] = Instant::now() + Duration::from_millis(dice.below(150));
            (kills, hit[k]) = (kills + 1, hit[k] + 1);
            if impostor_every.is_some_and(|every| kills % every == 0) {
                impostors.begin(dir, k, &mut dice);
            } else if impostor_every.is_some() && dice.below(6) == 0 {
                copy(dir, &format!("state-{}", NAMES[k]), &format!("backup-{}", NAMES[k]));
            }
        }
    }
    assert_eq!(kills, most, "the run was over before all kills: {hit:?}");
    assert!(hit.iter().all(|hits| *hits > most / 20), "{hit:?}");
    if impostor_every.is_some() {
        println!("{:?}", impostors.refused);
        assert!(impostors.refused.len() > 2, "{:?}", impostors.refused);
        assert!(impostors.refused.values().sum::<usize>() > 8, "{:?}", impostors.refused);
    }

    for (k, name) in NAMES.iter().enumerate() {
        let summary =
            std::fs::read_to_string(dir.join(format!("state-{name}/summary.json"))).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["coefficients"][0], simulated["coefficients"][k], "agent {name}");
        let ledger = format!("state-{name}/ledger.seeded-for-tests");
        let ledger = json(dir, &["ledger", "show", &ledger, "--json"]);
        assert_eq!(ledger["releases"], rounds);
        assert_eq!(
            summary["privacy"][0]["epsilon_charged"],
            simulated["privacy"][k]["epsilon_charged"]
        );
        let sent = only_one_vector_per_round(&dir.join(format!("frames-{name}")), k);
        assert_eq!(sent.range(..=rounds as u64).count(), rounds);
    }
}

fn last_lines(dir: &Path, name: &str) -> String {
    let log = std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap();
    log.lines().rev().take(5).collect::<Vec<_>>().join("\n")
}

/// Kills come together, and the next ones once all have said something since.
struct Volley {
    left: u64,
    mark: u64,
    until: Instant,
}

impl Volley {
    fn goes_on(&mut self, dir: &Path, dice: &mut Dice) -> bool {
        let journal = |name: &str| dir.join(format!("state-{name}")).join(JOURNAL);
        let size = |name: &&str| std::fs::metadata(journal(name)).map_or(0, |file| file.len());
        if self.left == 0 {
            let written = NAMES.iter().map(size).sum();
            if written < self.mark + 40_000 && Instant::now() < self.until {
                return false;
            }
            let until = Instant::now() + Duration::from_secs(2);
            (self.left, self.mark, self.until) = (3 + dice.below(3), written, until);
        }
        self.left -= 1;
        true
    }
}

const JOURNAL: &str = "journal";
const LEDGER: &str = "ledger.seeded-for-tests";

/// Copies the state of an agent that does not run.
fn copy(dir: &Path, from: &str, to: &str) {
    std::fs::create_dir_all(dir.join(to)).unwrap();
    for file in [JOURNAL, LEDGER] {
        // An agent that was killed early has no files.
        if dir.join(from).join(file).exists() {
            std::fs::copy(dir.join(from).join(file), dir.join(to).join(file)).unwrap();
        }
    }
}

/// Processes under an agent's name with an old state or a second one. None of them may say anything new.
#[derive(Default)]
struct Impostors {
    running: Vec<(usize, Agent, Instant, &'static str)>,
    /// Those that ended by themselves, by what they were.
    refused: BTreeMap<&'static str, usize>,
    begun: usize,
}

impl Impostors {
    fn plays(&self, k: usize) -> bool {
        self.running.iter().any(|(whose, ..)| *whose == k)
    }

    /// Starts one in place of an agent that was just killed.
    fn begin(&mut self, dir: &Path, k: usize, dice: &mut Dice) {
        let name = NAMES[k];
        let (state, backup) = (format!("state-{name}"), format!("backup-{name}"));
        let size = |which: &str| {
            std::fs::metadata(dir.join(which).join(JOURNAL)).map_or(0, |file| file.len())
        };
        // Before anybody has written down whose ledger it has met, there is nothing to compare with.
        if NAMES.iter().any(|name| size(&format!("state-{name}")) < 40_000) {
            return;
        }
        // Much older, or it is the newest state but for a round that is computed again.
        let old = size(&backup) > 0 && size(&state) > size(&backup) + 60_000;
        let which = if old { 1 + dice.below(3) } else { 0 };
        let what = ["second state", "old journal", "old ledger", "old journal and ledger"];
        let used = format!("impostor-{}", self.begun);
        self.begun += 1;
        if which > 0 {
            copy(dir, &state, &used);
            std::fs::copy(dir.join(&state).join("root.key"), dir.join(&used).join("root.key"))
                .unwrap();
            let files: &[&str] =
                [&[][..], &[JOURNAL], &[LEDGER], &[JOURNAL, LEDGER]][which as usize];
            for file in files {
                std::fs::copy(dir.join(&backup).join(file), dir.join(&used).join(file)).unwrap();
            }
        }
        let frames = format!("frames-{name}");
        let agent = agents::start_in(dir, name, &used, &["--record-frames", &frames]);
        let until = Instant::now() + Duration::from_millis(1200);
        self.running.push((k, agent, until, what[which as usize]));
    }

    /// Counts those that ended, and ends those that only wait.
    fn watch(&mut self, dir: &Path) {
        let refused = &mut self.refused;
        self.running.retain_mut(|(k, agent, until, what)| match agent.0.try_wait().unwrap() {
            Some(status) => {
                let log = std::fs::read_to_string(dir.join(format!("log-{}", NAMES[*k]))).unwrap();
                assert!(!status.success(), "{what}: {log}");
                *refused.entry(what).or_default() += 1;
                false
            }
            None => Instant::now() < *until,
        });
    }
}

/// Reads everything that an agent ever sent, over all its lives. Returns the rounds with a release.
fn only_one_vector_per_round(path: &Path, k: usize) -> BTreeSet<u64> {
    let mut known: BTreeMap<(usize, u64), Vec<u64>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (_, hex) = line.split_once(' ').unwrap_or_default();
        let bytes: Option<Vec<u8>> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok())
            .collect();
        // A kill may cut a line off; that frame was never sent.
        let Some(Ok(frame)) = bytes.map(|bytes| Frame::decode(&bytes, usize::MAX)) else {
            continue;
        };
        for (whose, round, values) in said(frame.body, k) {
            let kept = known.entry((whose, round)).or_insert_with(|| values.clone());
            assert_eq!(*kept, values, "{}: two vectors for round {round}", path.display());
        }
    }
    // The names are in the order of the alphabet: positions are the same everywhere.
    known.into_keys().filter(|(whose, _)| *whose == k).map(|(_, round)| round).collect()
}

/// Whose vectors of which rounds a frame of agent k holds.
fn said(body: Received, k: usize) -> Vec<(usize, u64, Vec<u64>)> {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    match body {
        Received::Vector { round, values } => vec![(k, round, bits(&values))],
        Received::Letters { letters, .. } => {
            let notices = letters.iter().map(|letter| letter.notice());
            // Stages 0 and 1 are the meeting. What others said is passed on, and is the same.
            let parts = notices.filter_map(|Notice { origin, stage, saying, .. }| match saying {
                Saying::Part(SumPart::Words(words)) => Some((origin, stage - 1, words.to_vec())),
                Saying::Part(SumPart::Plain(values)) => Some((origin, stage - 1, bits(&values))),
                _ => None,
            });
            parts.collect()
        }
        _ => Vec::new(),
    }
}
