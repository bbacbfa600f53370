//! Records of hosts that do not wait for space are written again when most of what lies around them is no longer in use: a file is
//! removed as a whole, and one host that rests for months would keep it.

use std::io;

use super::index::{Place, Wait};
use super::{Cold, Record, damaged_journal, put_before};
use crate::codec::number;

/// Bytes of files above which they are looked at, for each byte in use.
const SPARSE: u64 = 4;

/// Records that are looked at in one call, at most: a call takes milliseconds.
const AT_ONCE: usize = 1000;

impl Cold {
    /// Writes some of the oldest records that are in use again, if most of the bytes in the files are not in use.
    pub(crate) fn compact(&mut self) -> io::Result<()> {
        if !self.rested.is_sparse(self.compacted, SPARSE) {
            return Ok(());
        }
        for _ in 0..AT_ONCE {
            // What is left behind here waits for its turn in the other journal: its files become free then.
            let Some(position) = self.rested.first_in_full(self.compacted) else { break };
            let (content, next) = self.rested.read(position)?;
            let record = Record::parse(&content).ok_or_else(damaged_journal)?;
            self.compacted = next;
            self.rewrite(self.key(record.host), position)?;
        }
        Ok(())
    }

    /// Writes the records with a key again, if one of them lies at a position, and none waits for its turn in the other journal.
    fn rewrite(&mut self, key: u64, position: u64) -> io::Result<()> {
        if matches!(self.wait_of(key), None | Some(Wait::Space)) {
            return Ok(());
        }
        let chain = self.chain(key)?;
        let is_here = chain.iter().any(|(place, _)| place.position == position);
        if !is_here || chain.iter().any(|(place, _)| place.wait == Wait::Space) {
            return Ok(());
        }
        let mut before: Option<Place> = None;
        for (place, content) in chain.iter().rev() {
            let mut rest = &content[..];
            number(&mut rest).ok_or_else(damaged_journal)?;
            let mut again = Vec::with_capacity(content.len() + 8);
            put_before(&mut again, before);
            again.extend_from_slice(rest);
            before = Some(Place { wait: place.wait, position: self.rested.append(&again)? });
        }
        before.into_iter().for_each(|newest| self.index.moved(key, newest));
        for (place, content) in &chain {
            self.rested.free(place.position, content.len());
        }
        Ok(())
    }
}
