//! Third-party test cases and real URLs, from `LYCOSA_CORPORA` or `../shared/corpora` beside the checkout.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use lycosa_url::{BadUrl, Base, CanonicalRules, CrawlUrl, registered_domain};
use serde_json::Value;
use url::{Host, Url};

/// The folder of the corpora, if it exists.
fn corpora() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let folder = std::env::var_os("LYCOSA_CORPORA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("third-party cases are skipped: no corpora at {} (set LYCOSA_CORPORA)", folder.display());
        return None;
    }
    Some(folder)
}

/// The expected canonical form of a URL that the library parsed, without normalisation of escapes.
///
/// The host deviates from the standard's serialisation on purpose: a trailing dot is removed, IPv6 that
/// stands for IPv4 becomes IPv4, and a name with an empty label is refused.
fn expected(mut url: Url) -> Result<String, BadUrl> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BadUrl::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadUrl::UserInfo);
    }
    if url.port() == Some(0) {
        return Err(BadUrl::Port);
    }
    url.set_fragment(None);
    let host = match url.host() {
        Some(Host::Domain(name)) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        Some(Host::Ipv6(v6)) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => {
                format!("{}.{}.{}.{}", a >> 8, a & 0xff, b >> 8, b & 0xff)
            }
            _ => return Ok(url.into()),
        },
        _ => return Ok(url.into()),
    };
    if host.is_empty() || host.starts_with('.') || host.ends_with('.') || host.contains("..") {
        return Err(BadUrl::Host);
    }
    url.set_host(Some(&host))?;
    Ok(url.into())
}

#[test]
fn real_urls_are_canonical_after_one_pass() {
    let Some(corpora) = corpora() else { return };
    let file = std::fs::File::open(corpora.join("hosts/urls_from_pages_dev.txt.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let rules = CanonicalRules { sort_query: true, ..CanonicalRules::default() };
    let (mut good, mut bad) = (0, 0);
    for line in text.lines() {
        let library = Url::parse(line).map_err(BadUrl::from).and_then(expected);
        let url = match CrawlUrl::parse(line) {
            Ok(url) => url,
            Err(reason) => {
                assert_eq!(library, Err(reason), "{line}");
                bad += 1;
                continue;
            }
        };
        good += 1;
        assert_eq!(CrawlUrl::parse(url.as_str()), Ok(url.clone()), "{line}");
        // Equal to the library's text, or different in escapes only.
        let library = library.unwrap();
        assert!(library == url.as_str() || library.contains('%'), "{line}: {library} is {url:?}");
        assert_eq!(CrawlUrl::parse(&library), Ok(url.clone()), "{line}");
        let link = Base::with_rules(&url, &rules).unwrap().join(url.as_str()).unwrap();
        let again = Base::with_rules(&link, &rules).unwrap().join(link.as_str()).unwrap();
        assert_eq!(link, again, "{line}");
    }
    assert!(good > 200_000 && bad < 4_000, "{good} {bad}");
}

#[test]
fn whatwg_cases_come_out_as_the_standard_says() {
    let Some(corpora) = corpora() else { return };
    let text = std::fs::read_to_string(corpora.join("url/wpt/urltestdata.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut read = 0;
    for case in cases.iter().filter(|case| case.is_object()) {
        let input = case["input"].as_str().unwrap();
        let base = case["base"].as_str().filter(|base| *base != "about:blank");
        let standard = match case["href"].as_str() {
            None => Err(BadUrl::Syntax),
            Some(href) => Url::parse(href).map_err(BadUrl::from).and_then(expected),
        };
        let ours = match base {
            None => CrawlUrl::parse(input),
            // Only pages of the crawl have links.
            Some(base) => match CrawlUrl::parse(base) {
                Ok(base) => base.join(input),
                Err(_) => continue,
            },
        };
        read += 1;
        let equal = match (&standard, &ours) {
            (Ok(standard), Ok(ours)) => CrawlUrl::parse(standard).as_ref() == Ok(ours),
            (Err(_), Err(_)) => true,
            _ => false,
        };
        assert!(equal, "{case}: {ours:?}");
    }
    assert_eq!(read, 756);
}

#[test]
fn registered_domains_are_those_of_the_lists_own_tests() {
    let Some(corpora) = corpora() else { return };
    let text = std::fs::read_to_string(corpora.join("psl/tests/test_psl.txt")).unwrap();
    let mut checks = 0;
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("checkPublicSuffix(")) {
        let (host, domain) = line.trim_end_matches([';', ')']).split_once(", ").unwrap();
        let unquote = |text: &str| text.strip_prefix('\'').map(|text| text.trim_end_matches('\'').to_owned());
        // Hosts in canonical form; invalid ones (`.com`) have no registered domain.
        let Some(Ok(url)) = unquote(host).map(|host| CrawlUrl::parse(&format!("http://{host}/"))) else {
            continue;
        };
        if url.host().starts_with('.') {
            continue;
        }
        let domain = match unquote(domain) {
            Some(domain) => CrawlUrl::parse(&format!("http://{domain}/")).unwrap().host().to_owned(),
            // The function returns a public suffix itself.
            None => url.host().to_owned(),
        };
        assert_eq!(registered_domain(url.host()), domain, "{line}");
        checks += 1;
    }
    assert!(checks > 60, "{checks}");
}
