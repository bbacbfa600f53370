//! Builds queries and parses replies.

mod plain;

use std::net::IpAddr;

use domain::base::iana::{Class, OptRcode, Rcode, Rtype};
use domain::base::wire::ParseError;
use domain::base::{Message, ParsedName, ParsedRecord};
use domain::rdata::{A, Aaaa, Cname, Soa};

use crate::cache::packet;
use crate::dice::Dice;
use crate::host::{HostName, MAX_LABEL};
use crate::lookup::Found;
use crate::packet_key::PacketKey;

/// Bytes of a message's header.
pub const HEADER: usize = 12;

/// The largest datagram that is requested or sent: no path fragments it (DNS flag day 2020).
pub const PAYLOAD: u16 = 1232;

/// The longest name on the wire, in bytes with the root label (RFC 1035 section 2.3.4).
pub const LONGEST_NAME: usize = 255;

/// Queries over TLS and HTTPS are padded to a multiple of this many bytes (RFC 8467 section 4.1).
const BLOCK: usize = 128;

/// The longest chain of aliases that is followed, in replies as in local data; Unbound follows 11.
pub const MAX_CHAIN: usize = 10;

/// What is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Records of a [`PacketKey`]'s type, with the whole reply.
    Packet,
}

/// The form of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryProfile {
    /// A datagram with EDNS0 and letters of random case, which the reply must repeat (draft-vixie-dnsext-dns0x20).
    Full,
    /// A datagram without EDNS, for servers that do not support it. Letters have random case only if the server
    /// has repeated it before: otherwise the query is as in 1987, so that servers that change the case work,
    /// too. Then an attacker has to guess only id, port and address (RFC 5452 section 4).
    Plain,
    /// Over TCP, where replies cannot be forged, so that the case of letters does not matter.
    Tcp,
    /// Over TLS or HTTPS, padded, so that its length does not disclose the name.
    Tls,
}

impl QueryProfile {
    /// Whether it uses a connection, where replies are neither forged nor truncated.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, QueryProfile::Tcp | QueryProfile::Tls)
    }
}

/// A message with one question. The next one reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    bytes: Vec<u8>,
    /// The end of the question.
    end: usize,
}

impl Query {
    /// Writes a query for the addresses of a name in normal form, with random case of letters if `dice` is
    /// given; returns whether the name can be encoded.
    pub(crate) fn write(
        &mut self,
        name: &str,
        kind: Kind,
        id: u16,
        profile: QueryProfile,
        dice: Option<&mut Dice>,
    ) -> bool {
        self.begin(id, 0, profile);
        let bytes = &mut self.bytes;
        bytes.push(b'.');
        bytes.extend_from_slice(name.as_bytes());
        if bytes.len() >= HEADER + LONGEST_NAME || !count_labels(&mut bytes[HEADER..]) {
            return false;
        }
        bytes.push(0);
        let rtype = if kind == Kind::Aaaa { Rtype::AAAA } else { Rtype::A };
        self.end(rtype, false, profile, dice);
        true
    }

    /// Writes the query of a key. Its AD bit requests the validation status (RFC 6840 section 5.7).
    pub(crate) fn write_packet(
        &mut self,
        key: &PacketKey,
        id: u16,
        profile: QueryProfile,
        dice: Option<&mut Dice>,
    ) {
        let flags = 0x20 | if key.checking_disabled() { 0x10 } else { 0 };
        self.begin(id, flags, profile);
        self.bytes.extend_from_slice(key.name());
        self.end(key.rtype(), key.dnssec_ok(), profile, dice);
    }

    /// Starts a message: recursion desired, these flags, one question, and possibly one additional record.
    fn begin(&mut self, id: u16, flags: u8, profile: QueryProfile) {
        let ([high, low], has_options) = (id.to_be_bytes(), profile != QueryProfile::Plain);
        self.bytes.clear();
        self.bytes.extend_from_slice(&[high, low, 1, flags, 0, 1, 0, 0, 0, 0, 0, u8::from(has_options)]);
    }

    /// Completes a message after the name of its question.
    fn end(&mut self, rtype: Rtype, dnssec_ok: bool, profile: QueryProfile, dice: Option<&mut Dice>) {
        let bytes = &mut self.bytes;
        if let Some(dice) = dice {
            toss(&mut bytes[HEADER..], dice);
        }
        let [high, low] = rtype.to_int().to_be_bytes();
        bytes.extend_from_slice(&[high, low, 0, 1]);
        self.end = bytes.len();
        if profile != QueryProfile::Plain {
            // The root, OPT, payload size, no extended code, DO (RFC 6891 section 6.1.2); then the options.
            let [high, low] = PAYLOAD.to_be_bytes();
            bytes.extend_from_slice(&[0, 0, 41, high, low, 0, 0, u8::from(dnssec_ok) << 7, 0]);
            match profile {
                QueryProfile::Tls => pad(bytes),
                _ => bytes.extend_from_slice(&[0, 0]),
            }
        }
    }

    /// Whether its name has an upper-case letter, so that a reply shows whether the server repeats the case.
    pub(crate) fn has_case(&self) -> bool {
        self.bytes[HEADER.min(self.end)..self.end].iter().any(u8::is_ascii_uppercase)
    }

    /// Whether it requests signatures (DO), which need EDNS.
    fn wants_signatures(&self) -> bool {
        self.bytes.get(self.end + 7).is_some_and(|flags| flags & 0x80 != 0)
    }

    /// Whether it has EDNS.
    fn has_options(&self) -> bool {
        self.bytes.len() > self.end
    }

    /// The message.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Ends a message with a padding option that brings it to a multiple of [`BLOCK`] (RFC 7830).
fn pad(bytes: &mut Vec<u8>) {
    /// Bytes of the options' length and of this option's header.
    const HEAD: usize = 6;
    let whole = (bytes.len() + HEAD).next_multiple_of(BLOCK);
    let padding = (whole - bytes.len() - HEAD) as u8;
    bytes.extend_from_slice(&[0, 4 + padding, 0, 12, 0, padding]);
    bytes.resize(whole, 0);
}

/// Replaces each dot of a name, which begins with one, by the length of the label after it; returns whether all
/// lengths are valid.
fn count_labels(name: &mut [u8]) -> bool {
    let (mut length, mut is_sound) = (0, true);
    for byte in name.iter_mut().rev() {
        if *byte == b'.' {
            is_sound &= (1..=MAX_LABEL).contains(&length);
            (*byte, length) = (length as u8, 0);
        } else {
            length += 1;
        }
    }
    is_sound
}

/// Randomizes the case of a name's letters: eight bytes at a time, one bit of a random number for each of 64
/// bytes.
fn toss(name: &mut [u8], dice: &mut Dice) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    for chunk in name.chunks_mut(64) {
        let mut coins = dice.throw();
        for part in chunk.chunks_mut(8) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            let bytes = u64::from_le_bytes(eight);
            // The highest bit of a byte shows whether its lower bits are at least "a", and above "z". Length
            // bytes are below 64, so never letters.
            let lower = bytes & (0x7f * EACH);
            let (from_a, above_z) = (lower + (0x80 - 0x61) * EACH, lower + (0x80 - 0x7b) * EACH);
            let is_letter = from_a & !above_z & !bytes & (0x80 * EACH);
            let changed = bytes ^ ((is_letter >> 2) & (coins & (0x20 * EACH)));
            part.copy_from_slice(&changed.to_le_bytes()[..part.len()]);
            coins = coins.rotate_right(1);
        }
    }
}

/// The id of a message; `None` if it is too short.
pub(crate) fn id(message: &[u8]) -> Option<u16> {
    (message.len() >= HEADER).then(|| u16::from_be_bytes([message[0], message[1]]))
}

/// Whether a message is the reply to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is.
    Exact,
    /// It is, except for the case of letters.
    OtherCase,
    /// It has the id, no question, and an error code for a query that was not understood: as servers without
    /// EDNS reply.
    NotUnderstood,
    /// It is not.
    No,
}

/// Compares id, kind and the whole question (RFC 5452 section 9.1).
pub(crate) fn fit(message: &[u8], query: &Query) -> Fit {
    if query.has_options() && !query.wants_signatures() && refuses(message, &query.bytes) {
        return Fit::NotUnderstood;
    }
    fit_to(message, &query.bytes[..query.end])
}

/// Whether a message is only a header with the query's id and FORMERR or NOTIMP. It is accepted although it
/// repeats no question, since the only effect is that the query is repeated without EDNS.
fn refuses(message: &[u8], query: &[u8]) -> bool {
    let Ok(header) = <&[u8; HEADER]>::try_from(message) else { return false };
    // A reply (QR) with the opcode QUERY, not truncated, and without records in any section.
    let is_bare_reply = header[2] & 0xfa == 0x80 && header[4..] == [0; 8];
    let is_refusal = matches!(header[3] & 0xf, 1 | 4);
    query.starts_with(&header[..2]) && is_bare_reply && is_refusal
}

/// [`fit`] for a query's bytes up to the end of its question.
pub(crate) fn fit_to(message: &[u8], asked: &[u8]) -> Fit {
    let (Some(header), Some(question)) = (message.first_chunk::<HEADER>(), message.get(HEADER..asked.len()))
    else {
        return Fit::No;
    };
    // A reply (QR) with the opcode QUERY and one question.
    if header[..2] != asked[..2] || header[2] & 0xf8 != 0x80 || header[4..6] != [0, 1] {
        return Fit::No;
    }
    let asked = &asked[HEADER..];
    if question == asked {
        Fit::Exact
    } else if question.eq_ignore_ascii_case(asked) {
        Fit::OtherCase
    } else {
        Fit::No
    }
}

/// The meaning of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The addresses.
    Addresses(Found),
    /// The name does not exist: that name, which is the last alias in the chain (RFC 6604 section 3), if the
    /// reply is well-formed enough.
    NotFound(Option<String>),
    /// The name has no address of this family.
    NoData,
    /// The whole reply to a question for records, with or without records.
    Packet,
    /// The reply is truncated.
    Truncated,
    /// The server does not understand the question, perhaps because of EDNS (RFC 6891 section 7).
    Misunderstood(String),
    /// The server cannot or will not answer, or its reply is malformed.
    Failed(String),
}

/// Parses a reply that matches its query.
pub(crate) fn read(message: &[u8], kind: Kind) -> Reply {
    let Ok(parsed) = Message::from_slice(message) else { return Reply::Failed("too short".to_owned()) };
    if parsed.header().tc() {
        return Reply::Truncated;
    }
    match parsed.header().rcode() {
        Rcode::NOERROR => match plain::addresses(message, kind).map_or_else(|| addresses(parsed, kind), Ok) {
            Ok(Reply::Packet) if parsed.header_counts().ancount() > 0 => Reply::Packet,
            Ok(Reply::NoData | Reply::Packet) if is_referral(parsed) => {
                Reply::Failed("a referral: the server is not a resolver".to_owned())
            }
            // An extended code (RFC 6891 section 6.1.3), such as BADVERS; no answer has one.
            Ok(Reply::NoData | Reply::Packet) if parsed.opt_rcode() != OptRcode::NOERROR => {
                Reply::Misunderstood(parsed.opt_rcode().to_string())
            }
            Ok(reply) => reply,
            Err(_) => Reply::Failed(MALFORMED.to_owned()),
        },
        Rcode::NXDOMAIN if parsed.opt_rcode() != OptRcode::NXDOMAIN => {
            Reply::Misunderstood(parsed.opt_rcode().to_string())
        }
        Rcode::NXDOMAIN if kind == Kind::Packet => Reply::Packet,
        Rcode::NXDOMAIN => Reply::NotFound(last_target(parsed, kind)),
        rcode @ (Rcode::FORMERR | Rcode::NOTIMP) => Reply::Misunderstood(rcode.to_string()),
        rcode => Reply::Failed(match packet::extended_error(message) {
            Some(error) => format!("{rcode}: {error}"),
            None => rcode.to_string(),
        }),
    }
}

/// The failure for a malformed reply.
pub(crate) const MALFORMED: &str = "malformed reply";

/// The negative TTL of a reply in seconds: the smaller of its SOA's TTL and MINIMUM (RFC 2308 section 5), if it
/// has one.
pub(crate) fn negative_ttl(message: &[u8]) -> Option<u32> {
    let authority = Message::from_slice(message).ok()?.authority().ok()?;
    let soa = authority.limit_to::<Soa<ParsedName<&[u8]>>>().flatten().next()?;
    Some(sound_ttl(soa.ttl().as_secs()).min(sound_ttl(soa.data().minimum().as_secs())))
}

/// Whether a server without recursion refers to other servers instead of answering: it is not a resolver.
fn is_referral(message: &Message<[u8]>) -> bool {
    let Ok(authority) = message.authority() else { return false };
    let types = authority.flatten().map(|record| record.rtype());
    let (has_servers, has_zone) =
        types.fold((false, false), |(ns, soa), rtype| (ns || rtype == Rtype::NS, soa || rtype == Rtype::SOA));
    !message.header().ra() && has_servers && !has_zone
}

/// Parses a message as the reply to a plain query for a name: `None` if it is not that reply; the addresses and
/// their TTL in seconds; or a text for other replies. For the fuzz target.
#[doc(hidden)]
pub fn examine(
    message: &[u8],
    id: u16,
    name: HostName<'_>,
    is_v6: bool,
) -> Option<Result<(Vec<IpAddr>, u32), String>> {
    let kind = if is_v6 { Kind::Aaaa } else { Kind::A };
    let mut query = Query::default();
    if !query.write(name.as_str(), kind, id, QueryProfile::Plain, None) {
        return None;
    }
    (fit(message, &query) == Fit::Exact).then(|| match read(message, kind) {
        Reply::Addresses(found) => Ok((found.addresses, found.ttl)),
        other => Err(format!("{other:?}")),
    })
}

/// A relevant record.
struct Record<'a> {
    owner: ParsedName<&'a [u8]>,
    ttl: u32,
    data: Data<'a>,
}

/// Its data.
enum Data<'a> {
    Alias(ParsedName<&'a [u8]>),
    Address(IpAddr),
}

/// The addresses that follow from the question, through aliases; other records are ignored.
fn addresses(message: &Message<[u8]>, kind: Kind) -> Result<Reply, ParseError> {
    if kind == Kind::Packet {
        return Ok(Reply::Packet);
    }
    let mut name = message.sole_question()?.into_qname();
    let mut ttl = u32::MAX;
    for _ in 0..=MAX_CHAIN {
        let (mut addresses, mut alias) = (Vec::new(), None);
        for record in records(message, kind)? {
            let record = record?;
            match record.data {
                _ if record.owner != name => (),
                Data::Address(address) => {
                    ttl = ttl.min(record.ttl);
                    addresses.push(address);
                }
                Data::Alias(target) => alias = Some((target, record.ttl)),
            }
        }
        match alias {
            _ if !addresses.is_empty() => return Ok(Reply::Addresses(Found { addresses, ttl })),
            Some((target, seconds)) => (name, ttl) = (target, ttl.min(seconds)),
            None => return Ok(Reply::NoData),
        }
    }
    Ok(Reply::Failed(endless_aliases()))
}

/// What is wrong with aliases that lead to no answer.
pub fn endless_aliases() -> String {
    format!("more than {MAX_CHAIN} aliases, or a loop of them")
}

/// The final target of the aliases, or the queried name.
fn last_target(message: &Message<[u8]>, kind: Kind) -> Option<String> {
    let mut name = message.sole_question().ok()?.into_qname();
    for _ in 0..=MAX_CHAIN {
        let mut alias = None;
        for record in records(message, kind).ok()? {
            match record.ok()? {
                Record { owner, data: Data::Alias(target), .. } if owner == name && alias.is_none() => {
                    alias = Some(target);
                }
                _ => (),
            }
        }
        match alias {
            Some(target) => name = target,
            None => return Some(name.to_string()),
        }
    }
    None
}

/// The aliases and addresses of the answer section.
fn records(
    message: &Message<[u8]>,
    kind: Kind,
) -> Result<impl Iterator<Item = Result<Record<'_>, ParseError>>, ParseError> {
    Ok(message
        .answer()?
        .filter_map(move |parsed| parsed.and_then(|parsed| record(&parsed, kind)).transpose()))
}

/// Parses a record; `None` if it is not relevant.
fn record<'a>(parsed: &ParsedRecord<'a, [u8]>, kind: Kind) -> Result<Option<Record<'a>>, ParseError> {
    if parsed.class() != Class::IN {
        return Ok(None);
    }
    let data = match (parsed.rtype(), kind) {
        (Rtype::CNAME, _) => {
            parsed.to_record::<Cname<_>>()?.map(|record| Data::Alias(*record.data().cname()))
        }
        (Rtype::A, Kind::A) => {
            parsed.to_record::<A>()?.map(|record| Data::Address(record.data().addr().into()))
        }
        (Rtype::AAAA, Kind::Aaaa) => {
            parsed.to_record::<Aaaa>()?.map(|record| Data::Address(record.data().addr().into()))
        }
        _ => None,
    };
    Ok(data.map(|data| Record { owner: parsed.owner(), ttl: sound_ttl(parsed.ttl().as_secs()), data }))
}

/// A TTL in seconds; one with the highest bit counts as 0 (RFC 2181 section 8).
pub(crate) fn sound_ttl(seconds: u32) -> u32 {
    if seconds >> 31 == 0 { seconds } else { 0 }
}

/// The offset after the name at `start`; `None` if the name is compressed, too long (RFC 1035 section 2.3.4) or
/// truncated.
#[inline]
pub fn skip_uncompressed_name(message: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let length = usize::from(*message.get(at)?);
        if length > MAX_LABEL || at - start + length >= LONGEST_NAME {
            return None;
        }
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
