//! Files with secrets: nobody but their owner may read them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Checks that a file is its owner's alone; fails with the reason if others may read it, or it is not there.
pub(crate) fn check(file: &Path) -> Result<(), String> {
    let mode = file.metadata().map_err(|error| error.to_string())?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!("others may read it (mode {:o}); run chmod 600", mode & 0o777));
    }
    Ok(())
}
