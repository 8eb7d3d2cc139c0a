//! The root key of a run, in a file of its own: whoever has it can subtract the agent's noise from
//! recorded traffic, so it is erased when the run is over, and the journal stays.

use super::{RootPlace, Start};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The file with the root key, beside a journal.
pub struct RootFile {
    path: PathBuf,
}

impl RootFile {
    /// The file `root.key` in this directory, whether it is there or not.
    pub fn in_directory(directory: &Path) -> Self {
        Self { path: directory.join("root.key") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key; `None` where there is no file.
    pub fn read(&self) -> io::Result<Option<[u8; 32]>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::with_capacity(33);
        file.take(33).read_to_end(&mut bytes)?;
        let key = <[u8; 32]>::try_from(&bytes[..]).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "a root key has 32 bytes, and this has not")
        })?;
        Ok(Some(key))
    }

    /// The root of a run that begins: this one, durable, or the one that a process left behind
    /// that ended before its first record.
    pub fn begin(&self, fresh: [u8; 32]) -> io::Result<[u8; 32]> {
        match self.read()? {
            Some(key) => Ok(key),
            None => self.create(&fresh).map(|()| fresh),
        }
    }

    /// The root of the run whose journal begins so; `None` once it is erased.
    pub fn of(&self, first: &Start) -> io::Result<Option<[u8; 32]>> {
        match first.root {
            RootPlace::Here(key) => Ok(Some(key)),
            RootPlace::Apart { .. } => self.read(),
        }
    }

    /// Writes the key, readable by its owner only. Durable when it returns, and never half there.
    pub fn create(&self, key: &[u8; 32]) -> io::Result<()> {
        let unfinished = self.unfinished();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&unfinished)?;
        file.write_all(key)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, &self.path)?;
        self.sync_directory()
    }

    /// Overwrites the key as far as the file system does so in place, and removes the file. Durable
    /// when it returns; a file that is not there is erased.
    pub fn erase(&self) -> io::Result<()> {
        for path in [self.unfinished(), self.path.clone()] {
            let mut file = match OpenOptions::new().write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            file.rewind()?;
            file.write_all(&[0; 32])?;
            file.sync_all()?;
            std::fs::remove_file(&path)?;
        }
        self.sync_directory()
    }

    fn unfinished(&self) -> PathBuf {
        self.path.with_extension("key.unfinished")
    }

    /// The name must survive a power failure, too, or its end.
    fn sync_directory(&self) -> io::Result<()> {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_its_owners_and_erased_it_is_gone_from_name_and_content() {
        let dir = tempfile::tempdir().unwrap();
        let root = RootFile::in_directory(dir.path());
        assert!(root.read().unwrap().is_none());
        root.create(&[7; 32]).unwrap();
        assert_eq!(root.read().unwrap().unwrap(), [7; 32]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(root.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        // A second name for the content: what is left of it after the first is gone.
        let content = dir.path().join("content");
        std::fs::hard_link(root.path(), &content).unwrap();
        root.erase().unwrap();
        assert_eq!(std::fs::read(content).unwrap(), [0; 32]);
        assert!(root.read().unwrap().is_none());
        root.erase().unwrap();
    }

    #[test]
    fn a_root_of_another_length_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = RootFile::in_directory(dir.path());
        for length in [0, 31, 33] {
            std::fs::write(root.path(), vec![1; length]).unwrap();
            assert_eq!(root.read().unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
