//! The outcome of a URL: a response after parsing, or what the frontier settled without a request. Filled by
//! parse, judged by the frontier, recorded by the log, shown to sinks and users.

use std::borrow::Cow;

use bytes::Bytes;
use lycosa_url::{Bounds, CrawlUrl, Failure, FailureKind, Micros, NameClass};
use serde::{Deserialize, Serialize};

use crate::request::memory_of;
use crate::serial::{self, is_default};
use crate::{
    Links, Metadata, PageText, Received, Request, RequestOptions, Response, Source, Step, Times,
    UsagePreference, mark,
};

/// Maximum size of a robots.txt that is parsed, in bytes: RFC 9309 section 2.5 requires at least this.
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// The outcome of a URL. Its response's result is a failure if the body did not decode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The response.
    pub response: Response,
    /// What was received, if it is refused as no content. `response.result` says why.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refused: Option<Box<Received>>,
    /// The body without content coding, if decoded; shares memory with the received body if it has no coding.
    /// It is not encoded: it stays in the process that decoded it.
    #[serde(skip)]
    pub decoded: Option<Bytes>,
    /// The text of a robots.txt without content coding, limited to [`MAX_ROBOTS_BYTES`], and one byte more if
    /// it is longer; `None` for other URLs.
    #[serde(default, with = "rules", skip_serializing_if = "is_default")]
    pub rules: Option<Bytes>,
    /// Name of the character encoding (WHATWG), if the body is text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub charset: Option<Cow<'static, str>>,
    /// Text of the first `<title>`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub title: Option<Box<str>>,
    /// What the page says, if the job has its text read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Option<Box<PageText>>,
    /// Target of `rel=canonical`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub canonical: Option<CrawlUrl>,
    /// Target of the redirect (`Location`), if the status is one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirect: Option<CrawlUrl>,
    /// Whether a robots meta element or X-Robots-Tag says `noindex`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub noindex: bool,
    /// Whether a robots meta element or X-Robots-Tag says `nofollow`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nofollow: bool,
    /// Links in order of appearance, each once.
    #[serde(default, skip_serializing_if = "Links::is_empty")]
    pub links: Links,
    /// Requests that the user's code has added: the frontier admits them as it does links, each with all that it says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requests: Vec<Request>,
    /// Number of links that are not crawlable URLs (`mailto:`, `javascript:`, broken).
    #[serde(default, skip_serializing_if = "is_default")]
    pub bad_links: u32,
    /// Limits that the page reached; the excess is omitted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounds: Bounds,
    /// Values that rules or a user's parse stage extracted: JSON values by name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: Metadata,
    /// The site's preferences about the uses of the page: one for each use that a signal speaks of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Vec<UsagePreference>,
    /// Licences that the page's own `<link rel=license>` name; [`licenses`](crate::licenses) has those of all signals.
    #[serde(default, skip_serializing_if = "is_default")]
    pub licenses: Vec<CrawlUrl>,
    /// Whether the URL is retried: this outcome is not its last. Set by the frontier's judgement.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: bool,
    /// Whether the crawler's own side failed (resolver, uplink, this machine): then it does not count as a
    /// try. Set by the frontier's judgement.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ours: bool,
    /// The response's mark, by which responses of unrelated hosts are compared ([`mark()`]); 0: none. Set by
    /// parse; the frontier's judgement clears it if the response was not compared.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mark: u64,
}

impl Outcome {
    /// An unparsed response.
    pub fn new(response: Response) -> Self {
        Outcome {
            response,
            refused: None,
            decoded: None,
            rules: None,
            charset: None,
            title: None,
            text: None,
            canonical: None,
            redirect: None,
            noindex: false,
            nofollow: false,
            links: Links::default(),
            requests: Vec::new(),
            bad_links: 0,
            bounds: Bounds::default(),
            fields: Metadata::new(),
            usage: Vec::new(),
            licenses: Vec::new(),
            retry: false,
            ours: false,
            mark: 0,
        }
    }

    /// The request.
    pub fn request(&self) -> &Request {
        &self.response.request
    }

    /// The URL.
    pub fn url(&self) -> &CrawlUrl {
        &self.response.request.url
    }

    /// The response, if there is one.
    pub fn received(&self) -> Option<&Received> {
        self.response.result.as_ref().ok()
    }

    /// What the site has answered, also where that is no content.
    pub fn answer(&self) -> Option<&Received> {
        self.received().or(self.refused.as_deref())
    }

    /// The decoded body of a response that is not refused.
    pub fn page(&self) -> Option<&Bytes> {
        self.received().and(self.decoded.as_ref())
    }

    /// Why there is no response.
    pub fn failure(&self) -> Option<&Failure> {
        self.response.result.as_ref().err()
    }

    /// The response as it was received, to be parsed again.
    pub fn into_response(self) -> Response {
        match self.refused {
            Some(received) => Response { result: Ok(*received), ..self.response },
            None => self.response,
        }
    }

    /// Computes the mark. Call it after redirect and decoded body, or the text of the robots.txt, are set, and before a page that is no
    /// content becomes a failure: that keeps the mark of what was answered.
    pub fn set_mark(&mut self) {
        let body = self.decoded.as_ref().or(self.rules.as_ref()).map_or(&[][..], |body| body);
        self.mark = match &self.response.result {
            // No site has answered.
            Ok(received) if received.source == Source::Cache => 0,
            Ok(received) => mark(self.url(), received.status, body, self.redirect.as_ref()),
            Err(_) if self.refused.is_some() => self.mark,
            Err(_) => 0,
        };
    }

    /// Approximate memory, in bytes: the response, the decoded body unless it shares memory, links, fields,
    /// title.
    pub fn memory(&self) -> usize {
        let received = self.received().and_then(|received| received.body.memory());
        let own = |decoded: &&Bytes| received.is_none_or(|body| body.as_ptr() != decoded.as_ptr());
        let body = self.decoded.as_ref().filter(own).map_or(0, Bytes::len);
        let refused =
            self.refused.as_deref().and_then(|received| received.body.memory()).map_or(0, Bytes::len);
        let fields = memory_of(&self.fields);
        self.response.memory()
            + body
            + refused
            + self.links.memory()
            + self.requests.iter().map(|request| size_of::<Request>() + request.memory()).sum::<usize>()
            + fields
            + self.title.as_deref().map_or(0, str::len)
            + self.text.as_deref().map_or(0, PageText::memory)
    }

    /// The canonical URL (`rel=canonical`) of a page, if it is another URL of the same origin. A job that
    /// trusts it marks that URL as seen, since its page has been fetched under this URL. Canonical URLs of
    /// other origins are ignored.
    pub fn copy_of(&self) -> Option<&CrawlUrl> {
        let (url, canonical) = (self.url(), self.canonical.as_ref()?);
        let is_page = self.received().is_some_and(|received| received.status == 200);
        (is_page && canonical.origin() == url.origin() && canonical != url).then_some(canonical)
    }

    /// A settled URL that is waiting again: the user reopened it, or a captive portal had responded for it.
    /// `ended`: the status or failure of its last outcome. Its lease is 0, and this outcome is not the URL's
    /// last.
    pub fn reopened(url: CrawlUrl, depth: u32, at: Micros, ended: Result<u16, Failure>) -> Self {
        let failure =
            ended.as_ref().err().cloned().unwrap_or_else(|| Failure::new(FailureKind::Cancelled, ""));
        let mut outcome = Outcome::settled(url, depth, Vec::new(), at, failure);
        if let Ok(status) = ended {
            outcome.response.result = Ok(Received { status, ..Received::default() });
        }
        (outcome.retry, outcome.ours) = (true, true);
        outcome
    }

    /// Whether it is a settled URL that is waiting again.
    pub fn is_reopened(&self) -> bool {
        self.retry && self.response.request.lease == 0
    }

    /// A URL that the frontier settles without a fetch: it is refused, or its name does not resolve. Its
    /// lease is 0.
    pub fn settled(url: CrawlUrl, depth: u32, chain: Vec<Step>, at: Micros, failure: Failure) -> Self {
        let name_class = failure.kind.is_of_name().then_some(NameClass::Failed);
        let request = Request { depth, chain, name_class, ..Request::get(url) };
        let (address, times) = (None, Times::default());
        Outcome::new(Response { request, address, started: at, finished: at, times, result: Err(failure) })
    }

    /// Sets the request's options.
    #[must_use]
    pub fn with_options(mut self, options: Option<Box<RequestOptions>>) -> Self {
        self.response.request.options = options;
        self
    }
}

impl From<Outcome> for Cow<'_, Outcome> {
    fn from(outcome: Outcome) -> Self {
        Cow::Owned(outcome)
    }
}

/// Encoding of the field `rules`.
mod rules {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::serial::Blob;

    pub(super) fn serialize<S: Serializer>(rules: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
        rules.as_ref().map(|rules| Blob((&rules[..]).into())).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
        Ok(Option::<Blob<'de>>::deserialize(deserializer)?.map(|rules| rules.0.into_owned().into()))
    }
}
