//! Ctrl-C: the first one asks the run to stop and keep what is done, the second one ends it.

use dzoa_lab::Interrupt;
use dzoa_table::Exit;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts listening.
pub fn listen() {
    // A second handler cannot be installed; without one, Ctrl-C ends the program as usual.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted as i32);
        }
        eprintln!("stopping after this round; press Ctrl-C again to end at once");
    });
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    flag().asked()
}

/// For a measurement that asks by itself.
pub fn flag() -> Interrupt {
    Interrupt::when(&ASKED)
}
