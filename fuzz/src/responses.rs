//! What an HTTP server answers.

use std::cell::RefCell;

use lycosa_fetch::{Examiner, Settings};
use lycosa_records::{Received, Source};

use crate::bounds::{FIXED_BYTES, within};

/// The smallest limits that hyper takes, so that short inputs reach them.
const MAX_HEADER_BYTES: usize = 8 << 10;
const MAX_HEADERS: usize = 20;
const MAX_BODY_BYTES: usize = 2 << 10;

/// Invariant: any bytes that a server sends are one response within the limits or a failure, however they are cut into packets;
/// its head is the one that the server sent with its status, with fields whose values have no line breaks. The first byte is the
/// place of the cut.
pub fn response(data: &[u8]) {
    thread_local! {
        static EXAMINER: RefCell<Examiner> = RefCell::new(Examiner::new(&Settings {
            max_header_bytes: MAX_HEADER_BYTES,
            max_headers: MAX_HEADERS,
            max_body_bytes: MAX_BODY_BYTES,
            ..Settings::default()
        }).expect("settings that can be used"));
    }
    let (first, sent) = data.split_first().unwrap_or((&0, &[]));
    EXAMINER.with_borrow(|examiner| {
        let whole = within(sent.len(), FIXED_BYTES + 2 * sent.len(), || examiner.answer(&[sent]));
        let cut = usize::from(*first) * sent.len() / 256;
        let parts = examiner.answer(&[&sent[..cut], &sent[cut..]]);
        match (whole, parts) {
            (Ok(whole), Ok(parts)) => {
                check(&whole, sent);
                check(&parts, sent);
                // A server that answers before it is asked may be read before the request is written.
                assert_eq!(whole, Received { sent: whole.sent.clone(), ..parts });
            }
            // Which failure depends on the cut: a head that is never complete is judged when it ends, or before.
            (Err(whole), Err(parts)) => {
                for failure in [whole, parts] {
                    assert!(!failure.detail.is_empty() && failure.detail.len() < 1_000, "{}", failure.detail);
                }
            }
            (whole, parts) => panic!("{whole:?}, but cut at {cut}: {parts:?}"),
        }
    });
}

/// What holds for every response to what a server has sent.
fn check(received: &Received, sent: &[u8]) {
    assert!((200..=999).contains(&received.status), "{}", received.status);
    assert!(received.body.len() <= MAX_BODY_BYTES as u64 && received.body.is_memory());
    let head = &received.head;
    assert!(
        head.raw().len() <= MAX_HEADER_BYTES && sent.windows(head.raw().len()).any(|part| part == head.raw())
    );
    let version = match received.source {
        Source::Http10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    assert!(head.line().starts_with(format!("{version} {}", received.status).as_bytes()), "{head:?}");
    assert!(head.fields().count() <= MAX_HEADERS);
    for (name, value) in head.fields() {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{name}: {value:?}");
    }
    let asked = &received.sent;
    let is_request = asked.raw().starts_with(b"GET / HTTP/1.1\r\n") && asked.get("host").is_some();
    assert!(is_request || asked.is_empty(), "{asked:?}");
    assert!(received.certificate.is_none() && received.final_url.is_none());
}
