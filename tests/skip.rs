//! Tests skip by one rule: loudly, and never on CI.

use std::io::Write;

/// Says what is skipped and why. With `CI=true` everything must be there, and this fails instead.
pub fn skip(what: &str, why: &str) {
    let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!on_ci, "{what} may not be skipped on CI: {why}");
    // Past the capture of the test harness, which would swallow it.
    let _ = writeln!(std::io::stderr(), "SKIPPED {what}: {why}");
}
