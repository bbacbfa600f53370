//! The file's layout and its header.
//!
//! | part | bytes |
//! |---|---|
//! | header: words of 64 bits in native byte order; words 0–15 are constant, word 16 is their checksum | 4,096 |
//! | generation of each writer ID | 4,096 |
//! | buckets | 128 each |
//! | small and large address sets | 32 and 96 each |
//! | generations of the negative filter | 8 a word |

use std::hash::Hasher as _;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

use lycosa_url::PUBLIC_SUFFIX_LIST;
use siphasher::sip::SipHasher13;

use super::bucket::{SLOTS, WORDS};
use super::key::TLD_DIGEST;
use super::record::MAX_CELLS;
use super::settings::{CompactSettings, Negative, Refusal, Verify};

/// The header.
pub(super) const HEADER: Range<u64> = 0..4_096;
/// The generations of the writer IDs, words of 32 bits.
pub(super) const GENERATIONS: Range<u64> = 4_096..8_192;
/// Writer IDs, of which 0 is unused.
pub(super) const WRITER_IDS: usize = 1_024;
/// Words of 64 bits of a small and of a large address set.
pub(super) const SET_WORDS: [usize; 2] = [4, 12];
/// Names per slot of a full cache.
const LOAD: f64 = 0.9;

/// The first word of a file.
const MAGIC: u64 = u64::from_be_bytes(*b"LycosaDN");
/// The first bytes of a file while it is created.
pub(super) const UNFINISHED: [u8; 8] = *b"LycosaNE";
/// The version of the layout and of the meaning of its bits.
const VERSION: u64 = 3;
/// Bytes of the constant words and their checksum.
pub(super) const FIXED_BYTES: usize = 17 * 8;

/// Header words that change.
pub(super) mod word {
    /// The minute of the last sweep.
    pub(in super::super) const SWEPT: usize = 24;
    /// The digest of the boot in which the file was last opened.
    pub(in super::super) const BOOT: usize = 25;
    /// 1 if everything was flushed and nothing written since.
    pub(in super::super) const CLEAN: usize = 26;
    /// Slots with addresses.
    pub(in super::super) const NAMES: usize = 27;
    /// Occupied slots.
    pub(in super::super) const USED: usize = 28;
    /// Cuts inserted since the last recount.
    pub(in super::super) const CUTS: usize = 29;
    /// The filter's current generation (8 bits) and the second at which it began (56 bits).
    pub(in super::super) const FILTER: usize = 30;
    /// Names in the filter's current generation.
    pub(in super::super) const FILLED: usize = 31;
}

/// The sizes of all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Buckets.
    pub(super) buckets: u64,
    /// Small and large address sets.
    pub(super) sets: [u64; 2],
    /// Generations of the filter; 1: the filter is cleared as a whole.
    pub(super) generations: u64,
    /// Words of a generation; 0: there is no filter.
    pub(super) filter_words: u64,
    /// Filter bits per name.
    pub(super) hashes: u64,
}

impl Layout {
    /// The layout for these settings.
    pub(super) fn of(settings: &CompactSettings) -> Self {
        let generations = match settings.negative {
            Negative::ClearAll => 1,
            Negative::Generations(count) => u64::from(count),
        };
        let names = settings.negative_capacity.unwrap_or(settings.capacity / 5);
        // Each generation gets its share of the error rate; a Bloom filter takes log2(1/rate) / ln 2 bits per name.
        let hashes = (generations as f64 / settings.false_positives).log2();
        let bits = names as f64 / generations as f64 * hashes / std::f64::consts::LN_2;
        let sets = [(settings.small_sets, 8), (settings.large_sets, 32)];
        Layout {
            buckets: ((settings.capacity as f64 / (LOAD * SLOTS as f64)).ceil() as u64).max(2),
            sets: sets.map(|(sets, share)| sets.unwrap_or((settings.capacity / share).max(64))),
            generations,
            filter_words: (bits / 64.0).ceil() as u64,
            hashes: (hashes.round() as u64).max(1),
        }
    }

    /// Whether some settings lead to this layout; otherwise the header is damaged.
    fn is_possible(&self) -> bool {
        (2..=1 << 32).contains(&self.buckets)
            && self.sets.iter().all(|&sets| sets <= MAX_CELLS)
            && (1..=16).contains(&self.generations)
            && self.filter_words <= 1 << 36
            && (1..=64).contains(&self.hashes)
    }

    /// Bytes of the file, in whole pages.
    pub(super) fn bytes(&self) -> u64 {
        self.filter_bytes().end.next_multiple_of(4_096)
    }

    /// The buckets, in bytes.
    pub(super) fn bucket_bytes(&self) -> Range<u64> {
        GENERATIONS.end..GENERATIONS.end + self.buckets * WORDS as u64 * 8
    }

    /// The small or large address sets, in bytes.
    #[inline]
    pub(super) fn set_bytes(&self, is_large: bool) -> Range<u64> {
        let start = self.bucket_bytes().end;
        let large = start + self.sets[0] * SET_WORDS[0] as u64 * 8;
        if is_large { large..large + self.sets[1] * SET_WORDS[1] as u64 * 8 } else { start..large }
    }

    /// The filter, in bytes, from a cache line on.
    pub(super) fn filter_bytes(&self) -> Range<u64> {
        let start = self.set_bytes(true).end.next_multiple_of(64);
        start..start + self.generations * self.filter_words * 8
    }
}

/// How an outdated file differs from what this program creates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outdated {
    /// It has this older version, with different filter bits.
    version: Option<u64>,
    /// It was made with another Public Suffix List.
    suffixes: bool,
    /// It was made with another list of top-level domains.
    tlds: bool,
}

/// What an upgrade of an outdated file preserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgrade {
    /// Everything. Names whose registered domain has changed are counted under the old one until they expire.
    KeepAll,
    /// Everything but the negative filter.
    KeepTable,
    /// Nothing: names would be found or counted as others.
    Reset,
}

impl Outdated {
    /// What the upgrade of a file with such keys preserves.
    pub(super) fn upgrade(self, verify: Verify) -> Upgrade {
        match self.version {
            _ if self.tlds || (self.suffixes && verify == Verify::Published) => Upgrade::Reset,
            Some(_) => Upgrade::KeepTable,
            None => Upgrade::KeepAll,
        }
    }

    /// The reason for refusing a file that may not be upgraded.
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Outdated { version: Some(found), .. } => Refusal::Version { found, known: VERSION },
            Outdated { tlds: true, .. } => Refusal::TopLevelDomains,
            _ => Refusal::SuffixList,
        }
    }
}

/// The constant part of the header: how the file was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// How names are compared.
    pub(super) verify: Verify,
    /// The secret of all hashes.
    pub(super) secret: [u64; 2],
    /// The number of names it is made for.
    pub(super) capacity: u64,
    /// The sizes of all parts.
    pub(super) layout: Layout,
    /// The retention of the negative filter, in seconds.
    pub(super) negative_ttl: u64,
}

impl FileHeader {
    /// The header of a new file.
    pub(super) fn new(settings: &CompactSettings) -> std::io::Result<Self> {
        let mut secret = settings.secret.unwrap_or_default();
        if settings.secret.is_none() {
            getrandom::fill(&mut secret)?;
        }
        Ok(FileHeader {
            verify: settings.verify,
            secret: secret_words(secret),
            capacity: settings.capacity,
            layout: Layout::of(settings),
            negative_ttl: settings.negative_ttl.into(),
        })
    }

    /// Writes it to memory; the magic word, which makes the file valid, last.
    pub(super) fn write(&self, header: &[AtomicU64]) {
        let words = self.words();
        header.iter().zip(words).skip(1).for_each(|(place, word)| place.store(word, Relaxed));
        header[0].store(words[0], Release);
    }

    /// The header as bytes.
    pub(super) fn to_bytes(self) -> [u8; FIXED_BYTES] {
        let mut bytes = [0; FIXED_BYTES];
        let (places, _) = bytes.as_chunks_mut::<8>();
        places.iter_mut().zip(self.words()).for_each(|(place, word)| *place = word.to_ne_bytes());
        bytes
    }

    /// Parses it from the first bytes of a file of `bytes`; also returns how the file is outdated.
    pub(super) fn read(start: &[u8; FIXED_BYTES], bytes: u64) -> Result<(Self, Option<Outdated>), Refusal> {
        let (chunks, _) = start.as_chunks::<8>();
        let words: [u64; 17] = std::array::from_fn(|index| u64::from_ne_bytes(chunks[index]));
        let [magic, version, verify, first, second, suffixes, tlds, capacity, layout @ .., _] = words;
        match magic {
            MAGIC if (1..=VERSION).contains(&version) => {}
            MAGIC => return Err(Refusal::Version { found: version, known: VERSION }),
            _ if magic.swap_bytes() == MAGIC => return Err(Refusal::ByteOrder),
            _ => return Err(Refusal::NoCache),
        }
        let [buckets, small, large, generations, filter_words, hashes, negative_ttl, should] = layout;
        let layout = Layout { buckets, sets: [small, large], generations, filter_words, hashes };
        let is_intact = words[16] == checksum(&words) && layout.is_possible();
        if !is_intact || negative_ttl == 0 || layout.bytes() != should {
            return Err(Refusal::Damaged);
        }
        if bytes < should {
            return Err(Refusal::Truncated { is: bytes, should });
        }
        let verify = if verify == 0 { Verify::Keyed } else { Verify::Published };
        let header = FileHeader { verify, secret: [first, second], capacity, layout, negative_ttl };
        let outdated = Outdated {
            version: Some(version).filter(|version| *version != VERSION),
            suffixes: suffixes != suffix_digest(),
            tlds: tlds != *TLD_DIGEST,
        };
        Ok((header, Some(outdated).filter(|outdated| *outdated != Outdated::default())))
    }

    /// Checks that it matches the settings.
    pub(super) fn check(&self, settings: &CompactSettings) -> Result<(), Refusal> {
        self.check_shared(settings)?;
        let (found, given) = (self.layout, Layout::of(settings));
        same("small_sets", found.sets[0], given.sets[0])?;
        same("large_sets", found.sets[1], given.sets[1])?;
        same("generations", found.generations, given.generations)?;
        same("negative_ttl", self.negative_ttl, settings.negative_ttl.into())?;
        same("words of the negative filter", found.filter_words, given.filter_words)?;
        same("hashes of the negative filter", found.hashes, given.hashes)
    }

    /// Checks capacity, verification and secret only.
    pub(super) fn check_shared(&self, settings: &CompactSettings) -> Result<(), Refusal> {
        if settings.secret.is_some_and(|secret| secret_words(secret) != self.secret) {
            return Err(Refusal::Secret);
        }
        same("verify", self.verify, settings.verify)?;
        same("capacity", self.capacity, settings.capacity)
    }

    /// The constant words and their checksum.
    fn words(&self) -> [u64; 17] {
        let Layout { buckets, sets: [small, large], generations, filter_words, hashes } = self.layout;
        let (verify, [first, second]) = (u64::from(self.verify == Verify::Published), self.secret);
        let how = [MAGIC, VERSION, verify, first, second, suffix_digest(), *TLD_DIGEST, self.capacity];
        let (ttl, bytes) = (self.negative_ttl, self.layout.bytes());
        let sizes = [buckets, small, large, generations, filter_words, hashes, ttl, bytes];
        let mut words = [0; 17];
        words.iter_mut().zip(how.into_iter().chain(sizes)).for_each(|(word, value)| *word = value);
        words[16] = checksum(&words);
        words
    }
}

/// A digest of the current boot of the machine.
pub(super) fn boot_digest() -> u64 {
    digest(&std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()) | 1
}

/// A digest of the compiled-in Public Suffix List.
fn suffix_digest() -> u64 {
    digest(PUBLIC_SUFFIX_LIST.digest.as_bytes())
}

/// A digest of bytes.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The checksum of the constant words.
fn checksum(words: &[u64; 17]) -> u64 {
    let mut hasher = SipHasher13::new();
    words[..16].iter().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

/// A secret as two words, the same on machines of both byte orders.
fn secret_words(secret: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(secret);
    [whole as u64, (whole >> 64) as u64]
}

/// Compares a setting with the file's.
fn same<T: PartialEq + std::fmt::Debug>(name: &'static str, found: T, given: T) -> Result<(), Refusal> {
    if found == given {
        return Ok(());
    }
    Err(Refusal::Setting { name, found: format!("{found:?}"), given: format!("{given:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_less_than_24_bytes_and_a_negative_one_the_documented_bits() {
        let names = 10_000_000;
        for (negative, bits) in [(Negative::ClearAll, 29.0), (Negative::Generations(4), 32.0)] {
            let negative_capacity = Some(names);
            let layout = Layout::of(&CompactSettings {
                capacity: names,
                negative_capacity,
                negative,
                ..CompactSettings::default()
            });
            assert!((layout.bucket_bytes().end as f64) < 24.0 * names as f64);
            let filter = layout.filter_bytes();
            assert!((filter.end - filter.start) as f64 * 8.0 <= bits * names as f64);
        }
    }

    #[test]
    fn parts_follow_each_other_and_are_aligned() {
        let layout = Layout::of(&CompactSettings { capacity: 12_345, ..CompactSettings::default() });
        let sets = [false, true].map(|is_large| layout.set_bytes(is_large));
        let parts = [&[layout.bucket_bytes()], &sets[..], &[layout.filter_bytes()]].concat();
        assert!(parts.windows(2).all(|two| two[0].end <= two[1].start));
        assert!(parts.iter().all(|part| part.start % 8 == 0));
        assert_eq!(layout.bucket_bytes().start % (WORDS as u64 * 8), 0);
        assert!(layout.bytes() >= layout.filter_bytes().end && layout.bytes().is_multiple_of(4_096));
    }
}
