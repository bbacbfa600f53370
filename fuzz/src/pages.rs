//! Pages: character sets, HTML, header fields, redirects.

use std::collections::HashSet;

use bytes::Bytes;
use lycosa_parse::{Settings, decode_text, detect, parse};
use lycosa_url::{
    CrawlUrl, FailureKind, Headers, MAX_URL_BYTES, Page, Purpose, Received, Request, Response, Times,
};

use crate::bounds::{FIXED_BYTES, within};

/// Limits that short inputs reach.
const MAX_LINKS: usize = 20;
const LINK_BYTES: usize = 1_024;
const TITLE_BYTES: usize = 64;

/// Labels that a body of HTML may have; an input's first byte chooses one.
const LABELS: [&str; 16] = [
    "text/html",
    "text/html; charset=utf-8",
    "application/xhtml+xml",
    "text/html;charset=utf-16",
    "text/html;charset=utf-16be",
    "text/html; charset=iso-2022-jp",
    "text/html; charset=\"gb18030\"",
    "text/html; charset=big5",
    "text/html; charset=shift_jis",
    "text/html; charset=euc-kr",
    "text/html; charset=windows-1252",
    "text/html; charset=x-user-defined",
    "text/html; charset=hz-gb-2312",
    "",
    "text/plain",
    "application/xml",
];

/// Invariant: any bytes are a page within the limits and in linear time: links canonical, each once; a title of one line.
pub fn html(data: &[u8]) {
    let (first, body) = data.split_first().unwrap_or((&0, &[]));
    let label = LABELS[usize::from(first % 16)];
    let fields = vec![("content-type".into(), label.as_bytes().into())];
    // A link takes as much as its URL may have; what the tokenizer keeps has a limit of its own.
    let memory = FIXED_BYTES + 8 * body.len() + 2 * MAX_LINKS * MAX_URL_BYTES;
    let page = within(body.len(), memory, || page("http://example.com/a/b?c", 200, fields, body));
    assert!(page.response.result.is_ok() && page.redirect.is_none());
    assert!(page.links.len() <= MAX_LINKS);
    let urls: HashSet<&str> = page.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls.len(), page.links.len(), "each link once");
    page.links.iter().for_each(|link| canonical(&link.url));
    assert!(urls.iter().map(|url| url.len()).sum::<usize>() <= LINK_BYTES);
    assert!(!page.nofollow || page.links.iter().all(|link| link.nofollow));
    page.canonical.iter().for_each(canonical);
    if let Some(title) = &page.title {
        assert!(title.len() <= TITLE_BYTES, "a title of {} bytes", title.len());
        let words: Vec<&str> = title.split_whitespace().collect();
        assert!(!title.is_empty() && **title == *words.join(" "), "{title:?}");
    }
    let is_text = !label.is_empty() || body.trim_ascii_start().starts_with(b"<");
    assert_eq!(page.charset.is_some(), is_text);
    let is_html = is_text && !matches!(label, "text/plain" | "application/xml");
    assert!(is_html || (page.links.is_empty() && page.title.is_none() && page.canonical.is_none()));
}

/// Invariant: any bytes have one encoding, in which they are text of bounded length; text is its own text. The first line is a
/// Content-Type.
pub fn charset(data: &[u8]) {
    let (label, body) = line(data);
    let label = std::str::from_utf8(label).ok();
    let (encoding, text) = within(body.len(), FIXED_BYTES + 16 * body.len(), || {
        let encoding = detect(label, body);
        (encoding, decode_text(body, encoding.name()))
    });
    assert!(text.len() <= 3 * body.len() + 3, "{} bytes from {}", text.len(), body.len());
    // A byte order mark outweighs what is said elsewhere.
    let marked = [b"\xef\xbb\xbf", body].concat();
    assert_eq!(detect(label, &marked).name(), "UTF-8");
    // A second mark is text.
    let again = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    assert_eq!(decode_text(&again, "UTF-8"), text);
    // The same again, since labels have no case.
    let upper = label.map(str::to_ascii_uppercase);
    assert_eq!(detect(upper.as_deref(), body), encoding);
}

/// Invariant: any header fields give a page; its directives are those of all X-Robots-Tag together, whatever stands beside them
/// and in whatever case. The lines are fields.
pub fn headers(data: &[u8]) {
    let fields = fields(data);
    let url = "http://example.com/";
    let all =
        within(data.len(), FIXED_BYTES + 16 * data.len(), || page(url, 200, fields.clone(), b"<a href=x>"));
    assert!(all.response.result.is_ok() && all.redirect.is_none());
    let says = |page: &Page| (page.noindex, page.nofollow);
    let either = |one: (bool, bool), other: (bool, bool)| (one.0 || other.0, one.1 || other.1);
    let each = fields.iter().map(|field| says(&page(url, 200, vec![field.clone()], b"")));
    assert_eq!(says(&all), each.fold((false, false), either), "each field speaks for itself");
    let with = |value: &str| {
        let field = ("x-robots-tag".into(), value.as_bytes().into());
        says(&page(url, 200, [fields.clone(), vec![field]].concat(), b""))
    };
    assert_eq!(with("none"), (true, true));
    assert_eq!(with("otherbot: none, noindex"), says(&all), "what is said to others");
    assert_eq!(with("LYCOSA: NoIndex"), either(says(&all), (true, false)));
    let upper: Vec<_> =
        fields.iter().map(|(name, value)| (name.clone(), value.to_ascii_uppercase().into())).collect();
    let upper = page(url, 200, upper, b"<a href=x>");
    assert_eq!((says(&upper), upper.charset, upper.links.len()), (says(&all), all.charset, all.links.len()));
    assert!(all.links.iter().all(|link| link.nofollow == all.nofollow));
}

/// Invariant: a redirect has a target that is a canonical URL, or is a failure that says why; what is no redirect has none. The
/// first byte is the status, the first line the page's URL, the rest the Location.
pub fn redirect(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let status = [301, 302, 303, 307, 308, 200, 300, 304][usize::from(first % 8)];
    let (from, location) = line(rest);
    let from = String::from_utf8_lossy(from);
    let from =
        CrawlUrl::parse(&from).map_or("https://user.example/a/b?c".to_owned(), |url| url.as_str().to_owned());
    let to =
        |from: &str, location: &[u8]| page(from, status, vec![("location".into(), location.into())], b"");
    let page = within(data.len(), FIXED_BYTES + 16 * data.len(), || to(&from, location));
    match (&page.response.result, &page.redirect) {
        (Ok(_), Some(target)) => {
            assert!(first % 8 < 5);
            canonical(target);
            let again = to(&from, target.as_str().as_bytes());
            assert_eq!(again.redirect.as_ref(), Some(target), "a target leads to itself");
        }
        (Ok(_), None) => assert!(first % 8 >= 5),
        (Err(failure), target) => {
            assert!(first % 8 < 5 && target.is_none() && failure.kind == FailureKind::RedirectBad);
            assert!(!failure.detail.is_empty() && failure.detail.len() < 4_000, "{}", failure.detail.len());
        }
    }
}

/// A field and its value.
type Field = (Box<str>, Box<[u8]>);

/// A page as it comes from fetch, after parsing with small limits.
pub(crate) fn page(url: &str, status: u16, fields: Vec<Field>, body: &[u8]) -> Page {
    let body = Bytes::copy_from_slice(body);
    let settings = Settings {
        links: MAX_LINKS,
        link_bytes: LINK_BYTES,
        title_bytes: TITLE_BYTES,
        ..Settings::default()
    };
    parse(response(url, status, fields, body.clone()), Ok(body), &settings)
}

/// A response of one address, without cookies.
fn response(url: &str, status: u16, fields: Vec<Field>, body: Bytes) -> Response {
    let request = Request {
        lease: 1,
        url: CrawlUrl::parse(url).expect("a canonical URL"),
        purpose: Purpose::Page,
        depth: 0,
        attempt: 0,
        chain: Vec::new(),
        addresses: vec![[93, 184, 216, 34].into()],
        name_us: 0,
        name_class: None,
        cookies: None,
        deadline: 0,
    };
    let result = Ok(Received { status, headers: Headers(fields), body });
    Response { request, address: None, started: 0, finished: 0, times: Times::default(), result }
}

/// The fields of lines `name: value`; names as fetch gives them.
pub(crate) fn fields(data: &[u8]) -> Vec<Field> {
    let field = |line: &[u8]| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = std::str::from_utf8(line[..colon].trim_ascii()).ok()?.to_ascii_lowercase();
        Some((name.into(), line[colon + 1..].trim_ascii().into()))
    };
    data.split(|&byte| byte == b'\n').filter_map(field).collect()
}

/// The first line, and what follows it.
fn line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// What holds for every URL of a page.
fn canonical(url: &CrawlUrl) {
    assert!(url.as_str().starts_with("http://") || url.as_str().starts_with("https://"));
    assert!(url.as_str().len() <= MAX_URL_BYTES);
    assert_eq!(CrawlUrl::parse(url.as_str()).as_ref(), Ok(url));
}
