//! Opens connections: tries the request's addresses in order, after a second check of each; then TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, Clock, Failure, FailureKind, Micros};
use nix::errno::Errno;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::{Dial, Dialed, Socket};
use crate::progress::{Progress, since};
use crate::settings::Settings;
use crate::{certificate, tls};

/// Opens connections by direct routes; the same for all hosts.
pub struct Dialer {
    policy: AddressPolicy,
    budget: Duration,
    clock: Clock,
    tls: TlsConnector,
}

impl Dialer {
    /// A dialer with these settings, which offers these protocols by ALPN, the preferred one first; fails if the file of roots
    /// cannot be used.
    pub fn new(settings: &Settings, protocols: &[&[u8]]) -> io::Result<Self> {
        Ok(Dialer {
            policy: settings.policy.clone(),
            budget: settings.connect_timeout,
            clock: settings.clock,
            tls: tls::connector(settings.ca_file.as_deref(), protocols)?,
        })
    }

    /// Opens a TCP connection to the first address that accepts it; fails with the most telling failure of all addresses.
    async fn connect(
        &self,
        addresses: &[IpAddr],
        port: u16,
        progress: &Progress,
    ) -> Result<(TcpStream, IpAddr), Failure> {
        let began = self.clock.now();
        let mut failures = Vec::new();
        for (place, &address) in addresses.iter().enumerate() {
            let now = self.clock.now();
            let wait =
                share(self.budget, now.saturating_sub(began), addresses.len() - place, addresses.len());
            match timeout(wait, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(stream)) => {
                    progress.connected(address);
                    progress.times(|times| times.connect_us = since(now, self.clock.now()));
                    return Ok((stream, address));
                }
                Ok(Err(error)) => failures.push(connect_failure(&error, address)),
                Err(_) => {
                    failures.push(Failure::new(FailureKind::ConnectTimeout, format!("{address}: timed out")));
                }
            }
        }
        Err(most_telling(failures))
    }

    /// TLS over an open connection.
    async fn encrypt(
        &self,
        stream: TcpStream,
        request: &Request,
        progress: &Progress,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        let began = self.clock.now();
        let name = tls::server_name(&request.url)?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| tls::handshake_failure(&error))?;
        progress.times(|times| times.tls_us = since(began, self.clock.now()));
        Ok(stream)
    }
}

impl Dial for Dialer {
    type Stream = Socket;

    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<Socket>, Failure> {
        if !matches!(request.route, Route::Direct(_)) {
            let detail = format!("{:?}: this fetch does not support the route", request.route);
            return Err(Failure::new(FailureKind::Protocol, detail));
        }
        let port = request.url.port();
        if !self.policy.permits_port(port) {
            let detail = format!("port {port} is blocked, unless allow_ports names it");
            return Err(Failure::new(FailureKind::PortBlocked, detail));
        }
        let addresses = permitted(&self.policy, request)?;
        let (stream, address) = self.connect(&addresses, port, progress).await?;
        // Nagle's algorithm would delay the request until the handshake's last message is acknowledged.
        stream.set_nodelay(true).map_err(|error| connect_failure(&error, address))?;
        if !request.url.is_https() {
            return Ok(Dialed { stream: Socket::Plain(stream), address, protocol: None, certificate: None });
        }
        let stream = self.encrypt(stream, request, progress).await?;
        let session = stream.get_ref().1;
        let protocol = session.alpn_protocol().map(Box::from);
        let certificate = certificate::summary(session);
        Ok(Dialed { stream: Socket::Tls(Box::new(stream)), address, protocol, certificate })
    }
}

/// The permitted addresses (checked again here because of DNS rebinding).
fn permitted(policy: &AddressPolicy, request: &Request) -> Result<Vec<IpAddr>, Failure> {
    let addresses: Vec<IpAddr> =
        request.route.addresses().iter().copied().filter(|address| policy.permits(*address)).collect();
    if addresses.is_empty() {
        let detail =
            format!("{}: no permitted address among {:?}", request.url.host(), request.route.addresses());
        return Err(Failure::new(FailureKind::AddressRefused, detail));
    }
    Ok(addresses)
}

/// The time for one of the `left` addresses of `all`, so that a silent one leaves time for the others: an
/// equal share of the remaining budget, and at least an equal share of the whole budget, since the process
/// may have been stopped for longer than the budget.
fn share(budget: Duration, elapsed: Micros, left: usize, all: usize) -> Duration {
    let part = |time: Duration, count: usize| time / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    part(budget.saturating_sub(Duration::from_micros(elapsed)), left).max(part(budget, all))
}

/// The failure that says most about the site, the first of equal ones. A refusal is an answer, silence is none; what this machine
/// lacked, or a network that it cannot reach (IPv6 where it has none), says nothing. A failure of TLS is no matter of several
/// addresses: no other is tried after it.
fn most_telling(failures: Vec<Failure>) -> Failure {
    let rank = |failure: &Failure| match failure.kind {
        FailureKind::ConnectRefused => 0,
        FailureKind::ConnectTimeout => 1,
        FailureKind::LocalFailure => 2,
        _ => 3,
    };
    let told = failures.into_iter().min_by_key(rank);
    told.unwrap_or_else(|| Failure::new(FailureKind::ConnectFailed, "no address"))
}

/// Converts an error of connect.
fn connect_failure(error: &io::Error, address: IpAddr) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => FailureKind::ConnectRefused,
        io::ErrorKind::TimedOut => FailureKind::ConnectTimeout,
        _ if is_shortage(error) => FailureKind::LocalFailure,
        _ => FailureKind::ConnectFailed,
    };
    Failure::new(kind, format!("{address}: {error}"))
}

/// Whether this machine lacked a resource: file descriptors, ports, memory, buffers.
fn is_shortage(error: &io::Error) -> bool {
    const SHORTAGES: [Errno; 5] =
        [Errno::EMFILE, Errno::ENFILE, Errno::EADDRNOTAVAIL, Errno::ENOMEM, Errno::ENOBUFS];
    error.raw_os_error().is_some_and(|number| SHORTAGES.contains(&Errno::from_raw(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_failures_the_most_telling_one_is_told_whatever_their_order() {
        use FailureKind as K;
        let told = |kinds: &[FailureKind]| {
            let place = |(place, kind): (usize, &FailureKind)| Failure::new(*kind, place.to_string());
            most_telling(kinds.iter().enumerate().map(place).collect())
        };
        let ranked = [K::ConnectRefused, K::ConnectTimeout, K::LocalFailure, K::ConnectFailed];
        for (place, &more) in ranked.iter().enumerate() {
            for &less in &ranked[place..] {
                assert_eq!((told(&[more, less]).kind, told(&[less, more]).kind), (more, more));
            }
        }
        let first = told(&[K::ConnectFailed, K::ConnectRefused, K::ConnectRefused, K::ConnectTimeout]);
        assert_eq!((first.kind, &*first.detail), (K::ConnectRefused, "1"));
        assert_eq!(told(&[]).kind, K::ConnectFailed);
    }

    #[test]
    fn addresses_share_the_time() {
        let budget = Duration::from_secs(10);
        assert_eq!(share(budget, 0, 1, 1), budget);
        assert_eq!(share(budget, 0, 4, 4), Duration::from_millis(2_500));
        assert_eq!(share(budget, 4_000_000, 2, 4), Duration::from_secs(3));
        assert_eq!(share(budget, 5_000_000, 2, 4), Duration::from_millis(2_500));
        assert_eq!(share(budget, 99_000_000, 1, 4), Duration::from_millis(2_500), "stopped meanwhile");
    }
}
