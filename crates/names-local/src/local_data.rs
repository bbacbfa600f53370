//! Local data: records that the user gives in zone file syntax.
//!
//! Guarantees: a lookup returns the given records, [`LocalAnswer::NoData`] if the name has none of the type,
//! or `None` for an unknown name; an alias has no other records (RFC 1034 section 3.6.2); the records of one
//! name and type share one TTL (RFC 2181 section 5.2), the least of those given, and fit into a message.

mod line;

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lycosa_names::HostName;

/// The type ANY (RFC 8482).
const ANY: u16 = 255;

/// Maximum size of the records of one name and type, so that they fit into a message (65,535 bytes).
const MAX_BYTES: usize = 60_000;

/// Bytes of a record before its data, with a compressed name.
const HEAD: usize = 12;

/// Records by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalData {
    /// By the name in normal form; sorted by type, then in the order given.
    names: HashMap<Box<str>, Vec<LocalRecord>>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRecord {
    /// TTL in seconds.
    pub ttl: u32,
    /// The data.
    pub data: RecordData,
}

/// Data of a record. Names are in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordData {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// The canonical name, under which the records are looked up.
    Cname(Box<str>),
    /// A name of an address.
    Ptr(Box<str>),
    /// A mail exchange.
    Mx {
        /// The preference; lower values are tried first.
        preference: u16,
        /// The host; empty: the domain accepts no mail (RFC 7505).
        exchange: Box<str>,
    },
    /// Strings of at most 255 bytes each.
    Txt(Vec<Box<[u8]>>),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// The location of a service (RFC 2782).
    Srv {
        /// The priority; lower values are tried first.
        priority: u16,
        /// The weight among targets of the same priority.
        weight: u16,
        /// The port.
        port: u16,
        /// The host; empty: the service is not available.
        target: Box<str>,
    },
}

/// Result of a lookup for a known name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAnswer<'d> {
    /// The records, at least one. For an alias it is the CNAME record alone, whatever the type: the target is
    /// to be looked up next.
    Records(&'d [LocalRecord]),
    /// The name has no records of this type.
    NoData,
}

/// A syntax error in local data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLocalData {
    /// Line number, from 1.
    pub line: usize,
    /// What was given and what is allowed.
    pub why: String,
}

impl fmt::Display for BadLocalData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "local data line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for BadLocalData {}

impl LocalData {
    /// Parses lines `name [TTL] [IN] type data` of the types A, AAAA, CNAME, PTR, TXT, MX and SRV; the
    /// default TTL is one hour. Names are absolute, with or without a final dot. Comments begin with `;`, as
    /// in zone files.
    pub fn parse(text: &str) -> Result<Self, BadLocalData> {
        let mut data = LocalData::default();
        for (text, number) in text.lines().zip(1..) {
            let added = line::parse(text).and_then(|record| match record {
                Some((name, record)) => data.add(name, record),
                None => Ok(()),
            });
            added.map_err(|why| BadLocalData { line: number, why })?;
        }
        Ok(data)
    }

    /// Looks up the records of a name and type (RFC 1035 section 3.2.2); 255 is ANY. Returns `None` for an
    /// unknown name: DNS servers answer for it, and for names above and below known ones.
    pub fn lookup(&self, name: HostName<'_>, rtype: u16) -> Option<LocalAnswer<'_>> {
        let records = self.names.get(name.as_str())?;
        let is_alias = records.iter().any(|record| record.data.is_alias());
        if rtype == ANY || is_alias {
            return Some(LocalAnswer::Records(records));
        }
        Some(match &records[place(records, rtype)] {
            [] => LocalAnswer::NoData,
            found => LocalAnswer::Records(found),
        })
    }

    /// All aliases.
    pub fn aliases(&self) -> impl Iterator<Item = HostName<'_>> {
        let aliases =
            self.names.iter().filter(|(_, records)| records.iter().any(|record| record.data.is_alias()));
        aliases.filter_map(|(name, _)| HostName::new(name).ok())
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds a record; a duplicate only lowers the TTL.
    fn add(&mut self, name: Box<str>, record: LocalRecord) -> Result<(), String> {
        let records = self.names.entry(name.clone()).or_default();
        let other = records.iter().find(|other| other.data.is_alias() != record.data.is_alias());
        if other.is_some() {
            return Err(format!(
                "{name} has a CNAME and other records; a name with a CNAME may have no other (RFC 1034 section 3.6.2)"
            ));
        }
        let own = place(records, record.data.rtype());
        let least = records[own.clone()].first().map_or(record.ttl, |first| first.ttl.min(record.ttl));
        records[own.clone()].iter_mut().for_each(|other| other.ttl = least);
        if records[own.clone()].iter().any(|other| other.data == record.data) {
            return Ok(());
        }
        if record.data.is_alias() && !own.is_empty() {
            return Err(format!("{name} has two CNAMEs; one is allowed"));
        }
        let sizes = records[own.clone()].iter().chain([&record]).map(|record| HEAD + record.data.size());
        if sizes.sum::<usize>() > MAX_BYTES {
            return Err(format!(
                "{name} has more records of this type than fit an answer; {MAX_BYTES} bytes are allowed"
            ));
        }
        records.insert(own.end, LocalRecord { ttl: least, ..record });
        Ok(())
    }
}

/// Range of the records of a type among those of a name.
fn place(records: &[LocalRecord], rtype: u16) -> std::ops::Range<usize> {
    let start = records.partition_point(|record| record.data.rtype() < rtype);
    let end = records.partition_point(|record| record.data.rtype() <= rtype);
    start..end
}

impl From<IpAddr> for RecordData {
    /// An A or AAAA record.
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => RecordData::A(address),
            IpAddr::V6(address) => RecordData::Aaaa(address),
        }
    }
}

impl RecordData {
    /// The record's type (RFC 1035 section 3.2.2, RFC 3596, RFC 2782).
    pub fn rtype(&self) -> u16 {
        match self {
            RecordData::A(_) => 1,
            RecordData::Cname(_) => 5,
            RecordData::Ptr(_) => 12,
            RecordData::Mx { .. } => 15,
            RecordData::Txt(_) => 16,
            RecordData::Aaaa(_) => 28,
            RecordData::Srv { .. } => 33,
        }
    }

    /// Appends the data in wire format, without its length and without compression.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            RecordData::A(address) => out.extend(address.octets()),
            RecordData::Aaaa(address) => out.extend(address.octets()),
            RecordData::Cname(name) | RecordData::Ptr(name) => write_name(name, out),
            RecordData::Mx { preference, exchange } => {
                out.extend(preference.to_be_bytes());
                write_name(exchange, out);
            }
            RecordData::Txt(texts) => {
                for text in texts {
                    out.push(text.len() as u8); // at most 255
                    out.extend(text);
                }
            }
            RecordData::Srv { priority, weight, port, target } => {
                [priority, weight, port].iter().for_each(|number| out.extend(number.to_be_bytes()));
                write_name(target, out);
            }
        }
    }

    /// Number of bytes that [`RecordData::write`] appends.
    fn size(&self) -> usize {
        let name = |name: &str| if name.is_empty() { 1 } else { name.len() + 2 };
        match self {
            RecordData::A(_) => 4,
            RecordData::Aaaa(_) => 16,
            RecordData::Cname(target) | RecordData::Ptr(target) => name(target),
            RecordData::Mx { exchange, .. } => 2 + name(exchange),
            RecordData::Txt(texts) => texts.iter().map(|text| 1 + text.len()).sum(),
            RecordData::Srv { target, .. } => 6 + name(target),
        }
    }

    /// Whether it is an alias.
    fn is_alias(&self) -> bool {
        matches!(self, RecordData::Cname(_))
    }
}

/// Appends a name in normal form in wire format; an empty one is the root.
fn write_name(name: &str, out: &mut Vec<u8>) {
    for label in name.split('.').filter(|label| !label.is_empty()) {
        out.push(label.len() as u8); // at most 63
        out.extend(label.as_bytes());
    }
    out.push(0);
}

#[cfg(test)]
mod tests;
