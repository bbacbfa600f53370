//! Parses a message to its end, and determines how long it may be cached.

use domain::base::iana::Rtype;
use domain::base::message_builder::HashCompressor;
use domain::base::{Message, MessageBuilder, ParsedName, ParsedRecord};
use domain::rdata::AllRecordData;

use crate::extended_error::ExtendedError;
use crate::wire::{HEADER, sound_ttl};

/// Seconds for which NXDOMAIN and NODATA without an SOA are cached: RFC 2308 section 5 forbids it, because they
/// could circulate among caches for ever; so short a time has an end, as in Unbound, and spares upstreams bursts.
const WITHOUT_SOA: u32 = 5;

/// The seconds for which NXDOMAIN or NODATA is cached whose SOA allows `soa` seconds (RFC 2308 section 5), within
/// the shortest and the longest time: the same for addresses and for whole replies.
pub(crate) fn negative_ttl(soa: Option<u32>, (shortest, longest): (u32, u32)) -> u32 {
    soa.unwrap_or(WITHOUT_SOA).max(shortest).min(longest)
}

/// A completely parsed message.
pub(super) struct Extent {
    /// Offsets of the TTLs, except that of the OPT record.
    pub(super) ttls: Vec<u16>,
    /// The extended error in its OPT record.
    pub(super) extended_error: Option<ExtendedError>,
    /// The smallest TTL of answer and authority section.
    shortest: u32,
    /// Whether it has records of the queried type; an alias without a target has none.
    pub(super) has_data: bool,
    /// The offset of the TTL of the SOA record that limits a negative answer (RFC 2308 section 5).
    pub(super) soa: Option<u16>,
    /// The offsets at which the OPT record begins and ends.
    opt: Option<(usize, usize)>,
}

impl Extent {
    /// Parses a message to its end; `None` if it is malformed or truncated.
    pub(super) fn of(message: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = message.first_chunk()?;
        let count = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
        let is_cut = header[2] & 2 != 0;
        if is_cut || count(4) != 1 {
            return None;
        }
        let mut extent = Extent {
            ttls: Vec::new(),
            extended_error: None,
            shortest: u32::MAX,
            has_data: false,
            soa: None,
            opt: None,
        };
        let root = skip_labels(message, HEADER)?;
        if message[root] != 0 {
            return None; // before the question is nothing that its name may point to
        }
        let name_end = root + 1;
        let asked = message.get(name_end..).and_then(|rest| rest.first_chunk()).copied()?;
        let mut at = name_end + 4;
        for (section, records) in [count(6), count(8), count(10)].into_iter().enumerate() {
            for _ in 0..records {
                at = extent.take_record(message, at, section, Rtype::from_int(u16::from_be_bytes(asked)))?;
            }
        }
        (at == message.len()).then_some(extent)
    }

    /// Parses the record at an offset; returns the offset after it.
    fn take_record(&mut self, message: &[u8], start: usize, section: usize, asked: Rtype) -> Option<usize> {
        let fixed = skip_name(message, start)?;
        let [t1, t2, _, _, a, b, c, d, l1, l2] = *message.get(fixed..)?.first_chunk()?;
        let (kind, ttl) = (Rtype::from_int(u16::from_be_bytes([t1, t2])), ttl_of([a, b, c, d]));
        let end = fixed + 10 + usize::from(u16::from_be_bytes([l1, l2]));
        let data = message.get(fixed + 10..end)?;
        if kind == Rtype::OPT {
            if self.opt.replace((start, end)).is_some() || section < 2 {
                return None; // one only, and in the additional section (RFC 6891 section 6.1.1)
            }
            self.extended_error = ExtendedError::read(data);
            return Some(end);
        }
        self.has_data |= section == 0 && kind == asked;
        self.ttls.push(u16::try_from(fixed + 4).ok()?);
        if section < 2 {
            self.shortest = self.shortest.min(ttl);
        }
        if section == 1 && kind == Rtype::SOA {
            self.soa = self.ttls.last().copied();
            self.shortest = self.shortest.min(data.last_chunk().map_or(0, |minimum| ttl_of(*minimum)));
        }
        Some(end)
    }

    /// The seconds for which the answer may be cached, by its TTLs and these limits.
    pub(super) fn ttl(&self, max_ttl: u32, negative_ttl: u32) -> u32 {
        if self.has_data {
            return self.shortest.min(max_ttl);
        }
        let limit = self::negative_ttl(self.soa.map(|_| self.shortest), (0, negative_ttl));
        limit.min(self.shortest) // an alias without a target may have a TTL, though no SOA has
    }
}

/// A reply with the id 0, a lower-case question and without OPT record, and its extent; `None` if it is
/// malformed.
pub(super) fn normalize(reply: &[u8]) -> Option<(Vec<u8>, Extent)> {
    let extent = Extent::of(reply)?;
    let (mut message, extent) = match extent.opt {
        None => (reply.to_vec(), extent),
        Some((start, end)) if end == reply.len() => {
            let mut message = reply[..start].to_vec();
            let count = u16::from_be_bytes([message[10], message[11]]).saturating_sub(1);
            message[10..HEADER].copy_from_slice(&count.to_be_bytes());
            (message, extent)
        }
        // Names after it may refer to one another by their offsets.
        Some(_) => {
            let message = copy_records(Message::from_slice(reply).ok()?, |_| Some(true))?;
            let copied = Extent::of(&message)?;
            (message, Extent { extended_error: extent.extended_error, ..copied })
        }
    };
    message[..2].fill(0);
    // The random case of the question's letters would appear wherever records refer to its name.
    let end = skip_name(&message, HEADER)?;
    message[HEADER..end].make_ascii_lowercase();
    Some((message, extent))
}

/// The extended error of a reply (RFC 8914), if it can be parsed to its end.
pub(crate) fn extended_error(reply: &[u8]) -> Option<ExtendedError> {
    Extent::of(reply)?.extended_error
}

/// Copies a message with the selected records, without OPT; `None` if `keep` returns `None`, or a record is
/// malformed.
pub fn copy_records(
    message: &Message<[u8]>,
    mut keep: impl FnMut(&ParsedRecord<'_, [u8]>) -> Option<bool>,
) -> Option<Vec<u8>> {
    // Unlike a tree of labels, this needs no more memory than the labels of the names, however many there are.
    let mut builder = MessageBuilder::from_target(HashCompressor::new(Vec::new())).ok()?;
    *builder.header_mut() = message.header();
    let mut questions = builder.question();
    questions.push(message.sole_question().ok()?).ok()?;
    let mut is_readable = true;
    let copied = message.copy_records(questions, |record| {
        if record.rtype() == Rtype::OPT || !keep(&record)? {
            return None;
        }
        let record = record.into_any_record::<AllRecordData<_, ParsedName<_>>>();
        is_readable &= record.is_ok();
        record.ok()
    });
    copied.ok().filter(|_| is_readable).map(|copied| copied.finish().into_target())
}

/// Lowers all TTLs of a message that can be parsed to its end.
pub(crate) fn lower_ttls(message: &mut [u8], seconds: u32) {
    if seconds == 0 {
        return;
    }
    let ttls = Extent::of(message).map(|extent| extent.ttls).unwrap_or_default();
    ttls.iter().for_each(|&offset| change_ttl(message, offset, |ttl| ttl.saturating_sub(seconds)));
}

/// Changes the TTL at an offset.
pub(super) fn change_ttl(message: &mut [u8], offset: u16, change: impl Fn(u32) -> u32) {
    if let Some(bytes) = message.get_mut(usize::from(offset)..).and_then(|rest| rest.first_chunk_mut()) {
        *bytes = change(ttl_of(*bytes)).to_be_bytes();
    }
}

/// The offset at which the name at an offset ends.
fn skip_name(message: &[u8], at: usize) -> Option<usize> {
    let at = skip_labels(message, at)?;
    match message[at] {
        0 => Some(at + 1),
        192.. => Some(at + 2),
        _ => None,
    }
}

/// The offset of what follows the labels at an offset: the root, or a pointer.
fn skip_labels(message: &[u8], mut at: usize) -> Option<usize> {
    while let length @ 1..=63 = *message.get(at)? {
        at += 1 + usize::from(length);
    }
    Some(at)
}

/// Reads a TTL.
fn ttl_of(bytes: [u8; 4]) -> u32 {
    sound_ttl(u32::from_be_bytes(bytes))
}
