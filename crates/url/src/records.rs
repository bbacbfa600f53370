//! The records that travel from stage to stage, and who fills them.
//!
//! frontier → [`Request`] → fetch → [`Response`] → parse → [`Page`] → log and frontier.
//! What the frontier settles without a fetch (refusals, names that fail) is a [`Page`] too, with a failure.

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;

use crate::{Bounds, CrawlUrl, Failure, FailureKind, Micros};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A page of the crawl.
    Page,
    /// The robots.txt of an origin, asked for by the frontier itself.
    Robots,
}

/// What a name costs to resolve (SYSTEMS.md section 3): part of answers, pages and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameClass {
    /// It was resolved quickly, or needs no question.
    Fast,
    /// It was resolved, but slowly.
    Slow,
    /// It was not resolved.
    Failed,
}

impl NameClass {
    /// Every class with its stable name.
    const NAMES: [(NameClass, &'static str); 3] =
        [(NameClass::Fast, "fast"), (NameClass::Slow, "slow"), (NameClass::Failed, "failed")];

    /// Its stable name, in outputs and reports.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(class, _)| *class == self).map_or("", |(_, name)| name)
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(class, _)| *class)
    }
}

/// One redirect on the way to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The URL that redirected.
    pub url: CrawlUrl,
    /// Its status: 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// Work on lease: everything that fetch needs, so that it asks nobody.
#[derive(Clone, Debug)]
pub struct Request {
    /// The frontier's number for this lease; unique within a crawl, from 1.
    pub lease: u64,
    /// What to fetch.
    pub url: CrawlUrl,
    /// What for.
    pub purpose: Purpose,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Earlier tries of this URL.
    pub attempt: u32,
    /// The redirects that led here, oldest first.
    pub chain: Vec<Step>,
    /// The host's addresses, vetted, best first; never empty.
    pub addresses: Vec<IpAddr>,
    /// How long the host's name took to resolve, in microseconds; 0 when it was cached.
    pub name_us: u32,
    /// What the host's name cost to resolve; nothing where the URL was refused before a request.
    pub name_class: Option<NameClass>,
    /// The value of its `cookie` field.
    pub cookies: Option<Box<str>>,
    /// When the lease ends: what has not been answered by then is taken back, and must not be sent or go on.
    pub deadline: Micros,
}

/// Durations of one exchange, in microseconds, and where the wall clock stood; 0 where a phase did not happen (a kept-alive connection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// TCP connect.
    pub connect_us: u32,
    /// TLS handshake.
    pub tls_us: u32,
    /// From the request's first byte sent to the response's head.
    pub first_byte_us: u32,
    /// From the response's head to its last byte.
    pub body_us: u32,
    /// How far the wall clock was ahead of the crawl's when the exchange ended ([`Clock::wall_offset`](crate::Clock)).
    pub wall_offset_us: i64,
}

/// Header fields in the order received: lower-case names, values as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(Box<str>, Box<[u8]>)>);

impl Headers {
    /// The first value of a field (`name` in lower case), where it is text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// All values of a field that are text.
    pub fn get_all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(n, _)| &**n == name).filter_map(|(_, v)| std::str::from_utf8(v).ok())
    }
}

/// A header's value as text; bytes that are no UTF-8 are read as Latin-1 (RFC 9110 section 5.5).
pub fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|&byte| char::from(byte)).collect::<String>().into(),
    }
}

/// A complete HTTP response.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Status code.
    pub status: u16,
    /// Header fields.
    pub headers: Headers,
    /// The body as received: transfer coding removed, content coding kept.
    pub body: Bytes,
}

impl Received {
    /// Its size on the wire: body and header fields, as in HTTP/1.1.
    pub fn bytes(&self) -> u64 {
        // ": " and a line break with each field.
        let fields = self.headers.0.iter().map(|(name, value)| name.len() + value.len() + 4);
        (self.body.len() + fields.sum::<usize>()) as u64
    }
}

/// What became of a request. Filled by fetch.
#[derive(Clone, Debug)]
pub struct Response {
    /// The request, given back.
    pub request: Request,
    /// The address spoken to, if one was.
    pub address: Option<IpAddr>,
    /// When work on it began, by the crawl's clock.
    pub started: Micros,
    /// When it ended, by the crawl's clock.
    pub finished: Micros,
    /// Durations of its phases.
    pub times: Times,
    /// The response, or why there is none.
    pub result: Result<Received, Failure>,
}

/// Bytes of memory that a record holds beside its texts: fields, boxes, what the allocator adds.
const RECORD_BYTES: usize = 1_024;

/// The same of a part of a record: a link, a header field, a redirect.
const PART_BYTES: usize = 96;

impl Response {
    /// When it ended, by the wall clock of then.
    pub fn fetched_at(&self) -> Micros {
        self.finished.saturating_add_signed(self.times.wall_offset_us)
    }

    /// Bytes of memory that it holds, about: body, header fields, URL, redirects, cookies.
    pub fn memory(&self) -> usize {
        let request = &self.request;
        let chain = request.chain.iter().map(|step| step.url.as_str().len() + PART_BYTES);
        let received = self.result.as_ref().map_or(0, |received| {
            let fields = received.headers.0.iter().map(|(name, value)| name.len() + value.len() + PART_BYTES);
            received.body.len() + fields.sum::<usize>()
        });
        let cookies = request.cookies.as_deref().map_or(0, str::len);
        RECORD_BYTES + request.url.as_str().len() + chain.sum::<usize>() + cookies + received
    }
}

/// A link found in a page.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it leads.
    pub url: CrawlUrl,
    /// Whether it, or its page, says `nofollow`.
    pub nofollow: bool,
}

/// A response after parsing. Filled by parse; read by the log and the frontier.
#[derive(Clone, Debug)]
pub struct Page {
    /// The response; its result is a failure where the body did not decode.
    pub response: Response,
    /// The body without content coding, where parse needed it; shares memory with the received one when there is no coding.
    pub body: Bytes,
    /// Name of the character encoding (WHATWG), where the body is text.
    pub charset: Option<&'static str>,
    /// Text of the first `<title>`.
    pub title: Option<Box<str>>,
    /// Target of `rel=canonical`.
    pub canonical: Option<CrawlUrl>,
    /// Target of the redirect (`Location`), where the status is one.
    pub redirect: Option<CrawlUrl>,
    /// robots meta or X-Robots-Tag say `noindex`.
    pub noindex: bool,
    /// robots meta or X-Robots-Tag say `nofollow`.
    pub nofollow: bool,
    /// Links in order of appearance, each once.
    pub links: Vec<Link>,
    /// Links that are no URLs that can be crawled (`mailto:`, `javascript:`, broken).
    pub bad_links: u32,
    /// Bounds that it has reached: what is beyond them is left out.
    pub bounds: Bounds,
    /// Whether the URL goes back to waiting: this outcome is not its last. Filled by the frontier's judgement.
    pub retry: bool,
    /// Whether the failure was the crawler's own trouble (resolver, uplink, this machine): it counts as no try. Filled by the
    /// frontier's judgement.
    pub ours: bool,
    /// What the answer says, as one number, by which answers of unrelated hosts are compared; 0: nothing. Decided by the frontier.
    pub mark: u64,
}

impl Page {
    /// A response of which nothing is known beyond its decoded body.
    pub fn new(response: Response, body: Bytes) -> Self {
        Page {
            response,
            body,
            charset: None,
            title: None,
            canonical: None,
            redirect: None,
            noindex: false,
            nofollow: false,
            links: Vec::new(),
            bad_links: 0,
            bounds: Bounds::default(),
            retry: false,
            ours: false,
            mark: 0,
        }
    }

    /// Bytes of memory that it holds, about: those of its response, its own body where that is another, links, title.
    pub fn memory(&self) -> usize {
        let received = self.response.result.as_ref().map(|received| received.body.as_ptr());
        let body = if received == Ok(self.body.as_ptr()) { 0 } else { self.body.len() };
        let links = self.links.iter().map(|link| link.url.as_str().len() + PART_BYTES).sum::<usize>();
        self.response.memory() + body + links + self.title.as_deref().map_or(0, str::len)
    }

    /// The URL whose page this is, by its own `rel=canonical`: another one of the same origin. Where a job trusts it, that URL
    /// counts as known, since its page has been fetched under this name. Other origins are never spoken for.
    pub fn copy_of(&self) -> Option<&CrawlUrl> {
        let url = &self.response.request.url;
        let received = self.response.result.as_ref().ok()?;
        let canonical = self.canonical.as_ref()?;
        (received.status == 200 && canonical.origin() == url.origin() && canonical != url)
            .then_some(canonical)
    }

    /// A URL that was settled and waits again: opened by the user, or because a captive portal had answered for it. `ended`: the
    /// status or the failure that it had ended with. Its lease is 0, and it is no URL's last outcome.
    pub fn reopened(url: CrawlUrl, depth: u32, at: Micros, ended: Result<u16, Failure>) -> Self {
        let failure =
            ended.as_ref().err().cloned().unwrap_or_else(|| Failure::new(FailureKind::Cancelled, ""));
        let mut page = Page::settled(url, depth, Vec::new(), at, failure);
        if let Ok(status) = ended {
            page.response.result = Ok(Received { status, ..Received::default() });
        }
        (page.retry, page.ours) = (true, true);
        page
    }

    /// Whether it is a URL that was settled and waits again.
    pub fn is_reopened(&self) -> bool {
        self.retry && self.response.request.lease == 0
    }

    /// A URL that the frontier settles without a fetch: refused, or its name does not resolve. Its lease is 0.
    pub fn settled(url: CrawlUrl, depth: u32, chain: Vec<Step>, at: Micros, failure: Failure) -> Self {
        let purpose = Purpose::Page;
        let (addresses, cookies) = (Vec::new(), None);
        let name_class = failure.kind.is_of_name().then_some(NameClass::Failed);
        let request = Request {
            lease: 0,
            url,
            purpose,
            depth,
            attempt: 0,
            chain,
            addresses,
            name_us: 0,
            name_class,
            cookies,
            deadline: 0,
        };
        let (address, times) = (None, Times::default());
        let response = Response { request, address, started: at, finished: at, times, result: Err(failure) };
        Page::new(response, Bytes::new())
    }
}

/// The answer for one name. Filled by names; read by the frontier.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The name, as asked for.
    pub name: Box<str>,
    /// How long it took, in microseconds; 0 from a cache.
    pub elapsed_us: u32,
    /// Until when the answer, or the failure, holds.
    pub expires: Micros,
    /// What resolving cost.
    pub class: NameClass,
    /// At least one address, best first; or the failure.
    pub result: Result<Vec<IpAddr>, Failure>,
}
