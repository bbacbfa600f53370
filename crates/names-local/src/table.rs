//! Hosts file and local data as one source of names.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use lycosa_names::{Families, HostName, LocalAddresses, LocalNames, MAX_CHAIN, PacketKey};
use lycosa_url::Micros;

use crate::hosts::{Hosts, SharedHosts};
use crate::local_data::{LocalAnswer, LocalData, LocalRecord, RecordData};

/// TTL in seconds of hosts file entries and negative answers: bounds how long clients use an old entry after
/// the file changes.
const HOSTS_TTL: u32 = 60;

/// Maximum number of addresses per family for a name in the hosts file, so that they fit into a message.
const MAX_ADDRESSES: usize = 2_000;

/// Maximum size of a reply in bytes; leaves space for the OPT record that a server adds (a message has at
/// most 65,535 bytes).
const MAX_REPLY: usize = 65_000;

/// Size of a message header; the question's name follows it.
const HEADER: usize = 12;

/// Bytes of a record before its data, with a compressed name.
const HEAD: usize = 12;

/// Maximum number of names in a PTR answer: in a block list all names have one address.
const MAX_NAMES: usize = 64;

/// Record types that are looked up here (RFC 1035 section 3.2.2, RFC 3596).
const A: u16 = 1;
const CNAME: u16 = 5;
const PTR: u16 = 12;
const AAAA: u16 = 28;

/// Local data and hosts file; local data takes precedence.
#[derive(Debug, Default)]
pub struct LocalTable {
    data: LocalData,
    hosts: Option<Arc<SharedHosts>>,
}

/// The end of a chain of aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End<'a> {
    /// A local name that is not an alias (the name itself if it is not one), with the least TTL of the
    /// aliases.
    At(HostName<'a>, u32),
    /// A loop, a chain that is too long, or a target that is not local, for example because it left the hosts
    /// file. No server is asked for it.
    Lost,
    /// The name is not local.
    Unknown,
}

/// An alias in local data whose target is not local either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAlias(String);

impl BadAlias {
    /// The alias.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BadAlias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the alias {} leads to no local name; allowed: a CNAME to a name with local data or in the hosts file",
            self.0
        )
    }
}

impl std::error::Error for BadAlias {}

impl LocalTable {
    /// Opens a hosts file, if any, and takes local data.
    ///
    /// # Errors
    ///
    /// Errors of reading the file, and [`BadAlias`].
    pub fn open(hosts: Option<&Path>, data: LocalData, now: Micros) -> io::Result<Self> {
        let hosts = hosts.map(|path| SharedHosts::open(path, now)).transpose()?;
        let table = LocalTable { data, hosts: hosts.map(Arc::new) };
        let read = table.hosts_at(now);
        let lost = table.data.aliases().find(|name| table.end_of(*name, read.as_deref()) == End::Lost);
        let lost = lost.map(|name| BadAlias(name.as_str().to_owned()));
        lost.map_or(Ok(table), |alias| Err(io::Error::new(io::ErrorKind::InvalidInput, alias)))
    }

    /// Ignored entries of the hosts file.
    pub fn warnings(&self) -> Vec<String> {
        self.hosts_at(0).map(|hosts| hosts.warnings().to_vec()).unwrap_or_default()
    }

    /// The current hosts file; the previous content if it cannot be read.
    fn hosts_at(&self, now: Micros) -> Option<Arc<Hosts>> {
        self.hosts.as_ref().map(|hosts| hosts.at(now))
    }

    /// Follows the aliases from a name; returns their end and least TTL.
    fn end_of<'a>(&'a self, mut name: HostName<'a>, hosts: Option<&Hosts>) -> End<'a> {
        let mut least = u32::MAX;
        for step in 0..=MAX_CHAIN {
            match self.data.lookup(name, A) {
                None if hosts.is_some_and(|hosts| hosts.has(name)) => return End::At(name, least),
                None if step == 0 => return End::Unknown,
                None => return End::Lost,
                Some(LocalAnswer::Records([LocalRecord { data: RecordData::Cname(target), ttl }])) => {
                    let Ok(target) = HostName::new(target) else { return End::Lost };
                    (name, least) = (target, least.min(*ttl));
                }
                Some(_) => return End::At(name, least),
            }
        }
        End::Lost
    }

    /// The addresses and TTL of a name that is not an alias.
    fn addresses_of(&self, name: HostName<'_>, rtype: u16, hosts: Option<&Hosts>) -> (Vec<IpAddr>, u32) {
        let families = if rtype == AAAA { Families::V6 } else { Families::V4 };
        match self.data.lookup(name, rtype) {
            None => {
                let found = hosts.and_then(|hosts| listed(hosts, name, families));
                (found.unwrap_or_default(), HOSTS_TTL)
            }
            Some(LocalAnswer::NoData) => (Vec::new(), HOSTS_TTL),
            Some(LocalAnswer::Records(records)) => {
                let address = |record: &LocalRecord| match record.data {
                    RecordData::A(address) => Some(address.into()),
                    RecordData::Aaaa(address) => Some(address.into()),
                    _ => None,
                };
                let ttl = records.first().map_or(HOSTS_TTL, |record| record.ttl);
                (records.iter().filter_map(address).collect(), ttl)
            }
        }
    }

    /// The records of a name with their TTLs; empty if it has none of this type, `None` if the name is not
    /// local.
    fn records_of(&self, name: HostName<'_>, rtype: u16, hosts: Option<&Hosts>) -> Option<Vec<LocalRecord>> {
        match self.data.lookup(name, rtype) {
            Some(LocalAnswer::Records(records)) => return Some(records.to_vec()),
            Some(LocalAnswer::NoData) => return Some(Vec::new()),
            None => (),
        }
        let hosts = hosts?;
        let names = address_of(name.as_str()).into_iter().flat_map(|address| hosts.names_of(address));
        let mut names = names.take(MAX_NAMES).peekable();
        if names.peek().is_none() && !hosts.has(name) {
            return None;
        }
        let families = if rtype == AAAA { Families::V6 } else { Families::V4 };
        let addresses = || listed(hosts, name, families).unwrap_or_default();
        let data: Vec<RecordData> = match rtype {
            PTR => names.map(|name| RecordData::Ptr(name.into())).collect(),
            A | AAAA => addresses().into_iter().map(RecordData::from).collect(),
            _ => Vec::new(),
        };
        Some(data.into_iter().map(|data| LocalRecord { ttl: HOSTS_TTL, data }).collect())
    }
}

impl LocalNames for LocalTable {
    fn addresses(&self, name: HostName<'_>, families: Families, now: Micros) -> Option<LocalAddresses> {
        let hosts = self.hosts_at(now);
        let (end, ttl) = match self.end_of(name, hosts.as_deref()) {
            End::At(end, ttl) => (end, ttl),
            End::Lost => return Some(LocalAddresses { addresses: Vec::new(), ttl: HOSTS_TTL }),
            End::Unknown => return None,
        };
        let types = match families {
            Families::V4 => &[A][..],
            Families::V6 => &[AAAA],
            Families::Both => &[A, AAAA],
        };
        let mut found = LocalAddresses { addresses: Vec::new(), ttl };
        for rtype in types {
            let (addresses, ttl) = self.addresses_of(end, *rtype, hosts.as_deref());
            found.addresses.extend(addresses);
            found.ttl = found.ttl.min(ttl);
        }
        Some(found)
    }

    fn records(&self, key: &PacketKey, now: Micros) -> Option<Vec<u8>> {
        let (rtype, hosts) = (key.rtype().to_int(), self.hosts_at(now));
        let mut records = self.records_of(HostName::new(&key.text()).ok()?, rtype, hosts.as_deref())?;
        let mut message = vec![0, 0, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(key.name());
        message.extend_from_slice(&rtype.to_be_bytes());
        message.extend_from_slice(&[0, 1]);
        let (mut owner, mut count) = (HEADER, 0);
        for _ in 0..=MAX_CHAIN {
            let start = message.len();
            count += write_records(owner, &records, &mut message);
            let Some(target) = alias_in(&records).filter(|_| rtype != CNAME) else { break };
            records = HostName::new(&target)
                .ok()
                .and_then(|end| self.records_of(end, rtype, hosts.as_deref()))
                .unwrap_or_default();
            owner = start + HEAD; // the target in the CNAME record
        }
        message[6..8].copy_from_slice(&count.to_be_bytes());
        if records.is_empty() {
            write_soa(&mut message);
        }
        Some(message)
    }
}

/// The first [`MAX_ADDRESSES`] addresses of one family of a name in the hosts file.
fn listed(hosts: &Hosts, name: HostName<'_>, families: Families) -> Option<Vec<IpAddr>> {
    let mut found = hosts.addresses(name, families)?;
    found.truncate(MAX_ADDRESSES);
    Some(found)
}

/// The target, if the records are an alias.
fn alias_in(records: &[LocalRecord]) -> Option<Box<str>> {
    records.first().and_then(|record| match &record.data {
        RecordData::Cname(target) => Some(target.clone()),
        _ => None,
    })
}

/// Appends records with a pointer to their owner name; returns how many. With ANY there are several types;
/// those that do not fit are omitted, as RFC 8482 section 4.1 allows.
fn write_records(owner: usize, records: &[LocalRecord], message: &mut Vec<u8>) -> u16 {
    let mut count = 0;
    for set in records.chunk_by(|one, next| one.data.rtype() == next.data.rtype()) {
        let start = message.len();
        set.iter().for_each(|record| write_record(owner, record, message));
        if message.len() <= MAX_REPLY {
            count += set.len() as u16;
        } else {
            message.truncate(start);
        }
    }
    count
}

/// Appends a record whose owner name is at this offset of the message.
fn write_record(owner: usize, record: &LocalRecord, message: &mut Vec<u8>) {
    message.extend_from_slice(&(0xc000 | owner as u16).to_be_bytes());
    message.extend_from_slice(&record.data.rtype().to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    message.extend_from_slice(&record.ttl.to_be_bytes());
    let start = message.len();
    message.extend_from_slice(&[0, 0]);
    record.data.write(message);
    let length = (message.len() - start - 2) as u16;
    message[start..start + 2].copy_from_slice(&length.to_be_bytes());
}

/// Appends the SOA record of a negative answer: owned by the root, with empty names, for [`HOSTS_TTL`] (RFC
/// 2308 section 5).
fn write_soa(message: &mut Vec<u8>) {
    message[8..10].copy_from_slice(&[0, 1]);
    message.extend_from_slice(&[0, 0, 6, 0, 1]);
    message.extend_from_slice(&HOSTS_TTL.to_be_bytes());
    message.extend_from_slice(&[0, 22, 0, 0]);
    for number in [1, 3_600, 600, 86_400, HOSTS_TTL] {
        message.extend_from_slice(&number.to_be_bytes());
    }
}

/// The address that a name in `in-addr.arpa` or `ip6.arpa` encodes.
fn address_of(name: &str) -> Option<IpAddr> {
    if let Some(labels) = name.strip_suffix(".in-addr.arpa") {
        let mut octets = [0_u8; 4];
        let mut labels = labels.split('.');
        for octet in octets.iter_mut().rev() {
            let label = labels.next()?;
            // Canonical spelling only, without sign or leading zeros: others are different names.
            *octet = label.parse().ok().filter(|octet: &u8| octet.to_string() == label)?;
        }
        return labels.next().is_none().then(|| Ipv4Addr::from(octets).into());
    }
    let nibbles: Vec<u8> = name
        .strip_suffix(".ip6.arpa")?
        .split('.')
        .map(|label| u8::from_str_radix(label, 16).ok().filter(|nibble| label.len() == 1 && *nibble < 16))
        .collect::<Option<_>>()?;
    let number = nibbles.iter().rev().fold(0_u128, |number, nibble| number << 4 | u128::from(*nibble));
    (nibbles.len() == 32).then(|| Ipv6Addr::from(number).into())
}

#[cfg(test)]
mod tests;
