//! `dzoa demo`: the whole story, told by the commands that everybody has.

use crate::{interrupt, terminal};
use dzoa_table::{Error, Result, demo_study};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Words, and the command that shows what they mean; `DIR` stands for where the demo writes.
const STORY: [(&str, &str); 7] = [
    (
        "Five hospitals each have 2,000 patients. Who will come back within a month? Together \
         they could tell, but no row may leave its hospital, and nobody is trusted to \
         collect. (They are made up; their files are in DIR.)\n\nFirst without any \
         protection, to see what could be had. Look at the accuracy.",
        "dzoa run DIR/hospitals.toml --not-private --out DIR/open",
    ),
    (
        "Now with a promise: however anybody combines what they see of this run, what it \
         tells about any one patient is bounded: epsilon 2, even if all other hospitals work \
         together. Each adds its part of the noise, and they add up the parts by themselves. \
         Look at the accuracy again, and at what stands behind `privacy:`.",
        "dzoa run DIR/hospitals.toml --out DIR/private",
    ),
    (
        "The noise can be shared if not everybody is an enemy. Say that at most one of the \
         others tells what it knows: masks then hide every part, and only the sum needs its \
         noise. Compare the line `normalised error`. The condition stands in the promise, and \
         is never hidden.",
        "dzoa run DIR/hospitals.toml --set privacy.colluders=1 --out DIR/masked",
    ),
    (
        "Each run left two pages. DIR/private/report.html is for whoever holds the rows; \
         DIR/private/report.shared.html is for everybody else. Open them in a browser now: \
         they ask the network for nothing.",
        "",
    ),
    (
        "A promise is easily made. The paper that this program implements promises epsilon \
         0.15 for a round, from the noise that its own method makes anyway. Attack it: 2,000 \
         runs with a row and 2,000 with another in its place. Can an onlooker tell them \
         apart?",
        "dzoa audit --no-controls --out DIR/audit-paper",
    ),
    (
        "They can, always. So `dzoa` calls that promise NOMINAL wherever it stands: no \
         guarantee. The same attack on the hospitals' joint sums, on their first five rounds, \
         so that it takes seconds and not minutes:",
        "dzoa audit DIR/hospitals.toml --no-controls --trials 200 --rounds 5 --out DIR/audit-joint",
    ),
    (
        "It proves nothing against the claim. That alone proves nothing for it either: \
         docs/proofs.md does.\n\nYour own files next, one per site: `dzoa init --from \
         north.csv south.csv`. Everything that was shown is in DIR.",
        "",
    ),
];

/// Tells the story; `perform` carries out a command.
pub fn demo(dir: &Path, perform: impl Fn(&[String]) -> Result<()>) -> Result<()> {
    let place = dir.display().to_string();
    if dir.exists() {
        return Err(Error::input(format!("{place}: exists already"))
            .hint("give another directory: dzoa demo --dir DIR"));
    }
    let write = |(name, content)| std::fs::write(dir.join::<String>(name), content);
    let written = std::fs::create_dir_all(dir);
    written.and_then(|()| demo_study().into_iter().try_for_each(write)).map_err(|error| {
        Error::input(format!("{place}: cannot be written: {error}"))
            .hint("choose a directory that you may write to")
    })?;
    interrupt::listen();
    for (i, (words, command)) in STORY.iter().enumerate() {
        let told = words.replace("DIR", &place);
        terminal::print_words(&format!("\n[{}/{}] {told}\n", i + 1, STORY.len()))?;
        if !command.is_empty() {
            terminal::print_words(&format!("\n$ {}\n", command.replace("DIR", &place)))?;
            pause(dir)?;
            let words: Vec<String> =
                command.split_whitespace().map(|word| word.replace("DIR", &place)).collect();
            perform(&words)?;
        }
        // The last words need no answer.
        if i + 1 < STORY.len() {
            pause(dir)?;
        }
    }
    Ok(())
}

/// Waits for Enter where there is a terminal.
fn pause(dir: &Path) -> Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    terminal::print("\n(Enter goes on, Ctrl-C ends) ")?;
    // Reading cannot be interrupted, so somebody else reads.
    let (sender, answer) = channel();
    std::thread::spawn(move || sender.send(std::io::stdin().read_line(&mut String::new())));
    loop {
        match answer.recv_timeout(Duration::from_millis(50)) {
            Err(RecvTimeoutError::Timeout) if interrupt::asked() => {
                let place = dir.display();
                return Err(Error::interrupted(format!("stopped; what was shown is in {place}")));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
