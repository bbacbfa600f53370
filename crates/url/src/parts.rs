//! The positions of a canonical URL's parts, and URLs that borrow their text.

use std::fmt;

use crate::{BadUrl, CrawlUrl, Digest, MAX_URL_BYTES};

/// A URL in canonical form that borrows text and digest, such as one of many links in one text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UrlRef<'a> {
    text: &'a str,
    digest: &'a Digest,
    parts: Parts,
}

impl<'a> UrlRef<'a> {
    /// A URL of known parts.
    pub(crate) fn of_parts(text: &'a str, digest: &'a Digest, parts: Parts) -> Self {
        UrlRef { text, digest, parts }
    }

    /// Finds the parts of a canonical text without parsing: it must come from this crate. `None` if it cannot
    /// be canonical.
    pub fn of_canonical(text: &'a str, digest: &'a Digest) -> Option<Self> {
        Some(UrlRef { text, digest, parts: Parts::find(text)? })
    }

    /// The canonical text.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// The host: a name in lower-case ASCII, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(self) -> &'a str {
        self.parts.host(self.text)
    }

    /// Host and, unless it is the scheme's default, port: the value of the `Host` header.
    pub fn authority(self) -> &'a str {
        self.parts.authority(self.text)
    }

    /// Scheme, host and port: the scope of one robots.txt (RFC 9309 section 2.3).
    pub fn origin(self) -> &'a str {
        self.parts.origin(self.text)
    }

    /// Path and query, as sent in the request line.
    pub fn path_and_query(self) -> &'a str {
        self.parts.path_and_query(self.text)
    }

    /// The port; the scheme's default if the URL has none.
    pub fn port(self) -> u16 {
        self.parts.port
    }

    /// Whether the scheme is `https`.
    pub fn is_https(self) -> bool {
        self.parts.is_https(self.text)
    }

    /// MD5 of the canonical text.
    pub fn digest(self) -> &'a Digest {
        self.digest
    }

    /// Copies the URL.
    pub fn to_owned(self) -> CrawlUrl {
        CrawlUrl::with_digest(self.text, self.parts, *self.digest)
    }
}

impl fmt::Debug for UrlRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl<'a> From<&'a CrawlUrl> for UrlRef<'a> {
    fn from(url: &'a CrawlUrl) -> Self {
        url.borrow()
    }
}

/// The positions of the parts of a canonical text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parts {
    host_start: u16,
    host_end: u16,
    pub(crate) path_start: u16,
    pub(crate) port: u16,
}

impl Parts {
    /// Parts at these positions.
    pub(crate) fn new(
        host_start: usize,
        host_end: usize,
        path_start: usize,
        port: u16,
    ) -> Result<Self, BadUrl> {
        let short = |place: usize| u16::try_from(place).map_err(|_| BadUrl::TooLong);
        Ok(Parts {
            host_start: short(host_start)?,
            host_end: short(host_end)?,
            path_start: short(path_start)?,
            port,
        })
    }

    /// The host.
    pub(crate) fn host(self, text: &str) -> &str {
        &text[usize::from(self.host_start)..usize::from(self.host_end)]
    }

    /// Host and port.
    pub(crate) fn authority(self, text: &str) -> &str {
        &text[usize::from(self.host_start)..usize::from(self.path_start)]
    }

    /// Scheme, host and port.
    pub(crate) fn origin(self, text: &str) -> &str {
        &text[..usize::from(self.path_start)]
    }

    /// Path and query.
    pub(crate) fn path_and_query(self, text: &str) -> &str {
        &text[usize::from(self.path_start)..]
    }

    /// Whether the scheme is `https`.
    pub(crate) fn is_https(self, text: &str) -> bool {
        text.starts_with("https")
    }

    /// Finds the parts of a canonical text; `None` if it cannot be canonical. Most texts are scanned once, up
    /// to the first slash.
    #[inline]
    fn find(text: &str) -> Option<Self> {
        let (scheme, own_port) = match text.as_bytes() {
            [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => (7, 80),
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => (8, 443),
            _ => return None,
        };
        let rest = &text.as_bytes()[scheme..];
        let host = match rest {
            [b'[', ..] => memchr::memchr(b']', rest)? + 1,
            _ => memchr::memchr2(b'/', b':', rest)?,
        };
        let (path, port) = match rest.get(host)? {
            b'/' => (host, own_port),
            _ => {
                let path = host + memchr::memchr(b'/', &rest[host..])?;
                let port = text.get(scheme + host..scheme + path)?.strip_prefix(':')?;
                (path, port.parse().ok().filter(|port| *port > 0)?)
            }
        };
        if host == 0 || text.len() > MAX_URL_BYTES {
            return None;
        }
        Parts::new(scheme, scheme + host, scheme + path, port).ok()
    }
}
