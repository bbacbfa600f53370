//! Which bodies a job wants, by their media types: told by the head of the response, or by the first bytes of the body.

use std::sync::Arc;

use lycosa_records::{Head, Purpose, Received, Request};
use lycosa_url::{Failure, FailureKind};

use crate::{decode, sniff};

/// Media types that say nothing of a body: servers send them for what they do not know.
const GENERIC: [&str; 11] = [
    "",
    "text/plain",
    "application/octet-stream",
    "binary/octet-stream",
    "application/unknown",
    "application/x-unknown",
    "unknown/unknown",
    "application/download",
    "application/x-download",
    "application/force-download",
    "application/x-force-download",
];

/// The media types of the bodies that a job wants: all, or those of some patterns.
#[derive(Clone, Debug, Default)]
pub struct MediaTypes(Option<Arc<[Box<str>]>>);

impl MediaTypes {
    /// The types of these patterns, such as `text/html`, `image/*` or `*/*`; without patterns all types.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let patterns: Arc<[Box<str>]> =
            patterns.into_iter().map(|pattern| pattern.to_ascii_lowercase().into()).collect();
        MediaTypes((!patterns.is_empty()).then_some(patterns))
    }

    /// Decides by the head of a response; fails if its body is not wanted.
    pub(crate) fn check_head(&self, request: &Request, received: &Received) -> Result<Verdict, Failure> {
        // What the frontier needs is always read: robots.txt, redirects, errors.
        let is_judged = matches!(request.purpose, Purpose::Page | Purpose::Resource)
            && (200..=299).contains(&received.status)
            && request.method() != "HEAD";
        if self.0.is_none() || !is_judged {
            return Ok(Verdict::Wanted);
        }
        let label = received.head.media_type();
        if !label.contains('/') || GENERIC.contains(&&*label) {
            return Ok(Verdict::Open(sniff::BYTES));
        }
        if self.has(&label) { Ok(Verdict::Wanted) } else { Err(unwanted(&label)) }
    }

    /// Decides by what has been received of a body, which is enough or all of it; fails if it is not wanted.
    pub(crate) fn check_body(&self, head: &Head, bytes: &[u8]) -> Result<Verdict, Failure> {
        if bytes.is_empty() {
            return Ok(Verdict::Wanted);
        }
        // Parse says what is wrong with an unknown coding.
        let Some(beginning) = decode::beginning(bytes, head.get("content-encoding").as_deref()) else {
            return Ok(Verdict::Wanted);
        };
        if beginning.is_empty() {
            // Nothing could be decoded yet, or it is broken, which parse says.
            let is_hopeless = bytes.len() >= decode::BEGINNING;
            return Ok(if is_hopeless { Verdict::Wanted } else { Verdict::Open(bytes.len() * 2) });
        }
        let (told, label) = (sniff::media_type(&beginning), head.media_type());
        // A source text may be called plain, whatever language it is in.
        let is_plain = label == "text/plain" && (told.starts_with("text/") || told.ends_with("xml"));
        if self.has(told) || (is_plain && self.has(&label)) {
            return Ok(Verdict::Wanted);
        }
        Err(unwanted(&format!("{told} by its first bytes; Content-Type: {label:?}")))
    }

    /// Whether a type is wanted.
    fn has(&self, kind: &str) -> bool {
        let Some(patterns) = &self.0 else { return true };
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => beginning == "*/" || kind.starts_with(beginning),
            None => pattern == kind,
        };
        patterns.iter().any(|pattern| fits(pattern))
    }
}

/// Whether a body is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is.
    Wanted,
    /// It is not known before so many bytes are there: each look costs as much as what is there.
    Open(usize),
}

/// The failure of a body that is not wanted.
fn unwanted(what: &str) -> Failure {
    Failure::new(FailureKind::ContentType, what)
}
