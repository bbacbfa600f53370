//! Leased requests. Filled by the frontier; read by fetch; returned in the response.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use lycosa_url::{CrawlUrl, Digest, Micros, NameClass, TDMREP_PATH, UrlRef, digest_of};
use serde::{Deserialize, Serialize};

use crate::serial::{self, is_default};
use crate::usage::Statement;

/// Values that a user attaches to a request and that its outcome returns: JSON values by name.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A page of the crawl.
    #[default]
    Page,
    /// The robots.txt of an origin, requested by the frontier itself.
    Robots,
    /// A sitemap.
    Sitemap,
    /// A part of a page, such as an image or a script.
    Resource,
}

impl Purpose {
    /// Each purpose with its stable name.
    const NAMES: [(Purpose, &'static str); 4] = [
        (Purpose::Page, "page"),
        (Purpose::Robots, "robots"),
        (Purpose::Sitemap, "sitemap"),
        (Purpose::Resource, "resource"),
    ];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(purpose, _)| *purpose == self).map_or("", |(_, name)| name)
    }

    /// The purpose with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(purpose, _)| *purpose)
    }
}

/// The job, and the task within it, of a request. Both are empty if the process runs a single crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// The job.
    #[serde(skip_serializing_if = "is_default")]
    pub job: Box<str>,
    /// The task, with scope, strategy and rules of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub name: Box<str>,
}

impl Task {
    /// The task of a process that runs a single crawl. All share one, so that a request without a task
    /// costs no memory.
    pub fn none() -> Arc<Task> {
        static NONE: LazyLock<Arc<Task>> = LazyLock::new(Arc::default);
        Arc::clone(&NONE)
    }

    /// Whether both names are empty.
    fn is_none(task: &Arc<Task>) -> bool {
        task.job.is_empty() && task.name.is_empty()
    }
}

/// One redirect on the way to a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The URL that redirected.
    pub url: CrawlUrl,
    /// Its status: 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// How a request reaches its site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// By a connection to one of the host's permitted addresses, best first.
    #[serde(with = "serial::addresses")]
    Direct(Vec<IpAddr>),
    /// By the proxy with this name in the job.
    Proxy {
        /// Its name.
        name: Box<str>,
        /// The host's permitted addresses, best first, as of a direct route.
        #[serde(with = "serial::addresses")]
        addresses: Vec<IpAddr>,
    },
    /// By a browser with this name in the job.
    Browser(Box<str>),
}

impl Default for Route {
    fn default() -> Self {
        Route::Direct(Vec::new())
    }
}

impl Route {
    /// The host's permitted addresses, best first; empty for a browser.
    pub fn addresses(&self) -> &[IpAddr] {
        match self {
            Route::Direct(addresses) | Route::Proxy { addresses, .. } => addresses,
            Route::Browser(_) => &[],
        }
    }

    /// The name of the proxy.
    pub fn proxy(&self) -> Option<&str> {
        match self {
            Route::Proxy { name, .. } => Some(name),
            Route::Direct(_) | Route::Browser(_) => None,
        }
    }

    /// The same route by a proxy; `None`: by none.
    #[must_use]
    pub fn by(&self, proxy: Option<&str>) -> Self {
        let addresses = self.addresses().to_vec();
        match proxy {
            Some(name) => Route::Proxy { name: name.into(), addresses },
            None => Route::Direct(addresses),
        }
    }
}

/// Validators of an earlier response, for a conditional request (RFC 9110 section 13).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Validators {
    /// The field `ETag`.
    #[serde(skip_serializing_if = "is_default")]
    pub etag: Option<Box<str>>,
    /// The field `Last-Modified`.
    #[serde(skip_serializing_if = "is_default")]
    pub last_modified: Option<Box<str>>,
}

/// Properties of a request other than a plain GET. Most requests have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestOptions {
    /// The method; empty: GET.
    #[serde(skip_serializing_if = "is_default")]
    pub method: Box<str>,
    /// Header fields that add to the crawler's own or replace them, in this order.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<(Box<str>, Box<str>)>,
    /// The body.
    #[serde(with = "serial::bytes", skip_serializing_if = "is_default")]
    pub body: Bytes,
    /// Validators of a conditional request.
    #[serde(skip_serializing_if = "is_default")]
    pub validators: Validators,
    /// Requests with a greater priority come first: of a host, and of hosts that may be asked at the same
    /// time.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: i32,
    /// The user's metadata.
    #[serde(skip_serializing_if = "is_default")]
    pub metadata: Metadata,
    /// The deduplication key: requests of one host with the same key are one, whatever they ask for. Empty: URL, method and body tell
    /// requests apart.
    #[serde(skip_serializing_if = "is_default")]
    pub key: Box<str>,
}

/// Bytes of a deduplication key, at most.
pub const MAX_KEY_BYTES: usize = 1_024;

impl RequestOptions {
    /// The method.
    pub fn method(&self) -> &str {
        if self.method.is_empty() { "GET" } else { &self.method }
    }

    /// Whether deduplication distinguishes the request from a GET of its URL.
    fn is_other(&self) -> bool {
        self.method() != "GET" || !self.body.is_empty() || !self.key.is_empty()
    }

    /// Approximate memory, in bytes.
    pub fn memory(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
        size_of::<Self>() + self.body.len() + headers + self.key.len() + memory_of(&self.metadata)
    }
}

/// A leased request: all that fetch needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Job and task.
    #[serde(default = "Task::none", skip_serializing_if = "Task::is_none")]
    pub task: Arc<Task>,
    /// The lease's number; unique within a crawl, from 1. 0: the frontier settled the URL without a request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lease: u64,
    /// The URL to fetch.
    pub url: CrawlUrl,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "is_default")]
    pub purpose: Purpose,
    /// Number of links from the nearest seed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub depth: u32,
    /// Number of earlier tries of this URL.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// The redirects that led here, oldest first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chain: Vec<Step>,
    /// How it reaches the site.
    #[serde(default, skip_serializing_if = "is_default")]
    pub route: Route,
    /// Time to resolve the host's name, in microseconds; 0 if it was cached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name_us: u32,
    /// Cost of resolving the host's name; `None` if the URL was refused before a request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name_class: Option<NameClass>,
    /// The value of its `cookie` field.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cookies: Option<Box<str>>,
    /// What robots.txt states about the uses of the page.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Vec<Statement>,
    /// The pause between requests to its host when it was granted, in microseconds: fetch keeps it before it asks for the rest of a body
    /// that broke off.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interval: Micros,
    /// Whether the origin's tdmrep.json allows text and data mining of the page; `None` if it states nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tdm: Option<bool>,
    /// Licences that robots.txt names for the whole site, as canonical URLs, in its order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub licenses: Vec<Box<str>>,
    /// When the lease expires, by the crawl's clock: the frontier then takes the request back, and it must
    /// not be sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadline: Micros,
    /// Properties other than a plain GET.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: Option<Box<RequestOptions>>,
}

impl Request {
    /// A GET of a page: no lease, no address yet.
    pub fn get(url: CrawlUrl) -> Self {
        Request {
            task: Task::none(),
            lease: 0,
            url,
            purpose: Purpose::Page,
            depth: 0,
            attempt: 0,
            chain: Vec::new(),
            route: Route::default(),
            name_us: 0,
            name_class: None,
            cookies: None,
            usage: Vec::new(),
            interval: 0,
            tdm: None,
            licenses: Vec::new(),
            deadline: 0,
            options: None,
        }
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.options.as_ref().map_or("GET", |options| options.method())
    }

    /// The request key, by which requests are deduplicated: the digest of its URL, of method, URL and body if it is not a plain GET, or
    /// of host and deduplication key if it has one.
    pub fn key(&self) -> Digest {
        key_of(self.url.borrow(), self.options.as_deref())
    }

    /// The URL that was asked for first, before redirects.
    pub fn first_url(&self) -> &CrawlUrl {
        self.chain.first().map_or(&self.url, |step| &step.url)
    }

    /// Whether it asks for an origin's tdmrep.json, whose purpose is that of a robots.txt.
    pub fn is_for_tdmrep(&self) -> bool {
        self.purpose == Purpose::Robots && self.first_url().path_and_query() == TDMREP_PATH
    }

    /// Approximate memory besides the record itself, in bytes.
    pub fn memory(&self) -> usize {
        let chain: usize = self.chain.iter().map(|step| step.url.as_str().len() + size_of::<Step>()).sum();
        let options = self.options.as_ref().map_or(0, |options| options.memory());
        let licenses: usize = self.licenses.iter().map(|url| url.len() + size_of::<Box<str>>()).sum();
        self.url.as_str().len() + chain + licenses + self.cookies.as_deref().map_or(0, str::len) + options
    }
}

/// Approximate memory of a JSON value besides its text, in bytes.
const JSON_BYTES: usize = 64;

/// Approximate memory of JSON values by name, in bytes.
pub(crate) fn memory_of(values: &Metadata) -> usize {
    values.iter().map(|(name, value)| name.len() + JSON_BYTES + memory_of_json(value)).sum()
}

/// Approximate memory of a JSON value, in bytes.
fn memory_of_json(value: &serde_json::Value) -> usize {
    JSON_BYTES
        + match value {
            serde_json::Value::String(text) => text.len(),
            serde_json::Value::Array(items) => items.iter().map(memory_of_json).sum(),
            serde_json::Value::Object(members) => memory_of(members),
            _ => 0,
        }
}

/// Header fields that delimit a message or control the connection; fetch sets them.
const FRAMING: [&str; 10] = [
    "host",
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a user may set a header field of this name.
pub fn is_settable_field(name: &str) -> bool {
    !FRAMING.iter().any(|framing| framing.eq_ignore_ascii_case(name))
}

/// The request key ([`Request::key`]).
pub fn key_of(url: UrlRef<'_>, options: Option<&RequestOptions>) -> Digest {
    match options.filter(|options| options.is_other()) {
        None => *url.digest(),
        // No method begins with a space.
        Some(options) if !options.key.is_empty() => digest_of([" ", url.host(), " ", &options.key].concat()),
        Some(options) => {
            // Neither method nor URL contains a space, so different requests have different texts.
            let head = [options.method(), url.as_str(), ""].join(" ");
            digest_of([head.as_bytes(), &options.body].concat())
        }
    }
}
