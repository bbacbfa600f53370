//! The normal form in which patterns and paths are compared (RFC 9309 sections 2.2.2 and 2.2.3).
//!
//! Both sides: digits of escapes in upper case; what no URI may contain as it stands is escaped. The characters `*` and `$`
//! of a path, which a pattern writes as `%2A` and `%24`, are [`STAR`] and `$`. A path ends with [`END`], which the `$` at a
//! pattern's end becomes: then an anchored pattern is a prefix like any other.

use lycosa_url::{escaped_byte, is_unreserved};

/// The end of a path: a byte that UTF-8 never has.
pub(super) const END: u8 = 0xff;

/// The character `*`, in contrast to the wildcard: another such byte.
const STAR: u8 = 0xfe;

/// How escapes of unreserved characters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `%7E` is `~`.
    Undone,
    /// `%7E` stays what it is.
    Kept,
}

/// One pattern in normal form with what decides between it and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// `*` is the wildcard, [`END`] the anchor; no `*` at the end, none twice in a row.
    pub(super) text: Vec<u8>,
    /// Octets of the pattern as the RFC counts them: escapes as three, undone ones and the rest as one.
    pub(super) octets: u32,
    /// What it says.
    pub(super) allow: bool,
    /// Its line, counted from 1.
    pub(super) line: u32,
}

impl Pattern {
    /// Reads the value of an `allow` or `disallow` line; `differs` is set where the readings of escapes do.
    pub(super) fn new(value: &[u8], allow: bool, line: u32, escapes: Escapes, differs: &mut bool) -> Self {
        let (value, anchored) = match value.strip_suffix(b"$") {
            Some(value) => (value, true),
            None => (value, false),
        };
        let mut text = Vec::with_capacity(value.len() + 1);
        let mut octets = usize::from(anchored);
        for unit in units(value) {
            octets += unit.octets(escapes);
            match unit {
                Unit::Plain(b'*') if text.last() == Some(&b'*') => {}
                Unit::Plain(b'*') => text.push(b'*'),
                Unit::Plain(byte) if !byte.is_ascii() => escape(&mut text, byte),
                unit => *differs |= unit.push(&mut text, escapes),
            }
        }
        if anchored {
            text.push(END);
        } else if text.last() == Some(&b'*') {
            text.pop();
        }
        Pattern { text, octets: u32::try_from(octets).unwrap_or(u32::MAX), allow, line }
    }
}

/// A path in normal form, with its end; and whether the readings of escapes differ. Bytes outside ASCII, which no
/// canonical URL has, stay as they are, and only `*` matches them.
pub(super) fn normalize_path(path: &str, escapes: Escapes) -> (Vec<u8>, bool) {
    let path = path.as_bytes();
    let mut text = Vec::with_capacity(path.len() + 1);
    let mut differs = false;
    let plain = path.iter().position(|&byte| !PLAIN[usize::from(byte)]).unwrap_or(path.len());
    text.extend_from_slice(&path[..plain]);
    for unit in units(&path[plain..]) {
        match unit {
            Unit::Plain(b'*') => text.push(STAR),
            unit => differs |= unit.push(&mut text, escapes),
        }
    }
    text.push(END);
    (text, differs)
}

/// A pattern for people, as a robots.txt would have it.
pub(super) fn text(pattern: &[u8]) -> String {
    let mut text = String::with_capacity(pattern.len());
    for (at, &byte) in pattern.iter().enumerate() {
        match byte {
            END => text.push('$'),
            STAR => text.push_str("%2A"),
            b'$' if at + 1 == pattern.len() => text.push_str("%24"),
            byte => text.push(char::from(byte)),
        }
    }
    text
}

/// A byte, or the byte that an escape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// As it stands.
    Plain(u8),
    /// Written as `%XX`.
    Escaped(u8),
}

impl Unit {
    /// How many octets it counts for when the longest pattern is looked for.
    fn octets(self, escapes: Escapes) -> usize {
        match self {
            Unit::Plain(byte) if byte.is_ascii() => 1,
            Unit::Escaped(byte) if escapes == Escapes::Undone && is_unreserved(byte) => 1,
            _ => 3,
        }
    }

    /// Appends its normal form; tells whether the other reading of escapes would differ.
    fn push(self, text: &mut Vec<u8>, escapes: Escapes) -> bool {
        match self {
            Unit::Plain(byte) if is_illegal(byte) => escape(text, byte),
            Unit::Plain(byte) => text.push(byte),
            Unit::Escaped(byte) if is_unreserved(byte) => {
                match escapes {
                    Escapes::Undone => text.push(byte),
                    Escapes::Kept => escape(text, byte),
                }
                return true;
            }
            Unit::Escaped(b'*') => text.push(STAR),
            Unit::Escaped(b'$') => text.push(b'$'),
            Unit::Escaped(byte) => escape(text, byte),
        }
        false
    }
}

/// A text as units; `%` without two hexadecimal digits is a byte like any other.
fn units(text: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        if let (b'%', [high, low, tail @ ..]) = (byte, tail)
            && let Some(byte) = escaped_byte(*high, *low)
        {
            rest = tail;
            return Some(Unit::Escaped(byte));
        }
        Some(Unit::Plain(byte))
    })
}

/// Appends `%XX`.
fn escape(text: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    text.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// ASCII that no URI may contain unescaped (RFC 3986 section 2), which WHATWG's parser escapes in a path or in a
/// query.
const fn is_illegal(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7f | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Bytes that are their own normal form in a path: most paths have no others.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation, reason = "below 128")]
        let this = byte as u8;
        plain[byte] = !is_illegal(this) && !matches!(this, b'%' | b'*');
        byte += 1;
    }
    plain
};
