//! The certificate authority: keys and certificates, good and bad, as pure functions of the seed.
//!
//! Guarantees, checked by the tests:
//! 1. Keys and signatures (RFC 6979) are determined by the seed, so that the PEM file can be trusted before a simnet runs.
//! 2. Every bad certificate is invalid for exactly one reason.
//!
//! The keys can be derived from the seed: this authority must be trusted inside a simulation only. The curve
//! is P-256, since browsers do not accept Ed25519 for servers; `p256` computes the keys, since `ring` cannot
//! derive them from given bytes.

use std::sync::Arc;

use p256::SecretKey;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::EncodePrivateKey;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyIdMethod, KeyUsagePurpose, PublicKeyData, SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::error::{Error, Result};
use crate::random::Rng;
use crate::secure::Certificate;

/// Validity of good certificates in years. Fixed, so that certificates depend on the seed only.
const VALID: (i32, i32) = (2020, 2050);

/// Validity of an expired certificate.
const EXPIRED: (i32, i32) = (2016, 2019);

/// Validity of a certificate that is not valid yet; dates from 2050 on are GeneralizedTime (RFC 5280, 4.1.2.5).
const EARLY: (i32, i32) = (2048, 2050);

/// Name in a certificate with a wrong name.
const OTHER_NAME: &str = "default.hosting.example";

/// Purpose of the random stream of keys.
const KEYS: u64 = 40;

/// The authority of a world.
pub(crate) struct Authority {
    /// The root certificate that clients trust.
    root: rcgen::Certificate,
    /// The intermediate authority that signs hosts' certificates; its certificate is sent with them.
    issuer: Signatory,
    /// An authority that is not trusted.
    stranger: Signatory,
    /// The common key of all hosts, which saves generating one per host.
    host_key: Key,
    /// The same key for rustls.
    host_signer: Arc<dyn rustls::sign::SigningKey>,
}

/// A signing authority.
struct Signatory {
    /// Name and key.
    issuer: Issuer<'static, Key>,
    /// Its certificate.
    certificate: CertificateDer<'static>,
}

impl Authority {
    /// Derives the authority from a seed; takes a millisecond.
    pub(crate) fn new(seed: u64) -> Result<Self> {
        let keys = [0, 1, 2, 3].map(|n| Key::new(seed, n));
        let [root_key, issuer_key, stranger_key, host_key] = keys;
        let told = |error: rcgen::Error| Error::system("making the certificate authority", invalid(error));
        let root_params = authority("Lycosa simnet root", &root_key, None);
        let root = root_params.self_signed(&root_key).map_err(told)?;
        let root_issuer = Issuer::new(root_params, root_key);
        let issuer_params = authority("Lycosa simnet issuer", &issuer_key, Some(0));
        let signed = issuer_params.signed_by(&issuer_key, &root_issuer).map_err(told)?;
        let issuer =
            Signatory { issuer: Issuer::new(issuer_params, issuer_key), certificate: signed.der().clone() };
        let stranger_params = authority("An authority that nobody knows", &stranger_key, None);
        let signed = stranger_params.self_signed(&stranger_key).map_err(told)?;
        let stranger = Signatory {
            issuer: Issuer::new(stranger_params, stranger_key),
            certificate: signed.der().clone(),
        };
        let host_signer = host_key.signer()?;
        Ok(Self { root, issuer, stranger, host_key, host_signer })
    }

    /// The root as PEM.
    pub(crate) fn pem(&self) -> String {
        self.root.pem()
    }

    /// Issues the certificate chain that a server sends for a name.
    pub(crate) fn certify(&self, name: &str, certificate: Certificate) -> Result<CertifiedKey> {
        let chain = self.chain(name, certificate);
        let chain = chain.map_err(|error| Error::system(format!("certifying {name}"), invalid(error)))?;
        Ok(CertifiedKey::new(chain, self.host_signer.clone()))
    }

    /// Issues the certificates for a name, leaf first.
    fn chain(
        &self,
        name: &str,
        certificate: Certificate,
    ) -> std::result::Result<Vec<CertificateDer<'static>>, rcgen::Error> {
        let bearer = if certificate == Certificate::WrongName { OTHER_NAME } else { name };
        let mut params = CertificateParams::new([bearer.to_owned()])?;
        let years = match certificate {
            Certificate::Expired => EXPIRED,
            Certificate::NotYetValid => EARLY,
            _ => VALID,
        };
        limit(&mut params, years);
        params.distinguished_name = DistinguishedName::new();
        // A common name has at most 64 characters (RFC 5280, A.1); clients check the alternative name.
        params.distinguished_name.push(DnType::CommonName, bearer.get(..64).unwrap_or(bearer));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.serial_number = Some(serial(name.as_bytes()));
        params.key_identifier_method = KeyIdMethod::PreSpecified(self.host_key.identifier());
        params.use_authority_key_identifier_extension = certificate != Certificate::SelfSigned;
        let signatory = match certificate {
            Certificate::SelfSigned => return Ok(vec![params.self_signed(&self.host_key)?.into()]),
            Certificate::UnknownAuthority => &self.stranger,
            _ => &self.issuer,
        };
        let mut chain = vec![params.signed_by(&self.host_key, &signatory.issuer)?.into()];
        if certificate != Certificate::Incomplete {
            chain.push(signatory.certificate.clone());
        }
        Ok(chain)
    }
}

/// Parameters of an authority's certificate. `below` is the maximum path length (`None` for no limit).
fn authority(name: &str, key: &Key, below: Option<u8>) -> CertificateParams {
    let mut params = CertificateParams::default();
    limit(&mut params, VALID);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(below.map_or(BasicConstraints::Unconstrained, BasicConstraints::Constrained));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.serial_number = Some(serial(&key.identifier()));
    params.key_identifier_method = KeyIdMethod::PreSpecified(key.identifier());
    params.use_authority_key_identifier_extension = below.is_some();
    params
}

/// Sets the validity, from the beginning of one year to that of another.
fn limit(params: &mut CertificateParams, (from, until): (i32, i32)) {
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
}

/// A positive serial number of 8 bytes (RFC 5280, 4.1.2.2): FNV-1a of the subject.
fn serial(of: &[u8]) -> SerialNumber {
    let hash = of.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    SerialNumber::from(hash >> 1 | 1)
}

/// Wraps an error such as an invalid name as an I/O error.
fn invalid(error: impl ToString) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, error.to_string())
}

/// A key derived from a seed.
struct Key {
    /// The scalar.
    secret: SecretKey,
    /// The point, uncompressed (SEC 1, 2.3.3).
    public: Vec<u8>,
}

impl Key {
    /// The `number`th key of a seed.
    fn new(seed: u64, number: u64) -> Self {
        let mut rng = Rng::new(seed, KEYS, number, 0);
        loop {
            let bytes = [(); 4].map(|()| rng.bits().to_be_bytes()).concat();
            // All but one in 2³² numbers of 256 bits are valid scalars.
            if let Ok(secret) = SecretKey::from_slice(&bytes) {
                let public = secret.public_key().to_sec1_bytes().into_vec();
                return Self { secret, public };
            }
        }
    }

    /// Key identifier: the beginning of the point.
    fn identifier(&self) -> Vec<u8> {
        self.public.iter().skip(1).take(20).copied().collect()
    }

    /// The key for handshakes, which `ring` signs: it is faster, and these signatures need not be deterministic.
    fn signer(&self) -> Result<Arc<dyn rustls::sign::SigningKey>> {
        let der = self.secret.to_pkcs8_der().map_err(|e| Error::system("encoding a key", invalid(e)))?;
        let der = PrivatePkcs8KeyDer::from(der.as_bytes().to_vec());
        rustls::crypto::aws_lc_rs::sign::any_ecdsa_type(&der.into())
            .map_err(|e| Error::system("reading a key", invalid(e)))
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl rcgen::SigningKey for Key {
    fn sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, rcgen::Error> {
        let signature: DerSignature = SigningKey::from(&self.secret).sign(message);
        Ok(signature.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_one_authority() {
        let (one, two, other) =
            (Authority::new(1).unwrap(), Authority::new(1).unwrap(), Authority::new(2).unwrap());
        assert_eq!(one.pem(), two.pem());
        assert_ne!(one.pem(), other.pem());
        assert!(one.pem().starts_with("-----BEGIN CERTIFICATE-----"));
        for certificate in Certificate::ALL {
            let chain = |authority: &Authority| authority.chain("www.rose.com", certificate).unwrap();
            assert_eq!(chain(&one), chain(&two), "{certificate:?}");
            assert_ne!(chain(&one), chain(&other), "{certificate:?}");
        }
    }

    #[test]
    fn any_name_of_the_world_can_be_certified() {
        let authority = Authority::new(3).unwrap();
        let long = format!("{}.{}.com", "a".repeat(60), "b".repeat(60));
        for name in ["io", "www.silver-river.co.uk", &long] {
            assert_eq!(authority.certify(name, Certificate::Good).unwrap().cert.len(), 2);
        }
        assert!(authority.certify("é.com", Certificate::Good).is_err());
    }
}
