use super::source::SourceFile;
use super::{LONGEST, complaints};

fn parsed(files: &[(&str, &str, &str)]) -> Vec<SourceFile> {
    let parse = |(package, module, text): &(&str, &str, &str)| {
        SourceFile::parse(package, module, text).expect("the sources of a test parse")
    };
    files.iter().map(parse).collect()
}

fn found(files: &[(&str, &str, &str)]) -> Vec<String> {
    complaints(&parsed(files))
}

#[test]
fn a_function_may_have_seventy_lines_and_not_one_more() {
    let function = |lines: usize| format!("impl A {{\n fn f() {{{}}}\n}}", "\n".repeat(lines - 1));
    assert_eq!(found(&[("crates/a", "b.rs", &function(LONGEST))]), Vec::<String>::new());
    let long = found(&[("crates/a", "b.rs", &function(LONGEST + 1))]);
    assert_eq!(long, ["crates/a/src/b.rs: fn f has 71 lines, 70 are allowed"]);
}

#[test]
fn self_is_no_parameter_and_a_tuple_needs_a_name() {
    let five = "impl A { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }";
    assert_eq!(found(&[("crates/a", "b.rs", five)]), Vec::<String>::new());
    let six = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
    let said = found(&[("crates/a", "b.rs", six)]);
    assert_eq!(said, ["crates/a/src/b.rs: fn f has 6 parameters, 5 are allowed"]);
    for tuple in ["fn f((a, b): (u8, u8)) {}", "fn f(pair: &(u8, u8)) {}"] {
        let said = found(&[("crates/a", "b.rs", tuple)]);
        assert_eq!(said, ["crates/a/src/b.rs: fn f takes a tuple without a name"]);
    }
    assert_eq!(found(&[("crates/a", "b.rs", "fn f(unit: ()) {}")]), Vec::<String>::new());
}

#[test]
fn code_for_tests_is_not_counted() {
    let tested = "fn f() {}\n#[cfg(test)]\nmod tests {\n fn g(pair: (u8, u8)) {}\n}\n";
    let sources = parsed(&[("crates/a", "b.rs", tested)]);
    assert_eq!((sources[0].lines, sources[0].functions.len()), (1, 1));
}

#[test]
fn a_cycle_is_found_through_groups_super_macros_and_what_the_root_exports() {
    let cycle = ["crates/x: modules in a cycle: a, b"];
    for back in [
        "use crate::{d::D, a};",
        "use super::a::A;",
        "fn f() { crate::a::f() }",
        "fn f() { println!(\"{}\", crate::a::f()) }",
        "fn f() { other! { x => crate::a::f() } }",
        "use crate::A;",
    ] {
        let files = [
            ("crates/x", "lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("crates/x", "a/deep.rs", "use crate::b::B;"),
            ("crates/x", "b.rs", back),
            ("crates/x", "c.rs", "use crate::{a, b};"),
        ];
        assert_eq!(found(&files), cycle, "{back}");
    }
}

#[test]
fn modules_in_order_and_modules_of_two_crates_are_no_cycle() {
    let files = [
        ("crates/x", "a/mod.rs", "use crate::b::B; use self::deep::D;"),
        ("crates/x", "a/deep.rs", "use super::A; use super::super::b::B;"),
        ("crates/x", "b.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
        ("crates/y", "b.rs", "use crate::a::A;"),
    ];
    assert_eq!(found(&files), Vec::<String>::new());
}

#[test]
fn the_program_is_thin() {
    let long = "const A: u8 = 0;\n".repeat(6_001);
    assert_eq!(found(&[("crates/dzoa", "a.rs", &long)]), Vec::<String>::new());
    let said = found(&[("crates/cli", "a.rs", &long)]);
    assert_eq!(said, ["crates/cli: 6001 lines, 6000 are allowed"]);
}

#[test]
fn the_mechanism_is_matched_in_one_file_of_the_library_and_nowhere_else() {
    let matching = [
        "fn f(m: Mechanism) -> u8 { match m { Mechanism::Output { .. } => 1, _ => 2 } }",
        "fn f(m: Mechanism) -> bool { matches!(m, Mechanism::None) }",
        "fn f(m: Mechanism) -> bool { m == plan::Mechanism::None }",
        "fn f(m: Mechanism) { assert!(m != Mechanism::None) }",
    ];
    for text in matching {
        assert_eq!(found(&[("crates/dzoa", "plan.rs", text)]), Vec::<String>::new(), "{text}");
        let said = found(&[("crates/cli", "run.rs", text)]);
        assert_eq!(said, ["crates/cli/src/run.rs: matches on the mechanism"], "{text}");
    }
    let two = found(&[("crates/dzoa", "a.rs", matching[0]), ("crates/dzoa", "b.rs", matching[1])]);
    let files = "crates/dzoa/src/a.rs, crates/dzoa/src/b.rs";
    assert_eq!(two, [format!("the mechanism is matched in 2 files: {files}")]);
    let naming = "const ALL: [Mechanism; 1] = Mechanism::ALL; fn f() -> M { Mechanism::None }";
    assert_eq!(found(&[("crates/cli", "a.rs", naming)]), Vec::<String>::new());
}
