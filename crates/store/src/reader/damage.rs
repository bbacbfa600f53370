//! Resuming after damage: the next intact frame is found by its checksum.

use lycosa_records::frame::{FRAME_HEADER_BYTES, Header};

use super::Reader;
use crate::error::LogError;
use crate::layout::SEGMENT_HEADER_BYTES;
use crate::segment;

/// Maximum length of facts in a frame found by searching (10,000 links of 100 bytes). Bodies are untrusted: without
/// a limit, each byte of a page full of false headers would cost a checksum over the segment.
const MAX_FACTS_BYTES: u32 = 1 << 20;

impl Reader {
    /// Skips to the next intact frame after damage, or to the log's end; returns the number of bytes skipped.
    ///
    /// A frame with a damaged body only is skipped as a whole. If its header or facts are damaged, the next frame is
    /// searched byte by byte in this segment, else taken from the start of the next.
    pub fn skip_damage(&mut self) -> Result<u64, LogError> {
        let from = self.position;
        // First, so that an intact frame that cannot be decoded is skipped too.
        if let Some(header) = self.whole_header(u32::MAX)? {
            self.position += header.frame_bytes();
        } else if !self.search_segment()? {
            let starts = segment::starts(&self.directory).map_err(|error| self.io(error))?;
            match starts.into_iter().find(|start| *start > self.start && *start < self.limit()) {
                Some(next) => self.enter(next)?,
                None => self.position = (self.start + self.length).min(self.limit()).max(from),
            }
        }
        Ok(self.position.saturating_sub(from))
    }

    /// Moves to the next frame of this segment with an intact header and facts.
    fn search_segment(&mut self) -> Result<bool, LogError> {
        self.position += if self.position == self.start { SEGMENT_HEADER_BYTES as u64 } else { 1 };
        while self.has(FRAME_HEADER_BYTES as u64)? {
            if self.whole_header(MAX_FACTS_BYTES)?.is_some() {
                return Ok(true);
            }
            self.position += 1;
        }
        Ok(false)
    }

    /// Returns the header at the position if it fits the segment and its facts match their checksum.
    fn whole_header(&mut self, max_facts: u32) -> Result<Option<Header>, LogError> {
        if self.position == self.start || !self.has(FRAME_HEADER_BYTES as u64)? {
            return Ok(None);
        }
        let Some(header) = Header::read(self.peek()?) else { return Ok(None) };
        if header.facts > max_facts || !self.has(header.frame_bytes())? {
            return Ok(None);
        }
        let bytes = self.bytes(FRAME_HEADER_BYTES + header.facts as usize)?;
        Ok(header.fits_facts(bytes).then_some(header))
    }
}
