//! The log, and what follows it.
//!
//! One append-only log is the truth: seeds, outcomes with their links and bodies as received, refusals.
//! [`Log`] writes it, [`Reader`] follows it, [`columns`] and [`lines`] turn what was read into Arrow and
//! JSON for the sinks. The frame's layout is in `frame.rs`, what stands in a frame in `entry.rs`.
//!
//! Guarantees: frames are read whole or not at all; a frame whose checksum does not fit is told by its
//! position; one process writes; what a crash left unfinished at the end is cut off when the log is opened again.

mod columns;
mod entry;
mod frame;
mod lines;
mod log;
mod reader;
mod summary;

pub use columns::{record_batch, schema};
pub use entry::{Decoders, Entry, Field, Outcome, ParseFieldError, Row};
pub use frame::{FRAME_HEADER_BYTES, Kind, SEGMENT_HEADER_BYTES};
pub use lines::write_lines;
pub use log::{Log, LogError};
pub use reader::{Bodies, Reader, ReaderError};
pub use summary::Summary;

/// A place in the log: bytes since its beginning.
pub type Position = u64;
