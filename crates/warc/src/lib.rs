//! WARC 1.1 (ISO 28500:2017): records are written, and read again from files of any crawler; ARC files are read as well.
//!
//! [`Writer`] appends records to a buffer, each compressed by itself, so that a reader can begin at any of them. [`Reader`] reads
//! records from a stream, whatever its compression, and tells where each is. [`cdxj`] makes the lines of an index.
//!
//! Guarantees: a reader never panics, reads no more into memory than its limit, and goes on behind damage; what a writer has made, a
//! reader reads as it was.

pub mod cdxj;
mod damage;
mod date;
mod digest;
mod gzip;
mod header;
mod members;
mod reader;
mod whole;
mod write;

pub use damage::{Damage, What};
pub use date::{compact_date, date, micros};
pub use digest::{base32, sha1};
pub use header::{Header, Kind};
pub use reader::{Limits, Reader, Record};
pub use write::{Compression, Earlier, Exchange, Placed, Writer};
