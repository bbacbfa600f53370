//! The memory budget of responses, and requests whose lease expires.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use lycosa_fetch::{Fetcher, Settings};
use lycosa_url::{Clock, FailureKind};
use support::*;

/// Size of each body, in bytes; the budget suffices for one.
const BODY: usize = 90_000;

/// A response with `Connection: close`.
fn closing(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Waits until a condition is true.
fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn bodies_wait_for_memory_and_no_server_is_blamed_for_it() {
    let body = "b".repeat(BODY);
    let server = Server::start((0..8).map(|_| once(ok(&body))).collect());
    let settings = Settings { memory: 100_000, batch_bytes: 1, slots: 8, ..settings() };
    let (read_timeout, largest) = (settings.read_timeout, settings.max_body_bytes);
    let fetcher = Fetcher::start(settings).unwrap();
    fetcher.submit((0..8).map(|_| server.request("/")).collect());
    until(|| server.connections() == 8 && fetcher.held() > BODY);
    // No response is taken for longer than the read time-out.
    std::thread::sleep(read_timeout * 2);
    assert!(fetcher.held() <= 100_000 + largest, "{}", fetcher.held());
    assert_eq!(fetcher.free(), 0, "no new work without memory");
    for _ in 0..8 {
        let mut taken = fetcher.completed(10, Duration::from_secs(10));
        assert_eq!(taken.len(), 1, "no more at once than the batch limit");
        assert_eq!(bytes(&page(taken.remove(0))).len(), BODY);
        assert!(fetcher.held() <= 100_000 + largest, "{}", fetcher.held());
    }
    assert_eq!((fetcher.held(), fetcher.in_flight(), fetcher.free()), (0, 0, 1));
}

#[test]
fn what_is_given_back_comes_again_first_and_counts_meanwhile() {
    let server = Server::start(["one", "two", "three"].map(|body| once(closing(body))).into());
    let fetcher = Fetcher::start(Settings { slots: 1, ..settings() }).unwrap();
    fetcher.submit((0..3).map(|_| server.request("/")).collect());
    until(|| server.connections() == 3);
    let mut taken = Vec::new();
    while taken.len() < 2 {
        taken.extend(fetcher.completed(2 - taken.len(), Duration::from_secs(1)));
    }
    let held = fetcher.held();
    fetcher.returns().give_back(taken);
    assert!(fetcher.held() > held);
    let mut bodies = Vec::new();
    while bodies.len() < 3 {
        bodies.extend(
            fetcher.completed(9, Duration::from_secs(1)).into_iter().map(|each| bytes(&page(each)).clone()),
        );
    }
    assert_eq!(bodies, ["one", "two", "three"]);
    assert_eq!((fetcher.held(), fetcher.in_flight()), (0, 0));
}

#[test]
fn a_request_that_may_outlive_its_lease_is_not_sent() {
    let server = Server::once(ok("late"));
    let settings = settings();
    let soon = settings.clock.now() + u64::try_from(settings.total_timeout.as_micros()).unwrap();
    let response =
        fetch_with(settings, lycosa_records::Request { deadline: soon - 1, ..server.request("/") });
    assert_eq!(kind(&response), FailureKind::Cancelled);
    assert_eq!(server.connections(), 0, "by then another request of this host may be on its way");
}

#[test]
fn an_exchange_that_waits_for_memory_ends_with_its_lease() {
    let body = "b".repeat(BODY);
    let server = Server::start((0..2).map(|_| once(ok(&body))).collect());
    let total_timeout = Duration::from_millis(500);
    let settings = Settings { memory: 50_000, total_timeout, slots: 2, clock: Clock::shared(), ..settings() };
    let deadline = settings.clock.now() + 1_000_000;
    let fetcher = Fetcher::start(settings).unwrap();
    fetcher.submit((0..2).map(|_| lycosa_records::Request { deadline, ..server.request("/") }).collect());
    // The first exceeds the budget, since no other can continue; until it is taken, the second waits.
    until(|| {
        fetcher.in_flight() == 2 && fetcher.completed(0, Duration::ZERO).is_empty() && fetcher.held() > BODY
    });
    std::thread::sleep(Duration::from_millis(1_200));
    let mut kinds: Vec<_> = fetcher
        .completed(9, Duration::from_secs(1))
        .into_iter()
        .map(|each| each.result.map(|received| received.body.len()).map_err(|failure| failure.kind))
        .collect();
    kinds.sort_by_key(Result::is_err);
    assert_eq!(kinds, [Ok(BODY as u64), Err(FailureKind::Cancelled)]);
}
