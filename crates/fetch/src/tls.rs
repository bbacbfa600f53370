//! TLS by rustls with the `ring` provider, Mozilla's roots and, where asked for, a file of further roots.

use std::io;
use std::path::Path;
use std::sync::Arc;

use lycosa_url::{CrawlUrl, Failure, FailureKind};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// The connector for all `https` requests. The provider is named, so that no other crate can make it ambiguous.
pub(crate) fn connector(ca_file: Option<&Path>) -> io::Result<TlsConnector> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Adds the certificates of a PEM file; one that cannot be read is an error that names the file.
fn add_file(roots: &mut RootCertStore, path: &Path) -> io::Result<()> {
    let refuse =
        |why: String| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", path.display()));
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| refuse(error.to_string()))?.collect::<Vec<_>>();
    if certificates.is_empty() {
        return Err(refuse("holds no PEM certificate".to_owned()));
    }
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
        roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(())
}

/// The name that the certificate must bear: without brackets, without the root's dot (RFC 6066 section 3).
pub(crate) fn server_name(url: &CrawlUrl) -> Result<ServerName<'static>, Failure> {
    let host = url.host();
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    ServerName::try_from(name.to_owned())
        .map_err(|error| Failure::new(FailureKind::TlsFailed, format!("{host}: {error}")))
}

/// What a failed handshake means: the certificate, or anything else.
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
