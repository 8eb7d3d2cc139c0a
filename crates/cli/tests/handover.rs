//! Commands for real agents are handed to `dzoa-agent`, which is found beside the program.

mod common;

use common::PROGRAM;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::tempdir;

/// A copy of the program in a directory of its own, with nothing on its path.
fn alone(dir: &Path, args: &[&str]) -> Output {
    let copy = dir.join("dzoa");
    if !copy.exists() {
        std::fs::copy(PROGRAM, &copy).unwrap();
    }
    Command::new(&copy).args(args).current_dir(dir).env("PATH", dir.join("none")).output().unwrap()
}

const COMMANDS: [&[&str]; 6] = [
    &["agent", "--network", "n.toml", "--name", "a", "--state", "s", "--certs", "c"],
    &["launch", "--network", "n.toml"],
    &["certs", "--network", "n.toml", "--out", "certs"],
    &["check", "--network", "n.toml"],
    &["key", "--name", "a", "--out", "certs"],
    &["study", "verify", "--network", "n.toml", "--certs", "certs"],
];

#[test]
fn without_it_one_line_says_how_to_get_it() {
    let dir = tempdir().unwrap();
    for args in COMMANDS {
        let output = alone(dir.path(), args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        let first =
            "error: this command needs the program `dzoa-agent`, which is not here\n\nhint: ";
        assert!(said.starts_with(first) && said.contains("--package dzoa-agent"), "{said}");
    }
    // Help does not need it, and neither does what one machine does by itself.
    for args in [&["agent", "--help"][..], &["init", "study"], &["check", "study/run.toml"]] {
        let output = alone(dir.path(), args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(unix)]
#[test]
fn arguments_streams_and_status_are_those_of_one_program() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let script = dir.path().join("dzoa-agent");
    std::fs::write(&script, "#!/bin/sh\nprintf '<%s>' \"$@\"\necho words >&2\nexit 4\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    for args in COMMANDS {
        let output = alone(dir.path(), args);
        let expected: String = args.iter().map(|word| format!("<{word}>")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert_eq!((output.stderr, output.status.code()), (b"words\n".to_vec(), Some(4)));
    }
    // Wrong flags are met before.
    let output = alone(dir.path(), &["agent", "--nework", "n.toml"]);
    assert_eq!(output.status.code(), Some(2));
}
