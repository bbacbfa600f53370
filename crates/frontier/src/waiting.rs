//! A URL that waits, and how it is packed into its host's queue: the host is left out, so that most URLs take
//! little more than their path.

use lycosa_records::{Purpose, Request, RequestOptions, Step};
use lycosa_url::{CrawlUrl, Digest, Micros, UrlRef};

use crate::codec;
use crate::levels::{Level, level_of};
use crate::patience::Evidence;
use crate::schedule::QueueId;

/// A URL that may be admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// What to fetch.
    pub(crate) url: UrlRef<'a>,
    /// Links from a seed.
    pub(crate) depth: u32,
    /// Redirects that led here.
    pub(crate) chain: &'a [Step],
    /// What the request has beyond a GET.
    pub(crate) options: Option<&'a RequestOptions>,
}

impl<'a> Candidate<'a> {
    /// A link.
    pub(crate) fn link(url: UrlRef<'a>, depth: u32) -> Self {
        Candidate { url, depth, chain: &[], options: None }
    }

    /// What a request asks for.
    pub(crate) fn of(request: &'a Request) -> Self {
        let Request { url, depth, chain, options, .. } = request;
        Candidate { url: url.borrow(), depth: *depth, chain, options: options.as_deref() }
    }

    /// The level of its priority.
    pub(crate) fn level(&self) -> Level {
        self.options.map_or(0, |options| level_of(options.priority))
    }

    /// Whether it says no more than a link: a URL, its depth and its priority.
    pub(crate) fn is_link(&self) -> bool {
        let only = |options: &RequestOptions| *options == prioritised(options.priority);
        self.chain.is_empty() && self.options.is_none_or(only)
    }
}

/// What the request of a link with a priority has beyond a GET.
pub(crate) fn prioritised(priority: i32) -> RequestOptions {
    RequestOptions { priority, ..RequestOptions::default() }
}

/// A URL that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    /// What to fetch.
    pub(crate) url: CrawlUrl,
    /// Links from a seed.
    pub(crate) depth: u32,
    /// Earlier tries.
    pub(crate) attempt: u32,
    /// Not before: the pause after the last try. 0: at any time.
    pub(crate) due: Micros,
    /// Redirects that led here.
    pub(crate) chain: Vec<Step>,
    /// What the request has beyond a GET.
    pub(crate) options: Option<Box<RequestOptions>>,
    /// For a robots.txt or a tdmrep.json: its owner. A redirect can lead to another host's queue.
    pub(crate) owner: Option<Box<RobotsOwner>>,
}

/// A file that speaks for a whole origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginFile {
    /// robots.txt.
    Robots,
    /// tdmrep.json, which was asked for so often in vain. Its requests have the purpose of a robots.txt.
    Tdmrep(u32),
}

/// The queue and origin that a robots.txt, or a tdmrep.json, speaks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RobotsOwner {
    /// The queue that waits for it.
    pub(crate) queue: QueueId,
    /// Scheme, host and port.
    pub(crate) origin: Box<str>,
    /// Which file it is.
    pub(crate) file: OriginFile,
    /// The evidence against the origin before this request.
    pub(crate) before: Option<Box<Evidence>>,
}

/// Parts of a packed URL beside depth and path.
mod flag {
    pub(super) const HTTPS: u64 = 1;
    pub(super) const PORT: u64 = 2;
    pub(super) const ATTEMPT: u64 = 4;
    pub(super) const CHAIN: u64 = 8;
    pub(super) const DUE: u64 = 16;
    pub(super) const OPTIONS: u64 = 32;
}

impl Waiting {
    /// A URL that waits for the first time, at any time.
    pub(crate) fn new(url: CrawlUrl) -> Self {
        Waiting { url, depth: 0, attempt: 0, due: 0, chain: Vec::new(), options: None, owner: None }
    }

    /// One that was admitted, and waits for the first time.
    pub(crate) fn of(candidate: &Candidate<'_>) -> Self {
        let Candidate { url, depth, chain, options } = *candidate;
        let options = options.cloned().map(Box::new);
        Waiting { depth, chain: chain.to_vec(), options, ..Waiting::new(url.to_owned()) }
    }

    /// The same as one that may be admitted.
    pub(crate) fn candidate(&self) -> Candidate<'_> {
        let (chain, options) = (&self.chain[..], self.options.as_deref());
        Candidate { url: self.url.borrow(), depth: self.depth, chain, options }
    }

    /// The level of its priority.
    pub(crate) fn level(&self) -> Level {
        self.options.as_ref().map_or(0, |options| level_of(options.priority))
    }

    /// Its request key.
    pub(crate) fn key(&self) -> Digest {
        lycosa_records::key_of(self.url.borrow(), self.options.as_deref())
    }

    /// The purpose of its request.
    pub(crate) fn purpose(&self) -> Purpose {
        if self.owner.is_some() { Purpose::Robots } else { Purpose::Page }
    }

    /// Appends the packed form. A robots.txt has none: it is asked for again.
    pub(crate) fn pack(&self, into: &mut Vec<u8>) {
        pack(into, &self.candidate(), (self.attempt, self.due));
    }

    /// Takes a packed URL of a host from the front.
    pub(crate) fn unpack(host: &str, from: &mut &[u8]) -> Option<Waiting> {
        let flags = codec::number(from)?;
        let depth = codec::small(from)?;
        let port = if flags & flag::PORT == 0 { None } else { Some(codec::number(from)?.try_into().ok()?) };
        let attempt = if flags & flag::ATTEMPT == 0 { 0 } else { codec::small(from)? };
        let due = if flags & flag::DUE == 0 { 0 } else { codec::number(from)? };
        let path = codec::text(from)?;
        // Parsed: an earlier version may have another canonical form.
        let scheme = if flags & flag::HTTPS == 0 { "http" } else { "https" };
        let port = port.map_or(String::new(), |port: u16| format!(":{port}"));
        let url = CrawlUrl::parse(&format!("{scheme}://{host}{port}{path}")).ok()?;
        let steps = if flags & flag::CHAIN == 0 { 0 } else { codec::small(from)? };
        let mut chain = Vec::new();
        for _ in 0..steps {
            let status = codec::number(from)?.try_into().ok()?;
            chain.push(Step { url: CrawlUrl::parse(codec::text(from)?).ok()?, status });
        }
        let options = match flags & flag::OPTIONS {
            0 => None,
            _ => Some(lycosa_records::read_map(codec::bytes(from)?)?),
        };
        Some(Waiting { url, depth, attempt, due, chain, options, owner: None })
    }
}

/// Appends the packed form of a URL that waits, with its earlier tries and when the next is due.
pub(crate) fn pack(into: &mut Vec<u8>, candidate: &Candidate<'_>, (attempt, due): (u32, Micros)) {
    let Candidate { url, depth, chain, options } = *candidate;
    let options = options.and_then(lycosa_records::write_map);
    let own_port = if url.is_https() { 443 } else { 80 };
    let mut flags = 0;
    for (set, flag) in [
        (url.is_https(), flag::HTTPS),
        (url.port() != own_port, flag::PORT),
        (attempt > 0, flag::ATTEMPT),
        (!chain.is_empty(), flag::CHAIN),
        (due > 0, flag::DUE),
        (options.is_some(), flag::OPTIONS),
    ] {
        flags |= if set { flag } else { 0 };
    }
    codec::put_number(into, flags);
    codec::put_number(into, depth.into());
    if flags & flag::PORT != 0 {
        codec::put_number(into, url.port().into());
    }
    if flags & flag::ATTEMPT != 0 {
        codec::put_number(into, attempt.into());
    }
    if flags & flag::DUE != 0 {
        codec::put_number(into, due);
    }
    codec::put_bytes(into, url.path_and_query().as_bytes());
    if flags & flag::CHAIN != 0 {
        codec::put_number(into, chain.len() as u64);
        for step in chain {
            codec::put_number(into, step.status.into());
            codec::put_bytes(into, step.url.as_str().as_bytes());
        }
    }
    if let Some(options) = options {
        codec::put_bytes(into, &options);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waiting() -> impl Strategy<Value = Waiting> {
        let url = "https?://(a\\.example|\\[2001:db8::1\\])(:[1-9][0-9]{0,3})?/[a-z?=&%20]{0,40}";
        let step = (url, 300u16..400)
            .prop_map(|(text, status)| Step { url: CrawlUrl::parse(&text).unwrap(), status });
        let options =
            proptest::option::of(("[A-Z]{0,4}", proptest::collection::vec(any::<u8>(), 0..9), any::<i32>()));
        let options = options.prop_map(|options| {
            options.map(|(method, body, priority)| {
                let (method, body) = (method.into(), body.into());
                let metadata = [("n".to_owned(), priority.into())].into_iter().collect();
                Box::new(RequestOptions { method, body, priority, metadata, ..RequestOptions::default() })
            })
        });
        let numbers = (any::<u32>(), any::<u32>(), any::<u64>());
        (url, numbers, proptest::collection::vec(step, 0..3), options).prop_map(
            |(text, (depth, attempt, due), chain, options)| {
                let waiting = Waiting::new(CrawlUrl::parse(&text).unwrap());
                Waiting { depth, attempt, due, chain, options, ..waiting }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(all in proptest::collection::vec(waiting(), 0..5)) {
            let mut packed = Vec::new();
            all.iter().for_each(|waiting| waiting.pack(&mut packed));
            let mut rest = &packed[..];
            for waiting in all {
                let unpacked = Waiting::unpack(waiting.url.host(), &mut rest).unwrap();
                prop_assert_eq!(unpacked.url.digest(), waiting.url.digest());
                prop_assert_eq!(unpacked, waiting);
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_short_url_is_short() {
        let mut packed = Vec::new();
        let url = CrawlUrl::parse("https://a.example/news/1").unwrap();
        pack(&mut packed, &Candidate::link(url.borrow(), 3), (0, 0));
        assert_eq!(packed.len(), "/news/1".len() + 3);
    }
}
