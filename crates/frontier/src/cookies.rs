//! Cookies (RFC 6265): a view of the `set-cookie` fields in the log.
//!
//! Guarantees: a cookie goes only to hosts, paths and schemes that it is for; none is set for another registered domain
//! or for a public suffix; memory is bounded, whatever sites send.

use std::cmp::Reverse;

use cookie::Cookie as Parsed;
use hashbrown::HashMap;
use lycosa_records::Response;
use lycosa_url::{CrawlUrl, Micros, registered_domain};

use crate::codec::{self, put_bytes, put_number};

/// Bytes of a name and its value (RFC 6265bis section 5.6: what is longer is ignored).
const MAX_COOKIE: usize = 4096;

/// Cookies of a registered domain (RFC 6265 section 6.1: at least 50); the oldest go first.
const MAX_OF_DOMAIN: usize = 50;

/// Bytes of the field that is sent: servers take 8 KiB of all fields together.
const MAX_SENT: usize = 6 << 10;

/// A domain's own cost in memory, and a cookie's, about.
const OVERHEAD: usize = 128;

/// All cookies of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Jar {
    domains: HashMap<Box<str>, Domain>,
    bytes: usize,
    /// Bytes that it may have; 0: it takes none.
    limit: usize,
}

/// The cookies of a registered domain.
#[derive(Debug, Default)]
struct Domain {
    /// In the order in which they were first set.
    cookies: Vec<Cookie>,
    /// When it last set one.
    set_at: Micros,
}

/// A cookie.
#[derive(Clone, Debug, PartialEq)]
struct Cookie {
    name: Box<str>,
    value: Box<str>,
    host: Box<str>,
    subdomains: bool,
    path: Box<str>,
    secure: bool,
    /// Those of a session last as long as the job.
    expires: Micros,
}

impl Jar {
    /// An empty jar of at most this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Jar { limit, ..Jar::default() }
    }

    /// Takes the cookies that a response sets.
    pub(crate) fn receive(&mut self, response: &Response) {
        for cookie in self.set_by(response) {
            let name = registered_domain(response.request.url.host());
            let domain = self.domains.entry_ref(name).or_default();
            if domain.cookies.is_empty() && domain.set_at == 0 {
                self.bytes += OVERHEAD + name.len();
            }
            domain.set_at = response.finished;
            self.bytes += cookie.bytes();
            self.bytes -= domain.put(cookie, response.finished);
        }
        self.forget_some();
    }

    /// Whether a response sets a cookie that is not stored with that value.
    pub(crate) fn would_change(&self, response: &Response) -> bool {
        let held = self.domains.get(registered_domain(response.request.url.host()));
        self.set_by(response).any(|cookie| {
            let same = |held: &Cookie| held.is(&cookie) && held.value == cookie.value;
            cookie.expires > response.finished && held.is_none_or(|domain| !domain.cookies.iter().any(same))
        })
    }

    /// The `cookie` field of a request (RFC 6265 section 5.4): longer paths first.
    pub(crate) fn field(&self, url: &CrawlUrl, now: Micros) -> Option<Box<str>> {
        if self.domains.is_empty() {
            return None;
        }
        let domain = self.domains.get(registered_domain(url.host()))?;
        let mut fitting: Vec<&Cookie> =
            domain.cookies.iter().filter(|cookie| cookie.fits(url, now)).collect();
        fitting.sort_by_key(|cookie| Reverse(cookie.path.len()));
        let mut field = String::new();
        for cookie in fitting {
            if field.len() + cookie.name.len() + cookie.value.len() + 3 > MAX_SENT {
                continue;
            }
            field.push_str(if field.is_empty() { "" } else { "; " });
            field.extend([&cookie.name, "=", &*cookie.value]);
        }
        (!field.is_empty()).then(|| field.into())
    }

    /// Those that a response sets and may set. A cache's response sets none: they may be old, or another client's.
    fn set_by<'a>(&self, response: &'a Response) -> impl Iterator<Item = Cookie> + use<'a> {
        let received = response.result.as_ref().ok().filter(|_| self.limit > 0 && !response.is_cached());
        let fields = received.into_iter().flat_map(|received| received.head.get_all("set-cookie"));
        fields.filter_map(|field| Cookie::parse(&field, &response.request.url, response.finished))
    }

    /// While there are too many bytes, forgets the half of the domains that have set none for the longest time: one domain alone
    /// may have too many.
    fn forget_some(&mut self) {
        while self.bytes > self.limit && !self.domains.is_empty() {
            let mut times: Vec<Micros> = self.domains.values().map(|domain| domain.set_at).collect();
            let middle = times.len() / 2;
            let (_, &mut median, _) = times.select_nth_unstable(middle);
            self.domains.retain(|_, domain| domain.set_at > median);
            self.bytes =
                self.domains.iter().map(|(name, domain)| OVERHEAD + name.len() + domain.bytes()).sum();
        }
    }

    /// Appends the record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        put_number(record, self.domains.len() as u64);
        for (name, domain) in &self.domains {
            put_bytes(record, name.as_bytes());
            put_number(record, domain.set_at);
            put_number(record, domain.cookies.len() as u64);
            for cookie in &domain.cookies {
                for text in [&cookie.name, &cookie.value, &cookie.host, &cookie.path] {
                    put_bytes(record, text.as_bytes());
                }
                put_number(record, u64::from(cookie.subdomains) | u64::from(cookie.secure) << 1);
                put_number(record, cookie.expires);
            }
        }
    }

    /// Reads the record of a snapshot; what no longer fits is forgotten.
    pub(crate) fn unpack(&mut self, mut from: &[u8]) -> Option<()> {
        let from = &mut from;
        for _ in 0..codec::number(from)? {
            let name = codec::text(from)?;
            let mut domain = Domain { set_at: codec::number(from)?, ..Domain::default() };
            for _ in 0..codec::number(from)? {
                let [name, value, host, path] =
                    [codec::text(from)?, codec::text(from)?, codec::text(from)?, codec::text(from)?]
                        .map(Box::from);
                let flags = codec::number(from)?;
                let (subdomains, secure) = (flags & 1 != 0, flags & 2 != 0);
                let expires = codec::number(from)?;
                domain.cookies.push(Cookie { name, value, host, subdomains, path, secure, expires });
            }
            self.bytes += OVERHEAD + name.len() + domain.bytes();
            self.domains.insert(name.into(), domain);
        }
        self.forget_some();
        Some(())
    }
}

impl Domain {
    /// Bytes of memory of its cookies.
    fn bytes(&self) -> usize {
        self.cookies.iter().map(Cookie::bytes).sum()
    }

    /// Stores a cookie, replacing an older one; returns the bytes that were freed.
    fn put(&mut self, cookie: Cookie, now: Micros) -> usize {
        let before = self.bytes() + cookie.bytes();
        match self.cookies.iter_mut().find(|held| held.is(&cookie)) {
            // What came over https is not changed over http (RFC 6265bis section 5.7).
            Some(held) if held.secure && !cookie.secure => {}
            Some(held) => *held = cookie,
            None => self.cookies.push(cookie),
        }
        self.cookies.retain(|cookie| cookie.expires > now);
        let too_many = self.cookies.len().saturating_sub(MAX_OF_DOMAIN);
        self.cookies.drain(..too_many);
        before - self.bytes()
    }
}

impl Cookie {
    /// Reads a `set-cookie` field (RFC 6265 sections 5.2 and 5.3). `None` if the URL's host may not set it.
    fn parse(field: &str, url: &CrawlUrl, now: Micros) -> Option<Self> {
        let parsed = Parsed::parse(field).ok()?;
        let (name, value) = (parsed.name(), parsed.value());
        let control = |text: &str| text.bytes().any(|byte| byte < b' ' || byte == 0x7f || byte == b';');
        if name.len() + value.len() > MAX_COOKIE || control(name) || control(value) {
            return None;
        }
        let domain = parsed.domain().map(str::to_ascii_lowercase).filter(|domain| !domain.is_empty());
        let subdomains = domain.as_deref().is_some_and(|domain| domain.parse::<std::net::IpAddr>().is_err());
        let host = domain.as_deref().unwrap_or(url.host());
        let secure = parsed.secure() == Some(true);
        let path = parsed.path().filter(|path| path.starts_with('/')).unwrap_or(directory(url));
        let allowed = (host == url.host()
            || (under(url.host(), host) && under_or_is(host, registered_domain(url.host()))))
            && (!secure || url.is_https())
            && (!name.starts_with("__Secure-") || secure)
            && (!name.starts_with("__Host-") || (secure && domain.is_none() && path == "/"));
        allowed.then(|| Cookie {
            name: name.into(),
            value: value.into(),
            host: host.into(),
            subdomains,
            path: path.into(),
            secure,
            expires: expires(&parsed, now),
        })
    }

    /// Whether it goes with a request.
    fn fits(&self, url: &CrawlUrl, now: Micros) -> bool {
        let path = path(url);
        let of_host = *self.host == *url.host() || (self.subdomains && under(url.host(), &self.host));
        let of_path = path
            .strip_prefix(&*self.path)
            .is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'));
        of_host && of_path && (!self.secure || url.is_https()) && self.expires > now
    }

    /// Whether both are the same cookie, whatever their values.
    fn is(&self, other: &Cookie) -> bool {
        self.name == other.name && self.host == other.host && self.path == other.path
    }

    /// Bytes of memory.
    fn bytes(&self) -> usize {
        OVERHEAD + self.name.len() + self.value.len() + self.host.len() + self.path.len()
    }
}

/// When a cookie ends: `max-age` before `expires`; without both, with the job.
fn expires(parsed: &Parsed<'_>, now: Micros) -> Micros {
    if let Some(age) = parsed.max_age() {
        let age = u64::try_from(age.whole_seconds()).unwrap_or(0);
        return now.saturating_add(age.saturating_mul(1_000_000));
    }
    let date = parsed.expires_datetime().map(|date| date.unix_timestamp());
    date.map_or(Micros::MAX, |date| u64::try_from(date).unwrap_or(0).saturating_mul(1_000_000))
}

/// Whether a host is below a domain.
fn under(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether a host is a domain or below it.
fn under_or_is(host: &str, domain: &str) -> bool {
    host == domain || under(host, domain)
}

/// A URL's path, without its query.
fn path(url: &CrawlUrl) -> &str {
    let text = url.path_and_query();
    text.split_once('?').map_or(text, |(path, _)| path)
}

/// The path that a cookie has by default: the URL's, up to its last slash.
fn directory(url: &CrawlUrl) -> &str {
    let path = path(url);
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}

#[cfg(test)]
#[path = "cookies_tests.rs"]
mod tests;
