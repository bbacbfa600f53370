//! Errors of the core as Python's, by variant. The classes are in `python/lycosa/errors.py`.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lycosa_records::RecordError;
use lycosa_store::LogError;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};

pyo3::import_exception!(lycosa.errors, BadName);
pyo3::import_exception!(lycosa.errors, LycosaError);
pyo3::import_exception!(lycosa.errors, SettingError);
pyo3::import_exception!(lycosa.errors, JobDamaged);
pyo3::import_exception!(lycosa.errors, JobInUse);
pyo3::import_exception!(lycosa.errors, JobVersionError);
pyo3::import_exception!(lycosa.errors, StorageError);
pyo3::import_exception!(lycosa.errors, StorageFull);

/// A setting's name, its value and what is allowed.
pub(crate) fn setting(name: &str, value: impl ToString, allowed: impl ToString) -> PyErr {
    SettingError::new_err((name.to_owned(), value.to_string(), allowed.to_string()))
}

/// A name that breaks a rule, and the rule.
pub(crate) fn bad_name(name: &str, why: lycosa_names::BadName) -> PyErr {
    BadName::new_err((name.to_owned(), why.to_string()))
}

/// What is wrong with a log, and what to do about it.
pub(crate) fn log(error: &LogError) -> PyErr {
    match error {
        LogError::InUse { .. } => {
            JobInUse::new_err(format!("{error}; wait until it has ended, or give another directory"))
        }
        LogError::Foreign { .. } | LogError::ForeignContent { .. } => JobVersionError::new_err(format!(
            "{error}; go on with the version of Lycosa that wrote it, or take it along: `lycosa job export DIR FILE` with \
             that version, `lycosa job import FILE NEW` with this one"
        )),
        LogError::Newer { .. } => {
            JobVersionError::new_err(format!("{error}; go on with the version of Lycosa that wrote it"))
        }
        LogError::Damaged { path, .. } => JobDamaged::new_err(format!("{error}; {}", take_along(path))),
        LogError::Full { .. } => StorageFull::new_err(format!("{error}; free space, and it goes on")),
        LogError::Io(..) => StorageError::new_err(format!(
            "{error}; what was confirmed is in the log, and the crawl goes on from there when it is started again"
        )),
        LogError::Absent { .. } | LogError::TooLarge(_) => storage(error),
    }
}

/// A batch that is none of this program's.
pub(crate) fn record(error: &RecordError) -> PyErr {
    match error {
        RecordError::Newer { .. } => JobVersionError::new_err(error.to_string()),
        RecordError::Kind { .. } | RecordError::Damaged { .. } | RecordError::Url | RecordError::TooLarge => {
            PyValueError::new_err(error.to_string())
        }
    }
}

/// How what can be read of a log, or of something beside it, becomes a job.
fn take_along(path: &Path) -> String {
    let job = if path.ends_with("log") { path.parent().unwrap_or(path) } else { path };
    let job = job.display();
    format!(
        "`lycosa job export {job} FILE` reads what can be read, `lycosa job import FILE NEW` makes a job of it"
    )
}

/// Waiting URLs cannot be written to the disk, or read back.
pub(crate) fn queues(error: &std::io::Error) -> PyErr {
    StorageError::new_err(format!("the frontier's files: {error}"))
}

/// Something stored is not as it should be, and nothing more can be told about it.
pub(crate) fn storage(error: impl ToString) -> PyErr {
    StorageError::new_err(error.to_string())
}

/// The system refuses what a stage needs.
pub(crate) fn system(what: &str, error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("{what}: {error}"))
}

/// A stage has ended before the crawl has.
pub(crate) fn ended(what: &str, error: &std::io::Error) -> PyErr {
    LycosaError::new_err(format!(
        "{what}: {error}; what was confirmed is in the log, and the crawl goes on from there when it is started again"
    ))
}

/// A page makes a library panic.
pub(crate) fn unreadable(url: &str, reason: &str) -> PyErr {
    LycosaError::new_err(format!("{}: {reason}", if url.is_empty() { "the page" } else { url }))
}

/// The system's error as Python has it: by its number.
pub(crate) fn os(error: &std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// A lock whose holder panicked is taken all the same: every structure behind one is whole between calls.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
