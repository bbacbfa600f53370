//! Names to addresses: an asynchronous DNS client with a cache, on a thread of its own.
//!
//! A name's path, file by file: [`Client::submit`] (`client`) → the `core`, which decides without I/O (a
//! [`cache`] of any design, coalescing, retries, time-outs, the choice among the servers of `upstream`) on
//! messages that `wire` builds and parses → the `engine`, which owns `sockets` and `streams` →
//! [`Client::drain`].
//!
//! Records of any type take the same path, from [`Client::submit_packets`] to [`Client::drain_packets`]. A
//! separate cache stores their whole replies, which [`read_records`] parses.
//!
//! It is a stub client: it queries recursive resolvers over UDP, TCP, TLS (`transport`) or HTTPS (`https`), and
//! a zone's own resolvers for its names ([`ZoneTable`]). It reads no files: local data such as `/etc/hosts`
//! comes as [`LocalNames`].
//!
//! `lycosa_names_server` is a DNS server that uses this client and its caches. For it there are also:
//! [`ScaledTime`], to read the caches that a client writes; [`is_special_use`] and [`loopback`], so that both
//! treat the same names alike; [`copy_records`].

mod answer;
mod asked;
mod batch;
pub mod cache;
mod client;
mod core;
mod descriptors;
mod dice;
mod engine;
mod extended_error;
mod host;
mod https;
mod local;
mod lookup;
mod name;
mod nameserver;
mod packet_key;
mod records;
mod scaled;
mod settings;
mod sockets;
mod streams;
mod times;
mod transport;
mod upstream;
mod wheel;
mod wildcards;
mod wire;
mod zone_text;
mod zones;

pub use cache::packet::copy_records;
pub use client::{Client, MakeSink, PacketAnswer, Sink};
/// Record types.
pub use domain::base::iana::Rtype;
pub use extended_error::ExtendedError;
pub use host::{BadName, HostName, MAX_LABEL, MAX_NAME};
pub use local::{LocalAddresses, LocalNames};
pub use name::{is_special_use, loopback};
pub use nameserver::Nameserver;
pub use packet_key::PacketKey;
pub use records::{Record, Records, read_records};
pub use scaled::ScaledTime;
pub use settings::{Families, Settings, Statistics, UpstreamFigures};
pub use times::{TIME_BOUNDS, Times};
pub use upstream::Pace;
#[doc(hidden)]
pub use wire::examine;
pub use wire::{HEADER, LONGEST_NAME, MAX_CHAIN, PAYLOAD, endless_aliases, skip_uncompressed_name};
pub use zones::{BadZone, ZoneTable};
