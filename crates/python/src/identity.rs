//! The crawl's identity: keys, and the directory in which they lie.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lycosa_fetch::Identity;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{setting, system};

/// Files of the directory that `lycosa identity new` makes.
const KEY: &str = "key.pem";
const AGENT: &str = "agent";

/// Adds the functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(new_identity_key, m)?)?;
    m.add_function(wrap_pyfunction!(identity_key, m)?)?;
    m.add_function(wrap_pyfunction!(identity_of, m)?)?;
    m.add_function(wrap_pyfunction!(sign_key_directory, m)?)
}

/// A new private key, Ed25519 in PKCS #8.
#[pyfunction]
fn new_identity_key(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let key = lycosa_fetch::new_key().map_err(|error| system("identity", &error))?;
    Ok(PyBytes::new(py, &key))
}

/// The public key of a private one, as `x` of a JSON Web Key, and its thumbprint. `SettingError`: no such key, or no `https` origin.
#[pyfunction]
fn identity_key(key: &[u8], agent: &str) -> PyResult<(String, String)> {
    let allowed = "an https origin, such as https://bot.example.org";
    let identity = Identity::new(key, agent).map_err(|_| setting("agent", agent, allowed))?;
    Ok((identity.public_key(), identity.key_id().to_owned()))
}

/// The agent of a directory's identity, its public key as `x` of a JSON Web Key, and the key's thumbprint. `SettingError`: the directory
/// has no identity.
#[pyfunction]
fn identity_of(directory: PathBuf) -> PyResult<(String, String, String)> {
    let identity = open(&directory)?;
    Ok((identity.agent().to_owned(), identity.public_key(), identity.key_id().to_owned()))
}

/// The values of Content-Digest, Signature-Input and Signature with which a key directory is served, from `created` to `expires`, in
/// seconds since the epoch. `SettingError`: the directory has no identity.
#[pyfunction]
fn sign_key_directory(directory: PathBuf, keys: &[u8], created: u64, expires: u64) -> PyResult<[String; 3]> {
    Ok(open(&directory)?.sign_directory(keys, created, expires))
}

/// The identity of a directory.
pub(crate) fn open(directory: &Path) -> PyResult<Arc<Identity>> {
    let refuse = |why: &dyn Display| {
        let allowed = format!("a directory that `lycosa identity new` has made ({why})");
        setting("fetch.identity", directory.display(), allowed)
    };
    let file = directory.join(AGENT);
    let agent = fs::read_to_string(&file).map_err(|error| refuse(&format!("{}: {error}", file.display())))?;
    let identity = Identity::open(&directory.join(KEY), agent.trim()).map_err(|error| refuse(&error))?;
    Ok(Arc::new(identity))
}
