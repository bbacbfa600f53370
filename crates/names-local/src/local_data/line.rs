//! One line of a zone file (RFC 1035 section 5), the subset for local data: no directives, parentheses or
//! relative names.

use std::str::FromStr;

use super::{LocalRecord, RecordData};
use crate::warnings::quoted;
use lycosa_names::HostName;

/// Default TTL in seconds.
const DEFAULT_TTL: u32 = 3_600;

/// Maximum TTL (RFC 2181 section 8).
const MAX_TTL: u32 = i32::MAX as u32;

/// Maximum length of a string in a TXT record, in bytes.
const MAX_TEXT: usize = 255;

/// Maximum size of a record's data.
const MAX_DATA: usize = super::MAX_BYTES - super::HEAD;

/// Syntax of a line.
const ALLOWED: &str = "name [TTL] [IN] type data, with a type of A, AAAA, CNAME, PTR, TXT, MX, SRV";

/// A word of a line.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    /// The bytes with escapes resolved.
    bytes: Vec<u8>,
    /// Whether it has quotes or escapes and can only be a text.
    is_text: bool,
}

impl Word {
    /// The word as text; `None` if it has quotes or escapes, or is not UTF-8.
    fn plain(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|_| !self.is_text)
    }

    /// The word as error messages quote it.
    fn quoted(&self) -> String {
        quoted(&String::from_utf8_lossy(&self.bytes))
    }
}

/// Parses a line into a name in normal form and its record; `None` for an empty line. The error says what was
/// given and what is allowed.
pub(super) fn parse(line: &str) -> Result<Option<(Box<str>, LocalRecord)>, String> {
    let words = words(line)?;
    let Some((owner, mut rest)) = words.split_first() else { return Ok(None) };
    let owner = name(owner, false)?;
    if owner.split('.').any(|label| label == "*") {
        return Err(format!("{owner:?}: names with * are not allowed; give each name a line of its own"));
    }
    let (mut given_ttl, mut is_class_given) = (None, false);
    let kind = loop {
        let Some((word, after)) = rest.split_first() else {
            return Err(format!("the type is missing; allowed: {ALLOWED}"));
        };
        let text = word.plain().unwrap_or_default();
        rest = after;
        if text.eq_ignore_ascii_case("IN") && !is_class_given {
            is_class_given = true;
        } else if text.starts_with(|first: char| first.is_ascii_digit()) && given_ttl.is_none() {
            given_ttl = Some(ttl(text)?);
        } else {
            break word;
        }
    };
    let data = data(kind, rest)?;
    Ok(Some((owner, LocalRecord { ttl: given_ttl.unwrap_or(DEFAULT_TTL), data })))
}

/// Parses a record's data by its type.
fn data(kind: &Word, words: &[Word]) -> Result<RecordData, String> {
    let upper = kind.plain().unwrap_or_default().to_ascii_uppercase();
    let host = |word| name(word, true);
    Ok(match (upper.as_str(), words) {
        ("A", [word]) => RecordData::A(value(word, "an IPv4 address: 192.0.2.7")?),
        ("AAAA", [word]) => RecordData::Aaaa(value(word, "an IPv6 address: 2001:db8::7")?),
        ("CNAME", [word]) => RecordData::Cname(name(word, false)?),
        ("PTR", [word]) => RecordData::Ptr(name(word, false)?),
        ("MX", [preference, exchange]) => {
            RecordData::Mx { preference: number(preference)?, exchange: host(exchange)? }
        }
        ("SRV", [priority, weight, port, target]) => RecordData::Srv {
            priority: number(priority)?,
            weight: number(weight)?,
            port: number(port)?,
            target: host(target)?,
        },
        ("TXT", [_, ..]) => RecordData::Txt(texts(words)?),
        ("A" | "AAAA" | "CNAME" | "PTR" | "MX" | "SRV" | "TXT", _) => {
            let allowed = match upper.as_str() {
                "A" => "A 192.0.2.7",
                "AAAA" => "AAAA 2001:db8::7",
                "MX" => "MX 10 mail.lan",
                "SRV" => "SRV 0 5 631 printer.lan",
                "TXT" => "TXT \"a text\" and further texts",
                "CNAME" => "CNAME other.lan",
                _ => "PTR printer.lan",
            };
            return Err(format!("{} words after {upper}; allowed: {allowed}", words.len()));
        }
        _ => return Err(format!("unknown type {}; allowed: {ALLOWED}", kind.quoted())),
    })
}

/// Parses a name. The root becomes the empty name, if it is allowed.
fn name(word: &Word, is_root_allowed: bool) -> Result<Box<str>, String> {
    let Some(text) = word.plain() else {
        return Err(format!("{} is not a name; allowed: a host name without quotes or \\", word.quoted()));
    };
    if text == "." && is_root_allowed {
        return Ok("".into());
    }
    match HostName::normalize(text, &mut String::new()) {
        Ok(name) => Ok(name.as_str().into()),
        Err(why) => Err(format!("{}: {why}; allowed: a full host name", word.quoted())),
    }
}

/// Parses an address.
fn value<T: FromStr>(word: &Word, allowed: &str) -> Result<T, String> {
    let found = word.plain().and_then(|text| text.parse().ok());
    found.ok_or_else(|| format!("{}; allowed: {allowed}", word.quoted()))
}

/// Parses a 16-bit number of decimal digits.
fn number(word: &Word) -> Result<u16, String> {
    let digits = word.plain().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("{}; allowed: a number from 0 to 65535", word.quoted()))
}

/// Parses a TTL: seconds, or numbers with units, as DNS servers accept them.
fn ttl(text: &str) -> Result<u32, String> {
    let bad = || format!("TTL {}; allowed: 0 to {MAX_TTL} seconds, or units as in 1h30m", quoted(text));
    let (mut total, mut number) = (0_u64, None);
    for byte in text.bytes() {
        let unit = match byte.to_ascii_lowercase() {
            digit @ b'0'..=b'9' => {
                let value = number.unwrap_or(0) * 10 + u64::from(digit - b'0');
                number = Some(value).filter(|value| *value <= u64::from(MAX_TTL));
                number.ok_or_else(bad)?;
                continue;
            }
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return Err(bad()),
        };
        total = total.saturating_add(number.take().ok_or_else(bad)? * unit);
    }
    total = total.saturating_add(number.unwrap_or(0));
    u32::try_from(total).ok().filter(|ttl| *ttl <= MAX_TTL).ok_or_else(bad)
}

/// Converts words to the strings of a TXT record.
fn texts(words: &[Word]) -> Result<Vec<Box<[u8]>>, String> {
    if let Some(long) = words.iter().find(|word| word.bytes.len() > MAX_TEXT) {
        let length = long.bytes.len();
        return Err(format!(
            "a text of {length} bytes; at most {MAX_TEXT} are allowed, in one pair of quotes"
        ));
    }
    let size: usize = words.iter().map(|word| 1 + word.bytes.len()).sum();
    if size > MAX_DATA {
        return Err(format!("texts of {size} bytes; at most {MAX_DATA} are allowed in a record"));
    }
    Ok(words.iter().map(|word| word.bytes.as_slice().into()).collect())
}

/// Splits a line into words, up to a comment.
fn words(line: &str) -> Result<Vec<Word>, String> {
    let (mut words, mut bytes) = (Vec::new(), line.bytes().peekable());
    while let Some(&first) = bytes.peek() {
        match first {
            b';' => break,
            b'(' | b')' => {
                return Err(format!("{:?} is not allowed; write each record on one line", char::from(first)));
            }
            _ if first.is_ascii_whitespace() => {
                bytes.next();
            }
            _ => words.push(word(&mut bytes)?),
        }
    }
    match words.first().and_then(Word::plain) {
        Some(first) if first.starts_with('$') => {
            Err(format!("{}: directives are not allowed; allowed: {ALLOWED}", quoted(first)))
        }
        Some("@") => Err(format!("\"@\": relative names are not allowed; allowed: {ALLOWED}")),
        _ => Ok(words),
    }
}

/// Parses the next word, quoted or not.
fn word(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Result<Word, String> {
    let is_quoted = bytes.next_if_eq(&b'"').is_some();
    let mut word = Word { bytes: Vec::new(), is_text: is_quoted };
    loop {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b";()\"".contains(byte);
        let next = if is_quoted { bytes.next() } else { bytes.next_if(|byte| !ends(byte)) };
        match next {
            Some(b'"') if is_quoted => {
                return match bytes.peek() {
                    Some(next) if !next.is_ascii_whitespace() && *next != b';' => {
                        Err("text follows a closing quote; put a blank between them".to_owned())
                    }
                    _ => Ok(word),
                };
            }
            Some(b'\\') => {
                word.is_text = true;
                word.bytes.push(escaped(bytes)?);
            }
            Some(byte) => word.bytes.push(byte),
            None if is_quoted => return Err("a text has no closing quote".to_owned()),
            None if bytes.peek() == Some(&b'"') => {
                return Err("a quote within a word; allowed: at its start, or as \\\"".to_owned());
            }
            None => return Ok(word),
        }
    }
}

/// Resolves an escape after its backslash: a literal byte, or three decimal digits.
fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, String> {
    let bad = || "\\ must be followed by a character, or by three digits up to 255".to_owned();
    let first = bytes.next().ok_or_else(bad)?;
    if !first.is_ascii_digit() {
        return Ok(first);
    }
    let mut number = u16::from(first - b'0');
    for _ in 0..2 {
        let digit = bytes.next().filter(u8::is_ascii_digit).ok_or_else(bad)?;
        number = number * 10 + u16::from(digit - b'0');
    }
    u8::try_from(number).map_err(|_| bad())
}
