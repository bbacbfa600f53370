//! The hash by which a name is found, and the fields by which names are counted.

use std::hash::Hasher as _;
use std::sync::LazyLock;

use hashbrown::HashMap;
use lycosa_url::registered_domain;
use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher13 as SipHasher128};

use super::record::{Slot, families_bits};
use super::settings::Verify;
use crate::settings::Families;

/// 2^64 divided by the golden ratio: the multiplier of Fibonacci hashing.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The top-level domains in the order of their codes, from 1.
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

/// A digest of the list of top-level domains, stored in the file: codes are valid only with the list they were taken from.
pub(super) static TLD_DIGEST: LazyLock<u64> = LazyLock::new(|| {
    let mut hasher = SipHasher13::new();
    TOP_LEVEL.iter().for_each(|top| hasher.write(top.as_bytes()));
    hasher.write_usize(TOP_LEVEL.len());
    hasher.finish()
});

/// The hash of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NameKey {
    /// Selects the first bucket.
    pub(super) pick: u64,
    /// Is compared and, with the first bucket, selects the second.
    pub(super) verify: u64,
    /// The top-level domain, which only the published key compares.
    pub(super) tld: Option<u16>,
}

impl NameKey {
    /// Returns a test whether a slot with this key's `verify` word belongs to the name.
    #[inline]
    pub(super) fn matches(&self) -> impl Fn(&Slot) -> bool + use<> {
        let tld = self.tld;
        move |slot: &Slot| tld.is_none_or(|tld| tld == slot.meta.tld())
    }

    /// The key of failures of one family of the name: a bijection of this one, so that collisions are as rare.
    pub(super) fn of_failure(&self, family: Families) -> (u64, u64) {
        let salt = (u64::from(families_bits(family)) + 1).wrapping_mul(GOLDEN);
        (mix(self.pick ^ salt), mix(self.verify ^ salt))
    }
}

/// The fields by which names are counted and scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DomainCode {
    /// The code of the top-level domain.
    pub(super) tld: u16,
    /// murmur3_32 of the registered domain less its top-level domain.
    pub(super) label: u32,
}

impl DomainCode {
    /// The fields of a normalised name.
    pub(super) fn of(name: &str) -> Self {
        let domain = registered_domain(name);
        let (label, top) = domain.rsplit_once('.').unwrap_or(("", domain));
        DomainCode { tld: code(top), label: murmur3(label.as_bytes()) }
    }

    /// Both in one number, by which ranges are ordered: 12 bits, then 32.
    pub(super) fn number(self) -> u64 {
        u64::from(self.tld) << 32 | u64::from(self.label)
    }
}

/// Hashes names.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHasher {
    /// The 128-bit secret.
    pub(super) secret: [u64; 2],
    /// Which key to make.
    pub(super) verify: Verify,
}

impl KeyHasher {
    /// The key of a normalised name.
    #[inline]
    pub(super) fn of(&self, name: &str) -> NameKey {
        match self.verify {
            Verify::Keyed => self.keyed(name),
            Verify::Published => published(name),
        }
    }

    /// The keyed hash of the whole name, SipHash-1-3 of 128 bits, in either mode.
    #[inline]
    pub(super) fn keyed(&self, name: &str) -> NameKey {
        let mut hasher = SipHasher128::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write(name.as_bytes());
        let hash = hasher.finish128();
        NameKey { pick: hash.h1, verify: hash.h2, tld: None }
    }

    /// The keyed hash of a name whose key is known.
    #[inline]
    pub(super) fn as_keyed(&self, name: &str, key: &NameKey) -> NameKey {
        match self.verify {
            Verify::Keyed => *key,
            Verify::Published => self.keyed(name),
        }
    }

    /// The keyed hash of an address set.
    pub(super) fn of_words(&self, words: &[u32]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.secret[0], !self.secret[1]);
        words.iter().for_each(|&word| hasher.write_u32(word));
        hasher.finish()
    }
}

/// The published key: hash12(TLD) ‖ murmur3_32(registered label) ‖ murmur3_32(rest), 76 bits. The label is the first one of
/// the registered domain, so that `foo.co.uk` and `foo.org.uk` have the same key.
fn published(name: &str) -> NameKey {
    let domain = registered_domain(name);
    let rest = name[..name.len() - domain.len()].trim_end_matches('.');
    let label = domain.split('.').next().unwrap_or_default();
    let tld = code(domain.rsplit('.').next().unwrap_or_default());
    let verify = u64::from(murmur3(label.as_bytes())) << 32 | u64::from(murmur3(rest.as_bytes()));
    // Spreads the 76 bits over the buckets, without adding or hiding information.
    let pick = mix((verify ^ u64::from(tld).wrapping_mul(GOLDEN)).wrapping_add(GOLDEN));
    NameKey { pick, verify, tld: Some(tld) }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection.
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
    fn murmur3_agrees_with_published_vectors() {
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
    fn all_labels_of_the_registered_domain_are_hashed() {
        let of = DomainCode::of;
        assert_eq!(of("www.foo.co.uk"), DomainCode { tld: code("uk"), label: murmur3(b"foo.co") });
        assert_eq!(of("foo.co.uk"), of("a.b.foo.co.uk"));
        assert_ne!(of("foo.co.uk"), of("foo.org.uk"));
        assert_eq!(of("host.nonsense").tld, UNKNOWN);
        assert_eq!(of("com"), DomainCode { tld: code("com"), label: 0 });
    }

    #[test]
    fn the_published_key_confuses_suffixes_and_the_keyed_one_nothing() {
        let published = KeyHasher { secret: [1, 2], verify: Verify::Published };
        assert_eq!(published.of("www.foo.co.uk"), published.of("www.foo.org.uk"));
        assert_ne!(published.of("www.foo.co.uk"), published.of("foo.co.uk"));
        let keyed = KeyHasher { secret: [1, 2], verify: Verify::Keyed };
        assert_ne!(keyed.of("www.foo.co.uk"), keyed.of("www.foo.org.uk"));
        assert_ne!(keyed.of("www.foo.co.uk"), KeyHasher { secret: [1, 3], ..keyed }.of("www.foo.co.uk"));
    }
}
