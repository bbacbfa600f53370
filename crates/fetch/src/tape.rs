//! Records the heads of request and response, as sent and as received.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use lycosa_records::Head;

/// Maximum size of a recorded head, in bytes; hyper's limit for responses is lower.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// Maximum number of interim responses before a response. Servers send one or two; each costs a search for its end.
const MOST_INTERIM: usize = 64;

/// The heads of the current exchange on a connection. Filled by its stream, read by the exchange.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    sent: RefCell<Recording>,
    received: RefCell<Recording>,
}

impl Tape {
    /// Clears the recordings for a new exchange.
    pub(crate) fn begin(&self) {
        *self.sent.borrow_mut() = Recording::default();
        *self.received.borrow_mut() = Recording::default();
    }

    /// Records sent bytes.
    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.sent.borrow_mut().add(bytes, |_| false);
    }

    /// Records received bytes; fails with more than [`MOST_INTERIM`] interim responses.
    pub(crate) fn received(&self, bytes: &[u8]) -> io::Result<()> {
        let mut received = self.received.borrow_mut();
        received.add(bytes, is_interim);
        if received.passed > MOST_INTERIM {
            let why = format!("more than {MOST_INTERIM} interim responses");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }

    /// The heads, sent and received. What passes afterwards belongs to a body, and is not recorded until [`Tape::begin`].
    pub(crate) fn take(&self) -> (Head, Head) {
        (self.sent.replace(Recording::ended()).head(), self.received.replace(Recording::ended()).head())
    }
}

/// A head that is being recorded.
#[derive(Debug, Default)]
struct Recording {
    bytes: Vec<u8>,
    is_whole: bool,
    /// Heads that were skipped.
    passed: usize,
}

impl Recording {
    /// A recording to which nothing is added.
    fn ended() -> Self {
        Recording { is_whole: true, ..Recording::default() }
    }

    /// Adds bytes as long as they belong to the head. `passes`: whether a complete head is to be skipped,
    /// since another follows.
    fn add(&mut self, mut bytes: &[u8], passes: impl Fn(&[u8]) -> bool) {
        while !self.is_whole && !bytes.is_empty() {
            // Skips empty lines before a status line (RFC 9112 section 2.2).
            if self.bytes.is_empty() {
                let start =
                    bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
                bytes = &bytes[start..];
            }
            let known = self.bytes.len();
            // The end may span known and new bytes.
            let Some(end) = end_of_head(&self.bytes, bytes) else {
                let space = MAX_HEAD_BYTES.saturating_sub(known);
                self.bytes.extend_from_slice(&bytes[..bytes.len().min(space)]);
                self.is_whole = bytes.len() >= space;
                return;
            };
            self.bytes.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            if passes(&self.bytes) {
                self.bytes.clear();
                self.passed += 1;
            } else {
                self.is_whole = true;
            }
        }
    }

    /// The head, without the empty line at its end.
    fn head(self) -> Head {
        let mut bytes = self.bytes;
        let end = bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n")).map(<[u8]>::len);
        if self.is_whole {
            bytes.truncate(end.unwrap_or(bytes.len()));
        }
        bytes.shrink_to_fit();
        Head::new(Bytes::from(bytes))
    }
}

/// The number of new bytes up to the end of the head, which is an empty line; `None` if it does not end in
/// them.
fn end_of_head(known: &[u8], new: &[u8]) -> Option<usize> {
    let last = |count: usize| known.len().checked_sub(count).map_or(b' ', |at| known[at]);
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'\n', &new[from..]) {
        let at = from + at;
        let back = |count: usize| if at >= count { new[at - count] } else { last(count - at) };
        if back(1) == b'\n' || (back(1) == b'\r' && back(2) == b'\n') {
            return Some(at + 1);
        }
        from = at + 1;
    }
    None
}

/// Whether a head is an interim response, which is followed by another (RFC 9110 section 15.2). 101 is not:
/// the protocol changes.
fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    status.starts_with(b"1") && !status.starts_with(b"101")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The recording of bytes that arrive in pieces of this size.
    fn recorded(bytes: &[u8], piece: usize) -> Head {
        let tape = Tape::default();
        tape.begin();
        bytes.chunks(piece).for_each(|piece| tape.received(piece).unwrap());
        tape.take().1
    }

    #[test]
    fn a_head_is_recorded_whatever_its_pieces_and_nothing_of_the_body() {
        let head = "HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n";
        for piece in 1..60 {
            let crlf = format!(
                "\r\nHTTP/1.1 103 Early\r\nL: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n{head}\r\nbody\r\n\r\nmore"
            );
            assert_eq!(recorded(crlf.as_bytes(), piece).raw(), head, "{piece}");
            let bare = "HTTP/1.0 200 OK\nA: 1\n\nbody\n\n";
            assert_eq!(recorded(bare.as_bytes(), piece).raw(), "HTTP/1.0 200 OK\nA: 1\n", "{piece}");
        }
        assert_eq!(recorded(b"HTTP/1.1 200 OK\r\nA", 4).raw(), "HTTP/1.1 200 OK\r\nA");
    }

    #[test]
    fn a_body_that_comes_after_its_head_was_taken_is_not_recorded() {
        let tape = Tape::default();
        tape.begin();
        tape.sent(b"GET / HTTP/1.1\r\n\r\n");
        tape.received(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo").unwrap();
        assert!(tape.take().1.raw().starts_with(b"HTTP/1.1 200 OK"));
        tape.sent(b"more");
        tape.received(b"dy").unwrap();
        let (sent, received) = tape.take();
        assert!(sent.is_empty() && received.is_empty(), "{received:?}");
        tape.begin();
        tape.received(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        assert!(tape.take().1.raw().starts_with(b"HTTP/1.1 204"));
    }

    #[test]
    fn interim_responses_without_end_are_an_error() {
        let tape = Tape::default();
        let interim = b"HTTP/1.1 103 Early\r\n\r\n";
        for _ in 0..2 {
            tape.begin();
            assert!((0..MOST_INTERIM).all(|_| tape.received(interim).is_ok()));
        }
        assert_eq!(tape.received(interim).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_head_without_end_holds_no_more_memory_than_it_may() {
        let endless = recorded(&vec![b'a'; 3 * MAX_HEAD_BYTES], 1000);
        assert_eq!(endless.raw().len(), MAX_HEAD_BYTES);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'1'), Just(b' ')], 0..60), piece in 1usize..9) {
            prop_assert_eq!(recorded(&bytes, piece), recorded(&bytes, 1));
        }
    }
}
