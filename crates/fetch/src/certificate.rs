//! Summaries of verified server certificates.

use std::fmt::Write as _;
use std::sync::Arc;

use lycosa_records::Certificate;
use rustls::ClientConnection;
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The summary of a connection's certificate; `None` if there is none.
pub(crate) fn summary(connection: &ClientConnection) -> Option<Arc<Certificate>> {
    let der = connection.peer_certificates()?.first()?;
    let mut sha256 = String::with_capacity(64);
    Sha256::digest(der).iter().for_each(|byte| _ = write!(sha256, "{byte:02x}"));
    let protocol = connection.protocol_version().and_then(|version| version.as_str()).unwrap_or_default();
    let cipher =
        connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str()).unwrap_or_default();
    let mut summary = Certificate {
        protocol: protocol.into(),
        cipher: cipher.into(),
        sha256: sha256.into(),
        ..Certificate::default()
    };
    if let Ok((_, certificate)) = X509Certificate::from_der(der) {
        let validity = certificate.validity();
        summary.subject = certificate.subject().to_string().into();
        summary.issuer = certificate.issuer().to_string().into();
        summary.valid = (validity.not_before.timestamp(), validity.not_after.timestamp());
    }
    Some(Arc::new(summary))
}
