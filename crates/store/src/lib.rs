//! The log, and what follows it.
//!
//! One append-only log is the truth: what was accepted, outcomes with their links and bodies as received, refusals.
//! [`Log`] writes it, [`Reader`] follows it. What stands in it are the records and frames of `lycosa-records`; what the log
//! guarantees is listed above [`Log`] (`log.rs`), [`Reader`] (`reader.rs`) and group commit (`commit.rs`).

mod commit;
mod disk;
mod error;
mod export;
mod failed;
#[cfg(test)]
mod failed_tests;
mod layout;
mod lock;
mod log;
#[cfg(test)]
mod log_tests;
mod reader;
#[cfg(test)]
mod reader_tests;
mod repair;
#[cfg(test)]
mod samples;
mod segment;
mod snapshot;
mod story;
mod summary;

pub use error::LogError;
pub use export::{ExportError, Exported, export, import};
pub use failed::{Failed, Found, ended, reopened};
pub use layout::SEGMENT_HEADER_BYTES;
pub use log::{Log, LogSettings};
pub use reader::{Bodies, Logged, Reader};
pub use repair::Torn;
pub use segment::first_position;
pub use snapshot::{SnapshotReader, Snapshots};
pub use story::{Judge, Leased, Story, story};
pub use summary::{Reached, Summary};

/// A place in the log: bytes since its beginning.
pub type Position = u64;
