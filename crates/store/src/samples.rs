//! Entries and logs for tests.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use crate::entry::{Entry, Outcome};
use crate::frame::Kind;
use crate::log::{Log, LogSettings};
use crate::reader::{Bodies, Reader};

/// The outcome of a page with a link and a body.
pub(crate) fn page(number: usize, body: usize) -> Entry<'static> {
    let outcome = Outcome {
        url: format!("http://example.com/{number}").into(),
        lease: number as u64,
        status: Some(200),
        links: vec![("http://example.com/".into(), true)],
        headers: vec![("x".into(), vec![0xff, b'a'].into())],
        address: "127.0.0.1".parse().ok(),
        ..Outcome::default()
    };
    Entry { kind: Kind::Page, outcome, body: vec![b'x'; body].into(), skipped: 0, end: 0 }
}

/// Small segments, and commits only when they are asked for.
pub(crate) fn settings(segment_bytes: u64) -> LogSettings {
    LogSettings { segment_bytes, commit_bytes: u64::MAX, commit_interval: Duration::MAX }
}

/// A log with these entries, one a batch; gives where each frame stands, and the end.
pub(crate) fn written(directory: &Path, segment_bytes: u64, entries: &[Entry<'static>]) -> Vec<u64> {
    let mut log = Log::open(directory, settings(segment_bytes)).unwrap();
    for entry in entries {
        log.append([entry.clone()]).unwrap();
    }
    drop(log);
    let mut reader = Reader::open(directory, Bodies::All).unwrap();
    let mut positions = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        positions.push(frame.position);
    }
    assert_eq!(positions.len(), entries.len());
    positions.push(reader.position());
    positions
}

/// Everything that a log holds.
pub(crate) fn read_all(directory: &Path) -> Vec<Entry<'static>> {
    Reader::open(directory, Bodies::All).unwrap().read(usize::MAX, usize::MAX).unwrap()
}

/// Any entry, with empty and odd fields.
pub(crate) fn any_entry() -> impl Strategy<Value = Entry<'static>> {
    let text = || proptest::option::of(any::<String>().prop_map(Into::into));
    let kind = prop_oneof![Just(Kind::Seed), Just(Kind::Page), Just(Kind::Robots), Just(Kind::Lease)];
    let header = (any::<String>().prop_map(Into::into), any::<Vec<u8>>().prop_map(Into::into));
    let lists = (
        proptest::collection::vec(header, 0..4),
        proptest::collection::vec((any::<String>().prop_map(Into::into), any::<bool>()), 0..5),
        proptest::collection::vec((any::<String>().prop_map(Into::into), any::<u16>()), 0..3),
        proptest::collection::vec(any::<u8>(), 0..400),
    );
    let numbers = (
        any::<u64>(),
        any::<u32>(),
        proptest::option::of(any::<u16>()),
        any::<[u64; 2]>(),
        any::<[bool; 3]>(),
    );
    let address = proptest::option::of(any::<std::net::IpAddr>());
    (kind, ".{1,40}", lists, numbers, [text(), text(), text(), text(), text(), text()], address).prop_map(
        |(
            kind,
            url,
            (headers, links, chain, body),
            (lease, depth, status, [started, finished], flags),
            texts,
            address,
        )| {
            let [error, error_detail, charset, title, canonical, redirect] = texts;
            let [retry, noindex, nofollow] = flags;
            let outcome = Outcome {
                url: url.into(),
                chain,
                depth,
                lease,
                attempt: depth / 3,
                retry,
                status,
                error,
                error_detail,
                address,
                started,
                finished,
                name_us: depth / 5,
                dns_class: [None, Some("fast".into()), Some("failed".into())][depth as usize % 3].clone(),
                body_us: depth / 7,
                headers,
                charset,
                title,
                canonical,
                redirect,
                noindex,
                nofollow,
                links,
                ..Outcome::default()
            };
            Entry { kind, outcome, body: body.into(), skipped: 0, end: 0 }
        },
    )
}
