//! The append-only log of all records, and its readers, snapshots and exports.
//!
//! The log is the source of truth: seeds, leases, and outcomes with their links and bodies as received.
//! [`Log`] writes it, [`Reader`] follows it. It consists of the records and frames of `lycosa-records`. Its guarantees are
//! listed at the top of `log.rs`, `reader.rs` and `commit.rs` (group commit).

mod behind;
mod commit;
mod disk;
mod error;
mod export;
mod failed;
#[cfg(test)]
mod failed_tests;
mod fork;
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
mod slow;
mod snapshot;
mod story;
mod summary;

pub use error::LogError;
pub use export::{ExportError, Exported, export, import};
pub use failed::{Failed, Found, ended, reopened};
pub use fork::{Child, Killer};
pub use layout::SEGMENT_HEADER_BYTES;
pub use log::{Log, LogSettings, encode};
pub use reader::{Bodies, Logged, Reader};
pub use repair::Torn;
pub use segment::first_position;
pub use slow::SlowHosts;
pub use snapshot::{SnapshotReader, Snapshots, Unfinished};
pub use story::{Judge, Leased, Story, story};
pub use summary::{OfType, Reached, Summary};

/// A byte offset in the log.
pub type Position = u64;
