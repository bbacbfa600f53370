//! Transports that live outside of the crate: beside HTTP/1.1, around it, and below it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use lycosa_fetch::{
    Answer, BodyReader, Dial, Dialed, Dialer, Fetcher, Http1, Progress, Settings, Transport, Wire,
};
use lycosa_records::{Received, Request, Route};
use lycosa_url::{Clock, CrawlUrl, Failure, FailureKind, Micros};
use support::*;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Texts that the fetch thread writes and the test reads.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<String>>>);

impl Record {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A dialer for HTTP/1.1.
fn dialer(settings: &Settings) -> io::Result<Dialer> {
    Dialer::new(settings, &[b"http/1.1"])
}

/// Writes what passes over the streams of another dialer.
struct Tapping<D>(D, Record);

impl<D: Dial> Dial for Tapping<D> {
    type Stream = Tapped<D::Stream>;

    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<Self::Stream>, Failure> {
        let Dialed { stream, address, protocol, certificate } = self.0.dial(request, progress).await?;
        self.1.write(format!("to {}", request.url.host()));
        Ok(Dialed { stream: Tapped(stream, self.1.clone()), address, protocol, certificate })
    }
}

struct Tapped<S>(S, Record);

impl<S: AsyncRead + Unpin> AsyncRead for Tapped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.1.write(format!("< {}", String::from_utf8_lossy(&buffer.filled()[before..])));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tapped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.1.write(format!("> {}", String::from_utf8_lossy(&bytes[..written])));
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[test]
fn a_recorder_below_http1_has_every_byte_and_changes_nothing() {
    let server = Server::start(vec![several(vec![ok("one"), ok("two")])]);
    let written = Record::default();
    let tap = written.clone();
    let make = |settings: &Settings| Http1::new(Tapping(dialer(settings)?, tap), settings);
    let fetcher = Fetcher::start_with(settings(), make).unwrap();
    let (one, two) = (fetch(&fetcher, server.request("/1")), fetch(&fetcher, server.request("/2")));
    assert_eq!((one.times.connect_us > 0, two.times.connect_us), (true, 0), "the connection is reused");
    assert_eq!(one.address, Some(server.address.ip()));
    let mut expected = vec!["to 127.0.0.1".to_owned()];
    for response in [one, two] {
        let page = page(response);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        expected.push(format!("> {}\r\n", text(page.sent.raw())));
        expected.push(format!("< {}\r\n{}", text(page.head.raw()), text(bytes(&page))));
    }
    assert_eq!(written.lines(), expected);
}

/// Writes the requests of another transport, and their bodies' sizes when they have ended.
struct Recorder<T>(T, Record);

struct Counted<B>(B, usize, Record);

impl<B: BodyReader> BodyReader for Counted<B> {
    fn promised(&self) -> u64 {
        self.0.promised()
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Failure> {
        let read = self.0.read().await?;
        match &read {
            Some(bytes) => self.1 += bytes.len(),
            None => self.2.write(format!("{} bytes", self.1)),
        }
        Ok(read)
    }
}

impl<T: Transport> Transport for Recorder<T> {
    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<Answer<impl BodyReader>, Failure> {
        self.1.write(request.url.path_and_query());
        let Answer { received, body } = self.0.exchange(request, progress).await?;
        Ok(Answer { received, body: Counted(body, 0, self.1.clone()) })
    }

    fn idle(&self) -> usize {
        self.0.idle()
    }

    fn expire(&self, now: Micros) {
        self.0.expire(now);
    }
}

#[test]
fn a_recorder_around_http1_has_each_exchange_once() {
    let silent: Script = Box::new(|mut stream| {
        read_request(&mut stream);
        read_request(&mut stream);
    });
    let closes = once("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthree");
    let server = Server::start(vec![several(vec![ok("one"), ok("")]), closes, silent]);
    let record = Record::default();
    let inner = record.clone();
    let make = |settings: &Settings| Ok(Recorder(Http1::new(dialer(settings)?, settings)?, inner));
    let fetcher = Fetcher::start_with(settings(), make).unwrap();
    fetch(&fetcher, server.request("/1"));
    fetch(&fetcher, server.request("/2"));
    std::thread::sleep(Duration::from_millis(50)); // the server has closed
    fetch(&fetcher, server.request("/3"));
    assert_eq!(kind(&fetch(&fetcher, server.request("/silent"))), FailureKind::ReadTimeout);
    let expected = ["/1", "3 bytes", "/2", "0 bytes", "/3", "5 bytes", "/silent"];
    assert_eq!(record.lines(), expected, "nothing is repeated, and what ends early has no end");
}

/// Needs no network. What it does depends on the URL's path: it answers after a while in which it shows signs of life or none,
/// connects for a long time, or panics.
struct Slow;

impl Transport for Slow {
    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<Answer<impl BodyReader>, Failure> {
        let wire = Rc::new(Wire::default());
        let path = request.url.path_and_query();
        if path == "/panic" {
            panic!("scripted");
        }
        if path == "/late" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if path != "/connecting" {
            progress.connected("192.0.2.7".parse().unwrap());
            progress.talking(&wire)?;
            wire.sent();
        }
        for _ in 0..6 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if path != "/silent" {
                wire.received();
            }
        }
        progress.times(|times| times.first_byte_us = 7);
        let received = Received { status: 200, ..Received::default() };
        Ok(Answer { received, body: Bytes::from("x".repeat(path.len())) })
    }

    fn idle(&self) -> usize {
        0
    }

    fn expire(&self, _: Micros) {}
}

/// A fetcher with that transport, one slot and a short time-out for connecting.
fn slow() -> Fetcher {
    let settings = Settings { connect_timeout: Duration::from_millis(250), slots: 1, ..settings() };
    Fetcher::start_with(settings, |_| Ok(Slow)).unwrap()
}

fn example(path: &str) -> Request {
    request(&format!("http://example.com{path}"), &["192.0.2.7"])
}

#[test]
fn a_transport_that_takes_long_lives_as_long_as_it_shows_signs_of_life() {
    let fetcher = slow();
    let alive = fetch(&fetcher, example("/alive"));
    assert_eq!((alive.address, alive.times.first_byte_us), (Some("192.0.2.7".parse().unwrap()), 7));
    assert_eq!(*bytes(&page(alive)), "xxxxxx");
    assert_eq!(kind(&fetch(&fetcher, example("/silent"))), FailureKind::ReadTimeout);
    let connecting = fetch(&fetcher, example("/connecting"));
    assert_eq!((kind(&connecting), connecting.address), (FailureKind::ConnectTimeout, None));
}

#[test]
fn what_is_not_sent_before_the_fence_is_not_sent() {
    let fetcher = slow();
    let now = Clock::shared().now();
    fetcher.set_fence(now + 50_000);
    let late = fetch(&fetcher, example("/late"));
    assert_eq!(kind(&late), FailureKind::Cancelled, "it was passed while the connection was opened");
    let begun = fetch(&fetcher, example("/alive"));
    assert_eq!((kind(&begun), begun.address), (FailureKind::Cancelled, None), "nothing is begun beyond it");
    fetcher.set_fence(Clock::shared().now() + 60_000_000);
    assert_eq!(*bytes(&page(fetch(&fetcher, example("/late")))), "xxxxx");
}

#[test]
fn what_was_begun_before_the_fence_was_passed_is_not_sent_once_it_is_put_off() {
    let fetcher = slow();
    fetcher.set_fence(Clock::shared().now() + 20_000);
    fetcher.submit(vec![example("/late")]);
    std::thread::sleep(Duration::from_millis(50));
    fetcher.set_fence(Clock::shared().now() + 60_000_000);
    assert_eq!(kind(&fetcher.completed(1, Duration::from_secs(5)).remove(0)), FailureKind::Cancelled);
}

#[test]
fn what_is_recalled_is_not_sent() {
    let fetcher = slow();
    fetcher.submit(vec![example("/late"), example("/alive")]);
    std::thread::sleep(Duration::from_millis(20));
    fetcher.recall();
    for _ in 0..2 {
        assert_eq!(kind(&fetcher.completed(1, Duration::from_secs(5)).remove(0)), FailureKind::Cancelled);
    }
    assert_eq!(*bytes(&page(fetch(&fetcher, example("/late")))), "xxxxx");
}

#[test]
fn what_was_sent_before_the_fence_goes_on() {
    let fetcher = slow();
    fetcher.set_fence(Clock::shared().now() + 100_000);
    assert_eq!(*bytes(&page(fetch(&fetcher, example("/alive")))), "xxxxxx");
}

#[test]
fn the_limit_of_bodies_holds_for_every_transport() {
    let settings = Settings { max_body_bytes: 5, ..settings() };
    let fetcher = Fetcher::start_with(settings, |_| Ok(Slow)).unwrap();
    assert_eq!(kind(&fetch(&fetcher, example("/alive"))), FailureKind::BodyTooLarge);
}

#[test]
fn a_panic_is_a_failure_of_its_url_and_takes_no_slot() {
    let fetcher = slow();
    for _ in 0..2 {
        let panicked = fetch(&fetcher, example("/panic"));
        assert_eq!(kind(&panicked), FailureKind::Internal, "not given back, to be fetched for ever");
        assert_eq!(*bytes(&page(fetch(&fetcher, example("/alive")))), "xxxxxx");
    }
    assert_eq!((fetcher.free(), fetcher.in_flight()), (1, 0));
}

/// Sends requests by a proxy of the job to that proxy, which needs no CONNECT, and all others straight to their site.
struct Proxying(Dialer);

impl Dial for Proxying {
    type Stream = <Dialer as Dial>::Stream;

    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<Self::Stream>, Failure> {
        let Route::Proxy { name: proxy, .. } = &request.route else {
            return self.0.dial(request, progress).await;
        };
        let url = CrawlUrl::parse(proxy).unwrap();
        let route = Route::Direct(vec![url.host().parse().unwrap()]);
        self.0.dial(&Request { url, route, ..request.clone() }, progress).await
    }
}

#[test]
fn a_connection_to_a_proxy_is_kept_for_requests_by_that_proxy() {
    let site = Server::start(vec![several(vec![ok("one"), ok("two")])]);
    let proxy = Server::start(vec![several(vec![ok("by proxy"), ok("again")])]);
    let make = |settings: &Settings| Http1::new(Proxying(dialer(settings)?), settings);
    let fetcher = Fetcher::start_with(settings(), make).unwrap();
    let by_proxy = || {
        let route = Route::default().by(Some(&format!("http://{}/", proxy.address)));
        Request { route, ..site.request("/") }
    };
    let bodies: Vec<String> = [site.request("/"), by_proxy(), by_proxy(), site.request("/")]
        .into_iter()
        .map(|request| String::from_utf8(bytes(&page(fetch(&fetcher, request))).to_vec()).unwrap())
        .collect();
    assert_eq!(bodies, ["one", "by proxy", "again", "two"]);
    assert_eq!((site.connections(), proxy.connections()), (1, 1));
}

/// Ends the fetch thread by a defect of its own.
struct Defective;

impl Transport for Defective {
    async fn exchange(&self, _: &Request, _: &Progress) -> Result<Answer<impl BodyReader>, Failure> {
        std::future::pending::<Result<Answer<Bytes>, Failure>>().await
    }

    fn idle(&self) -> usize {
        0
    }

    fn expire(&self, _: Micros) {
        panic!("a defect, which the test makes");
    }
}

#[test]
fn a_fetch_thread_that_has_ended_is_noticed() {
    let fetcher = Fetcher::start_with(settings(), |_| Ok(Defective)).unwrap();
    assert!(fetcher.check().is_ok(), "it waits for orders");
    fetcher.submit(vec![request("http://a.com/", &["127.0.0.1"])]);
    assert!(fetcher.completed(1, Duration::from_secs(2)).is_empty());
    assert!(fetcher.check().unwrap_err().to_string().contains("has ended"));
}
