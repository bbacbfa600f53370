//! Makes seeds that need Lycosa's own formats, and dictionaries of the words that matter: `seeds INTO`. Those from the corpora
//! come from `seeds.py`.

#![allow(clippy::expect_used, reason = "a program of tests")]

#[path = "seeds/records.rs"]
mod records;
#[path = "../tests/random/words.rs"]
mod words;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use lycosa_frontier::{Frontier, Resolve, Settings};
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_url::{CrawlUrl, Micros, NameClass, Resolved};

fn main() -> std::io::Result<()> {
    let into = std::env::args().nth(1).expect("a folder");
    let into = Path::new(&into);
    codings(into)?;
    own_formats(into)?;
    let texts = [
        ("url", words::URL),
        ("redirect", words::URL),
        ("robots", words::ROBOTS),
        ("name", words::NAME),
        ("html", words::HTML),
        ("charset", words::HTML),
        ("headers", words::FIELDS),
        ("retry_after", words::FIELDS),
        ("response", words::RESPONSE),
        ("cookies", words::COOKIES),
    ];
    for (target, words) in texts {
        dictionary(into, target, &words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())?;
    }
    for target in ["batches", "log", "log_repair"] {
        dictionary(into, target, words::FACTS)?;
    }
    write(into, "batches", &records::batches())?;
    names(into)?;
    dictionary(into, "message", words::MESSAGE)?;
    dictionary(into, "question", words::QUESTION)
}

/// Replies with records of each type, whole answers, local files; and their words.
fn names(into: &Path) -> std::io::Result<()> {
    let whole = words::RECORDS.iter().filter(|record| record.len() > 12);
    let records = whole.clone().map(|record| [&[1], &record[2..4], record].concat());
    write(into, "records", &records.collect::<Vec<_>>())?;
    let alone = whole.clone().map(|record| [&[1, 0], *record].concat());
    let extended = whole.flat_map(|record| {
        let [behind, before] =
            [[record, words::OPTIONS[1]], [words::OPTIONS[0], record]].map(|two| two.concat());
        [[&[1, 0x10], &behind[..]].concat(), [&[0, 0x20], &before[..]].concat(), [&[0, 1], *record].concat()]
    });
    write(into, "packets", &alone.chain(extended).collect::<Vec<_>>())?;
    let files = [
        "192.0.2.7 printer.lan printer\n",
        "scan.lan CNAME printer.lan\n",
        "nameserver ::1\nsearch lan\n",
        "ndots:2",
        "lan .",
    ];
    let files = files.map(str::as_bytes);
    let words = words::LOCAL.iter().map(|word| [b"192.0.2.9 a.lan\n\xff", *word].concat());
    write(into, "local_names", &words.chain([files.join(&0xff)]).collect::<Vec<_>>())?;
    dictionary(into, "records", words::RECORDS)?;
    dictionary(into, "packets", &[words::RECORDS, words::OPTIONS].concat())?;
    dictionary(into, "local_names", words::LOCAL)
}

/// Writes seeds of a target.
fn write(into: &Path, target: &str, seeds: &[Vec<u8>]) -> std::io::Result<()> {
    let folder = into.join(target);
    fs::create_dir_all(&folder)?;
    seeds
        .iter()
        .enumerate()
        .try_for_each(|(number, seed)| fs::write(folder.join(format!("made-{number:02}")), seed))
}

/// Writes the words of a target as libFuzzer reads them.
fn dictionary(into: &Path, target: &str, words: &[&[u8]]) -> std::io::Result<()> {
    let line = |word: &&[u8]| {
        format!("\"{}\"\n", word.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>())
    };
    fs::write(into.join(format!("{target}.dict")), words.iter().map(line).collect::<String>())
}

/// Texts in each content coding, with the limit before them.
fn codings(into: &Path) -> std::io::Result<()> {
    let texts = [String::new(), "a".repeat(3_000), words::HTML.join(" "), words::RESPONSE.concat()];
    let coded = |encode: &dyn Fn(&[u8]) -> Vec<u8>| -> Vec<Vec<u8>> {
        texts.iter().map(|text| [&[0xff, 0x0f], &encode(text.as_bytes())[..]].concat()).collect()
    };
    let gzip = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
    };
    let zlib = |text: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
    };
    let brotli = |text: &[u8]| {
        let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4_096, 9, 22);
        encoder.write_all(text).expect("memory");
        encoder.into_inner()
    };
    write(
        into,
        "gzip",
        &[coded(&gzip), coded(&|text: &[u8]| [gzip(text), gzip(b"member")].concat())].concat(),
    )?;
    write(into, "deflate", &[coded(&zlib), coded(&|text: &[u8]| zlib(text)[2..].to_vec())].concat())?;
    write(into, "brotli", &coded(&brotli))?;
    write(into, "zstd", &coded(&|text: &[u8]| zstd::encode_all(text, 19).expect("memory")))
}

/// Snapshots, pieces of logs, heads of caches.
fn own_formats(into: &Path) -> std::io::Result<()> {
    let snapshot = snapshot()?;
    let (mut records, mut rest) = (vec![0], &snapshot[..]);
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let length = u64::from_le_bytes(*length) as usize;
        let Some((record, after)) = after.split_at_checked(length) else { break };
        records.extend((length as u16).to_le_bytes());
        records.extend(record);
        rest = after; // until the set of known URLs, whose beginning is no length
    }
    let known = snapshot.len() - rest.len() + 12 + 1 + 16; // behind its magic, kind and secret
    write(into, "seen", &[snapshot[known..snapshot.len() - 4].to_vec()])?;
    write(into, "snapshot", &[records, [&[1], &snapshot[..]].concat()])?;
    let piece = |what: u8, first: &[u8], second: &[u8]| {
        [&[what, first.len() as u8, second.len() as u8], first, second].concat()
    };
    let page = piece(3 | 2 << 3, b"http://example.com/", b"<p>body");
    let (damaged, segment) = (piece(4 | 2 << 3, b"facts", &[]), vec![7, 0, 0]);
    let log = [page.clone(), damaged, page.clone(), segment, page.clone(), vec![5, 1, 9, b'x']].concat();
    // Each kind, of both versions and of a later one, in segments of both; a URL that is opened again; facts as they are.
    let kinds =
        |version: u8| [1, 2, 3, 4].map(|kind| piece(3 | kind << 3 | version << 6, b"a", b"gz")).concat();
    let versions = [kinds(0), vec![7 | 6 << 3, 0, 0], kinds(1), kinds(3)].concat();
    let opened = [page.clone(), piece(3 | 2 << 3, b"http://example.com/", b"four"), page].concat();
    let facts = [(2, 1), (1, 3), (4, 4)].map(|(kind, word)| piece(kind << 3, words::FACTS[word], b"body"));
    let facts = [facts.concat(), piece(2 << 3 | 1 << 6, words::FACTS[5], b"body")].concat();
    write(into, "log", &[log.clone(), versions, opened, facts])?;
    write(into, "log_repair", &[log])?;
    let place = std::env::temp_dir().join(format!("lycosa-seeds-{}", std::process::id()));
    let settings = CompactSettings {
        capacity: 1_000,
        small_sets: Some(16),
        large_sets: Some(16),
        negative_capacity: Some(64),
        ..CompactSettings::default()
    };
    drop(CompactCache::open(&place, settings, 1_800_000_000).expect("a new file"));
    let file = fs::read(&place)?;
    fs::remove_file(place)?;
    let number = |word: usize| file[8 * word..8 * word + 4].to_vec();
    let head: Vec<u8> = [2].into_iter().chain(7..16).flat_map(number).collect();
    write(into, "cache_file", &[[&[0], &head[..]].concat(), [&[0], &head[..], &file[8_192..8_960]].concat()])
}

/// A crawl's state: hosts with waiting URLs, one of them out.
fn snapshot() -> std::io::Result<Vec<u8>> {
    const NOW: Micros = 1_800_000_000_000_000;
    let mut frontier = Frontier::new(Settings { robots: false, ..Settings::default() }, Names::default())?;
    let texts = ["http://a.example/", "http://a.example/b?c", "https://b.example:444/", "http://192.0.2.1/d"];
    let seeds: Vec<CrawlUrl> = texts.iter().filter_map(|text| CrawlUrl::parse(text).ok()).collect();
    frontier.add(&seeds, NOW)?;
    frontier.add_requests(&[records::full_request()], NOW)?;
    for _ in 0..3 {
        drop(frontier.take(1, NOW)?);
    }
    let mut snapshot = Vec::new();
    frontier.save(&mut snapshot)?;
    Ok(snapshot)
}

/// Names, all of one address.
#[derive(Default)]
struct Names(Vec<Resolved>);

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        let answer = |name| Resolved {
            name,
            elapsed_us: 0,
            expires: Micros::MAX,
            class: NameClass::Fast,
            result: Ok(vec![[93, 184, 216, 34].into()]),
            lost: None,
        };
        self.0.extend(names.into_iter().map(answer));
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.0);
    }
}
