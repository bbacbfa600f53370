//! HTTP/1.1 and HTTP/2 with TLS: [`Request`](lycosa_records::Request) in, [`Response`](lycosa_records::Response) out.
//!
//! The path of one request, file by file: [`Fetcher::submit`] (`fetcher`) → a slot of the thread's `engine` →
//! one exchange of a [`Transport`]: `alpn` lets the server choose between `http2`, on a session that exchanges share, and `http1`, on an idle
//! connection of the `pool`; a new stream is opened by a [`Dial`] (that of `connect` goes straight to the site) → `collect` receives the body → [`Fetcher::completed`].
//!
//! Fetch has no state that a crash may lose and depends on no other stage. It follows no redirect, decodes no
//! body (see [`decode()`], which the caller composes) and repeats nothing: a request on a kept-alive
//! connection that turns out to be closed before any byte of the response is returned as `Cancelled`, so that
//! the host's interval is kept. A request that was sent and must not be sent twice is returned as `Unanswered`.

mod allocator;
mod alpn;
mod budget;
mod certificate;
mod collect;
mod connect;
mod connection;
mod credentials;
mod decode;
mod dial;
mod engine;
mod examine;
mod exchange;
mod fence;
mod fetcher;
mod http1;
mod http2;
mod http2_message;
mod identity;
mod media_types;
mod message;
mod meter;
mod observed;
mod pool;
mod progress;
mod proxy;
mod race;
mod read_ahead;
mod resume;
mod secret;
mod session;
mod settings;
mod signing;
mod sniff;
mod tape;
mod tls;
mod transport;
mod tunnel;
mod watch;

pub use allocator::keep_freed_memory;
pub use alpn::Http;
pub use connect::Dialer;
pub use credentials::Credentials;
pub use decode::decode;
pub use dial::{Carrier, Dial, Dialed, Socket};
#[doc(hidden)]
pub use examine::Examiner;
pub use fetcher::{Fetcher, Returns};
pub use http1::Http1;
pub use identity::{Identity, new_key};
pub use media_types::MediaTypes;
pub use progress::Progress;
pub use proxy::{Proxies, Proxy, ProxyProtocol};
pub use settings::{BATCH_BYTES, MAX_HEADERS, MEMORY, Settings};
pub use signing::{SigningKey, VerifyingKey};
pub use transport::{Answer, BodyReader, Transport};
pub use watch::Wire;
