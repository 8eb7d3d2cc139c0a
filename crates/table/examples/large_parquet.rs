//! Ten million rows of Parquet, from the file to a private model: a table of docs/large-data.md.
//! `cargo run --release -p dzoa-table --example large_parquet -- PROGRAM [ROWS]`
//!
//! Writes ROWS rows (10,000,000) of 20 columns in [-1, 1] and labels of a logistic model, runs
//! PROGRAM on them (five agents, joint-gradient, total epsilon 1, loading included), and prints
//! seconds and the largest memory that the program held.

use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const COLUMNS: usize = 20;
const GROUP: usize = 250_000;

/// Columns and labels of one group of rows.
fn drawn(rng: &mut StdRng, weights: &[f64], count: usize) -> (Vec<Vec<f64>>, Vec<i64>) {
    let column = |rng: &mut StdRng| (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
    let columns: Vec<Vec<f64>> = weights.iter().map(|_| column(rng)).collect();
    let score = |row: usize| -> f64 {
        columns.iter().zip(weights).map(|(column, weight)| column[row] * weight).sum()
    };
    let labels = (0..count)
        .map(|row| i64::from(rng.random::<f64>() < 1.0 / (1.0 + (-score(row)).exp())))
        .collect();
    (columns, labels)
}

fn write_rows(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let mut message = String::from("message rows {");
    for column in 0..COLUMNS {
        write!(message, " required double c{column};")?;
    }
    message.push_str(" required int64 label; }");
    let schema = Arc::new(parse_message_type(&message)?);
    let properties = Arc::new(WriterProperties::builder().set_dictionary_enabled(false).build());
    let mut file = SerializedFileWriter::new(File::create(path)?, schema, properties)?;
    let mut rng = StdRng::seed_from_u64(1);
    let weights: Vec<f64> = (0..COLUMNS).map(|_| rng.random_range(-2.0..2.0)).collect();
    let mut written = 0;
    while written < rows {
        let count = GROUP.min(rows - written);
        let (columns, labels) = drawn(&mut rng, &weights, count);
        let mut group = file.next_row_group()?;
        for values in &columns {
            let mut column = group.next_column()?.ok_or("a column is missing")?;
            column.typed::<DoubleType>().write_batch(values, None, None)?;
            column.close()?;
        }
        let mut column = group.next_column()?.ok_or("the label is missing")?;
        column.typed::<Int64Type>().write_batch(&labels, None, None)?;
        column.close()?;
        group.close()?;
        written += count;
    }
    file.close()?;
    Ok(())
}

fn config(file: &Path) -> String {
    let columns: Vec<String> = (0..COLUMNS)
        .map(|column| format!("{{ name = \"c{column}\", kind = \"numeric\", bound = 1.0 }}"))
        .collect();
    format!(
        "name = \"large\"\n\
         [problem]\nloss = \"logistic\"\nregularizer = \"l2\"\neta = 0.001\nscale = \"pooled\"\n\
         [data]\nfile = {:?}\npartition = \"contiguous\"\nagents = 5\n\
         [network]\ntopology = \"ring\"\n\
         [algorithm]\nname = \"joint-gradient\"\n\
         [privacy]\nmechanism = \"joint\"\ntotal_epsilon = 1.0\ndelta = 1e-8\n\
         [schema]\ncolumns = [{}]\n\
         target = {{ name = \"label\", positive = {{ equals = \"1\" }}, \
         negative = {{ equals = \"0\" }} }}\n",
        file.display(),
        columns.join(", ")
    )
}

/// The largest memory that a process held so far, in bytes, where the system says so.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("usage: large_parquet PROGRAM [ROWS]")?;
    let rows: usize = arguments.next().map_or(Ok(10_000_000), |rows| rows.parse())?;
    let dir = tempfile::tempdir()?;
    let (data, file) = (dir.path().join("rows.parquet"), dir.path().join("run.toml"));
    write_rows(&data, rows)?;
    std::fs::write(&file, config(&data))?;
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.arg("run").arg(&file).arg("--out").arg(dir.path().join("out"));
    let mut child = command.stdout(Stdio::inherit()).spawn()?;
    let mut memory = 0;
    let status = loop {
        memory = memory.max(peak(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let seconds = begun.elapsed().as_secs_f64();
    let binary = rows as f64 * (COLUMNS + 1) as f64 * 8.0;
    println!("| rows | file, GB | rows in binary, GB | most memory, GB | seconds |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    println!(
        "| {rows} | {:.2} | {:.2} | {:.2} | {seconds:.0} |",
        std::fs::metadata(&data)?.len() as f64 / 1e9,
        binary / 1e9,
        memory as f64 / 1e9
    );
    match status.success() {
        true => Ok(()),
        false => Err(format!("the program ended with {status}").into()),
    }
}
