//! The `dzoa` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    dzoa_cli::dzoa()
}
