//! Settings of a fetcher. Defaults are the job's; those that no job can change are here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lycosa_url::{AddressPolicy, Clock, Micros};
use nix::sys::resource::{Resource, getrlimit};

use crate::credentials::Credentials;
use crate::identity::Identity;
use crate::media_types::MediaTypes;
use crate::proxy::Proxies;

/// Maximum number of header fields of one response; no site has more.
pub const MAX_HEADERS: usize = 200;

/// Default of [`Settings::memory`].
pub const MEMORY: usize = 256 << 20;

/// Default of [`Settings::batch_bytes`].
pub const BATCH_BYTES: usize = 64 << 20;

/// Limits and identity of a [`Fetcher`](crate::Fetcher).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum number of concurrent exchanges; further requests are queued.
    pub slots: usize,
    /// The header field `User-Agent`.
    pub user_agent: String,
    /// The header field `From`, an e-mail address (RFC 9110 section 10.1.2); `None`: not sent.
    pub from: Option<String>,
    /// Time-out of TCP and TLS together, for all addresses of the host.
    pub connect_timeout: Duration,
    /// Time-out without traffic, before the response or within it.
    pub read_timeout: Duration,
    /// Time-out of the whole exchange.
    pub total_timeout: Duration,
    /// Maximum size of status line and header fields of one response, in bytes.
    pub max_header_bytes: usize,
    /// Maximum number of header fields of one response.
    pub max_headers: usize,
    /// Maximum size of the body as received, in bytes.
    pub max_body_bytes: usize,
    /// Bytes of a body after which its rest is asked for where it breaks off; `None`: never.
    pub resume_bytes: Option<usize>,
    /// The pause before that, if the host's interval is not longer; it doubles each time.
    pub resume_pause: Duration,
    /// The media types of the bodies of pages that are received.
    pub media_types: MediaTypes,
    /// Maximum memory of all responses together, in bytes, from a body's first byte until the response is
    /// taken. Beyond it, bodies wait.
    pub memory: usize,
    /// Maximum size of the responses that are taken at once, in bytes.
    pub batch_bytes: usize,
    /// Maximum number of idle kept-alive connections of all hosts. There is no limit per host: no more can be
    /// idle than were in use at once. Half of the files that the process may open is the limit in any case.
    pub idle_connections: usize,
    /// Fetchers of this process, which share its open files.
    pub fetchers: usize,
    /// Time-out of an idle kept-alive connection.
    pub idle_timeout: Duration,
    /// Permitted addresses and ports.
    pub policy: AddressPolicy,
    /// Whether HTTP/2 is offered to `https` servers (by ALPN).
    pub http2: bool,
    /// The proxies that routes name.
    pub proxies: Proxies,
    /// What is sent to sites that ask for a password or a token.
    pub credentials: Arc<Credentials>,
    /// What signs each request; `None`: nothing does.
    pub identity: Option<Arc<Identity>>,
    /// A PEM file of root certificates that are trusted besides Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// The clock of [`started`](lycosa_records::Response::started) and of all time-outs.
    pub clock: Clock,
}

impl Settings {
    /// The number of connections that may be idle: as set, and at most half of the files that this process may open.
    pub(crate) fn idle_capacity(&self) -> usize {
        let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(usize::MAX, |(soft, _)| soft as usize);
        self.idle_connections.min(files / 2 / self.fetchers.max(1))
    }
}

/// Settings for tests: users' settings come from the job, which has all defaults.
#[cfg(feature = "samples")]
impl Default for Settings {
    fn default() -> Self {
        Settings {
            slots: 128,
            user_agent: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(120),
            max_header_bytes: 64 << 10,
            max_headers: MAX_HEADERS,
            max_body_bytes: 10 << 20,
            resume_bytes: Some(1 << 20),
            resume_pause: Duration::ZERO,
            media_types: MediaTypes::default(),
            memory: MEMORY,
            batch_bytes: BATCH_BYTES,
            idle_connections: 512,
            fetchers: 1,
            idle_timeout: Duration::from_secs(15),
            policy: AddressPolicy::default(),
            http2: true,
            proxies: Proxies::default(),
            credentials: Arc::default(),
            identity: None,
            ca_file: None,
            clock: Clock::shared(),
        }
    }
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
