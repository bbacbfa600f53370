//! Parses a server's bytes as the fetch thread does, without a server: for fuzzing.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;

use lycosa_records::{Received, Request};
use lycosa_url::{CrawlUrl, Failure, FailureKind};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::budget::{Budget, Held};
use crate::connection::{Connection, Socket};
use crate::http1::Http1;
use crate::message;
use crate::settings::Settings;
use crate::transport::{Progress, Trace};
use crate::watch::{Limits, Watch};

/// Parses bytes as the response to a request.
#[doc(hidden)]
pub struct Examiner {
    http1: Http1,
    options: hyper::client::conn::http1::Builder,
    runtime: Runtime,
    request: Request,
}

impl Examiner {
    /// An examiner with these limits; fails if a setting cannot be used.
    pub fn new(settings: &Settings) -> io::Result<Self> {
        let url = CrawlUrl::parse("http://example.com/").map_err(|bad| io::Error::other(bad.to_string()))?;
        let request = Request { lease: 1, ..Request::get(url) };
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let budget = Budget::new(settings.memory, Arc::new(Held::default()));
        let http1 = Http1::new(settings, Rc::new(budget))?;
        Ok(Examiner { http1, options: message::options(settings), runtime, request })
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
    async fn client(&self, stream: TcpStream) -> Result<Received, Failure> {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let connection = Connection::start(Socket::Plain(stream), address, &self.options).await;
        let mut connection = connection.map_err(|error| message::failure(&error))?;
        let watch = Watch::new(Limits { connect: 0, read: 0, total: 0 }); // never checked
        let progress = Progress { watch: Rc::new(watch), trace: Trace::default() };
        self.http1.talk(&mut connection, &self.request, &progress).await
    }
}

/// Two ends of a connection. The client's end is a Unix socket used as a TCP stream: read, write and close
/// are the same.
fn pair() -> io::Result<(TcpStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    let ours = std::net::TcpStream::from(OwnedFd::from(ours));
    Ok((TcpStream::from_std(ours)?, theirs))
}
