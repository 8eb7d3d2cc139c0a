//! How the program ends, for scripts and service managers: one list.

use std::fmt::Write;

/// Why the program ends. Its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was asked for is done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The input is wrong.
    Input = 2,
    /// The privacy budget ended before the last round.
    Budget = 3,
    /// A neighbour is gone.
    Neighbour = 4,
    /// Asked to stop.
    Interrupted = 130,
}

/// Every exit, with what it means and what to do.
const EXITS: [(Exit, &str, &str); 6] = [
    (Exit::Done, "done", "nothing"),
    (
        Exit::Failed,
        "failed: a step diverged, a program gave no value, a disk was full, agents disagree, or \
         an old backup was restored",
        "read the message; a person decides",
    ),
    (
        Exit::Input,
        "wrong input: a flag, a file, or a plan that the budget does not last for; nothing was \
         released",
        "change what the message names",
    ),
    (
        Exit::Budget,
        "budget spent: the ledger allowed no further release, and the rounds before it stand",
        "a larger budget needs a decision of the data's owner",
    ),
    (
        Exit::Neighbour,
        "neighbour lost: silent for longer than network.patience, or it stopped and said why",
        "the same command goes on once the neighbour is back",
    ),
    (
        Exit::Interrupted,
        "interrupted by Ctrl-C or SIGTERM; what is done is kept where the message says",
        "the same command goes on, for `agent` and `reproduce`",
    ),
];

impl Exit {
    /// The exit with this status, as a child process reports it; any other is a failure.
    pub fn of(status: Option<i32>) -> Self {
        let found = EXITS.iter().find(|(exit, ..)| Some(*exit as i32) == status);
        found.map_or(Self::Failed, |(exit, ..)| *exit)
    }
}

/// `dzoa help exit-codes`
pub fn explain_exits() -> String {
    let mut text = String::from("The exit status of every command:\n");
    for (exit, meaning, then) in EXITS {
        let _ = writeln!(text, "\n  {:<4} {meaning}\n       then: {then}", exit as u8);
    }
    text
}

/// The same, for a page.
pub(crate) fn exits_table() -> String {
    let mut text = String::from("| status | what it means | then |\n| --- | --- | --- |\n");
    for (exit, meaning, then) in EXITS {
        let _ = writeln!(text, "| {} | {meaning} | {then} |", exit as u8);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_restarts_what_goes_on_by_itself_and_nothing_that_needs_a_person() {
        let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/dzoa-agent@.service");
        let unit = std::fs::read_to_string(unit).unwrap();
        let listed = |key: &str| -> Vec<Exit> {
            let line = unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split(' ').map(|status| Exit::of(status.parse().ok())).collect()
        };
        let stays = listed("RestartPreventExitStatus=");
        assert_eq!(stays, [Exit::Failed, Exit::Input, Exit::Budget]);
        let succeeds = listed("SuccessExitStatus=");
        assert_eq!(succeeds, [Exit::Interrupted]);
        let restarts = EXITS.iter().map(|(exit, ..)| *exit);
        let restarts = restarts.filter(|exit| !stays.contains(exit) && !succeeds.contains(exit));
        assert_eq!(restarts.collect::<Vec<_>>(), [Exit::Done, Exit::Neighbour]);
    }

    #[test]
    fn a_status_that_is_not_in_the_list_is_a_failure() {
        assert_eq!(Exit::of(Some(3)), Exit::Budget);
        assert_eq!(Exit::of(Some(130)), Exit::Interrupted);
        // A panic, and an end by a signal.
        assert_eq!((Exit::of(Some(101)), Exit::of(None)), (Exit::Failed, Exit::Failed));
    }
}
