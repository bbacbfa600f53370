//! The file of sites' passwords and tokens.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lycosa_fetch::Credentials;
use pyo3::prelude::*;

use crate::errors::setting;

/// Adds the function to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_credentials, m)?)
}

/// Refuses a file that cannot be read, that others may read, or with a bad line; no message has its content.
#[pyfunction]
fn check_credentials(path: PathBuf) -> PyResult<()> {
    open(&path).map(|_| ())
}

/// The credentials of a file.
pub(crate) fn open(file: &Path) -> PyResult<Arc<Credentials>> {
    Credentials::open(file).map(Arc::new).map_err(|error| {
        let allowed = format!("a file of lines such as https://example.com basic USER:PASSWORD ({error})");
        setting("fetch.credentials", file.display(), allowed)
    })
}
