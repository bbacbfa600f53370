//! Decides, without I/O, whether the rest of a body that broke off may be asked for, and whether an answer is that rest.
//!
//! Guarantees: parts are joined only of one representation, by a strong validator (RFC 9110 sections 8.8.1 and 13.1.5), at the byte at
//! which the first one ended; a range is one of the body as received, with its content coding.

use std::time::Duration;

use lycosa_records::{Head, Received, Request, RequestOptions, Validators};

/// How often the rest of one body is asked for.
pub(crate) const ATTEMPTS: u32 = 3;

/// By so much Date has to be later than Last-Modified, for the latter to be a strong validator (RFC 9110 section 8.8.2.2).
const SETTLED: Duration = Duration::from_secs(60);

/// The rest of a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Rest {
    /// What asks for it.
    pub(crate) request: Request,
    /// The position of its first byte.
    at: u64,
    /// Bytes of the whole body, if the server has announced them.
    length: Option<u64>,
    etag: Option<String>,
    last_modified: Option<String>,
    coding: String,
}

/// What an answer to a request for the rest is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The rest, of a body of so many bytes.
    Rest(u64),
    /// Another response in place of the first one: the whole body, from its beginning, or a site that asks for a pause.
    Other,
    /// Neither, for this reason.
    Neither(String),
}

impl Rest {
    /// The rest of a response to a request of which so many bytes were received; `None` if it cannot be asked for.
    pub(crate) fn of(request: &Request, received: &Received, at: u64) -> Option<Self> {
        let head = &received.head;
        let has_ranges = head.get_all("accept-ranges").any(|ranges| has_token(&ranges, "bytes"));
        if received.status != 200 || !is_plain_get(request) || !has_ranges {
            return None;
        }
        let etag = head.get("etag").map(|etag| etag.trim().to_owned());
        let last_modified = head.get("last-modified").map(|date| date.trim().to_owned());
        let coding = coding(head);
        let validator = match (&etag, &last_modified) {
            (Some(etag), _) => Some(etag).filter(|etag| is_strong(etag)),
            // The same resource with another coding has the same date.
            (None, Some(date)) => Some(date).filter(|_| coding.is_empty() && is_settled(head)),
            (None, None) => None,
        }?;
        let mut options = request.options.as_deref().cloned().unwrap_or_default();
        options.validators = Validators::default();
        let range = format!("bytes={at}-");
        options.headers.push(("range".into(), range.into()));
        options.headers.push(("if-range".into(), validator.as_str().into()));
        let request = Request { options: Some(Box::new(options)), ..request.clone() };
        Some(Rest { request, at, length: length(head), etag, last_modified, coding })
    }

    /// What an answer is.
    pub(crate) fn judge(&self, received: &Received) -> Kind {
        let head = &received.head;
        match received.status {
            206 => self.length_by(head).map_or_else(|why| Kind::Neither(why.to_owned()), Kind::Rest),
            // Its Retry-After is the frontier's to obey.
            200 | 429 | 503 => Kind::Other,
            status => Kind::Neither(format!("status {status}")),
        }
    }

    /// Bytes of the whole body, by the head of a part that goes on where the first one ended; or what is wrong with it.
    fn length_by(&self, head: &Head) -> Result<u64, &'static str> {
        let range = head.get("content-range").ok_or("no Content-Range")?;
        let (first, last, length) = content_range(&range).ok_or("an invalid Content-Range")?;
        if first != self.at || last < first || last >= length {
            return Err("another range");
        }
        let differs = |field: &str, known: &Option<String>| {
            head.get(field).is_some_and(|value| known.as_deref() != Some(value.trim()))
        };
        let is_other = self.length.is_some_and(|known| known != length)
            || differs("etag", &self.etag)
            || differs("last-modified", &self.last_modified)
            || coding(head) != self.coding;
        if is_other { Err("another representation") } else { Ok(length) }
    }
}

/// Whether a request is a GET that asks for a whole body.
fn is_plain_get(request: &Request) -> bool {
    let has_range = |options: &RequestOptions| {
        options
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("range") || name.eq_ignore_ascii_case("if-range"))
    };
    request.method() == "GET"
        && request.options.as_ref().is_none_or(|options| options.body.is_empty() && !has_range(options))
}

/// Whether an entity tag is strong (RFC 9110 section 8.8.3).
fn is_strong(etag: &str) -> bool {
    etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"')
}

/// Whether the response's Last-Modified is a strong validator.
fn is_settled(head: &Head) -> bool {
    let date = |name: &str| httpdate::parse_http_date(head.get(name)?.trim()).ok();
    let age = |(date, modified): (std::time::SystemTime, _)| date.duration_since(modified).ok();
    date("date").zip(date("last-modified")).and_then(age).is_some_and(|age| age >= SETTLED)
}

/// The content codings, in lower case; empty if there are none.
fn coding(head: &Head) -> String {
    let codings = head.get_all("content-encoding").map(|value| value.trim().to_ascii_lowercase());
    let codings: Vec<String> = codings.filter(|value| !value.is_empty() && value != "identity").collect();
    codings.join(",")
}

/// The length of a body that is announced and not delimited otherwise.
fn length(head: &Head) -> Option<u64> {
    let is_chunked = head.get("transfer-encoding").is_some();
    head.get("content-length").filter(|_| !is_chunked)?.trim().parse().ok()
}

/// The first and the last position, and the length, of `bytes 5-9/10` (RFC 9110 section 14.4). A length that is not told is no use.
fn content_range(value: &str) -> Option<(u64, u64, u64)> {
    let (unit, range) = value.trim().split_once(' ')?;
    let (range, length) = range.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| text.trim().parse().ok();
    unit.eq_ignore_ascii_case("bytes").then_some((number(first)?, number(last)?, number(length)?))
}

/// Whether a list has a token.
fn has_token(list: &str, token: &str) -> bool {
    list.split(',').any(|word| word.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;
    use proptest::prelude::*;

    use super::*;

    fn get() -> Request {
        Request::get(CrawlUrl::parse("http://a.com/").unwrap())
    }

    fn received(status: u16, fields: &[(&str, &str)]) -> Received {
        let head = Head::of("HTTP/1.1", fields.iter().copied()).unwrap();
        Received { status, head, ..Received::default() }
    }

    const RANGES: (&str, &str) = ("Accept-Ranges", "bytes");
    const ETAG: (&str, &str) = ("ETag", "\"a\"");
    const LENGTH: (&str, &str) = ("Content-Length", "100");

    /// The field If-Range of the request for the rest of a response; `None` if it is not asked for.
    fn if_range(fields: &[(&str, &str)]) -> Option<String> {
        let rest = Rest::of(&get(), &received(200, fields), 40)?;
        let headers = rest.request.options.unwrap().headers;
        assert_eq!(headers[0], ("range".into(), "bytes=40-".into()));
        Some(headers[1].1.to_string())
    }

    #[test]
    fn only_what_a_strong_validator_identifies_is_asked_for() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let dates = |now| [RANGES, ("Last-Modified", date), ("Date", now)];
        assert_eq!(if_range(&[RANGES, ETAG]).as_deref(), Some("\"a\""));
        assert_eq!(if_range(&dates("Sun, 06 Nov 1994 08:50:37 GMT")).as_deref(), Some(date));
        assert_eq!(
            if_range(&dates("Sun, 06 Nov 1994 08:50:36 GMT")),
            None,
            "it may have changed within the second"
        );
        assert_eq!(if_range(&[RANGES, ("Last-Modified", date)]), None);
        assert_eq!(if_range(&[RANGES, ("ETag", "W/\"a\""), ("Last-Modified", date)]), None);
        assert_eq!(if_range(&[ETAG]), None);
        assert_eq!(if_range(&[ETAG, ("Accept-Ranges", "none")]), None);
        assert_eq!(if_range(&[RANGES]), None);
        let gzip = ("Content-Encoding", "gzip");
        assert_eq!(if_range(&[RANGES, ETAG, gzip]).as_deref(), Some("\"a\""));
        let coded = [&dates("Sun, 06 Nov 1994 08:50:37 GMT")[..], &[gzip]].concat();
        assert_eq!(if_range(&coded), None, "the date is that of all codings");
    }

    #[test]
    fn only_a_get_of_a_whole_page_is_resumed() {
        let page = received(200, &[RANGES, ETAG]);
        let with = |options| Request { options: Some(Box::new(options)), ..get() };
        let field = |name: &str| vec![(name.into(), "bytes=0-".into())];
        assert_eq!(
            Rest::of(&with(RequestOptions { method: "POST".into(), ..Default::default() }), &page, 1),
            None
        );
        assert_eq!(
            Rest::of(&with(RequestOptions { headers: field("Range"), ..Default::default() }), &page, 1),
            None
        );
        assert_eq!(Rest::of(&get(), &received(206, &[RANGES, ETAG]), 1), None);
        assert_eq!(Rest::of(&get(), &received(404, &[RANGES, ETAG]), 1), None);
        let validators = Validators { etag: Some("\"b\"".into()), last_modified: None };
        let options = RequestOptions { headers: field("x"), validators, ..Default::default() };
        let options = Rest::of(&with(options), &page, 1).unwrap().request.options.unwrap();
        assert_eq!((options.headers.len(), options.validators), (3, Validators::default()));
    }

    #[test]
    fn only_the_rest_of_the_same_representation_is_accepted() {
        let rest = Rest::of(&get(), &received(200, &[RANGES, ETAG, LENGTH]), 40).unwrap();
        let range = |value| ("Content-Range", value);
        let good = range("bytes 40-99/100");
        assert_eq!(rest.judge(&received(206, &[good])), Kind::Rest(100));
        assert_eq!(rest.judge(&received(206, &[range("bytes 40-59/100"), ETAG])), Kind::Rest(100));
        assert_eq!(rest.judge(&received(200, &[])), Kind::Other);
        assert_eq!(rest.judge(&received(503, &[])), Kind::Other);
        assert_eq!(rest.judge(&received(500, &[])), Kind::Neither("status 500".to_owned()));
        for fields in [
            &[][..],
            &[range("bytes 0-99/100")],
            &[range("bytes 41-99/100")],
            &[range("bytes 40-100/100")],
            &[range("bytes 40-39/100")],
            &[range("bytes 40-99/*")],
            &[range("bytes */100")],
            &[range("bytes 40-100/101")],
            &[range("lines 40-99/100")],
            &[range("bytes 40-99999999999999999999/100")],
            &[good, ("ETag", "\"b\"")],
            &[good, ("ETag", "W/\"a\"")],
            &[good, ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
            &[good, ("Content-Encoding", "gzip")],
        ] {
            assert!(matches!(rest.judge(&received(206, fields)), Kind::Neither(_)), "{fields:?}");
        }
        let gzip = ("Content-Encoding", "gzip");
        let coded = Rest::of(&get(), &received(200, &[RANGES, ETAG, gzip]), 40).unwrap();
        assert_eq!(coded.judge(&received(206, &[good, gzip])), Kind::Rest(100));
        assert!(matches!(coded.judge(&received(206, &[good])), Kind::Neither(_)), "perhaps it is not coded");
    }

    proptest! {
        #[test]
        fn any_content_range_is_read_or_not(value in "[ -~]{0,30}", numbers in any::<(u64, u64, u64)>()) {
            let _ = content_range(&value);
            let (first, last, length) = numbers;
            prop_assert_eq!(content_range(&format!("bytes {first}-{last}/{length}")), Some(numbers));
        }
    }
}
