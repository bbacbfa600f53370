//! Names that are known without asking a server; `lycosa_names_local` reads them from files.

use std::fmt;
use std::net::IpAddr;

use lycosa_url::Micros;

use crate::host::HostName;
use crate::packet_key::PacketKey;
use crate::settings::Families;

/// Addresses of a name that is known locally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddresses {
    /// The addresses; empty where the name has none of the families that were asked for.
    pub addresses: Vec<IpAddr>,
    /// For how many seconds they hold.
    pub ttl: u32,
}

/// A hosts file, local data or the like, which is looked at before anything else. Called by several threads.
pub trait LocalNames: fmt::Debug + Send + Sync {
    /// The addresses of a name; `None` where the name is not known here.
    fn addresses(&self, name: HostName<'_>, families: Families, now: Micros) -> Option<LocalAddresses>;

    /// The whole reply to a question for records; `None` where the name is not known here.
    fn records(&self, key: &PacketKey, now: Micros) -> Option<Vec<u8>>;
}
