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
    assert_eq!(found(&[("crates/a", "lib.rs", &function(LONGEST))]), Vec::<String>::new());
    let long = found(&[("crates/a", "lib.rs", &function(LONGEST + 1))]);
    assert_eq!(long, ["crates/a/src/lib.rs: fn f has 71 lines, 70 are allowed"]);
}

#[test]
fn self_is_no_parameter_and_a_tuple_needs_a_name() {
    let five = "impl A { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }";
    assert_eq!(found(&[("crates/a", "lib.rs", five)]), Vec::<String>::new());
    let six = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
    let said = found(&[("crates/a", "lib.rs", six)]);
    assert_eq!(said, ["crates/a/src/lib.rs: fn f has 6 parameters, 5 are allowed"]);
    for tuple in ["fn f((a, b): (u8, u8)) {}", "fn f(pair: &(u8, u8)) {}"] {
        let said = found(&[("crates/a", "lib.rs", tuple)]);
        assert_eq!(said, ["crates/a/src/lib.rs: fn f takes a tuple without a name"]);
    }
    assert_eq!(found(&[("crates/a", "lib.rs", "fn f(unit: ()) {}")]), Vec::<String>::new());
}

#[test]
fn code_for_tests_is_not_counted() {
    let tested = "fn f() {}\n#[cfg(test)]\nmod tests {\n fn g(pair: (u8, u8)) {}\n}\n";
    let sources = parsed(&[("crates/a", "lib.rs", tested)]);
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
            ("crates/x", "a/mod.rs", "mod deep;"),
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
        ("crates/x", "lib.rs", "mod a; mod b;"),
        ("crates/x", "a/mod.rs", "mod deep; use crate::b::B; use self::deep::D;"),
        ("crates/x", "a/deep.rs", "use super::A; use super::super::b::B;"),
        ("crates/x", "b.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
        ("crates/y", "lib.rs", "use crate::a::A;"),
    ];
    assert_eq!(found(&files), Vec::<String>::new());
}

#[test]
fn the_program_is_thin() {
    let long = "const A: u8 = 0;\n".repeat(5_001);
    assert_eq!(found(&[("crates/dzoa", "lib.rs", &long)]), Vec::<String>::new());
    let said = found(&[("crates/cli", "lib.rs", &long)]);
    assert_eq!(said, ["crates/cli: 5001 lines, 5000 are allowed"]);
}

#[test]
fn nobody_asks_which_mechanism_it_is_but_the_room_that_decides() {
    let asking = [
        "fn f(name: &str) -> u8 { match name { \"output\" => 1, _ => 2 } }",
        "fn f(name: &str) -> bool { matches!(name, \"scalar\" | \"other\") }",
        "fn f(name: &str) -> bool { name == \"scalar\" }",
        "fn f(name: Option<&str>) -> bool { assert!(name != Some(\"intrinsic\")) }",
    ];
    for text in asking {
        assert_eq!(found(&[LIB, PLAN, ("crates/dzoa", "plan/a.rs", text)]), Vec::<String>::new());
        let said = found(&[("crates/cli", "main.rs", text)]);
        assert_eq!(said.len(), 1, "{text}");
        assert!(said[0].starts_with("crates/cli/src/main.rs: asks whether the mechanism is"));
    }
    let naming = "const DEFAULT: &str = \"output\"; fn f() { named(\"scalar\") }";
    assert_eq!(found(&[("crates/cli", "main.rs", naming)]), Vec::<String>::new());
}

const LIB: (&str, &str, &str) = ("crates/dzoa", "lib.rs", "mod plan;");
const PLAN: (&str, &str, &str) = ("crates/dzoa", "plan/mod.rs", "mod a;");

#[test]
fn a_file_that_no_module_declares_is_found() {
    let files = [
        ("crates/a", "lib.rs", "mod b;"),
        ("crates/a", "b/mod.rs", "mod c;"),
        ("crates/a", "b/c.rs", ""),
        ("crates/a", "b/d.rs", ""),
    ];
    assert_eq!(found(&files), ["crates/a/src/b/d.rs: no module declares it"]);
}

#[test]
fn a_public_type_has_a_name_of_its_own_and_a_line_has_a_hundred_columns() {
    let files = [
        ("crates/a", "lib.rs", "pub struct Same; struct Mine; pub(crate) enum Inner {}"),
        ("crates/b", "lib.rs", "pub trait Same {} struct Mine; pub(crate) enum Inner {}"),
    ];
    assert_eq!(
        found(&files),
        ["`Same` is declared in crates/a/src/lib.rs and crates/b/src/lib.rs"]
    );
    let wide = |width: usize| format!("fn f() {{}}\n// {}", "x".repeat(width - 3));
    assert_eq!(found(&[("crates/a", "lib.rs", &wide(100))]), Vec::<String>::new());
    let said = found(&[("crates/a", "lib.rs", &wide(101))]);
    assert_eq!(said, ["crates/a/src/lib.rs:2: more than 100 columns, in 1 lines"]);
}
