//! Where a journal lies: in a file, or in memory.

use super::JournalError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Where records go. Appending is durable when it returns.
pub trait Medium: Send {
    /// Appends, durably.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Everything that was appended, from the beginning.
    fn read(&mut self) -> io::Result<Box<dyn Read + Send>>;
    /// Cuts off a record that was never finished.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A file, locked while it is open.
pub struct JournalFile(File);

impl JournalFile {
    /// Opens or makes the file, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        file.try_lock().map_err(|_| JournalError::InUse)?;
        // The name must survive a power failure, too.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Self(file))
    }
}

impl Medium for JournalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.sync_data()
    }

    fn read(&mut self) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.0.try_clone()?;
        file.rewind()?;
        Ok(Box::new(file))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)?;
        self.0.sync_data()
    }
}

/// Memory that outlives the agent: for tests and trials.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub Arc<Mutex<Vec<u8>>>);

impl Medium for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().expect("nobody panics with the lock").extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Box<dyn Read + Send>> {
        let bytes = self.0.lock().expect("nobody panics with the lock").clone();
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().expect("nobody panics with the lock").truncate(length as usize);
        Ok(())
    }
}
