//! response → outcome: character set, base, links, title, canonical and robots meta.
//!
//! [`parse`] is a pure function of a response and its decoded body. It does not fail: a page other than HTML
//! has no links, and broken HTML is read as a browser's tokenizer reads it.

mod barrier;
mod charset;
mod directives;
mod found;
mod html;
mod page;
mod settings;
mod tree;

use bytes::Bytes;
use lycosa_records::usage::{UsagePreference, refused_use, restrict};
use lycosa_records::{MAX_ROBOTS_BYTES, Outcome, Purpose, Received, Response};
use lycosa_url::{Base, CrawlUrl, Failure, FailureKind};

pub use barrier::{caught, guard};
pub use charset::{decode_text, decode_text_within, detect};
pub use settings::{MEMORY_BYTES, Settings, Source, Sources, TextMethod};

/// Parses one response. `decoded`: its body without content coding, or why it did not decode.
pub fn parse(response: Response, decoded: Result<Bytes, Failure>, settings: &Settings) -> Outcome {
    let mut outcome = Outcome::new(response);
    parse_into(&mut outcome, decoded, settings);
    outcome
}

/// The same, into an unparsed outcome.
pub fn parse_into(outcome: &mut Outcome, decoded: Result<Bytes, Failure>, settings: &Settings) {
    read_all(outcome, decoded, settings);
    outcome.set_mark();
}

/// Fills all fields except the mark.
fn read_all(outcome: &mut Outcome, decoded: Result<Bytes, Failure>, settings: &Settings) {
    match decoded {
        Ok(body) => outcome.decoded = Some(body),
        Err(failure) => {
            if outcome.response.result.is_ok() {
                outcome.response.result = Err(failure);
            }
        }
    }
    let Ok(received) = &outcome.response.result else { return };
    let body = outcome.decoded.clone().unwrap_or_default();
    let target = redirect(outcome.url(), received);
    if outcome.request().purpose == Purpose::Robots {
        outcome.redirect = target.ok().flatten();
        // One byte more than the limit shows the reader that the file is longer.
        outcome.rules = Some(body.slice(..body.len().min(MAX_ROBOTS_BYTES + 1)));
        return;
    }
    match target {
        Ok(target) => outcome.redirect = target,
        Err(failure) => {
            outcome.response.result = Err(failure);
            return;
        }
    }
    let directives = directives::from_head(&received.head, &settings.agent);
    let kind = MediaType::of(received, &body);
    (outcome.noindex, outcome.nofollow) = (directives.noindex, directives.nofollow);
    let is_image = received
        .head
        .get("content-type")
        .is_some_and(|kind| kind.get(..6).is_some_and(|beginning| beginning.eq_ignore_ascii_case("image/")));
    let mut preferences = Vec::new();
    restrict(&mut preferences, directives.usage(is_image), "x-robots-tag");
    directives::usage_from_head(&received.head, &mut preferences);
    outcome.usage = preferences;
    if kind != MediaType::Other {
        let encoding = charset::detect(received.head.get("content-type").as_deref(), &body);
        outcome.charset = Some(encoding.name().into());
        if kind == MediaType::Html {
            let is_xml = received.head.media_type() == XHTML;
            page::read(&body, encoding, is_xml, outcome, settings);
        }
    }
    let stated = outcome.response.request.usage.iter().map(|(usage, allowed)| (&**usage, *allowed));
    restrict(&mut outcome.usage, stated, "robots.txt");
    let stated = outcome.response.request.tdm.map(|allowed| ("tdm", allowed));
    restrict(&mut outcome.usage, stated, "tdmrep.json");
    outcome.usage.retain(|preference| !settings.ignored_uses.contains(&preference.usage));
    refuse_uses(outcome, settings);
}

/// Makes a page a failure of which the site does not allow a use for which the job crawls: nothing of it is stored. Other statuses have
/// nothing to use, and say how the site is.
fn refuse_uses(outcome: &mut Outcome, settings: &Settings) {
    let is_refused =
        |preference: &&UsagePreference| !preference.allowed && settings.uses.contains(&preference.usage);
    let is_page = outcome.received().is_some_and(|received| (200..=299).contains(&received.status));
    let Some(refused) = outcome.usage.iter().find(is_refused).filter(|_| is_page) else { return };
    let failure = refused_use(&refused.usage, &refused.source);
    let usage = std::mem::take(&mut outcome.usage);
    let response = Response { result: Err(failure), ..outcome.response.clone() };
    *outcome = Outcome { usage, ..Outcome::new(response) };
}

/// The target of a redirect; a redirect without a valid target is a failure (RFC 9110 section 15.4).
fn redirect(url: &CrawlUrl, received: &Received) -> Result<Option<CrawlUrl>, Failure> {
    if !matches!(received.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = received.head.fields().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let Some((_, location)) = location else {
        return Err(Failure::new(FailureKind::RedirectBad, "no Location header"));
    };
    let location = String::from_utf8_lossy(&location);
    let target = Base::new(url).and_then(|base| base.join(&location));
    target.map(Some).map_err(|reason| {
        let shown: String = location.chars().take(200).collect();
        Failure::new(FailureKind::RedirectBad, format!("Location {shown:?}: {reason}"))
    })
}

/// The media type of HTML that is written as XML.
pub const XHTML: &str = "application/xhtml+xml";

/// The media type of a body, as far as the parser distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MediaType {
    /// HTML.
    Html,
    /// Other text, which has a character encoding.
    Text,
    /// Neither.
    Other,
}

impl MediaType {
    /// Determines the type from Content-Type or, if there is none, from the first byte.
    fn of(received: &Received, body: &[u8]) -> Self {
        match &*received.head.media_type() {
            "text/html" | XHTML => MediaType::Html,
            "" if body.trim_ascii_start().first() == Some(&b'<') => MediaType::Html,
            "" => MediaType::Other,
            "application/xml" | "application/javascript" => MediaType::Text,
            kind if kind.starts_with("text/") || kind.ends_with("+xml") || kind.ends_with("json") => {
                MediaType::Text
            }
            _ => MediaType::Other,
        }
    }
}

#[cfg(test)]
mod tests;
