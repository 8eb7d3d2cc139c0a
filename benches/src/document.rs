//! docs/performance.md from measured sections.

use serde_json::Value;
use std::fmt::Write as _;

/// The document, from the results by section and numpy's seconds for one trial (per sample, Gram
/// form, that with directions in single precision).
pub fn document(results: &[(String, Value)], level: &str, numpy: [f64; 3]) -> String {
    let mut text = format!(
        "# Performance\n\nMade by `cargo xtask bench` on one machine of two cores, at the level \
         {level}. Every figure is the least of several \
         repetitions, and what counts are the ratios of times from one run. The floor is what \
         three kernels take alone, on the same shapes, timed in turns with \
         what stands above it and for as long at a time: \
         filling the block of directions with normals, the products of the rows (or of the Gram \
         matrix) with them, and one pass that adds up the \
         loss differences ([benches/src/floor.rs](../benches/src/floor.rs)). \
         [build-time.md](build-time.md) has what a build from nothing takes, and \
         [large-data.md](large-data.md) what 20,000 to 10 million rows take, beside scikit-learn.\n"
    );
    for (section, result) in results {
        match section.as_str() {
            "paper" => paper(&mut text, result, numpy, level),
            "shapes" => shapes(&mut text, result),
            "sparse" => sparse(&mut text, result),
            "threads" => threads(&mut text, result),
            "scaling" => scaling(&mut text, result),
            "memory" => memory(&mut text, result),
            "normals" => normals(&mut text, result),
            "others" => others(&mut text, result),
            _ => {}
        }
    }
    text
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Says where a number is beyond the limit that this project holds itself to.
fn verdict(holds: bool) -> &'static str {
    if holds { "" } else { " (**beyond the limit**)" }
}

fn paper(text: &mut String, result: &Value, numpy: [f64; 3], level: &str) {
    let seconds = number(&result["seconds"]);
    let ratio = seconds / number(&result["floor"]);
    let [samples, gram, single] = numpy;
    let fastest = numpy.into_iter().fold(f64::INFINITY, f64::min);
    let _ = write!(
        text,
        "\n## One trial of the paper's example, one core\n\n| | seconds | over dzoa |\n| --- | \
         ---: | ---: |\n\
         | dzoa | {seconds:.3} | 1 |\n| floor | {:.3} | {:.2} |\n| of it normals ({:.2} ns each) \
         | {:.3} | |\n\
         | of it products | {:.3} | |\n| of it differences | {:.3} | |\n| numpy, per sample | \
         {samples:.3} | {:.1} |\n\
         | numpy, Gram form | {gram:.3} | {:.1} |\n| numpy, Gram form, directions in single \
         precision | {single:.3} | {:.1} |\n\n\
         dzoa takes {ratio:.2} times the floor{} and is {:.1} times faster than \
         the fastest numpy{}. The numpy peer \
         ([benches/peers/dzoa_numpy.py](../benches/peers/dzoa_numpy.py)) computes what depends on \
         the directions alone for many steps at once.\n",
        number(&result["floor"]),
        1.0 / ratio,
        number(&result["nanoseconds_a_normal"]),
        number(&result["normals"]),
        number(&result["products"]),
        number(&result["differences"]),
        samples / seconds,
        gram / seconds,
        single / seconds,
        verdict(ratio <= 1.5),
        fastest / seconds,
        verdict(fastest >= 10.0 * seconds),
    );
    if level == "Avx512" {
        let (seconds, floor) = (number(&result["avx2_seconds"]), number(&result["avx2_floor"]));
        let _ = writeln!(
            text,
            "\nHeld to AVX2 (`DZOA_KERNELS=avx2`), in turns with the above: {seconds:.3} seconds, \
             {:.2} times the floor at that level, {:.1} times \
             faster than the fastest numpy, which chooses its instructions itself.",
            seconds / floor,
            fastest / seconds
        );
    }
}

fn shapes(text: &mut String, result: &Value) {
    text.push_str(
        "\n## Larger shapes\n\nOne inner step of one agent, J = 30, one core, as the mean of an \
         inner loop with T = 100; the limit is 1.4 times the floor.\n\n\
         | loss | N_k | P | microseconds | floor | ratio | |\n| --- | ---: | ---: | ---: | ---: | \
         ---: | --- |\n",
    );
    for row in result.as_array().into_iter().flatten() {
        let (step, floor) = (number(&row["step"]), number(&row["floor"]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.1} | {:.1} | {:.2} | {} |",
            row["loss"].as_str().unwrap_or_default(),
            row["samples"],
            row["features"],
            step * 1e6,
            floor * 1e6,
            step / floor,
            verdict(step <= 1.4 * floor)
        );
    }
}

fn sparse(text: &mut String, result: &Value) {
    let (step, floor) = (number(&result["step"]), number(&result["floor"]));
    let dense = number(&result["dense_step"]);
    let _ = write!(
        text,
        "\n## a9a, sparse\n\nA fifth of its rows ({} rows, {} columns, {} entries), logistic: one \
         inner step (the mean of an inner loop with T = 100) \
         {:.0} microseconds, {:.2} times the floor with a sparse product{}, {:.1} \
         times faster than the dense path, \
         {:.0}{}. Over the first four steps alone, whose shifts are the longest and \
         the most work, {:.1} times.\n\nOf the floor, the products take {:.0} microseconds; {:.0} \
         if no sum is shared between rows, and {:.0} \
         dense. The loss differences take {:.0}, the same in both paths.\n",
        result["rows"],
        result["features"],
        result["stored"],
        step * 1e6,
        step / floor,
        verdict(step <= 1.5 * floor),
        dense / step,
        dense * 1e6,
        verdict(dense >= 5.0 * step),
        number(&result["first_steps"][1]) / number(&result["first_steps"][0]),
        number(&result["products"]) * 1e6,
        number(&result["plain_products"]) * 1e6,
        number(&result["dense_products"]) * 1e6,
        number(&result["differences"]) * 1e6,
    );
}

fn threads(text: &mut String, result: &Value) {
    let gain = |name: &str| number(&result[name][0]) / number(&result[name][1]);
    let _ = write!(
        text,
        "\n## Two threads\n\nOne trial with eight agents: {:.2} times as fast as on one thread \
        {}. Two trials of the paper's \
         example: {:.2} times{}.\n",
        gain("trial"),
        verdict(gain("trial") >= 1.8),
        gain("trials"),
        verdict(gain("trials") >= 1.8)
    );
}

fn scaling(text: &mut String, result: &Value) {
    text.push_str(
        "\n## Growth\n\nSeconds of a whole run (hinge) along one axis at a time, and the exponent \
         of a line through their logarithms; the limit is \
         1.05.\n\n| axis | sizes | seconds | exponent | |\n| --- | --- | --- | ---: | --- |\n",
    );
    for row in result.as_array().into_iter().flatten() {
        let list = |name: &str, digits: usize| {
            let values = row[name].as_array().cloned().unwrap_or_default();
            let shown: Vec<String> =
                values.iter().map(|value| format!("{:.digits$}", number(value))).collect();
            shown.join(", ")
        };
        let exponent = number(&row["exponent"]);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {exponent:.3} | {} |",
            row["axis"].as_str().unwrap_or_default(),
            list("sizes", 0),
            list("seconds", 4),
            verdict(exponent <= 1.05)
        );
    }
    text.push_str("\n![Cost along each axis](scaling.svg)\n");
}

fn memory(text: &mut String, result: &Value) {
    let megabytes = number(&result["peak_kilobytes"]) / 1024.0;
    let _ = write!(
        text,
        "\n## Memory\n\n{} agents with 20 rows of 100 columns: {megabytes:.0} MB at the peak of \
         the whole process{}.\n",
        result["agents"],
        verdict(megabytes < 1024.0)
    );
}

fn normals(text: &mut String, result: &Value) {
    let _ = write!(
        text,
        "\n## The directions\n\n{} draws; deviations in standard errors (Kolmogorov and Smirnov: \
         the scaled distance, above 1.95 once in a \
         thousand).\n\n| check | deviation |\n| --- | ---: |\n",
        result["draws"]
    );
    for (name, deviation) in result["deviations"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "| {name} | {:.2} |", number(deviation));
    }
}

/// What benches/others/measure.py measured.
fn others(text: &mut String, result: &Value) {
    text.push_str(
        "\n## Beside decent-bench and nevergrad\n\nBy \
         [benches/others/measure.py](../benches/others/measure.py), each side on one core, each \
         with the best \
         of the settings that are declared there.\n",
    );
    hundred_agents(text, &result["hundred"]);
    breast_cancer(text, &result["cancer"]);
}

fn hundred_agents(text: &mut String, result: &Value) {
    text.push_str(
        "\nConsensus ADMM, 100 agents with 20 rows of 10 columns, L1 logistic, a small-world \
         graph, 100 rounds. decent-bench's ADMM lacks the \
         proximal operator of this cost: the script gives it one (accelerated proximal gradient \
         in numpy, its own solver's limits).\n\n",
    );
    let runs = |name: &str| result[name].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (runs("dzoa"), runs("decent-bench"));
    let by = |key: &'static str| {
        move |a: &&Value, b: &&Value| number(&a[key]).total_cmp(&number(&b[key]))
    };
    let Some(their) = theirs.iter().min_by(by("objective")) else {
        let _ = writeln!(
            text,
            "decent-bench: {}.",
            result["decent-bench"].as_str().unwrap_or("not measured")
        );
        return;
    };
    let objective = number(&their["objective"]);
    let as_good = ours.iter().filter(|run| number(&run["objective"]) <= objective);
    let _ = writeln!(
        text,
        "| | objective, the worst agent's | seconds | times |\n| --- | ---: | ---: | ---: |"
    );
    let seconds = number(&their["seconds"]);
    let _ = writeln!(
        text,
        "| decent-bench, where its objective is least | {objective:.6} | {seconds:.2} | 1 |"
    );
    match as_good.min_by(by("seconds")) {
        None => text.push_str("| dzoa | never as low | | **beyond the limit** |\n"),
        Some(our) => {
            let gain = seconds / number(&our["seconds"]);
            let _ = writeln!(
                text,
                "| dzoa, the fastest that is as low | {:.6} | {:.3} | {gain:.0}{} |",
                number(&our["objective"]),
                number(&our["seconds"]),
                verdict(gain >= 50.0)
            );
        }
    }
}

fn breast_cancer(text: &mut String, result: &Value) {
    text.push_str(
        "\nValues until every agent's objective is at most 1e-3 above the optimum: breast cancer, \
         L2 logistic, 5 agents on the paper's graph. A value \
         of dzoa's is one of an agent's fifth of the rows; nevergrad's CMA, in one place, sees \
         the whole sum.\n\n\
         | | rounds | values | seconds |\n| --- | ---: | ---: | ---: |\n",
    );
    for (name, label) in [
        ("cold", "d-zoa as in the paper: T = 100, J = 30, from zero in every round"),
        ("warm", "with a warm start"),
        ("options", "with a warm start, antithetic and orthogonal directions"),
    ] {
        let run = &result[name];
        let _ = match run.is_null() {
            true => writeln!(text, "| {label} | not within 400 | | |"),
            false => writeln!(
                text,
                "| {label} ({}) | {} | {} | {:.3} |",
                settings(run),
                run["rounds"],
                run["calls"],
                number(&run["seconds"])
            ),
        };
    }
    let peer = &result["nevergrad"];
    if let Some(why) = peer.as_str() {
        let _ = writeln!(text, "| nevergrad's CMA | {why} | | |");
        return;
    }
    let _ = writeln!(
        text,
        "| nevergrad's CMA, median of 3 | | {} | {:.3} |",
        peer["calls"],
        number(&peer["seconds"])
    );
    let few = number(&result["options"]["calls"]);
    let faster = number(&peer["seconds"]) / number(&result["options"]["seconds"]);
    let share = few / number(&result["cold"]["calls"]);
    let _ = writeln!(
        text,
        "\nWith the options d-zoa needs {:.3} of the paper's values{} and is \
         {faster:.0} times faster than CMA{}. CMA needs \
         far fewer values, {:.0} times fewer by rows looked at: where a value is what costs, and \
         one place may see all of them, it is the better choice.",
        share,
        verdict(share < 0.2),
        verdict(faster >= 20.0),
        few / 5.0 / number(&peer["calls"]),
    );
}

/// Without the words that all have in common.
fn settings(run: &Value) -> String {
    let sets = run["sets"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let short: Vec<&str> = sets
        .filter(|set| !set.contains("warm_start"))
        .map(|set| set.trim_start_matches("algorithm."))
        .filter(|set| !set.starts_with("options") || set.contains("tolerance"))
        .collect();
    short.join(", ")
}
