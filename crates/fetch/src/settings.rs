//! What one fetcher is told. Defaults are the job's; those that no job can change stand here.

use std::path::PathBuf;
use std::time::Duration;

use lycosa_url::{AddressPolicy, Clock};

/// Header fields of one response; more than any site has.
pub const MAX_HEADERS: usize = 200;

/// Bytes of all responses together, where nobody divides memory.
pub const MEMORY: usize = 256 << 20;

/// Bytes of the responses that are taken at once, where nobody divides memory.
pub const BATCH_BYTES: usize = 64 << 20;

/// Kept-alive connections that wait for another request: with 128 slots still within the usual limit of 1,024 open files.
pub const IDLE_CONNECTIONS: usize = 512;

/// How long they may wait: nginx keeps 75 s, Apache 5 s.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Limits and identity of a [`Fetcher`](crate::Fetcher).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Exchanges that run at the same time; what is submitted beyond waits inside.
    pub slots: usize,
    /// The `User-Agent` sent.
    pub user_agent: String,
    /// The `From` sent, an e-mail address (RFC 9110 section 10.1.2); nothing: none is.
    pub from: Option<String>,
    /// For TCP and TLS together, over all addresses of the host.
    pub connect_timeout: Duration,
    /// The longest silence of a server, before the response or within it.
    pub read_timeout: Duration,
    /// For the whole exchange, from the beginning of work on it.
    pub total_timeout: Duration,
    /// Status line and header fields of one response, in bytes.
    pub max_header_bytes: usize,
    /// Header fields of one response.
    pub max_headers: usize,
    /// The body as received, in bytes.
    pub max_body_bytes: usize,
    /// Bytes of all responses together, from a body's first byte until the response is taken. Bodies wait beyond it.
    pub memory: usize,
    /// Bytes of the responses that are taken at once.
    pub batch_bytes: usize,
    /// Kept-alive connections that wait for another request, over all hosts. Per host no limit is needed:
    /// no more can be idle than were ever in use at once.
    pub idle_connections: usize,
    /// How long a kept-alive connection may wait.
    pub idle_timeout: Duration,
    /// Which addresses may be connected to.
    pub policy: AddressPolicy,
    /// A PEM file of root certificates that are trusted beside Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// The clock of [`started`](lycosa_records::Response::started) and of all time-outs.
    pub clock: Clock,
}

/// Settings for tests: what people run gets them from the job, which is the one place of defaults.
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
            memory: MEMORY,
            batch_bytes: BATCH_BYTES,
            idle_connections: IDLE_CONNECTIONS,
            idle_timeout: IDLE_TIMEOUT,
            policy: AddressPolicy::default(),
            ca_file: None,
            clock: Clock::shared(),
        }
    }
}
