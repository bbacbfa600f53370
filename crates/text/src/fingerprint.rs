//! Fingerprints of a text: the same text has the same digest, and texts that are nearly the same have simhashes that differ in few bits
//! (Charikar 2002; Manku, Jain and Das Sarma 2007).
//!
//! Both depend on letters and digits alone: spaces, marks and case do not count.

use md5::{Digest as _, Md5};

use crate::letters::{is_uncased, is_word};
use crate::stated::words_of;

/// Words in a row that are one feature.
const RUN: usize = 3;

/// The fingerprints of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Near duplicates differ in at most about 3 of its 64 bits.
    pub simhash: u64,
    /// MD5 of the letters and digits in lower case, with single spaces between words.
    pub digest: [u8; 16],
}

impl Fingerprint {
    /// Of a text; `None`: it has no word, and is no duplicate of others without one.
    pub fn of(text: &str) -> Option<Self> {
        text.contains(is_word).then(|| Fingerprint { simhash: simhash(text), digest: digest(text) })
    }
}

/// The simhash of a text's runs of words.
fn simhash(text: &str) -> u64 {
    let words = words_of(text);
    let mut counts = [0u32; 64];
    let runs = words.windows(RUN.min(words.len()).max(1));
    let all = runs.len() as u32;
    let mut hashes =
        runs.map(|run| run.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| mixed(hash ^ u64::from(*word))));
    // Eight counts of a byte each are added at once; after so many hashes they may be full.
    for _ in 0..all.div_ceil(FULL) {
        let mut lanes = [0u64; 8];
        for hash in hashes.by_ref().take(FULL as usize) {
            for (lane, byte) in lanes.iter_mut().zip(hash.to_le_bytes()) {
                *lane += SPREAD[usize::from(byte)];
            }
        }
        let bytes = lanes.iter().flat_map(|lane| lane.to_le_bytes());
        counts.iter_mut().zip(bytes).for_each(|(count, more)| *count += u32::from(more));
    }
    let is_most = |count: &u32| u64::from(*count) * 2 > u64::from(all);
    counts.iter().enumerate().filter(|(_, count)| is_most(count)).fold(0, |hash, (bit, _)| hash | 1 << bit)
}

/// What a count of a byte can hold.
const FULL: u32 = 255;

/// Of each byte its bits as eight bytes, the lowest first.
const SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Spreads a number over all bits (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// The digest of a text.
fn digest(text: &str) -> [u8; 16] {
    let (mut hasher, mut buffer) = (Md5::new(), Vec::with_capacity(4096));
    let (mut is_in_word, mut is_first) = (false, true);
    for character in text.chars() {
        let is_word = is_word(character);
        if is_word {
            if !is_in_word && !is_first {
                buffer.push(b' ');
            }
            is_first = false;
            let mut add = |lower: char| buffer.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
            if character.is_ascii() {
                buffer.push(character.to_ascii_lowercase() as u8);
            } else if is_uncased(character) {
                add(character);
            } else {
                character.to_lowercase().for_each(add);
            }
        }
        is_in_word = is_word;
        if buffer.len() > 4_000 {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    hasher.update(&buffer);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The harbour was rebuilt after the flood of 1953, and ships of up to ninety metres can enter it at any tide. \
        Two cranes stand on the eastern quay; the western one belongs to the fishing boats, of which eleven are left. \
        In summer a ferry leaves four times a day for the island, where the lighthouse can be visited.";

    /// Of a text with words.
    fn of(text: &str) -> Fingerprint {
        Fingerprint::of(text).unwrap_or(Fingerprint { simhash: 0, digest: [0; 16] })
    }

    #[test]
    fn marks_and_case_do_not_count() {
        let (one, other) = (of("The cat, a GREY one."), of("the cat a grey   one"));
        assert_eq!(one, other);
        assert_ne!(one.digest, of("the cat a grey on e").digest);
    }

    #[test]
    fn what_is_nearly_the_same_is_near() {
        let near = |text: &str| (of(TEXT).simhash ^ of(text).simhash).count_ones();
        assert!(near(&TEXT.replace("four times", "five times")) <= 8);
        let other = "Prices of copper rose in March, since mines in the north were closed for six weeks by a strike of drivers, \
            and buyers in the cities had little in store.";
        assert!(near(other) >= 16);
    }

    #[test]
    fn bits_are_counted_as_one_by_one() {
        for words in [1, 2, 3, 254, 255, 256, 257, 258, 1_000] {
            let text: String = (0..words).map(|word| format!("{} ", word * 7_919 % 613)).collect();
            let (words, mut sums) = (words_of(&text), [0i32; 64]);
            for run in words.windows(RUN.min(words.len())) {
                let hash =
                    run.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| mixed(hash ^ u64::from(*word)));
                sums.iter_mut()
                    .enumerate()
                    .for_each(|(bit, sum)| *sum += if hash >> bit & 1 == 1 { 1 } else { -1 });
            }
            let expected = (0..64).filter(|bit| sums[*bit] > 0).fold(0u64, |hash, bit| hash | 1 << bit);
            assert_eq!(simhash(&text), expected, "{} words", words.len());
        }
    }

    #[test]
    fn what_has_no_word_has_none() {
        for text in ["", " .. ", "★★★", "😀"] {
            assert_eq!(Fingerprint::of(text), None, "{text}");
        }
    }
}
