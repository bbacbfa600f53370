//! Transports that wrap others: the recorder, and one of a user's own without a network.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::Duration;

use lycosa_fetch::{Exchanges, Fetcher, Http1, Progress, Recorder, Transport};
use lycosa_records::{Received, Request, Route};
use lycosa_url::{Failure, FailureKind, Micros};
use support::*;

/// A fetcher that records, and its record.
fn recorded() -> (Fetcher, Exchanges) {
    let exchanges = Exchanges::default();
    let record = exchanges.clone();
    (Fetcher::start_with(settings(), |http1| Recorder::new(http1, record)).unwrap(), exchanges)
}

#[test]
fn a_recorder_has_each_exchange_once_and_changes_nothing() {
    let closing = several(vec![ok("one"), ok("two")]);
    let server = Server::start(vec![closing, once(ok("three"))]);
    let (fetcher, exchanges) = recorded();
    let (one, two) = (fetch(&fetcher, server.request("/1")), fetch(&fetcher, server.request("/2")));
    assert_eq!((one.times.connect_us > 0, two.times.connect_us), (true, 0), "the connection is reused");
    assert_eq!(one.address, Some(server.address.ip()));
    std::thread::sleep(Duration::from_millis(50)); // the server has closed
    let last = fetch(&fetcher, server.request("/3"));
    let all = exchanges.all();
    assert_eq!(all.len(), 3, "nothing is repeated");
    let targets: Vec<_> =
        all.iter().map(|exchange| exchange.request.url.path_and_query().to_owned()).collect();
    assert_eq!(targets, ["/1", "/2", "/3"]);
    for (exchange, response) in all.into_iter().zip([one, two, last]) {
        assert_eq!(exchange.result, Some(response.result));
    }
}

#[test]
fn an_exchange_that_is_ended_early_has_no_result() {
    let server = Server::start(vec![Box::new(|mut stream| {
        read_request(&mut stream);
        read_request(&mut stream);
    })]);
    let (fetcher, exchanges) = recorded();
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::ReadTimeout);
    assert!(exchanges.all()[0].result.is_none());
}

/// Sends requests by a proxy of the job as if the proxy refused, all others by the other transport.
struct Refusing(Http1);

impl Transport for Refusing {
    async fn exchange(&self, request: &Request, progress: &Progress) -> Result<Received, Failure> {
        match &request.route {
            Route::Proxy(proxy) => Err(Failure::new(FailureKind::ConnectRefused, format!("{proxy} refused"))),
            _ => self.0.exchange(request, progress).await,
        }
    }

    fn idle(&self) -> usize {
        self.0.idle()
    }

    fn expire(&self, now: Micros) {
        self.0.expire(now);
    }
}

#[test]
fn a_transport_of_ones_own_stands_in_front_of_another() {
    let server = Server::once(ok("x"));
    let fetcher = Fetcher::start_with(settings(), Refusing).unwrap();
    let direct = fetch(&fetcher, server.request("/"));
    assert_eq!(*bytes(&page(direct)), "x");
    let route = Route::Proxy("http://proxy.example:3128".into());
    let refused = fetch(&fetcher, Request { route, ..server.request("/") });
    assert_eq!((kind(&refused), server.connections()), (FailureKind::ConnectRefused, 1));
}

/// Ends the fetch thread by a defect of its own.
struct Defective(Http1);

impl Transport for Defective {
    async fn exchange(&self, _request: &Request, _progress: &Progress) -> Result<Received, Failure> {
        std::future::pending().await
    }

    fn idle(&self) -> usize {
        self.0.idle()
    }

    fn expire(&self, _now: Micros) {
        panic!("a defect, which the test makes");
    }
}

#[test]
fn a_fetch_thread_that_has_ended_is_noticed() {
    let fetcher = Fetcher::start_with(settings(), Defective).unwrap();
    assert!(fetcher.check().is_ok(), "it waits for orders");
    fetcher.submit(vec![request("http://a.com/", &["127.0.0.1"])]);
    assert!(fetcher.completed(1, Duration::from_secs(2)).is_empty());
    assert!(fetcher.check().unwrap_err().to_string().contains("has ended"));
}
