//! What a page's readers find: references, metadata of the head; and how references become links.

use lycosa_records::usage::restrict;
use lycosa_records::{Added, LinkDetails, LinkedLicenses, LinksBuilder, MAX_LICENSES, Outcome};
use lycosa_url::{BadUrl, Base, Bound, Bounds, CrawlUrl, MAX_URL_BYTES};

use crate::directives::{Directives, tdm};
use crate::settings::{Settings, Source};

/// Limit of a title's source, as a multiple of the limit of its decoded text: the longest entity has 33 bytes
/// for 3.
const TITLE_SOURCE: usize = 16;

/// Maximum size of a link's text, in bytes.
const ANCHOR_BYTES: usize = 1024;

/// Links to licences that are read, at most: one in the format of RSL may come after others.
const LICENSES: usize = 4 * MAX_LICENSES;

/// Maximum size of a link's media type, in bytes.
const TYPE_BYTES: usize = 256;

/// An element's attributes.
pub(crate) trait Attributes {
    /// The decoded value of one; `None`: it has none.
    fn value(&self, name: &str) -> Option<String>;
}

/// A link as written in the page.
#[derive(Default)]
struct Reference {
    url: String,
    nofollow: bool,
    /// Empty unless stored by the settings, as are the others.
    rel: String,
    anchor: String,
    context: String,
    place: &'static str,
}

/// The results of the pass; references are resolved at its end, since `<base>` applies to all of them.
#[derive(Default)]
pub(crate) struct Found {
    references: Vec<Reference>,
    /// The reference that text belongs to: of the anchor that is open.
    pub(crate) in_anchor: Option<usize>,
    /// The part of the page that is read, if it is stored.
    pub(crate) place: &'static str,
    /// Total size of references with their stored details, in bytes.
    reference_bytes: usize,
    bad_links: u32,
    base: Option<String>,
    canonical: Option<String>,
    /// Targets of `<link rel=license>`, each with its type.
    licenses: Vec<(String, Option<String>)>,
    pub(crate) title: String,
    pub(crate) title_done: bool,
    directives: Directives,
    /// What `<meta name=tdm-reservation>` states.
    tdm: Option<(&'static str, bool)>,
    pub(crate) bounds: Bounds,
}

impl Found {
    /// Whether one more link is allowed; adds the bound if not, unless none is looked for.
    fn has_room(&mut self, settings: &Settings) -> bool {
        let has_room = self.references.len() < settings.links;
        if !has_room && settings.links > 0 {
            self.bounds.add(Bound::Links);
        }
        has_room
    }

    /// Adds a reference as a link; returns whether the limits allowed it. `rel`: the attribute, if present.
    fn push(&mut self, url: String, rel: Option<String>, settings: &Settings) -> bool {
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
        let place = self.place;
        self.references.push(Reference { url, nofollow, rel, place, ..Reference::default() });
        true
    }

    /// Adds what was found in a part of the page: its references, and what counts wherever it stands.
    pub(crate) fn add(&mut self, part: Found, settings: &Settings) {
        for reference in part.references {
            let bytes = reference.url.len() + reference.rel.len() + reference.anchor.len();
            if !self.has_room(settings) {
                break;
            }
            if self.reference_bytes + bytes > settings.link_bytes {
                self.bounds.add(Bound::LinkBytes);
                break;
            }
            self.reference_bytes += bytes;
            self.references.push(reference);
        }
        part.bounds.iter().for_each(|bound| self.bounds.add(bound));
        self.bad_links += part.bad_links;
        self.canonical = self.canonical.take().or(part.canonical);
        self.directives.noindex |= part.directives.noindex;
        self.directives.nofollow |= part.directives.nofollow;
    }

    /// Appends decoded text to that of the last link and collapses white space.
    pub(crate) fn push_anchor(&mut self, text: &str, settings: &Settings) {
        let space = settings.link_bytes.saturating_sub(self.reference_bytes);
        let Some(link) = self.in_anchor.and_then(|link| self.references.get_mut(link)) else { return };
        let before = link.anchor.len();
        let limit = ANCHOR_BYTES.min(before + space);
        for c in text.chars() {
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

    /// The number of the next reference.
    pub(crate) fn count(&self) -> usize {
        self.references.len()
    }

    /// Appends to the text around a link, as far as the limit of links allows.
    pub(crate) fn push_context(&mut self, link: usize, text: &str, settings: &Settings) {
        let space = settings.link_bytes.saturating_sub(self.reference_bytes);
        let Some(link) = self.references.get_mut(link) else { return };
        let text = &text[..boundary(text, space)];
        link.context.push_str(text);
        self.reference_bytes += text.len();
    }

    /// Appends to the title and collapses white space.
    pub(crate) fn push_title(&mut self, text: &str, settings: &Settings) {
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

/// Puts what was found into an outcome.
pub(crate) fn finish(mut found: Found, outcome: &mut Outcome, settings: &Settings) {
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
    for Reference { url, nofollow, rel, anchor, context, place } in &found.references {
        let said = LinkDetails { anchor: anchor.trim_end(), rel, context: context.trim(), place };
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

/// The last place of a text at which it may be divided, not beyond a place.
pub(crate) fn boundary(text: &str, place: usize) -> usize {
    (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Whether a space-separated attribute contains a word.
fn has_word(value: &str, word: &str) -> bool {
    value.split_ascii_whitespace().any(|part| part.eq_ignore_ascii_case(word))
}

/// `<a href>`.
pub(crate) fn on_anchor(found: &mut Found, element: &impl Attributes, settings: &Settings) {
    found.in_anchor = None;
    if found.has_room(settings)
        && let Some(href) = element.value("href")
    {
        let link = found.count();
        found.in_anchor = found.push(href, element.value("rel"), settings).then_some(link);
    }
}

/// `<area href>`, `<frame src>`, `<iframe src>`.
pub(crate) fn on_frame(found: &mut Found, element: &impl Attributes, settings: &Settings) {
    if found.has_room(settings)
        && let Some(reference) = element.value("href").or_else(|| element.value("src"))
    {
        found.push(reference, None, settings);
    }
}

/// The images of `<img>`, `<source>` and `<video>`, also those that a script would load later. is_media: it is a video, or a source of
/// one or of a sound.
pub(crate) fn on_image(found: &mut Found, element: &impl Attributes, is_media: bool, settings: &Settings) {
    // Of a video or a sound its source is no image.
    let own =
        if is_media { &["poster"][..] } else { &["src", "data-src", "data-original", "data-lazy-src"][..] };
    for name in own {
        if let Some(reference) = element.value(name)
            && is_reference(&reference)
            && found.has_room(settings)
        {
            found.push(reference, None, settings);
        }
    }
    for name in ["srcset", "data-srcset", "data-lazy-srcset"] {
        let Some(set) = element.value(name) else { continue };
        for reference in candidates(&set).filter(|reference| is_reference(reference)) {
            if !found.has_room(settings) {
                return;
            }
            found.push(reference.to_owned(), None, settings);
        }
    }
}

/// Whether an attribute may lead somewhere: it is no image itself, and not empty.
fn is_reference(value: &str) -> bool {
    !value.trim().is_empty()
        && !value.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}

/// The URLs of a `srcset` (HTML section 4.8.4.2.1: a URL may contain commas, but not begin or end with one).
fn candidates(set: &str) -> impl Iterator<Item = &str> {
    let mut rest = set;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let whole = url.trim_end_matches(',');
        // What describes it ends at a comma, unless the URL has ended so.
        rest =
            if whole.len() < url.len() { after } else { after.find(',').map_or("", |at| &after[at + 1..]) };
        (!whole.is_empty()).then_some(whole)
    })
}

/// `<form action>` that sends nothing but a URL.
pub(crate) fn on_form(found: &mut Found, element: &impl Attributes, settings: &Settings) {
    let is_get = element.value("method").is_none_or(|method| method.trim().eq_ignore_ascii_case("get"));
    if let Some(action) = element.value("action").filter(|action| is_get && !action.trim().is_empty())
        && found.has_room(settings)
    {
        found.push(action, None, settings);
    }
}

/// Whether `<link rel=alternate>` is a feed: RSS, Atom or JSON Feed.
fn is_feed(rel: &str, element: &impl Attributes) -> bool {
    has_word(rel, "alternate")
        && element.value("type").is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            matches!(
                &*kind,
                "application/rss+xml"
                    | "application/atom+xml"
                    | "application/rdf+xml"
                    | "application/feed+json"
            )
        })
}

/// `<link rel=canonical>`, `<link rel=license>`, `<link rel=next>`, `<link rel=prev>`, and feeds.
pub(crate) fn on_link(found: &mut Found, element: &impl Attributes, settings: &Settings) {
    let (Some(rel), Some(href)) = (element.value("rel"), element.value("href")) else { return };
    if has_word(&rel, "license") && found.licenses.len() < LICENSES && href.len() <= MAX_URL_BYTES {
        let kind = element.value("type").filter(|kind| kind.len() <= TYPE_BYTES);
        found.licenses.push((href.clone(), kind));
    }
    if has_word(&rel, "canonical") {
        found.canonical.get_or_insert(href);
    } else if (has_word(&rel, "next")
        || has_word(&rel, "prev")
        || (settings.sources.has(Source::Feeds) && is_feed(&rel, element)))
        && found.has_room(settings)
    {
        found.push(href, None, settings);
    }
}

/// `<base href>`: the first one counts.
pub(crate) fn on_base(found: &mut Found, element: &impl Attributes, _: &Settings) {
    if found.base.is_none() {
        found.base = element.value("href");
    }
}

/// `<meta name=robots>`, or with the crawler's name; and `<meta http-equiv=refresh>`, whose target is a link.
pub(crate) fn on_meta(found: &mut Found, element: &impl Attributes, settings: &Settings) {
    if let Some(name) = element.value("name") {
        if (name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&settings.agent))
            && let Some(content) = element.value("content")
        {
            found.directives.add(&content);
        } else if name.eq_ignore_ascii_case("tdm-reservation") && found.tdm.is_none() {
            found.tdm = element.value("content").and_then(|content| tdm(&content));
        }
    } else if found.has_room(settings)
        && let Some(content) = element.value("content")
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

/// A title with white space collapsed, at most `limit` bytes; `None` if empty.
fn clean_title(raw: &str, limit: usize, bounds: &mut Bounds) -> Option<Box<str>> {
    let mut title = String::with_capacity(raw.len().min(limit));
    for word in raw.split_whitespace() {
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
pub(crate) fn shown_url(outcome: &Outcome) -> &CrawlUrl {
    outcome.received().and_then(|received| received.final_url.as_ref()).unwrap_or(outcome.url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_a_set_may_have_commas() {
        let of = |set| candidates(set).collect::<Vec<_>>();
        assert_eq!(of("a.jpg 1x, b.jpg 2x"), ["a.jpg", "b.jpg"]);
        assert_eq!(of(" /w=200,h=100/a.jpg 200w , /b.jpg"), ["/w=200,h=100/a.jpg", "/b.jpg"]);
        assert_eq!(of("a.jpg, b.jpg,, c.jpg,"), ["a.jpg", "b.jpg", "c.jpg"]);
        assert_eq!(of(" , "), Vec::<&str>::new());
    }
}
