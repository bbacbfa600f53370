//! Types that all components share: canonical URLs, digests, registered domains, addresses, failures, the
//! clock. No I/O.
//!
//! A URL is parsed into a [`CrawlUrl`] once, on input, and never again: a `CrawlUrl` has its canonical text,
//! the position of the host in that text, and its MD5.

mod address;
mod bad;
mod base;
mod bounds;
mod canonical;
mod clock;
mod domain;
mod escapes;
mod failure;
mod form;
mod parts;
mod plain;
mod port;
mod product;
mod resolved;
mod ring;
mod rules;
mod serial;

pub use address::{AddressPolicy, Network, canonical_address, owner_of_6to4};
pub use bad::BadUrl;
pub use base::Base;
pub use bounds::{Bound, Bounds};
pub use canonical::{CrawlUrl, Digest, MAX_URL_BYTES, TDMREP_PATH};
pub use clock::{Anchor, Clock, Micros, Script, boottime, thread_cpu};
pub use domain::{PUBLIC_SUFFIX_LIST, PublicSuffixList, registered_domain};
pub use escapes::{escaped_byte, is_unreserved};
pub use failure::{Failure, FailureKind};
pub use form::encode_form;
pub use parts::UrlRef;
pub use port::is_blocked_port;
pub use product::product_token;
pub use resolved::{NameClass, Resolved};
pub use ring::{BadRing, DEFAULT_VIRTUAL_NODES, Ring, RingKey, digest_of};
pub use rules::CanonicalRules;
pub use serial::read_text;
