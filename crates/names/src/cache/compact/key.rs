//! What a name becomes: the hash by which it is found, and the fields by which names are counted.

use std::hash::Hasher as _;
use std::sync::LazyLock;

use hashbrown::HashMap;
use lycosa_url::registered_domain;
use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher13 as SipHasher128};

use super::settings::Verify;
use super::slot::{Slot, families_bits};
use crate::settings::Families;

/// The top-level domains, the one with code 1 first.
pub(super) static TOP_LEVEL: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("tlds.txt").lines().filter(|line| !line.starts_with('#')).collect());

/// The code of a top-level domain that is not in the list.
pub(super) const UNKNOWN: u16 = 0;

/// Codes by top-level domain.
static CODES: LazyLock<HashMap<&'static str, u16>> =
    LazyLock::new(|| TOP_LEVEL.iter().copied().zip(1..).collect());

/// The code of a top-level domain.
pub(super) fn code(top: &str) -> u16 {
    CODES.get(top).copied().unwrap_or(UNKNOWN)
}

/// A digest of the table, kept in files: codes are of use only with the table they were taken from.
pub(super) static TABLE_DIGEST: LazyLock<u64> = LazyLock::new(|| {
    let mut hasher = SipHasher13::new();
    TOP_LEVEL.iter().for_each(|top| hasher.write(top.as_bytes()));
    hasher.write_usize(TOP_LEVEL.len());
    hasher.finish()
});

/// By what a name is found: one part picks its buckets, the other is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    /// Picks the first bucket.
    pub(super) pick: u64,
    /// Is compared, and picks the second bucket together with the first.
    pub(super) verify: u64,
    /// The third part of the published key, the top-level domain; the keyed one has none.
    pub(super) tld: Option<u16>,
}

impl Key {
    /// Whether a slot with the key's verifying word is the name's.
    #[inline]
    pub(super) fn fits(&self) -> impl Fn(&Slot) -> bool + use<> {
        let tld = self.tld;
        move |slot: &Slot| tld.is_none_or(|tld| tld == slot.meta.tld())
    }
}

/// By what names are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// The code of the top-level domain.
    pub(super) tld: u16,
    /// murmur3_32 of the registered domain less its top-level domain.
    pub(super) label: u32,
}

impl Fields {
    /// The fields of a name in normal form.
    pub(super) fn of(name: &str) -> Self {
        let domain = registered_domain(name);
        let (label, top) = domain.rsplit_once('.').unwrap_or(("", domain));
        Fields { tld: code(top), label: murmur3(label.as_bytes()) }
    }

    /// Both in one number, by which ranges are told: 12 bits, then 32.
    pub(super) fn number(self) -> u64 {
        u64::from(self.tld) << 32 | u64::from(self.label)
    }
}

/// Makes keys of names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    /// 128 bits that nobody outside knows.
    pub(super) secret: [u64; 2],
    /// Which key.
    pub(super) verify: Verify,
}

impl Keys {
    /// The key of a name in normal form.
    #[inline]
    pub(super) fn of(&self, name: &str) -> Key {
        match self.verify {
            Verify::Keyed => self.whole(name),
            Verify::Published => published(name),
        }
    }

    /// The keyed hash of the whole name, SipHash-1-3 of 128 bits, whatever the mode.
    #[inline]
    pub(super) fn whole(&self, name: &str) -> Key {
        let mut hasher = SipHasher128::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write(name.as_bytes());
        let hash = hasher.finish128();
        Key { pick: hash.h1, verify: hash.h2, tld: None }
    }

    /// The key under which stands that a family of the name's addresses could not be resolved: another one than the name's, so
    /// that a failure takes no answer's slot. Both words are mixed reversibly: no more names share one than share the name's.
    pub(super) fn of_failure(&self, name: &str, families: Families) -> Key {
        let Key { pick, verify, tld } = self.of(name);
        let salt = (u64::from(families_bits(families)) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Key { pick: mix(pick ^ salt), verify: mix(verify ^ salt), tld }
    }

    /// The hash of addresses.
    pub(super) fn of_words(&self, words: &[u32]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.secret[0], !self.secret[1]);
        words.iter().for_each(|&word| hasher.write_u32(word));
        hasher.finish()
    }
}

/// The key as published: hash12(TLD) ‖ murmur3_32(registered label) ‖ murmur3_32(rest), 76 bits that are all there is. The
/// label is the first of the registered domain, so that `foo.co.uk` and `foo.org.uk` are one key.
fn published(name: &str) -> Key {
    let domain = registered_domain(name);
    let rest = name[..name.len() - domain.len()].trim_end_matches('.');
    let label = domain.split('.').next().unwrap_or_default();
    let tld = code(domain.rsplit('.').next().unwrap_or_default());
    let verify = u64::from(murmur3(label.as_bytes())) << 32 | u64::from(murmur3(rest.as_bytes()));
    // Spreads the 76 bits over buckets; it neither adds nor hides anything.
    let pick = mix(
        (verify ^ u64::from(tld).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15)
    );
    Key { pick, verify, tld: Some(tld) }
}

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014): each number becomes another one.
fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// MurmurHash3, x86, 32 bits, seed 0 (Austin Appleby, public domain).
pub(super) fn murmur3(bytes: &[u8]) -> u32 {
    let scramble = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(0u32, |hash, word| {
        (hash ^ scramble(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !tail.is_empty() {
        let mut word = [0; 4];
        word[..tail.len()].copy_from_slice(tail);
        hash ^= scramble(u32::from_le_bytes(word));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur3_is_the_published_one() {
        for (text, hash) in
            [("", 0), ("a", 0x3c25_69b2), ("test", 0xba6b_d213), ("Hello, world!", 0xc036_3e43)]
        {
            assert_eq!(murmur3(text.as_bytes()), hash, "{text}");
        }
        assert_eq!(murmur3(b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }

    #[test]
    fn top_level_domains_are_numbered_in_order() {
        let all = &*TOP_LEVEL;
        assert!(all.is_sorted() && all.len() > 1_400 && all.len() < 4_096);
        for top in ["com", "uk", "xn--p1ai"] {
            assert_eq!(all[usize::from(code(top)) - 1], top);
        }
        assert_eq!(code("nonsense"), UNKNOWN);
    }

    #[test]
    fn every_label_of_the_registered_domain_counts() {
        let fields = |name| Fields::of(name);
        assert_eq!(fields("www.foo.co.uk"), Fields { tld: code("uk"), label: murmur3(b"foo.co") });
        assert_eq!(fields("foo.co.uk"), fields("a.b.foo.co.uk"));
        assert_ne!(fields("foo.co.uk"), fields("foo.org.uk"));
        assert_eq!(fields("host.nonsense").tld, UNKNOWN);
        assert_eq!(fields("com"), Fields { tld: code("com"), label: 0 });
    }

    #[test]
    fn the_published_key_confuses_what_it_is_said_to_confuse() {
        let published = Keys { secret: [1, 2], verify: Verify::Published };
        assert_eq!(published.of("www.foo.co.uk"), published.of("www.foo.org.uk"));
        assert_ne!(published.of("www.foo.co.uk"), published.of("foo.co.uk"));
        let keyed = Keys { secret: [1, 2], verify: Verify::Keyed };
        assert_ne!(keyed.of("www.foo.co.uk"), keyed.of("www.foo.org.uk"));
        assert_ne!(keyed.of("www.foo.co.uk"), Keys { secret: [1, 3], ..keyed }.of("www.foo.co.uk"));
    }
}
