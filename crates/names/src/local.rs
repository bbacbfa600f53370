//! Local data, which answers names without a query; `lycosa_names_local` reads it from files.

use std::fmt;
use std::net::IpAddr;

use lycosa_url::Micros;

use crate::host::HostName;
use crate::packet_key::PacketKey;
use crate::settings::Families;

/// Addresses of a name in local data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddresses {
    /// The addresses; empty if the name has none of the queried families.
    pub addresses: Vec<IpAddr>,
    /// Their TTL in seconds.
    pub ttl: u32,
}

/// A hosts file, local data or the like, which is looked up before anything else. Several threads call it.
pub trait LocalNames: fmt::Debug + Send + Sync {
    /// The addresses of a name; `None` if the name is not in the data.
    fn addresses(&self, name: HostName<'_>, families: Families, now: Micros) -> Option<LocalAddresses>;

    /// The whole reply to a question for records; `None` if the name is not in the data.
    fn records(&self, key: &PacketKey, now: Micros) -> Option<Vec<u8>>;
}
