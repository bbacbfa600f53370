//! Repair after a crash: the torn tail of the log is moved to a file of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::Position;
use crate::error::LogError;
use crate::layout;
use crate::reader::{Bodies, Reader};
use crate::segment;

/// The torn tail that was cut off when a log was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its position, now the log's end.
    pub position: Position,
    /// Its length.
    pub bytes: u64,
    /// Whether it has intact frames: then it is not what a killed process leaves, but damage, or a power cut.
    pub has_frames: bool,
}

/// Cuts off the newest segment from its first frame on that is not intact, and returns the resulting end of the
/// log.
pub(crate) fn repair(directory: &Path, start: Position) -> Result<(Position, Option<Torn>), LogError> {
    let mut reader = Reader::open_at(directory, start, Bodies::All)?;
    let (end, has_frames) = loop {
        match reader.next_frame() {
            Ok(Some(_)) => {}
            Ok(None) => break (reader.position(), false),
            // A segment header is durable before any frame follows: a crash cannot damage it.
            Err(LogError::Damaged { position, .. }) if position > start => {
                reader.skip_damage()?;
                break (position, matches!(reader.next_frame(), Ok(Some(_))));
            }
            Err(error) => return Err(error),
        }
    };
    let bytes = set_aside(directory, start, end).map_err(|error| LogError::of(directory, error))?;
    Ok((end, (bytes > 0).then_some(Torn { position: end, bytes, has_frames })))
}

/// Copies everything after a position to a file of its own, truncates the segment, and returns the number of bytes.
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

/// Creates the file for the torn tail at a position; files of earlier crashes at that position are kept.
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
