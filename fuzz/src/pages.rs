//! Pages: character sets, HTML, header fields, redirects.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use lycosa_parse::{Settings, Sources, TextMethod, decode_text, detect, parse};
use lycosa_records::{Head, Outcome, Received, Request, Response, Route, Times};
use lycosa_url::{CrawlUrl, FailureKind, MAX_URL_BYTES};

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

/// Invariant: any bytes are a page within the limits and in linear time: links canonical, each once, with no more of them kept than
/// is asked for; a title of one line. The first byte says which label the body has, and what of links is kept.
pub fn html(data: &[u8]) {
    let (first, body) = data.split_first().unwrap_or((&0, &[]));
    let label = LABELS[usize::from(first % 16)];
    let head = head(&[("content-type".into(), label.as_bytes().into())]);
    let settings = Settings { anchors: first & 0x10 != 0, rels: first & 0x20 != 0, ..settings() };
    // A link takes as much as its URL may have; what the tokenizer keeps has a limit of its own.
    let memory = FIXED_BYTES + 8 * body.len() + 2 * MAX_LINKS * MAX_URL_BYTES;
    let page = within(body.len(), memory, || parsed("http://example.com/a/b?c", 200, head, body, &settings));
    assert!(page.response.result.is_ok() && page.redirect.is_none());
    links(&page, &settings);
    page.canonical.iter().for_each(|url| canonical(url.as_str()));
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

/// Invariant: any bytes are a page whose text, Markdown and metadata are within limits that follow from its size, or that is told to
/// be no content. The first byte says what is read.
pub fn text(data: &[u8]) {
    let (first, body) = data.split_first().unwrap_or((&0, &[]));
    let has = |bit: u8| first & bit != 0;
    let settings = Settings {
        anchors: true,
        contexts: has(1),
        places: has(2),
        sources: Sources::named(["frames", "images", "feeds", "forms"]),
        text: Some(if has(4) { TextMethod::DensityPaper } else { TextMethod::Lycosa }),
        markdown: has(8),
        refusals: has(16),
        ..settings()
    };
    let head = head(&[("content-type".into(), "text/html; charset=utf-8".as_bytes().into())]);
    // A block of one letter has some hundred numbers.
    let memory = FIXED_BYTES + 1_024 * body.len() + 2 * MAX_LINKS * MAX_URL_BYTES;
    let page = within(body.len(), memory, || parsed("http://example.com/a/b?c", 200, head, body, &settings));
    if let Err(failure) = &page.response.result {
        assert!(settings.refusals && failure.kind.is_refusal(), "{failure:?}");
        return;
    }
    links(&page, &settings);
    let said = page.text.as_ref().expect("text is asked for");
    assert!(said.text.len() <= 4 * body.len() + 4, "{} bytes of text", said.text.len());
    assert!(said.markdown.is_empty() || has(8));
    assert!(said.confidence <= 1_000);
    for day in [&said.published, &said.modified] {
        assert!(day.is_empty() || (day.len() == 10 && day.is_ascii()), "{day:?}");
    }
}

/// What holds for the links of a page.
fn links(page: &Outcome, settings: &Settings) {
    assert!(page.links.len() <= MAX_LINKS);
    let urls: HashSet<&str> = page.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(
        (urls.len(), page.links.iter().count()),
        (page.links.len(), page.links.len()),
        "each link once"
    );
    let bytes = urls.iter().map(|url| url.len()).sum::<usize>();
    assert!(bytes <= LINK_BYTES && bytes == page.links.url_bytes());
    let mut kept = 0;
    for link in page.links.iter() {
        canonical(link.url.as_str());
        assert_eq!(CrawlUrl::parse(link.url.as_str()), Ok(link.url.to_owned()), "its digest and parts");
        assert!(link.nofollow || !page.nofollow);
        let said = link.details;
        assert!(settings.anchors || said.anchor.is_empty());
        assert!(settings.rels || said.rel.is_empty());
        assert!(settings.contexts || said.context.is_empty());
        kept += said.anchor.len() + said.rel.len() + said.context.len();
    }
    assert!(kept <= LINK_BYTES, "{kept} bytes of what links say");
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

/// Invariant: any lines of a head give their fields and a page; its directives are those of all X-Robots-Tag together, whatever
/// stands beside them and in whatever case. The lines are those behind the status line.
pub fn headers(data: &[u8]) {
    let fields = fields(data);
    let raw = Head::new([b"HTTP/1.1 200 OK\r\n", data].concat().into());
    let lower = |(name, value): (&str, Cow<'_, [u8]>)| (name.to_ascii_lowercase().into(), value.into());
    assert_eq!(raw.fields().map(lower).collect::<Vec<Field>>(), fields);
    let settings = settings();
    let url = "http://example.com/";
    let all =
        within(data.len(), FIXED_BYTES + 16 * data.len(), || parsed(url, 200, raw, b"<a href=x>", &settings));
    assert!(all.response.result.is_ok() && all.redirect.is_none());
    let says = |page: &Outcome| (page.noindex, page.nofollow);
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
            canonical(target.as_str());
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

/// Small limits of a page.
fn settings() -> Settings {
    let limits = Settings {
        links: MAX_LINKS,
        link_bytes: LINK_BYTES,
        title_bytes: TITLE_BYTES,
        ..Settings::default()
    };
    Settings { refusals: false, ..limits }
}

/// A page as it comes from fetch, after parsing with small limits.
pub(crate) fn page(url: &str, status: u16, fields: Vec<Field>, body: &[u8]) -> Outcome {
    parsed(url, status, head(&fields), body, &settings())
}

/// The same with settings.
fn parsed(url: &str, status: u16, head: Head, body: &[u8], settings: &Settings) -> Outcome {
    let body = Bytes::copy_from_slice(body);
    parse(response(url, status, head, body.clone()), Ok(body), settings)
}

/// A response of one address, without cookies.
fn response(url: &str, status: u16, head: Head, body: Bytes) -> Response {
    let request = Request {
        lease: 1,
        route: Route::Direct(vec![[93, 184, 216, 34].into()]),
        ..Request::get(CrawlUrl::parse(url).expect("a canonical URL"))
    };
    let result = Ok(Received { status, head, body: body.into(), ..Received::default() });
    Response { request, address: None, started: 0, finished: 0, times: Times::default(), result }
}

/// A head with these fields, as a server sends it: whatever stands in them.
fn head(fields: &[Field]) -> Head {
    let lines = fields.iter().flat_map(|(name, value)| [name.as_bytes(), b": ", &**value, b"\r\n"]);
    Head::new(lines.fold(b"HTTP/1.1 200 OK\r\n".to_vec(), |head, part| [&head, part].concat()).into())
}

/// The fields of lines `name: value` up to an empty one (RFC 9112 section 5), names in lower case. A line that begins with a space
/// goes on with the one before; what has control characters is no field.
pub(crate) fn fields(data: &[u8]) -> Vec<Field> {
    let mut fields: Vec<Option<(Box<str>, Vec<u8>)>> = Vec::new();
    for line in data.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        match (line.first(), fields.last_mut()) {
            (None, _) => break,
            (Some(b' ' | b'\t'), Some(last)) => {
                let parts = last.iter_mut().map(|(_, value)| value);
                parts.for_each(|value| *value = trim(&[&value[..], b" ", trim(line)].concat()).to_vec());
            }
            _ => fields.push(field(line)),
        }
    }
    let is_text = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    let fields = fields.into_iter().flatten().filter(|(_, value)| value.iter().all(is_text));
    fields.map(|(name, value)| (name, trim(&value).into())).collect()
}

/// The field of a line.
fn field(line: &[u8]) -> Option<(Box<str>, Vec<u8>)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = str::from_utf8(&line[..colon]).ok()?.trim_end_matches([' ', '\t']);
    let is_token = |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(is_token);
    is_name.then(|| (name.to_ascii_lowercase().into(), trim(&line[colon + 1..]).to_vec()))
}

/// A value without the spaces around it: what others take for spaces is no part of a head.
fn trim(value: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = value.iter().position(is_text).unwrap_or(value.len());
    let end = value.iter().rposition(is_text).map_or(start, |last| last + 1);
    &value[start..end]
}

/// The first line, and what follows it.
fn line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// What holds for every URL of a page.
fn canonical(url: &str) {
    assert!(url.starts_with("http://") || url.starts_with("https://"));
    assert!(url.len() <= MAX_URL_BYTES);
    assert_eq!(CrawlUrl::parse(url).expect("a canonical URL").as_str(), url);
}
