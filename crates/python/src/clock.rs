//! A crawl's clock, and the file by which the next process goes on with its time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use lycosa_url::{Anchor, Micros};
use pyo3::prelude::*;

use crate::errors::lock;

/// How often the file is written anew: after a restart of the machine the time is known from its last reading.
const INTERVAL: Micros = 10_000_000;

/// The clock of a crawl: all its stages are given the same one.
#[pyclass(frozen, module = "lycosa._core")]
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub(crate) lycosa_url::Clock);

impl Clock {
    /// A clock that was given, or that of this process.
    pub(crate) fn of(given: Option<&Clock>) -> lycosa_url::Clock {
        given.map_or_else(lycosa_url::Clock::shared, |clock| clock.0)
    }
}

#[pymethods]
impl Clock {
    /// The clock of this process, where no crawl is gone on with.
    #[new]
    fn new() -> Self {
        Clock(lycosa_url::Clock::shared())
    }

    /// The crawl's time, in seconds since the epoch.
    fn now(&self) -> f64 {
        self.0.now() as f64 / 1e6
    }

    /// The wall clock's time, in seconds since the epoch.
    fn wall(&self) -> f64 {
        self.0.wall() as f64 / 1e6
    }
}

/// Which start of the machine this is; empty where that is not known.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// A crawl's clock and its file, `clock` beside the log's segments.
pub(crate) struct KeptClock {
    clock: lycosa_url::Clock,
    path: PathBuf,
    boot_id: String,
    /// The last reading in the file.
    written: Mutex<Option<Anchor>>,
}

impl KeptClock {
    /// Goes on with the time of the process before, where there was one. Only one process at a time may: who holds the log's lock.
    pub(crate) fn open(directory: &Path) -> Self {
        let path = directory.join("clock");
        let boot_id = boot_id();
        // A file that is missing or damaged is one of before there were any: the wall clock's time is the crawl's.
        let text = fs::read(&path).unwrap_or_default();
        let earlier = serde_json::from_slice::<Anchor>(&text).ok();
        let shared = lycosa_url::Clock::shared();
        let clock = earlier.map_or(shared, |earlier| shared.resume(&earlier, &boot_id));
        let kept = KeptClock { clock, path, boot_id, written: Mutex::default() };
        kept.note();
        kept
    }

    /// The clock.
    pub(crate) fn clock(&self) -> lycosa_url::Clock {
        self.clock
    }

    /// Writes the time, if the file's is old or the wall clock was set since. Where that fails, as on a full disk, the file stays
    /// as it is.
    pub(crate) fn note(&self) {
        let mut written = lock(&self.written);
        let now = self.clock.anchor(&self.boot_id);
        let offset = |anchor: &Anchor| anchor.wall_us as i64 - anchor.now_us as i64;
        let is_fresh = written.as_ref().is_some_and(|written| {
            now.now_us.saturating_sub(written.now_us) < INTERVAL
                && offset(&now).abs_diff(offset(written)) < INTERVAL / 10
        });
        if !is_fresh && self.write(&now).is_ok() {
            *written = Some(now);
        }
    }

    /// Replaces the file. It is not synced: after a loss of power it may be of a few seconds before, or gone.
    fn write(&self, anchor: &Anchor) -> io::Result<()> {
        let aside = self.path.with_extension("new");
        fs::write(&aside, serde_json::to_vec(anchor)?)?;
        fs::rename(&aside, &self.path)
    }
}
