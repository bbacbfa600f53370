//! The result of a request. Filled by fetch; read by parse.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_url::{CrawlUrl, Failure, Micros};
use serde::{Deserialize, Serialize};

use crate::serial::{self, is_default};
use crate::{Body, Head, Request, Route};

/// Durations of one exchange, in microseconds, and the wall clock's offset. A duration is 0 if the phase did
/// not happen (a kept-alive connection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// TCP connect.
    #[serde(skip_serializing_if = "is_default")]
    pub connect_us: u32,
    /// TLS handshake.
    #[serde(skip_serializing_if = "is_default")]
    pub tls_us: u32,
    /// From sending the request's first byte to the response's head.
    #[serde(skip_serializing_if = "is_default")]
    pub first_byte_us: u32,
    /// From the response's head to its last byte.
    #[serde(skip_serializing_if = "is_default")]
    pub body_us: u32,
    /// How far the wall clock was ahead of the crawl's clock when the exchange ended
    /// ([`Clock::wall_offset`](lycosa_url::Clock)).
    #[serde(skip_serializing_if = "is_default")]
    pub wall_offset_us: i64,
}

/// The source of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// HTTP/1.0.
    #[serde(rename = "http/1.0")]
    Http10,
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2.
    #[serde(rename = "h2")]
    Http2,
    /// A browser.
    #[serde(rename = "browser")]
    Browser,
    /// A cache, without a request to the site.
    #[serde(rename = "cache")]
    Cache,
}

impl Source {
    /// Each source with its stable name, which is also its encoding.
    const NAMES: [(Source, &'static str); 5] = [
        (Source::Http10, "http/1.0"),
        (Source::Http11, "http/1.1"),
        (Source::Http2, "h2"),
        (Source::Browser, "browser"),
        (Source::Cache, "cache"),
    ];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(source, _)| *source == self).map_or("", |(_, name)| name)
    }

    /// The source with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(source, _)| *source)
    }
}

/// Facts about a connection's TLS and the server's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Certificate {
    /// The version of TLS, such as `TLSv1_3`.
    pub protocol: Box<str>,
    /// The cipher suite.
    pub cipher: Box<str>,
    /// SHA-256 of the certificate, in hexadecimal digits.
    pub sha256: Box<str>,
    /// The subject.
    pub subject: Box<str>,
    /// The issuer.
    pub issuer: Box<str>,
    /// Start and end of validity, in seconds since the epoch.
    pub valid: (i64, i64),
}

/// A complete HTTP response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Received {
    /// Status code.
    pub status: u16,
    /// Its source.
    #[serde(skip_serializing_if = "is_default")]
    pub source: Source,
    /// Status line and header fields as received.
    #[serde(skip_serializing_if = "is_default")]
    pub head: Head,
    /// The body as received: transfer coding removed, content coding kept.
    #[serde(skip_serializing_if = "Body::is_memory")]
    pub body: Body,
    /// Request line and header fields as sent; empty if unknown.
    #[serde(skip_serializing_if = "is_default")]
    pub sent: Head,
    /// The certificate, if TLS was used.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: Option<Arc<Certificate>>,
    /// The final URL, if it differs from the request's: a browser follows redirects itself.
    #[serde(skip_serializing_if = "is_default")]
    pub final_url: Option<CrawlUrl>,
}

impl Received {
    /// Its size on the wire: head and body.
    pub fn bytes(&self) -> u64 {
        self.body.len() + self.head.raw().len() as u64
    }

    /// Approximate memory besides the record itself, in bytes.
    pub fn memory(&self) -> usize {
        let body = self.body.memory().map_or(0, bytes::Bytes::len);
        body + self.head.raw().len() + self.sent.raw().len()
    }
}

/// The result of a request. Filled by fetch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The request.
    pub request: Request,
    /// The address to which a connection was established: the server's, or the proxy's ([`site_address`](Self::site_address)).
    #[serde(default, with = "serial::address", skip_serializing_if = "is_default")]
    pub address: Option<IpAddr>,
    /// When the exchange began, by the crawl's clock.
    #[serde(default)]
    pub started: Micros,
    /// When it ended, by the crawl's clock.
    #[serde(default)]
    pub finished: Micros,
    /// Durations of its phases.
    #[serde(default, skip_serializing_if = "is_default")]
    pub times: Times,
    /// The response, or why there is none.
    pub result: Result<Received, Failure>,
}

/// Memory of a response besides its texts, in bytes: fields, boxes, allocator overhead.
const RESPONSE_BYTES: usize = 1_024;

impl Response {
    /// When it ended, by the wall clock at that time.
    pub fn fetched_at(&self) -> Micros {
        self.finished.saturating_add_signed(self.times.wall_offset_us)
    }

    /// Whether it is a cache's: the site was not asked, and nothing is learnt of it.
    pub fn is_cached(&self) -> bool {
        self.result.as_ref().is_ok_and(|received| received.source == Source::Cache)
    }

    /// The address that the site was asked at; `None` without a connection, and unless the route is direct: the address of a proxy
    /// is not the site's.
    pub fn site_address(&self) -> Option<IpAddr> {
        self.address.filter(|_| matches!(self.request.route, Route::Direct(_)))
    }

    /// Approximate memory, in bytes.
    pub fn memory(&self) -> usize {
        let received = self.result.as_ref().map_or(0, Received::memory);
        RESPONSE_BYTES + self.request.memory() + received
    }
}
