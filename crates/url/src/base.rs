//! The base URL of a document, against which its references are resolved.

use url::Url;

use crate::canonical::{finish, write_parsed, write_plain};
use crate::parts::Parts;
use crate::{BadUrl, CanonicalRules, CrawlUrl, MAX_URL_BYTES, plain};

/// The base URL of a document; parsed once per document.
pub struct Base<'r> {
    url: Url,
    /// The base as a canonical URL, if it is one; then most references need no parser.
    canonical: Option<CrawlUrl>,
    rules: Option<&'r CanonicalRules>,
}

impl<'r> Base<'r> {
    /// The base of a document without `<base href>`. References are resolved without rules.
    pub fn new(document: &CrawlUrl) -> Result<Self, BadUrl> {
        Ok(Base { url: Url::parse(document.as_str())?, canonical: Some(document.clone()), rules: None })
    }

    /// The same with rules for links, which decide which URLs are the same page.
    pub fn with_rules(document: &CrawlUrl, rules: &'r CanonicalRules) -> Result<Self, BadUrl> {
        Ok(Base { rules: Some(rules), ..Base::new(document)? })
    }

    /// Sets the base from `<base href>`; the base is unchanged if the reference does not parse (HTML 4.2.3)
    /// or the result is longer than [`MAX_URL_BYTES`].
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
        let mut text = String::new();
        self.canonical =
            write_parsed(url.clone(), None, &mut text).ok().map(|parts| CrawlUrl::of(text, parts));
        self.url = url;
        Ok(())
    }

    /// Resolves a reference and applies the rules.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, BadUrl> {
        self.resolve(reference, self.rules)
    }

    /// Resolves a reference, applies the rules, and appends the canonical text; appends nothing if the
    /// reference is bad.
    pub fn join_into(&self, reference: &str, into: &mut String) -> Result<(), BadUrl> {
        self.write(reference, self.rules, into).map(drop)
    }

    /// Resolves a reference without rules: a redirect's target, or what a page says about itself.
    pub fn join_as_given(&self, reference: &str) -> Result<CrawlUrl, BadUrl> {
        self.resolve(reference, None)
    }

    /// Resolves a reference.
    fn resolve(&self, reference: &str, rules: Option<&CanonicalRules>) -> Result<CrawlUrl, BadUrl> {
        let mut text = String::with_capacity(reference.len() + 64);
        let parts = self.write(reference, rules, &mut text)?;
        Ok(CrawlUrl::of(text, parts))
    }

    /// Resolves a reference and appends the canonical text.
    fn write(
        &self,
        reference: &str,
        rules: Option<&CanonicalRules>,
        into: &mut String,
    ) -> Result<Parts, BadUrl> {
        if reference.len() > MAX_URL_BYTES {
            return Err(BadUrl::TooLong);
        }
        if let Some(parts) = write_plain(reference, rules, into) {
            return parts;
        }
        match self.write_relative(reference, rules, into) {
            Some(parts) => parts,
            None => write_parsed(self.parse(reference)?, rules, into),
        }
    }

    /// Resolves a reference with the library `url`. The library takes `///host/` for a reference without a
    /// host (servo/rust-url#1137); the standard and browsers skip further slashes before a host.
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

    /// Resolves a reference that has only path or query, or both, in canonical form, and appends the text;
    /// `None` if it may not be canonical. The result equals that of the parser.
    fn write_relative(
        &self,
        reference: &str,
        rules: Option<&CanonicalRules>,
        into: &mut String,
    ) -> Option<Result<Parts, BadUrl>> {
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
        // A first segment with a colon would be a scheme.
        if let Some(colon) = added.find(':')
            && !added[..colon].contains(['/', '?'])
        {
            return None;
        }
        let start = into.len();
        into.push_str(&base.as_str()[..kept]);
        into.push_str(added);
        Some(finish(into, start, Ok(base.parts()), rules))
    }
}

/// The length of a URL up to and including the last slash of its path.
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
            let parsed = |url: Result<Url, url::ParseError>| {
                let mut text = String::new();
                write_parsed(url?, None, &mut text).map(|parts| CrawlUrl::of(text, parts))
            };
            prop_assert_eq!(base.join(&reference), parsed(base.parse(&reference)));
            prop_assert_eq!(CrawlUrl::parse(&reference), parsed(Url::parse(&reference)));
        }
    }
}
