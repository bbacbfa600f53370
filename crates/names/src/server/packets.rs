//! Answers of upstreams that are kept as they are, by name, type and what the question says of signatures and validation: for
//! all that is not an address, and for addresses with signatures.
//!
//! Guarantees: an answer is given on for its shortest TTL, no longer than the policy's longest, with all its TTLs lowered by
//! its age; what was asked without signatures (DO), or with validation (no CD), is never answered by what was asked otherwise; memory is
//! bounded; what an upstream could not answer is kept for [`FAILURE`] (RFC 9520); an answer that is cut off is not kept.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::policy::Policy;
use super::question::{HEADER, Question, rtype};
use crate::cache::Seconds;

/// For how many seconds it is kept that a question had no answer, or an error for one: as Unbound does (RFC 9520 section 3.2: one
/// second at least).
const FAILURE: u32 = 5;

/// The longest that "no such name" and "no such data" are kept, in seconds (RFC 2308 section 5: one to three hours).
const LONGEST_NEGATIVE: u32 = 3 * 3_600;

/// Bytes that an entry takes beside its key and its message.
const OVERHEAD: u64 = 128;

/// Bytes of an answer that is usual, by which the number of entries is estimated.
const USUAL: u64 = 600;

/// By what an answer is found: everything of the question that the answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(Box<[u8]>);

impl Key {
    /// The key of a client's question.
    pub(super) fn of(question: &Question<'_>) -> Self {
        Key::new(question.head, question.edns.map(|edns| edns.wants_signatures))
    }

    /// The key of a question that is passed, whose question ends there; an OPT record without options may follow.
    pub(super) fn of_passed(message: &[u8], end: usize) -> Self {
        let (head, rest) = message.split_at(end.min(message.len()));
        Key::new(head, rest.get(7).map(|flags| flags & 0x80 != 0))
    }

    /// Of a message up to the end of its question, and of DO where there is EDNS: name in lower case, type and class, then AD, CD
    /// and EDNS.
    fn new(head: &[u8], signatures: Option<bool>) -> Self {
        let flags = head.get(3).map_or(0, |flags| flags & 0x30);
        let edns = signatures.map_or(0, |signatures| 1 | u8::from(signatures) << 1);
        let (name, kind) =
            head.get(HEADER..).unwrap_or_default().split_at(head.len().saturating_sub(HEADER + 4));
        let name = name.iter().map(u8::to_ascii_lowercase);
        Key(name.chain(kind.iter().copied()).chain([flags | edns]).collect())
    }
}

/// What is kept of one answer.
#[derive(Debug)]
struct Packet {
    /// The message as it came; empty where nobody answered.
    message: Box<[u8]>,
    /// Where its TTLs are.
    ttls: Box<[u16]>,
    taken: Seconds,
    expires: Seconds,
    /// Whether nobody answered, or with an error.
    is_failure: bool,
}

/// Weighs entries by bytes.
#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<Packet>> for Bytes {
    fn weight(&self, key: &Key, packet: &Arc<Packet>) -> u64 {
        key.0.len() as u64 + packet.message.len() as u64 + 2 * packet.ttls.len() as u64 + OVERHEAD
    }
}

/// The answers.
pub(super) struct Packets(Option<Cache<Key, Arc<Packet>, Bytes>>);

impl Packets {
    /// Keeps so many bytes at most; 0: nothing.
    pub(super) fn new(bytes: u64) -> Self {
        let entries = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX);
        Packets((bytes > 0).then(|| Cache::with_weighter(entries, bytes, Bytes)))
    }

    /// What is known: the message with the TTLs that are left, or that nobody answers.
    pub(super) fn get(&self, question: &Question<'_>, now: Seconds) -> Option<Option<Vec<u8>>> {
        let packet = self.0.as_ref()?.get(&Key::of(question)).filter(|packet| now < packet.expires)?;
        let age = u32::try_from(now.saturating_sub(packet.taken)).unwrap_or(u32::MAX);
        let mut message = packet.message.to_vec();
        packet.ttls.iter().for_each(|&place| change_ttl(&mut message, place, |ttl| ttl.saturating_sub(age)));
        Some(Some(message).filter(|message| !message.is_empty()))
    }

    /// Keeps an answer, or that there was none, as long as it may be kept; shortens TTLs that are longer than the policy allows. A
    /// failure never takes the place of an answer.
    pub(super) fn put(&self, key: Key, answer: Option<&mut Vec<u8>>, policy: &Policy, now: Seconds) {
        let (message, ttls, ttl, is_failure) = match answer {
            None => (&[][..], Box::default(), FAILURE, true),
            Some(answer) => {
                let Some(Shape { ttls, ttl, says }) = Shape::of(answer) else { return };
                let longest = match says {
                    Says::Data => policy.max_ttl,
                    Says::Nothing => policy.negative_ttl,
                    Says::Failure => FAILURE,
                };
                ttls.iter().for_each(|&place| change_ttl(answer, place, |ttl| ttl.min(longest)));
                (&answer[..], ttls.into(), ttl.min(longest), says == Says::Failure)
            }
        };
        let Some(kept) = &self.0 else { return };
        let holds = || kept.peek(&key).is_some_and(|known| now < known.expires && !known.is_failure);
        if ttl > 0 && !(is_failure && holds()) {
            let expires = now + Seconds::from(ttl);
            kept.insert(
                key,
                Arc::new(Packet { message: message.into(), ttls, taken: now, expires, is_failure }),
            );
        }
    }

    /// Bytes that are kept, and how many answers.
    pub(super) fn size(&self) -> (u64, u64) {
        self.0.as_ref().map_or((0, 0), |kept| (kept.weight(), kept.len() as u64))
    }
}

/// What of an answer decides how it is kept.
struct Shape {
    /// Where its TTLs are.
    ttls: Vec<u16>,
    /// For how many seconds it may be kept.
    ttl: u32,
    /// What it says.
    says: Says,
}

/// What an answer says of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Data,
    /// That there is no such name, or no such data.
    Nothing,
    /// That it could not be found out.
    Failure,
}

impl Shape {
    /// Reads an answer to its end; none where that is not possible, or where it is cut off.
    fn of(message: &[u8]) -> Option<Self> {
        let head: &[u8; HEADER] = message.first_chunk()?;
        let count = |at: usize| usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
        let (is_cut, code) = (head[2] & 2 != 0, head[3] & 0xf);
        if is_cut || count(4) != 1 {
            return None;
        }
        let mut at = skip_name(message, HEADER)? + 4;
        let (mut ttls, mut least, mut has_soa) = (Vec::new(), u32::MAX, false);
        for (section, records) in [count(6), count(8), count(10)].into_iter().enumerate() {
            for _ in 0..records {
                let fixed = skip_name(message, at)?;
                let [t1, t2, _, _, a, b, c, d, l1, l2] = *message.get(fixed..)?.first_chunk()?;
                let (kind, ttl) = (u16::from_be_bytes([t1, t2]), ttl_of([a, b, c, d]));
                at = fixed + 10 + usize::from(u16::from_be_bytes([l1, l2]));
                let data = message.get(fixed + 10..at)?;
                if kind == rtype::OPT {
                    continue;
                }
                ttls.push(u16::try_from(fixed + 4).ok()?);
                if section < 2 {
                    least = least.min(ttl);
                }
                if section == 1 && kind == rtype::SOA {
                    has_soa = true;
                    least = least.min(data.last_chunk().map_or(0, |minimum| ttl_of(*minimum)));
                }
            }
        }
        let says = match code {
            0 if count(6) > 0 => Says::Data,
            0 | 3 => Says::Nothing,
            _ => Says::Failure,
        };
        let ttl = match says {
            Says::Data => least,
            Says::Nothing if has_soa => least.min(LONGEST_NEGATIVE),
            Says::Nothing => 0, // nothing says for how long there is none (RFC 2308 section 5)
            Says::Failure => FAILURE,
        };
        (at == message.len()).then_some(Shape { ttls, ttl, says })
    }
}

/// Changes the TTL at a place.
fn change_ttl(message: &mut [u8], place: u16, change: impl Fn(u32) -> u32) {
    if let Some(bytes) = message.get_mut(usize::from(place)..).and_then(|rest| rest.first_chunk_mut()) {
        *bytes = change(ttl_of(*bytes)).to_be_bytes();
    }
}

/// Where a name ends that begins there.
fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..=63 => at += 1 + usize::from(length),
            192.. => return Some(at + 2),
            _ => return None,
        }
    }
}

/// A TTL; one with the highest bit is none (RFC 2181 section 8).
fn ttl_of(bytes: [u8; 4]) -> u32 {
    let ttl = u32::from_be_bytes(bytes);
    if ttl >> 31 == 0 { ttl } else { 0 }
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
