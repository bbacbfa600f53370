//! The targets on texts made of what matters to them, and on any bytes; `PROPTEST_CASES=10000000` for a long run.

#[path = "random/words.rs"]
mod words;

use lycosa_records::samples::{any_entry, any_outcome, any_request, any_response};
use lycosa_records::{encode, encode_entries};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use words::{
    COOKIES, FACTS, FIELDS, HTML, LOCAL, MESSAGE, NAME, OPTIONS, QUESTION, RECORDS, RESPONSE, ROBOTS, URL,
};

/// Texts of words, with some bytes between.
fn text(words: &'static [&'static str], length: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        12 => select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..4),
    ];
    vec(word, 0..length).prop_map(|parts| parts.concat())
}

/// Bytes of pieces, with others between.
fn bytes(pieces: &[&'static [u8]], length: usize) -> impl Strategy<Value = Vec<u8>> + use<> {
    let piece =
        prop_oneof![12 => select(pieces.to_vec()).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 1..4)];
    vec(piece, 0..length).prop_map(|pieces| pieces.concat())
}

/// Places in a cache of names: seldom in what has a checksum, often in what changes, mostly behind the header.
fn place() -> impl Strategy<Value = u32> {
    prop_oneof![1 => 0u32..4_000, 4 => 192u32..248, 1 => 4_096u32..4_160, 40 => 8_192u32..60_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn url(start in select(&["http://a", "https://", "http://example.com/a/b?c", ""][..]), rest in text(URL, 16)) {
        lycosa_fuzz::url(&[start.as_bytes(), &rest].concat());
    }

    #[test]
    fn robots(data in text(ROBOTS, 40)) {
        lycosa_fuzz::robots(&data);
    }

    #[test]
    fn name(data in text(NAME, 12)) {
        lycosa_fuzz::name(&data);
    }

    #[test]
    fn names_cache(changes in vec((place(), any::<u8>()), 0..40), rest in vec(any::<u8>(), 0..4)) {
        let changes = changes.into_iter().flat_map(|(place, byte)| [place.to_le_bytes().as_slice(), &[byte]].concat());
        lycosa_fuzz::names_cache(&changes.chain(rest).collect::<Vec<u8>>());
    }

    #[test]
    fn message(first in any::<u8>(), pieces in vec(prop_oneof![
        12 => select(MESSAGE).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 1..4),
    ], 0..12)) {
        lycosa_fuzz::message(&[&[first], &pieces.concat()[..]].concat());
    }

    #[test]
    fn question(first in any::<u8>(), pieces in vec(prop_oneof![
        12 => select(QUESTION).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 1..4),
    ], 0..8)) {
        lycosa_fuzz::question(&[&[first], &pieces.concat()[..]].concat());
    }

    #[test]
    fn records(first in any::<u8>(), asked in select(RECORDS), rest in bytes(RECORDS, 6)) {
        let rtype = asked.get(2..4).unwrap_or(&[0, 5]);
        lycosa_fuzz::records(&[&[first], rtype, asked, &rest].concat());
    }

    #[test]
    fn packets(counts in any::<[u8; 2]>(), pieces in bytes(&[RECORDS, OPTIONS].concat(), 5)) {
        lycosa_fuzz::packets(&[&counts[..], &pieces].concat());
    }

    #[test]
    fn local_names(data in bytes(LOCAL, 16)) {
        lycosa_fuzz::local_names(&data);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn html(first in any::<u8>(), body in text(HTML, 40)) {
        lycosa_fuzz::html(&[&[first], &body[..]].concat());
        lycosa_fuzz::text(&[&[first], &body[..]].concat());
        lycosa_fuzz::charset(&body);
    }

    #[test]
    fn headers(fields in text(FIELDS, 30)) {
        lycosa_fuzz::headers(&fields);
        lycosa_fuzz::retry_after(&fields);
    }

    #[test]
    fn redirect(first in any::<u8>(), location in text(URL, 16)) {
        lycosa_fuzz::redirect(&[&[first], &location[..]].concat());
    }

    #[test]
    fn response(first in any::<u8>(), start in 0..3usize, rest in text(RESPONSE, 24)) {
        lycosa_fuzz::response(&[&[first], RESPONSE[start].as_bytes(), &rest].concat());
    }

    #[test]
    fn cookies(start in 0..8usize, rest in text(COOKIES, 40)) {
        lycosa_fuzz::cookies(&[COOKIES[start].as_bytes(), &rest].concat());
    }

    #[test]
    fn codings(data in vec(any::<u8>(), 0..300)) {
        lycosa_fuzz::codings(&data);
    }

    #[test]
    fn log(pieces in vec(prop_oneof![
        (any::<u8>(), vec(any::<u8>(), 0..30), vec(any::<u8>(), 0..30)),
        // Records of few URLs, some of which are opened again.
        (any::<u8>(), vec(Just(b'a'), 0..2), vec(Just(b'b'), 0..16)).prop_map(|(what, url, body)| (what & !7 | 3, url, body)),
    ], 0..12)) {
        let piece = |(what, first, second): (u8, Vec<u8>, Vec<u8>)| {
            [&[what, first.len() as u8, second.len() as u8], &first[..], &second].concat()
        };
        let data: Vec<u8> = pieces.into_iter().flat_map(piece).collect();
        lycosa_fuzz::log(&data);
        lycosa_fuzz::log_repair(&data);
    }

    #[test]
    fn batches(head in any::<[u8; 5]>(), facts in bytes(FACTS, 12)) {
        lycosa_fuzz::batches(&[&head[..], &facts].concat());
    }

    #[test]
    fn batches_of_records(
        [kind, versions, change] in any::<[u8; 3]>(),
        place: u16,
        // Boxed: unoptimised, their trees fill the stack of a test.
        records in (any_request().boxed(), any_response().boxed(), any_outcome().boxed(), any_entry().boxed()),
        changes in vec((any::<Index>(), any::<u8>()), 0..2),
    ) {
        // Whole batches, and the facts of their one frame, changed in a few places.
        let batch = match kind & 7 {
            0 => encode([&records.0]),
            1 => encode([&records.1]),
            2 | 3 => encode([&records.2]),
            _ => encode_entries([(&records.3, 7)]),
        };
        let batch = batch.expect("a record");
        let [low, high] = place.to_le_bytes();
        lycosa_fuzz::batches(&[&[kind & !8, 0, low, high, change], &batch[..]].concat());
        let frame = &batch[if kind & 4 == 0 { 0 } else { 8 }..];
        let length = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
        let mut facts = frame[20..20 + length].to_vec();
        changes.iter().for_each(|(place, change)| facts[place.index(length)] ^= change);
        let (how, body) = (kind & 7 | 8 | versions & 0x70, &b"body"[..usize::from(versions % 4)]);
        lycosa_fuzz::batches(&[&[how, body.len() as u8, low, high, change], &facts[..], body].concat());
    }

    #[test]
    fn snapshot(first in 0..4u8, records in vec(vec(prop_oneof![6 => 0..4u8, 1 => any::<u8>()], 0..20), 0..12)) {
        let record = |record: Vec<u8>| [&(record.len() as u16).to_le_bytes(), &record[..]].concat();
        let data: Vec<u8> = records.into_iter().flat_map(record).collect();
        lycosa_fuzz::snapshot(&[&[first], &data[..]].concat());
    }

    #[test]
    fn any_bytes(data in vec(any::<u8>(), 0..200)) {
        for (_, target) in lycosa_fuzz::TARGETS {
            target(&data);
        }
    }
}

#[test]
fn a_megabyte_ends_in_time() {
    for word in
        ["a", "/", "*", "%41", "é", "\n", "allow: /*a\n", "a.", "<a href=x", "<title>", "&amp;", "x: y\r\n"]
    {
        let data = "http://".to_owned() + &word.repeat((1 << 20) / word.len());
        for (_, target) in lycosa_fuzz::TARGETS.iter().filter(|(name, _)| !FIXED_SIZE.contains(name)) {
            target(data.as_bytes());
        }
        lycosa_fuzz::robots(format!("{}\nuser-agent: *\ndisallow: {data}", "a".repeat(8_000)).as_bytes());
    }
}

/// Targets of which a megabyte says nothing: what they read never is as large, or they make much of each byte.
const FIXED_SIZE: &[&str] =
    &["names_cache", "cache_file", "response", "cookies", "headers", "codings", "log", "log_repair"];
