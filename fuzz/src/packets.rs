//! DNS: whole answers of upstreams, as they are kept.

use std::sync::Arc;

use domain::base::iana::Rtype;
use domain::base::{Message, ParsedName};
use domain::rdata::AllRecordData;
use lycosa_names::PacketKey;
use lycosa_names::cache::{Packet, PacketCache, PacketLimits, STALE_TTL};
use lycosa_url::Micros;

use crate::bounds::within;

/// When answers are received.
const NOW: Micros = 1_800_000_000_000_000;

/// Bytes of the cache.
const BYTES: u64 = 1 << 16;

/// The longest that anything is kept, in seconds.
const LIMITS: PacketLimits = PacketLimits { max_ttl: 86_400, negative_ttl: 900 };

/// The type of the record that EDNS adds.
const OPT: u16 = 41;

/// The bit of the header's fourth byte that says "validated".
const AD: u8 = 0x20;

/// Invariant: any bytes are an answer that can be kept or none, in bounded time and memory; what is kept has the records that were
/// received but OPT, can be read again, and is given for its shortest TTL, with TTLs that are never longer than they were. The first
/// bytes say how many records each section has, or that all is what follows; the data are what follows header and question.
pub fn packets(data: &[u8]) {
    let (head, rest) = data.split_at(data.len().min(2));
    let [first, second] = [0, 1].map(|place| head.get(place).copied().unwrap_or(0));
    let code = if first & 0x40 == 0 { 0 } else { 3 };
    let header = [0x12, 0x34, 0x81, 0x80 | code, 0, 1, 0, first & 15, 0, second & 15, 0, second >> 4];
    let question = b"\x03wWw\x07eXample\x03com\0\0\x0f\0\x01";
    let reply = if first & 0x80 == 0 { [&header, &question[..], rest].concat() } else { rest.to_vec() };
    let cache = PacketCache::new(BYTES, LIMITS, NOW, 1.0);
    let memory = (1 << 17) + 100 * reply.len();
    let Some(packet) = within(reply.len(), memory, || cache.read(&reply, NOW)) else { return };
    let message = packet.message().expect("an answer").to_vec();
    assert_eq!(message[..2], [0, 0]);
    let records = places(&message).expect("it can be read to its end");
    assert!(records.iter().all(|(rtype, _)| *rtype != OPT));
    let again = cache.read(&message, NOW).expect("what is kept can be read");
    assert_eq!(again.message().ok(), Some(&message[..]), "it is kept as it was");
    if let Some(received) = listing(&reply).filter(|_| has_sound_names(&reply)) {
        assert_eq!(listing(&message), Some(received), "the records are those that were received");
    }
    let key = PacketKey::of_text("www.example.com", Rtype::MX, false).expect("a name");
    let packet = cache.put(key.clone(), packet);
    let kept = cache.get(&key, NOW);
    assert!(kept.is_none_or(|kept| Arc::ptr_eq(&kept, &packet)), "it is the answer that was put");
    assert!(cache.size().0 <= BYTES);
    check_ages(&cache, &packet, &key, &records);
}

/// Looks at an answer from when it was received until it has long expired. One without data is not given any longer then.
fn check_ages(cache: &PacketCache, packet: &Packet, key: &PacketKey, records: &[(u16, usize)]) {
    let message = packet.message().expect("an answer");
    let asked = name_end(message, 12).and_then(|end| number(message, end));
    let answers = number(message, 6).map_or(0, usize::from);
    let has_data = records[..answers].iter().any(|(rtype, _)| Some(*rtype) == asked);
    let places: Vec<usize> = records.iter().map(|&(_, place)| place).collect();
    let (expires, second) = (cache.expires(packet), 1_000_000);
    assert!(expires <= NOW + u64::from(LIMITS.max_ttl) * second);
    let is_kept = cache.get(key, NOW).is_some();
    let received: Vec<u32> = places.iter().map(|&place| ttl(message, place)).collect();
    assert!(received.iter().all(|&ttl| ttl <= LIMITS.max_ttl));
    for age in [0, 1, 29, 899, 3_600, 86_399, 86_400, 1 << 33] {
        let now = NOW + age * second;
        let (is_fresh, is_stale) = (now < expires, now >= expires && now < expires + (second << 32));
        assert_eq!(cache.get(key, now).is_some(), is_kept && is_fresh);
        assert_eq!(cache.get_stale(key, now, u32::MAX).is_some(), is_kept && is_stale && has_data);
        let (mut given, mut stale) = (cache.message(packet, now), cache.stale_message(packet));
        for (&place, &before) in places.iter().zip(&received) {
            let left = u32::try_from(u64::from(before).saturating_sub(age)).expect("no more than before");
            assert_eq!(ttl(&given, place), left, "after {age} seconds of {before}");
            assert_eq!(ttl(&stale, place), STALE_TTL);
            given[place..place + 4].copy_from_slice(&message[place..place + 4]);
            stale[place..place + 4].copy_from_slice(&message[place..place + 4]);
        }
        assert_eq!(given, message, "nothing but TTLs has changed");
        assert_eq!(stale[3], message[3] & !AD);
        stale[3] = message[3];
        assert_eq!(stale, message, "nothing but TTLs and AD has changed");
    }
}

/// The TTL at a place.
fn ttl(message: &[u8], place: usize) -> u32 {
    u32::from_be_bytes(message[place..place + 4].try_into().expect("four bytes"))
}

/// Two bytes of a message as a number; `None` behind its end.
fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]))
}

/// Where a name ends that begins there; `None` behind the end of the message.
fn name_end(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            192.. => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

/// Type and place of the TTL of each record; `None` where a message is malformed.
fn places(message: &[u8]) -> Option<Vec<(u16, usize)>> {
    let mut at = name_end(message, 12)? + 4;
    let mut places = Vec::new();
    for _ in 0..[6, 8, 10].into_iter().filter_map(|at| number(message, at)).map(u32::from).sum() {
        at = name_end(message, at)?;
        places.push((number(message, at)?, at + 4));
        at += 10 + usize::from(number(message, at + 8)?);
    }
    (at == message.len()).then_some(places)
}

/// Whether names stay when a message is kept: none leads into what may change, which are the header, TTLs, and OPT at the end.
fn has_sound_names(reply: &[u8]) -> bool {
    let Some(places) = places(reply) else { return false };
    let mut changed = reply.to_vec();
    places.iter().for_each(|&(_, at)| changed[at..at + 4].iter_mut().for_each(|byte| *byte = !*byte));
    if let [.., (OPT, _)] = places[..] {
        let end_of_record = |&(_, at): &(u16, usize)| Some(at + 6 + usize::from(number(reply, at + 4)?));
        let before = places.iter().rev().nth(1).map_or_else(|| Some(name_end(reply, 12)? + 4), end_of_record);
        changed.truncate(before.expect("all can be read"));
        changed[11] = changed[11].wrapping_sub(1);
    }
    let points_to_header = reply.windows(2).any(|two| matches!(two, [0xc0, ..12]));
    !points_to_header && listing(&changed) == listing(reply)
}

/// The records of a message but OPT, each with its section, in lower case: case may change with that of the question. `None` where one
/// of them cannot be read.
fn listing(message: &[u8]) -> Option<Vec<String>> {
    let message = Message::from_slice(message).ok()?;
    let mut records = vec![message.sole_question().ok()?.qname().to_string().to_ascii_lowercase()];
    for record in message.iter() {
        let (record, section) = record.ok()?;
        if record.rtype() == Rtype::OPT {
            continue;
        }
        let (owner, rtype, class) = (record.owner().to_string(), record.rtype(), record.class());
        let data = record.into_any_record::<AllRecordData<_, ParsedName<_>>>().ok()?;
        let line = format!("{section:?} {owner} {rtype} {class} {:?}", data.data());
        records.push(line.to_ascii_lowercase());
    }
    Some(records)
}
