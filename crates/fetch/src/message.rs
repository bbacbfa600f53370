//! Requests and responses between our records and hyper's types; what hyper's errors mean.

use std::error::Error as _;
use std::io;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http_body_util::Empty;
use hyper::client::conn::http1;
use lycosa_url::{CrawlUrl, Failure, FailureKind, Headers};

use crate::settings::Settings;

/// What is read at once: most pages with their head, in one call to the kernel.
const READ_BYTES: usize = 64 << 10;

/// hyper's options. Real sites break without the lenient ones (attohttpc#94, hyper#2879); they only ever
/// concern header fields, never where a message ends.
pub(crate) fn options(settings: &Settings) -> http1::Builder {
    let mut options = http1::Builder::new();
    options
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .max_headers(settings.max_headers)
        .max_header_size(settings.max_header_bytes)
        .read_buf_exact_size(Some(settings.max_header_bytes.max(READ_BYTES)));
    options
}

/// The header fields that every request bears, made once.
pub(crate) struct Template(HeaderMap);

impl Template {
    /// The fields by the settings; a user agent that cannot be sent is an error that names it.
    pub(crate) fn new(settings: &Settings) -> io::Result<Self> {
        let agent = HeaderValue::from_str(&settings.user_agent).map_err(|_| {
            let text = format!("user agent {:?}: only visible ASCII is allowed", settings.user_agent);
            io::Error::new(io::ErrorKind::InvalidInput, text)
        })?;
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::USER_AGENT, agent);
        if let Some(from) = &settings.from {
            let value = HeaderValue::from_str(from).map_err(|_| {
                let text = format!("From {from:?}: only visible ASCII is allowed");
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })?;
            headers.insert(header::FROM, value);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/html,application/xhtml+xml,*/*;q=0.8"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd"));
        Ok(Template(headers))
    }

    /// The request for a URL, with its cookies.
    pub(crate) fn request(
        &self,
        url: &CrawlUrl,
        cookies: Option<&str>,
    ) -> Result<http::Request<Empty<Bytes>>, Failure> {
        let refuse = |what: &str| Failure::new(FailureKind::Protocol, format!("{what} cannot be sent"));
        let target = PathAndQuery::try_from(url.path_and_query()).map_err(|_| refuse("path"))?;
        let host = HeaderValue::from_str(url.authority()).map_err(|_| refuse("host"))?;
        let mut headers = HeaderMap::with_capacity(self.0.len() + 2);
        headers.insert(header::HOST, host); // first, as RFC 9110 section 7.2 wishes
        headers.extend(self.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(cookies) = cookies {
            let cookies = HeaderValue::from_bytes(cookies.as_bytes()).map_err(|_| refuse("cookie"))?;
            headers.insert(header::COOKIE, cookies);
        }
        let mut request = http::Request::new(Empty::new());
        *request.uri_mut() = target.into();
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// The fields of a response, out of the read buffer.
pub(crate) fn headers(map: &HeaderMap) -> Headers {
    Headers(map.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().into())).collect())
}

/// What an error of hyper's means, by its variant.
pub(crate) fn failure(error: &hyper::Error) -> Failure {
    let kind = if error.is_parse_too_large() {
        FailureKind::HeadersTooLarge
    } else if error.is_parse() {
        FailureKind::Protocol
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || error.is_user() {
        FailureKind::ConnectionClosed // "user" is a connection that was gone before hyper began the request
    } else {
        match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
            Some(cause) => io_kind(cause),
            None => FailureKind::Protocol,
        }
    };
    let detail = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    Failure::new(kind, detail)
}

/// What an error of the stream, or of hyper's body decoder, means.
fn io_kind(error: &io::Error) -> FailureKind {
    use io::ErrorKind as E;
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return FailureKind::TlsFailed;
    }
    match error.kind() {
        E::InvalidData | E::InvalidInput | E::Other => FailureKind::Protocol,
        _ => FailureKind::ConnectionClosed,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template() -> Template {
        Template::new(&Settings::default()).unwrap()
    }

    #[test]
    fn a_request_bears_what_servers_expect() {
        let url = CrawlUrl::parse("http://Example.com:8080/a?b=c#d").unwrap();
        let request = template().request(&url, None).unwrap();
        assert_eq!(request.uri(), "/a?b=c");
        let names: Vec<&str> = request.headers().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["host", "user-agent", "accept", "accept-encoding"]);
        assert_eq!(request.headers()["host"], "example.com:8080");
        let request = template().request(&url, Some("id=7; theme=dark")).unwrap();
        assert_eq!(request.headers()["cookie"], "id=7; theme=dark");
    }

    #[test]
    fn a_user_agent_with_a_line_break_is_refused() {
        let settings = Settings { user_agent: "a\r\nX: y".to_owned(), ..Settings::default() };
        assert!(Template::new(&settings).is_err_and(|error| error.to_string().contains("user agent")));
    }

    #[test]
    fn an_operator_may_say_who_is_behind_it() {
        let settings = Settings { from: Some("crawl@example.org".to_owned()), ..Settings::default() };
        let url = CrawlUrl::parse("http://example.com/").unwrap();
        let request = Template::new(&settings).unwrap().request(&url, None).unwrap();
        assert_eq!(request.headers()["from"], "crawl@example.org");
        assert!(!template().request(&url, None).unwrap().headers().contains_key("from"), "not unasked");
        let broken = Settings { from: Some("a\r\nX: y".to_owned()), ..Settings::default() };
        assert!(Template::new(&broken).is_err_and(|error| error.to_string().contains("From")));
    }

    proptest! {
        #[test]
        fn every_canonical_url_can_be_sent(path in "[ -~é\\t]{0,40}", query in "[ -~é\\t]{0,40}") {
            if let Ok(url) = CrawlUrl::parse(&format!("http://example.com/{path}?{query}")) {
                let request = template().request(&url, None);
                prop_assert!(request.is_ok(), "{}", url.as_str());
                prop_assert_eq!(request.unwrap().uri().to_string(), url.path_and_query());
            }
        }
    }
}
