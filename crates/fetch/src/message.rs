//! Converts records to and from hyper's types, and hyper's errors to failures.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Scheme, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use lycosa_records::{Head, Request, RequestOptions, Source, is_settable_field};
use lycosa_url::{Clock, Failure, FailureKind};

use crate::credentials::Credentials;
use crate::identity::Identity;
use crate::proxy::{Proxies, Proxy};
use crate::settings::Settings;

/// Bytes that are read at once: most pages with their head, in one system call.
const READ_BYTES: usize = 64 << 10;

/// hyper's options for connections with large buffers, and for those whose buffers grow with what is received. The lenient ones are
/// needed for real sites (attohttpc#94, hyper#2879); they concern header fields only, never where a message ends.
pub(crate) fn options(settings: &Settings) -> (http1::Builder, http1::Builder) {
    let mut options = http1::Builder::new();
    options
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .max_headers(settings.max_headers)
        .max_header_size(settings.max_header_bytes);
    let (bytes, mut growing) = (settings.max_header_bytes.max(READ_BYTES), options.clone());
    options.read_buf_exact_size(Some(bytes));
    growing.max_buf_size(bytes);
    (options, growing)
}

/// The header fields of every request, built once, and what signs it.
pub(crate) struct Template {
    fields: HeaderMap,
    credentials: Arc<Credentials>,
    identity: Option<Arc<Identity>>,
    proxies: Proxies,
    clock: Clock,
}

impl Template {
    /// Builds the fields from the settings; fails with the name of a field whose value is invalid.
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
        Ok(Template {
            fields: headers,
            credentials: settings.credentials.clone(),
            identity: settings.identity.clone(),
            proxies: settings.proxies.clone(),
            clock: settings.clock,
        })
    }

    /// Converts a request to hyper's type.
    pub(crate) fn request(&self, request: &Request) -> Result<http::Request<Full<Bytes>>, Failure> {
        let host = HeaderValue::from_str(request.url.authority()).map_err(|_| refused("host"))?;
        let mut made = http::Request::new(Full::new(body(request)));
        *made.uri_mut() = target(request)?.into();
        *made.method_mut() = method(request)?;
        *made.headers_mut() = self.headers(request, Some(host))?;
        if let Some(proxy) = self.taker(request) {
            *made.uri_mut() = Uri::try_from(request.url.as_str()).map_err(|_| refused("URL"))?;
            if let Some(authorization) = proxy.authorization() {
                let value = HeaderValue::try_from(authorization).map_err(|_| refused("password"))?;
                made.headers_mut().insert(header::PROXY_AUTHORIZATION, value);
            }
        }
        Ok(made)
    }

    /// The proxy that takes a request as it is, without a tunnel.
    pub(crate) fn taker(&self, request: &Request) -> Option<Arc<Proxy>> {
        let proxy = self.proxies.get(request.route.proxy()?)?;
        proxy.takes_whole(request.url.is_https()).then_some(proxy)
    }

    /// The head of a request as it was sent, without what nobody is to read in a record: passwords of the proxy and of the job's
    /// credentials. What the request itself came with stays.
    pub(crate) fn without_secrets(&self, request: &Request, sent: Head) -> Head {
        let sent = if request.route.proxy().is_some() { sent.without("proxy-authorization") } else { sent };
        let is_own = |options: &RequestOptions| {
            options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        };
        let has_own = request.options.as_deref().is_some_and(is_own);
        if self.credentials.of(&request.url).is_some() && !has_own {
            return sent.redacted("authorization");
        }
        sent
    }

    /// Converts a request to h2's type, and its body: scheme and host are part of the URI (RFC 9113 section 8.3.1).
    pub(crate) fn request2(&self, request: &Request) -> Result<(http::Request<()>, Bytes), Failure> {
        let scheme = if request.url.is_https() { Scheme::HTTPS } else { Scheme::HTTP };
        let uri = Uri::builder().scheme(scheme).authority(request.url.authority());
        let (body, method) = (body(request), method(request)?);
        let mut headers = self.headers(request, None)?;
        if !body.is_empty() || method == Method::POST || method == Method::PUT {
            headers.insert(header::CONTENT_LENGTH, body.len().into());
        }
        let mut made = http::Request::new(());
        *made.uri_mut() = uri.path_and_query(target(request)?).build().map_err(|_| refused("host"))?;
        *made.version_mut() = http::Version::HTTP_2;
        *made.method_mut() = method;
        *made.headers_mut() = headers;
        Ok((made, body))
    }

    /// The header fields of a request, `Host` first, as RFC 9110 section 7.2 recommends.
    fn headers(&self, request: &Request, host: Option<HeaderValue>) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::with_capacity(self.fields.len() + 5);
        if let Some(host) = host {
            headers.insert(header::HOST, host);
        }
        headers.extend(self.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(cookies) = &request.cookies {
            let cookies = HeaderValue::from_bytes(cookies.as_bytes()).map_err(|_| refused("cookie"))?;
            headers.insert(header::COOKIE, cookies);
        }
        if let Some(authorization) = self.credentials.of(&request.url) {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        if let Some(options) = &request.options {
            add_options(&mut headers, options)?;
        }
        if let Some(identity) = self.identity.as_ref().filter(|_| request.url.is_https()) {
            identity.sign(&mut headers, request.url.authority(), self.clock.wall() / 1_000_000);
        }
        Ok(headers)
    }
}

/// The failure of a request of which a part cannot be sent.
fn refused(what: &str) -> Failure {
    Failure::new(FailureKind::Protocol, format!("{what} cannot be sent"))
}

/// The path and the query of a request.
fn target(request: &Request) -> Result<PathAndQuery, Failure> {
    PathAndQuery::try_from(request.url.path_and_query()).map_err(|_| refused("path"))
}

/// The method of a request.
fn method(request: &Request) -> Result<Method, Failure> {
    let Some(options) = &request.options else { return Ok(Method::GET) };
    Method::from_bytes(options.method().as_bytes()).map_err(|_| refused("method"))
}

/// The body of a request.
fn body(request: &Request) -> Bytes {
    request.options.as_ref().map(|options| options.body.clone()).unwrap_or_default()
}

/// Adds a request's own fields, which replace the crawler's.
fn add_options(headers: &mut HeaderMap, options: &RequestOptions) -> Result<(), Failure> {
    let refuse =
        |name: &str| Failure::new(FailureKind::Protocol, format!("header field {name:?} cannot be sent"));
    let parse = |name: &str, value: &str| -> Option<(HeaderName, HeaderValue)> {
        let known = HeaderName::from_bytes(name.as_bytes()).ok()?;
        is_settable_field(name).then_some((known, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    let validators = [
        ("if-none-match", &options.validators.etag),
        ("if-modified-since", &options.validators.last_modified),
    ];
    let validators = validators.into_iter().filter_map(|(name, value)| Some((name, &**value.as_ref()?)));
    let own = options.headers.iter().map(|(name, value)| (&**name, &**value));
    let mut added: Vec<HeaderName> = Vec::new();
    for (name, value) in validators.chain(own) {
        let (name, value) = parse(name, value).ok_or_else(|| refuse(name))?;
        // The first field of a name replaces the crawler's, further ones are appended.
        if added.contains(&name) {
            headers.append(name, value);
        } else {
            headers.insert(&name, value);
            added.push(name);
        }
    }
    Ok(())
}

/// The source of a response of this version.
pub(crate) fn source(version: http::Version) -> Source {
    if version == http::Version::HTTP_10 { Source::Http10 } else { Source::Http11 }
}

/// Converts an error of hyper, by its variant.
pub(crate) fn failure(error: &hyper::Error) -> Failure {
    let kind = if error.is_parse_too_large() {
        FailureKind::HeadersTooLarge
    } else if error.is_parse() {
        FailureKind::Protocol
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || error.is_user() {
        FailureKind::ConnectionClosed // "user": the connection was closed before hyper began the request
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

/// Classifies an error of the stream, or of hyper's body decoder.
pub(crate) fn io_kind(error: &io::Error) -> FailureKind {
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
    use lycosa_records::Validators;
    use lycosa_url::CrawlUrl;
    use proptest::prelude::*;

    use super::*;

    fn template() -> Template {
        Template::new(&Settings::default()).unwrap()
    }

    fn get(url: &str) -> Request {
        Request::get(CrawlUrl::parse(url).unwrap())
    }

    #[test]
    fn a_request_bears_what_servers_expect() {
        let mut asked = get("http://Example.com:8080/a?b=c#d");
        let request = template().request(&asked).unwrap();
        assert_eq!((request.uri().to_string(), request.method()), ("/a?b=c".to_owned(), &Method::GET));
        let names: Vec<&str> = request.headers().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["host", "user-agent", "accept", "accept-encoding"]);
        assert_eq!(request.headers()["host"], "example.com:8080");
        asked.cookies = Some("id=7; theme=dark".into());
        let request = template().request(&asked).unwrap();
        assert_eq!(request.headers()["cookie"], "id=7; theme=dark");
    }

    #[test]
    fn a_request_of_its_own_bears_what_it_was_given_and_nothing_that_ends_a_message() {
        let with = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let validators = Validators { etag: Some("\"a\"".into()), last_modified: None };
            let (method, body) = ("POST".into(), Bytes::from_static(b"q=1"));
            let options = RequestOptions { method, headers, body, validators, ..RequestOptions::default() };
            template().request(&Request { options: Some(Box::new(options)), ..get("http://a.com/") })
        };
        let request = with(&[("Accept", "text/plain"), ("X-A", "1"), ("x-a", "2")]).unwrap();
        assert_eq!(request.method(), Method::POST);
        let values = |name: &str| request.headers().get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            (values("accept"), values("x-a")),
            (vec!["text/plain".parse().unwrap()], vec!["1".parse().unwrap(), "2".parse().unwrap()])
        );
        assert_eq!(values("if-none-match"), ["\"a\""]);
        for (name, value) in [
            ("Content-Length", "9"),
            ("transfer-encoding", "x"),
            ("host", "b.com"),
            ("a b", "1"),
            ("a", "1\r\nb: 2"),
        ] {
            assert!(with(&[(name, value)]).is_err_and(|failure| failure.detail.contains(name)), "{name}");
        }
    }

    #[test]
    fn a_user_agent_with_a_line_break_is_refused() {
        let settings = Settings { user_agent: "a\r\nX: y".to_owned(), ..Settings::default() };
        assert!(Template::new(&settings).is_err_and(|error| error.to_string().contains("user agent")));
    }

    #[test]
    fn an_operator_may_say_who_is_behind_it() {
        let settings = Settings { from: Some("crawl@example.org".to_owned()), ..Settings::default() };
        let asked = get("http://example.com/");
        let request = Template::new(&settings).unwrap().request(&asked).unwrap();
        assert_eq!(request.headers()["from"], "crawl@example.org");
        assert!(!template().request(&asked).unwrap().headers().contains_key("from"), "not unasked");
        let broken = Settings { from: Some("a\r\nX: y".to_owned()), ..Settings::default() };
        assert!(Template::new(&broken).is_err_and(|error| error.to_string().contains("From")));
    }

    proptest! {
        #[test]
        fn every_canonical_url_can_be_sent(path in "[ -~é\\t]{0,40}", query in "[ -~é\\t]{0,40}") {
            if let Ok(url) = CrawlUrl::parse(&format!("http://example.com/{path}?{query}")) {
                let request = template().request(&Request::get(url.clone()));
                prop_assert!(request.is_ok(), "{}", url.as_str());
                prop_assert_eq!(request.unwrap().uri().to_string(), url.path_and_query());
            }
        }
    }
}
