//! The resolver: answers address queries from the world's table, over UDP and TCP.
//!
//! To its clients it is a recursive resolver. TTLs on the wire are unscaled: clients in scaled time must divide
//! them. It accepts any bytes: a message that is no query is dropped, an incomplete query gets FORMERR.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::hosts::Name;
use crate::ledger::NONE;
use crate::nature::Lookup;
use crate::world::World;

/// Response codes (RFC 1035, RFC 6891).
mod rcode {
    /// NOERROR.
    pub(super) const NO_ERROR: u8 = 0;
    /// FORMERR.
    pub(super) const FORMAT_ERROR: u8 = 1;
    /// SERVFAIL.
    pub(super) const SERVER_FAILURE: u8 = 2;
    /// NXDOMAIN.
    pub(super) const NAME_ERROR: u8 = 3;
    /// An opcode other than QUERY.
    pub(super) const NOT_IMPLEMENTED: u8 = 4;
    /// A class other than IN.
    pub(super) const REFUSED: u8 = 5;
    /// An EDNS version other than 0.
    pub(super) const BAD_VERSION: u8 = 16;
}

/// An IPv4 address.
const TYPE_A: u16 = 1;
/// An alias.
const TYPE_CNAME: u16 = 5;
/// An IPv6 address.
const TYPE_AAAA: u16 = 28;
/// Start of authority.
const TYPE_SOA: u16 = 6;
/// EDNS.
const TYPE_OPT: u16 = 41;
/// All types.
const TYPE_ANY: u16 = 255;
/// The Internet.
const CLASS_IN: u16 = 1;

/// TTL of negative answers, in unscaled seconds.
const NEGATIVE_TTL: u32 = 900;

/// TTL of a captive portal's address, in unscaled seconds; short, so that clients ask again soon.
const PORTAL_TTL: u32 = 60;

/// The zone of aliases: `e2.h17.cdn.simnet` is the last but one in the chain to host 17.
const ALIAS_ZONE: &str = ".cdn.simnet";

/// Length of a message's header in bytes.
const HEADER: usize = 12;

/// The answer's properties for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The host of the queried name, or [`NONE`].
    pub(crate) host: u32,
    /// The query type; 0 if unknown.
    pub(crate) qtype: u16,
    /// The response code.
    pub(crate) rcode: u8,
}

/// Writes the answer to a message into `out`; returns `None` for no answer. `age` is the world's age in unscaled seconds.
pub(crate) fn answer(world: &World, age: f64, message: &[u8], out: &mut Vec<u8>) -> Option<Answered> {
    out.clear();
    let header: &[u8; HEADER] = message.first_chunk()?;
    if header[2] & 0x80 != 0 {
        return None; // A response: answering it could loop for ever.
    }
    let opcode = header[2] >> 3 & 15;
    if opcode != 0 {
        return Some(refuse(header, rcode::NOT_IMPLEMENTED, out));
    }
    let Some(query) = Query::parse(message) else { return Some(refuse(header, rcode::FORMAT_ERROR, out)) };
    let (host, code, aliases) = match () {
        () if query.edns.is_some_and(|version| version != 0) => (NONE, rcode::BAD_VERSION, 0),
        () if query.class != CLASS_IN => (NONE, rcode::REFUSED, 0),
        () => look_up(world, &query.name),
    };
    let exists = host != NONE && code == rcode::NO_ERROR && world.nature(host).lookup != Lookup::NoData;
    let v4 = exists && matches!(query.qtype, TYPE_A | TYPE_ANY) && world.has_v4(host);
    let v6 = world_v6(world, host).filter(|_| exists && matches!(query.qtype, TYPE_AAAA | TYPE_ANY));
    let aliases = if exists { aliases } else { 0 };
    let addresses = u16::from(v4) + u16::from(v6.is_some());
    let negative = addresses == 0 && matches!(code, rcode::NO_ERROR | rcode::NAME_ERROR);
    let counts = [1, addresses + aliases as u16, u16::from(negative), u16::from(query.edns.is_some())];
    write_header(header, code, counts, out);
    out.extend_from_slice(&message[HEADER..query.end]);
    let mut owner = HEADER;
    for left in (1..=aliases).rev() {
        owner = write_alias(owner, host, left, world.ttl(host), out);
    }
    if v4 {
        write_record(owner, TYPE_A, world.ttl(host), &world.address_at(host, age).octets(), out);
    }
    if let Some(address) = v6 {
        write_record(owner, TYPE_AAAA, world.ttl(host), &address.octets(), out);
    }
    if negative {
        write_soa(query.zone, out);
    }
    if query.edns.is_some() {
        // The upper bits of the response code are in the OPT record (RFC 6891, 6.1.3).
        out.extend_from_slice(&[0, 0, TYPE_OPT as u8, 0x04, 0xd0, code >> 4, 0, 0, 0, 0, 0]);
    }
    Some(Answered { host, qtype: query.qtype, rcode: code })
}

/// Replaces the answer with SERVFAIL; `None` if the query is invalid.
pub(crate) fn fail(message: &[u8], answered: Answered, out: &mut Vec<u8>) -> Option<Answered> {
    replace(message, rcode::SERVER_FAILURE, None, out)?;
    Some(Answered { rcode: rcode::SERVER_FAILURE, ..answered })
}

/// Replaces the answer with NXDOMAIN; `None` if the query is invalid.
pub(crate) fn deny(message: &[u8], answered: Answered, out: &mut Vec<u8>) -> Option<Answered> {
    replace(message, rcode::NAME_ERROR, None, out)?;
    Some(Answered { rcode: rcode::NAME_ERROR, ..answered })
}

/// Replaces the answer with a captive portal's address, for any name. The ledger gets [`NONE`], since no host's address was returned.
pub(crate) fn capture(
    message: &[u8],
    answered: Answered,
    portal: Ipv4Addr,
    out: &mut Vec<u8>,
) -> Option<Answered> {
    replace(message, rcode::NO_ERROR, Some(portal), out)?;
    Some(Answered { host: NONE, rcode: rcode::NO_ERROR, ..answered })
}

/// Writes an answer that does not depend on the world.
fn replace(message: &[u8], code: u8, address: Option<Ipv4Addr>, out: &mut Vec<u8>) -> Option<()> {
    let (header, query): (&[u8; HEADER], _) = (message.first_chunk()?, Query::parse(message)?);
    let address = address.filter(|_| matches!(query.qtype, TYPE_A | TYPE_ANY));
    let negative = address.is_none() && matches!(code, rcode::NO_ERROR | rcode::NAME_ERROR);
    out.clear();
    let counts = [1, u16::from(address.is_some()), u16::from(negative), u16::from(query.edns.is_some())];
    write_header(header, code, counts, out);
    out.extend_from_slice(&message[HEADER..query.end]);
    if let Some(address) = address {
        write_record(HEADER, TYPE_A, PORTAL_TTL, &address.octets(), out);
    }
    if negative {
        write_soa(query.zone, out);
    }
    if query.edns.is_some() {
        out.extend_from_slice(&[0, 0, TYPE_OPT as u8, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]);
    }
    Some(())
}

/// Looks up a lower-case name: its host, the response code, and the number of aliases before the address.
fn look_up(world: &World, name: &str) -> (u32, u8, u32) {
    let found = match world.hosts.find(name) {
        Some(Name::Host(host)) => Some((host, world.aliases(host))),
        Some(Name::Parent) => return (NONE, rcode::NO_ERROR, 0),
        None if name.is_empty() => return (NONE, rcode::NO_ERROR, 0),
        None => {
            find_alias(world, name).or_else(|| world.find_zone(name).map(|host| (host, world.aliases(host))))
        }
    };
    let Some((host, aliases)) = found else { return (NONE, rcode::NAME_ERROR, 0) };
    match world.nature(host).lookup {
        Lookup::NxDomain => (host, rcode::NAME_ERROR, 0),
        Lookup::ServFail => (host, rcode::SERVER_FAILURE, 0),
        Lookup::Address | Lookup::NoData | Lookup::Dead => (host, rcode::NO_ERROR, aliases),
    }
}

/// The host of an alias, and the number of aliases after it.
fn find_alias(world: &World, name: &str) -> Option<(u32, u32)> {
    let (left, host) = name.strip_suffix(ALIAS_ZONE)?.split_once('.')?;
    let (left, host): (u32, u32) =
        (left.strip_prefix('e')?.parse().ok()?, host.strip_prefix('h')?.parse().ok()?);
    (host < world.host_count() && left >= 1 && left <= world.aliases(host)).then(|| (host, left - 1))
}

/// The IPv6 address of a host; `None` for [`NONE`].
fn world_v6(world: &World, host: u32) -> Option<Ipv6Addr> {
    if host == NONE { None } else { world.address6(host) }
}

/// A parsed query.
struct Query {
    /// The name in lower case, without final dot.
    name: String,
    /// The query type.
    qtype: u16,
    /// The query class.
    class: u16,
    /// End of the question section.
    end: usize,
    /// Offset of the name's last label, the zone of negative answers; for the root, of the name itself.
    zone: usize,
    /// The EDNS version, if there is an OPT record.
    edns: Option<u8>,
}

impl Query {
    /// Parses a message with one question, no answers, and a valid additional section.
    fn parse(message: &[u8]) -> Option<Self> {
        let counts = [4, 6, 8, 10].map(|at| u16::from_be_bytes([message[at], message[at + 1]]));
        let [1, 0, 0, additional] = counts else { return None };
        let (mut at, mut zone) = (HEADER, HEADER);
        let mut name = String::with_capacity(64);
        loop {
            let length = usize::from(*message.get(at)?);
            if length == 0 {
                break;
            }
            let label = message.get(at + 1..at + 1 + length).filter(|_| length < 64)?;
            if !name.is_empty() {
                name.push('.');
            }
            // Bytes that are invalid in host names become a space.
            name.extend(label.iter().map(|&b| {
                if b.is_ascii_graphic() && b != b'.' { b.to_ascii_lowercase() as char } else { ' ' }
            }));
            zone = at;
            at += 1 + length;
            if at - HEADER > 254 {
                return None;
            }
        }
        let rest: &[u8; 4] = message.get(at + 1..)?.first_chunk()?;
        let end = at + 5;
        let mut query = Self {
            name,
            qtype: u16::from_be_bytes([rest[0], rest[1]]),
            class: u16::from_be_bytes([rest[2], rest[3]]),
            end,
            zone,
            edns: None,
        };
        let mut at = end;
        for _ in 0..additional {
            at = skip_name(message, at)?;
            let record: &[u8; 10] = message.get(at..)?.first_chunk()?;
            if u16::from_be_bytes([record[0], record[1]]) == TYPE_OPT {
                if query.edns.is_some() {
                    return None; // RFC 6891, 6.1.1: more than one OPT is a format error.
                }
                query.edns = Some(record[5]);
            }
            at += 10 + usize::from(u16::from_be_bytes([record[8], record[9]]));
            message.get(..at)?;
        }
        Some(query)
    }
}

/// Offset after a name, which may be compressed.
fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..64 => at += 1 + usize::from(length),
            192.. => return Some(at + 2),
            _ => return None,
        }
    }
}

/// Writes an answer without sections, for an invalid query.
fn refuse(header: &[u8; HEADER], code: u8, out: &mut Vec<u8>) -> Answered {
    write_header(header, code, [0; 4], out);
    Answered { host: NONE, qtype: 0, rcode: code }
}

/// Writes the header of the answer to a query with `header`.
fn write_header(header: &[u8; HEADER], code: u8, counts: [u16; 4], out: &mut Vec<u8>) {
    // QR and RA set; opcode, RD and CD as in the query.
    out.extend_from_slice(&[
        header[0],
        header[1],
        0x80 | header[2] & 0x79,
        0x80 | header[3] & 0x10 | code & 15,
    ]);
    counts.iter().for_each(|count| out.extend_from_slice(&count.to_be_bytes()));
}

/// Writes a record of the name at offset `owner`.
fn write_record(owner: usize, kind: u16, ttl: u32, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(0xc000 | owner as u16).to_be_bytes());
    out.extend_from_slice(&[0, kind as u8, 0, CLASS_IN as u8]);
    out.extend_from_slice(&ttl.to_be_bytes());
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}

/// Writes the CNAME record of the name at offset `owner`; returns the offset of the alias.
fn write_alias(owner: usize, host: u32, left: u32, ttl: u32, out: &mut Vec<u8>) -> usize {
    let name = format!("e{left}.h{host}{ALIAS_ZONE}");
    let mut data = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        data.push(label.len() as u8);
        data.extend_from_slice(label.as_bytes());
    }
    data.push(0);
    write_record(owner, TYPE_CNAME, ttl, &data, out);
    out.len() - data.len()
}

/// Writes the SOA record that makes a negative answer cacheable (RFC 2308), of the zone at offset `zone`.
fn write_soa(zone: usize, out: &mut Vec<u8>) {
    const NAMES: &[u8] = b"\x02ns\x06simnet\x00\x0ahostmaster\x06simnet\x00";
    out.extend_from_slice(&(0xc000 | zone as u16).to_be_bytes());
    out.extend_from_slice(&[0, TYPE_SOA as u8, 0, CLASS_IN as u8]);
    out.extend_from_slice(&NEGATIVE_TTL.to_be_bytes());
    out.extend_from_slice(&(NAMES.len() as u16 + 20).to_be_bytes());
    out.extend_from_slice(NAMES);
    for number in [1, 7200, 900, 1_209_600, NEGATIVE_TTL] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use proptest::prelude::*;

    /// [`super::answer`] of a new world.
    fn answer(world: &World, message: &[u8], out: &mut Vec<u8>) -> Option<Answered> {
        super::answer(world, 0.0, message, out)
    }

    /// A small world.
    fn world() -> World {
        World::new(&Params { hosts: 20, pages: 3, ..Params::default() })
    }

    /// A query with the given additional section.
    fn query(name: &str, qtype: u16, additional: &[u8]) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(!additional.is_empty())];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            message.push(label.len() as u8);
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
        message.extend_from_slice(&[(qtype >> 8) as u8, qtype as u8, 0, 1]);
        message.extend_from_slice(additional);
        message
    }

    #[test]
    fn a_known_name_has_its_address() {
        let (world, mut out) = (world(), Vec::new());
        let message = query(&world.name(3).to_uppercase(), TYPE_A, &[]);
        let answered = answer(&world, &message, &mut out);
        assert_eq!(answered, Some(Answered { host: 3, qtype: 1, rcode: 0 }));
        assert_eq!(out[..12], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(out[12..message.len()], message[12..]);
        assert_eq!(out[out.len() - 4..], world.address(3).octets());
    }

    #[test]
    fn denials_carry_a_soa() {
        let (world, mut out) = (world(), Vec::new());
        for (name, qtype, rcode) in
            [(world.name(0), 28, 0), ("com", 1, 0), ("", 2, 0), ("no.such.example", 1, 3)]
        {
            let answered = answer(&world, &query(name, qtype, &[]), &mut out);
            assert_eq!(answered.map(|a| a.rcode), Some(rcode), "{name}");
            assert_eq!(out[6..12], [0, 0, 0, 1, 0, 0], "{name}");
        }
    }

    #[test]
    fn aliases_lead_to_the_address_and_answer_themselves() {
        let params = Params { hosts: 400, pages: 3, profile: "hostile".into(), ..Params::default() };
        let (world, mut out) = (World::new(&params), Vec::new());
        let plain = |h: &u32| world.nature(*h).lookup == Lookup::Address && world.aliases(*h) > 1;
        let host = (0..400).filter(plain).max_by_key(|&h| world.aliases(h)).unwrap();
        let aliases = world.aliases(host);
        let wild = format!("{}.{}", "x".repeat(60), world.name(host));
        for (name, records) in
            [(world.name(host).to_owned(), aliases + 1), (format!("e2.h{host}.cdn.simnet"), 2)]
        {
            let answered = answer(&world, &query(&name, TYPE_A, &[]), &mut out).unwrap();
            assert_eq!((answered.host, answered.rcode, u32::from(out[7])), (host, 0, records), "{name}");
            assert_eq!(out[out.len() - 4..], world.address(host).octets());
            assert!(out.len() <= 512);
        }
        let answered = answer(&world, &query(&format!("e9.h{host}.cdn.simnet"), TYPE_A, &[]), &mut out);
        assert_eq!(answered.map(|a| a.rcode), Some(3));
        assert_eq!(world.find_zone(&wild).is_some(), world.nature(host).wildcard);
    }

    #[test]
    fn names_answer_as_their_nature_says() {
        let params =
            Params { hosts: 400, pages: 3, profile: "internet".into(), ipv6: true, ..Params::default() };
        let (world, mut out) = (World::new(&params), Vec::new());
        for host in 0..400 {
            let nature = world.nature(host);
            let expected = match nature.lookup {
                Lookup::NxDomain => 3,
                Lookup::ServFail => 2,
                _ => 0,
            };
            for (qtype, length) in [(TYPE_A, 4), (TYPE_AAAA, 16)] {
                let answered = answer(&world, &query(world.name(host), qtype, &[]), &mut out).unwrap();
                assert_eq!(answered.rcode, expected);
                let has = if qtype == TYPE_A { world.has_v4(host) } else { world.address6(host).is_some() };
                let has = has && matches!(nature.lookup, Lookup::Address | Lookup::Dead);
                assert_eq!(out[9] == 0, has || expected == 2, "{nature:?} {qtype}");
                if has {
                    assert_eq!(out[out.len() - length - 2..out.len() - length], [0, length as u8]);
                }
            }
        }
    }

    #[test]
    fn edns_is_answered_in_kind() {
        let (world, mut out) = (world(), Vec::new());
        let opt = |version| [0, 0, 41, 4, 0xd0, 0, version, 0, 0, 0, 0];
        answer(&world, &query(world.name(0), 1, &opt(0)), &mut out);
        assert_eq!((out[11], out[3]), (1, 0x80));
        let answered = answer(&world, &query(world.name(0), 1, &opt(1)), &mut out);
        assert_eq!(answered.map(|a| a.rcode), Some(16));
        assert_eq!(out[out.len() - 6..], [1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn half_a_query_is_a_format_error() {
        let (world, mut out) = (world(), Vec::new());
        let whole = query(world.name(0), 1, &[]);
        for length in 12..whole.len() {
            assert_eq!(answer(&world, &whole[..length], &mut out).map(|a| a.rcode), Some(1));
        }
        for length in 0..12 {
            assert_eq!(answer(&world, &whole[..length], &mut out), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            answer(&world(), &bytes, &mut Vec::new());
        }

        #[test]
        fn any_damage_is_survived(at in 0_usize..40, byte: u8, tail in proptest::collection::vec(any::<u8>(), 0..60)) {
            let world = world();
            let mut message = query(world.name(1), 1, &tail);
            let at = at % message.len();
            message[at] = byte;
            let mut out = Vec::new();
            answer(&world, &message, &mut out);
            prop_assert!(out.len() <= 512 + 11);
        }
    }
}
