//! The licences that a site names for a page: links with the relation `license` in header fields and in the page (RFC 8288; the relation
//! is of RFC 4946), and `License` lines of robots.txt (RSL 1.0). A licence is information: by itself it allows and forbids nothing.

use lycosa_url::{Base, CrawlUrl};

use crate::Outcome;
use crate::terms::parts;

/// Licences that one signal names, at most.
pub const MAX_LICENSES: usize = 8;

/// Bytes of a licence's URL as a site writes it, at most.
const MAX_BYTES: usize = 1_024;

/// The media type of a licence in the format of RSL: terms that programs can read.
const RSL: &str = "application/rsl+xml";

/// A licence that a site names for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct License {
    /// Its URL, in canonical form.
    pub url: Box<str>,
    /// The signal that names it: `link`, the header field; `link element`, of the page; `robots.txt`.
    pub source: &'static str,
}

/// The licences that a site names for a page, each once, the one that counts first: what is said of the page itself comes before what
/// robots.txt says of the whole site; of one signal, what is in the format of RSL comes before the rest.
pub fn licenses(outcome: &Outcome) -> Vec<License> {
    let mut found: Vec<License> = Vec::new();
    let mut add = |url: &str, source| {
        if found.iter().all(|known| *known.url != *url) {
            found.push(License { url: url.into(), source });
        }
    };
    in_fields(outcome).0.iter().for_each(|(url, _)| add(url.as_str(), "link"));
    outcome.licenses.iter().for_each(|url| add(url.as_str(), "link element"));
    outcome.request().licenses.iter().for_each(|url| add(url, "robots.txt"));
    found
}

/// The licence that a line of robots.txt names, as a canonical URL; `None` if that is no absolute URL, or too long.
pub fn robots_license(value: &[u8]) -> Option<CrawlUrl> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= MAX_BYTES)?;
    CrawlUrl::parse(text).ok()
}

/// The licences that links of one signal name, at most [`MAX_LICENSES`]: those in the format of RSL, then others.
#[derive(Debug, Default)]
pub struct LinkedLicenses(Vec<(CrawlUrl, bool)>);

impl LinkedLicenses {
    /// Adds a licence if there is space for it. `kind`: the media type that the link states.
    pub fn add(&mut self, base: &Base<'_>, target: &str, kind: Option<&str>) {
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        let is_rsl = kind.trim().eq_ignore_ascii_case(RSL);
        let place = if is_rsl { self.0.partition_point(|(_, is_rsl)| *is_rsl) } else { self.0.len() };
        if target.len() <= MAX_BYTES
            && place < MAX_LICENSES
            && let Ok(url) = base.join_as_given(target)
        {
            self.0.truncate(MAX_LICENSES - 1);
            self.0.insert(place, (url, is_rsl));
        }
    }

    /// Their URLs.
    pub fn into_urls(self) -> Vec<CrawlUrl> {
        self.0.into_iter().map(|(url, _)| url).collect()
    }
}

/// The licences that the header fields `link` of a response name.
fn in_fields(outcome: &Outcome) -> LinkedLicenses {
    let mut found = LinkedLicenses::default();
    let Some(received) = outcome.received() else { return found };
    let mut base = None;
    for value in received.head.get_all("link") {
        for (target, kind) in parts(&value, ',').filter_map(licensed) {
            // Most pages name none.
            let base = base.get_or_insert_with(|| Base::new(outcome.url()));
            base.iter().for_each(|base| found.add(base, target, kind));
        }
    }
    found
}

/// The target and the media type of a link to a licence (RFC 8288 section 3). A link with an anchor speaks of another resource.
fn licensed(link: &str) -> Option<(&str, Option<&str>)> {
    let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
    // Of several parameters of one name the first counts.
    let parameter = |wanted: &str| {
        parts(parameters, ';').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"'))
        })
    };
    let is_license = |relation: &str| relation.eq_ignore_ascii_case("license");
    let is_one = parameter("rel")?.split_ascii_whitespace().any(is_license);
    (is_one && parameter("anchor").is_none()).then(|| (target.trim(), parameter("type")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Head, Received, Request, Response, Times};

    /// A page with these `link` fields.
    fn page(links: &[&str]) -> Outcome {
        let head = Head::of("HTTP/1.1 200 x", links.iter().map(|link| ("Link", link))).unwrap();
        let request = Request::get(CrawlUrl::parse("https://example.com/dir/page").unwrap());
        let result = Ok(Received { status: 200, head, ..Received::default() });
        let times = Times::default();
        Outcome::new(Response { request, address: None, started: 0, finished: 0, times, result })
    }

    /// The licences of a page, as text.
    fn named(page: &Outcome) -> Vec<String> {
        licenses(page).into_iter().map(|license| format!("{} {}", license.source, license.url)).collect()
    }

    #[test]
    fn a_licence_is_named_by_a_link_with_its_relation() {
        let rsl = "type=\"application/rsl+xml\"";
        for (link, url) in [
            (
                format!("<https://other.example/l.xml>; rel=\"license\"; {rsl}"),
                Some("https://other.example/l.xml"),
            ),
            (
                format!("</a,b.css>; rel=preload, <l.xml>; {rsl}; rel=\"next License\""),
                Some("https://example.com/dir/l.xml"),
            ),
            ("</terms>; rel=license".to_owned(), Some("https://example.com/terms")),
            ("</x>; rel=\"nolicense\"".to_owned(), None),
            ("</x>; rel=next; rel=license".to_owned(), None),
            ("</x>; rel=next; title=\"a license; rel=license\"".to_owned(), None),
            ("</x>; rel=license; anchor=\"/other\"".to_owned(), None),
            ("<mailto:me@example.com>; rel=license".to_owned(), None),
            ("/x; rel=license".to_owned(), None),
            (format!("</{}>; rel=license", "x".repeat(MAX_BYTES)), None),
        ] {
            let expected: Vec<String> = url.map(|url| format!("link {url}")).into_iter().collect();
            assert_eq!(named(&page(&[&link])), expected, "{link}");
        }
    }

    #[test]
    fn what_is_said_of_the_page_comes_first_and_rsl_before_other_formats() {
        let mut page =
            page(&["</cc>; rel=license", "</l.xml>; rel=license; type=\"application/rsl+xml; v=1\""]);
        page.licenses = ["https://example.com/html", "https://example.com/cc"]
            .map(|url| CrawlUrl::parse(url).unwrap())
            .into();
        page.response.request.licenses =
            ["https://example.com/site", "https://example.com/html"].map(Into::into).into();
        assert_eq!(
            named(&page),
            [
                "link https://example.com/l.xml",
                "link https://example.com/cc",
                "link element https://example.com/html",
                "robots.txt https://example.com/site",
            ],
            "each once"
        );
    }

    #[test]
    fn a_line_of_robots_txt_names_an_absolute_url() {
        let read = |value: &[u8]| robots_license(value).map(|url| url.as_str().to_owned());
        assert_eq!(read(b"https://Example.com/l.xml").as_deref(), Some("https://example.com/l.xml"));
        for bad in [&b"/l.xml"[..], b"", b"ftp://example.com/", b"https://example.com/\xff", b"CC-BY-4.0"] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
        assert_eq!(read(format!("https://example.com/{}", "x".repeat(MAX_BYTES)).as_bytes()), None);
    }

    proptest! {
        #[test]
        fn any_fields_name_few_licences(
            links in proptest::collection::vec("(<[a-z:/,;]{0,9}>; ?(rel=\"?license\"?|type=\"application/rsl\\+xml\")?[;,]? ?){0,4}", 0..20),
        ) {
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            prop_assert!(licenses(&page(&links)).len() <= MAX_LICENSES);
        }
    }
}
