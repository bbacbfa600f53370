//! Recognises texts that are canonical already, with one look at each byte: most links are, and need no
//! parser.
//!
//! Guarantee: the WHATWG parser and `canonical_host` leave a text that passes unchanged. Rare or doubtful
//! texts do not pass.

use crate::escapes;

/// The byte is allowed in a host name.
const HOST: u8 = 1;
/// The byte is allowed in a path.
const PATH: u8 = 2;
/// The byte is allowed in a query.
const QUERY: u8 = 4;

/// Where each byte is allowed unchanged; `%` is in no class, since it depends on the bytes after it.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        #[allow(clippy::cast_possible_truncation, reason = "below 127")]
        let this = byte as u8;
        classes[byte] = match this {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => HOST | PATH | QUERY,
            b'A'..=b'Z'
            | b'_'
            | b'~'
            | b'!'
            | b'$'
            | b'&'
            | b'('
            | b')'
            | b'*'
            | b'+'
            | b','
            | b';'
            | b'='
            | b':'
            | b'@'
            | b'/' => PATH | QUERY,
            b'\'' => PATH,
            b'?' | b'[' | b']' => QUERY,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// The length of a host name at the start of `text`; `None` if it needs IDNA, may be an address, or does not
/// end the authority.
pub(crate) fn host(text: &[u8]) -> Option<usize> {
    let length = text.iter().position(|&byte| CLASSES[usize::from(byte)] & HOST == 0).unwrap_or(text.len());
    if !matches!(text.get(length), None | Some(b'/' | b'?' | b'#')) {
        return None;
    }
    let mut last = 0;
    let mut label = 0;
    for at in 0..=length {
        if at == length || text[at] == b'.' {
            if at == label || text[label..at].starts_with(b"xn--") {
                return None;
            }
            last = label;
            label = at + 1;
        }
    }
    // A last label that begins with a digit may make the host an IPv4 address.
    (!text[last].is_ascii_digit()).then_some(length)
}

/// The length of path and query at the start of `text`, up to its end or a `#`. `at_segment`: whether the
/// text begins a segment; a segment must not begin with a dot.
pub(crate) fn path_and_query(text: &[u8], at_segment: bool) -> Option<usize> {
    let mut segment = at_segment;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'?' => return query(text, at + 1),
            b'#' => break,
            b'.' if segment => return None,
            b'%' if escapes::is_normal(&text[at..]) => {}
            _ if CLASSES[usize::from(byte)] & PATH != 0 => {}
            _ => return None,
        }
        segment = byte == b'/';
        at += 1;
    }
    Some(at)
}

/// The end of the query that starts at `start`.
fn query(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'#' => break,
            b'%' if escapes::is_normal(&text[at..]) => {}
            _ if CLASSES[usize::from(byte)] & QUERY != 0 => {}
            _ => return None,
        }
        at += 1;
    }
    Some(at)
}
