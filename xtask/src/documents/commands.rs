//! Commands in the documents: the shell can parse them, and ours have these words and flags.

use super::{Document, all};
use crate::{USAGE, root};
use clap::Parser;
use clap::error::ErrorKind;
use dzoa_cli::args::Cli;
use std::io::Write;
use std::process::{Command, Stdio};

/// Of changes long ago.
const HISTORY: &str = "CHANGELOG.md";

#[test]
fn a_shell_can_parse_every_block_for_it() {
    for page in all().unwrap() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            shell.stdin.take().unwrap().write_all(block.code.as_bytes()).unwrap();
            assert!(shell.wait().unwrap().success(), "{}:{}", page.path, block.line);
        }
    }
}

#[test]
fn every_command_in_a_block_has_these_words_and_flags() {
    let mut seen = 0;
    for page in all().unwrap() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            for words in commands(&block.code) {
                let at = format!("{}:{}: {}", page.path, block.line, words.join(" "));
                if let Err(why) = known(&words) {
                    panic!("{at}\n{why}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen} commands: they are not found any more");
}

/// In a sentence a command may lack what it needs, as in `dzoa agent`; what it has must exist.
#[test]
fn every_command_in_a_sentence_exists() {
    for page in all().unwrap().iter().filter(|page| page.path != HISTORY) {
        for code in page.inline().iter().filter(|code| code.starts_with("dzoa ")) {
            let words = commands(code).swap_remove(0);
            match Cli::try_parse_from(&words) {
                Err(error) if error.use_stderr() && !is_short(error.kind()) => {
                    panic!("{}: `{code}`\n{error}", page.path)
                }
                _ => {}
            }
        }
    }
}

fn is_short(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, InvalidValue};
    use ErrorKind::{MissingRequiredArgument, MissingSubcommand};
    // A value in capitals stands for the reader's.
    let stands_for = matches!(kind, InvalidValue);
    let missing = matches!(kind, MissingRequiredArgument | MissingSubcommand);
    stands_for || missing || kind == DisplayHelpOnMissingArgumentOrSubcommand
}

/// The words of every simple command of a script.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for line in script.replace("\\\n", " ").lines() {
        let words = shlex::split(line).unwrap_or_else(|| panic!("cannot be cut: {line}"));
        let between = |word: &String| matches!(word.as_str(), "|" | "&&" | "||" | ";" | "&");
        for simple in words.split(between) {
            let arguments = simple.split(|word| word.starts_with(['>', '<'])).next();
            let is_value = |word: &&String| word.contains('=') && !word.starts_with('-');
            let words: Vec<String> =
                arguments.unwrap_or_default().iter().skip_while(is_value).cloned().collect();
            found.extend((!words.is_empty()).then_some(words));
        }
    }
    found
}

/// Whether a command of ours has these words; others are not ours to judge.
fn known(words: &[String]) -> Result<(), String> {
    let program = words[0].rsplit('/').next().unwrap_or_default();
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    match program {
        "dzoa" => match Cli::try_parse_from(words) {
            Err(error) if error.use_stderr() => Err(error.to_string()),
            _ => Ok(()),
        },
        "cargo" => cargo(&arguments),
        "python" | "python3" => {
            let script = arguments.iter().find(|word| word.ends_with(".py"));
            match script.is_none_or(|script| root().join(script).is_file()) {
                true => Ok(()),
                false => Err("the script is not there".into()),
            }
        }
        _ => Ok(()),
    }
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    if let ["xtask", command, ..] = arguments {
        let listed = USAGE.split_whitespace().any(|word| word == *command);
        return if listed { Ok(()) } else { Err("no such chore".into()) };
    }
    let own =
        &arguments[..arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len())];
    for (flag, name) in own.iter().zip(own.iter().skip(1)) {
        let there = match *flag {
            "-p" | "--package" => manifests().contains(&format!("name = \"{name}\"\n")),
            "--example" => has_example(name),
            "--path" => root().join(name).join("Cargo.toml").is_file(),
            _ => true,
        };
        if !there {
            return Err(format!("{flag} {name} is not there"));
        }
    }
    Ok(())
}

fn crates() -> impl Iterator<Item = std::path::PathBuf> {
    let members = std::fs::read_dir(root().join("crates")).unwrap();
    let others = ["benches", "xtask", "python"].map(|name| root().join(name));
    members.map(|entry| entry.unwrap().path()).chain(others)
}

fn manifests() -> String {
    crates().map(|path| std::fs::read_to_string(path.join("Cargo.toml")).unwrap()).collect()
}

fn has_example(name: &str) -> bool {
    let beside = |folder: &std::path::Path| {
        folder.join(format!("{name}.rs")).is_file() || folder.join(name).join("main.rs").is_file()
    };
    crates().any(|path| beside(&path.join("examples"))) || beside(&root().join("examples/rust"))
}

impl Document {
    /// What stands between backticks in sentences.
    fn inline(&self) -> Vec<String> {
        use pulldown_cmark::{Event, Parser};
        let code =
            |event| if let Event::Code(code) = event { Some(code.to_string()) } else { None };
        Parser::new(&self.text).filter_map(code).collect()
    }
}

#[test]
fn a_flag_that_is_not_there_is_found() {
    let judged = |line: &str| known(&commands(line)[0]);
    assert_eq!(judged("dzoa run my.toml --json   # a comment"), Ok(()));
    assert!(judged("dzoa run my.toml --colour red").is_err());
    assert!(judged("dzoa runn").is_err());
    assert!(judged("cargo xtask tset").is_err());
    assert!(judged("cargo run -p dzoa-lba").is_err());
    assert_eq!(commands("D=x\ndzoa run a \\\n  --json | head > b && ls").len(), 3);
}
