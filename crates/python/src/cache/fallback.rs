//! Why a cache is not in the file that was asked for, and what is logged of it.

use std::sync::Arc;

use lycosa_names::cache::compact::{CompactCache, CompactError, Notices};
use pyo3::prelude::*;

use crate::errors::{setting, storage};

/// Why a cache is not in its file: from the start, or since its file was cut.
pub(crate) struct Fallback {
    from_start: Option<String>,
    notices: Arc<Notices>,
}

impl Fallback {
    /// Of this cache.
    pub(super) fn of(cache: &CompactCache) -> Self {
        let from_start = cache.fallen_back().map(str::to_owned);
        Fallback { from_start, notices: Arc::clone(cache.notices()) }
    }

    /// Why, if so.
    pub(crate) fn why(&self) -> Option<String> {
        self.from_start.clone().or_else(|| self.notices.lost().map(str::to_owned))
    }
}

/// Logs what was done to bring a cache's file up to date, and what will happen to the file while it is open.
pub(crate) fn watch(cache: &CompactCache) -> Fallback {
    if let Some(renewed) = cache.renewed() {
        Python::attach(|py| log(py, "info", renewed));
    }
    cache.notices().listen(|text| {
        let text = text.to_owned();
        // On a thread of its own: whoever has the GIL may be waiting for the one that noticed.
        let told = std::thread::Builder::new()
            .name("lycosa-notice".to_owned())
            .spawn(move || Python::try_attach(|py| log(py, "warning", &text)));
        drop(told);
    });
    Fallback::of(cache)
}

/// Logs a line. Without a logger the work goes on all the same.
fn log(py: Python<'_>, level: &str, text: &str) {
    let logger = py.import("logging").and_then(|logging| logging.call_method1("getLogger", ("lycosa",)));
    drop(logger.and_then(|logger| logger.call_method1(level, ("%s", text))));
}

/// Why there is no cache.
pub(crate) fn refused(error: &CompactError) -> PyErr {
    match error {
        CompactError::Setting { name, given, allowed } => setting(name, given, allowed),
        other => storage(other),
    }
}
