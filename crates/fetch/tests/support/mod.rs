//! Scripted servers: each connection runs its own script and sends exact bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

pub(crate) mod authority;
pub(crate) mod cut;
pub(crate) mod signed;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lycosa_fetch::{Fetcher, Settings};
use lycosa_records::{Received, Request, Response, Route};
use lycosa_url::{AddressPolicy, CrawlUrl, FailureKind};

/// The behaviour of one connection.
pub(crate) type Script = Box<dyn FnOnce(TcpStream) + Send>;

/// A listener whose n-th connection runs the n-th script.
pub(crate) struct Server {
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts the server; connections beyond the scripts are closed at once.
    pub(crate) fn start(scripts: Vec<Script>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = connections.clone();
        std::thread::spawn(move || {
            let mut scripts = scripts.into_iter();
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                if let Some(script) = scripts.next() {
                    std::thread::spawn(move || script(stream.unwrap()));
                }
            }
        });
        Server { address, connections }
    }

    /// A server that responds to its first request with these bytes and closes.
    pub(crate) fn once(bytes: impl Into<Vec<u8>>) -> Server {
        Server::start(vec![once(bytes)])
    }

    /// The number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A request to this server.
    pub(crate) fn request(&self, path: &str) -> Request {
        request(&format!("http://{}{path}", self.address), &[&self.address.ip().to_string()])
    }
}

/// Responds to one request with these bytes and closes.
pub(crate) fn once(bytes: impl Into<Vec<u8>>) -> Script {
    let bytes = bytes.into();
    Box::new(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read(&mut [0; 1]);
    })
}

/// Responds to each request with the next of these, then closes.
pub(crate) fn several(replies: Vec<Vec<u8>>) -> Script {
    Box::new(move |mut stream| {
        for reply in replies {
            if read_request(&mut stream).is_none() {
                return;
            }
            stream.write_all(&reply).unwrap();
        }
    })
}

/// Reads up to the empty line; `None` if the client has closed.
pub(crate) fn read_request(stream: &mut impl Read) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    Some(String::from_utf8(text).unwrap())
}

/// A response with a Content-Length.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Settings that allow loopback and have short limits.
pub(crate) fn settings() -> Settings {
    Settings {
        policy: AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]),
        connect_timeout: Duration::from_millis(1_000),
        read_timeout: Duration::from_millis(300),
        total_timeout: Duration::from_millis(1_500),
        max_body_bytes: 100_000,
        ..Settings::default()
    }
}

/// A request for a URL at these addresses.
pub(crate) fn request(url: &str, addresses: &[&str]) -> Request {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let request = Request::get(CrawlUrl::parse(url).unwrap());
    Request { lease: 1, route: Route::Direct(addresses), deadline: u64::MAX, ..request }
}

/// Fetches one request.
pub(crate) fn fetch(fetcher: &Fetcher, request: Request) -> Response {
    fetcher.submit(vec![request]);
    let mut responses = fetcher.completed(10, Duration::from_secs(10));
    assert_eq!(responses.len(), 1);
    responses.remove(0)
}

/// Fetches one request with a new fetcher.
pub(crate) fn fetch_with(settings: Settings, request: Request) -> Response {
    fetch(&Fetcher::start(settings).unwrap(), request)
}

/// The bytes of a page's body.
pub(crate) fn bytes(page: &Received) -> &bytes::Bytes {
    page.body.memory().unwrap()
}

/// The page of a response that must have one.
pub(crate) fn page(response: Response) -> Received {
    response.result.unwrap()
}

/// The kind of failure of a response that must have one.
pub(crate) fn kind(response: &Response) -> FailureKind {
    match &response.result {
        Err(failure) => failure.kind,
        Ok(received) => panic!("received {} with {} bytes", received.status, received.body.len()),
    }
}
