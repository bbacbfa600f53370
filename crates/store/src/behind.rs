//! Frees the page cache from what the log has written long ago: nobody reads it soon, and a crawl that stores bodies would fill the
//! machine's memory with it. New pages of the cache then come from those, which the processor and a virtual machine's host have at hand.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::{Position, layout};

/// Bytes before the committed position that stay in the cache: outputs follow the log by seconds.
const KEPT: u64 = 256 << 20;

/// Bytes that are freed at once; a multiple of each page size.
const STEP: u64 = 8 << 20;

/// The segments whose pages are in the cache, the newest at the back. Their files are not kept open: one that is removed gives its space
/// back.
#[derive(Debug)]
pub(crate) struct Behind {
    directory: PathBuf,
    segments: VecDeque<Cached>,
}

/// The start of a segment, and the offset up to which it has been freed.
#[derive(Debug)]
struct Cached {
    start: Position,
    freed: u64,
}

impl Behind {
    /// Behind the commits of a log.
    pub(crate) fn new(directory: &Path) -> Self {
        Behind { directory: directory.to_owned(), segments: VecDeque::new() }
    }

    /// The log is on the disk up to a position of its newest segment, which has this start.
    pub(crate) fn committed(&mut self, start: Position, committed: Position) {
        if self.segments.back().is_none_or(|newest| newest.start != start) {
            self.segments.push_back(Cached { start, freed: 0 });
        }
        let until = committed.saturating_sub(KEPT);
        while let Some(oldest) = self.segments.front_mut() {
            let offset = until.saturating_sub(oldest.start) / STEP * STEP;
            oldest.free(&self.directory, offset);
            let is_over = self.segments.get(1).is_some_and(|next| next.start <= until);
            if !is_over {
                break;
            }
            if let Some(mut oldest) = self.segments.pop_front() {
                oldest.free(&self.directory, u64::MAX);
            }
        }
    }
}

impl Cached {
    /// Frees up to an offset. It is advice: an error changes nothing but the memory.
    fn free(&mut self, directory: &Path, offset: u64) {
        if offset <= self.freed {
            return;
        }
        // A length of 0 reaches to the end of the file.
        let length = if offset == u64::MAX { 0 } else { offset - self.freed };
        let file = File::open(directory.join(layout::segment_name(self.start)));
        if let (Ok(file), Ok(from), Ok(length)) = (file, self.freed.try_into(), length.try_into()) {
            let _ = posix_fadvise(&file, from, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        }
        self.freed = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset up to which each segment has been freed.
    fn freed(behind: &Behind) -> Vec<(Position, u64)> {
        behind.segments.iter().map(|cached| (cached.start, cached.freed)).collect()
    }

    #[test]
    fn what_is_far_behind_the_committed_position_is_freed_once_in_whole_steps() {
        let (first, second) = (0, 300 << 20);
        let mut behind = Behind::new(Path::new("removed"));
        behind.committed(first, KEPT + STEP - 1);
        assert_eq!(freed(&behind), [(0, 0)]);
        behind.committed(first, KEPT + 2 * STEP + 5);
        assert_eq!(freed(&behind), [(0, 2 * STEP)]);
        behind.committed(second, second + KEPT - 1);
        assert_eq!(freed(&behind), [(0, 296 << 20), (300 << 20, 0)], "the end of the first is too near");
        behind.committed(second, second + KEPT + STEP);
        assert_eq!(freed(&behind), [(300 << 20, STEP)]);
    }
}
