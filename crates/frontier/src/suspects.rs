//! Links whose keys may be known on disk: packed, until the dedup tree decides (the sieve of SYSTEMS.md section 5's
//! relatives, DRUM and Mercator). Nearly all of them are known, so that no host waits for them.

use lycosa_url::{Digest, Micros};

use crate::codec;
use crate::waiting::{Candidate, Waiting, pack};

/// How long a link is suspected, at most, while other URLs wait.
const LONGEST: Micros = 1_000_000;

/// Suspected links, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// One after the other: the key, how many bytes follow, host and link.
    packed: Vec<u8>,
    /// The link that is being packed; stored for its memory.
    link: Vec<u8>,
    due: Option<Micros>,
}

impl Suspects {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.packed.capacity()
    }

    /// When they are to be decided, at the latest.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        self.due
    }

    /// Takes a link.
    pub(crate) fn push(&mut self, key: &Digest, link: &Candidate<'_>, now: Micros) {
        self.due.get_or_insert(now.saturating_add(LONGEST));
        self.link.clear();
        codec::put_bytes(&mut self.link, link.url.host().as_bytes());
        pack(&mut self.link, link, (0, 0));
        self.packed.extend_from_slice(key);
        codec::put_bytes(&mut self.packed, &self.link);
    }

    /// Takes them all; none are left.
    pub(crate) fn take(&mut self) -> Taken {
        self.due = None;
        Taken { packed: std::mem::take(&mut self.packed), at: 0 }
    }
}

/// The links that were suspected, one by one.
pub(crate) struct Taken {
    packed: Vec<u8>,
    at: usize,
}

impl Taken {
    /// The next one whose key is new, and how many before it were known.
    pub(crate) fn next_new(&mut self, is_new: impl Fn(&Digest) -> bool) -> (u64, Option<Waiting>) {
        let mut known = 0;
        while let Some((key, mut link)) = self.next() {
            if is_new(&key) {
                let host = codec::text(&mut link);
                return (known, host.and_then(|host| Waiting::unpack(host, &mut link)));
            }
            known += 1;
        }
        (known, None)
    }

    /// The next one, packed: most are known, and not worth unpacking.
    fn next(&mut self) -> Option<(Digest, &[u8])> {
        let rest = self.packed.get(self.at..)?;
        let (key, mut rest) = rest.split_first_chunk::<16>()?;
        let link = codec::bytes(&mut rest)?;
        self.at = self.packed.len() - rest.len();
        Some((*key, link))
    }
}
