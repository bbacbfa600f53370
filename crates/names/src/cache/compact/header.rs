//! The first page of a file: what it is, how it was made, and counts that all processes share.
//!
//! Words of 64 bits, in the byte order of the machine. Words 0–16 never change and have a checksum.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lycosa_url::PUBLIC_SUFFIX_LIST;
use siphasher::sip::SipHasher13;

use super::error::Refusal;
use super::key;
use super::layout::Layout;
use super::settings::{CompactSettings, Verify};
use std::hash::Hasher as _;

/// What a file begins with, on a machine of the same byte order.
const MAGIC: u64 = u64::from_be_bytes(*b"LycosaDN");
/// What a file begins with while it is being made.
pub(super) const UNFINISHED: [u8; 8] = *b"LycosaNE";
/// The version of the layout and of what bits mean.
const VERSION: u64 = 3;
/// Words that never change; the checksum follows.
const FIXED: usize = 16;
/// Bytes that [`Made::read`] needs.
pub(super) const FIXED_BYTES: usize = (FIXED + 1) * 8;

/// In what a file is of before: what this program makes differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outdated {
    /// It has this version of before, whose filter had other bits; all else was the same.
    pub(super) version: Option<u64>,
    /// It was made with another Public Suffix List.
    pub(super) suffixes: bool,
    /// It was made with another table of top-level domains.
    pub(super) tops: bool,
}

/// What of an outdated file can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Everything: names are found by a hash that knows no list. Those whose registered domain is another one now are counted
    /// under the old one until they expire.
    All,
    /// Everything but the negative filter.
    Table,
    /// Nothing: names would be found, or counted, as others.
    Nothing,
}

impl Outdated {
    /// What can be kept of a file that compares names like that.
    pub(super) fn keeps(self, verify: Verify) -> Kept {
        match () {
            () if self.tops || (self.suffixes && verify == Verify::Published) => Kept::Nothing,
            () if self.version.is_some() => Kept::Table,
            () => Kept::All,
        }
    }

    /// What is outdated, as who only looks at a file is told.
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Outdated { version: Some(found), .. } => Refusal::Version { found, known: VERSION },
            Outdated { tops: true, .. } => Refusal::TopLevelDomains,
            _ => Refusal::SuffixList,
        }
    }
}

/// How a file was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// How names are compared.
    pub(super) verify: Verify,
    /// What keys all hashes.
    pub(super) secret: [u64; 2],
    /// Names it is made for.
    pub(super) capacity: u64,
    /// Where everything lies.
    pub(super) layout: Layout,
    /// How long a name stays in the filter, in seconds.
    pub(super) negative_ttl: u64,
}

impl Made {
    /// How a new file is made.
    pub(super) fn new(settings: &CompactSettings) -> std::io::Result<Self> {
        let mut secret = settings.secret.unwrap_or_default();
        if settings.secret.is_none() {
            getrandom::fill(&mut secret)?;
        }
        Ok(Made {
            verify: settings.verify,
            secret: words_of(secret),
            capacity: settings.capacity,
            layout: Layout::of(settings),
            negative_ttl: settings.negative_ttl.into(),
        })
    }

    /// Writes it; the word that makes it a cache comes last.
    pub(super) fn write(&self, header: &[AtomicU64]) {
        let words = self.words();
        for (place, word) in header.iter().zip(words).skip(1) {
            place.store(word, Relaxed);
        }
        header[FIXED].store(checksum(&words), Relaxed);
        header[0].store(MAGIC, Release);
    }

    /// The start of a file that is made like that by this program.
    pub(super) fn start(&self) -> [u8; FIXED_BYTES] {
        let (words, mut start) = (self.words(), [0; FIXED_BYTES]);
        let (places, _) = start.as_chunks_mut::<8>();
        let all = words.into_iter().chain([checksum(&words)]);
        places.iter_mut().zip(all).for_each(|(place, word)| *place = word.to_ne_bytes());
        start
    }

    /// Reads it from the start of a file of that many bytes; tells in what the file is outdated.
    pub(super) fn read(start: &[u8; FIXED_BYTES], bytes: u64) -> Result<(Self, Option<Outdated>), Refusal> {
        let (chunks, _) = start.as_chunks::<8>();
        let mut words = [0; FIXED + 1];
        words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u64::from_ne_bytes(*chunk));
        let fixed: [u64; FIXED] = std::array::from_fn(|index| words[index]);
        match fixed {
            [MAGIC, version, ..] if (1..=VERSION).contains(&version) => {}
            [MAGIC, found, ..] => return Err(Refusal::Version { found, known: VERSION }),
            [magic, ..] if magic.swap_bytes() == MAGIC => return Err(Refusal::ByteOrder),
            _ => return Err(Refusal::NoCache),
        }
        if words[FIXED] != checksum(&fixed) {
            return Err(Refusal::Damaged);
        }
        let [
            ..,
            psl,
            tlds,
            capacity,
            buckets,
            small,
            large,
            generations,
            filter_words,
            hashes,
            negative_ttl,
            should,
        ] = fixed;
        let verify = if fixed[2] == 0 { Verify::Keyed } else { Verify::Published };
        let layout = Layout { buckets, small, large, generations, filter_words, hashes };
        let made = Made { verify, secret: [fixed[3], fixed[4]], capacity, layout, negative_ttl };
        let outdated = Outdated {
            version: Some(fixed[1]).filter(|version| *version != VERSION),
            suffixes: psl != suffix_digest(),
            tops: tlds != *key::TABLE_DIGEST,
        };
        match () {
            () if !layout.is_possible() || negative_ttl == 0 || layout.bytes() != should => {
                Err(Refusal::Damaged)
            }
            () if bytes < should => Err(Refusal::Truncated { is: bytes, should }),
            () => Ok((made, Some(outdated).filter(|outdated| *outdated != Outdated::default()))),
        }
    }

    /// Checks that it is what settings ask for.
    pub(super) fn fits(&self, settings: &CompactSettings) -> Result<(), Refusal> {
        self.can_be_shared(settings)?;
        let (is, asked) = (self.layout, Layout::of(settings));
        same("small_sets", is.small, asked.small)?;
        same("large_sets", is.large, asked.large)?;
        same("generations", is.generations, asked.generations)?;
        same("negative_ttl", self.negative_ttl, settings.negative_ttl.into())?;
        same("words of the negative filter", is.filter_words, asked.filter_words)?;
        same("hashes of the negative filter", is.hashes, asked.hashes)
    }

    /// Checks that it holds the names that settings ask for, whatever else it was made with.
    pub(super) fn can_be_shared(&self, settings: &CompactSettings) -> Result<(), Refusal> {
        if settings.secret.is_some_and(|secret| words_of(secret) != self.secret) {
            return Err(Refusal::Secret);
        }
        if self.verify != settings.verify {
            let (found, given) = (format!("{:?}", self.verify), format!("{:?}", settings.verify));
            return Err(Refusal::Setting { name: "verify", found, given });
        }
        same("capacity", self.capacity, settings.capacity)
    }

    /// The words that never change.
    fn words(&self) -> [u64; FIXED] {
        let Layout { buckets, small, large, generations, filter_words, hashes } = self.layout;
        let verify = u64::from(self.verify == Verify::Published);
        let [first, second] = self.secret;
        let (psl, tlds, bytes) = (suffix_digest(), *key::TABLE_DIGEST, self.layout.bytes());
        [
            MAGIC,
            VERSION,
            verify,
            first,
            second,
            psl,
            tlds,
            self.capacity,
            buckets,
            small,
            large,
            generations,
            filter_words,
            hashes,
            self.negative_ttl,
            bytes,
        ]
    }
}

/// Words of the header that change.
#[derive(Clone, Copy)]
pub(super) struct Live<'m>(pub(super) &'m [AtomicU64]);

impl<'m> Live<'m> {
    /// The minute of the last sweep.
    pub(super) fn swept(self) -> &'m AtomicU64 {
        &self.0[24]
    }

    /// Since when the machine runs on which somebody has had the file open, as a digest.
    pub(super) fn boot(self) -> &'m AtomicU64 {
        &self.0[25]
    }

    /// 1 when all was brought to the disk and nothing written since.
    pub(super) fn clean(self) -> &'m AtomicU64 {
        &self.0[26]
    }

    /// Names with addresses.
    pub(super) fn names(self) -> &'m AtomicU64 {
        &self.0[27]
    }

    /// Slots in use.
    pub(super) fn used(self) -> &'m AtomicU64 {
        &self.0[28]
    }

    /// Cuts that were put in since the last count.
    pub(super) fn cuts(self) -> &'m AtomicU64 {
        &self.0[29]
    }

    /// The filter's newest generation (8 bits) and the second at which it began.
    pub(super) fn generation(self) -> &'m AtomicU64 {
        &self.0[30]
    }

    /// Names in the filter's newest generation.
    pub(super) fn filled(self) -> &'m AtomicU64 {
        &self.0[31]
    }

    /// Adds to a count, which stays at 0 rather than below.
    pub(super) fn add(count: &AtomicU64, by: i64) {
        if by != 0 {
            let changed = |count: u64| Some(count.saturating_add_signed(by));
            let _ = count.fetch_update(Relaxed, Relaxed, changed);
        }
    }

    /// Whether the file was left by a machine that did not stop in order: parts of it may be older than others.
    pub(super) fn is_doubtful(self, boot: u64) -> bool {
        self.clean().load(Acquire) != 1 && self.boot().load(Acquire) != boot
    }
}

/// A digest of this start of the machine.
pub(super) fn boot_digest() -> u64 {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    digest(&id) | 1
}

/// A digest of the Public Suffix List that is compiled in.
fn suffix_digest() -> u64 {
    digest(PUBLIC_SUFFIX_LIST.digest.as_bytes())
}

/// A digest of bytes.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The checksum of words.
fn checksum(words: &[u64; FIXED]) -> u64 {
    let mut hasher = SipHasher13::new();
    words.iter().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

/// A secret as two words, the same on machines of both byte orders.
fn words_of(secret: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(secret);
    [whole as u64, (whole >> 64) as u64]
}

/// Compares a setting with what a file was made with.
fn same(name: &'static str, found: u64, given: u64) -> Result<(), Refusal> {
    if found == given {
        Ok(())
    } else {
        Err(Refusal::Setting { name, found: found.to_string(), given: given.to_string() })
    }
}
