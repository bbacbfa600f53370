//! Guarantees of the encoding.

use std::borrow::Cow;
use std::fmt::Debug;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::frame::{FRAME_HEADER_BYTES, Kind, VERSION};
use crate::samples::{any_entry, any_outcome, any_request, any_response, outcome};
use crate::{
    Body, Entry, Outcome, Record, RecordError, Request, Response, decode, decode_entries, encode,
    encode_entries,
};

/// Records after encoding and decoding.
fn through<T: Record + Clone + PartialEq + Debug>(records: &[T]) -> Vec<T> {
    decode(&encode(records).unwrap().into()).unwrap()
}

proptest! {
    #[test]
    fn any_batch_comes_back(
        requests in vec(any_request(), 0..4),
        responses in vec(any_response(), 0..4),
        outcomes in vec(any_outcome(), 0..4),
    ) {
        prop_assert_eq!(&through(&requests), &requests);
        prop_assert_eq!(&through(&responses), &responses);
        prop_assert_eq!(&through(&outcomes), &outcomes);
    }

    #[test]
    fn any_outcome_comes_back_as_json(outcome in any_outcome()) {
        let text = serde_json::to_string(&outcome).unwrap();
        let mut read: Outcome = serde_json::from_str(&text).unwrap();
        if let Ok(received) = &outcome.response.result && received.body.is_memory() {
            read.attach(received.body.clone());
        }
        prop_assert_eq!(read, outcome);
    }

    #[test]
    fn damage_is_told_with_its_place_and_never_read(outcomes in vec(any_outcome(), 1..3), at: prop::sample::Index, bit in 0..8_u8) {
        let mut message = encode(&outcomes).unwrap();
        let at = at.index(message.len());
        message[at] ^= 1_u8 << bit;
        let starts: Vec<usize> = (0..outcomes.len()).map(|n| encode(&outcomes[..n]).unwrap().len()).collect();
        let hit = starts.iter().rposition(|start| *start <= at).unwrap();
        match decode::<Outcome>(&message.into()) {
            Err(RecordError::Damaged { at }) => prop_assert_eq!(at, starts[hit]),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_bytes_get_an_answer(bytes: Vec<u8>, small in any::<bool>()) {
        // Small numbers are more often valid lengths and kinds.
        let bytes = Bytes::from_iter(bytes.into_iter().map(|byte| if small { byte % 8 } else { byte }));
        let _ = (decode::<Request>(&bytes), decode::<Response>(&bytes), decode::<Outcome>(&bytes));
    }
}

proptest! {
    #[test]
    fn records_of_the_log_come_back_with_their_positions(entries in vec((any_entry(), any::<u64>()), 0..5)) {
        let message = encode_entries(entries.iter().map(|(entry, end)| (entry, *end))).unwrap();
        prop_assert_eq!(decode_entries(&message.into()).unwrap(), entries);
    }
}

#[test]
fn bodies_share_the_memory_of_the_message() {
    let message = Bytes::from(encode(&[outcome(1, 5_000)]).unwrap());
    let read: Vec<Outcome> = decode(&message).unwrap();
    let body = read[0].received().unwrap().body.memory().unwrap();
    assert!(message.as_ptr_range().contains(&body.as_ptr()));
    assert_eq!(body.len(), 5_000);
}

#[test]
fn a_body_elsewhere_travels_as_a_handle() {
    let mut page = outcome(1, 0);
    let handle = Body::Log { position: 7, length: 9 };
    page.response.result.as_mut().unwrap().body = handle.clone();
    let message = encode(&[page.clone()]).unwrap();
    let read: Vec<Outcome> = decode(&message.into()).unwrap();
    assert_eq!(read[0].received().unwrap().body, handle);
    assert_eq!((read[0].received().unwrap().body.len(), read[0].body().len()), (9, 0));
}

#[test]
fn a_newer_record_is_refused_with_both_versions_and_another_kind_by_its_name() {
    let message = encode(&[outcome(1, 3)]).unwrap();
    assert_eq!(
        decode::<Request>(&message.clone().into()),
        Err(RecordError::Kind { found: Kind::Page.name() })
    );
    for kind in [Kind::Page as u8, 7] {
        let mut newer = message.clone();
        (newer[8], newer[9]) = (kind, VERSION + 1);
        seal(&mut newer);
        let refused = decode::<Outcome>(&newer.clone().into()).unwrap_err();
        assert_eq!(refused, RecordError::Newer { found: VERSION + 1, known: VERSION });
        assert!(refused.to_string().contains("version 3, this program reads 1 to 2"), "{refused}");
        let mut entries = vec![0; 8];
        entries.extend_from_slice(&newer);
        assert_eq!(decode_entries(&entries.into()).unwrap_err(), refused);
    }
}

#[test]
fn records_of_the_log_are_told_with_their_place_where_they_are_damaged() {
    let first = encode_entries([(&Entry::Outcome(Cow::Owned(outcome(1, 3))), 9)]).unwrap();
    let mut damaged = encode(&[outcome(1, 3)]).unwrap();
    // The map's header counts one member too many.
    damaged[FRAME_HEADER_BYTES] += 1;
    seal(&mut damaged);
    let message = [&first[..], &[0; 8], &damaged].concat();
    let told = decode_entries(&message.into()).unwrap_err();
    assert_eq!(told, RecordError::Damaged { at: first.len() + 8 });
}

/// Recomputes the checksum of a frame's header and facts.
fn seal(frame: &mut [u8]) {
    let mut crc = crc32fast::Hasher::new();
    let facts = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
    crc.update(&frame[..16]);
    crc.update(&frame[FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + facts]);
    let crc = crc.finalize().to_le_bytes();
    frame[16..20].copy_from_slice(&crc);
}

#[test]
fn facts_that_are_nested_too_deep_are_damage_and_no_end_of_the_stack() {
    let mut message = encode(&[outcome(1, 0)]).unwrap();
    let facts = message.split_off(FRAME_HEADER_BYTES);
    // One member more: `fields`, a map in a map in a map.
    let deep = [&[facts[0] + 1], &facts[1..], b"\xa6fields", &b"\x81\xa1x".repeat(1_000), b"\xc0"].concat();
    message[..4].copy_from_slice(&u32::try_from(deep.len()).unwrap().to_le_bytes());
    message.extend(deep);
    seal(&mut message);
    assert_eq!(decode::<Outcome>(&message.into()), Err(RecordError::Damaged { at: 0 }));
}
