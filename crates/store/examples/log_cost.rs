//! CPU time of the log per page of 27 KB with 60 links: `cargo run --release -p lycosa-store --example log_cost`.
//! With `PATH` as an argument the log is created there (a tmpfs shows the cost without the disk).

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use lycosa_records::{Entry, Head, Outcome, Received, Request, Response, Times};
use lycosa_store::{Bodies, Judge, Log, LogSettings, Reader, Snapshots, export, import, story};
use lycosa_url::CrawlUrl;

/// Pages in the log.
const PAGES: usize = 40_000;

/// Pages appended at once, as the crawl's loop does.
const BATCH: usize = 256;

/// Admits everything.
struct Open;

impl Judge for Open {
    fn include(&mut self, _: &CrawlUrl) {}

    fn check(&self, _: u32, _: bool) -> Option<&'static str> {
        None
    }

    fn robots(&self, _: u16, _: Option<&str>, _: &[u8]) -> Option<String> {
        None
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or(temporary.path().to_owned(), PathBuf::from);
    let bodies = [0, 27 * 1024];
    for body in bodies {
        let path = directory.join(format!("log-{body}"));
        println!("pages with 60 links and {body} bytes of body");
        let entries: Vec<Entry<'static>> = (0..BATCH).map(|number| page(number, body)).collect();
        let mut log = Log::open(&path, LogSettings::default())?;
        measure("append and commit", PAGES, || {
            for _ in 0..PAGES.div_ceil(BATCH) {
                log.append(entries.iter().cloned())?;
            }
            Ok(log.sync()?)
        })?;
        measure("clone of the entries alone", PAGES, || {
            for _ in 0..PAGES.div_ceil(BATCH) {
                std::hint::black_box(entries.to_vec());
            }
            Ok(())
        })?;
        println!("  {:.0} bytes per page", log.end() as f64 / PAGES as f64);
        for wanted in [Bodies::None, Bodies::All] {
            measure(&format!("read, bodies {wanted:?}"), PAGES, || {
                let mut reader = Reader::open(&path, wanted)?;
                while !reader.read(1000, 8 << 20)?.is_empty() {}
                Ok(())
            })?;
        }
        let url = url("http://www.example.com/not/there");
        measure("story", PAGES, || story(&path, &url, &mut Open).map(|_| ()).map_err(Into::into))?;
        let mut text = Vec::new();
        measure("export", PAGES, || export(&path, &mut text).map(|_| ()).map_err(Into::into))?;
        let mut copy = Log::open(&directory.join(format!("copy-{body}")), LogSettings::default())?;
        measure("import", PAGES, || import(&mut &text[..], &mut copy).map(|_| ()).map_err(Into::into))?;
    }
    small(&directory)?;
    snapshots(&directory)
}

/// Frames without links: seeds.
fn small(directory: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    const FRAMES: usize = 2_000_000;
    println!("seeds");
    let path = directory.join("log-small");
    let seed = Request::get(url("http://www.example.com/some/path/page.html"));
    let mut log = Log::open(&path, LogSettings::default())?;
    measure("append and commit", FRAMES, || {
        for _ in 0..FRAMES / 1000 {
            log.append((0..1000).map(|_| Entry::accepted(&seed, 1)))?;
        }
        Ok(log.sync()?)
    })?;
    measure("read", FRAMES, || {
        let mut reader = Reader::open(&path, Bodies::Robots)?;
        while !reader.read(1000, 8 << 20)?.is_empty() {}
        Ok(())
    })
}

/// A snapshot of 1 GB.
fn snapshots(directory: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    const MEGABYTES: usize = 1000;
    println!("snapshot, per megabyte");
    let snapshots = Snapshots::open(&directory.join("snapshots"), 0)?;
    let part = vec![7; 100];
    measure("write", MEGABYTES, || {
        let unfinished = snapshots.begin(5)?;
        unfinished.write(|into| (0..MEGABYTES * 10_000).try_for_each(|_| into.write_all(&part)))?;
        unfinished.complete()?;
        Ok(())
    })?;
    measure("read", MEGABYTES, || {
        for opened in snapshots.newest(5)? {
            let mut reader = opened?;
            io::copy(&mut reader, &mut io::sink())?;
            reader.finish()?;
        }
        Ok(())
    })
}

/// A URL.
fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap_or_else(|_| std::process::exit(1))
}

/// A typical page.
fn page(number: usize, body: usize) -> Entry<'static> {
    let fields = [
        ("content-type", "text/html; charset=utf-8"),
        ("server", "nginx"),
        ("date", "Sat, 21 Nov 2026 09:01:01 GMT"),
        ("content-length", "27648"),
    ];
    let received = Received {
        status: 200,
        head: Head::of("HTTP/1.1 200 OK", fields).unwrap_or_default(),
        body: bytes::Bytes::from(vec![b'x'; body]).into(),
        ..Received::default()
    };
    let request = Request {
        depth: 3,
        lease: 1_000_000 + number as u64,
        ..Request::get(url(&format!("http://www.example.com/section-{number}/index.html")))
    };
    let times = Times { first_byte_us: 80_000, body_us: 20_000, ..Times::default() };
    let (address, started, finished) =
        ("192.0.2.7".parse().ok(), 1_795_251_661_500_000, 1_795_251_661_600_000);
    let mut outcome =
        Outcome::new(Response { request, address, started, finished, times, result: Ok(received) });
    (outcome.charset, outcome.title) = (Some("UTF-8".into()), Some("An article among many".into()));
    (0..60).for_each(|link| {
        outcome
            .links
            .push(&url(&format!("http://www.example.com/section-{number}/article-{link}.html")), false);
    });
    Entry::Outcome(outcome.into())
}
/// Runs work and prints its cost per piece: user and system CPU time, and wall time.
fn measure(
    name: &str,
    pieces: usize,
    work: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (before, wall) = (cpu_seconds()?, Instant::now());
    work()?;
    let (after, wall) = (cpu_seconds()?, wall.elapsed().as_secs_f64());
    let each = |seconds: f64| seconds * 1e6 / pieces as f64;
    let [user, system] = [0, 1].map(|index| each(after[index] - before[index]));
    println!("  {name:28} {user:8.2} µs user {system:8.2} µs system {:8.2} µs wall", each(wall));
    Ok(())
}

/// User and system CPU time of this process so far, over all threads; Linux counts it in hundredths of a second.
fn cpu_seconds() -> io::Result<[f64; 2]> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let mut fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    Ok([(); 2].map(|()| fields.next().and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0) / 100.0))
}
