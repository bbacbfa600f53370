//! What a host costs: a frontier with many hosts of few URLs each, most of them on disk.
//! `hosts COUNT URLS DIRECTORY QUEUE_MIB SEEN_MIB WARM PAGES` prints one JSON object: CPU seconds for admitting URLS URLs of COUNT hosts,
//! each of its own registered domain, then for PAGES pages of them, and peaks of the process's resident memory.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::Instant;

use lycosa_frontier::{Frontier, Scope, Settings};
use lycosa_records::{Head, Outcome, Purpose, Received, Request, Response, Times};
use lycosa_url::{CrawlUrl, Micros};

#[path = "shared/process.rs"]
mod process;

use process::{Names, cpu, memory};

/// URLs that are admitted in one call.
const BATCH: usize = 10_000;

/// A page's URL, as long as real ones.
fn request(host: usize, page: usize) -> Request {
    let path = format!("/news/section-{}/article-{page}.html", host % 7);
    let url = CrawlUrl::from_parts(true, &format!("h{host}.com"), None, &path);
    // A link: seeds may exceed the limits.
    Request { depth: 1, ..Request::get(url.unwrap_or_else(|| std::process::exit(1))) }
}

/// What the stub answers.
fn answer(request: Request, now: Micros, head: &Head) -> Outcome {
    let robots = request.purpose == Purpose::Robots;
    let received =
        Received { status: if robots { 404 } else { 200 }, head: head.clone(), ..Received::default() };
    let address = request.route.addresses().first().copied();
    let times = Times::default();
    Outcome::new(Response { request, address, started: now, finished: now, times, result: Ok(received) })
}

/// Bytes of the files below a directory.
fn disk(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

/// Has so many pages fetched; returns how many were asked for.
fn fetch(frontier: &mut Frontier<Names>, pages: usize) -> std::io::Result<usize> {
    let head = Head::of("HTTP/1.1 200 OK", [("content-type", "text/html")]).unwrap_or_default();
    let (mut now, mut fetched) = (1, 0);
    while fetched < pages && !frontier.idle() {
        let requests = frontier.take(1_000, now)?;
        if requests.is_empty() {
            now = frontier.due_at().unwrap_or(now).max(now + 1);
            continue;
        }
        fetched += requests.len();
        let mut pages: Vec<Outcome> =
            requests.into_iter().map(|request| answer(request, now, &head)).collect();
        frontier.judge(pages.iter_mut());
        frontier.done(pages.iter(), now)?;
        frontier.settled();
        now += 1_000;
    }
    Ok(fetched)
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (hosts, urls) = (number(0, 1_000_000), number(1, 3));
    let directory = Path::new(arguments.get(2).map_or("hosts", String::as_str));
    let settings = Settings {
        scope: Scope::Any,
        queue_memory: number(3, 32) << 20,
        queue_directory: Some(directory.join("queues")),
        seen_memory: number(4, 192) << 20,
        seen_directory: Some(directory.join("seen")),
        warm_hosts: number(5, 50_000),
        ..Settings::default()
    };
    let mut frontier = Frontier::new(settings.clone(), Names::default())?;
    let mut seconds = 0.0;
    for page in 0..urls {
        for begin in (0..hosts).step_by(BATCH) {
            let batch: Vec<Request> =
                (begin..hosts.min(begin + BATCH)).map(|host| request(host, page)).collect();
            let start = cpu();
            frontier.add_requests(&batch, 1)?;
            seconds += cpu() - start;
        }
    }
    let resident = memory("VmRSS");
    let start = cpu();
    let fetched = fetch(&mut frontier, number(6, 200_000))?;
    let fetched_seconds = cpu() - start;
    let path = directory.join("snapshot");
    let begin = Instant::now();
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    frontier.save(&mut file)?;
    file.into_inner()?.sync_all()?;
    let (saved, peak) = (begin.elapsed().as_secs_f64(), memory("VmHWM"));
    let counts = frontier.counts();
    let snapshot_bytes = std::fs::metadata(&path)?.len();
    drop(frontier);
    let begin = Instant::now();
    let mut file = BufReader::with_capacity(1 << 20, File::open(&path)?);
    let (frontier, _) = Frontier::load(settings, Names::default(), &mut file)?;
    let opened = begin.elapsed().as_secs_f64();
    if (frontier.counts().known, frontier.counts().hosts) != (counts.known, counts.hosts) {
        return Err(std::io::Error::other("the snapshot has other URLs or hosts"));
    }
    println!(
        "{{\"hosts\": {}, \"urls\": {}, \"admitted_seconds\": {seconds:.3}, \"resident_bytes\": {resident}, \"fetched\": \
         {fetched}, \"fetched_seconds\": {fetched_seconds:.3}, \"peak_bytes\": {peak}, \"disk_bytes\": {}, \"snapshot_bytes\": \
         {snapshot_bytes}, \"saved_seconds\": {saved:.3}, \"opened_seconds\": {opened:.3}, \"opened_peak_bytes\": {}}}",
        counts.hosts,
        counts.known,
        disk(directory),
        memory("VmHWM"),
    );
    Ok(())
}
