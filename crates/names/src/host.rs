//! Host names in normal form: lower case, no trailing dot, IDNA (UTS 46) applied, lengths checked.
//!
//! Guarantees: [`HostName::normalize`] never panics; a normal form is its own normal form, and
//! [`HostName::new`] accepts only normal forms; an ASCII name differs from its normal form only in case and a
//! trailing dot.
//!
//! UTS 46 is applied as the WHATWG URL standard applies it (non-transitional, hyphens and underscores anywhere), so that
//! a name here and the host of its URL are the same text.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;

use idna::AsciiDenyList;

/// The longest name in text without the trailing dot (RFC 1035 section 2.3.4: 255 bytes on the wire).
pub const MAX_NAME: usize = 253;

/// The longest label.
pub const MAX_LABEL: usize = 63;

/// The longest text that is examined: four bytes of UTF-8 for each byte of the longest name. A longer text
/// could be a name only if it had characters that UTS 46 removes.
const MAX_TEXT: usize = 4 * (MAX_NAME + 1);

/// Why a text is not a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadName {
    /// It is empty, or only the root's dot.
    Empty,
    /// It has more than [`MAX_NAME`] bytes.
    TooLong,
    /// It has two adjacent dots, or one at the start.
    EmptyLabel,
    /// A label has more than [`MAX_LABEL`] bytes.
    LongLabel,
    /// It is an IP address, which needs no query, or is read as one: its last label is a number, decimal or
    /// hexadecimal (WHATWG URL, "ends in a number"). No top-level domain is a number (RFC 3696 section 2), and
    /// other programs would connect to `0x7f.1` without a query.
    Address,
    /// It has a byte that the host of a URL cannot have (WHATWG URL, "forbidden domain code point"): a space, a
    /// control character, `/`.
    BadByte,
    /// It is not valid by IDNA (UTS 46).
    Idna,
    /// It is a name, but not in normal form; only [`HostName::new`] returns this.
    NotNormal,
}

impl fmt::Display for BadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            BadName::Empty => "the name is empty",
            BadName::TooLong => "the name has more than 253 bytes",
            BadName::EmptyLabel => "a label is empty",
            BadName::LongLabel => "a label has more than 63 bytes",
            BadName::Address => "this is an address, not a name",
            BadName::BadByte => "the name holds a space, a control character or one of %/:<>?@[\\]^|#",
            BadName::Idna => "the name is not valid by IDNA (UTS 46)",
            BadName::NotNormal => {
                "the name is not in lower case, or has a dot at its end or a character beyond ASCII"
            }
        })
    }
}

impl std::error::Error for BadName {}

/// A host name in normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName<'n>(&'n str);

impl<'n> HostName<'n> {
    /// Checks a name that is in normal form already.
    pub fn new(text: &'n str) -> Result<Self, BadName> {
        match examine(text.as_bytes())? {
            Shape::Normal => Ok(HostName(text)),
            Shape::OtherCase | Shape::Unicode => Err(BadName::NotNormal),
            Shape::Encoded if !text.ends_with('.') && *convert(text)? == *text => Ok(HostName(text)),
            Shape::Encoded => Err(BadName::NotNormal),
        }
    }

    /// The normal form of a name; `buffer` stores it if it differs from `text`.
    pub fn normalize(text: &'n str, buffer: &'n mut String) -> Result<Self, BadName> {
        match examine(text.as_bytes())? {
            Shape::Normal => return Ok(HostName(text)),
            Shape::OtherCase => {
                buffer.clear();
                buffer.push_str(relative(text));
                buffer.make_ascii_lowercase();
                return Ok(HostName(buffer));
            }
            Shape::Encoded | Shape::Unicode => (),
        }
        let converted = convert(text)?;
        // The mapping can produce dots and digits, and remove characters, so all rules are checked again.
        examine(converted.as_bytes())?;
        buffer.clear();
        buffer.push_str(relative(&converted));
        Ok(HostName(buffer))
    }

    /// Wraps a text known to be in normal form, without a check: an entry that is cached under another text is
    /// never found under the name. A debug build panics if the text is not in normal form.
    #[inline]
    pub fn of_normal(text: &'n str) -> Self {
        debug_assert!(HostName::new(text).is_ok(), "{text:?} is not in normal form");
        HostName(text)
    }

    /// The text.
    pub fn as_str(self) -> &'n str {
        self.0
    }
}

/// What a text that violates no rule still needs.
enum Shape {
    /// Nothing.
    Normal,
    /// Lower case, without the trailing dot.
    OtherCase,
    /// It has an `xn--` label, which UTS 46 must validate.
    Encoded,
    /// UTS 46 must convert it; no rule has been checked.
    Unicode,
}

/// Checks a text in one pass over its bytes.
fn examine(text: &[u8]) -> Result<Shape, BadName> {
    if text.len() > MAX_TEXT {
        return Err(BadName::TooLong);
    }
    let name = text.strip_suffix(b".").unwrap_or(text);
    let (mut kinds, mut labels, mut start) = (0, Labels::default(), 0);
    for (place, &byte) in name.iter().enumerate() {
        let kind = KINDS[usize::from(byte)];
        kinds |= kind;
        if kind == DOT {
            labels.add(&name[start..place]);
            start = place + 1;
        }
    }
    let last = &name[start..];
    labels.add(last);
    match () {
        () if kinds & UNICODE != 0 => return Ok(Shape::Unicode),
        () if name.is_empty() => return Err(BadName::Empty),
        () if kinds & FORBIDDEN != 0 => return Err(forbidden(name)),
        () if labels.shortest == 0 => return Err(BadName::EmptyLabel),
        () if labels.longest > MAX_LABEL => return Err(BadName::LongLabel),
        () if name.len() > MAX_NAME => return Err(BadName::TooLong),
        () if is_number(last) => return Err(BadName::Address),
        () => (),
    }
    Ok(match () {
        () if labels.encoded => Shape::Encoded,
        () if kinds & UPPER != 0 || name.len() < text.len() => Shape::OtherCase,
        () => Shape::Normal,
    })
}

/// Properties of a name's labels.
struct Labels {
    shortest: usize,
    longest: usize,
    /// One of them begins with `xn--`.
    encoded: bool,
}

impl Default for Labels {
    fn default() -> Self {
        Labels { shortest: usize::MAX, longest: 0, encoded: false }
    }
}

impl Labels {
    /// Adds the next label.
    fn add(&mut self, label: &[u8]) {
        self.shortest = self.shortest.min(label.len());
        self.longest = self.longest.max(label.len());
        self.encoded |=
            label.first_chunk().is_some_and(|start: &[u8; 4]| start.eq_ignore_ascii_case(b"xn--"));
    }
}

/// Whether the WHATWG URL standard takes a name with this last label for an IPv4 address.
fn is_number(label: &[u8]) -> bool {
    let Some(first) = label.first().filter(|first| first.is_ascii_digit()) else { return false };
    let hexadecimal = *first == b'0' && label.get(1).is_some_and(|x| x.eq_ignore_ascii_case(&b'x'));
    if hexadecimal {
        label[2..].iter().all(u8::is_ascii_hexdigit)
    } else {
        label.iter().all(u8::is_ascii_digit)
    }
}

/// The reason for a forbidden byte: the text is an IP address in brackets or with colons, or the byte is
/// invalid.
fn forbidden(name: &[u8]) -> BadName {
    let inner = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]"));
    let address = std::str::from_utf8(inner.unwrap_or(name)).unwrap_or_default();
    let (address, _zone) = address.split_once('%').unwrap_or((address, "")); // RFC 4007: fe80::1%eth0
    let is_v4 =
        || inner.is_some() && address.rsplit('.').next().is_some_and(|last| is_number(last.as_bytes()));
    if address.parse::<Ipv6Addr>().is_ok() || is_v4() { BadName::Address } else { BadName::BadByte }
}

/// Applies UTS 46.
fn convert(text: &str) -> Result<Cow<'_, str>, BadName> {
    idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::URL).map_err(|_| BadName::Idna)
}

/// The name without the trailing dot.
fn relative(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Kinds of bytes, as bits; an ordinary byte has none.
const UPPER: u8 = 1;
/// A separator of labels.
const DOT: u8 = 2;
/// Not allowed in a name.
const FORBIDDEN: u8 = 4;
/// A part of a character beyond ASCII.
const UNICODE: u8 = 8;

/// The kind of each byte.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'.' => DOT,
            b'A'..=b'Z' => UPPER,
            0..=b' ' | 0x7f | b'%' | b'/' | b':' | b'<' | b'>' | b'?' | b'@' => FORBIDDEN,
            b'[' | b'\\' | b']' | b'^' | b'|' | b'#' => FORBIDDEN,
            0x80.. => UNICODE,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The normal form, as text of its own.
    fn normal(text: &str) -> Result<String, BadName> {
        HostName::normalize(text, &mut String::new()).map(|name| name.as_str().to_owned())
    }

    #[test]
    fn names_are_compared_without_case_and_last_dot() {
        for text in ["example.com", "Example.COM", "example.com.", "EXAMPLE.com."] {
            assert_eq!(normal(text).as_deref(), Ok("example.com"), "{text}");
        }
        for text in ["_dmarc.example.com", "a--b.example", "-a-.example", "localhost", "3com.com", "1.2.3.x0"]
        {
            assert_eq!(normal(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn idna_is_applied_as_urls_have_it() {
        for (text, expected) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example", "xn--bcher-kva.example"),
            ("XN--Bcher-Kva.example.", "xn--bcher-kva.example"),
            ("faß.example", "xn--fa-hia.example"), // transitional processing would give fass.example
            ("例え。テスト。", "xn--r8jz45g.xn--zckzah"), // ideographic full stops
            ("ｅｘａｍｐｌｅ．ｃｏｍ", "example.com"),
        ] {
            assert_eq!(normal(text).as_deref(), Ok(expected), "{text}");
        }
        // Not Punycode; plain letters in disguise; a mapped character that no host has; letters of two directions.
        for text in ["xn--a", "xn--abc-.example", "a／b.example", "xn--0.example", "אa.example"] {
            assert_eq!(normal(text), Err(BadName::Idna), "{text}");
        }
    }

    #[test]
    fn lengths_are_checked_after_conversion() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!((longest.len(), normal(&longest).as_deref()), (MAX_NAME, Ok(longest.as_str())));
        assert_eq!(normal(&format!("{longest}.")).as_deref(), Ok(longest.as_str()));
        assert_eq!(normal(&format!("{longest}a")), Err(BadName::TooLong));
        assert_eq!(normal(&format!("{label}a.example")), Err(BadName::LongLabel));
        assert_eq!(normal(&format!("{}.example", "ü".repeat(60))), Err(BadName::LongLabel));
        assert_eq!(normal(&"é.".repeat(126)), Err(BadName::TooLong));
        assert_eq!(normal(&"a.".repeat(1_000_000)), Err(BadName::TooLong));
        for text in ["a..b", ".a", "..", "a..", "a.\u{ad}.b", "。a"] {
            assert_eq!(normal(text), Err(BadName::EmptyLabel), "{text}");
        }
        for text in ["", ".", "。", "\u{ad}"] {
            assert_eq!(normal(text), Err(BadName::Empty), "{text:?}");
        }
    }

    #[test]
    fn addresses_are_no_names() {
        for text in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "1",
            "256.256.256.256",
            "0x7f.1",
            "a.0x",
            "a.1",
            "１２７.0.0.1",
            "::1",
            "[::1]",
            "[127.0.0.1]",
            "fe80::1%eth0",
            "[2001:db8::1]",
            "::ffff:192.0.2.1",
        ] {
            assert_eq!(normal(text), Err(BadName::Address), "{text}");
        }
    }

    #[test]
    fn what_no_url_has_as_its_host_is_no_name() {
        for text in ["a b", "a\n", "a\0", "a/b", "user@a", "a:80", "a%2e", "[a]", "a\\b", "a#", "\u{7f}"] {
            assert_eq!(normal(text), Err(BadName::BadByte), "{text:?}");
        }
    }

    #[test]
    fn a_normal_form_needs_no_buffer() {
        let mut buffer = "kept".to_owned();
        let name = HostName::normalize("www.example.com", &mut buffer).map(HostName::as_str);
        assert_eq!(name, Ok("www.example.com"));
        assert_eq!(buffer, "kept");
        for text in [
            "Example.com",
            "example.com.",
            "bücher.example",
            "XN--bcher-kva.example",
            "xn--bcher-kva.example.",
        ] {
            assert_eq!(HostName::new(text), Err(BadName::NotNormal), "{text}");
        }
        assert_eq!(HostName::new("xn--bcher-kva.example").map(HostName::as_str), Ok("xn--bcher-kva.example"));
        assert_eq!(HostName::new("xn--a.example"), Err(BadName::Idna));
    }

    /// Texts made of what matters to names.
    fn texts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            4 => "[a-z0-9-]{1,8}",
            1 => "[A-Z_]{1,4}",
            3 => Just(".".to_owned()),
            1 => "[xX][nN]--[a-z0-9-]{0,8}",
            1 => "[0-9]{1,3}|0x[0-9a-f]{0,2}",
            1 => any::<char>().prop_map(String::from),
            1 => "[ß。．ⅷüÜ\u{ad}\u{200d}אبक्例]",
            1 => Just("a".repeat(60)),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_normal_form_is_its_own_normal_form(text in texts()) {
            if let Ok(name) = normal(&text) {
                prop_assert_eq!(normal(&name), Ok(name.clone()));
                prop_assert_eq!(HostName::new(&name).map(HostName::as_str), Ok(name.as_str()));
                prop_assert!(name.len() <= MAX_NAME && name.is_ascii() && !name.bytes().any(|b| b.is_ascii_uppercase()));
                prop_assert!(name.split('.').all(|label| (1..=MAX_LABEL).contains(&label.len())));
                prop_assert!(!text.is_ascii() || relative(&text).eq_ignore_ascii_case(&name));
            }
            prop_assert_eq!(HostName::new(&text).is_ok(), normal(&text).as_deref() == Ok(text.as_str()));
        }

        #[test]
        fn case_and_a_last_dot_change_nothing(text in texts()) {
            let other: String =
                text.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect();
            prop_assert_eq!(normal(&other), normal(&text));
            if let Ok(name) = normal(&text) {
                prop_assert_eq!(normal(&format!("{name}.")), Ok(name));
            }
        }

        #[test]
        fn any_text_is_a_name_or_has_a_reason(text in any::<String>()) {
            if let Err(reason) = normal(&text) {
                prop_assert!(!reason.to_string().is_empty());
            }
        }
    }
}
