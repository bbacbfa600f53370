//! HTTP/1.1 with TLS: [`Request`](lycosa_records::Request) in, [`Response`](lycosa_records::Response) out.
//!
//! The path of one request, file by file: [`Fetcher::submit`] (`fetcher`) → a slot of the thread's `engine` →
//! one exchange of a [`Transport`]: that of `http1`, on an idle connection of the `pool` or a new one of `connect` →
//! [`Fetcher::completed`].
//!
//! Fetch has no state that a crash may lose and depends on no other stage. It follows no redirect, decodes no
//! body (see [`decode()`], which the caller composes) and repeats nothing: a request on a kept-alive
//! connection that turns out to be closed before any byte of the response is returned as `Cancelled`, so that
//! the host's interval is kept.

mod budget;
mod certificate;
mod connect;
mod connection;
mod decode;
mod engine;
mod examine;
mod fetcher;
mod http1;
mod message;
mod pool;
#[cfg(feature = "samples")]
mod recorder;
mod settings;
mod tape;
mod tls;
mod transport;
mod watch;

pub use decode::decode;
#[doc(hidden)]
pub use examine::Examiner;
pub use fetcher::{Fetcher, Returns};
pub use http1::Http1;
#[cfg(feature = "samples")]
pub use recorder::{Exchange, Exchanges, Recorder};
pub use settings::{BATCH_BYTES, IDLE_CONNECTIONS, IDLE_TIMEOUT, MAX_HEADERS, MEMORY, Settings};
pub use transport::{Progress, Transport};
