//! Going on after damage: the next whole frame is found by its checksum.

use lycosa_records::frame::{FRAME_HEADER_BYTES, Header};

use super::Reader;
use crate::error::LogError;
use crate::layout::SEGMENT_HEADER_BYTES;
use crate::segment;

/// The longest facts of a frame that is found by searching (10,000 links of 100 bytes). Bodies hold what strangers
/// wrote: without a limit, a page full of false headers would make each of its bytes cost a checksum of the segment.
const MAX_FACTS_BYTES: u32 = 1 << 20;

impl Reader {
    /// Goes on at the next whole frame behind damage, or at the log's end; gives how many bytes were passed over.
    ///
    /// Of a frame whose body alone is damaged, all is passed over. Where the damage is before, the next frame is
    /// searched for byte by byte, in this segment and then at the beginning of the next.
    pub fn skip_damage(&mut self) -> Result<u64, LogError> {
        let from = self.position;
        // At most once a call, so that a frame which is whole but cannot be decoded is passed as well.
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

    /// Goes to the next frame of this segment whose header and facts are as they were written.
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

    /// The header at the position, if one stands there that fits its facts and the segment.
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
