//! Errors of the core as Python's, by variant. The classes are in `python/lycosa/errors.py`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lycosa_store::{LogError, ReaderError};
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;

pyo3::import_exception!(lycosa.errors, SettingError);
pyo3::import_exception!(lycosa.errors, StorageError);

/// A setting's name, its value and what is allowed.
pub(crate) fn setting(name: &str, value: impl ToString, allowed: impl ToString) -> PyErr {
    SettingError::new_err((name.to_owned(), value.to_string(), allowed.to_string()))
}

/// The log cannot be written.
pub(crate) fn log(error: &LogError) -> PyErr {
    StorageError::new_err(error.to_string())
}

/// The log cannot be read.
pub(crate) fn reader(error: &ReaderError) -> PyErr {
    StorageError::new_err(error.to_string())
}

/// Waiting URLs cannot be written to the disk, or read back.
pub(crate) fn queues(error: &std::io::Error) -> PyErr {
    StorageError::new_err(format!("the frontier's files: {error}"))
}

/// The system refuses what a stage needs.
pub(crate) fn system(what: &str, error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("{what}: {error}"))
}

/// A lock whose holder panicked is taken all the same: every structure behind one is whole between calls.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
