//! A link that writes down every frame before it is sent, for tests.

use super::{Transport, TransportError};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// A link with a record of its frames; without a file, just the link.
pub struct RecordedLink<'a> {
    link: &'a mut dyn Transport,
    file: Option<File>,
}

impl<'a> RecordedLink<'a> {
    /// Appends to the file.
    pub fn new(link: &'a mut dyn Transport, path: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().append(true).create(true).open(path);
        Ok(Self { link, file: path.map(open).transpose()? })
    }
}

impl Transport for RecordedLink<'_> {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        if let Some(file) = &mut self.file {
            let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            // One write, so that a kill leaves whole lines or one that is cut off at the end.
            file.write_all(format!("{to} {hex}\n").as_bytes())
                .map_err(|error| TransportError(error.to_string()))?;
        }
        self.link.send(to, frame)
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Vec<u8>)> {
        self.link.receive(wait)
    }

    fn now(&self) -> Duration {
        self.link.now()
    }
}
