//! Records of every kind, for the seeds of batches and of snapshots.

use std::path::Path;

use bytes::Bytes;
use lycosa_records::{
    Body, Certificate, Entry, Head, Outcome, Purpose, Received, Request, RequestOptions, Response, Route,
    Step, Task, Times, UsagePreference, Validators, encode,
};
use lycosa_url::{Bound, CrawlUrl, Failure, FailureKind, NameClass};

use crate::words;

/// Batches of each kind, whole and as facts of a frame: records of which nothing is known, and full ones.
pub(crate) fn batches() -> Vec<Vec<u8>> {
    let request = Request { purpose: Purpose::Sitemap, ..full_request() };
    let (empty, outcome) = (Request::get(request.url.clone()), full_outcome(&request));
    let failure = Failure::new(FailureKind::Timeout, "a");
    let failed = Outcome::settled(empty.url.clone(), 1, request.chain.clone(), 7, failure);
    let received = Received { body: Bytes::from("body").into(), ..Received::default() };
    let response = Response { result: Ok(received), ..failed.response.clone() };
    let entries = [Entry::of(&outcome), Entry::accepted(&request, 1), Entry::leased(&request, 1, 2, -3)];
    let entries = entries.map(|entry| {
        let mut batch = vec![7; 8];
        entry.write(&mut batch);
        batch
    });
    let seeds = [
        (0, encode([&empty, &request]).expect("a batch")),
        (0, encode([&request]).expect("a batch")),
        (1, encode([&outcome.response]).expect("a batch")),
        (1, encode([&response]).expect("a batch")),
        (2, encode([&failed]).expect("a batch")),
        (2, encode([&outcome]).expect("a batch")),
        (4, entries[1].clone()),
        (5, entries[2].clone()),
        (6, entries.concat()),
    ];
    let whole = seeds.iter().map(|(place, batch)| [&[*place, 0, 9, 0, 1], &batch[..]].concat());
    let parts = seeds.iter().map(|(place, batch)| first_frame(*place, batch));
    let before = [2, 4, 5, 6].map(|place| [&[place | 8 | 0x10, 0, 9, 0, 1], words::FACTS[5]].concat());
    whole.chain(parts).chain(before).collect()
}

/// Facts and body of a batch's first frame, to be put between two others.
fn first_frame(place: u8, batch: &[u8]) -> Vec<u8> {
    let frame = &batch[if place < 4 { 0 } else { 8 }..];
    let length = |at: usize| usize::from(u16::from_le_bytes([frame[at], frame[at + 1]]));
    let end = 20 + length(0) + length(4);
    [&[place | 8 | 0x40, length(4) as u8, 9, 0, 1], &frame[20..end]].concat()
}

/// An outcome with everything that one may have, its body in a file.
fn full_outcome(request: &Request) -> Outcome {
    let head = |line: &str| Head::of(line, [("A", "b")]).expect("a head");
    let certificate = Certificate { sha256: "00".into(), valid: (-1, 1), ..Certificate::default() };
    let received = Received {
        status: 200,
        head: head("HTTP/1.1 200 OK"),
        body: Body::File { path: Path::new("/a").into(), offset: 1, length: 2 },
        sent: head("GET / HTTP/1.1"),
        certificate: Some(certificate.into()),
        final_url: Some(request.url.clone()),
        ..Received::default()
    };
    let (url, address) = (request.url.clone(), request.route.addresses().first().copied());
    let times = Times { connect_us: 1, wall_offset_us: -1, ..Times::default() };
    let (request, result) = (request.clone(), Ok(received));
    let mut outcome = Outcome::new(Response { request, address, started: 1, finished: 2, times, result });
    (outcome.rules, outcome.charset, outcome.title) =
        (Some("#".into()), Some("UTF-8".into()), Some("t".into()));
    (outcome.noindex, outcome.nofollow, outcome.bad_links, outcome.mark) = (true, true, 1, 2);
    outcome.links.push(&url, true);
    outcome.bounds.add(Bound::Links);
    outcome.fields.insert("f".to_owned(), vec![0.5].into());
    outcome.usage.push(UsagePreference { usage: "u".into(), allowed: true, source: "s".into() });
    (outcome.canonical, outcome.redirect) = (Some(url.clone()), Some(url));
    outcome
}

/// A request with everything that one may have.
pub(crate) fn full_request() -> Request {
    let url = CrawlUrl::parse("http://c.example/d").expect("a URL");
    let metadata = [("k".to_owned(), vec![1, 2].into()), ("l".to_owned(), "m".into())];
    let options = RequestOptions {
        method: "POST".into(),
        headers: vec![("a".into(), "b".into())],
        body: "q=1".into(),
        validators: Validators { etag: Some("\"e\"".into()), last_modified: Some("l".into()) },
        priority: -1,
        metadata: metadata.into_iter().collect(),
        key: "login".into(),
    };
    Request {
        task: Task { job: "j".into(), name: "t".into() }.into(),
        lease: 7,
        depth: 1,
        attempt: 2,
        chain: vec![Step { url: url.clone(), status: 301 }],
        route: Route::Direct(vec![[192, 0, 2, 1].into()]),
        name_us: 3,
        name_class: Some(NameClass::Slow),
        cookies: Some("a=b".into()),
        deadline: 4,
        options: Some(Box::new(options)),
        ..Request::get(url)
    }
}
