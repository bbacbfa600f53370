//! TLS clients: rustls with the `ring` provider, Mozilla's roots and, optionally, a file of further roots.
//! Used for all TLS connections to external servers.

mod weak;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::weak::Naming;
pub use crate::weak::is_weak;

/// A client's configuration: certificates are verified, sessions are resumed, and [`is_weak`] tells why a weak certificate is refused. The
/// provider is explicit, so that no other crate can make it ambiguous. Fails if the PEM file of further roots cannot be used; the
/// error has its path.
pub fn client_config(ca_file: Option<&Path>) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let verifier = Arc::new(Naming(verifier.map_err(io::Error::other)?));
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

/// Adds the certificates of a PEM file.
fn add_file(roots: &mut RootCertStore, path: &Path) -> io::Result<()> {
    let refuse =
        |why: String| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", path.display()));
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| refuse(error.to_string()))?.collect::<Vec<_>>();
    if certificates.is_empty() {
        return Err(refuse("contains no PEM certificate".to_owned()));
    }
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
        roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_roots_that_cannot_be_used_is_named() {
        assert!(client_config(None).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("roots.pem");
        for text in [None, Some("no certificate")] {
            text.iter().for_each(|text| std::fs::write(&file, text).unwrap());
            let error = client_config(Some(&file)).unwrap_err();
            assert!(error.to_string().starts_with(&file.display().to_string()), "{error}");
        }
    }
}
