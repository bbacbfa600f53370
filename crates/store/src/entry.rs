//! What stands in the log's frames, and the rows that sinks make of it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::str::FromStr;

use bytes::Bytes;
use lycosa_url::{
    Bound, CrawlUrl, Failure, FailureKind, Headers, Link, Micros, NameClass, Page, Purpose, Received,
    Request, Response, Step, Times,
};
use serde::{Deserialize, Serialize};

use crate::Position;
use crate::frame::Kind;
use crate::headers;

/// One frame's content: borrowed when it is written, owned when it is read.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its facts.
    pub outcome: Outcome<'a>,
    /// The body as received; empty where there is none.
    pub body: Bytes,
    /// Bytes of a body that was not read.
    pub skipped: u32,
    /// Where it ends in the log, of one that was read; else 0.
    pub end: Position,
}

/// The facts of an outcome; of a seed only `url` and `finished`, of a lease `url`, `lease`, `started` and `finished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome<'a> {
    /// The URL.
    pub url: Cow<'a, str>,
    /// Redirects that led here, oldest first: URL and status.
    #[serde(skip_serializing_if = "is_default")]
    pub chain: Vec<(Cow<'a, str>, u16)>,
    /// Links from the nearest seed.
    #[serde(skip_serializing_if = "is_default")]
    pub depth: u32,
    /// The number of the lease; 0 for what the frontier settled itself.
    #[serde(skip_serializing_if = "is_default")]
    pub lease: u64,
    /// Earlier tries.
    #[serde(skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// Whether the URL went back to waiting: this outcome is not its last.
    #[serde(skip_serializing_if = "is_default")]
    pub retry: bool,
    /// Whether the failure was the crawler's own trouble, so that it counts as no try.
    #[serde(skip_serializing_if = "is_default")]
    pub ours: bool,
    /// What it says, as one number, by which answers of unrelated hosts are compared.
    #[serde(skip_serializing_if = "is_default")]
    pub mark: u64,
    /// Status code.
    #[serde(skip_serializing_if = "is_default")]
    pub status: Option<u16>,
    /// Kind of failure: a stable name.
    #[serde(skip_serializing_if = "is_default")]
    pub error: Option<Cow<'a, str>>,
    /// Its circumstances, in words.
    #[serde(skip_serializing_if = "is_default")]
    pub error_detail: Option<Cow<'a, str>>,
    /// The address spoken to.
    #[serde(skip_serializing_if = "is_default")]
    pub address: Option<IpAddr>,
    /// When work began, by the wall clock, in microseconds since the epoch; of a lease, when the process that took it began.
    #[serde(skip_serializing_if = "is_default")]
    pub started: Micros,
    /// When it ended; of a lease, when it was taken.
    #[serde(skip_serializing_if = "is_default")]
    pub finished: Micros,
    /// How far the wall clock was ahead of the crawl's then, in microseconds; 0 unless it was set while the crawl went on.
    #[serde(skip_serializing_if = "is_default")]
    pub wall_offset_us: i64,
    /// Microseconds to resolve the name; 0 when it was known.
    #[serde(skip_serializing_if = "is_default")]
    pub name_us: u32,
    /// What the name cost to resolve: `fast`, `slow` or `failed`; nothing where the URL was refused before a request, and in
    /// logs of before there were classes.
    #[serde(skip_serializing_if = "is_default")]
    pub dns_class: Option<Cow<'a, str>>,
    /// Microseconds to connect; 0 on a kept-alive connection.
    #[serde(skip_serializing_if = "is_default")]
    pub connect_us: u32,
    /// Microseconds of TLS handshake.
    #[serde(skip_serializing_if = "is_default")]
    pub tls_us: u32,
    /// Microseconds from the request to the response's head.
    #[serde(skip_serializing_if = "is_default")]
    pub first_byte_us: u32,
    /// Microseconds from there to the last byte.
    #[serde(skip_serializing_if = "is_default")]
    pub body_us: u32,
    /// Header fields.
    #[serde(with = "headers", skip_serializing_if = "is_default")]
    pub headers: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    /// Character encoding, of text.
    #[serde(skip_serializing_if = "is_default")]
    pub charset: Option<Cow<'a, str>>,
    /// Title.
    #[serde(skip_serializing_if = "is_default")]
    pub title: Option<Cow<'a, str>>,
    /// Target of `rel=canonical`.
    #[serde(skip_serializing_if = "is_default")]
    pub canonical: Option<Cow<'a, str>>,
    /// Target of a redirect.
    #[serde(skip_serializing_if = "is_default")]
    pub redirect: Option<Cow<'a, str>>,
    /// The site asks not to index it.
    #[serde(skip_serializing_if = "is_default")]
    pub noindex: bool,
    /// The site asks not to follow its links.
    #[serde(skip_serializing_if = "is_default")]
    pub nofollow: bool,
    /// Links: URL, and whether it is `nofollow`.
    #[serde(skip_serializing_if = "is_default")]
    pub links: Vec<(Cow<'a, str>, bool)>,
    /// Bounds that the page has reached, by their stable names.
    #[serde(skip_serializing_if = "is_default")]
    pub bounds: Vec<Cow<'a, str>>,
}

impl Outcome<'_> {
    /// The same, borrowing nothing.
    fn into_owned(self) -> Outcome<'static> {
        fn text(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        Outcome {
            url: text(self.url),
            chain: self.chain.into_iter().map(|(url, status)| (text(url), status)).collect(),
            error: self.error.map(text),
            error_detail: self.error_detail.map(text),
            dns_class: self.dns_class.map(text),
            headers: self
                .headers
                .into_iter()
                .map(|(name, value)| (text(name), Cow::Owned(value.into_owned())))
                .collect(),
            charset: self.charset.map(text),
            title: self.title.map(text),
            canonical: self.canonical.map(text),
            redirect: self.redirect.map(text),
            links: self.links.into_iter().map(|(url, nofollow)| (text(url), nofollow)).collect(),
            bounds: self.bounds.into_iter().map(text).collect(),
            ..self
        }
    }
}

/// Whether a field need not be written: most are empty in most records.
fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// A sink's row: a URL's last outcome, its body without content coding.
#[derive(Clone, Debug)]
pub struct Row {
    /// The facts.
    pub outcome: Outcome<'static>,
    /// The decoded body; nothing where there is none or it does not decode.
    pub body: Option<Bytes>,
    /// Where its frame ends in the log.
    pub end: Position,
}

impl Row {
    /// The row of an outcome that is not in the log yet, if it is a URL's last.
    pub fn of_page(page: &Page, with_body: bool) -> Option<Row> {
        let entry = Entry::page(page);
        if entry.kind != Kind::Page || page.retry {
            return None;
        }
        let body = (with_body && entry.outcome.status.is_some()).then(|| page.body.clone());
        Some(Row { outcome: entry.outcome.into_owned(), body, end: entry.end })
    }

    /// The body as text; nothing where there is none, or it is no text, or is larger as text than a body may be.
    pub(crate) fn text(&self, decoders: Decoders) -> Option<Cow<'_, str>> {
        (decoders.text)(self.body.as_ref()?, self.outcome.charset.as_deref()?, decoders.largest)
    }
}

/// How bodies become readable. Given by the caller, since decoding lives in other rooms.
#[derive(Clone, Copy, Debug)]
pub struct Decoders {
    /// Undoes a content coding; nothing where that is not possible within so many bytes.
    pub content: fn(&Bytes, Option<&str>, usize) -> Option<Bytes>,
    /// Bytes of a decoded body, and of its text, at most: a log may be of a job that allowed more.
    pub largest: usize,
    /// Turns bytes of a character encoding into text; nothing where that has more than so many bytes.
    pub text: for<'a> fn(&'a [u8], &str, usize) -> Option<Cow<'a, str>>,
}

/// Entries are the same where they say the same, wherever they stand.
impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.outcome, &self.body) == (other.kind, &other.outcome, &other.body)
    }
}

impl<'a> Entry<'a> {
    /// The frame of a seed.
    pub fn seed(url: &'a str, at: Micros) -> Self {
        let outcome = Outcome { url: url.into(), finished: at, ..Outcome::default() };
        Entry { kind: Kind::Seed, outcome, body: Bytes::new(), skipped: 0, end: 0 }
    }

    /// The frame of a request that is about to be sent, by a process that began at `process`.
    pub fn lease(request: &'a Request, process: Micros, at: Micros) -> Self {
        let url = request.url.as_str().into();
        let outcome =
            Outcome { url, lease: request.lease, started: process, finished: at, ..Outcome::default() };
        Entry { kind: Kind::Lease, outcome, body: Bytes::new(), skipped: 0, end: 0 }
    }

    /// The frame of a page or a robots.txt.
    pub fn page(page: &'a Page) -> Self {
        let response = &page.response;
        let (request, times) = (&response.request, &response.times);
        let mut outcome = Outcome {
            url: request.url.as_str().into(),
            chain: chain(&request.chain),
            depth: request.depth,
            lease: request.lease,
            attempt: request.attempt,
            retry: page.retry,
            ours: page.ours,
            mark: page.mark,
            address: response.address,
            started: response.started,
            finished: response.finished,
            name_us: request.name_us,
            dns_class: request.name_class.map(|class| class.as_str().into()),
            connect_us: times.connect_us,
            tls_us: times.tls_us,
            first_byte_us: times.first_byte_us,
            body_us: times.body_us,
            charset: page.charset.map(Cow::Borrowed),
            title: page.title.as_deref().map(Cow::Borrowed),
            canonical: page.canonical.as_ref().map(|url| url.as_str().into()),
            redirect: page.redirect.as_ref().map(|url| url.as_str().into()),
            noindex: page.noindex,
            nofollow: page.nofollow,
            links: page.links.iter().map(|link| (link.url.as_str().into(), link.nofollow)).collect(),
            bounds: page.bounds.iter().map(|bound| bound.as_str().into()).collect(),
            ..Outcome::default()
        };
        let mut body = Bytes::new();
        match &response.result {
            Ok(received) => {
                outcome.status = Some(received.status);
                outcome.headers = borrowed(&received.headers);
                body = received.body.clone();
            }
            Err(failure) => {
                outcome.error = Some(failure.kind.as_str().into());
                outcome.error_detail = Some(failure.detail.as_str().into());
            }
        }
        let kind = match request.purpose {
            Purpose::Page => Kind::Page,
            Purpose::Robots => Kind::Robots,
        };
        Entry { kind, outcome, body, skipped: 0, end: 0 }.on_wall(times.wall_offset_us)
    }
}

impl Entry<'_> {
    /// Puts its times, which are by the crawl's clock, on the wall clock, which is so far ahead.
    #[must_use]
    pub fn on_wall(mut self, wall_offset_us: i64) -> Self {
        let outcome = &mut self.outcome;
        outcome.wall_offset_us = wall_offset_us;
        for time in [&mut outcome.started, &mut outcome.finished] {
            *time = time.saturating_add_signed(wall_offset_us);
        }
        self
    }
}

impl Outcome<'_> {
    /// When it began and ended, by the crawl's clock.
    pub fn crawl_times(&self) -> [Micros; 2] {
        [self.started, self.finished]
            .map(|time| time.saturating_add_signed(self.wall_offset_us.saturating_neg()))
    }
}

impl Entry<'_> {
    /// Whether it says that a URL that had ended waits again.
    pub(crate) fn is_reopened(&self) -> bool {
        self.kind == Kind::Page && self.outcome.retry && self.outcome.lease == 0
    }
}

impl Entry<'static> {
    /// The row that a sink makes of this frame, if it is a URL's last outcome.
    pub fn into_row(self, decoders: Decoders, with_body: bool) -> Option<Row> {
        if self.kind != Kind::Page || self.outcome.retry {
            return None;
        }
        let wanted = with_body && self.outcome.status.is_some();
        let body = if wanted {
            (decoders.content)(&self.body, self.outcome.header("content-encoding"), decoders.largest)
        } else {
            None
        };
        Some(Row { outcome: self.outcome, body, end: self.end })
    }
}

impl Entry<'static> {
    /// The outcome that was written, as far as the frontier needs it to go on: without title and charset.
    /// Nothing where its URL no longer parses (a stricter version reads an older log).
    pub fn into_page(self) -> Option<Page> {
        let outcome = self.outcome;
        let [started, finished] = outcome.crawl_times();
        let url = |text: &str| CrawlUrl::parse(text).ok();
        let step = |(text, status): &(Cow<'_, str>, u16)| Some(Step { url: url(text)?, status: *status });
        let purpose = if self.kind == Kind::Robots { Purpose::Robots } else { Purpose::Page };
        let request = Request {
            lease: outcome.lease,
            url: url(&outcome.url)?,
            purpose,
            depth: outcome.depth,
            attempt: outcome.attempt,
            chain: outcome.chain.iter().map(step).collect::<Option<_>>()?,
            addresses: Vec::new(),
            name_us: outcome.name_us,
            name_class: outcome.dns_class.as_deref().and_then(NameClass::from_name),
            cookies: None,
            deadline: 0,
        };
        let result = match (outcome.status, &outcome.error) {
            (Some(status), _) => {
                let field = |(name, value): (Cow<'_, str>, Cow<'_, [u8]>)| (name.into(), value.into());
                let headers = Headers(outcome.headers.into_iter().map(field).collect());
                Ok(Received { status, headers, body: self.body })
            }
            (None, error) => {
                let kind =
                    error.as_deref().and_then(FailureKind::from_name).unwrap_or(FailureKind::Cancelled);
                Err(Failure::new(kind, outcome.error_detail.unwrap_or_default()))
            }
        };
        let times = Times {
            connect_us: outcome.connect_us,
            tls_us: outcome.tls_us,
            first_byte_us: outcome.first_byte_us,
            body_us: outcome.body_us,
            wall_offset_us: outcome.wall_offset_us,
        };
        let response = Response { request, address: outcome.address, started, finished, times, result };
        let mut page = Page::new(response, Bytes::new());
        page.redirect = outcome.redirect.as_deref().and_then(url);
        page.nofollow = outcome.nofollow;
        page.retry = outcome.retry;
        (page.ours, page.mark) = (outcome.ours, outcome.mark);
        let link =
            |(text, nofollow): &(Cow<'_, str>, bool)| Some(Link { url: url(text)?, nofollow: *nofollow });
        page.links = outcome.links.iter().filter_map(link).collect();
        page.bounds = outcome.bounds.iter().filter_map(|name| Bound::from_name(name)).collect();
        Some(page)
    }
}

impl Outcome<'_> {
    /// Bytes of memory that it holds, about.
    pub(crate) fn memory(&self) -> usize {
        const ALL: usize = 1_024;
        const PART: usize = 64;
        let pairs = self.headers.iter().map(|(name, value)| PART + name.len() + value.len());
        let links = self.links.iter().map(|(url, _)| PART + url.len());
        let chain = self.chain.iter().map(|(url, _)| PART + url.len());
        let title = self.title.as_deref().map_or(0, str::len);
        ALL + self.url.len() + title + pairs.chain(links).chain(chain).sum::<usize>()
    }

    /// The first value of a header field that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value)?;
        std::str::from_utf8(value).ok()
    }
}

/// A chain of redirects.
fn chain(steps: &[Step]) -> Vec<(Cow<'_, str>, u16)> {
    steps.iter().map(|step| (step.url.as_str().into(), step.status)).collect()
}

/// Header fields.
fn borrowed(headers: &Headers) -> Vec<(Cow<'_, str>, Cow<'_, [u8]>)> {
    headers.0.iter().map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value))).collect()
}

lycosa_url::described! {
/// The columns that a sink can write, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The URL, in canonical form.
    Url,
    /// The redirects that led here, oldest first: URL and status.
    Chain,
    /// Links from the nearest seed.
    Depth,
    /// Earlier tries.
    Attempt,
    /// Status code; null where there is no response.
    Status,
    /// Kind of failure, a stable name (docs/errors.md); null where there is a response.
    Error,
    /// The failure's circumstances, for people.
    ErrorDetail,
    /// The address spoken to.
    Address,
    /// When the outcome was complete, in UTC.
    FetchedAt,
    /// Microseconds that the host's name took to resolve; 0 where it was known.
    NameUs,
    /// What the name cost to resolve: fast, slow or failed; null where the URL was refused before a request.
    DnsClass,
    /// Microseconds to connect; 0 on a connection that was kept alive.
    ConnectUs,
    /// Microseconds of the TLS handshake.
    TlsUs,
    /// Microseconds from the request's first byte to the response's head.
    FirstByteUs,
    /// Microseconds from there to the response's last byte.
    BodyUs,
    /// Header fields in the order received: names in lower case, and values.
    Headers,
    /// The field content-type.
    ContentType,
    /// Character encoding (WHATWG); null for what is no text.
    Charset,
    /// Text of the first title element.
    Title,
    /// Target of rel=canonical.
    Canonical,
    /// Target of the redirect, where the status is one.
    Redirect,
    /// Whether robots meta or X-Robots-Tag say noindex.
    Noindex,
    /// Whether robots meta or X-Robots-Tag say nofollow.
    Nofollow,
    /// Number of links in the page.
    LinkCount,
    /// The links of the page, each once, in order.
    Links,
    /// The body without content coding, as bytes. In JSON lines: the text under body, or other bytes under body_base64; the other key is null.
    Body,
    /// The body decoded to text by its charset: of an HTML page its HTML with all tags, not the main text. Null for what is no text, or has more than parse.max_decoded_bytes in UTF-8. Not written unless store.fields names it.
    Text,
}
}

impl Field {
    /// Every column with its name.
    pub const ALL: [(Field, &'static str); 27] = [
        (Field::Url, "url"),
        (Field::Chain, "chain"),
        (Field::Depth, "depth"),
        (Field::Attempt, "attempt"),
        (Field::Status, "status"),
        (Field::Error, "error"),
        (Field::ErrorDetail, "error_detail"),
        (Field::Address, "address"),
        (Field::FetchedAt, "fetched_at"),
        (Field::NameUs, "name_us"),
        (Field::DnsClass, "dns_class"),
        (Field::ConnectUs, "connect_us"),
        (Field::TlsUs, "tls_us"),
        (Field::FirstByteUs, "first_byte_us"),
        (Field::BodyUs, "body_us"),
        (Field::Headers, "headers"),
        (Field::ContentType, "content_type"),
        (Field::Charset, "charset"),
        (Field::Title, "title"),
        (Field::Canonical, "canonical"),
        (Field::Redirect, "redirect"),
        (Field::Noindex, "noindex"),
        (Field::Nofollow, "nofollow"),
        (Field::LinkCount, "link_count"),
        (Field::Links, "links"),
        (Field::Body, "body"),
        (Field::Text, "text"),
    ];

    /// The column's name.
    pub fn name(self) -> &'static str {
        Field::ALL.iter().find(|(field, _)| *field == self).map_or("", |(_, name)| name)
    }
}

/// A name that is no column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseFieldError;

impl FromStr for Field {
    type Err = ParseFieldError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Field::ALL.iter().find(|(_, known)| *known == name).map(|(field, _)| *field).ok_or(ParseFieldError)
    }
}
