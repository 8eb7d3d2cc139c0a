//! The one place where an error gets its shape: a line, a blank line, a hint.

use crate::exit::Exit;
use std::fmt;

/// What the program says when it cannot go on, and the status it ends with.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: Option<String>,
    exit: Exit,
}

/// Short for results of this program.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The input is wrong; nothing was written. Exit status 2.
    pub fn input(message: impl Into<String>) -> Self {
        Self::ending(Exit::Input, message)
    }

    /// The run failed. Exit status 1.
    pub fn run(message: impl Into<String>) -> Self {
        Self::ending(Exit::Failed, message)
    }

    /// Asked to stop. Exit status 130.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::ending(Exit::Interrupted, message)
    }

    /// Ends with this status.
    pub fn ending(exit: Exit, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit }
    }

    /// The way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The file it is about.
    pub fn at(mut self, file: &str) -> Self {
        self.message = format!("{file}: {}", self.message);
        self
    }

    /// What is wrong, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same as an error of the input.
    pub fn as_input(self) -> Self {
        Self { exit: Exit::Input, ..self }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.exit as u8
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever a file or a flag held.
        for character in self.message.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// A value from a file, short enough to stand in a message.
pub fn shown(value: &str) -> String {
    const LONGEST: usize = 40;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &value[..end]),
        None => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_and_then_its_hint() {
        let error = Error::input("bad\nname").at("run.toml").hint("mend it");
        assert_eq!(error.to_string(), "run.toml: bad\\nname\n\nhint: mend it");
        assert_eq!((error.status(), Error::run("").status()), (2, 1));
        assert_eq!(Error::interrupted("").status(), 130);
        assert_eq!(shown(&"x".repeat(99)), format!("`{}…`", "x".repeat(40)));
    }
}
