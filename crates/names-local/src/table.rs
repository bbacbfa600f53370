//! The hosts file and local data as one source of names.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use lycosa_names::{Families, HostName, LocalAddresses, LocalNames, PacketKey};
use lycosa_url::Micros;

use crate::hosts::{Hosts, SharedHosts};
use crate::local_data::{LocalAnswer, LocalData, LocalRecord, RecordData};

/// TTL in seconds of what a hosts file says, which has none of its own: a change of the file is seen after so long at most.
const HOSTS_TTL: u32 = 60;

/// Aliases that are followed, at most.
const MAX_CHAIN: usize = 10;

/// Names of one address that a PTR answer has, at most: a block list gives all its names one address.
const MAX_NAMES: usize = 64;

/// Types of records that are looked up here (RFC 1035 section 3.2.2, RFC 3596).
const A: u16 = 1;
const CNAME: u16 = 5;
const PTR: u16 = 12;
const AAAA: u16 = 28;

/// What a person has given: local data first, then the hosts file.
#[derive(Debug, Default)]
pub struct LocalTable {
    data: LocalData,
    hosts: Option<Arc<SharedHosts>>,
}

/// Where aliases lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End<'a> {
    /// To a name that is known here and no alias; the name itself where it is none.
    At(HostName<'a>),
    /// Nowhere: to a name that was in the hosts file, or in a circle. No server is to be asked for it.
    Lost,
    /// The name is not known here.
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
    /// Reads a hosts file, if there is to be one, and takes local data.
    ///
    /// # Errors
    ///
    /// Those of reading the file; an alias that leads nowhere.
    pub fn open(hosts: Option<&Path>, data: LocalData, now: Micros) -> io::Result<Self> {
        let hosts = hosts.map(|path| SharedHosts::open(path, now)).transpose()?;
        let table = LocalTable { data, hosts: hosts.map(Arc::new) };
        let read = table.hosts_at(now);
        let lost = table.data.aliases().find(|name| table.end_of(*name, read.as_deref()) == End::Lost);
        let lost = lost.map(|name| BadAlias(name.as_str().to_owned()));
        lost.map_or(Ok(table), |alias| Err(io::Error::new(io::ErrorKind::InvalidInput, alias)))
    }

    /// What was ignored in the hosts file.
    pub fn warnings(&self) -> Vec<String> {
        self.hosts_at(0).map(|hosts| hosts.warnings().to_vec()).unwrap_or_default()
    }

    /// The hosts file as it is now. Where it cannot be read any more, what was read before stays.
    fn hosts_at(&self, now: Micros) -> Option<Arc<Hosts>> {
        self.hosts.as_ref().map(|hosts| hosts.at(now))
    }

    /// Where the aliases lead that begin with a name.
    fn end_of<'a>(&'a self, mut name: HostName<'a>, hosts: Option<&Hosts>) -> End<'a> {
        for step in 0..=MAX_CHAIN {
            match self.data.lookup(name, A) {
                None if hosts.is_some_and(|hosts| hosts.has(name)) => return End::At(name),
                None if step == 0 => return End::Unknown,
                None => return End::Lost,
                Some(LocalAnswer::Records([LocalRecord { data: RecordData::Cname(target), .. }])) => {
                    let Ok(target) = HostName::new(target) else { return End::Lost };
                    name = target;
                }
                Some(_) => return End::At(name),
            }
        }
        End::Lost
    }

    /// The addresses of a name that is no alias, with their TTL.
    fn addresses_of(&self, name: HostName<'_>, rtype: u16, hosts: Option<&Hosts>) -> (Vec<IpAddr>, u32) {
        let families = if rtype == AAAA { Families::V6 } else { Families::V4 };
        match self.data.lookup(name, rtype) {
            None => {
                let found = hosts.and_then(|hosts| hosts.addresses(name, families));
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

    /// The records of a name that is no alias, with their TTLs; empty where it has none of this type.
    fn records_of(&self, name: HostName<'_>, rtype: u16, hosts: Option<&Hosts>) -> Option<Vec<LocalRecord>> {
        match self.data.lookup(name, rtype) {
            Some(LocalAnswer::Records(records)) => return Some(records.to_vec()),
            Some(LocalAnswer::NoData) => return Some(Vec::new()),
            None => (),
        }
        let hosts = hosts?;
        let record = |data| LocalRecord { ttl: HOSTS_TTL, data };
        if let Some(address) = address_of(name.as_str()) {
            let names: Vec<LocalRecord> = hosts
                .names_of(address)
                .take(MAX_NAMES)
                .map(|name| record(RecordData::Ptr(name.into())))
                .collect();
            return (!names.is_empty()).then(|| if rtype == PTR { names } else { Vec::new() });
        }
        let found = hosts.addresses(name, Families::Both)?;
        let wanted = found.into_iter().filter_map(|address| match address {
            IpAddr::V4(address) if rtype == A => Some(record(RecordData::A(address))),
            IpAddr::V6(address) if rtype == AAAA => Some(record(RecordData::Aaaa(address))),
            _ => None,
        });
        Some(wanted.collect())
    }
}

impl LocalNames for LocalTable {
    fn addresses(&self, name: HostName<'_>, families: Families, now: Micros) -> Option<LocalAddresses> {
        let hosts = self.hosts_at(now);
        let end = match self.end_of(name, hosts.as_deref()) {
            End::At(end) => end,
            End::Lost => return Some(LocalAddresses { addresses: Vec::new(), ttl: HOSTS_TTL }),
            End::Unknown => return None,
        };
        let types = match families {
            Families::V4 => &[A][..],
            Families::V6 => &[AAAA],
            Families::Both => &[A, AAAA],
        };
        let mut found = LocalAddresses { addresses: Vec::new(), ttl: u32::MAX };
        for rtype in types {
            let (addresses, ttl) = self.addresses_of(end, *rtype, hosts.as_deref());
            found.addresses.extend(addresses);
            found.ttl = found.ttl.min(ttl);
        }
        Some(found)
    }

    fn records(&self, key: &PacketKey, now: Micros) -> Option<Vec<u8>> {
        let (mut owner, rtype) = (key.text(), key.rtype().to_int());
        let hosts = self.hosts_at(now);
        let mut records = self.records_of(HostName::new(&owner).ok()?, rtype, hosts.as_deref())?;
        let mut message = vec![0, 0, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(key.name());
        message.extend_from_slice(&rtype.to_be_bytes());
        message.extend_from_slice(&[0, 1]);
        let mut count = 0_u16;
        for _ in 0..=MAX_CHAIN {
            records.iter().for_each(|record| write_record(&owner, record, &mut message));
            count += records.len() as u16;
            let Some(target) = alias_in(&records).filter(|_| rtype != CNAME) else { break };
            records = HostName::new(&target)
                .ok()
                .and_then(|end| self.records_of(end, rtype, hosts.as_deref()))
                .unwrap_or_default();
            owner = target.into();
        }
        message[6..8].copy_from_slice(&count.to_be_bytes());
        if records.is_empty() {
            write_soa(&mut message);
        }
        Some(message)
    }
}

/// The target of the alias that a name is, if it is one.
fn alias_in(records: &[LocalRecord]) -> Option<Box<str>> {
    records.first().and_then(|record| match &record.data {
        RecordData::Cname(target) => Some(target.clone()),
        _ => None,
    })
}

/// Appends a record.
fn write_record(owner: &str, record: &LocalRecord, message: &mut Vec<u8>) {
    RecordData::Cname(owner.into()).write(message); // a name on the wire
    message.extend_from_slice(&record.data.rtype().to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    message.extend_from_slice(&record.ttl.to_be_bytes());
    let start = message.len();
    message.extend_from_slice(&[0, 0]);
    record.data.write(message);
    let length = (message.len() - start - 2) as u16;
    message[start..start + 2].copy_from_slice(&length.to_be_bytes());
}

/// Appends the SOA record of a negative answer: of the root, without servers, for [`HOSTS_TTL`] (RFC 2308 section 5).
fn write_soa(message: &mut Vec<u8>) {
    message[8..10].copy_from_slice(&[0, 1]);
    message.extend_from_slice(&[0, 0, 6, 0, 1]);
    message.extend_from_slice(&HOSTS_TTL.to_be_bytes());
    message.extend_from_slice(&[0, 22, 0, 0]);
    for number in [1, 3_600, 600, 86_400, HOSTS_TTL] {
        message.extend_from_slice(&number.to_be_bytes());
    }
}

/// The address that a name in `in-addr.arpa` or `ip6.arpa` stands for.
fn address_of(name: &str) -> Option<IpAddr> {
    if let Some(labels) = name.strip_suffix(".in-addr.arpa") {
        let mut octets = [0_u8; 4];
        let mut labels = labels.split('.');
        for octet in octets.iter_mut().rev() {
            *octet = labels.next()?.parse().ok()?;
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
mod tests {
    use lycosa_names::{Records, Rtype, read_records};

    use super::*;

    const HOSTS: &str = "192.0.2.7 printer.lan printer\n2001:db8::7 printer.lan\n0.0.0.0 ads.example\n";

    fn table(data: &str) -> io::Result<(tempfile::TempDir, LocalTable)> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hosts"), HOSTS).unwrap();
        let data = LocalData::parse(data).unwrap();
        let table = LocalTable::open(Some(&folder.path().join("hosts")), data, 0)?;
        Ok((folder, table))
    }

    fn addresses(table: &LocalTable, name: &str, families: Families) -> Option<Vec<String>> {
        let found = table.addresses(HostName::new(name).unwrap(), families, 0)?;
        Some(found.addresses.iter().map(ToString::to_string).collect())
    }

    fn records(table: &LocalTable, name: &str, rtype: Rtype) -> Option<Records> {
        let key = PacketKey::of_text(name, rtype, false).unwrap();
        table.records(&key, 0).map(|reply| read_records(&reply, rtype).unwrap())
    }

    #[test]
    fn local_data_comes_before_the_hosts_file_and_the_rest_is_unknown() {
        let (_folder, table) = table("printer.lan 300 A 192.0.2.9\nscan.lan CNAME printer.lan").unwrap();
        assert_eq!(addresses(&table, "printer.lan", Families::V4), Some(vec!["192.0.2.9".to_owned()]));
        assert_eq!(addresses(&table, "scan.lan", Families::V4), Some(vec!["192.0.2.9".to_owned()]));
        assert_eq!(addresses(&table, "printer", Families::V4), Some(vec!["192.0.2.7".to_owned()]));
        assert_eq!(addresses(&table, "printer", Families::V6), Some(Vec::new()), "no server is asked for it");
        assert_eq!(addresses(&table, "www.example", Families::Both), None);
    }

    #[test]
    fn records_are_whole_replies() {
        let (_folder, table) = table(
            "mail.lan MX 5 printer.lan\nscan.lan CNAME mail.lan\nprinter.lan TXT \"on the second floor\"",
        )
        .unwrap();
        let Some(Records::Found(found)) = records(&table, "scan.lan", Rtype::MX) else { panic!() };
        let lines: Vec<String> =
            found.iter().map(|record| format!("{} {} {}", record.owner, record.rtype, record.data)).collect();
        assert_eq!(lines, ["scan.lan CNAME mail.lan.", "mail.lan MX 5 printer.lan."]);
        assert_eq!(records(&table, "mail.lan", Rtype::TXT), Some(Records::NoData(Vec::new())));
        assert_eq!(records(&table, "printer", Rtype::HTTPS), Some(Records::NoData(Vec::new())));
        assert_eq!(records(&table, "www.example", Rtype::MX), None);
    }

    #[test]
    fn addresses_have_names() {
        let (_folder, table) = table("").unwrap();
        for address in ["192.0.2.7", "2001:db8::7"] {
            let Some(Records::Found(found)) = records(&table, address, Rtype::PTR) else {
                panic!("{address}")
            };
            assert_eq!(found[0].data, "printer.lan.");
        }
        assert_eq!(records(&table, "192.0.2.8", Rtype::PTR), None);
        assert_eq!(records(&table, "1.2.3.in-addr.arpa", Rtype::PTR), None);
    }

    #[test]
    fn an_alias_to_nowhere_is_told() {
        let why = table("a.lan CNAME b.example").unwrap_err().to_string();
        assert!(why.contains("a.lan") && why.contains("allowed"), "{why}");
        assert!(table("a.lan CNAME b.lan\nb.lan CNAME a.lan").is_err(), "a loop");
    }

    #[test]
    fn an_alias_to_a_name_that_left_the_hosts_file_has_no_data_and_no_server_is_asked_for_it() {
        let (folder, table) = table("scan.lan CNAME printer.lan").unwrap();
        assert_eq!(addresses(&table, "scan.lan", Families::V4), Some(vec!["192.0.2.7".to_owned()]));
        std::fs::write(folder.path().join("hosts"), "192.0.2.1 other.lan").unwrap();
        let (name, later) = (HostName::new("scan.lan").unwrap(), 2_000_000);
        let found = table.addresses(name, Families::Both, later);
        assert_eq!(found, Some(LocalAddresses { addresses: Vec::new(), ttl: HOSTS_TTL }));
        let key = PacketKey::of_text("scan.lan", Rtype::A, false).unwrap();
        let reply = table.records(&key, later).unwrap();
        assert!(matches!(read_records(&reply, Rtype::A), Some(Records::NoData(_))));
        assert_eq!(table.addresses(HostName::new("printer.lan").unwrap(), Families::Both, later), None);
    }
}
