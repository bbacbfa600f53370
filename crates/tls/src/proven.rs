//! Remembers which signatures of certificates are valid: a host shows the same chain at each connection, and all hosts of an
//! authority show its intermediate certificates. Names, periods of validity and the handshake's own signature are checked each time.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use sha2::{Digest as _, Sha256};

/// Signatures that are remembered, in about a megabyte. When there are more, all are forgotten.
const MOST: usize = 16_384;

/// The algorithms of the provider. Those for certificates remember what they found valid; those for handshakes, whose signatures are
/// new each time, do not.
pub(crate) fn algorithms() -> WebPkiSupportedAlgorithms {
    static REMEMBERING: LazyLock<WebPkiSupportedAlgorithms> = LazyLock::new(|| {
        let plain = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
        let proven = Arc::new(Proven::default());
        let all = plain.all.iter().map(|&algorithm| {
            let wrapped = Remembering { algorithm, proven: proven.clone() };
            &*Box::leak(Box::new(wrapped)) as &'static dyn SignatureVerificationAlgorithm
        });
        WebPkiSupportedAlgorithms { all: all.collect::<Vec<_>>().leak(), mapping: plain.mapping }
    });
    *REMEMBERING
}

/// Digests of signatures that were valid, with their keys and what they sign.
#[derive(Debug, Default)]
struct Proven(Mutex<HashSet<[u8; 32]>>);

impl Proven {
    /// Whether this was found valid before.
    fn has(&self, digest: &[u8; 32]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(digest)
    }

    /// Remembers that this is valid.
    fn add(&self, digest: [u8; 32]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(digest);
    }
}

/// Verifies as another algorithm does, each signature once.
#[derive(Debug)]
struct Remembering {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    proven: Arc<Proven>,
}

impl SignatureVerificationAlgorithm for Remembering {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let (key, kind) = (self.public_key_alg_id(), self.signature_alg_id());
        let mut digest = Sha256::new();
        for part in [key.as_ref(), kind.as_ref(), public_key, message, signature] {
            // With its length, so that no other parts give the same bytes.
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let digest = digest.finalize().into();
        if !self.proven.has(&digest) {
            self.algorithm.verify_signature(public_key, message, signature)?;
            self.proven.add(digest);
        }
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.algorithm.fips()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use rustls::pki_types::alg_id;

    use super::*;

    /// Finds a signature valid that is the key, then the message. Counts.
    #[derive(Debug)]
    struct Joining(&'static AtomicUsize);

    impl SignatureVerificationAlgorithm for Joining {
        fn verify_signature(
            &self,
            public_key: &[u8],
            message: &[u8],
            signature: &[u8],
        ) -> Result<(), InvalidSignature> {
            self.0.fetch_add(1, Relaxed);
            if signature == [public_key, message].concat() { Ok(()) } else { Err(InvalidSignature) }
        }

        fn public_key_alg_id(&self) -> AlgorithmIdentifier {
            alg_id::ECDSA_P256
        }

        fn signature_alg_id(&self) -> AlgorithmIdentifier {
            alg_id::ECDSA_SHA256
        }
    }

    fn remembering() -> (Remembering, &'static AtomicUsize) {
        let count: &AtomicUsize = Box::leak(Box::default());
        (Remembering { algorithm: Box::leak(Box::new(Joining(count))), proven: Arc::default() }, count)
    }

    #[test]
    fn signatures_of_handshakes_are_verified_by_the_provider_itself() {
        let plain = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
        let ours = algorithms();
        assert!(std::ptr::eq(ours.mapping, plain.mapping));
        let kinds = |algorithms: WebPkiSupportedAlgorithms| -> Vec<_> {
            algorithms.all.iter().map(|each| (each.public_key_alg_id(), each.signature_alg_id())).collect()
        };
        assert_eq!(kinds(ours), kinds(plain));
    }

    #[test]
    fn a_valid_signature_is_computed_once_and_an_invalid_one_each_time() {
        let (algorithm, count) = remembering();
        for _ in 0..3 {
            assert!(algorithm.verify_signature(b"key", b"message", b"keymessage").is_ok());
        }
        assert_eq!(count.load(Relaxed), 1);
        for _ in 0..3 {
            assert!(algorithm.verify_signature(b"key", b"message", b"keymessagf").is_err());
        }
        assert_eq!(count.load(Relaxed), 4);
    }

    #[test]
    fn what_differs_in_any_part_is_computed_anew() {
        let (algorithm, count) = remembering();
        assert!(algorithm.verify_signature(b"key", b"message", b"keymessage").is_ok());
        // The same bytes with other limits between key, message and signature.
        assert!(algorithm.verify_signature(b"ke", b"ymessage", b"keymessage").is_ok());
        assert!(algorithm.verify_signature(b"key", b"messagekey", b"message").is_err());
        assert!(algorithm.verify_signature(b"kez", b"message", b"keymessage").is_err());
        assert!(algorithm.verify_signature(b"key", b"messagf", b"keymessage").is_err());
        assert_eq!(count.load(Relaxed), 5);
    }

    #[test]
    fn it_holds_no_more_than_it_may() {
        let proven = Proven::default();
        for number in 0..=MOST {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_le_bytes());
            proven.add(digest);
        }
        assert_eq!(proven.0.lock().unwrap().len(), 1);
    }
}
