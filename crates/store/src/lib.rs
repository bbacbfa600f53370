//! The log, and what follows it.
//!
//! One append-only log is the truth: seeds, outcomes with their links and bodies as received, refusals.
//! [`Log`] writes it, [`Reader`] follows it, [`columns`] and [`lines`] turn what was read into Arrow and
//! JSON for the sinks. The frame's layout is in `frame.rs`, what stands in a frame in `entry.rs`; what the log
//! guarantees is listed above [`Log`] (`log.rs`), [`Reader`] (`reader.rs`) and group commit (`commit.rs`).

mod columns;
mod commit;
mod disk;
mod entry;
mod error;
mod export;
mod failed;
#[cfg(test)]
mod failed_tests;
mod frame;
mod headers;
mod lines;
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

pub use columns::{record_batch, schema};
pub use entry::{Decoders, Entry, Field, Outcome, ParseFieldError, Row};
pub use error::LogError;
pub use export::{ExportError, Exported, export, import};
pub use failed::{Failed, Found, ended, reopened};
pub use frame::{Kind, SEGMENT_HEADER_BYTES};
pub use lines::write_lines;
pub use log::{Log, LogSettings};
pub use reader::{Bodies, Reader};
pub use repair::Torn;
pub use segment::first_position;
pub use snapshot::{SnapshotReader, Snapshots};
pub use story::{Judge, Leased, Story, story};
pub use summary::{Reached, Summary};

/// A place in the log: bytes since its beginning.
pub type Position = u64;
