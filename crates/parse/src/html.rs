//! Extracts links and metadata of the head in one pass over the bytes, without building a tree.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use encoding_rs::{CoderResult, Encoding, UTF_8};
use lol_html::html_content::{Element, TextType};
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HtmlRewriter, MemorySettings, Selector,
    Settings as RewriterSettings,
};
use lycosa_url::Bound;

use crate::found::{Attributes, Found, on_anchor, on_base, on_frame, on_link, on_meta};
use crate::settings::{Settings, Source};

/// Start tags longer than this are ignored, since their attributes would be copied.
const MAX_TAG_BYTES: usize = 1 << 20;

/// Bytes of text that are parsed at once if the page's encoding is decoded first.
const PART_BYTES: usize = 64 * 1024;

/// Bytes of `noscript` elements that are read, at most.
const MAX_NOSCRIPT_BYTES: usize = 1 << 20;

/// `noscript` elements that are read each by itself; those after them are read together, at the end of the page.
const NOSCRIPTS: usize = 100;

impl Attributes for Element<'_, '_> {
    fn value(&self, name: &str) -> Option<String> {
        let raw = self.get_attribute(name)?;
        if raw.contains('&') { Some(htmlize::unescape_attribute(raw).into_owned()) } else { Some(raw) }
    }
}

/// Runs the tokenizer over the body.
pub(crate) fn collect(body: &[u8], encoding: &'static Encoding, settings: &Settings) -> Found {
    collect_at(body, encoding, settings, true)
}

/// The same. has_noscript: whether `noscript` elements are read: not of what is in one.
fn collect_at(body: &[u8], encoding: &'static Encoding, settings: &Settings, has_noscript: bool) -> Found {
    let compatible = AsciiCompatibleEncoding::new(encoding);
    let found = RefCell::new(Found::default());
    let in_noscript = RefCell::new(String::new());
    let Some([anchor, frame, link, base, meta, title, noscript]) = selectors() else {
        return found.into_inner();
    };
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
    // The tokenizer takes it for text, as browsers do that run scripts; here it is part of the page.
    let read_inner = |text: &str| {
        let inner = collect_at(text.as_bytes(), UTF_8, settings, false);
        found.borrow_mut().add(inner, settings);
    };
    let (noscripts, left) = (Cell::new(0), Cell::new(MAX_NOSCRIPT_BYTES));
    let on_noscript =
        ElementContentHandlers::default().text(|chunk: &mut lol_html::html_content::TextChunk<'_>| {
            let mut text = in_noscript.borrow_mut();
            if has_noscript && chunk.as_str().len() <= left.get() {
                left.set(left.get() - chunk.as_str().len());
                text.push_str(chunk.as_str());
            }
            if !chunk.last_in_text_node() {
                return Ok(());
            }
            noscripts.set(noscripts.get() + 1);
            if noscripts.get() > NOSCRIPTS {
                text.push('\n');
            } else if may_lead(&text) {
                read_inner(&std::mem::take(&mut *text));
            } else {
                text.clear();
            }
            Ok(())
        });
    let mut in_anchor = on(|found, element, settings| on_anchor(found, element, settings));
    if settings.anchors {
        in_anchor = in_anchor.text(|chunk: &mut lol_html::html_content::TextChunk<'_>| {
            // What is in `noscript`, or in a script, is no text of the link.
            if matches!(chunk.text_type(), TextType::RawText | TextType::ScriptData) {
                return Ok(());
            }
            found.borrow_mut().push_anchor(&htmlize::unescape(chunk.as_str()), settings);
            Ok(())
        });
    }
    let rewriter = RewriterSettings::new()
        .append_element_content_handler((Cow::Borrowed(anchor), in_anchor))
        .append_element_content_handler((
            Cow::Borrowed(frame),
            on(|found, element, settings| {
                // Areas of images lead from page to page.
                if element.has_attribute("href") || settings.sources.has(Source::Frames) {
                    on_frame(found, element, settings);
                }
            }),
        ))
        .append_element_content_handler((
            Cow::Borrowed(link),
            on(|found, element, settings| on_link(found, element, settings)),
        ))
        .append_element_content_handler((
            Cow::Borrowed(base),
            on(|found, element, settings| on_base(found, element, settings)),
        ))
        .append_element_content_handler((
            Cow::Borrowed(meta),
            on(|found, element, settings| on_meta(found, element, settings)),
        ))
        .append_element_content_handler((Cow::Borrowed(title), on_title))
        .append_element_content_handler((Cow::Borrowed(noscript), on_noscript))
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
    if may_lead(&in_noscript.borrow()) {
        read_inner(&in_noscript.borrow());
    }
    let mut found = found.take();
    found.title = htmlize::unescape(std::mem::take(&mut found.title)).into_owned();
    if ended.is_err() {
        found.bounds.add(Bound::ParseMemory);
    }
    found
}

/// Whether HTML may have something that is looked for.
fn may_lead(html: &str) -> bool {
    ["href", "src", "http-equiv", "robots"].iter().any(|name| {
        html.as_bytes().windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes()))
    })
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

/// Selectors of the elements that are read; compiled once.
fn selectors() -> Option<&'static [Selector; 7]> {
    static SELECTORS: OnceLock<Option<[Selector; 7]>> = OnceLock::new();
    let parse = || {
        Some([
            "a[href]".parse().ok()?,
            "area[href], frame[src], iframe[src]".parse().ok()?,
            "link[rel][href]".parse().ok()?,
            "base[href]".parse().ok()?,
            "meta[name], meta[http-equiv=refresh i]".parse().ok()?,
            "title".parse().ok()?,
            "noscript".parse().ok()?,
        ])
    };
    SELECTORS.get_or_init(parse).as_ref()
}
