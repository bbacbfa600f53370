//! Segment files in the log's directory: listing, creating and removing them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::Position;
use crate::disk::Disk;
use crate::error::LogError;
use crate::layout::{self, SEGMENT_HEADER_BYTES, SegmentHeader};

/// First position of a log: the start of its oldest segment. Above 0 after retention has removed segments.
pub fn first_position(directory: &Path) -> Result<Position, LogError> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no log in this directory");
    let first = starts(directory).map(|starts| starts.first().copied());
    first.and_then(|first| first.ok_or_else(missing)).map_err(|error| LogError::of(directory, error))
}

/// Start positions of a directory's segments, in order.
pub(crate) fn starts(directory: &Path) -> io::Result<Vec<Position>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(".log"));
        let start =
            digits.filter(|digits| digits.len() == 20).and_then(|digits| digits.parse::<Position>().ok());
        starts.extend(start);
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Creates the segment that starts at a position, durably. An existing file of that name is overwritten: only a
/// failed attempt can have left it.
pub(crate) fn create(directory: &Path, start: Position, disk: &Disk) -> io::Result<File> {
    let path = directory.join(layout::segment_name(start));
    let make = || {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        disk.write(&file, &layout::segment_header(), 0)?;
        disk.sync(&file)?;
        sync_directory(directory)?;
        Ok(file)
    };
    make().inspect_err(|_| drop(fs::remove_file(&path)))
}

/// Whether a segment is of the previous version, which is read-only.
pub(crate) fn is_before(segment: &File) -> io::Result<bool> {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    segment.read_exact_at(&mut header, 0)?;
    Ok(layout::read_segment_header(&header) == SegmentHeader::Before)
}

/// Opens an existing segment for writing.
pub(crate) fn open_to_write(directory: &Path, start: Position) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(directory.join(layout::segment_name(start)))
}

/// Removes trailing segments that a crash left without a header; they contain no frames.
pub(crate) fn remove_unbegun(directory: &Path, starts: &mut Vec<Position>) -> io::Result<()> {
    while let Some(start) = starts.last() {
        let path = directory.join(layout::segment_name(*start));
        if fs::metadata(&path)?.len() > SEGMENT_HEADER_BYTES as u64 {
            break;
        }
        let bytes = fs::read(&path)?;
        if matches!(layout::read_segment_header(&bytes), SegmentHeader::Current | SegmentHeader::Before) {
            break;
        }
        if bytes.len() == SEGMENT_HEADER_BYTES && bytes.iter().any(|byte| *byte != 0) {
            break;
        }
        fs::remove_file(path)?;
        starts.pop();
    }
    Ok(())
}

/// Returns the first position where a segment does not end at the start of the next one.
pub(crate) fn gap(directory: &Path, starts: &[Position]) -> io::Result<Option<Position>> {
    for pair in starts.windows(2) {
        let [start, next] = pair else { continue };
        let end = start + fs::metadata(directory.join(layout::segment_name(*start)))?.len();
        if end != *next {
            return Ok(Some(end.min(*next)));
        }
    }
    Ok(None)
}

/// Makes creations and removals in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
