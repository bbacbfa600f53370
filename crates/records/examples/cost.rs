//! What the encoding costs: `cost [ROUNDS]` prints one JSON object with the CPU microseconds that a record takes to be encoded and
//! decoded, in batches of 256: requests, responses, and outcomes with 60 links whose bodies travel by handle.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use lycosa_records::{
    Body, Head, Links, Outcome, Received, Record, Request, Response, Route, Times, decode, encode,
};
use lycosa_url::{CrawlUrl, NameClass};

/// Records of a batch.
const BATCH: usize = 256;

/// Links of a page.
const LINKS: u64 = 60;

/// A page's URL, as long as real ones.
fn url(host: u64, page: u64) -> CrawlUrl {
    let path = format!("/news/section-{}/article-{page}.html", page % 7);
    CrawlUrl::from_parts(true, &format!("www.host{host}.example.com"), None, &path)
        .unwrap_or_else(|| std::process::exit(1))
}

/// What the frontier gives.
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

/// What fetch gives.
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

/// What parse gives.
fn outcome(number: u64) -> Outcome {
    let mut outcome = Outcome::new(response(number));
    (outcome.charset, outcome.title) = (Some("UTF-8".into()), Some("A title as long as titles are".into()));
    let mut links = Links::default();
    (0..LINKS).for_each(|link| links.push(&url(link % 9, number * LINKS + link), link % 20 == 0));
    (outcome.links, outcome.mark) = (links, number | 2);
    outcome
}

/// Microseconds to encode and to decode one record, the least of the rounds, and the bytes of one.
fn measure<T: Record>(records: &[T], rounds: usize) -> [f64; 3] {
    let mut best = [f64::MAX; 2];
    let mut bytes = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let Ok(message) = encode(black_box(records)) else { std::process::exit(1) };
        best[0] = best[0].min(begin.elapsed().as_secs_f64());
        bytes = message.len();
        let message = Bytes::from(message);
        let begin = Instant::now();
        let Ok(read) = decode::<T>(black_box(&message)) else { std::process::exit(1) };
        best[1] = best[1].min(begin.elapsed().as_secs_f64());
        if read.len() != records.len() {
            std::process::exit(1);
        }
    }
    let each = |seconds: f64| seconds * 1e6 / records.len() as f64;
    [each(best[0]), each(best[1]), bytes as f64 / records.len() as f64]
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    let requests: Vec<Request> = (0..BATCH as u64).map(request).collect();
    let responses: Vec<Response> = (0..BATCH as u64).map(response).collect();
    let outcomes: Vec<Outcome> = (0..BATCH as u64).map(outcome).collect();
    let told = |name: &str, [encode, decode, bytes]: [f64; 3]| {
        format!(
            "\"{name}\": {{\"encode_us\": {encode:.3}, \"decode_us\": {decode:.3}, \"bytes\": {bytes:.0}}}"
        )
    };
    println!(
        "{{{}, {}, {}}}",
        told("request", measure(&requests, rounds)),
        told("response", measure(&responses, rounds)),
        told("outcome", measure(&outcomes, rounds))
    );
}
