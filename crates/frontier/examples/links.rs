//! What a link costs: synthetic pages through the whole frontier and the log, fetch replaced by a stub.
//! `links COUNT DIRECTORY QUEUE_MIB SEEN_MIB` prints one JSON object: CPU seconds of the whole process for COUNT links
//! that are new, then COUNT that are known, and the peak of its resident memory.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use lycosa_frontier::{Frontier, Scope, Settings};
use lycosa_records::{Entry, Head, Outcome, Purpose, Received, Request, Response, Times};
use lycosa_store::{Log, LogSettings};
use lycosa_url::{CrawlUrl, Micros};

#[path = "shared/process.rs"]
mod process;

use process::{Names, cpu, memory};

/// Links of a page, and how many of them lead to its own host: as in real pages, most.
const LINKS: usize = 50;
const OWN: usize = 30;

/// Pages between two looks at the clock: their links are made before it starts.
const CHUNK: usize = 2_000;

/// The synthetic web: how many pages of each host have been linked to.
struct Web {
    linked: Vec<u32>,
    random: u64,
    /// The head of all answers.
    head: Head,
}

impl Web {
    /// The next pseudo-random number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ z >> 31) * bound as u128) >> 64) as usize
    }

    /// A link to a page of a host: one that nobody has linked to, or one that somebody has.
    fn link(&mut self, host: usize, new: bool) -> CrawlUrl {
        let page = if new || self.linked[host] == 0 {
            self.linked[host] += 1;
            self.linked[host]
        } else {
            1 + self.below(self.linked[host] as usize) as u32
        };
        url(host, page)
    }

    /// What the stub answers.
    fn answer(&mut self, request: Request, now: Micros, new: bool) -> Outcome {
        let robots = request.purpose == Purpose::Robots;
        let host: usize = request.url.host()[1..]
            .split_once('.')
            .and_then(|(number, _)| number.parse().ok())
            .unwrap_or_default();
        let received = Received {
            status: if robots { 404 } else { 200 },
            head: self.head.clone(),
            ..Received::default()
        };
        let address = request.route.addresses().first().copied();
        let times = Times::default();
        let response =
            Response { request, address, started: now, finished: now, times, result: Ok(received) };
        let mut page = Outcome::new(response);
        for number in 0..if robots { 0 } else { LINKS } {
            let target = if number < OWN { host } else { self.below(self.linked.len()) };
            page.links.push(&self.link(target, new), false);
        }
        page
    }
}

/// A page's URL, as long as real ones.
fn url(host: usize, page: u32) -> CrawlUrl {
    let path = format!("/news/section-{}/article-{page}.html", page % 7);
    CrawlUrl::from_parts(true, &format!("h{host}.example.com"), None, &path)
        .unwrap_or_else(|| std::process::exit(1))
}

/// Saves a frontier and opens it again; gives what that took, as members of a JSON object.
fn snapshot(mut frontier: Frontier<Names>, settings: Settings, directory: &Path) -> std::io::Result<String> {
    let path = directory.join("snapshot");
    let begin = Instant::now();
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    frontier.save(&mut file)?;
    file.into_inner()?.sync_all()?;
    let saved = begin.elapsed().as_secs_f64();
    let known = frontier.counts().known;
    drop(frontier);
    let begin = Instant::now();
    let mut file = BufReader::with_capacity(1 << 20, File::open(&path)?);
    let (frontier, _) = Frontier::load(settings, Names::default(), &mut file)?;
    let opened = begin.elapsed().as_secs_f64();
    if frontier.counts().known != known {
        return Err(std::io::Error::other("the snapshot has other URLs"));
    }
    let bytes = std::fs::metadata(&path)?.len();
    Ok(format!("\"snapshot_bytes\": {bytes}, \"saved_seconds\": {saved:.3}, \"opened_seconds\": {opened:.3}"))
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let count = number(0, 1_000_000);
    let directory = Path::new(arguments.get(1).map_or("links", String::as_str));
    let hosts = (count / 500).clamp(100, 100_000);
    let settings = Settings {
        scope: Scope::Any,
        host_interval: Duration::from_millis(100),
        queue_memory: number(2, 256) << 20,
        queue_directory: Some(directory.join("queues")),
        seen_memory: number(3, 1024) << 20,
        seen_directory: Some(directory.join("seen")),
        ..Settings::default()
    };
    let head = Head::of("HTTP/1.1 200 OK", [("content-type", "text/html")]).unwrap_or_default();
    let mut web = Web { linked: vec![0; hosts], random: 1, head };
    let mut log = Log::open(&directory.join("log"), LogSettings::default()).map_err(std::io::Error::other)?;
    let mut frontier = Frontier::new(settings.clone(), Names::default())?;
    let mut now = 1;
    let seeds: Vec<CrawlUrl> = (0..hosts).map(|host| web.link(host, true)).collect();
    frontier.add(&seeds, now)?;
    let mut spent = Vec::new();
    for new in [true, false] {
        let (mut links, mut seconds) = (0, 0.0);
        while links < count {
            let start = cpu();
            let requests = frontier.take(CHUNK, now)?;
            seconds += cpu() - start;
            if requests.is_empty() {
                now = frontier.due_at().unwrap_or(now).max(now + 1);
                continue;
            }
            let mut pages: Vec<Outcome> =
                requests.into_iter().map(|request| web.answer(request, now, new)).collect();
            links += pages.iter().map(|page| page.links.len()).sum::<usize>();
            let start = cpu();
            for batch in pages.chunks_mut(256) {
                frontier.judge(batch.iter_mut());
                log.append(batch.iter().map(Entry::of)).map_err(std::io::Error::other)?;
                frontier.done(batch.iter(), now)?;
            }
            seconds += cpu() - start;
        }
        let start = cpu();
        log.sync().map_err(std::io::Error::other)?;
        seconds += cpu() - start;
        spent.push((links, seconds));
    }
    let (counts, peak) = (frontier.counts(), memory("VmHWM"));
    let snapshot = snapshot(frontier, settings, directory)?;
    let [(new, new_seconds), (known, known_seconds)] = spent[..] else { return Ok(()) };
    println!(
        "{{\"new_links\": {new}, \"new_seconds\": {new_seconds:.3}, \"known_links\": {known}, \"known_seconds\": \
         {known_seconds:.3}, \"pages\": {}, \"known\": {}, \"hosts\": {}, \"peak_bytes\": {peak}, \"log_bytes\": {}, {snapshot}}}",
        counts.pages,
        counts.known,
        counts.hosts,
        log.end()
    );
    Ok(())
}
