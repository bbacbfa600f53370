//! Reads a page's HTML into its outcome: by one pass over its bytes, or by its tree where its text is wanted; and tells pages that are
//! no content.

use std::borrow::Cow;

use encoding_rs::Encoding;
use lycosa_dom::{Limits, Tree};
use lycosa_records::{Outcome, PageText, Response};
use lycosa_text::blocks::Blocks;
use lycosa_text::extract::Page;
use lycosa_text::fingerprint::Fingerprint;
use lycosa_text::markdown::Options;
use lycosa_text::metadata::Metadata;
use lycosa_text::refusal::{Refusal, Seen, may_be_refusal, refusal};
use lycosa_text::{density, is_binary, kind};
use lycosa_url::{Bound, Failure, FailureKind};

use crate::found::{finish, shown_url};
use crate::settings::{Settings, TextMethod};
use crate::{html, tree};

/// Bytes of a page of which no text is wanted and that is looked at nevertheless: pages that are no content are short.
const SHORT: usize = 64 << 10;

/// Reads a page. is_xml: whether it is HTML that is written as XML, which the reader of bytes does not know.
pub(crate) fn read(
    body: &[u8],
    encoding: &'static Encoding,
    is_xml: bool,
    outcome: &mut Outcome,
    settings: &Settings,
) {
    let limits = limits(settings, is_xml);
    if settings.needs_tree() || is_xml {
        return read_tree(body, encoding, &limits, outcome, settings);
    }
    finish(html::collect(body, encoding, settings), outcome, settings);
    if settings.refusals && body.len() <= SHORT {
        let html = encoding.decode(body).0;
        let fields = fields_of(outcome);
        if may_be_refusal(&borrowed(&fields), outcome.title.as_deref().unwrap_or_default(), &html) {
            let tree = lycosa_dom::parse(&html, &limits);
            let blocks = Blocks::of(&tree);
            refuse(outcome, &html, &tree, &blocks);
        }
    }
}

/// Reads a page by its tree.
fn read_tree(
    body: &[u8],
    encoding: &'static Encoding,
    limits: &Limits,
    outcome: &mut Outcome,
    settings: &Settings,
) {
    let (html, size) = (&*encoding.decode(body).0, body.len());
    if settings.text.is_some() && is_binary(html) {
        // Links are found whether a text is wanted or not.
        finish(html::collect(body, encoding, settings), outcome, settings);
        outcome.text = Some(Box::new(PageText { kind: "binary".into(), ..PageText::default() }));
        return;
    }
    let tree = lycosa_dom::parse(html, limits);
    finish(tree::collect(&tree, settings), outcome, settings);
    let is_looked_at = settings.refusals && (settings.text.is_some() || size <= SHORT);
    if settings.text.is_none() && !is_looked_at {
        return;
    }
    let blocks = Blocks::of(&tree);
    // A page that is refused teaches nothing of its site's pages.
    if is_looked_at && refuse(outcome, html, &tree, &blocks) {
        return;
    }
    // What a site says in place of a page has no text that anybody wants.
    let is_page = outcome.received().is_some_and(|received| (200..300).contains(&received.status));
    let Some(method) = settings.text.filter(|_| is_page) else { return };
    if blocks.is_cut {
        outcome.bounds.add(Bound::ParseMemory);
    }
    let url = shown_url(outcome);
    let text = match method {
        TextMethod::Lycosa => {
            let templates = settings.templates.as_deref();
            let is_boilerplate = templates.map(|known| known.learn(url.host(), url.as_str(), &blocks));
            let page = Page::of(tree, blocks, url.as_str(), &is_boilerplate.unwrap_or_default());
            text_of(&page, url.as_str(), settings)
        }
        TextMethod::DensityPaper => published(&tree, html, url.as_str(), settings),
    };
    outcome.text = Some(Box::new(text));
}

/// Limits of a tree: at least so much that a page of usual size is whole.
fn limits(settings: &Settings, is_xml: bool) -> Limits {
    Limits { bytes: settings.memory_bytes.max(Limits::default().bytes), is_xml, ..Limits::default() }
}

/// What a page says.
fn text_of(page: &Page, url: &str, settings: &Settings) -> PageText {
    let markdown = match settings.markdown {
        true => page.markdown(Options { links: true, images: true }),
        false => String::new(),
    };
    PageText {
        confidence: (page.confidence * 1_000.0) as u32,
        kind: page.kind.map_or("other", kind::name).into(),
        markdown: markdown.into(),
        ..described(&page.tree, page.text(), || page.text_alone(), url, settings)
    }
}

/// The same, by the published method.
fn published(tree: &Tree, html: &str, url: &str, settings: &Settings) -> PageText {
    let text = density::extract(html);
    PageText { kind: "other".into(), ..described(tree, text.clone(), || text, url, settings) }
}

/// A text, with what its page states, as far as that is stored. alone: the text that the page has whatever is known of others: by it
/// pages are the same, whenever they are fetched.
fn described(
    tree: &Tree,
    text: String,
    alone: impl FnOnce() -> String,
    url: &str,
    settings: &Settings,
) -> PageText {
    let stated = if settings.metadata { Metadata::of(tree, url) } else { Metadata::default() };
    let fingerprint = settings.fingerprints.then(alone).and_then(|alone| Fingerprint::of(&alone));
    let digest =
        fingerprint.map(|found| found.digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    PageText {
        headline: stated.title.into(),
        author: stated.author.into(),
        published: stated.published.into(),
        modified: stated.modified.into(),
        language: stated.language.into(),
        description: stated.description.into(),
        site: stated.site.into(),
        simhash: fingerprint.map_or(0, |found| found.simhash),
        digest: digest.unwrap_or_default().into(),
        text: text.into(),
        ..PageText::default()
    }
}

/// Makes a page that is no content a failure; returns whether it is one.
fn refuse(outcome: &mut Outcome, html: &str, tree: &Tree, blocks: &Blocks) -> bool {
    let Some(status) = outcome.received().map(|received| received.status) else { return false };
    let fields = fields_of(outcome);
    let Some(Refusal { kind, mark, is_vendors }) =
        refusal(&Seen::of(tree, blocks, html, &borrowed(&fields), status))
    else {
        return false;
    };
    let Some(failure) = failure_of(kind).filter(|kind| counts(*kind, is_vendors, status)) else {
        return false;
    };
    // A captive portal's page is one, too: its mark is by what it is known.
    outcome.set_mark();
    let failure = Failure::new(failure, format!("status {status}, by {mark:?}"));
    // What the site asks for in its head, such as a pause, holds nevertheless.
    let refused = outcome.received().cloned().map(Box::new);
    let response = Response { result: Err(failure), ..outcome.response.clone() };
    *outcome = Outcome {
        refused,
        mark: outcome.mark,
        // For hooks, such as one that fills in the form of a login; outputs have no body of it.
        decoded: outcome.decoded.take(),
        charset: outcome.charset.take(),
        title: outcome.title.take(),
        ..Outcome::new(response)
    };
    true
}

/// Whether a page of some status is told by what it says: other statuses than those of success say themselves that there is no page, but
/// not that a challenge or a limit is the reason. That a server forbids a page is no trouble of its host: a block is one by the marks of
/// who blocks.
fn counts(kind: FailureKind, is_vendors: bool, status: u16) -> bool {
    use FailureKind as K;
    let is_reason = match kind {
        K::PageChallenge | K::PageRateLimited => true,
        K::PageBlocked => is_vendors,
        _ => false,
    };
    (200..300).contains(&status) || (status >= 400 && is_reason)
}

/// The failure of a kind of refusals; `None`: such a page has links that may be followed.
fn failure_of(kind: &str) -> Option<FailureKind> {
    FailureKind::from_name(&format!("page-{kind}"))
}

/// The fields of a response, with names in lower case.
fn fields_of(outcome: &Outcome) -> Vec<(String, Cow<'_, str>)> {
    let fields = outcome.received().into_iter().flat_map(|received| received.head.fields());
    fields
        .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(&value).into_owned().into()))
        .collect()
}

/// The same, borrowed.
fn borrowed<'a>(fields: &'a [(String, Cow<'_, str>)]) -> Vec<(&'a str, &'a str)> {
    fields.iter().map(|(name, value)| (name.as_str(), &**value)).collect()
}
