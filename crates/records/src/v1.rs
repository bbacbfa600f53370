//! Records of version 1, in logs of Lycosa 0.1 from before version 2; they are read, never written. One flat
//! map for seeds, leases and outcomes; times by the wall clock; header fields as pairs, with names in lower
//! case; links as pairs.

use std::borrow::Cow;
use std::net::IpAddr;

use lycosa_url::{Bounds, CrawlUrl, Failure, FailureKind, Micros, NameClass};
use serde::Deserialize;

use crate::frame::Kind;
use crate::serial::Blob;
use crate::{
    Accepted, Body, Entry, Head, Leased, Outcome, Purpose, Received, Record as _, Request, Response, Step,
    Times,
};

/// The facts of a frame; a seed has only `url` and `finished`, a lease `url`, `lease`, `started` and
/// `finished`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct V1 {
    url: String,
    chain: Vec<(String, u16)>,
    depth: u32,
    lease: u64,
    attempt: u32,
    retry: bool,
    ours: bool,
    mark: u64,
    status: Option<u16>,
    error: Option<FailureKind>,
    error_detail: Option<String>,
    address: Option<IpAddr>,
    started: Micros,
    finished: Micros,
    wall_offset_us: i64,
    name_us: u32,
    dns_class: Option<String>,
    connect_us: u32,
    tls_us: u32,
    first_byte_us: u32,
    body_us: u32,
    headers: Headers,
    charset: Option<String>,
    title: Option<Box<str>>,
    canonical: Option<String>,
    redirect: Option<String>,
    noindex: bool,
    nofollow: bool,
    links: Vec<(String, bool)>,
    bounds: Bounds,
}

/// Header fields: pairs in MessagePack, objects in JSON.
#[derive(Default)]
struct Headers(Vec<(String, Vec<u8>)>);

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Readable {
            name: String,
            #[serde(default)]
            value: Option<String>,
            #[serde(default)]
            value_base64: Option<String>,
        }
        if !deserializer.is_human_readable() {
            let fields = Vec::<(String, Blob<'de>)>::deserialize(deserializer)?;
            return Ok(Headers(
                fields.into_iter().map(|(name, value)| (name, value.0.into_owned())).collect(),
            ));
        }
        let value = |field: &Readable| match (&field.value, &field.value_base64) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(encoded)) => {
                base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded).ok()
            }
            (None, None) => None,
        };
        let fields = Vec::<Readable>::deserialize(deserializer)?;
        let field = |field: Readable| Some((field.name.clone(), value(&field)?));
        Ok(Headers(fields.into_iter().filter_map(field).collect()))
    }
}

/// Reads the facts of a frame; `None` if they are not of version 1.
pub fn read(facts: &[u8]) -> Option<V1> {
    crate::read_map(facts).filter(V1::has_url)
}

impl V1 {
    /// Whether it has a URL, as each record has.
    pub fn has_url(&self) -> bool {
        !self.url.is_empty()
    }

    /// Start and end, by the crawl's clock; for a lease, when its process began and when it was granted.
    fn crawl_times(&self) -> [Micros; 2] {
        [self.started, self.finished]
            .map(|time| time.saturating_add_signed(self.wall_offset_us.saturating_neg()))
    }

    /// The record of a kind, with its body. `None` if its URL, or that of a redirect to it, no longer parses.
    pub fn into_entry(self, kind: Kind, body: Body) -> Option<Entry<'static>> {
        match kind {
            Kind::Seed => self.into_accepted().map(Entry::Accepted),
            Kind::Lease => self.into_leased().map(Entry::Leased),
            _ => {
                let mut outcome = self.into_outcome(kind)?;
                outcome.attach(body);
                Some(Entry::Outcome(Cow::Owned(outcome)))
            }
        }
    }

    /// The accepted request.
    pub(crate) fn into_accepted(self) -> Option<Accepted<'static>> {
        let request = Request::get(CrawlUrl::parse(&self.url).ok()?);
        Some(Accepted { request: Cow::Owned(request), at: self.finished })
    }

    /// The lease.
    pub(crate) fn into_leased(self) -> Option<Leased<'static>> {
        let ([process, granted], url) = (self.crawl_times(), CrawlUrl::parse(&self.url).ok()?);
        let wall_offset_us = self.wall_offset_us;
        Some(Leased { url: Cow::Owned(url), lease: self.lease, process, granted, wall_offset_us })
    }

    /// The outcome, without a body. `None` if its URL, or that of a redirect to it, no longer parses, since
    /// this version is stricter.
    pub(crate) fn into_outcome(self, kind: Kind) -> Option<Outcome> {
        let [started, finished] = self.crawl_times();
        let url = |text: &str| CrawlUrl::parse(text).ok();
        let step = |(text, status): &(String, u16)| Some(Step { url: url(text)?, status: *status });
        let request = Request {
            lease: self.lease,
            purpose: if kind == Kind::Robots { Purpose::Robots } else { Purpose::Page },
            depth: self.depth,
            attempt: self.attempt,
            chain: self.chain.iter().map(step).collect::<Option<_>>()?,
            name_us: self.name_us,
            name_class: self.dns_class.as_deref().and_then(NameClass::from_name),
            ..Request::get(url(&self.url)?)
        };
        let times = Times {
            connect_us: self.connect_us,
            tls_us: self.tls_us,
            first_byte_us: self.first_byte_us,
            body_us: self.body_us,
            wall_offset_us: self.wall_offset_us,
        };
        let result = match self.status {
            Some(status) => {
                let fields = self.headers.0.iter().map(|(name, value)| (name, value));
                let head = Head::of(&format!("HTTP/1.1 {status}"), fields).unwrap_or_default();
                Ok(Received { status, head, ..Received::default() })
            }
            None => {
                let kind = self.error.unwrap_or(FailureKind::Cancelled);
                Err(Failure::new(kind, self.error_detail.unwrap_or_default()))
            }
        };
        let mut outcome =
            Outcome::new(Response { request, address: self.address, started, finished, times, result });
        (outcome.charset, outcome.title) = (self.charset.map(Cow::Owned), self.title);
        outcome.canonical = self.canonical.as_deref().and_then(url);
        outcome.redirect = self.redirect.as_deref().and_then(url);
        (outcome.noindex, outcome.nofollow) = (self.noindex, self.nofollow);
        for (text, nofollow) in &self.links {
            if let Some(url) = url(text) {
                outcome.links.push(&url, *nofollow);
            }
        }
        outcome.bounds = self.bounds;
        (outcome.retry, outcome.ours, outcome.mark) = (self.retry, self.ours, self.mark);
        Some(outcome)
    }
}
