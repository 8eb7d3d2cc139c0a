//! Commands for real agents are those of another program, `dzoa-agent`, which is found beside this
//! one or on the path.

use dzoa_table::{Error, Result};
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "dzoa-agent";

/// Goes on as `dzoa-agent` with the same arguments.
pub fn to_agent() -> Result<()> {
    let program = found().ok_or_else(|| {
        Error::input(format!("this command needs the program `{PROGRAM}`, which is not here")).hint(
            "`cargo build --release --package dzoa-agent` builds it in a few minutes; packages \
             hold both",
        )
    })?;
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1));
    let error = become_it(command);
    Err(Error::run(format!("{}: cannot be started: {error}", program.display())))
}

/// In place of this process, so that signals and its number are those of one program.
#[cfg(unix)]
fn become_it(mut command: Command) -> std::io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// The program of this version: beside this one, where links lead, or on the path.
fn found() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let target = own.as_ref().and_then(|own| own.canonicalize().ok());
    let beside = [own, target].into_iter().flatten().filter_map(|path| Some(path.parent()?.into()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = beside.chain(std::env::split_paths(&path)).collect();
    dirs.into_iter().map(|dir| dir.join(&name)).find(|program| program.is_file())
}
