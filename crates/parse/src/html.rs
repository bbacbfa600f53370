//! Links and the few facts of the head, in one pass over the bytes without building a tree.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::OnceLock;

use encoding_rs::Encoding;
use lol_html::html_content::Element;
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HtmlRewriter, MemorySettings, Selector,
    Settings as RewriterSettings,
};
use lycosa_url::{Base, CanonicalRules, Digest, Link, Page};

use crate::Settings;
use crate::directives::Directives;

/// What the pass collects; references are resolved at its end, because `<base>` speaks for all of them.
#[derive(Default)]
struct Found {
    references: Vec<(String, bool)>,
    base: Option<String>,
    canonical: Option<String>,
    title: String,
    title_done: bool,
    directives: Directives,
}

/// Reads a page's HTML into its record.
pub(crate) fn read(body: &[u8], encoding: &'static Encoding, page: &mut Page, settings: &Settings) {
    let (text, encoding): (Cow<'_, [u8]>, _) = match AsciiCompatibleEncoding::new(encoding) {
        Some(compatible) => (Cow::Borrowed(body), compatible),
        None => {
            let text = encoding.decode(body).0.into_owned();
            (Cow::Owned(text.into_bytes()), AsciiCompatibleEncoding::utf_8())
        }
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let found = collect(text, encoding, settings);
    page.title = clean_title(&found.title);
    page.noindex |= found.directives.noindex;
    page.nofollow |= found.directives.nofollow;
    resolve(found, page, &settings.rules);
}

/// Turns references into links: each URL once, `nofollow` only where every mention says so.
fn resolve(found: Found, page: &mut Page, rules: &CanonicalRules) {
    let Ok(mut base) = Base::with_rules(&page.response.request.url, rules) else { return };
    if let Some(reference) = found.base {
        base.set(&reference);
    }
    page.canonical = found.canonical.and_then(|reference| base.join_as_given(&reference).ok());
    let mut seen: HashSet<Digest> = HashSet::with_capacity(found.references.len());
    page.links.reserve_exact(found.references.len());
    for (reference, nofollow) in found.references {
        let nofollow = nofollow || page.nofollow;
        match base.join(&reference) {
            Ok(url) if seen.insert(*url.digest()) => page.links.push(Link { url, nofollow }),
            Ok(url) if !nofollow => follow_again(&mut page.links, &url),
            Ok(_) => {}
            Err(_) => page.bad_links += 1,
        }
    }
}

/// A mention without `nofollow` outweighs earlier ones with it.
fn follow_again(links: &mut [Link], url: &lycosa_url::CrawlUrl) {
    if let Some(link) = links.iter_mut().find(|link| link.nofollow && link.url == *url) {
        link.nofollow = false;
    }
}

/// The elements that are looked at; compiled once.
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

/// Runs the tokenizer over the text.
fn collect(text: &[u8], encoding: AsciiCompatibleEncoding, settings: &Settings) -> Found {
    let found = RefCell::new(Found::default());
    let Some([anchor, frame, link, base, meta, title]) = selectors() else { return found.into_inner() };
    let on = |handle: fn(&mut Found, &Element<'_, '_>, &Settings)| {
        let found = &found;
        ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
            handle(&mut found.borrow_mut(), element, settings);
            Ok(())
        })
    };
    let on_title =
        ElementContentHandlers::default().text(|chunk: &mut lol_html::html_content::TextChunk<'_>| {
            let mut found = found.borrow_mut();
            if !found.title_done && found.title.len() < settings.title_bytes {
                found.title.push_str(chunk.as_str());
            }
            found.title_done |= chunk.last_in_text_node();
            Ok(())
        });
    let rewriter = RewriterSettings::new()
        .append_element_content_handler((Cow::Borrowed(anchor), on(on_anchor)))
        .append_element_content_handler((Cow::Borrowed(frame), on(on_frame)))
        .append_element_content_handler((Cow::Borrowed(link), on(on_link)))
        .append_element_content_handler((Cow::Borrowed(base), on(on_base)))
        .append_element_content_handler((Cow::Borrowed(meta), on(on_meta)))
        .append_element_content_handler((Cow::Borrowed(title), on_title))
        .with_encoding(encoding)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(settings.memory_bytes))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(rewriter, |_: &[u8]| ());
    // An error (the memory limit) leaves what was found so far, and poisons the rewriter: it is not used again.
    if rewriter.write(text).is_ok() {
        let _ = rewriter.end();
    }
    found.take()
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
    if found.references.len() < settings.links
        && let Some(href) = attribute(element, "href")
    {
        let nofollow = element.get_attribute("rel").is_some_and(|rel| has_word(&rel, "nofollow"));
        found.references.push((href, nofollow));
    }
}

/// `<area href>`, `<frame src>`, `<iframe src>`.
fn on_frame(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    if found.references.len() < settings.links
        && let Some(reference) = attribute(element, "href").or_else(|| attribute(element, "src"))
    {
        found.references.push((reference, false));
    }
}

/// `<link rel=canonical>`, and the pages before and after.
fn on_link(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    let (Some(rel), Some(href)) = (element.get_attribute("rel"), attribute(element, "href")) else { return };
    if has_word(&rel, "canonical") {
        found.canonical.get_or_insert(href);
    } else if (has_word(&rel, "next") || has_word(&rel, "prev")) && found.references.len() < settings.links {
        found.references.push((href, false));
    }
}

/// `<base href>`: the first one counts.
fn on_base(found: &mut Found, element: &Element<'_, '_>, _: &Settings) {
    if found.base.is_none() {
        found.base = attribute(element, "href");
    }
}

/// `<meta name=robots>`, or by our own name; and `<meta http-equiv=refresh>`, whose target is a link.
fn on_meta(found: &mut Found, element: &Element<'_, '_>, settings: &Settings) {
    if let Some(name) = element.get_attribute("name") {
        if (name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&settings.agent))
            && let Some(content) = attribute(element, "content")
        {
            found.directives.add(&content);
        }
    } else if found.references.len() < settings.links
        && let Some(content) = attribute(element, "content")
        && let Some(target) = refresh_target(&content)
    {
        found.references.push((target.to_owned(), false));
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

/// A title as people read it: entities decoded, white space folded; none when empty.
fn clean_title(raw: &str) -> Option<Box<str>> {
    let text = htmlize::unescape(raw);
    let mut title = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    (!title.is_empty()).then(|| title.into_boxed_str())
}
