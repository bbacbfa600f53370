//! Measures the cost of the encoding: `cost [ROUNDS]` prints one JSON object with the CPU microseconds per
//! record to encode and decode it in each round, in batches of 256: requests, responses, and outcomes with 60
//! links whose bodies are handles.

use std::error::Error;
use std::hint::black_box;

use bytes::Bytes;
use lycosa_records::{
    Body, Head, Links, Outcome, Received, Record, Request, Response, Route, Times, decode, encode,
};
use lycosa_url::{CrawlUrl, NameClass};
use nix::time::{ClockId, clock_gettime};

/// Records of a batch.
const BATCH: usize = 256;

/// Batches of a round.
const BATCHES: usize = 40;

/// Links of a page.
const LINKS: u64 = 60;

/// A page's URL of realistic length.
fn url(host: u64, page: u64) -> CrawlUrl {
    let path = format!("/news/section-{}/article-{page}.html", page % 7);
    CrawlUrl::from_parts(true, &format!("www.host{host}.example.com"), None, &path)
        .unwrap_or_else(|| std::process::exit(1))
}

/// A request of the frontier.
fn request(number: u64) -> Request {
    let addresses = vec![[93, 184, 216, 34].into(), [93, 184, 216, 35].into()];
    let (route, name_class) = (Route::Direct(addresses), Some(NameClass::Fast));
    Request {
        lease: number,
        depth: 3,
        route,
        name_class,
        deadline: 1_800_000_000_000_000,
        ..Request::get(url(7, number))
    }
}

/// A response of fetch.
fn response(number: u64) -> Response {
    let fields = [
        ("Server", "nginx/1.22.1"),
        ("Date", "Tue, 24 Nov 2026 12:00:00 GMT"),
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", "27000"),
        ("Last-Modified", "Mon, 23 Nov 2026 12:00:00 GMT"),
        ("Connection", "keep-alive"),
        ("ETag", "\"67430f5b-6978\""),
        ("Accept-Ranges", "bytes"),
    ];
    let sent = [
        ("host", "www.host7.example.com"),
        ("user-agent", "mybot/1.0 (me@example.org)"),
        ("accept", "text/html"),
    ];
    let received = Received {
        status: 200,
        head: Head::of("HTTP/1.1 200 OK", fields).unwrap_or_default(),
        sent: Head::of("GET /news/section-1/article-1.html HTTP/1.1", sent).unwrap_or_default(),
        body: Body::File {
            path: std::path::Path::new("/var/spool/lycosa/1").into(),
            offset: number << 15,
            length: 27_000,
        },
        ..Received::default()
    };
    let times = Times { connect_us: 0, tls_us: 0, first_byte_us: 400, body_us: 30, wall_offset_us: 0 };
    let (address, started) = (Some([93, 184, 216, 34].into()), 1_800_000_000_000_000);
    Response {
        request: request(number),
        address,
        started,
        finished: started + 500,
        times,
        result: Ok(received),
    }
}

/// An outcome of parse.
fn outcome(number: u64) -> Outcome {
    let mut outcome = Outcome::new(response(number));
    (outcome.charset, outcome.title) = (Some("UTF-8".into()), Some("A title as long as titles are".into()));
    let mut links = Links::default();
    (0..LINKS).for_each(|link| links.push(&url(link % 9, number * LINKS + link), link % 20 == 0));
    (outcome.links, outcome.mark) = (links, number | 2);
    outcome
}

/// Cost of one kind of record: CPU microseconds to encode and to decode one, in each round, and its size in
/// bytes.
struct Cost {
    encode: Vec<f64>,
    decode: Vec<f64>,
    bytes: usize,
}

/// Measures batches of records.
fn measure<T: Record>(records: &[T], rounds: usize) -> Result<Cost, Box<dyn Error>> {
    let mut cost = Cost { encode: Vec::new(), decode: Vec::new(), bytes: 0 };
    let each = 1e6 / (records.len() * BATCHES) as f64;
    for _ in 0..rounds {
        let mut seconds = [0.0; 2];
        for _ in 0..BATCHES {
            let begin = cpu_seconds()?;
            let message = Bytes::from(encode(black_box(records))?);
            let encoded = cpu_seconds()?;
            let read = black_box(decode::<T>(black_box(&message))?);
            let decoded = cpu_seconds()?;
            assert_eq!(read.len(), records.len());
            seconds = [seconds[0] + encoded - begin, seconds[1] + decoded - encoded];
            cost.bytes = message.len() / records.len();
        }
        cost.encode.push(seconds[0] * each);
        cost.decode.push(seconds[1] * each);
    }
    Ok(cost)
}

/// CPU time of this process.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(now.tv_sec() as f64 + now.tv_nsec() as f64 / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(15), |text| text.parse())?;
    let numbers = 0..BATCH as u64;
    let costs = [
        ("request", measure(&numbers.clone().map(request).collect::<Vec<_>>(), rounds)?),
        ("response", measure(&numbers.clone().map(response).collect::<Vec<_>>(), rounds)?),
        ("outcome", measure(&numbers.map(outcome).collect::<Vec<_>>(), rounds)?),
    ];
    let told = costs.iter().map(|(name, Cost { encode, decode, bytes })| {
        format!("\"{name}\": {{\"encode\": {encode:?}, \"decode\": {decode:?}, \"bytes\": {bytes}}}")
    });
    println!("{{{}}}", told.collect::<Vec<_>>().join(", "));
    Ok(())
}
