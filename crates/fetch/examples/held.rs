//! Measures the memory of idle connections: fetches one page of each of many origins on loopback and keeps all connections open.
//!
//! `held PORT COUNT [CA_FILE]`. Prints the connections and the bytes of this process for each. Exit status 1 if a request fails or a
//! connection is not kept.

use std::io;
use std::time::Duration;

use lycosa_fetch::{Fetcher, Settings};
use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, CrawlUrl};

/// Connections before the first measurement: what the process needs once is there then.
const BEFORE: usize = 200;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (Some(port), Some(count)) = (number(), number()) else {
        return Err(io::Error::other("usage: held PORT COUNT [CA_FILE]"));
    };
    let ca_file: Option<std::path::PathBuf> = arguments.next().map(Into::into);
    let scheme = if ca_file.is_some() { "https" } else { "http" };
    let networks = ["127.0.0.0/8"].iter().filter_map(|network| network.parse().ok()).collect();
    let fetcher = Fetcher::start(Settings {
        slots: 64,
        ca_file,
        idle_connections: count,
        idle_timeout: Duration::from_secs(3600),
        policy: AddressPolicy::new(networks),
        ..Settings::default()
    })?;
    fetch(&fetcher, 0..BEFORE, |number| format!("{scheme}://h{number}.bench.example:{port}/page.html"))?;
    let before = settled()?;
    fetch(&fetcher, BEFORE..count, |number| format!("{scheme}://h{number}.bench.example:{port}/page.html"))?;
    let (after, open) = (settled()?, sockets()?);
    println!("{open} connections, {} bytes each", after.saturating_sub(before) / (count - BEFORE));
    if open >= count { Ok(()) } else { Err(io::Error::other(format!("{open} of {count} were kept"))) }
}

/// Fetches one page of each origin.
fn fetch(
    fetcher: &Fetcher,
    mut numbers: std::ops::Range<usize>,
    url: impl Fn(usize) -> String,
) -> io::Result<()> {
    let mut open = numbers.len();
    while open > 0 {
        let urls = numbers.by_ref().take(fetcher.free()).map(|number| CrawlUrl::parse(&url(number)));
        let requests: Vec<_> = urls.filter_map(Result::ok).map(request).collect();
        fetcher.submit(requests);
        for response in fetcher.completed(1_000, Duration::from_millis(50)) {
            open -= 1;
            if let Err(failure) = response.result {
                return Err(io::Error::other(format!("{}: {}", failure.kind.as_str(), failure.detail)));
            }
        }
    }
    Ok(())
}

/// A request to loopback.
fn request(url: CrawlUrl) -> Request {
    let route = Route::Direct(vec![std::net::Ipv4Addr::LOCALHOST.into()]);
    Request { route, deadline: u64::MAX, ..Request::get(url) }
}

/// The memory of this process in bytes, when idle connections have dropped what they drop.
fn settled() -> io::Result<usize> {
    std::thread::sleep(Duration::from_secs(4));
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.map(|pages| pages * 4096).ok_or_else(|| io::Error::other("/proc/self/statm cannot be read"))
}

/// Open sockets of this process.
fn sockets() -> io::Result<usize> {
    let open =
        std::fs::read_dir("/proc/self/fd")?.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    Ok(open.filter(|path| path.to_string_lossy().starts_with("socket:")).count())
}
