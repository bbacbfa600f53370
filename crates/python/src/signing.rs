//! Ed25519 over bytes: what a dispatch master signs, and download servers verify.

use lycosa_fetch::{SigningKey as Signing, VerifyingKey as Verifying};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::setting;

/// Adds the classes to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<SigningKey>()?;
    m.add_class::<VerifyingKey>()
}

/// A private key.
#[pyclass(frozen, module = "lycosa._core")]
struct SigningKey(Signing);

#[pymethods]
impl SigningKey {
    /// The key of PKCS #8.
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        let refused = || setting("key", "…", "an Ed25519 key in PKCS #8");
        Signing::new(key).map(SigningKey).ok_or_else(refused)
    }

    /// The public key.
    #[getter]
    fn public<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.public_key())
    }

    /// The signature of a message.
    fn sign<'py>(&self, py: Python<'py>, message: &[u8]) -> Bound<'py, PyBytes> {
        let signature = py.detach(|| self.0.sign(message));
        PyBytes::new(py, &signature)
    }
}

/// A public key.
#[pyclass(frozen, module = "lycosa._core")]
struct VerifyingKey(Verifying);

#[pymethods]
impl VerifyingKey {
    /// The key of 32 bytes.
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        let refused =
            || setting("public key", format!("{} bytes", key.len()), "an Ed25519 public key, 32 bytes");
        Verifying::new(key).map(VerifyingKey).ok_or_else(refused)
    }

    /// Whether a signature of a message is the key owner's.
    fn verify(&self, py: Python<'_>, message: &[u8], signature: &[u8]) -> bool {
        py.detach(|| self.0.verify(message, signature))
    }
}
