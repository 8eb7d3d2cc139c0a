//! The report in a real browser: drawn, readable, silent on the network, harmless.

#[path = "common/chromium.rs"]
mod chromium;
mod common;
#[path = "common/private_run.rs"]
mod private_run;
#[path = "common/report_page.rs"]
mod report_page;

use chromium::{Chromium, Tab};
use common::dzoa;
use private_run::private_run;
use report_page::{MARKS, area, assert_no_sideways_scrolling, assert_silent, main_pixels};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

const HOSTILE: &str = "<script>document.title='owned'</script>";

const QUICK: [&str; 6] = [
    "--set",
    "algorithm.inner_steps=20",
    "--set",
    "algorithm.lipschitz=3",
    "--set",
    "algorithm.rounds=60",
];

/// Runs the program and returns its report.
fn run(dir: &Path, out: &str, args: &[&str]) -> PathBuf {
    let output = dzoa(dir, &[&["run", "--out", out][..], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    dir.join(out).join("report.html")
}

#[test]
fn every_chart_is_drawn_and_answers_to_the_mouse() {
    let Some(chromium) = Chromium::start("the report in a browser") else { return };
    let dir = tempdir().unwrap();
    let page = run(dir.path(), "o", &[&["--set", "run.trials=3"][..], &QUICK].concat());
    let mut tab = chromium.tab(1280, 900);
    tab.media("screen", "light");
    tab.open(&page);
    let marks = tab.eval(MARKS);
    let ids: Vec<&str> = marks.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(ids.len(), 5, "metric, error, gap, consensus, spent: {ids:?}");
    for id in ids {
        assert!(marks[id].as_f64().unwrap() > 5_000.0, "{marks}");
        // A line of 2.5 pixels across the plot: far more than a few stray pixels.
        assert!(main_pixels(&mut tab, id) > 200.0, "{id}: the main curve is not there");
        let [left, top, width, height] = area(&mut tab, id);
        tab.hover(left + 0.5 * width, top + 0.5 * height);
        let tip = tab.eval(&format!("document.querySelector('#{id} .tip').innerText"));
        let tip = tip.as_str().unwrap();
        assert!(tip.contains("round m = ") && tip.contains(": "), "{id}: {tip:?}");
        // The value is a number.
        let value =
            tab.eval(&format!("Number(document.querySelector('#{id} .tip b').textContent)"));
        assert!(value.as_f64().unwrap() > 0.0, "{id}: {value}");
    }
    assert!(tab.eval("document.querySelectorAll('.network circle').length") == 5);
    assert!(tab.eval("document.querySelectorAll('.coefficients .dot').length") == 10);
    assert_silent(&tab, &page);
}

#[test]
fn curves_hide_and_charts_zoom() {
    let Some(chromium) = Chromium::start("toggling and zooming") else { return };
    let dir = tempdir().unwrap();
    let page = run(dir.path(), "o", &QUICK);
    let mut tab = chromium.tab(1280, 900);
    tab.open(&page);
    let before = main_pixels(&mut tab, "error");
    tab.eval("document.querySelector('#error .legend button').click()");
    tab.settle();
    let hidden = main_pixels(&mut tab, "error");
    assert!(hidden < 0.2 * before, "{before} to {hidden}");
    tab.eval("document.querySelector('#error .legend button').click()");
    tab.settle();
    assert!(main_pixels(&mut tab, "error") > 0.9 * before);

    // Drag over the middle: the tools offer the way back, and the mouse at the left edge is no longer in round 1.
    let edge_round = |tab: &mut Tab, [left, top, _, height]: [f64; 4]| {
        tab.hover(left + 2.0, top + 0.5 * height);
        let tip = tab.eval("document.querySelector('#metric .tip').firstChild.textContent");
        tip.as_str().unwrap().replace("round m = ", "").parse::<f64>().unwrap()
    };
    let place = area(&mut tab, "metric");
    let [left, top, width, height] = place;
    assert_eq!(edge_round(&mut tab, place), 1.0);
    let y = top + 0.5 * height;
    tab.mouse("mouseMoved", left + 0.4 * width, y, "none");
    tab.mouse("mousePressed", left + 0.4 * width, y, "left");
    tab.mouse("mouseMoved", left + 0.6 * width, y, "left");
    tab.mouse("mouseReleased", left + 0.6 * width, y, "left");
    tab.settle();
    let round = edge_round(&mut tab, place);
    // 60 rounds: 40 % of the way is round 24 or 25.
    assert!((24.0..=26.0).contains(&round), "{round}");
    let back = "[...document.querySelectorAll('#metric .tool')].find(b => b.textContent === 'whole curve')";
    assert_eq!(tab.eval(&format!("{back}.hidden")), false);
    tab.eval(&format!("{back}.click()"));
    tab.settle();
    assert_eq!(edge_round(&mut tab, place), 1.0);
    // With keys: the value is read out.
    tab.eval("document.querySelector('#metric .plot').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))");
    let read = tab.eval("document.querySelector('#metric .readout').textContent");
    assert!(read.as_str().unwrap().contains("normalised error: "), "{read}");
    assert_silent(&tab, &page);
}

#[test]
fn phone_dark_and_paper_are_served() {
    let Some(chromium) = Chromium::start("phone, dark mode and paper") else { return };
    let dir = tempdir().unwrap();
    let page = run(dir.path(), "o", &QUICK);
    let mut tab = chromium.tab(390, 844);
    tab.media("screen", "light");
    tab.open(&page);
    assert_no_sideways_scrolling(&mut tab);
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = tab.eval(background);
    tab.media("screen", "dark");
    let dark = tab.eval(background);
    assert_ne!(light, dark);
    assert!(main_pixels(&mut tab, "error") > 100.0, "the curve follows the scheme");
    // Paper is light, in whatever mode the reader is.
    tab.media("print", "dark");
    tab.eval("dispatchEvent(new Event('beforeprint'))");
    tab.settle();
    assert_eq!(tab.eval(background), "rgb(255, 255, 255)");
    assert!(main_pixels(&mut tab, "error") > 100.0, "dark on white");
    tab.eval("dispatchEvent(new Event('afterprint'))");
    tab.media("screen", "light");
    let pdf = tab.pdf();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 30_000, "{} bytes", pdf.len());
    assert_no_sideways_scrolling(&mut tab);
    assert_silent(&tab, &page);
    // Every picture has words.
    let mute = "[...document.querySelectorAll('[role=img]')].filter(e => !(e.ariaLabel || '').trim()).length";
    assert_eq!(tab.eval(mute), 0);
}

#[test]
fn the_three_claims_cannot_be_confused() {
    let Some(chromium) = Chromium::start("the looks of the claims") else { return };
    let dir = tempdir().unwrap();
    let nominal = run(dir.path(), "nominal", &QUICK);
    let none = run(
        dir.path(),
        "none",
        &["--set", "privacy={mechanism=\"none\"}", "--set", "algorithm.rounds=9"],
    );
    // The seed of the paper's config would void the guarantee.
    std::fs::write(
        dir.path().join("exact.toml"),
        "name = 'exact'\n[problem]\nloss = 'logistic'\neta = 0.01\n\
         [data]\nsynthetic = { agents = 3, samples = 300, features = 4 }\n[network]\ntopology = 'path'\n\
         [algorithm]\nname = 'admm'\nrho = 'auto'\nrounds = 'auto'\n\
         [privacy]\nmechanism = 'output'\ntotal_epsilon = 2.0\ndelta = 1e-4\n",
    )
    .unwrap();
    let exact = run(dir.path(), "exact", &["exact.toml"]);
    let seeded = run(dir.path(), "seeded", &["exact.toml", "--set", "run.seed=1"]);
    let mut tab = chromium.tab(1280, 900);
    let mut looks = Vec::new();
    for (page, word, promises) in [
        (&nominal, "not a guarantee", false),
        (&none, "not protected", false),
        (&exact, "exact guarantee", true),
        (&seeded, "no guarantee", false),
    ] {
        tab.open(page);
        let text = tab.eval("document.querySelector('.claim').innerText");
        let text = text.as_str().unwrap();
        assert!(text.contains(word), "{text}");
        assert_eq!(text.contains("exact guarantee"), promises, "{text}");
        let look = tab.eval(
            "(() => { const claim = document.querySelector('.claim'), style = getComputedStyle(claim);
                return [style.borderTopStyle, style.borderTopColor, style.background, claim.querySelector('svg').innerHTML]; })()",
        );
        looks.push(look.as_array().unwrap().clone());
        assert_silent(&tab, page);
        // Above everything, on a phone as well: the page itself is not covered by the claim.
        for (width, height) in [(390, 844), (1280, 900)] {
            tab.resize(width, height);
            tab.settle();
            let holder = tab.eval("document.querySelector('header + .holder').innerText");
            let holder = holder.as_str().unwrap();
            assert!(holder.starts_with("For the holder of the rows: do not share."), "{holder}");
            assert_no_sideways_scrolling(&mut tab);
        }
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        for aspect in 0..4 {
            assert_ne!(
                looks[a][aspect], looks[b][aspect],
                "border, colour, ground and icon differ"
            );
        }
    }
    // A seeded run states no guarantee, and looks like none.
    assert_eq!(looks[1], looks[3]);
    // The exact run shows its budget.
    tab.open(&exact);
    let legend = tab.eval("document.querySelector('#spent .legend').innerText");
    assert!(legend.as_str().unwrap().contains("budget 2.000"), "{legend}");
}

#[test]
fn hostile_names_do_nothing() {
    let Some(chromium) = Chromium::start("hostile names") else { return };
    let dir = tempdir().unwrap();
    let config = serde_json::json!({
        "name": "hostile",
        "problem": { "loss": "squared", "eta": 0.1, "intercept": false },
        "data": { "agents": [{ "name": HOSTILE, "file": "a.csv" }, { "name": "<img src=x onerror=alert(1)>", "file": "a.csv" }] },
        "network": { "topology": "complete" },
        "algorithm": { "rho": 1.0, "rounds": 5 },
        "privacy": { "mechanism": "none" },
        "schema": {
            "columns": [{ "name": HOSTILE, "kind": "numeric", "bound": 1.0 }],
            "target": { "name": "y", "kind": "numeric", "bound": 1.0 },
        },
    });
    let toml = toml::to_string(&config).unwrap();
    std::fs::write(dir.path().join("run.toml"), toml).unwrap();
    let mut rows = format!("{HOSTILE},y\n");
    for i in 0..20 {
        writeln!(rows, "{},{}", f64::from(i) / 20.0, f64::from(i) / 40.0).unwrap();
    }
    std::fs::write(dir.path().join("a.csv"), rows).unwrap();
    let page = run(dir.path(), "o", &["run.toml"]);
    // The program refuses such a name for a run; a file from elsewhere may still have it.
    let summary = dir.path().join("o/summary.json");
    let text = std::fs::read_to_string(&summary).unwrap();
    std::fs::write(summary, text.replace("\"hostile\"", &format!("{HOSTILE:?}"))).unwrap();
    assert!(dzoa(dir.path(), &["report", "o"]).status.success());
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(!text.contains("<script>document"), "not even where no script runs");
    let mut tab = chromium.tab(1280, 900);
    tab.open(&page);
    assert_eq!(tab.eval("document.title"), format!("{HOSTILE}: dzoa"));
    assert_eq!(tab.eval("document.scripts.length"), 3);
    assert_eq!(tab.eval("document.images.length"), 0);
    let shown = tab.eval("document.querySelector('.coefficients th[scope=row]').textContent");
    assert_eq!(shown, HOSTILE);
    let legend = tab.eval("document.querySelector('#error .legend').textContent");
    assert!(legend.as_str().unwrap().contains(HOSTILE), "{legend}");
    assert_silent(&tab, &page);
}

#[test]
fn two_thousand_rounds_of_a_hundred_agents_open_quickly() {
    let Some(chromium) = Chromium::start("a large report") else { return };
    let dir = tempdir().unwrap();
    // A small run, whose files are then made large.
    run(dir.path(), "o", &QUICK);
    let out = dir.path().join("o");
    let text = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names: Vec<String> = (0..100).map(|k| format!("agent-{k}")).collect();
    let first = |key: &str| vec![summary[key][0].clone(); 100];
    let (coefficients, privacy) = (first("coefficients"), first("privacy"));
    let edges: Vec<(usize, usize)> = (0..100).map(|k| (k, (k + 1) % 100)).collect();
    for (key, value) in [
        ("agents", serde_json::json!(100)),
        ("agent_names", serde_json::json!(names)),
        ("coefficients", serde_json::json!(coefficients)),
        ("privacy", serde_json::json!(privacy)),
        ("edges", serde_json::json!(edges)),
    ] {
        summary[key] = value;
    }
    std::fs::write(out.join("summary.json"), summary.to_string()).unwrap();
    let mut trace = String::from("trial,round,agent,error,objective_gap,consensus,epsilon_spent\n");
    for round in 1..=2000u32 {
        for (k, name) in names.iter().enumerate() {
            // One spike, in one round of one agent that is not drawn by itself: the band keeps it.
            let spike = if round == 777 && k == 50 { 1e4 } else { 1.0 };
            let wave = 2.0 + f64::from(round * (k as u32 + 7) % 101) / 101.0;
            let value = spike * wave * (k + 1) as f64 / f64::from(round);
            writeln!(trace, "1,{round},{name},{value},{value},{value},{}", f64::from(round).sqrt())
                .unwrap();
        }
    }
    std::fs::write(out.join("trace.csv"), trace).unwrap();
    let again = dzoa(dir.path(), &["report", "o"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let page = out.join("report.html");
    let size = std::fs::metadata(&page).unwrap().len();
    assert!(size < 2 << 20, "{size} bytes");
    let mut tab = chromium.tab(1280, 900);
    let took = tab.open(&page);
    eprintln!("2,000 rounds x 100 agents: {} kB, loaded in {} ms", size / 1000, took.as_millis());
    // What makes a page slow is an element per point: here there are 200,000 points.
    let elements = tab.eval("document.querySelectorAll('*').length").as_u64().unwrap();
    assert!(elements < 20_000, "{elements} elements");
    let legend =
        tab.eval("document.querySelectorAll('#error .legend button[aria-pressed]').length");
    assert_eq!(legend, 21, "twenty agents and their mean");
    let caption = tab.eval("document.querySelector('#error figcaption').textContent");
    let caption = caption.as_str().unwrap();
    assert!(caption.contains("20 of 100 agents are drawn"), "{caption}");
    // The largest value: the spike of agent 50, 1e4 * wave * 51/777, with the wave of round 777.
    let spike = 1e4 * (2.0 + f64::from(777u32 * 57 % 101) / 101.0) * 51.0 / 777.0;
    let high = tab.eval(
        "Math.max(...JSON.parse(document.getElementById('charts').textContent)
            .find(chart => chart.id === 'error').curves[0].spread.high.map(p => p[1]))",
    );
    assert!((high.as_f64().unwrap() / spike - 1.0).abs() < 1e-4, "{high} {spike}");
    assert_silent(&tab, &page);
}

#[test]
fn a_comparison_is_drawn_with_its_bars() {
    let Some(chromium) = Chromium::start("a comparison") else { return };
    let dir = tempdir().unwrap();
    let mut rows = Vec::new();
    let mut pareto = Vec::new();
    for (i, (name, claim)) in
        [("d-zoa:output", "exact"), ("dp-admm", "exact"), ("d-zoa:intrinsic", "nominal")]
            .into_iter()
            .enumerate()
    {
        rows.push(serde_json::json!({
            "algorithm": name, "error_median": 0.1, "error_low": 0.05, "error_high": 0.2, "rounds": 200,
            "messages": 4000, "bytes": 320_000, "oracle_calls": 0, "seconds": 0.5, "needs": ["gradients"],
            "claim": claim, "note": HOSTILE,
        }));
        for epsilon in [0.5, 1.0, 2.0, 4.0] {
            let error = (i + 1) as f64 / epsilon;
            pareto.push(serde_json::json!({
                "algorithm": name, "epsilon": epsilon, "error_median": error,
                "error_low": 0.7 * error, "error_high": 1.5 * error,
            }));
        }
    }
    let comparison = serde_json::json!({
        "title": "Compared", "verdict": "output is best at every epsilon", "rows": rows,
        "pareto": pareto, "config": {},
    });
    std::fs::write(dir.path().join("comparison.json"), comparison.to_string()).unwrap();
    let output = dzoa(dir.path(), &["report", "."]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = dir.path().join("report.html");
    let mut tab = chromium.tab(1280, 900);
    tab.open(&page);
    assert!(tab.eval(MARKS)["pareto"].as_f64().unwrap() > 5_000.0);
    let [left, top, width, height] = area(&mut tab, "pareto");
    tab.hover(left + 0.5 * width, top + 0.5 * height);
    let tip = tab.eval("document.querySelector('#pareto .tip').innerText");
    assert!(tip.as_str().unwrap().contains("total ε = "), "{tip}");
    assert_eq!(tab.eval("document.querySelectorAll('.comparison .badge.nominal').length"), 1);
    tab.resize(390, 844);
    tab.settle();
    assert_no_sideways_scrolling(&mut tab);
    assert_silent(&tab, &page);
}

/// Pictures for the documentation, where DZOA_SCREENSHOTS names a directory; otherwise into nowhere, so that the code
/// that takes them stays whole.
#[test]
fn the_pictures_of_the_documentation_can_be_taken() {
    let Some(chromium) = Chromium::start("screenshots") else { return };
    let dir = tempdir().unwrap();
    let wanted = std::env::var_os("DZOA_SCREENSHOTS").map(PathBuf::from);
    let docs = wanted.clone().unwrap_or_else(|| dir.path().into());
    let page = match &wanted {
        Some(_) => run(dir.path(), "o", &["--set", "run.trials=3"]),
        None => run(dir.path(), "o", &QUICK),
    };
    for (name, scheme, width, height, from) in [
        ("report-light.png", "light", 940, 1290, "header"),
        ("report-dark-phone.png", "dark", 390, 1050, "section[aria-labelledby=convergence]"),
    ] {
        let mut tab = chromium.tab(width, 900);
        tab.media("screen", scheme);
        tab.open(&page);
        let top = format!("document.querySelector('{from}').getBoundingClientRect().top");
        let top = tab.eval(&top).as_f64().unwrap();
        let out = docs.join(name);
        tab.screenshot(&out, [0.0, (top - 12.0).max(0.0), f64::from(width), f64::from(height)]);
        let size = std::fs::metadata(&out).unwrap().len();
        assert!((10_000..200_000).contains(&size), "{name}: {size} bytes");
        assert_silent(&tab, &page);
    }
}

#[test]
fn both_pages_are_read_on_a_desk_and_on_a_phone() {
    let Some(chromium) = Chromium::start("both pages") else { return };
    let dir = tempdir().unwrap();
    let out = private_run(dir.path());
    let pictures = std::env::var_os("DZOA_SCREENSHOTS").map(PathBuf::from);
    for name in ["report", "report.shared"] {
        let page = out.join(format!("{name}.html"));
        for width in [1100, 390] {
            let mut tab = chromium.tab(width, 900);
            tab.media("screen", "light");
            tab.open(&page);
            assert_no_sideways_scrolling(&mut tab);
            assert_silent(&tab, &page);
            let height = tab.eval("document.documentElement.scrollHeight").as_f64().unwrap();
            let picture = pictures.as_deref().unwrap_or(dir.path());
            let picture = picture.join(format!("{name}-{width}.png"));
            tab.screenshot(&picture, [0.0, 0.0, f64::from(width), height]);
            assert!(std::fs::metadata(&picture).unwrap().len() > 10_000);
        }
    }
}
