//! The columns of each kind of record, in order. Names are part of the outputs' contract and never change.

use std::borrow::Cow;

use lycosa_url::{CrawlUrl, NameClass};

use super::{Column, Columns, Get, Items, Value, WrongValue};
use crate::{
    Body, Link, MAX_KEY_BYTES, Metadata, Outcome, PageText, Received, Request, RequestOptions, Response,
    header_text,
};

/// Declares columns: description, name, getter and setter of each. `also`: outputs have the column only if
/// `store.fields` names it.
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

/// Changes a request's options; a plain GET has none.
fn change(
    request: &mut Request,
    change: impl FnOnce(&mut RequestOptions) -> Result<(), WrongValue>,
) -> Result<(), WrongValue> {
    change(request.options.get_or_insert_default())?;
    request.options.take_if(|options| **options == RequestOptions::default());
    Ok(())
}

/// The stable name of an outcome's failure.
fn error(outcome: &Outcome) -> Option<Cow<'_, str>> {
    outcome.failure().map(|failure| failure.kind.as_str().into())
}

/// Borrows a text.
fn borrowed(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

/// The server's address, as text.
fn address(response: &Response) -> Option<Cow<'_, str>> {
    response.address.map(|address| address.to_string().into())
}

/// A header field's first value.
fn field<'a>(response: &'a Response, name: &str) -> Option<Cow<'a, str>> {
    response.result.as_ref().ok()?.head.get(name)
}

/// Header fields, with names in lower case.
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

/// A request's additional header fields.
fn own_fields(request: &Request) -> Items<'_, (Cow<'_, str>, Cow<'_, str>)> {
    let fields = request.options.iter().flat_map(|options| &options.headers);
    Box::new(fields.map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value))))
}

/// Addresses as text.
fn addresses(request: &Request) -> Items<'_, Cow<'_, str>> {
    Box::new(request.route.addresses().iter().map(|address| address.to_string().into()))
}

/// One text of each link.
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

/// The body as received, if it is in memory.
fn received_body(response: &Response) -> Option<&bytes::Bytes> {
    response.result.as_ref().ok()?.body.memory()
}

/// The user's metadata of a request.
fn metadata(request: &Request) -> Option<&Metadata> {
    request.options.as_ref().map(|options| &options.metadata)
}

/// What a page says, if its text was read and says it.
fn stated(outcome: &Outcome, get: fn(&PageText) -> &str) -> Option<Cow<'_, str>> {
    outcome.text.as_deref().map(get).filter(|text| !text.is_empty()).map(Cow::Borrowed)
}

/// Replaces a response's body.
fn set_body(response: &mut Response, value: Value) -> Result<(), WrongValue> {
    match &mut response.result {
        Ok(received) => received.body = Body::Memory(value.bytes()?),
        // As the column has it.
        Err(_) if value == Value::None => {}
        Err(_) => return Err(value.wrong("None: there is no response")),
    }
    Ok(())
}

/// Replaces an outcome's links; links that stay keep their details and `nofollow`.
fn set_links(outcome: &mut Outcome, value: Value) -> Result<(), WrongValue> {
    let (given, texts) = (value.name(), value.texts()?);
    let parse = |text: String| {
        CrawlUrl::parse(&text).map_err(|_| WrongValue { given, allowed: "absolute http and https URLs" })
    };
    let urls = texts.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    outcome.links = outcome.links.changed(&urls, outcome.nofollow);
    Ok(())
}

/// Sets the priorities of an outcome's links.
fn set_link_priorities(outcome: &mut Outcome, value: Value) -> Result<(), WrongValue> {
    const ALLOWED: &str = "a list of int of 32 bits, one for each link";
    let (given, priorities) = (value.name(), value.numbers(ALLOWED)?);
    match outcome.links.set_priorities(priorities) {
        true => Ok(()),
        false => Err(WrongValue { given, allowed: ALLOWED }),
    }
}

/// Requests that user's code adds to an outcome, at most.
const MAX_REQUESTS: usize = 1_000;

/// Approximate bytes of these, at most.
const MAX_REQUESTS_BYTES: usize = 8 << 20;

/// Replaces the requests that user's code has added to an outcome: what they ask for, without what a lease has.
fn set_requests(outcome: &mut Outcome, value: Value) -> Result<(), WrongValue> {
    let wrong = |given, allowed| Err(WrongValue { given, allowed });
    let given = match value {
        Value::Requests(given) => given,
        Value::Texts(texts) if texts.is_empty() => Vec::new(),
        other => return wrong(other.name(), "a list of Request"),
    };
    if given.len() > MAX_REQUESTS {
        return wrong("a longer list", "1,000 requests for each outcome");
    }
    let plain = |Request { url, options, .. }| Request { options, ..Request::get(url) };
    let requests: Vec<Request> = given.into_iter().map(plain).collect();
    if requests.iter().map(Request::memory).sum::<usize>() > MAX_REQUESTS_BYTES {
        return wrong("larger requests", "requests of 8 MiB together for each outcome");
    }
    outcome.requests = requests;
    Ok(())
}

/// Sets a request's deduplication key.
fn set_key(request: &mut Request, value: Value) -> Result<(), WrongValue> {
    let key = value.text()?.unwrap_or_default();
    if key.len() > MAX_KEY_BYTES {
        return Err(WrongValue { given: "a longer str", allowed: "1,024 bytes" });
    }
    change(request, |options| {
        options.key = key;
        Ok(())
    })
}

columns! { Request:
    /// The URL, in canonical form.
    ["url"] Get::Text(|request| request.url.as_str());
    /// The method.
    ["method"] Get::Text(|request| request.method()), set |request, value| change(request, |options| { options.method = value.text()?.filter(|method| &**method != "GET").unwrap_or_default(); Ok(()) });
    /// Purpose of the request: page, robots, sitemap, resource.
    ["purpose"] Get::Text(|request| request.purpose.as_str());
    /// The lease's number; unique within a crawl.
    ["lease"] Get::Large(|request| request.lease);
    /// The job; empty if the process runs a single crawl.
    ["job"] Get::Text(|request| &request.task.job);
    /// The task within the job.
    ["task"] Get::Text(|request| &request.task.name);
    /// Requests with a greater priority come first: -4 to 4, what is beyond counts as these.
    ["priority"] Get::Signed(|request| request.options.as_ref().map_or(0, |options| options.priority)), set |request, value| change(request, |options| { options.priority = value.number("an int of 32 bits")?; Ok(()) });
    /// Number of links from the nearest seed.
    ["depth"] Get::Number(|request| request.depth);
    /// Number of earlier tries.
    ["attempt"] Get::Number(|request| request.attempt);
    /// The redirects that led here, oldest first: URL and status.
    ["chain"] Get::Steps(chain);
    /// The host's permitted addresses, best first.
    ["addresses"] Get::Texts(addresses);
    /// The name of the proxy that it goes through.
    ["proxy"] Get::MaybeText(|request| borrowed(request.route.proxy())), set |request, value| { request.route = request.route.by(value.text()?.as_deref()); Ok(()) };
    /// Value of the header field cookie.
    ["cookies"] Get::MaybeText(|request| borrowed(request.cookies.as_deref())), set |request, value| { request.cookies = value.text()?; Ok(()) };
    /// Header fields that add to the crawler's own or replace them: name and value.
    ["headers"] Get::Fields(own_fields), set |request, value| change(request, |options| { options.headers = value.pairs()?; Ok(()) });
    /// When the lease expires, by the crawl's clock.
    ["deadline"] Get::Time(|request| request.deadline);
    /// The user's metadata: JSON values by name.
    ["metadata"] Get::Json(metadata), set |request, value| change(request, |options| { options.metadata = value.map()?; Ok(()) });
    /// Deduplication key: requests of one host with the same key are one, whatever they ask for; empty: URL, method and body tell requests
    /// apart.
    ["key"] Get::Text(|request| request.options.as_ref().map_or("", |options| &options.key)), set set_key;
    /// Body of the request.
    ["body"] Get::Bytes(|request| request.options.as_ref().map(|options| &options.body), |_| None), set |request, value| change(request, |options| { options.body = if value == Value::None { bytes::Bytes::new() } else { value.bytes()? }; Ok(()) });
}

columns! { Response:
    /// The URL, in canonical form.
    ["url"] Get::Text(|response| response.request.url.as_str());
    /// The lease's number; unique within a crawl.
    ["lease"] Get::Large(|response| response.request.lease);
    /// Status code; null if there is no response.
    ["status"] Get::Status(status);
    /// Kind of failure, a stable name (docs/errors.md); null if there is a response.
    ["error"] Get::MaybeText(|response| response.result.as_ref().err().map(|failure| failure.kind.as_str().into()));
    /// Details of the failure, human-readable.
    ["error_detail"] Get::MaybeText(|response| response.result.as_ref().err().map(|failure| failure.detail.as_str().into()));
    /// IP address of the server.
    ["address"] Get::MaybeText(address);
    /// When the response was complete, in UTC.
    ["fetched_at"] Get::Time(|response| response.fetched_at());
    /// Microseconds to connect; 0 on a reused connection.
    ["connect_us"] Get::Number(|response| response.times.connect_us);
    /// Microseconds of the TLS handshake.
    ["tls_us"] Get::Number(|response| response.times.tls_us);
    /// Microseconds from the request's first byte to the response's head.
    ["first_byte_us"] Get::Number(|response| response.times.first_byte_us);
    /// Microseconds from the response's head to its last byte.
    ["body_us"] Get::Number(|response| response.times.body_us);
    /// Header fields in the order received: names in lower case, and values.
    ["headers"] Get::Fields(fields);
    /// The header field content-type.
    ["content_type"] Get::MaybeText(|response| field(response, "content-type"));
    /// Source of the response: http/1.0, http/1.1, h2, browser, cache.
    ["source"] Get::MaybeText(|response| response.result.as_ref().ok().map(|received| received.source.as_str().into()));
    /// The user's metadata of the request: JSON values by name.
    ["metadata"] Get::Json(|response| metadata(&response.request));
    /// The body as received, with its content coding.
    ["body"] Get::Bytes(received_body, |_| None), set set_body;
}

columns! { Outcome:
    /// The URL, in canonical form.
    ["url"] Get::Text(|outcome| outcome.url().as_str());
    /// The redirects that led here, oldest first: URL and status.
    ["chain"] Get::Steps(|outcome| chain(outcome.request()));
    /// Number of links from the nearest seed.
    ["depth"] Get::Number(|outcome| outcome.request().depth);
    /// Number of earlier tries.
    ["attempt"] Get::Number(|outcome| outcome.request().attempt);
    /// Status code; null if there is no response.
    ["status"] Get::Status(|outcome| outcome.answer().map(|received| received.status));
    /// Kind of failure, a stable name (docs/errors.md); null if there is a response.
    ["error"] Get::MaybeText(error);
    /// Details of the failure, human-readable.
    ["error_detail"] Get::MaybeText(|outcome| outcome.failure().map(|failure| failure.detail.as_str().into()));
    /// IP address of the server.
    ["address"] Get::MaybeText(|outcome| address(&outcome.response));
    /// When the outcome was complete, in UTC.
    ["fetched_at"] Get::Time(|outcome| outcome.response.fetched_at());
    /// Microseconds to resolve the host's name; 0 if it was cached.
    ["name_us"] Get::Number(|outcome| outcome.request().name_us);
    /// Cost of resolving the name: fast, slow or failed; null if the URL was refused before a request.
    ["dns_class"] Get::MaybeText(|outcome| borrowed(outcome.request().name_class.map(NameClass::as_str)));
    /// Microseconds to connect; 0 on a reused connection.
    ["connect_us"] Get::Number(|outcome| outcome.response.times.connect_us);
    /// Microseconds of the TLS handshake.
    ["tls_us"] Get::Number(|outcome| outcome.response.times.tls_us);
    /// Microseconds from the request's first byte to the response's head.
    ["first_byte_us"] Get::Number(|outcome| outcome.response.times.first_byte_us);
    /// Microseconds from the response's head to its last byte.
    ["body_us"] Get::Number(|outcome| outcome.response.times.body_us);
    /// Header fields in the order received: names in lower case, and values.
    ["headers"] Get::Fields(|outcome| fields(&outcome.response));
    /// The header field content-type.
    ["content_type"] Get::MaybeText(|outcome| field(&outcome.response, "content-type"));
    /// Character encoding (WHATWG); null if the body is not text.
    ["charset"] Get::MaybeText(|outcome| borrowed(outcome.charset.as_deref()));
    /// Text of the first title element.
    ["title"] Get::MaybeText(|outcome| borrowed(outcome.title.as_deref())), set |outcome, value| { outcome.title = value.text()?; Ok(()) };
    /// Target of rel=canonical.
    ["canonical"] Get::MaybeText(|outcome| borrowed(outcome.canonical.as_ref().map(CrawlUrl::as_str)));
    /// Target of the redirect, if the status is one.
    ["redirect"] Get::MaybeText(|outcome| borrowed(outcome.redirect.as_ref().map(CrawlUrl::as_str)));
    /// Whether a robots meta element or X-Robots-Tag says noindex.
    ["noindex"] Get::Flag(|outcome| outcome.noindex), set |outcome, value| { outcome.noindex = value.flag()?; Ok(()) };
    /// Whether a robots meta element or X-Robots-Tag says nofollow.
    ["nofollow"] Get::Flag(|outcome| outcome.nofollow), set |outcome, value| { outcome.nofollow = value.flag()?; Ok(()) };
    /// The site's preferences about the uses of the page: the use, whether it is allowed, and the signal that says so.
    ["usage"] Get::Preferences(|outcome| Box::new(outcome.usage.iter()));
    /// Number of links in the page.
    ["link_count"] Get::Number(|outcome| u32::try_from(outcome.links.len()).unwrap_or(u32::MAX));
    /// The links of the page, each once, in order.
    ["links"] Get::Texts(|outcome| links(outcome, |link| link.url.as_str())), set set_links;
    /// The body without content coding, as bytes. In JSON lines: the text under body, or other bytes under body_base64; the other key is null.
    ["body"] Get::Bytes(Outcome::page, |outcome| outcome.charset.as_deref());
    /// SHA-1 of the body as it was received, as archives have it: WARC-Payload-Digest of a record, and digest of an index (.cdxj). So a row
    /// names the record with its body, wherever that is. Not written unless store.fields names it.
    also ["payload_digest"] Get::MaybeText(|outcome| outcome.received().and_then(|received| received.body.memory()).map(|body| lycosa_warc::sha1(&[body]).into()));
    /// The body decoded to text by its charset: for an HTML page the HTML with all tags, not the main text.
    /// Null if the body is not text, or is longer than parse.max_decoded_bytes in UTF-8. Not written unless
    /// store.fields names it.
    also ["text"] Get::DecodedText(Outcome::page, |outcome| outcome.charset.as_deref());
    /// The main text of the page, each block on lines of its own: headings, paragraphs, items of lists, cells of tables. Not written unless
    /// store.fields names it.
    also ["main_text"] Get::MaybeText(|outcome| stated(outcome, |page| &page.text)),
        set |outcome, value| { outcome.text.get_or_insert_default().text = value.text()?.unwrap_or_default(); Ok(()) };
    /// The same as Markdown. Not written unless store.fields names it.
    also ["markdown"] Get::MaybeText(|outcome| stated(outcome, |page| &page.markdown)),
        set |outcome, value| { outcome.text.get_or_insert_default().markdown = value.text()?.unwrap_or_default(); Ok(()) };
    /// What the page is: article, forum, product, collection, listing, documentation, service, other; or binary: its bytes are no text.
    /// Not written unless store.fields names it.
    also ["kind"] Get::MaybeText(|outcome| stated(outcome, |page| &page.kind));
    /// The expected F1 of the words of main_text, in thousandths. Not written unless store.fields names it.
    also ["confidence"] Get::Number(|outcome| outcome.text.as_ref().map_or(0, |page| page.confidence));
    /// The title of the page without the name of its site. Not written unless store.fields names it.
    also ["headline"] Get::MaybeText(|outcome| stated(outcome, |page| &page.headline));
    /// The authors that the page names. Not written unless store.fields names it.
    also ["author"] Get::MaybeText(|outcome| stated(outcome, |page| &page.author));
    /// The day of publication, such as 2024-05-13, as the page states it, or shows it beside its title. Not written unless store.fields names it.
    also ["published"] Get::MaybeText(|outcome| stated(outcome, |page| &page.published));
    /// The day on which the page says that it was changed last. Not written unless store.fields names it.
    also ["modified"] Get::MaybeText(|outcome| stated(outcome, |page| &page.modified));
    /// The language that the page says that it is in (BCP 47). Not written unless store.fields names it.
    also ["language"] Get::MaybeText(|outcome| stated(outcome, |page| &page.language));
    /// The page's own description. Not written unless store.fields names it.
    also ["description"] Get::MaybeText(|outcome| stated(outcome, |page| &page.description));
    /// The name of the site, as the page has it. Not written unless store.fields names it.
    also ["site"] Get::MaybeText(|outcome| stated(outcome, |page| &page.site));
    /// Fingerprint of main_text: near duplicates differ in few of its 64 bits; 0 without text. Not written unless store.fields names it.
    also ["simhash"] Get::Large(|outcome| outcome.text.as_ref().map_or(0, |page| page.simhash));
    /// MD5 of the words of main_text: the same for texts that differ in spaces, marks and case alone. Not written unless store.fields
    /// names it.
    also ["text_digest"] Get::MaybeText(|outcome| stated(outcome, |page| &page.digest));
    /// The user's metadata of the request: JSON values by name. Not written unless store.fields names it.
    also ["metadata"] Get::Json(|outcome| metadata(outcome.request()));
    /// Values that rules or your own parse stage extracted: JSON values by name. Not written unless
    /// store.fields names it.
    also ["fields"] Get::Json(|outcome| Some(&outcome.fields)), set |outcome, value| { outcome.fields = value.map()?; Ok(()) };
    /// The text of the first mention of each link, if parse.link_details contains anchor; in the order of links. Not written
    /// unless store.fields names it.
    also ["link_anchors"] Get::Texts(|outcome| links(outcome, |link| link.details.anchor));
    /// The text around the first mention of each link, if parse.link_details contains context; in the order of links. Not written
    /// unless store.fields names it.
    also ["link_contexts"] Get::Texts(|outcome| links(outcome, |link| link.details.context));
    /// The part of the page in which each link is (navigation, header, content, aside, footer; empty: none of them), if
    /// parse.link_details contains place; in the order of links. Not written unless store.fields names it.
    also ["link_places"] Get::Texts(|outcome| links(outcome, |link| link.details.place));
    /// Whether each link, or its page, is nofollow; in the order of links. Not written unless store.fields
    /// names it.
    also ["link_nofollow"] Get::Flags(|outcome| Box::new(outcome.links.iter().map(|link| link.nofollow)));
    /// The attribute rel of each link, if parse.link_details contains rel; in the order of links. Not written
    /// unless store.fields names it.
    also ["link_rels"] Get::Texts(|outcome| links(outcome, |link| link.details.rel));
    /// Priority of each link, as of requests; 0 unless a parse stage of your own sets it; in the order of
    /// links. Not written unless store.fields names it.
    also ["link_priorities"] Get::Numbers(|outcome| Box::new(outcome.links.iter().map(|link| link.priority))), set set_link_priorities;
    /// The URLs of requests that your parse stage or middleware has added. Not written unless store.fields names it.
    also ["requests"] Get::Texts(|outcome| Box::new(outcome.requests.iter().map(|request| request.url.as_str().into()))), set set_requests;
    /// The method of the request. Not written unless store.fields names it.
    also ["method"] Get::Text(|outcome| outcome.request().method());
    /// Source of the response: http/1.0, http/1.1, h2, browser, cache. Not written unless store.fields names
    /// it.
    also ["source"] Get::MaybeText(|outcome| outcome.received().map(|received| received.source.as_str().into()));
    /// The price that the site asks for the page instead of serving it, such as USD 0.01 (status 402). Not written unless store.fields
    /// names it.
    also ["price"] Get::MaybeText(|outcome| outcome.received().and_then(crate::price).map(|price| price.to_string().into()));
    /// The URL of the licence that the site names for the page; of several, the first of licenses. Not written unless store.fields names it.
    also ["license"] Get::MaybeText(|outcome| crate::licenses(outcome).into_iter().next().map(|license| String::from(license.url).into()));
    /// All licences that the site names for the page, and the signal that names each; the one that counts first. Not written unless
    /// store.fields names it.
    also ["licenses"] Get::Licenses(|outcome| Box::new(crate::licenses(outcome).into_iter()));
    /// The proxy that the request went through. Not written unless store.fields names it.
    also ["proxy"] Get::MaybeText(|outcome| borrowed(outcome.request().route.proxy()));
    /// Request line and header fields as sent. Not written unless store.fields names it.
    also ["request_head"] Get::MaybeText(|outcome| head(&outcome.response, |received| &received.sent));
    /// Status line and header fields as received, with their case. Not written unless store.fields names it.
    also ["response_head"] Get::MaybeText(|outcome| head(&outcome.response, |received| &received.head));
    /// SHA-256 of the server's certificate; null without TLS. Not written unless store.fields names it.
    also ["certificate_sha256"] Get::MaybeText(|outcome| outcome.received().and_then(|received| received.certificate.as_ref()).map(|certificate| (&*certificate.sha256).into()));
}
