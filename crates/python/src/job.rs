//! A job's settings as the stages' own: the one place where the two meet.
//!
//! The attributes read here are those of the models in `python/lycosa/job.py`, which has checked them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lycosa_frontier::Ahead;
use lycosa_frontier::{KeyKind, Scope};
use lycosa_names::cache::compact::{CompactCache, CompactError, CompactSettings};
use lycosa_names::cache::{NameCache, Seconds};
use lycosa_names::{Families, Nameserver};
use lycosa_parse::{Sources, TextMethod};
use lycosa_text::templates::Templates;
use lycosa_url::{AddressPolicy, CanonicalRules, Clock, Network, product_token};
use pyo3::prelude::*;

use crate::cache::{Fallback, negative, verify};
use crate::designs::{Design, WeightSetting};
use crate::errors::{setting, storage, system};

/// Time-outs are not scaled below this: they guard against silence on real sockets, where a busy machine
/// is silent for a while too.
const SHORTEST_TIMEOUT: f64 = 1.0;

/// Names that a compact cache is made for at least.
const LEAST_COMPACT: usize = 1_000;

/// Columns of what a page states of itself, and of the fingerprints of its text.
const METADATA: &[&str] = &["headline", "author", "published", "modified", "language", "description", "site"];
const FINGERPRINTS: &[&str] = &["simhash", "text_digest"];

/// The settings that the core knows.
#[derive(FromPyObject)]
pub(crate) struct Job {
    scope: String,
    max_pages: Option<u64>,
    max_depth: Option<u32>,
    speed: f64,
    user_agent: String,
    allow_addresses: Vec<String>,
    allow_ports: Vec<u16>,
    usage: BTreeMap<String, String>,
    names: NamesSettings,
    politeness: Politeness,
    frontier: FrontierSettings,
    fetch: FetchSettings,
    parse: ParseSettings,
    url: UrlSettings,
    store: StoreSettings,
}

/// `[names]`.
#[derive(FromPyObject)]
struct NamesSettings {
    resolvers: Vec<String>,
    zones: Vec<String>,
    hosts_file: Option<PathBuf>,
    local_data: Vec<String>,
    timeout: f64,
    attempts: u32,
    in_flight: usize,
    families: String,
    min_ttl: f64,
    max_ttl: f64,
    cache: String,
    cache_file: Option<PathBuf>,
    capacity: usize,
    ahead: String,
    ahead_names: usize,
    wildcards: bool,
    nxdomain_cut: bool,
    rotate: bool,
    slow: f64,
    verify: Option<String>,
    negative: Option<String>,
    buckets: Option<usize>,
    period: Option<f64>,
    levels: Option<String>,
    weight: Option<WeightSetting>,
    light: Option<f64>,
}

impl NamesSettings {
    /// The cache's design and what a published one is told.
    fn design(&self) -> Design<'_> {
        Design {
            name: &self.cache,
            capacity: Some(self.capacity),
            slow: millis(self.slow),
            buckets: self.buckets,
            period: self.period.map(period),
            levels: self.levels.as_deref(),
            weight: self.weight.as_ref(),
            light: self.light,
        }
    }
}

/// `[politeness]`.
#[derive(FromPyObject)]
struct Politeness {
    robots: bool,
    robots_ttl: f64,
    tdmrep: bool,
    host_interval: f64,
    address_interval: f64,
    host_concurrency: u32,
    address_concurrency: u32,
    max_crawl_delay: f64,
    response_multiple: f64,
    max_interval: f64,
    successes: u32,
    max_retry_after: f64,
    address_domains: u32,
    domain_pages: Option<u64>,
    domain_concurrency: Option<u32>,
    domain_hosts: u32,
    requests_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    block_list: Option<PathBuf>,
    retries: u32,
    retry_delay: f64,
    retry_jitter: f64,
    max_redirects: usize,
}

/// `[frontier]`.
#[derive(FromPyObject)]
struct FrontierSettings {
    key: String,
    queue_memory: usize,
    seen_memory: usize,
    cookie_memory: usize,
    patience: f64,
    longest_suspension: Option<f64>,
    max_hosts: Option<usize>,
    warm_hosts: Option<usize>,
    shards: usize,
}

/// `[fetch]`.
#[derive(FromPyObject)]
struct FetchSettings {
    slots: usize,
    connect_timeout: f64,
    read_timeout: f64,
    total_timeout: f64,
    max_header_bytes: usize,
    max_body_bytes: usize,
    resume_bytes: Option<usize>,
    content_types: Vec<String>,
    idle_connections: usize,
    idle_timeout: f64,
    http2: bool,
    ca_file: Option<PathBuf>,
    credentials: Option<PathBuf>,
    identity: Option<PathBuf>,
    from_email: Option<String>,
}

/// `[parse]`.
#[derive(FromPyObject)]
struct ParseSettings {
    threads: usize,
    max_links: usize,
    max_link_bytes: usize,
    max_title_bytes: usize,
    max_decoded_bytes: usize,
    link_details: Vec<String>,
    link_sources: Vec<String>,
    text: String,
    template_sites: usize,
    refusals: bool,
}

impl ParseSettings {
    /// Whether links keep this detail.
    fn has_detail(&self, name: &str) -> bool {
        self.link_details.iter().any(|detail| detail == name)
    }
}

/// `[store]`, as far as the core's parser knows it.
#[derive(FromPyObject)]
struct StoreSettings {
    fields: Vec<String>,
}

/// `[url]`.
#[derive(FromPyObject)]
struct UrlSettings {
    drop_tracking: bool,
    drop_sessions: bool,
    sort_query: bool,
    drop_parameters: Vec<String>,
    trust_canonical: bool,
}

impl UrlSettings {
    /// Which links are the same page.
    fn rules(&self) -> CanonicalRules {
        CanonicalRules {
            drop_tracking: self.drop_tracking,
            drop_sessions: self.drop_sessions,
            sort_query: self.sort_query,
            drop_parameters: self
                .drop_parameters
                .iter()
                .map(|name| name.to_ascii_lowercase().into())
                .collect(),
        }
    }
}

impl Job {
    /// Settings of the frontier.
    pub(crate) fn frontier(&self) -> PyResult<lycosa_frontier::Settings> {
        let politeness = &self.politeness;
        Ok(lycosa_frontier::Settings {
            scope: parse_scope(&self.scope)?,
            max_pages: self.max_pages,
            trust_canonical: self.url.trust_canonical,
            max_depth: self.max_depth,
            max_redirects: politeness.max_redirects,
            retries: politeness.retries,
            patience: seconds(self.frontier.patience),
            longest_suspension: self.frontier.longest_suspension.map(seconds),
            domain_hosts: politeness.domain_hosts,
            max_hosts: self.frontier.max_hosts.unwrap_or(usize::MAX),
            warm_hosts: self.frontier.warm_hosts.unwrap_or(usize::MAX),
            retry_delay: seconds(politeness.retry_delay),
            retry_jitter: politeness.retry_jitter,
            host_interval: seconds(politeness.host_interval),
            address_interval: seconds(politeness.address_interval),
            host_concurrency: politeness.host_concurrency,
            address_concurrency: politeness.address_concurrency,
            response_multiple: politeness.response_multiple,
            max_interval: seconds(politeness.max_interval),
            successes: politeness.successes,
            max_retry_after: seconds(politeness.max_retry_after),
            address_domains: politeness.address_domains,
            domain_pages: politeness.domain_pages,
            domain_concurrency: politeness.domain_concurrency,
            requests_per_second: politeness.requests_per_second,
            bytes_per_second: politeness.bytes_per_second,
            robots: politeness.robots,
            robots_agent: product(&self.user_agent).to_owned(),
            tdmrep: politeness.tdmrep,
            uses: self.uses("drop"),
            robots_ttl: seconds(politeness.robots_ttl),
            max_crawl_delay: seconds(politeness.max_crawl_delay),
            // Fetch answers within its total time-out; twice that, and it never will.
            lease: seconds(self.fetch.total_timeout * 2.0 + 60.0),
            speed: self.speed,
            addresses: self.addresses()?,
            queue_memory: self.frontier.queue_memory,
            queue_directory: None,
            key: parse_key(&self.frontier.key)?,
            seen_memory: self.frontier.seen_memory,
            seen_directory: None,
            cookie_memory: self.frontier.cookie_memory,
            ahead: self.ahead()?,
            ownership: None,
            lends_addresses: false,
            shared: lycosa_frontier::Shared::default(),
            task: Arc::default(),
        })
    }

    /// When names are asked for.
    fn ahead(&self) -> PyResult<Ahead> {
        Ok(match &*self.names.ahead {
            "off" => Ahead::Off,
            "lru-paper" => Ahead::Parsed,
            "regions-paper" => Ahead::Random(self.names.in_flight),
            "links-paper" => Ahead::Links(self.names.in_flight),
            "ahead" => Ahead::Due(self.names.ahead_names),
            other => {
                let allowed = "off, lru-paper, regions-paper, links-paper or ahead";
                return Err(setting("names.ahead", other, allowed));
            }
        })
    }

    /// The file that says who is not to be asked.
    pub(crate) fn block_list(&self) -> Option<PathBuf> {
        self.politeness.block_list.clone()
    }

    /// Settings of the DNS client.
    pub(crate) fn names(&self, py: Python<'_>, clock: Clock) -> PyResult<lycosa_names::Settings> {
        let names = &self.names;
        let families = families(&names.families)?;
        let servers = if names.resolvers.is_empty() {
            system_servers()?
        } else {
            names.resolvers.iter().map(|text| server(RESOLVERS, text)).collect::<PyResult<_>>()?
        };
        Ok(lycosa_names::Settings {
            servers,
            zones: crate::local::zones(&names.zones)?,
            local: crate::local::open(py, names.hosts_file.as_deref(), &names.local_data)?,
            ca_file: self.fetch.ca_file.clone(),
            timeout: self.timeout(names.timeout),
            attempts: names.attempts,
            in_flight: names.in_flight,
            wildcards: names.wildcards,
            nxdomain_cut: names.nxdomain_cut,
            rotate: names.rotate,
            slow: millis(names.slow),
            min_ttl: seconds(names.min_ttl),
            max_ttl: seconds(names.max_ttl),
            speed: self.speed,
            families,
            clock,
            ..lycosa_names::Settings::default()
        })
    }

    /// The cache of names; and why it is not in a file where it was to be.
    pub(crate) fn name_cache(
        &self,
        settings: &lycosa_names::Settings,
    ) -> PyResult<(Box<dyn NameCache>, Option<Fallback>)> {
        let names = &self.names;
        if names.cache != "compact" {
            return Ok((names.design().open()?.0, None));
        }
        let whole = |duration: Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        let compact = CompactSettings {
            capacity: names.capacity.max(LEAST_COMPACT) as u64,
            negative_ttl: whole(settings.negative_ttl),
            min_ttl: whole(settings.min_ttl),
            max_ttl: whole(settings.max_ttl),
            slow: settings.slow,
            verify: verify(names.verify.as_deref())?,
            negative: negative(names.negative.as_deref())?,
            ..CompactSettings::default()
        };
        let now = settings.clock.wall() / 1_000_000;
        let opened = match &names.cache_file {
            Some(path) => CompactCache::share(path, compact, now),
            None => CompactCache::in_memory(compact, now, None),
        };
        let cache = opened.map_err(|error| match error {
            CompactError::Setting { name, given, allowed } => {
                setting(&format!("names.{name}"), given, allowed)
            }
            other => storage(other),
        })?;
        let fallback = crate::cache::watch(&cache);
        Ok((Box::new(cache), Some(fallback)))
    }

    /// Settings of fetch.
    pub(crate) fn fetch(&self, clock: Clock) -> PyResult<lycosa_fetch::Settings> {
        let fetch = &self.fetch;
        Ok(lycosa_fetch::Settings {
            slots: fetch.slots,
            user_agent: self.user_agent.clone(),
            from: fetch.from_email.clone(),
            connect_timeout: self.timeout(fetch.connect_timeout),
            read_timeout: self.timeout(fetch.read_timeout),
            total_timeout: self.timeout(fetch.total_timeout),
            max_header_bytes: fetch.max_header_bytes,
            max_headers: lycosa_fetch::MAX_HEADERS,
            max_body_bytes: fetch.max_body_bytes,
            resume_bytes: fetch.resume_bytes,
            resume_pause: seconds(self.politeness.retry_delay / self.speed),
            media_types: lycosa_fetch::MediaTypes::new(fetch.content_types.iter().map(String::as_str)),
            memory: lycosa_fetch::MEMORY,
            batch_bytes: lycosa_fetch::BATCH_BYTES,
            idle_connections: fetch.idle_connections,
            fetchers: self.frontier.shards,
            idle_timeout: self.timeout(fetch.idle_timeout),
            policy: self.addresses()?,
            http2: fetch.http2,
            proxies: lycosa_fetch::Proxies::default(),
            credentials: fetch
                .credentials
                .as_deref()
                .map(crate::credentials::open)
                .transpose()?
                .unwrap_or_default(),
            identity: fetch.identity.as_deref().map(crate::identity::open).transpose()?,
            ca_file: fetch.ca_file.clone(),
            clock,
        })
    }

    /// Which links are the same page.
    pub(crate) fn rules(&self) -> CanonicalRules {
        self.url.rules()
    }

    /// Settings of parse.
    pub(crate) fn parse(&self) -> lycosa_parse::Settings {
        lycosa_parse::Settings {
            links: self.parse.max_links,
            link_bytes: self.parse.max_link_bytes,
            title_bytes: self.parse.max_title_bytes,
            anchors: self.parse.has_detail("anchor"),
            rels: self.parse.has_detail("rel"),
            contexts: self.parse.has_detail("context"),
            places: self.parse.has_detail("place"),
            sources: Sources::named(self.parse.link_sources.iter().map(String::as_str)),
            rules: self.rules(),
            memory_bytes: lycosa_parse::MEMORY_BYTES,
            agent: product(&self.user_agent).into(),
            uses: self.uses("drop"),
            ignored_uses: self.uses("ignore"),
            text: self.text_method(),
            markdown: self.has_column(&["markdown"]),
            metadata: self.has_column(METADATA),
            fingerprints: self.has_column(FINGERPRINTS),
            refusals: self.parse.refusals,
            templates: self.templates(),
        }
    }

    /// Whether outputs have one of some columns.
    fn has_column(&self, columns: &[&str]) -> bool {
        self.store.fields.iter().any(|field| columns.contains(&field.as_str()))
    }

    /// What pages of a site have in common, if main texts are looked for.
    fn templates(&self) -> Option<Arc<Templates>> {
        let sites = self.parse.template_sites;
        let is_wanted = sites > 0 && self.text_method() == Some(TextMethod::Lycosa);
        is_wanted.then(|| Arc::new(Templates::new(sites)))
    }

    /// How the main text of pages is found, if outputs have something that is made of it.
    fn text_method(&self) -> Option<TextMethod> {
        let of_text = [&["main_text", "markdown", "kind", "confidence"], METADATA, FINGERPRINTS];
        match self.parse.text.as_str() {
            _ if !of_text.iter().any(|columns| self.has_column(columns)) => None,
            "density-paper" => Some(TextMethod::DensityPaper),
            _ => Some(TextMethod::Lycosa),
        }
    }

    /// The uses for which the job has a policy.
    fn uses(&self, policy: &str) -> Vec<Box<str>> {
        self.usage.iter().filter(|(_, known)| *known == policy).map(|(name, _)| name[..].into()).collect()
    }

    /// Bytes of a decoded body, at most.
    pub(crate) fn max_decoded_bytes(&self) -> usize {
        self.parse.max_decoded_bytes
    }

    /// Threads that parse; 0 means one a core.
    pub(crate) fn parse_threads(&self) -> usize {
        match self.parse.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Which addresses may be spoken to.
    fn addresses(&self) -> PyResult<AddressPolicy> {
        let network = |text: &String| {
            text.parse::<Network>().map_err(|allowed| setting("allow_addresses", text, allowed))
        };
        let networks = self.allow_addresses.iter().map(network).collect::<PyResult<_>>()?;
        Ok(AddressPolicy::new(networks).with_ports(self.allow_ports.clone()))
    }

    /// A time-out in scaled time.
    fn timeout(&self, timeout: f64) -> Duration {
        seconds((timeout / self.speed).max(timeout.min(SHORTEST_TIMEOUT)))
    }
}

/// A duration; what is no duration is none.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// Whole milliseconds of a number of seconds that Python has checked, one at least.
pub(crate) fn millis(of: f64) -> u32 {
    u32::try_from(seconds(of).as_millis()).unwrap_or(u32::MAX).max(1)
}

/// Whole seconds of a period that Python has checked, one at least.
pub(crate) fn period(of: f64) -> Seconds {
    seconds(of).as_secs().max(1)
}

/// The product token that robots.txt knows a crawler by.
pub(crate) fn product(user_agent: &str) -> &str {
    &user_agent[..product_token(user_agent.as_bytes()).len()]
}

/// The servers that the system asks.
pub(crate) fn system_servers() -> PyResult<Vec<Nameserver>> {
    lycosa_names_local::system_servers().map_err(|error| system("the system's resolvers", &error))
}

/// The setting of resolvers.
pub(crate) const RESOLVERS: &str = "names.resolvers";

/// A resolver, of the setting with this name.
pub(crate) fn server(name: &str, text: &str) -> PyResult<Nameserver> {
    text.parse().map_err(|allowed| setting(name, text, allowed))
}

/// What URLs are known by, by its name.
fn parse_key(name: &str) -> PyResult<KeyKind> {
    match name {
        "md5" => Ok(KeyKind::Md5),
        "md5-16" => Ok(KeyKind::Md5Published),
        "keyed" => Ok(KeyKind::Keyed),
        _ => Err(setting("frontier.key", name, "md5, md5-16 or keyed")),
    }
}

/// A scope by its name in job files.
pub(crate) fn parse_scope(name: &str) -> PyResult<Scope> {
    match name {
        "host" => Ok(Scope::Host),
        "domain" => Ok(Scope::Domain),
        "any" => Ok(Scope::Any),
        other => Err(setting("scope", other, "host, domain or any")),
    }
}

/// Address families by their name.
pub(crate) fn families(name: &str) -> PyResult<Families> {
    match name {
        "v4" => Ok(Families::V4),
        "v6" => Ok(Families::V6),
        "both" => Ok(Families::Both),
        other => Err(setting("names.families", other, "v4, v6 or both")),
    }
}
