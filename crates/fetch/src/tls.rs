//! TLS of `https` requests.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::Arc;

use lycosa_url::{CrawlUrl, Failure, FailureKind};
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::Carrier;
use crate::observed::{Observed, Observer};
use crate::read_ahead::ReadAhead;

/// The connector for all `https` requests, which offers these protocols by ALPN.
pub(crate) fn connector(ca_file: Option<&Path>, protocols: &[&[u8]]) -> io::Result<TlsConnector> {
    let mut config = lycosa_tls::client_config(ca_file)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The name for which the certificate must be valid: without brackets, without trailing dot (RFC 6066 section
/// 3).
pub(crate) fn server_name(url: &CrawlUrl) -> Result<ServerName<'static>, Failure> {
    let host = url.host();
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    ServerName::try_from(name.to_owned())
        .map_err(|error| Failure::new(FailureKind::TlsFailed, format!("{host}: {error}")))
}

/// Performs the handshake of an `https` request.
pub(crate) async fn connect(
    connector: &TlsConnector,
    name: ServerName<'static>,
    stream: Carrier,
) -> Result<TlsStream<Observed<ReadAhead<Carrier>, FirstByte>>, Failure> {
    let stream = Observed { inner: ReadAhead::new(stream), observer: FirstByte::default() };
    let connected = connector.connect(name, stream).into_fallible().await;
    connected.map_err(|(error, stream)| handshake_failure(&error, stream.observer.0.get()))
}

/// The first byte that was received on a stream. Of a TLS server it is the type of its first record.
#[derive(Debug, Default)]
pub struct FirstByte(Cell<Option<u8>>);

impl Observer for FirstByte {
    fn received(&self, bytes: &[u8]) -> io::Result<()> {
        if self.0.get().is_none() {
            self.0.set(bytes.first().copied());
        }
        Ok(())
    }

    fn sent(&self, _: &[u8]) {}
}

/// The type of a record with an alert (RFC 8446 section 5.1).
const ALERT: u8 = 21;

/// Converts an error of the handshake; `first`: the type of the server's first record.
fn handshake_failure(error: &io::Error, first: Option<u8>) -> Failure {
    use rustls::{AlertDescription as Alert, Error, PeerIncompatible as Peer};
    let rustls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let kind = match rustls {
        Some(Error::AlertReceived(Alert::ProtocolVersion))
        | Some(Error::PeerIncompatible(Peer::ServerDoesNotSupportTls12Or13)) => FailureKind::TlsTooOld,
        // About what is offered only as the answer to it (RFC 8446 section 4.1.1): later it is about a client's certificate.
        Some(Error::AlertReceived(Alert::HandshakeFailure | Alert::InsufficientSecurity))
            if first == Some(ALERT) =>
        {
            FailureKind::TlsTooOld
        }
        Some(error) if lycosa_tls::is_weak(error) => FailureKind::TlsTooOld,
        Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => FailureKind::TlsCertificate,
        _ => FailureKind::TlsFailed,
    };
    Failure::new(kind, error.to_string())
}
