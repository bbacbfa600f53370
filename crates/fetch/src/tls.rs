//! TLS of `https` requests.

use std::io;
use std::path::Path;
use std::sync::Arc;

use lycosa_url::{CrawlUrl, Failure, FailureKind};
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

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

/// Converts an error of the handshake.
pub(crate) fn handshake_failure(error: &io::Error) -> Failure {
    let rustls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let kind = match rustls {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            FailureKind::TlsCertificate
        }
        _ => FailureKind::TlsFailed,
    };
    Failure::new(kind, error.to_string())
}
