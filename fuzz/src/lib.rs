//! Fuzz targets as functions: `cargo fuzz run url --features libfuzzer` (nightly) drives them by coverage, `tests/random.rs`
//! by chance in every `make test`.
//!
//! Each target opens with its one invariant.

#![allow(clippy::panic, clippy::expect_used, reason = "a target tells by panicking")]

use std::time::{Duration, Instant};

use lycosa_frontier::Rules;
use lycosa_names::{BadName, HostName};
use lycosa_url::{BadUrl, Base, CanonicalRules, CrawlUrl, MAX_URL_BYTES, registered_domain};

/// Invariant: any text is a canonical URL or has a reason; the canonical form is a fixed point, by whatever way it was reached.
/// The first line is the page, the rest a link in it.
pub fn url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (page, reference) = text.split_once('\n').unwrap_or((&text, ""));
    let url = match CrawlUrl::parse(page) {
        Ok(url) => url,
        Err(reason) => return assert!(reason.as_str().starts_with("url-")),
    };
    check(&url);
    let rules = CanonicalRules { sort_query: true, ..CanonicalRules::default() };
    let base = Base::with_rules(&url, &rules).expect("a canonical URL is a base");
    if let Ok(link) = base.join(reference) {
        check(&link);
        assert_eq!(base.join(link.as_str()), Ok(link));
    }
    match base.join_as_given(reference) {
        Ok(given) => {
            check(&given);
            // Redirects and links that no rule touches take the same way as a whole URL.
            assert_eq!(CrawlUrl::parse(given.as_str()), Ok(given));
        }
        Err(BadUrl::Relative) => panic!("a page makes every reference absolute"),
        Err(_) => {}
    }
}

/// What holds for every canonical URL.
fn check(url: &CrawlUrl) {
    assert!(url.as_str().is_ascii() && url.as_str().len() <= MAX_URL_BYTES);
    assert!(!url.as_str().bytes().any(|byte| byte <= b' ' || byte == b'#' || byte == 0x7f));
    assert_eq!(CrawlUrl::parse(url.as_str()).as_ref(), Ok(url));
    let (host, path) = (url.host(), url.path_and_query());
    assert_eq!(CrawlUrl::from_parts(url.is_https(), host, Some(url.port()), path).as_ref(), Some(url));
    assert_eq!(url.origin().len() + path.len(), url.as_str().len());
    let undotted = |name: &str| name.trim_end_matches('.').to_owned(); // the root's dot belongs to no domain
    assert!(undotted(host).ends_with(&undotted(registered_domain(host))));
    // The library reads the same host and port in it.
    let library = url::Url::parse(url.as_str()).expect("canonical text is a URL");
    assert_eq!((library.host_str(), library.port_or_known_default()), (Some(host), Some(url.port())));
}

/// Invariant: any bytes are a robots.txt, which gives any path one verdict in bounded time, with a line that exists.
/// The first line is the path.
pub fn robots(data: &[u8]) {
    let split = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    let (path, body) = data.split_at(split);
    let path = format!("/{}", String::from_utf8_lossy(path));
    let start = Instant::now();
    let rules = Rules::parse(body, "lycosa");
    let verdict = rules.verdict(&path);
    assert!(start.elapsed() < Duration::from_secs(5), "a verdict in bounded time");
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

/// Invariant: any text is a host name, with one normal form that is its own, or has a reason; and it is the host that the
/// URL standard reads in it.
pub fn name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (mut buffer, mut again) = (String::new(), String::new());
    let library = url::Host::parse(&text);
    match HostName::normalize(&text, &mut buffer) {
        Ok(name) => {
            assert_eq!(HostName::new(name.as_str()), Ok(name));
            assert_eq!(HostName::normalize(name.as_str(), &mut again), Ok(name));
            let Ok(url::Host::Domain(host)) = library else { panic!("{text:?}: a URL has {library:?}") };
            assert_eq!(host.strip_suffix('.').unwrap_or(&host), name.as_str());
        }
        // The URL standard takes escapes out of a host first, and sets no lengths.
        Err(_) if text.contains('%') => {}
        Err(BadName::BadByte | BadName::Idna) => assert!(library.is_err(), "{text:?}: a URL has {library:?}"),
        Err(BadName::Address) => assert!(!matches!(library, Ok(url::Host::Domain(_))), "{text:?}"),
        Err(BadName::Empty | BadName::EmptyLabel | BadName::LongLabel | BadName::TooLong) => {}
        Err(BadName::NotNormal) => panic!("said by HostName::new only"),
    }
}
