//! Names that are known without asking a server: files that people and systems write.

use std::collections::HashSet;
use std::fs;
use std::net::IpAddr;

use domain::base::Message;
use lycosa_names::cache::{PacketCache, PacketLimits};
use lycosa_names::{Families, HostName, LocalNames as _, PacketKey, Record, Records, Rtype, read_records};
use lycosa_names_local::{Hosts, LocalAnswer, LocalData, LocalTable, ResolvConf, SearchList, Surroundings};

use crate::bounds::{FIXED_BYTES, directory, within};

/// When the files are read.
const NOW: u64 = 1_800_000_000_000_000;

/// Types that are asked for: those that local data have, another one, any.
const TYPES: [u16; 9] = [1, 5, 12, 15, 16, 28, 33, 65, 255];

/// Names that are asked for, at most.
const MOST_NAMES: usize = 12;

/// Characters of a warning, at most: a text of 60, all of which are escaped, is repeated twice.
const LONGEST: usize = 1_600;

/// Invariant: any bytes are read as a hosts file, local data and a resolv.conf in bounded time, with bounded warnings; each name that
/// is known is answered with what its files say, by addresses and by a message that says the same; the names to try for a name are
/// in normal form, each once. The data are the hosts file, local data, resolv.conf, RES_OPTIONS and LOCALDOMAIN, with 0xff between.
pub fn local_names(data: &[u8]) {
    let mut parts = data.split(|&byte| byte == 0xff);
    let [hosts, local, resolv, options, domains] = [(); 5].map(|()| parts.next().unwrap_or_default());
    let [local, resolv, options, domains] = [local, resolv, options, domains].map(String::from_utf8_lossy);
    let read = within(data.len(), FIXED_BYTES, || Hosts::parse(hosts)).expect("it is not large");
    check_warnings(read.warnings());
    let parsed = within(data.len(), FIXED_BYTES, || LocalData::parse(&local));
    let surroundings = Surroundings {
        options: Some(&options),
        domains: Some(&domains).map(|text| &**text).filter(|text| !text.is_empty()),
        host_name: Some("a.example"),
    };
    let conf = within(data.len(), FIXED_BYTES, || ResolvConf::parse(&resolv, surroundings));
    check_warnings(&conf.warnings);
    assert!(!conf.servers.is_empty());
    let texts = [String::from_utf8_lossy(hosts), local];
    let names: Vec<&str> =
        texts.iter().flat_map(|text| text.split_ascii_whitespace()).take(MOST_NAMES).collect();
    check_search(&conf, &names);
    check_hosts(&read, &names);
    match parsed {
        Err(why) => check_warnings(&[why.to_string()]),
        Ok(parsed) => check_table(hosts, &read, parsed, &names),
    }
}

/// What is told has an end, and is one line.
fn check_warnings(warnings: &[String]) {
    assert!(warnings.len() <= 101, "{} warnings", warnings.len());
    for warning in warnings {
        assert!(warning.chars().count() <= LONGEST, "{} bytes: {warning}", warning.len());
        assert!(!warning.chars().any(char::is_control), "{warning:?}");
    }
}

/// The names that are tried are in normal form, each once.
fn check_search(conf: &ResolvConf, names: &[&str]) {
    let (ndots, no_tld_query) = (conf.options.ndots, conf.options.no_tld_query);
    let Ok(list) = SearchList::new(&conf.search, ndots, no_tld_query) else {
        return assert!(conf.search.len() > 32, "what a resolv.conf says can be searched");
    };
    for name in names {
        let mut buffer = String::new();
        let Ok(normal) = HostName::normalize(name, &mut buffer) else {
            assert!(list.names(name).is_err(), "{name:?}");
            continue;
        };
        let tried: Vec<String> = list.names(name).expect("a name").collect();
        let distinct: HashSet<&String> = tried.iter().collect();
        assert!(distinct.len() == tried.len() && tried.len() <= conf.search.len() + 1);
        assert!(tried.iter().all(|each| HostName::new(each).is_ok() && each.starts_with(normal.as_str())));
    }
}

/// Names and addresses lead to each other.
fn check_hosts(hosts: &Hosts, names: &[&str]) {
    for name in names {
        let mut buffer = String::new();
        let Ok(name) = HostName::normalize(name, &mut buffer) else { continue };
        let found = hosts.addresses(name, Families::Both);
        assert_eq!(found.is_some(), hosts.has(name));
        for address in found.iter().flatten() {
            assert!(hosts.names_of(*address).any(|own| own == name.as_str()), "{address} has no {name:?}");
        }
        assert!(found.is_none_or(|found| !found.is_empty()), "{name:?} is listed without an address");
    }
}

/// What is known of each name is told by addresses and by messages.
fn check_table(hosts: &[u8], read: &Hosts, data: LocalData, names: &[&str]) {
    let file = (!hosts.is_empty()).then(|| directory().join("hosts"));
    if let Some(file) = &file {
        fs::write(file, hosts).expect("a file");
    }
    let given = data.clone();
    let aliases = given.aliases().count();
    let table = match LocalTable::open(file.as_deref(), data, NOW) {
        Ok(table) => table,
        Err(why) => {
            assert!(aliases > 0, "only an alias leads nowhere");
            return check_warnings(&[why.to_string()]);
        }
    };
    assert_eq!(table.warnings(), read.warnings());
    let packets = PacketCache::new(1 << 16, PacketLimits { max_ttl: 86_400, negative_ttl: 900 }, NOW, 1.0);
    for text in names {
        let mut buffer = String::new();
        let Ok(name) = HostName::normalize(text, &mut buffer) else { continue };
        let is_known = given.lookup(name, 1).is_some() || read.has(name);
        for rtype in TYPES {
            let key = PacketKey::of_text(name.as_str(), Rtype::from_int(rtype), false)
                .expect("a host name is a name");
            let Some(reply) = table.records(&key, NOW) else {
                assert!(!is_known, "{name:?} is known");
                continue;
            };
            assert!(is_known || name.as_str().ends_with(".arpa"), "{name:?} is not known");
            assert!(reply.len() <= usize::from(u16::MAX), "{} bytes fit no message", reply.len());
            assert!(packets.read(&reply, NOW).is_some(), "a client reads it to its end");
            let found = read_records(&reply, Rtype::from_int(rtype)).expect("a message");
            let count = Message::from_slice(&reply).map_or(0, |message| message.header_counts().ancount());
            check_records(&table, name, rtype, &found, count);
            if let Some(LocalAnswer::Records(own)) = given.lookup(name, rtype)
                && rtype != 255
            {
                let (Records::Found(found) | Records::NoData(found)) = &found else {
                    panic!("{name:?} exists")
                };
                let of_name = found.iter().filter(|record| record.owner.replace('\\', "") == name.as_str());
                assert_eq!(of_name.count(), own.len(), "{name:?} {rtype}: {found:?} instead of {own:?}");
                assert!(own[0].ttl == found[0].ttl);
            }
        }
    }
}

/// The records of a reply are all that it has, and its addresses those that are given without a message, for no longer.
fn check_records(table: &LocalTable, name: HostName<'_>, rtype: u16, found: &Records, count: u16) {
    let (Records::Found(records) | Records::NoData(records)) = found else { panic!("{name:?} exists") };
    assert!(rtype == 255 || records.len() == usize::from(count), "{records:?} of {count}");
    let families = match rtype {
        1 => Families::V4,
        28 => Families::V6,
        _ => return,
    };
    let Some(given) = table.addresses(name, families, NOW) else {
        // Addresses in in-addr.arpa have names, but are no names of hosts.
        return assert!(records.is_empty() && name.as_str().ends_with(".arpa"), "{name:?}");
    };
    let address = |record: &Record| record.data.parse::<IpAddr>().ok().filter(|_| record.rtype != "CNAME");
    assert_eq!(records.iter().filter_map(address).collect::<Vec<_>>(), given.addresses);
    assert!(records.iter().all(|record| given.ttl <= record.ttl), "{given:?} for longer than {records:?}");
}
