//! TLS clients: rustls with the `aws-lc-rs` provider, Mozilla's roots and, optionally, a file of further roots.
//! Used for all TLS connections to external servers.

mod proven;
mod weak;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::aws_lc_rs::{self, cipher_suite as suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore, SupportedCipherSuite};

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
    let provider = provider();
    let verifier = Arc::new(verifier(roots, &provider)?);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

/// The groups for key exchange, the preferred one first. X25519MLKEM768 is not among them: a server that prefers it, as those with OpenSSL
/// 3.5 do, asks for it with a further round trip, and its keys have a kilobyte.
const GROUPS: [&dyn SupportedKxGroup; 3] = [kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];

/// The cipher suites in the order in which Chrome offers them: AES-128 first, whose keys cost less to use and, with SHA-256, to derive.
static SUITES: [SupportedCipherSuite; 9] = [
    suite::TLS13_AES_128_GCM_SHA256,
    suite::TLS13_AES_256_GCM_SHA384,
    suite::TLS13_CHACHA20_POLY1305_SHA256,
    suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// The cryptography of all connections.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: SUITES.to_vec(),
        kx_groups: GROUPS.to_vec(),
        signature_verification_algorithms: proven::algorithms(),
        ..aws_lc_rs::default_provider()
    })
}

/// Verifies servers' certificates by these roots.
fn verifier(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> io::Result<Naming> {
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    builder.build().map(Naming).map_err(io::Error::other)
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
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{ServerName, UnixTime};
    use rustls::{CipherSuite, NamedGroup};

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
    #[test]
    fn all_configurations_verify_by_the_same_memory_and_offer_what_costs_no_round_trip() {
        let (config, other) = (client_config(None).unwrap(), provider());
        let used = config.crypto_provider();
        assert!(std::ptr::eq(
            used.signature_verification_algorithms.all,
            other.signature_verification_algorithms.all
        ));
        assert_eq!(used.cipher_suites, SUITES);
        let known = aws_lc_rs::default_provider().cipher_suites;
        assert!(known.len() == SUITES.len() && known.iter().all(|suite| SUITES.contains(suite)));
        let [of_tls13, .., of_tls12] = [0, 1, 2, 3].map(|index| used.cipher_suites[index].suite());
        assert_eq!(
            [of_tls13, of_tls12],
            [CipherSuite::TLS13_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
        );
        let groups = used.kx_groups.iter().map(|group| group.name());
        assert_eq!(
            groups.collect::<Vec<_>>(),
            [NamedGroup::X25519, NamedGroup::secp256r1, NamedGroup::secp384r1]
        );
    }

    #[test]
    fn name_and_time_are_checked_although_the_signature_is_known_to_be_valid() {
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new([]).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let mut host = CertificateParams::new(["host.example".to_owned()]).unwrap();
        (host.not_before, host.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 3, 1));
        let certificate = host.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();

        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).unwrap();
        let verifier = verifier(roots, &provider()).unwrap();
        let verify = |name: &'static str, days: u64| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(days * 86_400));
            let name = ServerName::try_from(name).unwrap();
            verifier.verify_server_cert(certificate.der(), &[], &name, &[], now)
        };
        let february = 20_500;
        for _ in 0..2 {
            assert!(verify("host.example", february).is_ok());
        }
        for (name, day, what) in
            [("other.example", february, "not valid for name"), ("host.example", february + 60, "expired")]
        {
            let error = verify(name, day).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
