//! Opens streams to sites: to one of the request's addresses, after a second check of each, or through a proxy; then TLS.

use std::io;
use std::net::IpAddr;
use std::slice;
use std::time::Duration;

use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, Clock, Failure, FailureKind};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::{Carrier, Dial, Dialed, Socket};
use crate::observed::Observed;
use crate::progress::{Progress, since};
use crate::proxy::{Proxies, Proxy, ProxyProtocol};
use crate::race::Unconnected;
use crate::read_ahead::ReadAhead;
use crate::settings::Settings;
use crate::tls::FirstByte;
use crate::{certificate, race, tls, tunnel};

/// Opens streams by direct routes and through proxies.
pub struct Dialer {
    policy: AddressPolicy,
    budget: Duration,
    clock: Clock,
    tls: TlsConnector,
    /// TLS to proxies, over which HTTP/1.1 is spoken.
    proxy_tls: TlsConnector,
    proxies: Proxies,
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
            proxy_tls: tls::connector(settings.ca_file.as_deref(), &[])?,
            proxies: settings.proxies.clone(),
        })
    }

    /// TLS over an open connection.
    async fn encrypt(
        &self,
        stream: Carrier,
        request: &Request,
        progress: &Progress,
    ) -> Result<TlsStream<Observed<ReadAhead<Carrier>, FirstByte>>, Failure> {
        let began = self.clock.now();
        let name = tls::server_name(&request.url)?;
        let stream = tls::connect(&self.tls, name, stream).await?;
        progress.times(|times| times.tls_us = since(began, self.clock.now()));
        Ok(stream)
    }

    /// A connection to the first of some addresses that accepts within `budget`.
    async fn connect(
        &self,
        addresses: &[IpAddr],
        port: u16,
        budget: Duration,
        progress: &Progress,
    ) -> Result<(TcpStream, IpAddr), Unconnected> {
        let (stream, address, began) = race::connect(addresses, port, budget, self.clock).await?;
        progress.connected(address);
        progress.times(|times| times.connect_us = since(began, self.clock.now()));
        // Nagle's algorithm would delay the request until the handshake's last message is acknowledged.
        stream.set_nodelay(true).map_err(|error| race::connect_failure(&error, address))?;
        Ok((stream, address))
    }

    /// A stream to the site through a proxy, or to a proxy that takes the request as it is. The address is the proxy's.
    async fn by_proxy(
        &self,
        name: &str,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Carrier, IpAddr), Failure> {
        let told = |kind, why: &str| Failure::new(kind, format!("{name}: {why}"));
        let failed = |why: &str| told(FailureKind::ProxyFailed, why);
        let proxy = self.proxies.get(name).ok_or_else(|| failed("there is no proxy with this name"))?;
        let site = self.site(request, &proxy)?;
        let addresses = permitted(self.proxies.policy(), &proxy.host, &proxy.addresses);
        let addresses = addresses.map_err(|failure| failed(&failure.detail))?;
        // Shorter than the watch's connect_timeout, which would name the site.
        let connected = self.connect(&addresses, proxy.port, self.budget * 9 / 10, progress).await;
        let (stream, address) = connected.map_err(|Unconnected { failure, is_ours }| {
            told(if is_ours { failure.kind } else { FailureKind::ProxyFailed }, &failure.detail)
        })?;
        let carrier = self.greet(stream, &proxy).await.map_err(|why| failed(&why))?;
        if proxy.takes_whole(request.url.is_https()) {
            return Ok((carrier, address));
        }
        let opened = tunnel::open(carrier, &proxy, &request.url, &site).await;
        Ok((opened.map_err(|failure| told(failure.kind, &failure.detail))?, address))
    }

    /// The permitted ones of the addresses of a request's site. There may be none if the proxy resolves the name.
    fn site(&self, request: &Request, proxy: &Proxy) -> Result<Vec<IpAddr>, Failure> {
        let host = request.url.host();
        let literal = tunnel::bare(host).parse().ok();
        let addresses = literal.as_ref().map_or(request.route.addresses(), slice::from_ref);
        if addresses.is_empty() && proxy.resolves {
            return Ok(Vec::new());
        }
        permitted(&self.policy, host, addresses)
    }

    /// TLS to the proxy, if it speaks it.
    async fn greet(&self, stream: TcpStream, proxy: &Proxy) -> Result<Carrier, String> {
        if proxy.protocol != ProxyProtocol::Https {
            return Ok(Carrier::Tcp(stream));
        }
        let name = ServerName::try_from(proxy.host.to_string()).map_err(|error| error.to_string())?;
        let stream = self.proxy_tls.connect(name, stream).await.map_err(|error| error.to_string())?;
        Ok(Carrier::Tls(Box::new(stream)))
    }
}

impl Dial for Dialer {
    type Stream = Socket;

    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<Socket>, Failure> {
        let port = request.url.port();
        if !self.policy.permits_port(port) {
            let detail = format!("port {port} is blocked, unless allow_ports names it");
            return Err(Failure::new(FailureKind::PortBlocked, detail));
        }
        let (carrier, address) = match &request.route {
            Route::Direct(addresses) => {
                let addresses = permitted(&self.policy, request.url.host(), addresses)?;
                let (stream, address) = self.connect(&addresses, port, self.budget, progress).await?;
                (Carrier::Tcp(stream), address)
            }
            Route::Proxy { name, .. } => self.by_proxy(name, request, progress).await?,
            Route::Browser(_) => {
                let detail = format!("{:?}: this fetch does not support the route", request.route);
                return Err(Failure::new(FailureKind::Protocol, detail));
            }
        };
        if !request.url.is_https() {
            return Ok(Dialed { stream: Socket::Plain(carrier), address, protocol: None, certificate: None });
        }
        let stream = self.encrypt(carrier, request, progress).await?;
        let session = stream.get_ref().1;
        let protocol = session.alpn_protocol().map(Box::from);
        let certificate = certificate::summary(session);
        Ok(Dialed { stream: Socket::Tls(Box::new(stream)), address, protocol, certificate })
    }
}

/// The permitted ones of the addresses of a host (checked again here because of DNS rebinding).
fn permitted(policy: &AddressPolicy, host: &str, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, Failure> {
    let permitted: Vec<IpAddr> =
        addresses.iter().copied().filter(|address| policy.permits(*address)).collect();
    if permitted.is_empty() {
        let detail = format!("{host}: no permitted address among {addresses:?}");
        return Err(Failure::new(FailureKind::AddressRefused, detail));
    }
    Ok(permitted)
}
