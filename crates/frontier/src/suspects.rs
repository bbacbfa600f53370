//! Links whose keys may be known on disk: packed, until the dedup tree tells (the sieve of SYSTEMS.md section 5's
//! relatives, DRUM and Mercator). Nearly all of them are known, so that no host waits for them.

use lycosa_url::{CrawlUrl, Digest, Micros, Step};

use crate::codec;
use crate::waiting::{Waiting, pack};

/// How long a link is suspected, at most, while other URLs wait.
const LONGEST: Micros = 1_000_000;

/// Suspected links, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    packed: Vec<u8>,
    due: Option<Micros>,
}

impl Suspects {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.packed.capacity()
    }

    /// When they are to be decided, at the latest.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        self.due
    }

    /// Takes a link.
    pub(crate) fn push(&mut self, key: &Digest, url: &CrawlUrl, depth: u32, chain: &[Step], now: Micros) {
        self.due.get_or_insert(now.saturating_add(LONGEST));
        self.packed.extend_from_slice(key);
        codec::put_bytes(&mut self.packed, url.host().as_bytes());
        pack(&mut self.packed, url, depth, 0, chain);
    }

    /// Gives them all, with their keys; none are left.
    pub(crate) fn drain(&mut self) -> Drain {
        self.due = None;
        Drain { packed: std::mem::take(&mut self.packed), at: 0 }
    }
}

/// The links that were suspected, one by one.
pub(crate) struct Drain {
    packed: Vec<u8>,
    at: usize,
}

impl Iterator for Drain {
    type Item = (Digest, Waiting);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.packed.get(self.at..)?;
        let (key, after) = rest.split_first_chunk::<16>()?;
        rest = after;
        let host = codec::text(&mut rest)?;
        let waiting = Waiting::unpack(host, &mut rest)?;
        let key = *key;
        self.at = self.packed.len() - rest.len();
        Some((key, waiting))
    }
}
