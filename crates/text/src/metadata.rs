//! What a page states of itself: title, author, dates, language, canonical URL, description, site, licence.
//!
//! By `meta` elements, JSON-LD, microdata, and elements that pages use for it. Guarantees: what is returned is a text of the page, with
//! whitespace collapsed, and of at most [`MOST`] bytes; malformed JSON-LD counts as none.

mod linked_data;
mod names;
mod shown;
mod titles;

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use crate::data;
use crate::dates;
use linked_data::LinkedData;
pub(crate) use names::author_name;
use names::{authors_in, authors_of};
use shown::Days;

/// Bytes of each of them, at most.
pub const MOST: usize = 2_048;

/// Authors, at most.
const AUTHORS: usize = 20;

/// Elements that may have a title, an author or a date, at most, and nodes that are looked at in each.
const ELEMENTS: usize = 64;
const NODES: usize = 400;

/// Elements in which an author is looked for, and `meta` elements in which a date is, at most.
const TRIES: usize = 100;

/// `meta` elements, at most.
const METAS: usize = 1_000;

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
    /// The node behind the drawing that is read: titles in it are its own.
    end_of_svg: NodeId,
    first_headings: Vec<String>,
    language: &'a str,
    canonical: &'a str,
    licence: &'a str,
    authors: Vec<(u8, String)>,
    /// Elements in which an author was looked for.
    tries: usize,
    dates: Vec<(u8, NodeId, String)>,
    data: LinkedData,
}

impl Metadata {
    /// Of a page. url: the page's own, or empty.
    pub fn of(tree: &Tree, url: &str) -> Self {
        let found = Found::of(tree);
        let days = found.days(tree, url);
        let site = first(&[found.meta(&["og:site_name", "application-name"]), &found.data.site]);
        Metadata {
            title: cut(&found.title(site)),
            author: cut(&found.author()),
            published: days.published.map_or_else(String::new, |day| day.to_string()),
            modified: days.modified.map_or_else(String::new, |day| day.to_string()),
            // Open Graph has an underscore where a language tag has a hyphen.
            language: cut(first(&[
                found.language,
                found.meta(&["og:locale", "content-language", "language"]),
                &found.data.language,
            ]))
            .replace('_', "-"),
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
        tree.ids().for_each(|node| found.node(tree, node));
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
            Tag::Svg if node >= self.end_of_svg => self.end_of_svg = tree.after(node),
            Tag::Title if self.title.is_empty() && node >= self.end_of_svg => {
                self.title = text_of(tree, node)
            }
            Tag::H1 if self.first_headings.len() < ELEMENTS => self.first_headings.push(text_of(tree, node)),
            Tag::Meta => {
                let name =
                    attribute("property").or_else(|| attribute("name")).or_else(|| attribute("itemprop"));
                if let (Some(name), Some(content)) = (name, attribute("content"))
                    && self.metas.len() < METAS
                {
                    self.metas.push((name.to_ascii_lowercase(), content));
                }
            }
            Tag::Link => {
                let (rel, target) = (attribute("rel"), attribute("href").unwrap_or_default());
                if has_word(rel, "canonical") && self.canonical.is_empty() {
                    self.canonical = target;
                }
                if has_word(rel, "license") && self.licence.is_empty() {
                    self.licence = target;
                }
            }
            Tag::Script => {
                for text in data::texts(tree, node) {
                    self.data.add(text);
                }
            }
            Tag::Time => {
                let rank =
                    if attribute("pubdate").is_some() || has_class(tree, node, "published") { 1 } else { 3 };
                if self.dates.len() < ELEMENTS {
                    let value = attribute("datetime").map_or_else(|| text_of(tree, node), cut);
                    self.dates.push((rank, node, value));
                }
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
        if has_word(properties, "datePublished") && self.dates.len() < ELEMENTS {
            let value = tree.attribute(node, "content").or_else(|| tree.attribute(node, "datetime"));
            self.dates.push((0, node, value.map_or_else(|| text_of(tree, node), cut)));
        }
        let rank = if has_word(properties, "author") {
            0
        } else if tag == Tag::A && has_word(tree.attribute(node, "rel"), "author") {
            1
        } else if tree.attribute(node, "class").is_some_and(has_author_class) {
            2
        } else {
            return;
        };
        // Elements that have none cost as much.
        self.tries += 1;
        if self.tries <= TRIES {
            let names = authors_in(tree, node, self.language);
            if !names.is_empty() {
                self.authors.push((rank, names));
            }
        }
    }

    /// The content of the first `meta` with one of these names; earlier names come first.
    fn meta(&self, names: &[&str]) -> &'a str {
        self.metas_of(names).next().unwrap_or_default()
    }

    /// The contents of all of them.
    fn metas_of(&self, names: &[&str]) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.metas.iter().filter(|(known, _)| known == name).map(|(_, content)| *content));
        }
        found.into_iter()
    }

    /// The authors.
    fn author(&self) -> String {
        let stated = self.data.authors();
        if !stated.is_empty() {
            return stated.join(", ");
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
        let stated = authors_of(stated, self.language);
        if !stated.is_empty() {
            return stated;
        }
        self.authors.iter().min_by_key(|(rank, _)| *rank).map(|(_, name)| name.clone()).unwrap_or_default()
    }

    /// The day of publication, and that of the last change.
    fn days(&self, tree: &Tree, url: &str) -> Days {
        let stated = |rank: u8| self.dates.iter().filter(move |(known, _, _)| *known == rank);
        let text = |(_, _, text): &'_ (u8, NodeId, String)| dates::find(text);
        let mut modified =
            std::iter::once(self.data.modified.as_str()).chain(self.metas_of(MODIFIED).take(TRIES));
        let modified = modified.find_map(dates::find);
        // What one of them says may be no date.
        let found = std::iter::once(self.data.published.as_str()).chain(self.metas_of(PUBLISHED).take(TRIES));
        let found = found.map(dates::find).chain(stated(0).chain(stated(1)).map(text)).flatten().next();
        let found = found.or_else(|| day_of_path(url));
        if found.is_some() && modified.is_some() {
            return Days { published: found, modified };
        }
        let title = shown::title_of(tree);
        let times = stated(3).filter(|(_, node, _)| shown::named(tree, *node, title).is_some());
        let (changes, times): (Vec<_>, Vec<_>) =
            times.partition(|(_, node, _)| shown::is_change(tree, *node));
        let shown = shown::days(tree, title);
        let modified = modified.or_else(|| changes.iter().copied().find_map(text)).or(shown.modified);
        let found = found.or_else(|| times.into_iter().find_map(text));
        let found =
            found.or_else(|| self.metas.iter().find_map(|(name, content)| published_by(name, content)));
        let found = found.or(shown.published).or(modified);
        // A page that has no other day may have it in its margin.
        Days { published: found.or_else(|| stated(3).find_map(text)), modified }
    }
}

/// Names of `meta` elements with the day of publication, and with that of the last change.
const PUBLISHED: &[&str] = &[
    "article:published_time",
    "og:article:published_time",
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
const MODIFIED: &[&str] = &[
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "last-modified",
    "dcterms.modified",
    "dc.date.modified",
];

/// The day of a `meta` element whose name tells that it is of the publication, as many systems have one of their own.
fn published_by(name: &str, content: &str) -> Option<dates::Day> {
    let is_named = name.contains("publish") || name.contains("citation_date") || name.ends_with(":date");
    if is_named { dates::find(content) } else { None }
}

/// The day in the path of a URL: `/2024/05/13/`, `/2024-05-13-cats`, or `/20240513/` with more behind it. Other numbers are of products, or
/// of versions.
fn day_of_path(url: &str) -> Option<dates::Day> {
    let path =
        url.split_once("://").map_or(url, |(_, after)| after).split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let is_number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let of_parts = parts.windows(3).find_map(|parts| {
        let is_day = is_number(parts[0], 4..=4) && is_number(parts[1], 1..=2) && is_number(parts[2], 1..=2);
        is_day.then(|| dates::find(&parts.join("-"))).flatten()
    });
    of_parts.or_else(|| {
        parts.iter().enumerate().find_map(|(at, part)| {
            let is_whole = part.len() >= 10 && part.as_bytes()[4] == b'-' && part.as_bytes()[7] == b'-';
            let is_joined = is_number(part, 8..=8) && (part.starts_with("19") || part.starts_with("20"));
            (is_whole || is_joined && at + 1 < parts.len()).then(|| dates::find(part)).flatten()
        })
    })
}

/// The first text that is not empty.
fn first<'a>(texts: &[&'a str]) -> &'a str {
    texts.iter().copied().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// A text with single spaces.
pub(crate) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of at most [`MOST`] bytes.
fn cut(text: &str) -> String {
    text[..boundary(text, MOST)].to_owned()
}

/// The last place of a text at which it may be divided, not beyond a place.
fn boundary(text: &str, place: usize) -> usize {
    (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The text in an element: of much the beginning.
pub(crate) fn text_of(tree: &Tree, element: NodeId) -> String {
    let (mut text, end) = (String::new(), tree.after(element));
    let mut node = tree.first(element);
    for _ in 0..NODES {
        if node == end || node == NONE || text.len() >= MOST {
            break;
        }
        if let Some(part) = tree.text(node)
            && !matches!(tree.tag(tree.parent(node)), Tag::Script | Tag::Style)
        {
            text.push_str(&part[..boundary(part, MOST - text.len())]);
        } else if tree.tag(node) == Tag::Svg {
            node = tree.after(node);
            continue;
        } else if tree.tag(node).is_block() || matches!(tree.tag(node), Tag::Br | Tag::Time) {
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

/// Whether one of the classes is that of an author's name.
fn has_author_class(classes: &str) -> bool {
    const NAMES: [&str; 7] =
        ["author", "byline", "byline-name", "author-name", "entry-author", "post-author", "username"];
    classes.split_ascii_whitespace().any(|class| NAMES.iter().any(|name| class.eq_ignore_ascii_case(name)))
}

/// Whether an element has a class.
fn has_class(tree: &Tree, node: NodeId, class: &str) -> bool {
    has_word(tree.attribute(node, "class"), class)
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
