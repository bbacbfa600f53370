//! What a crash left unfinished at the log's end is set aside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::Position;
use crate::error::LogError;
use crate::layout;
use crate::reader::{Bodies, Reader};
use crate::segment;

/// What was set aside when a log was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where it stood: now the log's end.
    pub position: Position,
    /// How much it is.
    pub bytes: u64,
}

/// Sets aside everything from the first frame of the newest segment on that is not whole; gives where the log
/// ends then.
pub(crate) fn repair(directory: &Path, start: Position) -> Result<(Position, Option<Torn>), LogError> {
    let mut reader = Reader::open_at(directory, start, Bodies::All)?;
    let end = loop {
        match reader.next_frame() {
            Ok(Some(_)) => {}
            Ok(None) => break reader.position(),
            // A segment's own beginning is made durable before anything follows it: no crash explains this.
            Err(LogError::Damaged { position, .. }) if position > start => break position,
            Err(error) => return Err(error),
        }
    };
    let bytes = set_aside(directory, start, end).map_err(|error| LogError::of(directory, error))?;
    Ok((end, (bytes > 0).then_some(Torn { position: end, bytes })))
}

/// Copies what stands behind a position to a file of its own, then cuts it off; gives how much it was.
fn set_aside(directory: &Path, start: Position, end: Position) -> io::Result<u64> {
    let mut segment = segment::open_to_write(directory, start)?;
    if segment.metadata()?.len() == end - start {
        return Ok(0);
    }
    segment.seek(SeekFrom::Start(end - start))?;
    let (path, mut torn) = unused_name(directory, end)?;
    let copied = io::copy(&mut segment, &mut torn).and_then(|bytes| torn.sync_all().map(|()| bytes));
    let bytes = copied.inspect_err(|_| drop(fs::remove_file(&path)))?;
    segment::sync_directory(directory)?;
    segment.set_len(end - start)?;
    Ok(bytes)
}

/// Makes the file for what was torn at a position; pieces from earlier crashes at the same place are kept.
fn unused_name(directory: &Path, end: Position) -> io::Result<(PathBuf, File)> {
    for number in 0_u64.. {
        let path = directory.join(layout::torn_name(end, number));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
