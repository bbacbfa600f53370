//! The head of an HTTP message as it was on the wire: first line and header fields, with their case and order.
//!
//! Heads of other sources (HTTP/2, a browser, a script) are converted to the form of HTTP/1.1.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::serial;

/// First line and header fields, each line ended by CR LF; the empty line at the end is omitted.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Head(#[serde(with = "serial::bytes")] Bytes);

impl Head {
    /// A head as it was received or sent.
    pub fn new(raw: Bytes) -> Self {
        Head(raw)
    }

    /// A head of a first line and fields. `None` if one of them is invalid: a control character other than a
    /// tab in it, or a name that is not a token (RFC 9110 section 5).
    pub fn of<N: AsRef<str>, V: AsRef<[u8]>>(
        line: &str,
        fields: impl IntoIterator<Item = (N, V)>,
    ) -> Option<Self> {
        let mut raw = Vec::with_capacity(512);
        is_value(line.as_bytes()).then(|| raw.extend_from_slice(line.as_bytes()))?;
        raw.extend_from_slice(b"\r\n");
        for (name, value) in fields {
            let (name, value) = (name.as_ref(), value.as_ref());
            (is_token(name.as_bytes()) && is_value(value)).then_some(())?;
            raw.extend_from_slice(name.as_bytes());
            raw.extend_from_slice(b": ");
            raw.extend_from_slice(value);
            raw.extend_from_slice(b"\r\n");
        }
        Some(Head(raw.into()))
    }

    /// The bytes.
    pub fn raw(&self) -> &Bytes {
        &self.0
    }

    /// Whether the head is unknown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first line.
    pub fn line(&self) -> &[u8] {
        lines(&self.0).next().unwrap_or_default()
    }

    /// The reason phrase of a status line; empty if there is none.
    pub fn reason(&self) -> Cow<'_, str> {
        let mut words = self.line().splitn(3, |byte| *byte == b' ');
        header_text(words.nth(2).unwrap_or_default())
    }

    /// The header fields in order: name with its case, and value. Lines that are not fields are omitted; a
    /// folded value is joined with single spaces (RFC 9112 section 5.2).
    pub fn fields(&self) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
        let mut rest = lines(&self.0).skip(1).peekable();
        std::iter::from_fn(move || {
            loop {
                let line = rest.next()?;
                let field = parse_field(line);
                let mut value = field.map_or(Cow::default(), |(_, value)| Cow::Borrowed(value));
                while let Some(next) = rest.next_if(|next| matches!(next.first(), Some(b' ' | b'\t'))) {
                    join(&mut value, trim(next));
                }
                if let Some((name, _)) = field.filter(|_| is_value(&value)) {
                    return Some((name, value));
                }
            }
        })
    }

    /// The head without a field that was sent, each on one line.
    #[must_use]
    pub fn without(self, name: &str) -> Self {
        self.with_each(name, "")
    }

    /// The head with `***` for the value of a field that was sent: what a record must not have.
    #[must_use]
    pub fn redacted(self, name: &str) -> Self {
        self.with_each(name, &format!("{name}: ***\r\n"))
    }

    /// The head with another line for each of a field that was sent.
    fn with_each(self, name: &str, other: &str) -> Self {
        let is_it = |line: &[u8]| {
            let field = line.split(|byte| *byte == b':').next().unwrap_or_default();
            field.eq_ignore_ascii_case(name.as_bytes())
        };
        let lines = || self.raw().split_inclusive(|byte| *byte == b'\n');
        if !lines().any(is_it) {
            return self;
        }
        let shown = lines().map(|line| if is_it(line) { other.as_bytes() } else { line });
        Head::new(shown.flatten().copied().collect())
    }

    /// The first value of a field that is UTF-8; the name is case-insensitive.
    pub fn get<'a>(&'a self, name: &str) -> Option<Cow<'a, str>> {
        let (_, value) = self
            .fields()
            .find(|(known, value)| known.eq_ignore_ascii_case(name) && std::str::from_utf8(value).is_ok())?;
        text(value)
    }

    /// The media type that Content-Type names, in lower case, without parameters (RFC 9110 section 8.3.1); empty if there is none.
    pub fn media_type(&self) -> String {
        let label = self.get("content-type").unwrap_or_default();
        label.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// All values of a field that are UTF-8.
    pub fn get_all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = Cow<'a, str>> + use<'a, 'n> {
        self.fields()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| text(value))
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// A header's value as text: UTF-8, otherwise Latin-1 (RFC 9110 section 5.5).
pub fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|&byte| char::from(byte)).collect::<String>().into(),
    }
}

/// A value as text; `None` if it is not UTF-8.
fn text(value: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match value {
        Cow::Borrowed(value) => std::str::from_utf8(value).ok().map(Cow::Borrowed),
        Cow::Owned(value) => String::from_utf8(value).ok().map(Cow::Owned),
    }
}

/// The lines of a head, without line ends; an empty line ends the head.
fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (!line.is_empty()).then_some(line)
    })
}

/// The name before a line's colon and the value after it; `None` if the line is not a field.
fn parse_field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    // Spaces before the colon are accepted: real sites send them.
    let (name, value) = (trim_end(&line[..colon]), trim(&line[colon + 1..]));
    let name = std::str::from_utf8(name).ok().filter(|name| is_token(name.as_bytes()))?;
    Some((name, value))
}

/// Trims the optional white space around a value (RFC 9110 section 5.6.3); other control characters are not
/// white space.
fn trim(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| !is_space(*byte)).unwrap_or(value.len());
    trim_end(&value[start..])
}

/// Trims the end of a value.
fn trim_end(value: &[u8]) -> &[u8] {
    &value[..value.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1)]
}

/// Whether a byte is white space in a head.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Appends the next line of a folded value, separated by one space if both are non-empty.
fn join<'a>(value: &mut Cow<'a, [u8]>, next: &'a [u8]) {
    if value.is_empty() {
        *value = Cow::Borrowed(next);
    } else if !next.is_empty() {
        let value = value.to_mut();
        value.push(b' ');
        value.extend_from_slice(next);
    }
}

/// Whether bytes are a valid field name (RFC 9110 section 5.6.2).
fn is_token(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is_allowed)
}

/// Whether bytes are a valid field value: no control character but the tab.
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(raw: &'static str) -> Head {
        Head::new(Bytes::from_static(raw.as_bytes()))
    }

    #[test]
    fn a_field_is_left_out_whatever_its_case() {
        let sent = head("GET / HTTP/1.1\r\nhost: a\r\nProxy-Authorization: Basic eDp5\r\naccept: *\r\n");
        assert_eq!(
            sent.clone().without("proxy-authorization"),
            head("GET / HTTP/1.1\r\nhost: a\r\naccept: *\r\n")
        );
        assert_eq!(sent.clone().without("cookie"), sent);
        assert_eq!(
            sent.redacted("proxy-authorization"),
            head("GET / HTTP/1.1\r\nhost: a\r\nproxy-authorization: ***\r\naccept: *\r\n")
        );
    }

    #[test]
    fn fields_keep_their_case_and_order_and_are_found_in_any_case() {
        let head =
            head("HTTP/1.1 200 All right\r\nX-B: 1\r\nContent-TYPE:text/html\r\nx-b:\t2 \r\nServer : n\r\n");
        let fields: Vec<_> =
            head.fields().map(|(name, value)| (name, header_text(&value).into_owned())).collect();
        let expected = [("X-B", "1"), ("Content-TYPE", "text/html"), ("x-b", "2"), ("Server", "n")];
        assert_eq!(fields, expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(head.get("content-type").as_deref(), Some("text/html"));
        assert_eq!(
            Head::of("HTTP/1.1 200", [("Content-Type", " Text/HTML ; charset=x")]).unwrap().media_type(),
            "text/html"
        );
        assert_eq!(Head::default().media_type(), "");
        assert_eq!(head.get_all("X-b").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((head.line(), &*head.reason()), (&b"HTTP/1.1 200 All right"[..], "All right"));
    }

    #[test]
    fn a_folded_value_is_one_and_what_is_no_field_is_none() {
        let head = head(
            "HTTP/1.1 200 OK\r\n lost\r\nA: 1\r\n  2\r\n\t3\r\nno field\r\n: x\r\nb c: 1\r\nD: \x01\r\nE:\r\n",
        );
        let fields: Vec<_> =
            head.fields().map(|(name, value)| (name, header_text(&value).into_owned())).collect();
        assert_eq!(fields, [("A", "1 2 3".to_owned()), ("E", String::new())]);
    }

    #[test]
    fn a_folded_value_has_no_space_at_its_ends_and_no_control_character() {
        let head = head(
            "HTTP/1.1 200 OK\r\n X: 0\r\nA:\r\n 1\r\nB: 2\r\n \t\r\nC: 3\r\n \x01\r\nD:\r\n  \r\nE: 5\x0c\r\n",
        );
        let fields: Vec<_> = head.fields().map(|(name, value)| (name, value.into_owned())).collect();
        assert_eq!(fields, [("A", b"1".to_vec()), ("B", b"2".to_vec()), ("D", Vec::new())]);
    }

    #[test]
    fn what_would_be_another_field_makes_no_head() {
        assert!(Head::of("HTTP/1.1 200", [("a", "b\r\nc: d")]).is_none());
        assert!(Head::of("HTTP/1.1 200", [("a\n", "b")]).is_none());
        assert!(Head::of("HTTP/1.1 200\r\na: b", [("a", "b")]).is_none());
        assert!(Head::of("GET / HTTP/1.1", [("", "b")]).is_none());
    }

    proptest! {
        #[test]
        fn what_is_put_into_a_head_is_found_there(fields in proptest::collection::vec(("[A-Za-z-]{1,9}", "([!-~]([ -~]{0,9}[!-~])?)?"), 0..6)) {
            let head = Head::of("HTTP/1.1 200 OK", fields.iter().map(|(name, value)| (name, value))).unwrap();
            let found: Vec<_> = head.fields().map(|(name, value)| (name.to_owned(), header_text(&value).into_owned())).collect();
            prop_assert_eq!(found, fields);
        }

        #[test]
        fn any_bytes_give_fields_or_none(raw: Vec<u8>) {
            let head = Head::new(raw.into());
            for (name, value) in head.fields() {
                prop_assert!(is_token(name.as_bytes()) && is_value(&value));
            }
            let _ = (head.get("a"), head.reason().len());
        }
    }
}
