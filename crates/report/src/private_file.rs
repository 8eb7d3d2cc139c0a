//! Files that stay with whoever owns the rows: readable by their owner only, unless the operator
//! lets the group read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static GROUP_READS: AtomicBool = AtomicBool::new(false);

/// Lets the group read what is written from now on: a decision of the operator, made once at the
/// start.
pub fn let_group_read() {
    GROUP_READS.store(true, Ordering::Relaxed);
}

/// A new file; fails where there is one.
pub fn create_private(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// A file with this content, in place of the one before.
pub fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = options().create(true).truncate(true).open(path)?;
    restrict(&file)?;
    file.write_all(content)
}

/// Makes the name of a file survive a power failure.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode());
    options
}

/// A file that was there before may have had another mode.
fn restrict(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode()))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(unix)]
fn mode() -> u32 {
    if GROUP_READS.load(Ordering::Relaxed) { 0o640 } else { 0o600 }
}
