//! Batches of records, as they travel between processes and lie in other programs' topics.

use std::fmt::Debug;

use bytes::Bytes;
use lycosa_records::frame::Kind;
use lycosa_records::{
    Entry, Outcome, Received, RecordError, Request, Response, Times, decode, decode_entries, encode,
    encode_entries,
};
use lycosa_url::CrawlUrl;

use crate::bounds::{FIXED_BYTES, within};
use crate::frames::{Frame, VERSION};

/// The kinds of frames that facts are put into.
const KINDS: [Kind; 8] = [
    Kind::Request,
    Kind::Response,
    Kind::Page,
    Kind::Robots,
    Kind::Seed,
    Kind::Lease,
    Kind::Page,
    Kind::Robots,
];

/// The versions that such a frame may say.
const VERSIONS: [u8; 4] = [VERSION, 1, 0, VERSION + 1];

/// Invariant: any bytes are the records whose frames they are, or an error, within memory; records encode, and decode again to the
/// same; where a byte of a frame has changed, this frame is told as damaged, and never read as another record. The first byte says
/// what is decoded (bits 0 to 2: a place in [`KINDS`]; from the fifth on records of a log), and whether the rest is a whole batch,
/// or facts in a frame with the right checksums (bit 3), of which version (bits 4 and 5), between two other records (bit 6). Of
/// such a frame the second byte says how many bytes of the rest are its body. The next three say which byte changes, and how.
pub fn batches(data: &[u8]) {
    let [first, second, low, high, change, rest @ ..] = data else { return };
    let (facts, body) = rest.split_at(rest.len() - usize::from(*second).min(rest.len()));
    let place = usize::from(first & 7);
    let (kind, version) = (KINDS[place] as u8, VERSIONS[usize::from(first >> 4 & 3)]);
    let frame = (first & 8 != 0).then_some(Frame { kind, version, facts, body });
    let (is_between, damage) = (first & 0x40 != 0, (u16::from_le_bytes([*low, *high]), *change));
    match place {
        0 => check::<Request>(&message::<Request>(rest, frame, is_between), damage),
        1 => check::<Response>(&message::<Response>(rest, frame, is_between), damage),
        2 | 3 => check::<Outcome>(&message::<Outcome>(rest, frame, is_between), damage),
        _ => check::<Logged>(&message::<Logged>(rest, frame, is_between), damage),
    }
}

/// What is in a batch.
trait Item: PartialEq + Debug + Sized {
    /// Bytes before each frame, for which no checksum speaks.
    const BEFORE: usize = 0;

    /// Reads a batch.
    fn decode(message: &Bytes) -> Result<Vec<Self>, RecordError>;

    /// Writes one.
    fn encode(items: &[Self]) -> Result<Vec<u8>, RecordError>;

    /// What a frame holds. `before`: the bytes before it.
    fn of(frame: &Frame<'_>, before: &[u8]) -> Result<Self, RecordError>;

    /// Any one.
    fn any() -> Self;
}

/// A record of a log, and where it ended there.
type Logged = (Entry<'static>, u64);

impl Item for Request {
    fn decode(message: &Bytes) -> Result<Vec<Self>, RecordError> {
        decode(message)
    }

    fn encode(items: &[Self]) -> Result<Vec<u8>, RecordError> {
        encode(items)
    }

    fn of(frame: &Frame<'_>, _: &[u8]) -> Result<Self, RecordError> {
        frame.request()
    }

    fn any() -> Self {
        Request::get(CrawlUrl::parse("http://example.com/").expect("a URL"))
    }
}

impl Item for Response {
    fn decode(message: &Bytes) -> Result<Vec<Self>, RecordError> {
        decode(message)
    }

    fn encode(items: &[Self]) -> Result<Vec<u8>, RecordError> {
        encode(items)
    }

    fn of(frame: &Frame<'_>, _: &[u8]) -> Result<Self, RecordError> {
        frame.response()
    }

    fn any() -> Self {
        let received = Received { status: 200, body: Bytes::from("a body").into(), ..Received::default() };
        let (times, result) = (Times::default(), Ok(received));
        Response { request: Request::any(), address: None, started: 1, finished: 2, times, result }
    }
}

impl Item for Outcome {
    fn decode(message: &Bytes) -> Result<Vec<Self>, RecordError> {
        decode(message)
    }

    fn encode(items: &[Self]) -> Result<Vec<u8>, RecordError> {
        encode(items)
    }

    fn of(frame: &Frame<'_>, _: &[u8]) -> Result<Self, RecordError> {
        frame.outcome()
    }

    fn any() -> Self {
        Outcome::new(Response::any())
    }
}

impl Item for Logged {
    const BEFORE: usize = 8;

    fn decode(message: &Bytes) -> Result<Vec<Self>, RecordError> {
        decode_entries(message)
    }

    fn encode(items: &[Self]) -> Result<Vec<u8>, RecordError> {
        encode_entries(items.iter().map(|(entry, end)| (entry, *end)))
    }

    fn of(frame: &Frame<'_>, before: &[u8]) -> Result<Self, RecordError> {
        let end = before.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Ok((frame.entry()?, end))
    }

    fn any() -> Self {
        (Entry::Outcome(Outcome::any().into()), 77)
    }
}

/// A batch: bytes as they are, or a frame, alone or between two records.
fn message<T: Item>(rest: &[u8], frame: Option<Frame<'_>>, is_between: bool) -> Bytes {
    let Some(frame) = frame else { return Bytes::copy_from_slice(rest) };
    let other = if is_between { T::encode(&[T::any()]).expect("a record") } else { Vec::new() };
    [&other, &[9; 8][..T::BEFORE], &frame.bytes(), &other].concat().into()
}

/// Decodes a batch, then what was decoded, then the batch with damage: the place of a byte, and what changes there.
fn check<T: Item>(message: &Bytes, damage: (u16, u8)) {
    let given = within(message.len(), FIXED_BYTES + 256 * message.len(), || T::decode(message));
    assert_eq!(given, expected::<T>(message));
    let Ok(items) = given else { return };
    let again = Bytes::from(T::encode(&items).expect("what was decoded"));
    assert_eq!(T::decode(&again).as_ref(), Ok(&items));
    assert_eq!(expected::<T>(&again), Ok(items));
    if !message.is_empty() && damage.1 != 0 {
        damaged::<T>(message, usize::from(damage.0) % message.len(), damage.1);
    }
}

/// What a batch holds, by its frames.
fn expected<T: Item>(message: &[u8]) -> Result<Vec<T>, RecordError> {
    let (mut items, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let (before, rest) = message[at..].split_at_checked(T::BEFORE).ok_or(RecordError::Damaged { at })?;
        at += T::BEFORE;
        let frame = Frame::of(rest).ok_or(RecordError::Damaged { at })?;
        items.push(T::of(&frame, before).map_err(|error| match error {
            RecordError::Damaged { .. } => RecordError::Damaged { at },
            other => other,
        })?);
        at += frame.length();
    }
    Ok(items)
}

/// Changes a byte of a batch whose frames are all whole.
fn damaged<T: Item>(message: &Bytes, place: usize, change: u8) {
    let mut changed = message.to_vec();
    changed[place] ^= change;
    let changed = Bytes::from(changed);
    let given = T::decode(&changed);
    let mut at = T::BEFORE;
    loop {
        let end = at + Frame::of(&message[at..]).expect("a whole frame").length();
        if place < at {
            // Another position; the records are the same.
            assert_eq!(given, expected::<T>(&changed));
            return assert!(given.is_ok_and(|items| expected::<T>(message) != Ok(items)));
        }
        if place < end {
            return assert_eq!(given, Err(RecordError::Damaged { at }));
        }
        at = end + T::BEFORE;
    }
}
