//! Certificates that no client of today accepts, by name: short RSA keys, signatures with MD5 or SHA-1.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use x509_parser::asn1_rs::{Oid, oid};
use x509_parser::oid_registry::{OID_PKCS1_MD5WITHRSAENC, OID_PKCS1_SHA1WITHRSA};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Bits of the shortest RSA key that is accepted.
const RSA_BITS: usize = 2_048;

/// Signatures with broken digests (RFC 3279 section 2.2).
const WEAK_SIGNATURES: [Oid<'static>; 3] =
    [OID_PKCS1_MD5WITHRSAENC, OID_PKCS1_SHA1WITHRSA, oid!(1.2.840.10045.4.1)];

/// Whether a handshake failed since a key or a signature of the server's certificates is too weak.
pub fn is_weak(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other)) if other.0.is::<Weak>())
}

/// A key or a signature that is too weak.
#[derive(Debug)]
struct Weak;

impl fmt::Display for Weak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its key or its signature is too weak")
    }
}

impl StdError for Weak {}

/// Verifies as another does, and names what it refuses for weakness. It accepts nothing that the other refuses.
#[derive(Debug)]
pub(crate) struct Naming(pub(crate) Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Naming {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.map_err(|error| named(error, std::iter::once(end_entity).chain(intermediates)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss).map_err(|error| named(error, [cert]))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss).map_err(|error| named(error, [cert]))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The error, by name if it comes from a weak certificate: rustls tells a short key as a wrong signature.
fn named<'c, 'd: 'c>(error: Error, certificates: impl IntoIterator<Item = &'c CertificateDer<'d>>) -> Error {
    use CertificateError as Bad;
    let is_of_signature = matches!(
        error,
        Error::InvalidCertificate(
            Bad::BadSignature
                | Bad::UnsupportedSignatureAlgorithmContext { .. }
                | Bad::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
        )
    );
    if is_of_signature && certificates.into_iter().any(is_weak_certificate) {
        return Error::InvalidCertificate(Bad::Other(OtherError(Arc::new(Weak))));
    }
    error
}

/// Whether a certificate's key or signature is too weak.
fn is_weak_certificate(der: &CertificateDer<'_>) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return false };
    let has_short_key = match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => (1..RSA_BITS).contains(&key.key_size()),
        _ => false,
    };
    has_short_key || WEAK_SIGNATURES.contains(&certificate.signature_algorithm.algorithm)
}
