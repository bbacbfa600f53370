//! Opens connections to a request's addresses, after a second check of each; then TLS.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, Clock, Failure, FailureKind};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::{Dial, Dialed, Socket};
use crate::progress::{Progress, since};
use crate::settings::Settings;
use crate::{certificate, race, tls};

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
        let (stream, address, began) = race::connect(&addresses, port, self.budget, self.clock).await?;
        progress.connected(address);
        progress.times(|times| times.connect_us = since(began, self.clock.now()));
        // Nagle's algorithm would delay the request until the handshake's last message is acknowledged.
        stream.set_nodelay(true).map_err(|error| race::connect_failure(&error, address))?;
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
