//! Synthetic names that resemble real ones, in any number.

use std::fmt::Write as _;

/// A pseudo-random function of a number (splitmix64).
pub(crate) fn random(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Top-level domains and suffixes with their shares in a thousand, from the list of real host names
/// (background/dns.md).
pub(crate) const SUFFIXES: [(&str, u64); 12] = [
    ("com", 480),
    ("org", 70),
    ("net", 60),
    ("de", 60),
    ("co.uk", 40),
    ("ru", 40),
    ("fr", 40),
    ("com.br", 40),
    ("jp", 40),
    ("io", 40),
    ("edu", 40),
    ("xn--p1ai", 50),
];

/// Writes the name of a number: distinct for distinct numbers, 16 bytes on average, as real names.
pub(crate) fn write_name(number: u64, into: &mut String) {
    let dice = random(number);
    into.clear();
    into.push_str(match dice % 100 {
        0..=40 => "www.",
        41..=43 => "m.",
        44..=55 => "blog.",
        _ => "",
    });
    // Numbers as letters, so that no label is a number.
    let mut rest = number;
    loop {
        into.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
        if rest == 0 {
            break;
        }
    }
    let mut share = (dice >> 32) % 1_000;
    let suffix = SUFFIXES.iter().find(|(_, part)| {
        let here = share < *part;
        share = share.saturating_sub(*part);
        here
    });
    let _ = write!(into, ".{}", suffix.map_or("com", |(suffix, _)| suffix));
}
