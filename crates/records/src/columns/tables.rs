//! The columns of each kind of record, in their order. Names are part of the outputs' contract and never change.

use std::borrow::Cow;

use lycosa_url::{CrawlUrl, NameClass};

use super::{Column, Columns, Get, Items, Value, WrongValue};
use crate::{Body, Link, Metadata, Outcome, Received, Request, RequestOptions, Response, header_text};

/// Declares columns: what each holds, its name, how its values are found, and how they are put in. `also`: outputs have it only where
/// it is named.
macro_rules! columns {
    ($record:ty: $($(#[doc = $line:literal])+ $($also:ident)? [$name:literal] $get:expr $(, set $set:expr)?;)+) => {
        impl Columns for $record {
            fn columns() -> &'static [Column<Self>] {
                static COLUMNS: &[Column<$record>] = &[$(Column {
                    name: $name,
                    meaning: concat!($($line),+).trim_ascii(),
                    is_usual: columns!(@usual $($also)?),
                    get: $get,
                    set: columns!(@set $($set)?),
                }),+];
                COLUMNS
            }
        }
    };
    (@usual) => { true };
    (@usual also) => { false };
    (@set) => { None };
    (@set $set:expr) => { Some($set) };
}

/// What a request has beyond a GET, to be changed.
fn options(request: &mut Request) -> &mut RequestOptions {
    request.options.get_or_insert_default()
}

/// The error of an outcome, by its stable name.
fn error(outcome: &Outcome) -> Option<Cow<'_, str>> {
    outcome.failure().map(|failure| failure.kind.as_str().into())
}

/// A text that is borrowed.
fn borrowed(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

/// The address spoken to, as text.
fn address(response: &Response) -> Option<Cow<'_, str>> {
    response.address.map(|address| address.to_string().into())
}

/// A header field's first value.
fn field<'a>(response: &'a Response, name: &str) -> Option<Cow<'a, str>> {
    response.result.as_ref().ok()?.head.get(name)
}

/// Header fields: names in lower case.
fn fields(response: &Response) -> Items<'_, (Cow<'_, str>, Cow<'_, str>)> {
    let fields = response.result.iter().flat_map(|received| received.head.fields());
    Box::new(fields.map(|(name, value)| {
        let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => name.to_ascii_lowercase().into(),
            false => name.into(),
        };
        let value = match value {
            Cow::Borrowed(value) => header_text(value),
            Cow::Owned(value) => header_text(&value).into_owned().into(),
        };
        (name, value)
    }))
}

/// The redirects that led to a request.
fn chain(request: &Request) -> Items<'_, (&str, u16)> {
    Box::new(request.chain.iter().map(|step| (step.url.as_str(), step.status)))
}

/// Header fields that a request has of its own.
fn own_fields(request: &Request) -> Items<'_, (Cow<'_, str>, Cow<'_, str>)> {
    let fields = request.options.iter().flat_map(|options| &options.headers);
    Box::new(fields.map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value))))
}

/// Addresses as text.
fn addresses(request: &Request) -> Items<'_, Cow<'_, str>> {
    Box::new(request.route.addresses().iter().map(|address| address.to_string().into()))
}

/// What each link says.
fn links<'a>(outcome: &'a Outcome, get: fn(Link<'a>) -> &'a str) -> Items<'a, Cow<'a, str>> {
    Box::new(outcome.links.iter().map(move |link| get(link).into()))
}

/// The status line and fields, or the request line and its fields, as text.
fn head<'a>(response: &'a Response, of: fn(&'a Received) -> &'a crate::Head) -> Option<Cow<'a, str>> {
    let head = of(response.result.as_ref().ok()?);
    (!head.is_empty()).then(|| header_text(head.raw()))
}

/// The status.
fn status(response: &Response) -> Option<u16> {
    response.result.as_ref().ok().map(|received| received.status)
}

/// The body as received, where it is in memory.
fn received_body(response: &Response) -> Option<&bytes::Bytes> {
    response.result.as_ref().ok()?.body.memory()
}

/// What the user attached to a request.
fn metadata(request: &Request) -> Option<&Metadata> {
    request.options.as_ref().map(|options| &options.metadata)
}

/// Replaces a response's body.
fn set_body(response: &mut Response, value: Value) -> Result<(), WrongValue> {
    let (given, body) = (value.name(), value.bytes()?);
    let no_response = WrongValue { given, allowed: "nothing, where there is no response" };
    response.result.as_mut().map(|received| received.body = Body::Memory(body)).map_err(|_| no_response)
}

/// Replaces an outcome's links; what the page says of those that stay, it still says.
fn set_links(outcome: &mut Outcome, value: Value) -> Result<(), WrongValue> {
    let (given, texts) = (value.name(), value.texts()?);
    let parse = |text: String| {
        CrawlUrl::parse(&text).map_err(|_| WrongValue { given, allowed: "absolute http and https URLs" })
    };
    let urls = texts.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    outcome.links = outcome.links.changed(&urls, outcome.nofollow);
    Ok(())
}

columns! { Request:
    /// The URL, in canonical form.
    ["url"] Get::Text(|request| request.url.as_str());
    /// The method.
    ["method"] Get::Text(|request| request.method()), set |request, value| { options(request).method = value.text()?.unwrap_or_default(); Ok(()) };
    /// What the request is for: page, robots, sitemap, resource.
    ["purpose"] Get::Text(|request| request.purpose.as_str());
    /// The number of the lease; unique within a crawl.
    ["lease"] Get::Large(|request| request.lease);
    /// The job; empty where one crawl has a process to itself.
    ["job"] Get::Text(|request| &request.task.job);
    /// One of the job's tasks.
    ["task"] Get::Text(|request| &request.task.name);
    /// Requests with a greater priority come first, where the strategy heeds it.
    ["priority"] Get::Signed(|request| request.options.as_ref().map_or(0, |options| options.priority)), set |request, value| { options(request).priority = value.number("an int of 32 bits")?; Ok(()) };
    /// Links from the nearest seed.
    ["depth"] Get::Number(|request| request.depth);
    /// Earlier tries.
    ["attempt"] Get::Number(|request| request.attempt);
    /// The redirects that led here, oldest first: URL and status.
    ["chain"] Get::Steps(chain);
    /// The host's addresses, vetted, best first.
    ["addresses"] Get::Texts(addresses);
    /// The value of the field cookie.
    ["cookies"] Get::MaybeText(|request| borrowed(request.cookies.as_deref())), set |request, value| { request.cookies = value.text()?; Ok(()) };
    /// Header fields besides the crawler's own: name and value.
    ["headers"] Get::Fields(own_fields), set |request, value| { options(request).headers = value.pairs()?; Ok(()) };
    /// When the lease ends, by the crawl's clock.
    ["deadline"] Get::Time(|request| request.deadline);
    /// What the user attached: JSON values by name.
    ["metadata"] Get::Json(metadata), set |request, value| { options(request).metadata = value.map()?; Ok(()) };
    /// The body that is sent.
    ["body"] Get::Bytes(|request| request.options.as_ref().map(|options| &options.body), |_| None), set |request, value| { options(request).body = value.bytes()?; Ok(()) };
}

columns! { Response:
    /// The URL, in canonical form.
    ["url"] Get::Text(|response| response.request.url.as_str());
    /// The number of the lease; unique within a crawl.
    ["lease"] Get::Large(|response| response.request.lease);
    /// Status code; null where there is no response.
    ["status"] Get::Status(status);
    /// Kind of failure, a stable name (docs/errors.md); null where there is a response.
    ["error"] Get::MaybeText(|response| response.result.as_ref().err().map(|failure| failure.kind.as_str().into()));
    /// The failure's circumstances, for people.
    ["error_detail"] Get::MaybeText(|response| response.result.as_ref().err().map(|failure| failure.detail.as_str().into()));
    /// The address spoken to.
    ["address"] Get::MaybeText(address);
    /// When the response was complete, in UTC.
    ["fetched_at"] Get::Time(|response| response.fetched_at());
    /// Microseconds to connect; 0 on a connection that was kept alive.
    ["connect_us"] Get::Number(|response| response.times.connect_us);
    /// Microseconds of the TLS handshake.
    ["tls_us"] Get::Number(|response| response.times.tls_us);
    /// Microseconds from the request's first byte to the response's head.
    ["first_byte_us"] Get::Number(|response| response.times.first_byte_us);
    /// Microseconds from there to the response's last byte.
    ["body_us"] Get::Number(|response| response.times.body_us);
    /// Header fields in the order received: names in lower case, and values.
    ["headers"] Get::Fields(fields);
    /// The field content-type.
    ["content_type"] Get::MaybeText(|response| field(response, "content-type"));
    /// How the response was made: http/1.0, http/1.1, h2, browser, cache.
    ["source"] Get::MaybeText(|response| response.result.as_ref().ok().map(|received| received.source.as_str().into()));
    /// What the user attached to the request: JSON values by name.
    ["metadata"] Get::Json(|response| metadata(&response.request));
    /// The body as received, with its content coding.
    ["body"] Get::Bytes(received_body, |_| None), set set_body;
}

columns! { Outcome:
    /// The URL, in canonical form.
    ["url"] Get::Text(|outcome| outcome.url().as_str());
    /// The redirects that led here, oldest first: URL and status.
    ["chain"] Get::Steps(|outcome| chain(outcome.request()));
    /// Links from the nearest seed.
    ["depth"] Get::Number(|outcome| outcome.request().depth);
    /// Earlier tries.
    ["attempt"] Get::Number(|outcome| outcome.request().attempt);
    /// Status code; null where there is no response.
    ["status"] Get::Status(|outcome| status(&outcome.response));
    /// Kind of failure, a stable name (docs/errors.md); null where there is a response.
    ["error"] Get::MaybeText(error);
    /// The failure's circumstances, for people.
    ["error_detail"] Get::MaybeText(|outcome| outcome.failure().map(|failure| failure.detail.as_str().into()));
    /// The address spoken to.
    ["address"] Get::MaybeText(|outcome| address(&outcome.response));
    /// When the outcome was complete, in UTC.
    ["fetched_at"] Get::Time(|outcome| outcome.response.fetched_at());
    /// Microseconds that the host's name took to resolve; 0 where it was known.
    ["name_us"] Get::Number(|outcome| outcome.request().name_us);
    /// What the name cost to resolve: fast, slow or failed; null where the URL was refused before a request.
    ["dns_class"] Get::MaybeText(|outcome| borrowed(outcome.request().name_class.map(NameClass::as_str)));
    /// Microseconds to connect; 0 on a connection that was kept alive.
    ["connect_us"] Get::Number(|outcome| outcome.response.times.connect_us);
    /// Microseconds of the TLS handshake.
    ["tls_us"] Get::Number(|outcome| outcome.response.times.tls_us);
    /// Microseconds from the request's first byte to the response's head.
    ["first_byte_us"] Get::Number(|outcome| outcome.response.times.first_byte_us);
    /// Microseconds from there to the response's last byte.
    ["body_us"] Get::Number(|outcome| outcome.response.times.body_us);
    /// Header fields in the order received: names in lower case, and values.
    ["headers"] Get::Fields(|outcome| fields(&outcome.response));
    /// The field content-type.
    ["content_type"] Get::MaybeText(|outcome| field(&outcome.response, "content-type"));
    /// Character encoding (WHATWG); null for what is no text.
    ["charset"] Get::MaybeText(|outcome| borrowed(outcome.charset.as_deref()));
    /// Text of the first title element.
    ["title"] Get::MaybeText(|outcome| borrowed(outcome.title.as_deref())), set |outcome, value| { outcome.title = value.text()?; Ok(()) };
    /// Target of rel=canonical.
    ["canonical"] Get::MaybeText(|outcome| borrowed(outcome.canonical.as_ref().map(CrawlUrl::as_str)));
    /// Target of the redirect, where the status is one.
    ["redirect"] Get::MaybeText(|outcome| borrowed(outcome.redirect.as_ref().map(CrawlUrl::as_str)));
    /// Whether robots meta or X-Robots-Tag say noindex.
    ["noindex"] Get::Flag(|outcome| outcome.noindex), set |outcome, value| { outcome.noindex = value.flag()?; Ok(()) };
    /// Whether robots meta or X-Robots-Tag say nofollow.
    ["nofollow"] Get::Flag(|outcome| outcome.nofollow), set |outcome, value| { outcome.nofollow = value.flag()?; Ok(()) };
    /// Number of links in the page.
    ["link_count"] Get::Number(|outcome| u32::try_from(outcome.links.len()).unwrap_or(u32::MAX));
    /// The links of the page, each once, in order.
    ["links"] Get::Texts(|outcome| links(outcome, |link| link.url.as_str())), set set_links;
    /// The body without content coding, as bytes. In JSON lines: the text under body, or other bytes under body_base64; the other key is null.
    ["body"] Get::Bytes(|outcome| outcome.decoded.as_ref(), |outcome| outcome.charset.as_deref());
    /// The body decoded to text by its charset: of an HTML page its HTML with all tags, not the main text. Null for what is no text, or has more than parse.max_decoded_bytes in UTF-8. Not written unless store.fields names it.
    also ["text"] Get::DecodedText(|outcome| outcome.decoded.as_ref(), |outcome| outcome.charset.as_deref());
    /// What the user attached to the request: JSON values by name. Not written unless store.fields names it.
    also ["metadata"] Get::Json(|outcome| metadata(outcome.request()));
    /// What rules or a parse stage of your own extracted: JSON values by name. Not written unless store.fields names it.
    also ["fields"] Get::Json(|outcome| Some(&outcome.fields)), set |outcome, value| { outcome.fields = value.map()?; Ok(()) };
    /// The text of each link, where parse.link_details has anchor; in the order of links. Not written unless store.fields names it.
    also ["link_anchors"] Get::Texts(|outcome| links(outcome, |link| link.details.anchor));
    /// Whether each link, or its page, says nofollow; in the order of links. Not written unless store.fields names it.
    also ["link_nofollow"] Get::Flags(|outcome| Box::new(outcome.links.iter().map(|link| link.nofollow)));
    /// The attribute rel of each link, where parse.link_details has rel; in the order of links. Not written unless store.fields names it.
    also ["link_rels"] Get::Texts(|outcome| links(outcome, |link| link.details.rel));
    /// The method of the request. Not written unless store.fields names it.
    also ["method"] Get::Text(|outcome| outcome.request().method());
    /// How the response was made: http/1.0, http/1.1, h2, browser, cache. Not written unless store.fields names it.
    also ["source"] Get::MaybeText(|outcome| outcome.received().map(|received| received.source.as_str().into()));
    /// Request line and header fields as sent. Not written unless store.fields names it.
    also ["request_head"] Get::MaybeText(|outcome| head(&outcome.response, |received| &received.sent));
    /// Status line and header fields as received, with their case. Not written unless store.fields names it.
    also ["response_head"] Get::MaybeText(|outcome| head(&outcome.response, |received| &received.head));
    /// SHA-256 of the server's certificate; null without TLS. Not written unless store.fields names it.
    also ["certificate_sha256"] Get::MaybeText(|outcome| outcome.received().and_then(|received| received.certificate.as_ref()).map(|certificate| (&*certificate.sha256).into()));
}
