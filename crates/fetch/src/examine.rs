//! Parses a server's bytes as the fetch thread does, without a server: for fuzzing.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::os::unix::net;
use std::sync::Arc;

use lycosa_records::{Received, Request};
use lycosa_url::{Clock, CrawlUrl, Failure, FailureKind};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::budget::{Budget, Held};
use crate::collect::Collected;
use crate::dial::{Dial, Dialed};
use crate::http1::Http1;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::transport::Answer;
use crate::watch::Limits;

/// Parses bytes as the response to a request.
#[doc(hidden)]
pub struct Examiner {
    http1: Http1<NoDialer>,
    budget: Budget,
    max_body_bytes: usize,
    clock: Clock,
    runtime: Runtime,
    request: Request,
}

/// Opens nothing: the stream is given.
struct NoDialer;

impl Dial for NoDialer {
    type Stream = UnixStream;

    async fn dial(&self, _: &Request, _: &Progress) -> Result<Dialed<UnixStream>, Failure> {
        Err(Failure::new(FailureKind::ConnectFailed, "no dialer"))
    }
}

impl Examiner {
    /// An examiner with these limits; fails if a setting cannot be used.
    pub fn new(settings: &Settings) -> io::Result<Self> {
        let url = CrawlUrl::parse("http://example.com/").map_err(|bad| io::Error::other(bad.to_string()))?;
        Ok(Examiner {
            http1: Http1::new(NoDialer, settings)?,
            budget: Budget::new(settings.memory, Arc::new(Held::default())),
            max_body_bytes: settings.max_body_bytes,
            clock: settings.clock,
            runtime: Builder::new_current_thread().enable_io().build()?,
            request: Request { lease: 1, ..Request::get(url) },
        })
    }

    /// The response to a request whose server sends these packets and closes. They must fit into a socket's
    /// buffer.
    pub fn answer(&self, packets: &[&[u8]]) -> Result<Received, Failure> {
        self.runtime.block_on(async {
            let (ours, mut theirs) =
                pair().map_err(|error| Failure::new(FailureKind::ConnectFailed, error.to_string()))?;
            let server = async {
                for packet in packets {
                    // An error means that the client has closed: it has read enough.
                    let _ = theirs.write_all(packet);
                    for _ in 0..4 {
                        yield_now().await; // the client reads what has arrived
                    }
                }
                // Only the write side: closing with unread data would cause a reset.
                let _ = theirs.shutdown(Shutdown::Write);
            };
            let (received, ()) = tokio::join!(self.client(ours), server);
            received
        })
    }

    /// The client's side.
    async fn client(&self, stream: UnixStream) -> Result<Received, Failure> {
        let progress = Progress::new(self.clock, Limits { connect: 0, read: 0, total: 0 }, Arc::default()); // never checked
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let dialed = Dialed { stream, address, protocol: None, certificate: None };
        let Answer { mut received, mut body } =
            self.http1.exchange_first(dialed, &self.request, &progress).await?;
        let mut collected = Collected::new(&self.budget);
        collected.receive(&mut body, self.max_body_bytes, &progress, |_| Ok(())).await?;
        received.body = collected.finish().into();
        Ok(received)
    }
}

/// Two ends of a connection: the client's and the server's.
fn pair() -> io::Result<(UnixStream, net::UnixStream)> {
    let (ours, theirs) = net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}
