//! response → page: character set, base, links, title, canonical and robots meta.
//!
//! [`parse`] is a pure function of a response and its decoded body. Nothing here fails: a page that
//! is not HTML simply has no links, and broken HTML gives what a browser's tokenizer sees in it.

mod barrier;
mod charset;
mod directives;
mod html;
mod settings;

use bytes::Bytes;
use lycosa_url::{Base, CrawlUrl, Failure, FailureKind, Page, Purpose, Received, Response};

pub use barrier::guard;
pub use charset::{decode_text, decode_text_within, detect};
pub use settings::Settings;

/// Parses one response. `decoded` is its body without content coding, or why there is none.
pub fn parse(response: Response, decoded: Result<Bytes, Failure>, settings: &Settings) -> Page {
    let mut page = Page::new(response, Bytes::new());
    parse_into(&mut page, decoded, settings);
    page
}

/// The same, into a page of which nothing is known yet.
pub fn parse_into(page: &mut Page, decoded: Result<Bytes, Failure>, settings: &Settings) {
    match decoded {
        Ok(body) => page.body = body,
        Err(failure) => {
            if page.response.result.is_ok() {
                page.response.result = Err(failure);
            }
        }
    }
    let Ok(received) = &page.response.result else { return };
    if page.response.request.purpose == Purpose::Robots {
        page.redirect = redirect(&page.response.request.url, received).ok().flatten();
        return;
    }
    match redirect(&page.response.request.url, received) {
        Ok(target) => page.redirect = target,
        Err(failure) => {
            page.response.result = Err(failure);
            return;
        }
    }
    let directives = directives::from_headers(&received.headers, &settings.agent);
    (page.noindex, page.nofollow) = (directives.noindex, directives.nofollow);
    if is_text(received, &page.body) {
        let encoding = charset::detect(received.headers.get("content-type"), &page.body);
        page.charset = Some(encoding.name());
        if is_html(received, &page.body) {
            let body = page.body.clone();
            html::read(&body, encoding, page, settings);
        }
    }
}

/// The target of a redirect; a redirect without a usable one is a failure (RFC 9110 section 15.4).
fn redirect(url: &CrawlUrl, received: &Received) -> Result<Option<CrawlUrl>, Failure> {
    if !matches!(received.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = received.headers.0.iter().find(|(name, _)| &**name == "location").map(|(_, value)| value);
    let Some(location) = location else {
        return Err(Failure::new(FailureKind::RedirectBad, "no Location header"));
    };
    let location = String::from_utf8_lossy(location);
    let target = Base::new(url).and_then(|base| base.join(&location));
    target.map(Some).map_err(|reason| {
        let shown: String = location.chars().take(200).collect();
        Failure::new(FailureKind::RedirectBad, format!("Location {shown:?}: {reason}"))
    })
}

/// The media type in lower case, without parameters.
fn media_type(received: &Received) -> Option<String> {
    let value = received.headers.get("content-type")?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Whether the body is HTML, by its label or, where it has none, by its first byte.
fn is_html(received: &Received, body: &[u8]) -> bool {
    match media_type(received).as_deref() {
        Some("text/html" | "application/xhtml+xml") => true,
        None | Some("") => body.trim_ascii_start().first() == Some(&b'<'),
        Some(_) => false,
    }
}

/// Whether the body has a character encoding.
fn is_text(received: &Received, body: &[u8]) -> bool {
    match media_type(received).as_deref() {
        None | Some("") => is_html(received, body),
        Some(kind) => {
            kind.starts_with("text/")
                || kind.ends_with("+xml")
                || kind.ends_with("json")
                || matches!(kind, "application/xml" | "application/javascript")
        }
    }
}

#[cfg(test)]
mod tests;
