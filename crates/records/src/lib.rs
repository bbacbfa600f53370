//! The records that stages exchange, and their encoding.
//!
//! frontier → [`Request`] → fetch → [`Response`] → parse → [`Outcome`] → log, frontier, sinks.
//!
//! A record has the same encoding in the log, in snapshots, between processes and in other programs: a
//! *frame* ([`frame`]) with the facts as a MessagePack map with named keys, and a separate body. Version N of
//! this crate reads the frames of version N − 1 ([`v1`]). Bodies are passed by handle ([`Body`]): in memory,
//! in a file, in the log, in an object store.

mod body;
#[cfg(feature = "columns")]
pub mod columns;
mod encode;
#[cfg(test)]
mod encode_tests;
pub mod frame;
mod head;
mod journal;
mod license;
mod links;
mod mark;
mod outcome;
mod request;
mod response;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod serial;
mod terms;
mod text;
mod ticket;
pub mod usage;
pub mod v1;

pub use body::Body;
pub use encode::{Record, RecordError, decode, encode, read_facts, read_map, write_map, write_record};
pub use head::{Head, header_text};
pub use journal::{Accepted, Entry, Leased, decode_entries, decode_journal, encode_entries, encode_journal};
pub use license::{License, LinkedLicenses, MAX_LICENSES, licenses, robots_license};
pub use links::{Added, Link, LinkDetails, Links, LinksBuilder};
pub use mark::{is_markup, mark};
pub use outcome::{MAX_ROBOTS_BYTES, Outcome};
pub use request::{
    MAX_KEY_BYTES, Metadata, Purpose, Request, RequestOptions, Route, Step, Task, Validators,
    is_settable_field, key_of,
};
pub use response::{Certificate, Received, Response, Source, Times};
pub use terms::{Price, is_refused_without_license, price};
pub use text::PageText;
pub use ticket::{Ticket, answering, declared, result_of};
pub use usage::UsagePreference;
