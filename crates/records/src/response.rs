//! What became of a request. Filled by fetch; read by parse.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_url::{CrawlUrl, Failure, Micros};
use serde::{Deserialize, Serialize};

use crate::serial::{self, is_default};
use crate::{Body, Head, Request};

/// Durations of one exchange, in microseconds, and where the wall clock stood; 0 where a phase did not happen (a kept-alive connection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// TCP connect.
    #[serde(skip_serializing_if = "is_default")]
    pub connect_us: u32,
    /// TLS handshake.
    #[serde(skip_serializing_if = "is_default")]
    pub tls_us: u32,
    /// From the request's first byte sent to the response's head.
    #[serde(skip_serializing_if = "is_default")]
    pub first_byte_us: u32,
    /// From the response's head to its last byte.
    #[serde(skip_serializing_if = "is_default")]
    pub body_us: u32,
    /// How far the wall clock was ahead of the crawl's when the exchange ended ([`Clock::wall_offset`](lycosa_url::Clock)).
    #[serde(skip_serializing_if = "is_default")]
    pub wall_offset_us: i64,
}

/// How a response was made.
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
    /// A cache, without asking the site.
    #[serde(rename = "cache")]
    Cache,
}

impl Source {
    /// Every source with its stable name, which is its encoding too.
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

/// What is kept of a connection's TLS and of the certificate that was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Certificate {
    /// The version of TLS, such as `TLSv1_3`.
    pub protocol: Box<str>,
    /// The cipher suite.
    pub cipher: Box<str>,
    /// SHA-256 of the certificate, in hexadecimal digits.
    pub sha256: Box<str>,
    /// Whom it is for.
    pub subject: Box<str>,
    /// Who issued it.
    pub issuer: Box<str>,
    /// From when to when it is valid, in seconds since the epoch.
    pub valid: (i64, i64),
}

/// A complete HTTP response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Received {
    /// Status code.
    pub status: u16,
    /// How it was made.
    #[serde(skip_serializing_if = "is_default")]
    pub source: Source,
    /// Status line and header fields as received.
    #[serde(skip_serializing_if = "is_default")]
    pub head: Head,
    /// The body as received: transfer coding removed, content coding kept.
    #[serde(skip_serializing_if = "Body::is_memory")]
    pub body: Body,
    /// Request line and header fields as sent; empty where nobody knows them.
    #[serde(skip_serializing_if = "is_default")]
    pub sent: Head,
    /// The certificate, of what came over TLS.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: Option<Arc<Certificate>>,
    /// The URL that was there at the end, where it is another than the request's: a browser follows redirects itself.
    #[serde(skip_serializing_if = "is_default")]
    pub final_url: Option<CrawlUrl>,
}

impl Received {
    /// Its size on the wire: head and body.
    pub fn bytes(&self) -> u64 {
        self.body.len() + self.head.raw().len() as u64
    }

    /// Bytes of memory held beside the record itself, about.
    pub fn memory(&self) -> usize {
        let body = self.body.memory().map_or(0, bytes::Bytes::len);
        body + self.head.raw().len() + self.sent.raw().len()
    }
}

/// What became of a request. Filled by fetch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The request, given back.
    pub request: Request,
    /// The address spoken to, if one was.
    #[serde(default, with = "serial::address", skip_serializing_if = "is_default")]
    pub address: Option<IpAddr>,
    /// When work on it began, by the crawl's clock.
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

/// Bytes of memory that a response takes beside its texts: fields, boxes, what the allocator adds.
const RESPONSE_BYTES: usize = 1_024;

impl Response {
    /// When it ended, by the wall clock of then.
    pub fn fetched_at(&self) -> Micros {
        self.finished.saturating_add_signed(self.times.wall_offset_us)
    }

    /// Bytes of memory that it holds, about.
    pub fn memory(&self) -> usize {
        let received = self.result.as_ref().map_or(0, Received::memory);
        RESPONSE_BYTES + self.request.memory() + received
    }
}
