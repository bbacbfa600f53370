//! Format of a ledger file. All numbers are little-endian; `varint` is LEB128, `zigzag` a varint of a signed difference.
//!
//! The file consists of [`MAGIC`] (with the version) and blocks. A block consists of a head of 48 bytes and a payload:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | [`MARKER`] |
//! | 1 | kind: 1 header, 2 strings, 3 requests, 4 DNS questions, 5 late completions, 6 end |
//! | 1 | shard: the serving thread of these records |
//! | 2 | 0 |
//! | 4 | number of entries |
//! | 4 | bytes of payload |
//! | 8 | number of entries of this kind and shard in earlier blocks |
//! | 8 | microseconds: all records up to this time are in earlier rounds or in this one |
//! | 4 | connections accepted so far |
//! | 4 | TLS handshakes so far |
//! | 4 | TLS handshakes that failed so far |
//! | 4 | CRC-32 of the 44 bytes before and the payload |
//!
//! Entries: header: JSON. Strings: varint length, UTF-8; numbered from 0 over all blocks. Requests: zigzag
//! time, varint host + 1, page + 1 (0: none), 4 bytes address, zigzag connection, varint body, Retry-After in
//! ms, microseconds until complete, status, and a byte: kind + 8 if complete. Questions: zigzag time, varint
//! host + 1, type, byte response code, byte 1 for TCP. Late completions: zigzag index in the shard, zigzag
//! time. A zigzag is the difference from the previous entry, or from 0 at a block's first entry.

use flate2::Crc;

use super::{Kind, Question, Request};
use crate::secure::Handshakes;

/// Beginning of every ledger file; the number is the version.
pub(super) const MAGIC: &[u8; 16] = b"LYCOSA-LEDGER 1\n";

/// Beginning of every block.
pub(super) const MARKER: [u8; 4] = [0xd7, b'L', b'y', b'B'];

/// Length of a block's head in bytes.
pub(super) const HEAD: usize = 48;

/// Maximum length of a payload in bytes: a longer one is damage.
pub(super) const MAX_PAYLOAD: u32 = 16 << 20;

/// Kinds of requests by their numbers in files; new ones must be appended.
const KINDS: [Kind; 8] = [
    Kind::Page,
    Kind::Robots,
    Kind::Unknown,
    Kind::Misdirected,
    Kind::Bad,
    Kind::Trap,
    Kind::Upgrade,
    Kind::Captive,
];

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    /// Parameters, as JSON; the first block.
    Header = 1,
    /// Strings that requests refer to.
    Strings = 2,
    /// Requests.
    Requests = 3,
    /// DNS questions.
    Questions = 4,
    /// Completions of requests in earlier blocks.
    Late = 5,
    /// No entries: the ledger was closed.
    End = 6,
}

/// A block's head, without marker and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Kind of the block.
    pub(super) content: Content,
    /// The serving thread of the records.
    pub(super) shard: u8,
    /// Number of entries.
    pub(super) count: u32,
    /// Bytes of payload.
    pub(super) length: u32,
    /// Number of earlier entries of this kind and shard.
    pub(super) first: u64,
    /// Microseconds up to which the ledger is complete if all blocks of the round are present.
    pub(super) time: u64,
    /// Connections accepted so far.
    pub(super) connections: u32,
    /// TLS handshakes so far.
    pub(super) handshakes: Handshakes,
}

impl Head {
    /// Encodes the head for `payload`, and sets the length.
    pub(super) fn seal(mut self, payload: &[u8]) -> [u8; HEAD] {
        self.length = payload.len() as u32;
        let mut out = [0; HEAD];
        let (count, length, connections) = (self.count, self.length, self.connections);
        out[..4].copy_from_slice(&MARKER);
        (out[4], out[5]) = (self.content as u8, self.shard);
        out[8..12].copy_from_slice(&count.to_le_bytes());
        out[12..16].copy_from_slice(&length.to_le_bytes());
        out[16..24].copy_from_slice(&self.first.to_le_bytes());
        out[24..32].copy_from_slice(&self.time.to_le_bytes());
        out[32..36].copy_from_slice(&connections.to_le_bytes());
        out[36..40].copy_from_slice(&self.handshakes.good.to_le_bytes());
        out[40..44].copy_from_slice(&self.handshakes.failed.to_le_bytes());
        let sum = checksum(&out[..HEAD - 4], payload);
        out[HEAD - 4..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Parses a head; `None` if it is invalid. Does not check the checksum.
    pub(super) fn parse(bytes: &[u8; HEAD]) -> Option<Self> {
        let short = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        let content = match bytes[4] {
            1 => Content::Header,
            2 => Content::Strings,
            3 => Content::Requests,
            4 => Content::Questions,
            5 => Content::Late,
            6 => Content::End,
            _ => return None,
        };
        let head = Self {
            content,
            shard: bytes[5],
            count: short(8),
            length: short(12),
            first: long(16),
            time: long(24),
            connections: short(32),
            handshakes: Handshakes { good: short(36), failed: short(40) },
        };
        // Every entry has at least one byte.
        let plausible = bytes[..4] == MARKER
            && bytes[6..8] == [0; 2]
            && head.length <= MAX_PAYLOAD
            && head.count <= head.length;
        plausible.then_some(head)
    }

    /// Whether head and payload match the checksum.
    pub(super) fn fits(bytes: &[u8; HEAD], payload: &[u8]) -> bool {
        bytes[HEAD - 4..] == checksum(&bytes[..HEAD - 4], payload).to_le_bytes()
    }
}

/// CRC-32 of a head without its checksum, and the payload.
fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(head);
    crc.update(payload);
    crc.sum()
}

/// Encoder of entries, with the state for differences.
#[derive(Default)]
pub(super) struct Encoder {
    /// The payload.
    pub(super) out: Vec<u8>,
    /// The bases of differences: the last time or index, and the last connection or time.
    last: [u64; 2],
}

impl Encoder {
    /// Starts a new payload and reuses the buffer.
    pub(super) fn clear(&mut self) {
        self.out.clear();
        self.last = [0; 2];
    }

    /// Appends a request.
    pub(super) fn request(&mut self, request: &Request) {
        self.difference(0, request.time);
        // NONE is the maximum and wraps to 0.
        self.varint(u64::from(request.host.wrapping_add(1)));
        self.varint(u64::from(request.page.wrapping_add(1)));
        self.out.extend_from_slice(&request.address.to_le_bytes());
        self.difference(1, u64::from(request.connection));
        self.varint(u64::from(request.body));
        self.varint(u64::from(request.retry_after_ms));
        self.varint(u64::from(request.took));
        self.varint(u64::from(request.status));
        let kind = KINDS.iter().position(|&kind| kind == request.kind).unwrap_or_default();
        self.out.push(kind as u8 | u8::from(request.complete) << 3);
    }

    /// Appends a DNS question.
    pub(super) fn question(&mut self, question: &Question) {
        self.difference(0, question.time);
        self.varint(u64::from(question.host.wrapping_add(1)));
        self.varint(u64::from(question.qtype));
        self.out.extend_from_slice(&[question.rcode, u8::from(question.tcp)]);
    }

    /// Appends a late completion.
    pub(super) fn late(&mut self, place: usize, time: u64) {
        self.difference(0, place as u64);
        self.difference(1, time);
    }

    /// Appends a string.
    pub(super) fn string(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends the difference from the last number of this sort.
    fn difference(&mut self, sort: usize, number: u64) {
        let difference = number.wrapping_sub(self.last[sort]) as i64;
        self.last[sort] = number;
        self.varint((difference << 1 ^ difference >> 63) as u64);
    }

    /// Appends a number as LEB128: seven bits per byte, lowest first.
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }
}

/// Inverse of [`Encoder`]; every method returns `None` at the end or for invalid bytes.
pub(super) struct Decoder<'a> {
    /// The remaining bytes.
    rest: &'a [u8],
    /// As in [`Encoder`].
    last: [u64; 2],
}

impl<'a> Decoder<'a> {
    /// Starts at the beginning of a payload.
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, last: [0; 2] }
    }

    /// Whether everything was read.
    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next request.
    pub(super) fn request(&mut self) -> Option<Request> {
        let mut request = Request {
            time: self.difference(0)?,
            host: self.short()?.wrapping_sub(1),
            page: self.short()?.wrapping_sub(1),
            ..Request::default()
        };
        let (address, rest) = self.rest.split_first_chunk()?;
        (request.address, self.rest) = (u32::from_le_bytes(*address), rest);
        request.connection = u32::try_from(self.difference(1)?).ok()?;
        request.body = self.short()?;
        request.retry_after_ms = self.short()?;
        request.took = self.short()?;
        request.status = u16::try_from(self.varint()?).ok()?;
        let byte = self.byte()?;
        request.kind = *KINDS.get(usize::from(byte & 7))?;
        request.complete = byte & 8 != 0;
        (byte < 16).then_some(request)
    }

    /// The next DNS question.
    pub(super) fn question(&mut self) -> Option<Question> {
        Some(Question {
            time: self.difference(0)?,
            host: self.short()?.wrapping_sub(1),
            qtype: u16::try_from(self.varint()?).ok()?,
            rcode: self.byte()?,
            tcp: self.byte()? == 1,
        })
    }

    /// The next late completion: index and time.
    pub(super) fn late(&mut self) -> Option<(u64, u64)> {
        Some((self.difference(0)?, self.difference(1)?))
    }

    /// The next string.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    /// Decodes a number of a sort from its difference.
    fn difference(&mut self, sort: usize) -> Option<u64> {
        let zigzag = self.varint()?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        self.last[sort] = self.last[sort].wrapping_add(difference);
        Some(self.last[sort])
    }

    /// Decodes a varint of 32 bits; NONE + 1 is encoded as 0, so that all values fit.
    fn short(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// Decodes a varint.
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a byte.
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::NONE;
    use proptest::prelude::*;

    /// Any request.
    fn requests() -> impl Strategy<Value = Request> {
        let number = || prop_oneof![Just(NONE), any::<u32>(), 0_u32..500];
        let sizes = (number(), number(), number());
        (
            any::<u64>(),
            number(),
            number(),
            any::<u32>(),
            any::<u32>(),
            sizes,
            any::<(u16, bool)>(),
            0_usize..7,
        )
            .prop_map(
                move |(time, host, page, address, connection, sizes, (status, complete), kind)| Request {
                    time,
                    host,
                    page,
                    address,
                    connection,
                    body: sizes.0,
                    retry_after_ms: sizes.1,
                    took: sizes.2,
                    status,
                    kind: KINDS[kind],
                    complete,
                },
            )
    }

    proptest! {
        #[test]
        fn requests_come_back(requests in proptest::collection::vec(requests(), 0..20)) {
            let mut encoder = Encoder::default();
            requests.iter().for_each(|r| encoder.request(r));
            let mut decoder = Decoder::new(&encoder.out);
            let back: Option<Vec<_>> = requests.iter().map(|_| decoder.request()).collect();
            prop_assert_eq!(back, Some(requests));
            prop_assert!(decoder.is_done());
        }

        #[test]
        fn questions_strings_and_late_completions_come_back(
            time: u64, place: u32, host: u32, qtype: u16, rcode: u8, tcp: bool, text: String,
        ) {
            let question = Question { time, host, qtype, rcode, tcp };
            let mut encoder = Encoder::default();
            encoder.question(&question);
            encoder.question(&question);
            prop_assert_eq!(Decoder::new(&encoder.out).question(), Some(question));
            encoder.clear();
            encoder.string(&text);
            prop_assert_eq!(Decoder::new(&encoder.out).string(), Some(text.as_str()));
            encoder.clear();
            encoder.late(place as usize, time);
            prop_assert_eq!(Decoder::new(&encoder.out).late(), Some((u64::from(place), time)));
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::new(&bytes);
            while decoder.request().is_some() {}
            let mut decoder = Decoder::new(&bytes);
            while decoder.string().is_some() {}
            if let Some(head) = bytes.first_chunk() {
                Head::parse(head);
            }
        }
    }

    #[test]
    fn a_usual_request_is_small() {
        let mut encoder = Encoder::default();
        for i in 0..1000_u32 {
            encoder.request(&Request {
                time: 3_600_000_000 + u64::from(i) * 50,
                host: i * 97 % 10_000,
                page: i % 300,
                address: 0x7f01_0001,
                connection: 1_000_000 + i,
                body: 27_000,
                took: 200,
                status: 200,
                complete: true,
                ..Request::default()
            });
        }
        assert!(encoder.out.len() <= 24 * 1000, "{}", encoder.out.len());
    }

    #[test]
    fn heads_come_back() {
        let head = Head {
            content: Content::Requests,
            shard: 3,
            count: 2,
            length: 5,
            first: 1 << 40,
            time: u64::MAX,
            connections: 7,
            handshakes: Handshakes { good: 5, failed: 1 << 20 },
        };
        let bytes = head.seal(b"12345");
        assert_eq!(Head::parse(&bytes), Some(head));
        assert!(Head::fits(&bytes, b"12345") && !Head::fits(&bytes, b"12346"));
    }
}
