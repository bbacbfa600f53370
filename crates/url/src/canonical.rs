//! Canonical URLs and their MD5 digests.
//!
//! The canonical form is the WHATWG serialisation without fragment (so: lower-case scheme and host, punycode,
//! no default port, no dot segments) with percent-encoding in normal form ([`crate::escapes`]), and with a
//! single text for each host ([`canonical_host`]). Two URLs are the same to the crawl exactly if their
//! canonical texts are equal. [`CanonicalRules`] map further links to the same page.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::net::Ipv6Addr;
use std::sync::OnceLock;

use url::Url;

use crate::parts::Parts;
use crate::{BadUrl, Base, CanonicalRules, UrlRef, canonical_address, digest_of, escapes, plain};

/// MD5 of the canonical text: the key of dedup and of the ring (SYSTEMS.md section 5).
pub type Digest = [u8; 16];

/// Maximum length of a URL, in bytes, before and after canonicalisation.
pub const MAX_URL_BYTES: usize = 8192;

/// The path of the file in which a site states what it reserves of text and data mining (TDMRep; RFC 8615).
pub const TDMREP_PATH: &str = "/.well-known/tdmrep.json";

/// An absolute `http` or `https` URL in canonical form.
#[derive(Clone)]
pub struct CrawlUrl {
    text: Box<str>,
    parts: Parts,
    /// Computed at its first use: most stages that read a record do not use the digests of its URLs.
    digest: OnceLock<Digest>,
}

/// The schemes that are crawled, with `://`, and their default ports.
const SCHEMES: [(&str, u16); 2] = [("http://", 80), ("https://", 443)];

impl CrawlUrl {
    /// Parses an absolute URL.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.len() > MAX_URL_BYTES {
            return Err(BadUrl::TooLong);
        }
        let mut canonical = String::with_capacity(text.len());
        let parts = match write_plain(text, None, &mut canonical) {
            Some(parts) => parts?,
            None => write_parsed(Url::parse(text)?, None, &mut canonical)?,
        };
        Ok(Self::of(canonical, parts))
    }

    /// The URL of a canonical text.
    pub(crate) fn of(text: String, parts: Parts) -> Self {
        CrawlUrl { text: text.into_boxed_str(), parts, digest: OnceLock::new() }
    }

    /// The URL of a canonical text whose digest is known.
    pub(crate) fn with_digest(text: &str, parts: Parts, digest: Digest) -> Self {
        CrawlUrl { text: text.into(), parts, digest: OnceLock::from(digest) }
    }

    /// Builds a URL from the parts of a [`CrawlUrl`]: `host` as of [`CrawlUrl::host`], `port` as of
    /// [`CrawlUrl::port`] or `None` for the scheme's default, `path_and_query` as of
    /// [`CrawlUrl::path_and_query`]. For texts of this crate only: nothing is parsed (asserted in debug
    /// builds). Returns `None` for an empty host, a path that does not start with `/`, port 0, or more than
    /// [`MAX_URL_BYTES`].
    pub fn from_parts(https: bool, host: &str, port: Option<u16>, path_and_query: &str) -> Option<CrawlUrl> {
        let (scheme, default_port) = SCHEMES[usize::from(https)];
        let port = port.unwrap_or(default_port);
        if host.is_empty() || port == 0 || !path_and_query.starts_with('/') {
            return None;
        }
        // The longest suffix is ":65535".
        let mut text = String::with_capacity(scheme.len() + host.len() + 6 + path_and_query.len());
        text.push_str(scheme);
        text.push_str(host);
        let (host_start, host_end) = (scheme.len(), text.len());
        if port != default_port {
            write!(text, ":{port}").ok()?;
        }
        let path_start = text.len();
        text.push_str(path_and_query);
        let parts = Parts::new(host_start, host_end, path_start, port).ok()?;
        if text.len() > MAX_URL_BYTES {
            return None;
        }
        let url = Self::of(text, parts);
        debug_assert_eq!(
            CrawlUrl::parse(&url.text).as_ref(),
            Ok(&url),
            "parts that are no URL of this crate"
        );
        Some(url)
    }

    /// Borrows the URL.
    pub fn borrow(&self) -> UrlRef<'_> {
        UrlRef::of_parts(&self.text, self.digest(), self.parts)
    }

    /// The positions of its parts.
    pub(crate) fn parts(&self) -> Parts {
        self.parts
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host: a name in lower-case ASCII, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.parts.host(&self.text)
    }

    /// Host and, unless it is the scheme's default, port: the value of the `Host` header.
    pub fn authority(&self) -> &str {
        self.parts.authority(&self.text)
    }

    /// Scheme, host and port: the scope of one robots.txt (RFC 9309 section 2.3).
    pub fn origin(&self) -> &str {
        self.parts.origin(&self.text)
    }

    /// Path and query, as sent in the request line.
    pub fn path_and_query(&self) -> &str {
        self.parts.path_and_query(&self.text)
    }

    /// The port; the scheme's default if the URL has none.
    pub fn port(&self) -> u16 {
        self.parts.port
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.parts.is_https(&self.text)
    }

    /// MD5 of the canonical text.
    pub fn digest(&self) -> &Digest {
        self.digest.get_or_init(|| digest_of(&*self.text))
    }

    /// The URL of this origin's robots.txt.
    pub fn robots(&self) -> CrawlUrl {
        CrawlUrl::of(format!("{}/robots.txt", self.origin()), self.parts)
    }

    /// The URL of this origin's tdmrep.json.
    pub fn tdmrep(&self) -> CrawlUrl {
        CrawlUrl::of(format!("{}{TDMREP_PATH}", self.origin()), self.parts)
    }

    /// Resolves a reference found in a document at this URL, such as a `Location` header.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, BadUrl> {
        Base::new(self)?.join(reference)
    }
}

impl PartialEq for CrawlUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CrawlUrl {}

impl Hash for CrawlUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The canonical text of a host; `None` if it is that of the standard. A trailing dot (the DNS root, RFC 3986
/// section 3.2.2) is removed, and IPv6 that stands for IPv4 becomes IPv4 ([`canonical_address`]). A name with
/// an empty label is an error, since it cannot be resolved.
fn canonical_host(host: &str) -> Result<Option<String>, BadUrl> {
    if let Some(bare) = host.strip_prefix('[') {
        let address: Ipv6Addr = bare.trim_end_matches(']').parse().map_err(|_| BadUrl::Host)?;
        let canonical = canonical_address(address.into());
        return Ok(canonical.is_ipv4().then(|| canonical.to_string()));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.split('.').any(str::is_empty) {
        return Err(BadUrl::Host);
    }
    Ok((name.len() < host.len()).then(|| name.to_owned()))
}

/// Appends the text of an absolute URL that is canonical except for its fragment and a missing path `/`;
/// returns `None`, and appends nothing, if it may not be canonical. The result equals that of
/// [`write_parsed`].
pub(crate) fn write_plain(
    text: &str,
    rules: Option<&CanonicalRules>,
    into: &mut String,
) -> Option<Result<Parts, BadUrl>> {
    let (scheme, port) = SCHEMES.into_iter().find(|(scheme, _)| text.starts_with(scheme))?;
    let host_end = scheme.len() + plain::host(&text.as_bytes()[scheme.len()..])?;
    let tail = &text[host_end..];
    let length = plain::path_and_query(tail.as_bytes(), false)?;
    let start = into.len();
    into.push_str(&text[..host_end]);
    if !tail.starts_with('/') {
        into.push('/');
    }
    into.push_str(&tail[..length]);
    Some(finish(into, start, Parts::new(scheme.len(), host_end, host_end, port), rules))
}

/// Appends the canonical text of a parsed URL; appends nothing if it cannot be crawled.
pub(crate) fn write_parsed(
    mut url: Url,
    rules: Option<&CanonicalRules>,
    into: &mut String,
) -> Result<Parts, BadUrl> {
    let default_port = match url.scheme() {
        "http" => 80,
        "https" => 443,
        _ => return Err(BadUrl::Scheme),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadUrl::UserInfo);
    }
    let port = url.port().unwrap_or(default_port);
    if port == 0 {
        return Err(BadUrl::Port);
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(BadUrl::Host);
    }
    url.set_fragment(None);
    // There is no user info, so the host follows the scheme's "://".
    let host_start = url[..url::Position::BeforeHost].len();
    let host_end = url[..url::Position::AfterHost].len();
    let path_start = url[..url::Position::BeforePath].len();
    let text = url.as_str();
    let host = canonical_host(&text[host_start..host_end])?;
    let start = into.len();
    into.push_str(&text[..host_start]);
    into.push_str(host.as_deref().unwrap_or(&text[host_start..host_end]));
    let new_host_end = into.len() - start;
    into.push_str(&text[host_end..path_start]);
    let new_path_start = into.len() - start;
    match escapes::normalize(&text[path_start..]) {
        Some(tail) => into.push_str(&tail),
        None => into.push_str(&text[path_start..]),
    }
    finish(into, start, Parts::new(host_start, new_host_end, new_path_start, port), rules)
}

/// Applies the rules for links to the text appended from `start` on; removes the text if it is not a URL.
pub(crate) fn finish(
    into: &mut String,
    start: usize,
    parts: Result<Parts, BadUrl>,
    rules: Option<&CanonicalRules>,
) -> Result<Parts, BadUrl> {
    let mut check = || {
        let parts = parts?;
        if let Some(rules) = rules
            && let Some(changed) = rules.apply(&into[start..], usize::from(parts.path_start))
        {
            into.truncate(start);
            into.push_str(&changed);
        }
        if into.len() - start > MAX_URL_BYTES { Err(BadUrl::TooLong) } else { Ok(parts) }
    };
    let checked = check();
    if checked.is_err() {
        into.truncate(start);
    }
    checked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(url: &str) -> Result<String, BadUrl> {
        CrawlUrl::parse(url).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn equal_resources_have_one_text() {
        for url in [
            "HTTP://Example.COM:80/a/../b?q=1#top",
            "http://example.com/./b?q=1",
            "  http://example.com/b?q=1#other ",
        ] {
            assert_eq!(text(url).unwrap(), "http://example.com/b?q=1");
        }
        assert_eq!(text("https://bücher.example").unwrap(), "https://xn--bcher-kva.example/");
    }

    #[test]
    fn one_host_has_one_text() {
        let host = |url: &str| CrawlUrl::parse(url).map(|url| url.as_str().to_owned());
        for spelling in [
            "http://example.com.",
            "http://EXAMPLE.com.:80/",
            "http://example.com\u{3002}/",
            "http://\u{ff45}xample.com/",
            "http://ex%61mple.com./",
        ] {
            assert_eq!(host(spelling).unwrap(), "http://example.com/", "{spelling}");
        }
        for spelling in [
            "http://b\u{fc}cher.example./x",
            "http://XN--BCHER-KVA.example/x",
            "http://BU\u{308}CHER.example/x",
        ] {
            assert_eq!(host(spelling).unwrap(), "http://xn--bcher-kva.example/x", "{spelling}");
        }
        // Current UTS 46 keeps sharp s, small and capital; old browsers read "ss".
        for spelling in ["http://fa\u{df}.example/", "http://FA\u{1e9e}.example./"] {
            assert_eq!(host(spelling).unwrap(), "http://xn--fa-hia.example/", "{spelling}");
        }
        for spelling in [
            "http://1.2.3.4./a",
            "http://0x1.2.772/a",
            "http://0100401404/a",
            "http://16909060/a",
            "http://[::ffff:1.2.3.4]/a",
            "http://[0:0:0:0:0:FFFF:102:304]:80/a",
            "http://[64:ff9b::1.2.3.4]/a",
        ] {
            assert_eq!(host(spelling).unwrap(), "http://1.2.3.4/a", "{spelling}");
        }
        for bad in [
            "http://example.com../",
            "http://a..b/",
            "http://.example.com/",
            "http://./",
            "http://1.2.3.4../",
        ] {
            assert_eq!(host(bad), Err(BadUrl::Host), "{bad}");
        }
        let url = CrawlUrl::parse("https://[64:ff9b::1.2.3.4]:8443/a?b").unwrap();
        assert_eq!((url.authority(), url.path_and_query()), ("1.2.3.4:8443", "/a?b"));
        assert_eq!(url.join("//example.com.:444/?c").unwrap().as_str(), "https://example.com:444/?c");
    }

    #[test]
    fn parts_are_found() {
        let url = CrawlUrl::parse("https://example.com:8443/a?b#c").unwrap();
        assert_eq!((url.host(), url.port(), url.is_https()), ("example.com", 8443, true));
        assert_eq!((url.authority(), url.path_and_query()), ("example.com:8443", "/a?b"));
        assert_eq!(url.origin(), "https://example.com:8443");
        assert_eq!(url.robots().as_str(), "https://example.com:8443/robots.txt");
        assert_eq!(url.robots(), CrawlUrl::parse("https://example.com:8443/robots.txt").unwrap());
        assert_eq!(CrawlUrl::parse("http://[::1]/").unwrap().host(), "[::1]");
    }

    #[test]
    fn bad_urls_have_stable_reasons() {
        for (url, reason) in [
            ("ftp://example.com/", BadUrl::Scheme),
            ("mailto:someone@example.com", BadUrl::Scheme),
            ("http://", BadUrl::Host),
            ("http://exa mple.com/", BadUrl::Host),
            ("http://example.com:99999/", BadUrl::Port),
            ("http://example.com:0/", BadUrl::Port),
            ("http://me:secret@example.com/", BadUrl::UserInfo),
            ("/only/a/path", BadUrl::Relative),
        ] {
            assert_eq!(text(url), Err(reason), "{url}");
        }
        assert_eq!(text(&format!("http://example.com/{}", "a".repeat(1 << 20))), Err(BadUrl::TooLong));
    }

    #[test]
    fn parts_without_a_url_make_none() {
        assert!(CrawlUrl::from_parts(true, "", None, "/").is_none());
        assert!(CrawlUrl::from_parts(true, "example.com", Some(0), "/").is_none());
        assert!(CrawlUrl::from_parts(true, "example.com", None, "a").is_none());
        assert!(
            CrawlUrl::from_parts(true, "example.com", None, &format!("/{}", "a".repeat(MAX_URL_BYTES)))
                .is_none()
        );
        let url = CrawlUrl::from_parts(false, "[::1]", Some(8080), "/a?b").unwrap();
        assert_eq!(url.as_str(), "http://[::1]:8080/a?b");
        assert_eq!(
            url,
            CrawlUrl::from_parts(false, url.host(), Some(url.port()), url.path_and_query()).unwrap()
        );
    }

    proptest! {
        #[test]
        fn the_parts_of_a_canonical_text_are_found_without_parsing(
            text in "https?://([a-z]{1,5}([.][a-z]{1,3})?|[0-9]{1,3}([.][0-9]{1,3}){3}|\\[[0-9a-f:]{2,9}\\])(:[0-9]{1,5})?(/[a-z:/?@]{0,9})?",
        ) {
            if let Ok(url) = CrawlUrl::parse(&text) {
                let found = UrlRef::of_canonical(url.as_str(), url.digest());
                prop_assert_eq!(found, Some(url.borrow()));
                prop_assert_eq!(found.map(UrlRef::to_owned), Some(url.clone()));
            }
        }

        #[test]
        fn any_text_has_parts_or_none(text in "(https?://)?.{0,20}") {
            if let Some(url) = UrlRef::of_canonical(&text, &[0; 16]) {
                let _ = (url.host(), url.authority(), url.origin(), url.path_and_query(), url.port());
            }
        }

        #[test]
        fn canonical_form_is_a_fixed_point(
            url in "(https?://)?([a-c.]{0,4}[.]{0,3}|\\[(::ffff:|64:ff9b::|::)[0-9a-f]{1,4}:[0-9]\\])?[a-zA-Z0-9.é:/?#%&=;@ \\-]{0,60}",
        ) {
            if let Ok(once) = CrawlUrl::parse(&url) {
                let twice = CrawlUrl::parse(once.as_str()).unwrap();
                prop_assert_eq!(&once, &twice);
                prop_assert!(once.path_and_query().starts_with('/'));
                let (host, path) = (once.host(), once.path_and_query());
                let again = CrawlUrl::from_parts(once.is_https(), host, Some(once.port()), path);
                prop_assert_eq!(Some(&once), again.as_ref());
                prop_assert_eq!(format!("{}{}", once.origin(), once.path_and_query()), once.as_str());
            }
        }

        #[test]
        fn any_text_gets_an_answer(url in any::<String>()) {
            let _ = CrawlUrl::parse(&url);
        }
    }
}
