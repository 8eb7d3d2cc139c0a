//! What the network costs, in one run: rounds a second of real agents against a bare Zenoh
//! exchange, fifty processes on one machine, and the same work in Flower and disropt where they are
//! installed. Prints the tables of docs/network-performance.md.
//!
//!     cargo build --release --workspace --bins --examples && target/release/examples/rounds_per_second
//!
//! `bare P` or `agents P` runs one side alone, for a profiler; `sums` joint sums beside `output`.

mod exchange;
mod peers;
mod processes;

use exchange::{Work, rate};
use processes::Content;

/// Coefficients, rounds, and how often both sides are run.
const EXCHANGES: [(usize, u64, usize); 2] = [(10, 1000, 15), (10_000, 300, 15)];
/// Processes, and their rounds.
const PROCESSES: (usize, u64) = (50, 200);
/// Processes, how many may collude, the lengths of two runs, and how often each is run.
const SUMS: [(usize, usize, (u64, u64), usize); 2] = [(5, 2, (50, 550), 3), (50, 5, (10, 40), 1)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let features = || arguments.get(1).and_then(|given| given.parse().ok()).unwrap_or(10);
    match arguments.first().map(String::as_str) {
        Some("bare") => println!("{:.0} rounds/s", rate(300, features(), Work::Bare)),
        Some("agents") => println!("{:.0} rounds/s", rate(300, features(), Work::Agents)),
        Some("sums") => sums(),
        _ => {
            let agents = exchanges();
            processes();
            sums();
            others(agents);
        }
    }
}

/// Five agents that compute almost nothing (T = 1), against a bare exchange of the same vectors on
/// the same graph with one durable write a round; both over QUIC with mutual TLS on loopback.
/// Returns the agents' rate with the fewest coefficients.
fn exchanges() -> f64 {
    println!(
        "| coefficients | bare exchange, rounds/s | agents, rounds/s | ratio | ratio of the best |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: |");
    let mut first = None;
    for (features, rounds, repetitions) in EXCHANGES {
        // Alternating, and the median: a busy moment of the host then hits neither alone.
        let pairs = (0..repetitions)
            .map(|_| (rate(rounds, features, Work::Bare), rate(rounds, features, Work::Agents)));
        let (bare, agents): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let of_best = best(&agents) / best(&bare);
        let (bare, agents) = (median(bare), median(agents));
        let ratio = agents / bare;
        println!("| {features} | {bare:.0} | {agents:.0} | {ratio:.2} | {of_best:.2} |");
        first.get_or_insert(agents);
    }
    first.unwrap_or_default()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn processes() {
    let (agents, rounds) = PROCESSES;
    println!("\n| processes of `dzoa` | |");
    println!("| --- | ---: |");
    match processes::measured(agents, rounds, Content::Exchange) {
        Err(why) => println!("| {agents} agents, {rounds} rounds | {why} |"),
        Ok(measured) => {
            println!(
                "| {agents} agents, {rounds} rounds: certificates to report | {:.1} s |",
                measured.seconds
            );
            println!("| the slowest agent's own time | {:.1} s |", measured.running);
            println!("| most memory of one agent | {:.0} MB |", measured.largest);
            println!("| most memory of all at one time | {:.0} MB |", measured.together);
        }
    }
    match processes::idle() {
        Err(why) => println!("| an agent that waits for its neighbours | {why} |"),
        Ok(memory) => println!("| an agent that waits for its neighbours | {memory:.0} MB |"),
    }
}

/// Sums a second beside the rounds a second of `output`, in alternation.
fn sums() {
    println!("\n| processes | what | rounds or sums a second | to `output` |");
    println!("| ---: | --- | ---: | ---: |");
    for (agents, colluders, rounds, repetitions) in SUMS {
        let contents = [
            ("`output`, rounds".into(), Content::Output),
            ("joint sums, `colluders = \"all\"`".into(), Content::Sums(None)),
            (format!("joint sums, `colluders = {colluders}`"), Content::Sums(Some(colluders))),
        ];
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..repetitions {
            for (rates, (what, content)) in rates.iter_mut().zip(&contents) {
                match processes::rate(agents, rounds, *content) {
                    Ok(rate) => rates.push(rate),
                    Err(why) => println!("| {agents} | {what} | {why} | |"),
                }
            }
        }
        if rates.iter().any(Vec::is_empty) {
            continue;
        }
        let medians = rates.map(median);
        for ((what, _), rate) in contents.iter().zip(medians) {
            println!("| {agents} | {what} | {rate:.1} | {:.2} |", rate / medians[0]);
        }
    }
}

/// Five nodes with ten coefficients: communication only, and consensus ADMM with its local problems
/// solved.
fn others(exchange: f64) {
    let admm = median((0..5).map(|_| rate(1000, 10, Work::Admm)).collect());
    println!("\n| work | program | rounds/s | dzoa's agents to it |");
    println!("| --- | --- | ---: | ---: |");
    let parts = [
        (
            "an exchange, nothing computed",
            exchange,
            vec![
                ("Flower's simulation: 5 clients, a server, no disk, no TLS", peers::flower()),
                (
                    "disropt over MPI: the same graph, no disk, no TLS",
                    peers::disropt("disropt_rounds.py"),
                ),
            ],
        ),
        (
            "consensus ADMM, 20 rows of least squares each",
            admm,
            vec![(
                "disropt's ADMM over MPI: the same graph, no disk, no TLS",
                peers::disropt("disropt_admm.py"),
            )],
        ),
    ];
    for (work, agents, others) in parts {
        println!("| {work} | dzoa: 5 agents, journal, ledger, mutual TLS | {agents:.0} | 1 |");
        for (program, rate) in others {
            match rate {
                Ok(rate) => println!("| | {program} | {rate:.1} | {:.1} |", agents / rate),
                Err(why) => println!("| | {program} | {why} | |"),
            }
        }
    }
}
