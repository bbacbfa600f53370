//! What sites tell the frontier: robots.txt, cookies, Retry-After.

use std::io;

use lycosa_frontier::{Frontier, Resolve, Rules, Settings};
use lycosa_records::{Outcome, Request};
use lycosa_url::{CrawlUrl, Micros, NameClass, Resolved, registered_domain};

use crate::bounds::{FIXED_BYTES, within};
use crate::pages::{fields, page};

/// Invariant: any bytes are a robots.txt, which gives any path one verdict in bounded time, with a line that exists.
/// The first line is the path.
pub fn robots(data: &[u8]) {
    let split = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    let (path, body) = data.split_at(split);
    let path = format!("/{}", String::from_utf8_lossy(path));
    let rules = within(body.len(), FIXED_BYTES + 64 * body.len(), || Rules::parse(body, "lycosa"));
    let verdict = within(data.len(), FIXED_BYTES, || rules.verdict(&path));
    assert_eq!(verdict.line.is_some(), verdict.rule().is_some());
    let lines = body.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count() + 1;
    assert!(verdict.line.is_none_or(|line| line >= 1 && line as usize <= lines));
    assert!(verdict.allowed || verdict.line.is_some(), "what is forbidden is forbidden by a line");
    // What a file says does not depend on how its lines end, nor on a line that is no record.
    let ends: Vec<u8> = body.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect();
    assert_eq!(Rules::parse(&ends, "lycosa").allows(&path), verdict.allowed);
    if body.len() < 1024 {
        let more = [body, b"\nno record\n"].concat();
        assert_eq!(Rules::parse(&more, "lycosa"), rules);
    }
}

/// Bytes of cookies that a frontier may keep here.
const COOKIE_BYTES: usize = 1 << 10;

/// Invariant: a cookie goes only to hosts of the registered domain that set it, to no other host unless it names a domain, to
/// its path, and over https where it says `secure`; the field is short and has no control bytes; what is kept stays within its
/// budget. Lines are URLs to fetch (`> URL`) and the Set-Cookie fields of their responses.
pub fn cookies(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (kept, none) = (crawl_with_cookies(&text, COOKIE_BYTES), crawl_with_cookies(&text, 0));
    // A record of cookies is shorter than what they take in memory.
    assert!(kept <= none + COOKIE_BYTES, "{} bytes of cookies", kept - none);
}

/// Does a crawl that may keep so many bytes of cookies; gives the bytes of its snapshot.
fn crawl_with_cookies(text: &str, cookie_memory: usize) -> usize {
    let mut frontier =
        Frontier::new(Settings { cookie_memory, ..settings() }, Names::default()).expect("nothing on disk");
    let (mut now, mut said) = (NOW, Vec::new());
    for part in text.split("\n> ").take(8) {
        let (url, lines) = part.split_once('\n').unwrap_or((part, ""));
        let Ok(url) = CrawlUrl::parse(url.trim_start_matches("> ")) else { continue };
        let Some(request) = fetch(&mut frontier, &url, &mut now) else { continue };
        check_field(&request, &said);
        let lines: Vec<&str> = lines.lines().collect();
        said.extend(lines.iter().map(|line| (url.clone(), *line)));
        let set = lines.iter().map(|line| ("set-cookie".into(), line.as_bytes().into())).collect();
        let page = answered(request, page(url.as_str(), 200, set, b""), now);
        frontier.done([&page], now).expect("nothing on disk");
    }
    let mut saved = Vec::new();
    frontier.save(&mut saved).expect("memory");
    saved.len()
}

/// What holds for the cookies of a request: each was said by somebody who may.
fn check_field(request: &Request, said: &[(CrawlUrl, &str)]) {
    let Some(field) = &request.cookies else { return };
    assert!(field.len() <= 6 << 10 && !field.bytes().any(|byte| byte < b' ' || byte == 0x7f), "{field:?}");
    let url = &request.url;
    let may = |by: &CrawlUrl, line: &str| {
        let attributes: Vec<&str> = line.split(';').skip(1).map(str::trim).collect();
        let has = |name: &str| {
            attributes
                .iter()
                .any(|part| part.split('=').next().unwrap_or(part).trim().eq_ignore_ascii_case(name))
        };
        registered_domain(by.host()) == registered_domain(url.host())
            && (has("domain") || by.host() == url.host())
            && (!has("secure") || url.is_https())
    };
    for pair in field.split("; ") {
        let (name, value) = pair.split_once('=').expect("a name and a value");
        let stands = |line: &str| line.contains(name) && line.contains(value);
        assert!(
            said.iter().any(|(by, line)| stands(line) && may(by, line)),
            "{pair:?} for {}, of {said:?}",
            url.as_str()
        );
    }
}

/// Invariant: after any Retry-After a host is asked again, not before the seconds that it asks for and not later than the longest
/// pause that is obeyed. The first byte is the status, the lines are fields.
pub fn retry_after(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let status = [429, 503, 403, 404, 500, 410, 408, 200][usize::from(first % 8)];
    let mut fields = fields(rest);
    fields.retain(|(name, _)| matches!(&**name, "retry-after" | "date"));
    let longest = settings().max_retry_after.as_micros() as Micros;
    // Digits only (RFC 9110 section 10.2.3): Rust would take a sign.
    let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = |value| str::from_utf8(value).ok().filter(digits)?.parse::<u32>().ok().map(u64::from);
    let asked = fields.iter().filter(|(name, _)| &**name == "retry-after" && status != 200);
    let asked = asked.filter_map(|(_, value)| seconds(value)).max().unwrap_or(0);
    let url = CrawlUrl::parse("http://example.com/").expect("a URL");
    let mut frontier = Frontier::new(settings(), Names::default()).expect("nothing on disk");
    let mut now = NOW;
    let request = fetch(&mut frontier, &url, &mut now).expect("a new URL");
    let mut page = answered(request, page(url.as_str(), status, fields, b""), now);
    frontier.judge([&mut page]);
    frontier.done([&page], now).expect("nothing on disk");
    let ended = now;
    let next = CrawlUrl::parse("http://example.com/next").expect("a URL");
    let asked = (asked * 1_000_000).min(longest);
    let request = fetch(&mut frontier, &next, &mut now).expect("a host is asked again");
    assert_eq!(request.url.host(), "example.com");
    assert!(now >= ended + asked, "{} µs after {asked} µs were asked for", now - ended);
    assert!(now <= ended + longest.max(70_000_000), "{} µs, at most {longest}", now - ended);
}

/// When the crawls of this file begin.
pub(crate) const NOW: Micros = 1_800_000_000_000_000;

/// A crawl that asks for no robots.txt.
pub(crate) fn settings() -> Settings {
    Settings { robots: false, ..Settings::default() }
}

/// Names, all of one address.
#[derive(Default)]
pub(crate) struct Names(Vec<Resolved>);

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        let result = Ok(vec![[93, 184, 216, 34].into()]);
        let answer = |name| Resolved {
            name,
            elapsed_us: 0,
            expires: Micros::MAX,
            class: NameClass::Fast,
            result: result.clone(),
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

/// Adds a URL and takes it, or what waits before it, as soon as its host may be asked.
fn fetch(frontier: &mut Frontier<Names>, url: &CrawlUrl, now: &mut Micros) -> Option<Request> {
    frontier.add(std::slice::from_ref(url), *now).expect("nothing on disk");
    next(frontier, now).expect("nothing on disk")
}

/// The next request, and the time at which it may be sent; none after ten years.
pub(crate) fn next(frontier: &mut Frontier<Names>, now: &mut Micros) -> io::Result<Option<Request>> {
    let last = NOW + 10 * 365 * 24 * 3_600_000_000;
    for _ in 0..100 {
        if let Some(request) = frontier.take(1, *now)?.pop() {
            return Ok(Some(request));
        }
        match frontier.due_at() {
            Some(due) if due <= last => *now = due.max(*now),
            _ => break,
        }
    }
    Ok(None)
}

/// A page as the answer to a request.
pub(crate) fn answered(request: Request, mut page: Outcome, now: Micros) -> Outcome {
    page.response.request = request;
    page.response.address = page.request().route.addresses().first().copied();
    (page.response.started, page.response.finished) = (now, now);
    page
}
