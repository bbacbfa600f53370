//! Fuzz targets as functions: `cargo fuzz run url --features libfuzzer` (nightly) drives them by coverage, `tests/random.rs`
//! by chance in every `make test`.
//!
//! Each target opens with its one invariant.

#![allow(clippy::panic, clippy::expect_used, reason = "a target tells by panicking")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lycosa_frontier::Rules;
use lycosa_names::cache::compact::{CompactCache, CompactSettings, KeyRange};
use lycosa_names::cache::{Addresses, Answer, Resolution, Trouble};
use lycosa_names::{BadName, Families, HostName, examine};
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

/// Invariant: any bytes get one answer of a DNS server or none; it repeats number and question, is an answer, has a code, and is
/// at most ten times as long. The first byte says what stands before the others: nothing, a header, a header and a name.
pub fn question(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let header = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, first >> 2 & 3];
    let name = b"\x03WwW\x07example\x00\x00\x01\x00\x01";
    let message = match first & 3 {
        0 => rest.to_vec(),
        1 => [&header, rest].concat(),
        _ => [&header, &name[..], rest].concat(),
    };
    let Some(answer) = lycosa_names::server::examine(&message) else {
        return assert!(message.len() < 12 || message[2] & 0x80 != 0, "silence is for what is no question");
    };
    assert!(answer.len() >= 12 && answer[..2] == message[..2] && answer[2] & 0x80 != 0);
    assert!(answer.len() <= 10 * message.len(), "{} bytes for {}", answer.len(), message.len());
    if answer[5] == 1 && answer.len() > 12 && answer[3] & 0xf == 3 {
        let end = 12 + message[12..].iter().position(|&byte| byte == 0).expect("a name ends") + 5;
        assert_eq!(answer[12..end], message[12..end]);
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

/// Invariant: any bytes are the reply to a question or none, in bounded time; a reply repeats the whole question, its addresses
/// are of the family that was asked for and stand in it byte by byte, and it is none to any other question. The data are what
/// follows a reply's header and question; the first byte says which flags and counts the header has, and whether the question
/// is damaged.
pub fn message(data: &[u8]) {
    const ID: u16 = 0x1234;
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let name = HostName::new("www.example.com").expect("a name");
    let is_v6 = first & 1 == 1;
    let kind = if is_v6 { 28 } else { 1 };
    let code = [0, 0, 0, 3][usize::from(first >> 1 & 3)];
    let question = [b"\x03www\x07example\x03com\0".as_slice(), &[0, kind, 0, 1]].concat();
    let answers = first >> 3 & 7;
    let header = [0x12, 0x34, 0x80, 0x80 | code, 0, 1, 0, answers, 0, first >> 6 & 1, 0, 0];
    let mut message = [header.as_slice(), &question, rest].concat();
    if first & 0x80 != 0 {
        // Damage somewhere: the place, then the change, which may be none.
        let (place, change) = (rest.first().copied().unwrap_or(0), rest.get(1).copied().unwrap_or(0));
        message[usize::from(place) % (header.len() + question.len())] ^= change;
    }
    let start = Instant::now();
    let said = examine(&message, ID, name, is_v6);
    assert!(start.elapsed() < Duration::from_secs(1), "in bounded time");
    let is_whole = message[..2] == header[..2]
        && message[2] & 0xf8 == 0x80
        && message[4..6] == [0, 1]
        && message[header.len()..][..question.len()] == question;
    assert_eq!(said.is_some(), is_whole, "a reply repeats number and question");
    if let Some(Ok((addresses, ttl))) = &said {
        assert!(!addresses.is_empty() && *ttl <= i32::MAX as u32);
        for address in addresses {
            let bytes = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            assert_eq!(address.is_ipv6(), is_v6);
            assert!(
                message.windows(bytes.len()).any(|window| window == bytes),
                "{address} is not in the message"
            );
        }
    }
    for (id, name, is_v6) in
        [(ID ^ 1, "www.example.com", is_v6), (ID, "ww2.example.com", is_v6), (ID, "www.example.com", !is_v6)]
    {
        let other = examine(&message, id, HostName::new(name).expect("a name"), is_v6);
        assert!(said.is_none() || other.is_none(), "the reply to one question is none to another");
    }
    let any = examine(data, ID, name, is_v6);
    assert!(any.is_none() || data.len() >= header.len() + question.len());
}

/// Invariant: a damaged cache of names is refused or used; used, it answers every question, and knows what it is told from then
/// on. The data are changes: four bytes where, one byte what; an odd length cuts the file there.
pub fn names_cache(data: &[u8]) {
    const NOW: u64 = 1_800_000_000;
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("lycosa-fuzz-{}-{number}", std::process::id()));
    let settings = CompactSettings {
        capacity: 1_000,
        small_sets: Some(16),
        large_sets: Some(16),
        secret: Some([7; 16]),
        negative_capacity: Some(64),
        ..CompactSettings::default()
    };
    let names: Vec<String> = (0..40).map(|number| format!("n{number}.example{}.com", number % 4)).collect();
    let name = |number: usize| HostName::new(&names[number]).expect("a name");
    let put = |cache: &CompactCache, number: usize| {
        let v4 = (0..number % 3).map(|n| Ipv4Addr::from(0x0a00_0000 + n as u32)).collect();
        let v6 = (0..number % 5).map(|n| Ipv6Addr::from(1 + n as u128)).collect();
        let answer = match number % 8 {
            6 => Answer::NxDomain,
            7 => Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 },
            _ => Answer::Addresses(Addresses { v4, v6 }),
        };
        let resolution = Resolution { answer, ttl: 3_600, took: 1 };
        cache.put(name(number), Families::Both, &resolution, NOW).then_some(resolution.answer)
    };
    let whole = WHOLE.get_or_init(|| {
        let cache = CompactCache::open(&path, settings.clone(), NOW).expect("a new file");
        (0..names.len()).for_each(|number| drop(put(&cache, number)));
        cache.put_cut(name(9), 900, NOW);
        drop(cache);
        std::fs::read(&path).expect("the new file")
    });
    let mut damaged = whole.clone();
    for change in data.chunks_exact(5) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize % damaged.len();
        damaged[place] ^= change[4];
    }
    if let [low, high, _] = *data.chunks_exact(5).remainder() {
        damaged.truncate(usize::from(u16::from_le_bytes([low, high])));
    }
    std::fs::write(&path, &damaged).expect("a file");
    let start = Instant::now();
    if let Ok(cache) = CompactCache::open(&path, settings, NOW) {
        for number in 0..names.len() {
            drop(cache.get(name(number), Families::Both, NOW).map(|record| record.found()));
        }
        cache.scan(&KeyRange::all(), NOW, |entry| drop(entry.record.found()));
        for number in 0..names.len() {
            if let Some(Answer::Addresses(told)) = put(&cache, number) {
                let found = cache.get(name(number), Families::Both, NOW).map(|record| record.found().answer);
                let nothing = told == Addresses::default();
                assert!(nothing || found == Some(Answer::Addresses(told)), "{number}: {found:?}");
            }
        }
        cache.details();
        cache.count_by_tld(NOW);
        cache.remove(name(1));
        cache.get(name(2), Families::V4, NOW + 3_000_000);
        cache.forget_in(&KeyRange::all());
        assert_eq!(cache.count_in(&KeyRange::all(), NOW), 0);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "in bounded time");
    std::fs::remove_file(&path).expect("the file");
}
