//! What the links of one document are resolved against.

use std::borrow::Cow;

use url::Url;

use crate::canonical::Place;
use crate::{BadUrl, CanonicalRules, CrawlUrl, MAX_URL_BYTES, plain};

/// What the links of one document are resolved against; parsed once a document.
pub struct Base<'r> {
    url: Url,
    /// The base as a canonical URL, where it is one; then most references need no parser.
    canonical: Option<CrawlUrl>,
    rules: Option<&'r CanonicalRules>,
}

impl<'r> Base<'r> {
    /// The base of a document that names none. References are taken as they are given.
    pub fn new(document: &CrawlUrl) -> Result<Self, BadUrl> {
        Ok(Base { url: Url::parse(document.as_str())?, canonical: Some(document.clone()), rules: None })
    }

    /// The same, for links: these rules say which are the same page.
    pub fn with_rules(document: &CrawlUrl, rules: &'r CanonicalRules) -> Result<Self, BadUrl> {
        Ok(Base { rules: Some(rules), ..Base::new(document)? })
    }

    /// The base after `<base href>`; a reference that does not parse leaves the base as it is (HTML 4.2.3), and so does one that
    /// makes the base longer than [`MAX_URL_BYTES`].
    pub fn set(&mut self, reference: &str) -> Result<(), BadUrl> {
        if reference.len() > MAX_URL_BYTES {
            return Err(BadUrl::TooLong);
        }
        let url = self.parse(reference)?;
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(BadUrl::TooLong);
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadUrl::Scheme);
        }
        self.canonical = CrawlUrl::from_url(url.clone(), None).ok();
        self.url = url;
        Ok(())
    }

    /// Resolves one reference, by the rules.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, BadUrl> {
        self.resolve(reference, self.rules)
    }

    /// Resolves one reference as it is given: a redirect's target, or what a page says of itself.
    pub fn join_as_given(&self, reference: &str) -> Result<CrawlUrl, BadUrl> {
        self.resolve(reference, None)
    }

    /// Resolves one reference.
    fn resolve(&self, reference: &str, rules: Option<&CanonicalRules>) -> Result<CrawlUrl, BadUrl> {
        if reference.len() > MAX_URL_BYTES {
            return Err(BadUrl::TooLong);
        }
        if let Some(url) = CrawlUrl::parse_plain(reference, rules) {
            return url;
        }
        match self.join_plain(reference, rules) {
            Some(url) => url,
            None => CrawlUrl::from_url(self.parse(reference)?, rules),
        }
    }

    /// Resolves a reference by the library, which takes `///host/` for one without a host (servo/rust-url#1137): the standard
    /// skips further slashes before a host, and so do browsers.
    fn parse(&self, reference: &str) -> Result<Url, url::ParseError> {
        let slashes = ['/', '\\'];
        let trimmed = reference.trim_start_matches(|c: char| c <= ' ');
        match trimmed.strip_prefix(slashes).and_then(|rest| rest.strip_prefix(slashes)) {
            Some(rest) if rest.starts_with(slashes) => {
                self.url.join(&format!("//{}", rest.trim_start_matches(slashes)))
            }
            _ => self.url.join(reference),
        }
    }

    /// Resolves a reference of path or query, or both, that is canonical already; nothing where it may not be. The result is
    /// that of the parser.
    fn join_plain(
        &self,
        reference: &str,
        rules: Option<&CanonicalRules>,
    ) -> Option<Result<CrawlUrl, BadUrl>> {
        let base = self.canonical.as_ref()?;
        let text = reference.as_bytes();
        let kept = match text {
            [b'/', b'/', ..] => return None,
            [b'/', ..] => base.origin().len(),
            [] | [b'#', ..] => base.as_str().len(),
            [b'?', ..] => base.as_str().find('?').unwrap_or(base.as_str().len()),
            _ => directory(base),
        };
        let length = plain::path_and_query(text, text.first() != Some(&b'/'))?;
        let added = &reference[..length];
        // What a colon follows in the first segment is a scheme.
        if let Some(colon) = added.find(':')
            && !added[..colon].contains(['/', '?'])
        {
            return None;
        }
        let host_start = base.origin().len() - base.authority().len();
        let place = Place {
            host_start,
            host_end: host_start + base.host().len(),
            path_start: base.origin().len(),
            port: base.port(),
        };
        let mut joined = String::with_capacity(kept + length);
        joined.push_str(&base.as_str()[..kept]);
        joined.push_str(added);
        Some(place.finish(Cow::Owned(joined), rules))
    }
}

/// The length of a URL up to the last slash of its path, with it.
fn directory(base: &CrawlUrl) -> usize {
    let path = base.path_and_query().split('?').next().unwrap_or_default();
    base.origin().len() + path.rfind('/').map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_follow_the_base() {
        let page = CrawlUrl::parse("http://example.com/news/2024/page.html").unwrap();
        let mut base = Base::new(&page).unwrap();
        assert_eq!(base.join("../old/?a=1#x").unwrap().as_str(), "http://example.com/news/old/?a=1");
        assert_eq!(base.set("javascript:void(0)"), Err(BadUrl::Scheme));
        assert_eq!(base.set(&format!("/{}", "a".repeat(MAX_URL_BYTES - 1))), Err(BadUrl::TooLong));
        assert_eq!(base.join("x").unwrap().as_str(), "http://example.com/news/2024/x");
        base.set("//cdn.example.net/root/").unwrap();
        assert_eq!(base.join("x").unwrap().as_str(), "http://cdn.example.net/root/x");
    }

    #[test]
    fn rules_are_for_links_only() {
        let page = CrawlUrl::parse("http://example.com/").unwrap();
        let rules = CanonicalRules::default();
        let base = Base::with_rules(&page, &rules).unwrap();
        assert_eq!(base.join("/a?utm_source=x#y").unwrap(), page.join("/a").unwrap());
        assert_eq!(base.join("http://Example.com?utm_source=x").unwrap(), page);
        assert_eq!(base.join_as_given("a?utm_source=x").unwrap().path_and_query(), "/a?utm_source=x");
    }

    proptest! {
        #[test]
        fn the_short_way_and_the_parser_agree(
            page in "(/[a-z%2E.;]{0,4}){0,3}([?][a-z%/.]{0,3})?",
            reference in "(https?:(//)?)?([a-zX0-9.-]{0,5}(xn--a|0x1|[.]1|[.]{1,2}|\\[::ffff:1:2\\])?(:[0-9]{0,2})?)?([/?#]?[ -~é\t\\u{a0}]{0,2}[.]{0,2}(%[2-7][0-9A-Fa-f]?)?){0,4}",
        ) {
            let page = CrawlUrl::parse(&format!("http://example.com{page}")).unwrap();
            let base = Base::new(&page).unwrap();
            let parsed = base.parse(&reference).map_err(BadUrl::from).and_then(|url| CrawlUrl::from_url(url, None));
            prop_assert_eq!(base.join(&reference), parsed);
            let parsed = Url::parse(&reference).map_err(BadUrl::from).and_then(|url| CrawlUrl::from_url(url, None));
            prop_assert_eq!(CrawlUrl::parse(&reference), parsed);
        }
    }
}
