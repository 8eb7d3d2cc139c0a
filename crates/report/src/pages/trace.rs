//! trace.csv, as the report needs it: one curve per agent and quantity.

use dzoa_table::{Error, Result, shown};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HINT: &str = "give the directory of a run as `dzoa run` wrote it";

/// Points (round, value), by round.
pub type Points = Vec<(f64, f64)>;

/// What was recorded: for every agent, in the order of the summary, its curve. Errors, gaps and
/// distances are means over the trials.
#[derive(Debug, Default)]
pub struct Trace {
    /// `||beta_k - beta^c||^2/||beta^c||^2`
    pub error: Vec<Points>,
    /// `f(beta_k) - f(beta^c)`
    pub objective_gap: Vec<Points>,
    /// `||beta_k - mean_l beta_l||`
    pub consensus: Vec<Points>,
    /// Privacy spent so far, the largest over the trials.
    pub epsilon_spent: Vec<Points>,
    /// The objective itself, where no optimum is known: black boxes.
    pub objective: Vec<Points>,
}

/// Sum, largest and count of what the trials recorded in one round.
type Cell = (f64, f64, f64);

impl Trace {
    /// Reads a file, record by record; `agents` are those of the summary.
    pub fn read(path: &Path, agents: &[String]) -> Result<Self> {
        let place = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            Error::input(format!("{place}: cannot be read: {error}")).hint(HINT)
        })?;
        Self::parse(BufReader::new(file), &place, agents)
    }

    /// Reads the text of one. `place` names it in errors.
    pub fn parse(text: impl Read, place: &str, agents: &[String]) -> Result<Self> {
        let wrong = |message: String| Error::input(format!("{place}: {message}")).hint(HINT);
        // The first line says who may see the file.
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text);
        let header = reader.headers().map_err(|error| wrong(csv_error(&error)))?.clone();
        let column = |name: &str| header.iter().position(|column| column == name);
        let needed = |name: &str| column(name).ok_or_else(|| wrong(format!("no column `{name}`")));
        let (round_at, agent_at) = (needed("round")?, needed("agent")?);
        let values =
            ["error", "objective_gap", "consensus", "epsilon_spent", "objective"].map(column);
        let position: HashMap<&str, usize> =
            agents.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect();
        let mut cells = vec![[const { BTreeMap::<u64, Cell>::new() }; 5]; agents.len()];
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| wrong(csv_error(&error)))? {
            let line = record.position().map_or(0, csv::Position::line);
            let field = |at: usize| record.get(at).unwrap_or_default();
            let round: u64 = field(round_at).parse().map_err(|_| {
                wrong(format!(
                    "line {line}: round {} is not a whole number",
                    shown(field(round_at))
                ))
            })?;
            let &agent = position.get(field(agent_at)).ok_or_else(|| {
                let name = shown(field(agent_at));
                wrong(format!("line {line}: agent {name} is not in summary.json"))
            })?;
            for (quantity, at) in values.iter().enumerate() {
                let text = at.map_or("", field);
                if text.is_empty() {
                    continue;
                }
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                let value = value.ok_or_else(|| {
                    wrong(format!("line {line}: {} is not a finite number", shown(text)))
                })?;
                let (sum, largest, count) =
                    cells[agent][quantity].entry(round).or_insert((0.0, f64::NEG_INFINITY, 0.0));
                (*sum, *largest, *count) = (*sum + value, largest.max(value), *count + 1.0);
            }
        }
        let curves = |quantity: usize, value: fn(&Cell) -> f64| -> Vec<Points> {
            let points = |cells: &BTreeMap<u64, Cell>| {
                cells.iter().map(|(round, cell)| (*round as f64, value(cell))).collect()
            };
            cells.iter().map(|agent| points(&agent[quantity])).collect()
        };
        let mean = |(sum, _, count): &Cell| sum / count;
        Ok(Self {
            error: curves(0, mean),
            objective_gap: curves(1, mean),
            consensus: curves(2, mean),
            epsilon_spent: curves(3, |(_, largest, _)| *largest),
            objective: curves(4, mean),
        })
    }
}

fn csv_error(error: &csv::Error) -> String {
    match error.position() {
        Some(position) => format!("line {}: not a table: {error}", position.line()),
        None => format!("not a table: {error}"),
    }
}

/// Smallest, mean and largest over the agents, in every round that one of them has.
pub fn over_agents(curves: &[Points]) -> [Points; 3] {
    let mut rounds: BTreeMap<u64, (f64, f64, f64, f64)> = BTreeMap::new();
    for &(round, value) in curves.iter().flatten() {
        let (low, sum, high, count) =
            rounds.entry(round as u64).or_insert((f64::INFINITY, 0.0, f64::NEG_INFINITY, 0.0));
        (*low, *sum, *high, *count) = (low.min(value), *sum + value, high.max(value), *count + 1.0);
    }
    let points = |value: fn(&(f64, f64, f64, f64)) -> f64| {
        rounds.iter().map(|(round, cell)| (*round as f64, value(cell))).collect()
    };
    [points(|cell| cell.0), points(|cell| cell.1 / cell.3), points(|cell| cell.2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Trace> {
        Trace::parse(text.as_bytes(), "trace.csv", &["a".into(), "b".into()])
    }

    #[test]
    fn curves_are_means_over_trials_and_spending_is_the_largest() {
        let text = "trial,round,agent,error,objective_gap,consensus,epsilon_spent\n\
                    1,1,a,2,,0,1\n1,2,a,4,,0,1.5\n2,1,a,4,,0,1\n2,2,a,8,,0,1.25\n1,1,b,1,,0,\n";
        let trace = parse(text).unwrap();
        assert_eq!(trace.error, [vec![(1.0, 3.0), (2.0, 6.0)], vec![(1.0, 1.0)]]);
        assert_eq!(trace.epsilon_spent, [vec![(1.0, 1.0), (2.0, 1.5)], vec![]]);
        assert!(trace.objective_gap.iter().all(Vec::is_empty));
        let [low, mean, high] = over_agents(&trace.error);
        assert_eq!((low[0], mean[0], high[0]), ((1.0, 1.0), (1.0, 2.0), (1.0, 3.0)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("round,error\n", "no column `agent`"),
            ("round,agent,error\n1,a,2\n1.5,a,2\n", "line 3: round `1.5` is not a whole number"),
            ("round,agent,error\n1,c,2\n", "line 2: agent `c` is not in summary.json"),
            ("round,agent,error\n1,a,inf\n", "line 2: `inf` is not a finite number"),
            ("round,agent,error\n1,a\n", "line 2: not a table"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.status(), 2);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::parse(bytes.as_slice(), "trace.csv", &["a".into()]);
            let text = [b"round,agent,error\n".as_slice(), &bytes].concat();
            let _ = Trace::parse(text.as_slice(), "trace.csv", &["a".into()]);
        }
    }
}
