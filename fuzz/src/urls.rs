//! URLs and links.

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
