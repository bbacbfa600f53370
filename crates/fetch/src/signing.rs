//! Signatures with Ed25519 over any bytes: a dispatch master signs what it grants.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, ParsedPublicKey};

/// A private key, ready to sign.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// The key of PKCS #8; `None` if it is no such key.
    pub fn new(key: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).ok().map(SigningKey)
    }

    /// The public key, 32 bytes.
    pub fn public_key(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    /// The signature of a message, 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

/// A public key, ready to verify.
pub struct VerifyingKey(ParsedPublicKey);

impl VerifyingKey {
    /// The key of 32 bytes; `None` if they are none.
    pub fn new(key: &[u8]) -> Option<Self> {
        ParsedPublicKey::new(&ED25519, key).ok().map(VerifyingKey)
    }

    /// Whether the owner of the key has signed a message so.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.verify_sig(message, signature).is_ok()
    }
}
