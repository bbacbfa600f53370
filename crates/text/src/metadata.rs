//! What a page states of itself: title, author, dates, language, canonical URL, description, site, licence.
//!
//! By `meta` elements, JSON-LD, microdata, and elements that pages use for it. Guarantees: what is returned is a text of the page, with
//! whitespace collapsed, and of at most [`MOST`] bytes; malformed JSON-LD counts as none.

mod linked_data;

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use crate::dates;
use linked_data::LinkedData;

/// Bytes of each of them, at most.
pub const MOST: usize = 2_048;

/// Words of an author's name, at most.
const NAME: usize = 8;

/// What a page states; empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The title without the name of the site.
    pub title: String,
    /// Authors, with `, ` between them.
    pub author: String,
    /// The day of publication, and that of the last change: `2024-05-13`.
    pub published: String,
    /// See `published`.
    pub modified: String,
    /// A language tag (BCP 47), as the page has it.
    pub language: String,
    /// The canonical URL as the page has it.
    pub canonical: String,
    /// The page's own description.
    pub description: String,
    /// The name of the site.
    pub site: String,
    /// The URL of a licence, or its name.
    pub licence: String,
}

/// What is collected in one pass.
#[derive(Default)]
struct Found<'a> {
    metas: Vec<(String, &'a str)>,
    title: String,
    first_headings: Vec<String>,
    language: &'a str,
    canonical: &'a str,
    licence: &'a str,
    authors: Vec<(u8, String)>,
    dates: Vec<(u8, String)>,
    data: LinkedData,
}

impl Metadata {
    /// Of a page. url: the page's own, or empty.
    pub fn of(tree: &Tree, url: &str) -> Self {
        let found = Found::of(tree);
        let site = first(&[found.meta(&["og:site_name", "application-name"]), &found.data.site]);
        Metadata {
            title: cut(&found.title(site)),
            author: cut(&found.author()),
            published: found.published(url),
            modified: found.modified(),
            language: cut(first(&[
                found.language,
                found.meta(&["og:locale", "content-language", "language"]),
                &found.data.language,
            ])),
            canonical: cut(first(&[found.canonical, found.meta(&["og:url"])])),
            description: cut(&collapsed(first(&[
                found.meta(&["description", "og:description", "twitter:description"]),
                &found.data.description,
            ]))),
            licence: cut(first(&[
                found.licence,
                found.meta(&["dc.rights.license", "dcterms.license"]),
                &found.data.licence,
            ])),
            site: cut(&collapsed(site)),
        }
    }
}

impl<'a> Found<'a> {
    /// Collects.
    fn of(tree: &'a Tree) -> Self {
        let mut found = Found::default();
        let mut node = tree.first(Tree::ROOT);
        while node != NONE {
            found.node(tree, node);
            node = tree.following(node);
        }
        found
    }

    /// Looks at a node.
    fn node(&mut self, tree: &'a Tree, node: NodeId) {
        let attribute =
            |name: &str| tree.attribute(node, name).map(str::trim).filter(|value| !value.is_empty());
        match tree.tag(node) {
            Tag::Other if tree.text(node).is_some() => (),
            Tag::Html => {
                self.language = attribute("lang").or_else(|| attribute("xml:lang")).unwrap_or_default()
            }
            Tag::Title if self.title.is_empty() => self.title = text_of(tree, node),
            Tag::H1 => self.first_headings.push(text_of(tree, node)),
            Tag::Meta => {
                let name =
                    attribute("property").or_else(|| attribute("name")).or_else(|| attribute("itemprop"));
                if let (Some(name), Some(content)) = (name, attribute("content")) {
                    self.metas.push((name.to_ascii_lowercase(), content));
                }
            }
            Tag::Link => match attribute("rel") {
                Some("canonical") if self.canonical.is_empty() => {
                    self.canonical = attribute("href").unwrap_or_default()
                }
                Some("license") if self.licence.is_empty() => {
                    self.licence = attribute("href").unwrap_or_default()
                }
                _ => {}
            },
            Tag::Script if attribute("type").is_some_and(|is| is.ends_with("ld+json")) => {
                for text in tree.children(node).filter_map(|child| tree.text(child)) {
                    self.data.add(text);
                }
            }
            Tag::Time => {
                let rank =
                    if attribute("pubdate").is_some() || has_class(tree, node, "published") { 1 } else { 3 };
                let value = attribute("datetime").map_or_else(|| text_of(tree, node), str::to_owned);
                self.dates.push((rank, value));
            }
            tag => self.element(tree, node, tag),
        }
    }

    /// Looks at an element that may have an author's name or a date.
    fn element(&mut self, tree: &'a Tree, node: NodeId, tag: Tag) {
        if tag == Tag::A && self.licence.is_empty() && has_word(tree.attribute(node, "rel"), "license") {
            self.licence = tree.attribute(node, "href").unwrap_or_default();
        }
        let properties = tree.attribute(node, "itemprop");
        if has_word(properties, "datePublished") {
            let value = tree.attribute(node, "content").or_else(|| tree.attribute(node, "datetime"));
            self.dates.push((0, value.map_or_else(|| text_of(tree, node), str::to_owned)));
        }
        let rank = if has_word(properties, "author") {
            0
        } else if tag == Tag::A && has_word(tree.attribute(node, "rel"), "author") {
            1
        } else if [
            "author",
            "byline",
            "byline-name",
            "author-name",
            "entry-author",
            "post-author",
            "username",
        ]
        .iter()
        .any(|class| has_class(tree, node, class))
        {
            2
        } else {
            return;
        };
        let name = author_name(&text_of(tree, node));
        if !name.is_empty() && self.authors.len() < 64 {
            self.authors.push((rank, name));
        }
    }

    /// The content of the first `meta` with one of these names; earlier names come first.
    fn meta(&self, names: &[&str]) -> &'a str {
        let of =
            |name: &&str| self.metas.iter().find(|(known, _)| known == name).map(|(_, content)| *content);
        names.iter().find_map(of).unwrap_or_default()
    }

    /// The title: the page's own heading if the stated titles say much the same; otherwise these, without the name of the site.
    fn title(&self, site: &str) -> String {
        let stated =
            collapsed(first(&[self.meta(&["og:title", "twitter:title"]), &self.data.title, &self.title]));
        let whole = if self.title.is_empty() { stated.clone() } else { self.title.clone() };
        let headings = self.first_headings.iter().filter(|heading| !heading.is_empty());
        let alike = |heading: &&String| {
            let one = likeness(heading, &whole).max(likeness(heading, &stated));
            (one >= 0.5).then_some(one)
        };
        let best = headings.clone().filter_map(|heading| alike(&heading).map(|one| (one, heading)));
        if let Some((_, heading)) = best.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
            return heading.clone();
        }
        let short = without_site(&stated, site);
        if short.is_empty() { headings.clone().next().cloned().unwrap_or_default() } else { short }
    }

    /// The authors.
    fn author(&self) -> String {
        if !self.data.authors.is_empty() {
            return self.data.authors.join(", ");
        }
        let stated = self.meta(&[
            "author",
            "article:author",
            "dc.creator",
            "dcterms.creator",
            "parsely-author",
            "sailthru.author",
            "byl",
        ]);
        let stated = author_name(stated);
        if !stated.is_empty() {
            return stated;
        }
        self.authors.iter().min_by_key(|(rank, _)| *rank).map(|(_, name)| name.clone()).unwrap_or_default()
    }

    /// The day of publication.
    fn published(&self, url: &str) -> String {
        const NAMES: &[&str] = &[
            "article:published_time",
            "og:published_time",
            "datepublished",
            "date",
            "dc.date",
            "dc.date.issued",
            "dcterms.created",
            "dcterms.date",
            "parsely-pub-date",
            "publish-date",
            "publishdate",
            "pubdate",
            "sailthru.date",
            "article.published",
            "created",
        ];
        let by_rank = |rank: u8| {
            self.dates.iter().filter(move |(known, _)| *known == rank).map(|(_, text)| text.as_str())
        };
        let found =
            [self.data.published.as_str(), self.meta(NAMES)].into_iter().chain(by_rank(0)).chain(by_rank(1));
        let found = found.chain([path_of(url)]).chain(by_rank(3)).find_map(dates::find);
        found.map_or_else(String::new, |day| day.to_string())
    }

    /// The day of the last change.
    fn modified(&self) -> String {
        let named = self.meta(&[
            "article:modified_time",
            "og:updated_time",
            "datemodified",
            "last-modified",
            "dcterms.modified",
            "dc.date.modified",
        ]);
        let found = [self.data.modified.as_str(), named].into_iter().find_map(dates::find);
        found.map_or_else(String::new, |day| day.to_string())
    }
}

/// The path of a URL: `/2024/05/13/` is a date.
fn path_of(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, after)| after).split_once('/').map_or("", |(_, path)| path)
}

/// The first text that is not empty.
fn first<'a>(texts: &[&'a str]) -> &'a str {
    texts.iter().copied().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// A text with single spaces.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of at most [`MOST`] bytes.
fn cut(text: &str) -> String {
    let end = (0..=MOST.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}

/// The text in an element.
fn text_of(tree: &Tree, element: NodeId) -> String {
    let (mut text, end) = (String::new(), tree.after(element));
    let mut node = tree.first(element);
    while node != end && node != NONE && text.len() < MOST {
        if let Some(part) = tree.text(node)
            && !matches!(tree.tag(tree.parent(node)), Tag::Script | Tag::Style)
        {
            text.push_str(part);
        } else if tree.tag(node).is_block() || tree.tag(node) == Tag::Br {
            text.push(' ');
        }
        node = tree.following(node);
    }
    collapsed(&text)
}

/// Whether an attribute has a word.
fn has_word(value: Option<&str>, word: &str) -> bool {
    value.is_some_and(|value| value.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(word)))
}

/// Whether an element has a class.
fn has_class(tree: &Tree, node: NodeId, class: &str) -> bool {
    has_word(tree.attribute(node, "class"), class)
}

/// The name in a byline; empty: it is none.
fn author_name(text: &str) -> String {
    let text = collapsed(text);
    let lower = text.to_lowercase();
    let start = ["written by ", "posted by ", "by ", "von ", "por ", "par ", "作者：", "作者:"];
    let start = start.iter().find(|start| lower.starts_with(**start)).map_or(0, |start| start.len());
    let name = text
        .get(start..)
        .unwrap_or_default()
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | '·' | '-' | ':'));
    let is_url = name.contains("://") || name.starts_with("www.") || name.starts_with('@');
    if is_url || name.split(' ').count() > NAME || name.len() > 100 { String::new() } else { name.to_owned() }
}

/// A title without the name of the site at its end or beginning.
fn without_site(title: &str, site: &str) -> String {
    for mark in [" | ", " - ", " – ", " — ", " · ", " » ", " :: ", " • "] {
        if let Some((before, after)) = title.rsplit_once(mark) {
            let is_site = !site.is_empty() && likeness(after, site) > 0.5;
            if is_site
                || (after.split(' ').count() <= 4 && before.split(' ').count() > after.split(' ').count())
            {
                return before.trim().to_owned();
            }
        }
        if let Some((before, after)) = title.split_once(mark)
            && !site.is_empty()
            && likeness(before, site) > 0.5
        {
            return after.trim().to_owned();
        }
    }
    title.to_owned()
}

/// The part of both texts' words that both have.
fn likeness(one: &str, other: &str) -> f32 {
    let (one, other) = (crate::features::words_of(one), crate::features::words_of(other));
    let both = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    if one.is_empty() || other.is_empty() { 0.0 } else { both as f32 / one.len().min(other.len()) as f32 }
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
