//! Measures the cost of a request: fetches one URL many times and prints the CPU time of this process per
//! request.
//!
//! `cost URL COUNT SLOTS [CA_FILE]`, for example with nginx on another core; loopback is allowed. Exit status 1 if a request fails.

use std::io;
use std::time::{Duration, Instant};

use lycosa_fetch::{Fetcher, Settings};
use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, CrawlUrl};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = CrawlUrl::parse(&arguments.next().unwrap_or_default()).map_err(io::Error::other)?;
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (count, slots) = (number().unwrap_or(100_000), number().unwrap_or(16));
    let ca_file = arguments.next().map(Into::into);
    let networks = ["127.0.0.0/8"].iter().filter_map(|network| network.parse().ok()).collect();
    let fetcher = Fetcher::start(Settings {
        slots,
        ca_file,
        policy: AddressPolicy::new(networks),
        ..Settings::default()
    })?;
    let (cpu, wall) = (cpu_time()?, Instant::now());
    let (submitted, mut failed, mut bytes) = (&mut 0, 0, 0);
    let mut completed = 0;
    while completed < count {
        let free = fetcher.free().min(count - *submitted);
        *submitted += free;
        fetcher.submit((0..free).map(|_| request(&url)).collect());
        for response in fetcher.completed(slots, Duration::from_millis(50)) {
            completed += 1;
            match response.result {
                Ok(received) => bytes += received.body.len() as usize,
                Err(failure) => {
                    failed += 1;
                    eprintln!("{}: {}", failure.kind.as_str(), failure.detail);
                }
            }
        }
    }
    let (cpu, wall) = (cpu_time()? - cpu, wall.elapsed());
    let per = |duration: Duration| duration.as_secs_f64() * 1e6 / count as f64;
    println!("{count} requests, {failed} failed, {} bytes each", bytes / count);
    println!("{:.1} µs CPU, {:.1} µs wall a request", per(cpu), per(wall));
    if failed == 0 { Ok(()) } else { Err(io::Error::other("requests failed")) }
}

/// A request to loopback.
fn request(url: &CrawlUrl) -> Request {
    let route = Route::Direct(vec![std::net::Ipv4Addr::LOCALHOST.into()]);
    Request { route, deadline: u64::MAX, ..Request::get(url.clone()) }
}

/// User and system time of all threads, from the kernel's run-time counters in nanoseconds.
fn cpu_time() -> io::Result<Duration> {
    let mut total = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        total += text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(total))
}
