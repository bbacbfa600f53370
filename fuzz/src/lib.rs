//! Fuzz targets as functions of any bytes. `make fuzz` drives them by coverage (README.md), `tests/random.rs` by chance in every
//! `make test`, and `tests/regressions.rs` with every input that once broke one.
//!
//! Each target opens with its one invariant, and tells by panicking that it does not hold.

#![allow(clippy::panic, clippy::expect_used, reason = "a target tells by panicking")]

mod batches;
mod bounds;
mod caches;
mod codings;
mod frames;
mod local_names;
mod logs;
mod names;
mod packets;
mod pages;
mod records;
mod responses;
mod segments;
mod sites;
mod snapshots;
mod urls;

pub use batches::batches;
pub use caches::{cache_file, names_cache};
pub use codings::{brotli, codings, deflate, gzip, zstd};
pub use local_names::local_names;
pub use logs::{log, log_repair};
pub use names::{message, name, question};
pub use packets::packets;
pub use pages::{charset, headers, html, redirect, text};
pub use records::records;
pub use responses::response;
pub use sites::{cookies, retry_after, robots};
pub use snapshots::{seen, snapshot, snapshot_file};
pub use urls::url;

/// A target: any bytes in, a panic where its invariant does not hold.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: &[(&str, Target)] = &[
    ("url", url),
    ("name", name),
    ("message", message),
    ("question", question),
    ("records", records),
    ("packets", packets),
    ("local_names", local_names),
    ("names_cache", names_cache),
    ("cache_file", cache_file),
    ("gzip", gzip),
    ("deflate", deflate),
    ("brotli", brotli),
    ("zstd", zstd),
    ("codings", codings),
    ("response", response),
    ("html", html),
    ("text", text),
    ("charset", charset),
    ("headers", headers),
    ("redirect", redirect),
    ("robots", robots),
    ("cookies", cookies),
    ("retry_after", retry_after),
    ("snapshot", snapshot),
    ("seen", seen),
    ("snapshot_file", snapshot_file),
    ("log", log),
    ("log_repair", log_repair),
    ("batches", batches),
];
