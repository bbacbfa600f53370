//! Extracts links and metadata of the head in one pass over the bytes, without building a tree.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::OnceLock;

use encoding_rs::{CoderResult, Encoding};
use lol_html::html_content::Element;
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HtmlRewriter, MemorySettings, Selector,
    Settings as RewriterSettings,
};
use lycosa_records::usage::restrict;
use lycosa_records::{Added, LinkDetails, LinkedLicenses, LinksBuilder, MAX_LICENSES, Outcome};
use lycosa_url::{BadUrl, Base, Bound, Bounds, CrawlUrl, MAX_URL_BYTES};

use crate::Settings;
use crate::directives::{Directives, tdm};

/// Start tags longer than this are ignored, since their attributes would be copied.
const MAX_TAG_BYTES: usize = 1 << 20;

/// Limit of a title's source, as a multiple of the limit of its decoded text: the longest entity has 33 bytes
/// for 3.
const TITLE_SOURCE: usize = 16;

/// Bytes of text that are parsed at once if the page's encoding is decoded first.
const PART_BYTES: usize = 64 * 1024;

/// Maximum size of a link's text, in bytes.
const ANCHOR_BYTES: usize = 1024;

/// Links to licences that are read, at most: one in the format of RSL may come after others.
const LICENSES: usize = 4 * MAX_LICENSES;

/// Maximum size of a link's media type, in bytes.
const TYPE_BYTES: usize = 256;

/// A link as written in the page.
struct Reference {
    url: String,
    nofollow: bool,
    /// Empty unless stored by the settings, as is `anchor`.
    rel: String,
    anchor: String,
}

/// The results of the pass; references are resolved at its end, since `<base>` applies to all of them.
#[derive(Default)]
struct Found {
    references: Vec<Reference>,
    /// Whether text belongs to the last reference.
    in_anchor: bool,
    /// Total size of references with their stored details, in bytes.
    reference_bytes: usize,
    bad_links: u32,
    base: Option<String>,
    canonical: Option<String>,
    /// Targets of `<link rel=license>`, each with its type.
    licenses: Vec<(String, Option<String>)>,
    title: String,
    title_done: bool,
    directives: Directives,
    /// What `<meta name=tdm-reservation>` states.
    tdm: Option<(&'static str, bool)>,
    bounds: Bounds,
}

impl Found {
    /// Whether one more link is allowed; adds the bound if not.
    fn has_room(&mut self, settings: &Settings) -> bool {
        let has_room = self.references.len() < settings.links;
        if !has_room {
            self.bounds.add(Bound::Links);
        }
        has_room
    }

    /// Adds a reference as a link; returns whether the limits allowed it. `rel`: the attribute, if present.
    fn push(&mut self, url: String, rel: Option<String>, settings: &Settings) -> bool {
        self.in_anchor = false;
        let nofollow = rel.as_deref().is_some_and(|rel| has_word(rel, "nofollow"));
        let rel = rel.filter(|_| settings.rels).unwrap_or_default();
        let bytes = url.len() + rel.len();
        if url.len() > MAX_URL_BYTES {
            self.bad_links += 1;
            self.bounds.add(Bound::UrlBytes);
            return false;
        }
        if self.reference_bytes + bytes > settings.link_bytes {
            self.bounds.add(Bound::LinkBytes);
            return false;
        }
        self.reference_bytes += bytes;
        self.references.push(Reference { url, nofollow, rel, anchor: String::new() });
        true
    }

    /// Appends to the text of the last link and collapses white space.
    fn push_anchor(&mut self, text: &str, settings: &Settings) {
        let space = settings.link_bytes.saturating_sub(self.reference_bytes);
        let Some(link) = self.references.last_mut().filter(|_| self.in_anchor) else { return };
        let before = link.anchor.len();
        let limit = ANCHOR_BYTES.min(before + space);
        for c in htmlize::unescape(text).chars() {
            if link.anchor.len() + c.len_utf8() > limit {
                break;
            }
            if !c.is_whitespace() {
                link.anchor.push(c);
            } else if !link.anchor.is_empty() && !link.anchor.ends_with(' ') {
                link.anchor.push(' ');
            }
        }
        self.reference_bytes += link.anchor.len() - before;
    }

    /// Appends to the title and collapses white space.
    fn push_title(&mut self, text: &str, settings: &Settings) {
        for c in text.chars() {
            if self.title.len() >= settings.title_bytes.saturating_mul(TITLE_SOURCE) {
                self.bounds.add(Bound::TitleBytes);
                self.title_done = true;
                return;
            }
            if !c.is_whitespace() {
                self.title.push(c);
            } else if !self.title.is_empty() && !self.title.ends_with(' ') {
                self.title.push(' ');
            }
        }
    }
}

/// Parses a page's HTML into its outcome.
pub(crate) fn read(body: &[u8], encoding: &'static Encoding, outcome: &mut Outcome, settings: &Settings) {
    let mut found = collect(body, encoding, settings);
    outcome.title = clean_title(&found.title, settings.title_bytes, &mut found.bounds);
    outcome.noindex |= found.directives.noindex;
    outcome.nofollow |= found.directives.nofollow;
    restrict(&mut outcome.usage, found.directives.usage(false), "meta robots");
    restrict(&mut outcome.usage, found.tdm, "meta tdm-reservation");
    outcome.bounds = found.bounds;
    resolve(found, outcome, settings);
}

/// Resolves references to links: each URL once, `nofollow` only if all its mentions are.
fn resolve(found: Found, outcome: &mut Outcome, settings: &Settings) {
    let Ok(mut base) = Base::with_rules(shown_url(outcome), &settings.rules) else { return };
    if let Some(reference) = found.base
        && base.set(&reference) == Err(BadUrl::TooLong)
    {
        outcome.bounds.add(Bound::BaseBytes);
    }
    match found.canonical.map(|reference| base.join_as_given(&reference)) {
        Some(Err(BadUrl::TooLong)) => outcome.bounds.add(Bound::CanonicalBytes),
        canonical => outcome.canonical = canonical.and_then(Result::ok),
    }
    let mut licenses = LinkedLicenses::default();
    found.licenses.iter().for_each(|(target, kind)| licenses.add(&base, target, kind.as_deref()));
    outcome.licenses = licenses.into_urls();
    outcome.bad_links = found.bad_links;
    let mut links = LinksBuilder::new(&base, found.references.len(), settings.link_bytes);
    for Reference { url, nofollow, rel, anchor } in &found.references {
        let said = LinkDetails { anchor: anchor.trim_end(), rel, context: "" };
        match links.add(url, *nofollow || outcome.nofollow, said) {
            Ok(Added::New | Added::Known) => {}
            Ok(Added::Full) => {
                outcome.bounds.add(Bound::LinkBytes);
                break;
            }
            Err(why) => {
                outcome.bad_links += 1;
                if why == BadUrl::TooLong {
                    outcome.bounds.add(Bound::UrlBytes);
                }
            }
        }
    }
    outcome.links = links.finish();
}

/// Selectors of the elements that are read; compiled once.
fn selectors() -> Option<&'static [Selector; 6]> {
    static SELECTORS: OnceLock<Option<[Selector; 6]>> = OnceLock::new();
    let parse = || {
        Some([
            "a[href]".parse().ok()?,
            "area[href], frame[src], iframe[src]".parse().ok()?,
            "link[rel][href]".parse().ok()?,
            "base[href]".parse().ok()?,
            "meta[name], meta[http-equiv=refresh i]".parse().ok()?,
            "title".parse().ok()?,
        ])
    };
    SELECTORS.get_or_init(parse).as_ref()
}

/// Runs the tokenizer over the body.
fn collect(body: &[u8], encoding: &'static Encoding, settings: &Settings) -> Found {
    let compatible = AsciiCompatibleEncoding::new(encoding);
    let found = RefCell::new(Found::default());
    let Some([anchor, frame, link, base, meta, title]) = selectors() else { return found.into_inner() };
    let on = |handle: fn(&mut Found, &Element<'_, '_>, &Settings)| {
        let found = &found;
        ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
            let tag = element.source_location().bytes();
            if tag.len() <= MAX_TAG_BYTES {
                handle(&mut found.borrow_mut(), element, settings);
            } else {
                found.borrow_mut().bounds.add(Bound::TagBytes);
            }
            Ok(())
        })
    };
    let on_title =
        ElementContentHandlers::default().text(|chunk: &mut lol_html::html_content::TextChunk<'_>| {
            let mut found = found.borrow_mut();
            if !found.title_done {
                found.push_title(chunk.as_str(), settings);
            }
            found.title_done |= chunk.last_in_text_node();
            Ok(())
        });
    let mut in_anchor = on(on_anchor);
    if settings.anchors {
        in_anchor = in_anchor.text(|chunk: &mut lol_html::html_content::TextChunk<'_>| {
            found.borrow_mut().push_anchor(chunk.as_str(), settings);
            Ok(())
        });
    }
    let rewriter = RewriterSettings::new()
        .append_element_content_handler((Cow::Borrowed(anchor), in_anchor))
        .append_element_content_handler((Cow::Borrowed(frame), on(on_frame)))
        .append_element_content_handler((Cow::Borrowed(link), on(on_link)))
        .append_element_content_handler((Cow::Borrowed(base), on(on_base)))
        .append_element_content_handler((Cow::Borrowed(meta), on(on_meta)))
        .append_element_content_handler((Cow::Borrowed(title), on_title))
        .with_encoding(compatible.unwrap_or_else(AsciiCompatibleEncoding::utf_8))
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(settings.memory_bytes))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(rewriter, |_: &[u8]| ());
    let mut write = |text: &[u8]| rewriter.write(text);
    let written = match compatible {
        Some(_) => write(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)),
        None => write_decoded(body, encoding, write),
    };
    // An error (the memory limit) leaves what was found so far, and poisons the rewriter, which is not used
    // again.
    let ended = written.and_then(|()| rewriter.end());
    let mut found = found.take();
    if ended.is_err() {
        found.bounds.add(Bound::ParseMemory);
    }
    found
}

/// Writes a body in UTF-8 in parts, so that it is never in memory twice.
fn write_decoded<E>(
    mut body: &[u8],
    encoding: &'static Encoding,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut decoder = encoding.new_decoder();
    let mut part = vec![0; PART_BYTES];
    loop {
        let (ended, read, written, _) = decoder.decode_to_utf8(body, &mut part, true);
        write(&part[..written])?;
        body = &body[read..];
        if ended == CoderResult::InputEmpty {
            return Ok(());
        }
    }
}

/// The decoded value of an attribute.
fn attribute(element: &Element<'_, '_>, name: &str) -> Option<String> {
    let raw = element.get_attribute(name)?;
    if raw.contains('&') { Some(htmlize::unescape_attribute(raw).into_owned()) } else { Some(raw) }
}

/// Whether a space-separated attribute contains a word.
fn has_word(value: &str, word: &str) -> bool {
    value.split_ascii_whitespace().any(|part| part.eq_ignore_ascii_case(word))
}

/// `<a href>`.
fn on_anchor(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    found.in_anchor = false;
    if found.has_room(settings)
        && let Some(href) = attribute(element, "href")
    {
        found.in_anchor = found.push(href, element.get_attribute("rel"), settings);
    }
}

/// `<area href>`, `<frame src>`, `<iframe src>`.
fn on_frame(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    if found.has_room(settings)
        && let Some(reference) = attribute(element, "href").or_else(|| attribute(element, "src"))
    {
        found.push(reference, None, settings);
    }
}

/// `<link rel=canonical>`, `<link rel=license>`, `<link rel=next>` and `<link rel=prev>`.
fn on_link(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    let (Some(rel), Some(href)) = (element.get_attribute("rel"), attribute(element, "href")) else { return };
    if has_word(&rel, "license") && found.licenses.len() < LICENSES && href.len() <= MAX_URL_BYTES {
        let kind = element.get_attribute("type").filter(|kind| kind.len() <= TYPE_BYTES);
        found.licenses.push((href.clone(), kind));
    }
    if has_word(&rel, "canonical") {
        found.canonical.get_or_insert(href);
    } else if (has_word(&rel, "next") || has_word(&rel, "prev")) && found.has_room(settings) {
        found.push(href, None, settings);
    }
}

/// `<base href>`: the first one counts.
fn on_base(found: &mut Found, element: &Element<'_, '_>, _: &Settings) {
    if found.base.is_none() {
        found.base = attribute(element, "href");
    }
}

/// `<meta name=robots>`, or with the crawler's name; and `<meta http-equiv=refresh>`, whose target is a link.
fn on_meta(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    if let Some(name) = element.get_attribute("name") {
        if (name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&settings.agent))
            && let Some(content) = attribute(element, "content")
        {
            found.directives.add(&content);
        } else if name.eq_ignore_ascii_case("tdm-reservation") && found.tdm.is_none() {
            found.tdm = attribute(element, "content").and_then(|content| tdm(&content));
        }
    } else if found.has_room(settings)
        && let Some(content) = attribute(element, "content")
        && let Some(target) = refresh_target(&content)
    {
        found.push(target.to_owned(), None, settings);
    }
}

/// The URL in `5; url='next.html'` (HTML section 4.2.5.3).
fn refresh_target(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim_start();
    let rest = match rest.get(..3) {
        Some(start) if start.eq_ignore_ascii_case("url") => {
            rest[3..].trim_start().strip_prefix('=')?.trim_start()
        }
        _ => rest,
    };
    let target = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
        _ => rest,
    };
    Some(target.trim())
}

/// A title with entities decoded and white space collapsed, at most `limit` bytes; `None` if empty.
fn clean_title(raw: &str, limit: usize, bounds: &mut Bounds) -> Option<Box<str>> {
    let text = htmlize::unescape(raw);
    let mut title = String::with_capacity(text.len().min(limit));
    for word in text.split_whitespace() {
        let space = usize::from(!title.is_empty());
        let left = limit.saturating_sub(title.len() + space);
        let end = (0..=left.min(word.len())).rev().find(|&end| word.is_char_boundary(end));
        let kept = &word[..end.unwrap_or_default()];
        if !kept.is_empty() && space == 1 {
            title.push(' ');
        }
        title.push_str(kept);
        if kept.len() < word.len() {
            bounds.add(Bound::TitleBytes);
            break;
        }
    }
    (!title.is_empty()).then(|| title.into_boxed_str())
}

/// The URL of a page after the redirects that a browser followed.
fn shown_url(outcome: &Outcome) -> &CrawlUrl {
    outcome.received().and_then(|received| received.final_url.as_ref()).unwrap_or(outcome.url())
}
