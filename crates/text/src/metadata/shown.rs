//! The days that a page shows beside its title, for pages that state none: that of the publication, and that of the last change.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::text_of;
use crate::blocks::is_left_out;
use crate::dates::{self, Day};

/// Characters of a text that is a date with some words, at most.
const LONGEST: usize = 64;

/// Dates of a page that are looked at, at most; and bytes of a class or an identifier around each.
const DATES: usize = 200;
const BYTES: usize = 256;

/// Nodes behind the title, and before it, within which a date is the page's.
const BEHIND: NodeId = 120;
const BEFORE: NodeId = 60;

/// Elements around a text in which is looked what it is.
const AROUND: usize = 12;

/// Nodes before a date among which its label is.
const LABEL: usize = 8;

/// Those of them whose names tell that a text is a date of the page.
const NEAREST: usize = 3;

/// Parts of classes and identifiers of elements with the date of a page, and of those with dates of something else.
const NAMES: [&str; 9] = [
    "date",
    "publish",
    "posted",
    "byline",
    "timestamp",
    "post-time",
    "entry-meta",
    "post-meta",
    "article-meta",
];
const OTHERS: [&str; 13] = [
    "related",
    "sidebar",
    "comment",
    "footer",
    "recent",
    "widget",
    "event",
    "countdown",
    "current-date",
    "currentdate",
    "current-time",
    "clock",
    "weather",
];

/// Beginnings and ends of names that tell how a page is set out, such as `no-sidebar` and `comments-open`.
const OF_LAYOUT: [&str; 4] = ["no-", "has-", "with-", "without-"];
const OF_STATE: [&str; 2] = ["-open", "-closed"];

/// Words beside a date that is of something else.
const NOT: [&str; 9] =
    ["joined", "member since", "since", "expires", "deadline", "copyright", "©", "born", "last visit"];

/// Words beside the day of the last change.
const CHANGED: [&str; 15] = [
    "updated",
    "modified",
    "last edited",
    "edited on",
    "revised",
    "last change",
    "aktualisiert",
    "geändert",
    "mis à jour",
    "actualizado",
    "atualizado",
    "aggiornato",
    "bijgewerkt",
    "обновлено",
    "更新",
];

/// A date of a page.
struct Shown {
    node: NodeId,
    day: Day,
    /// Whether its element says that it is a date.
    is_named: bool,
    /// Whether it is the day of a change.
    is_change: bool,
}

/// The days of a page; `None`: it shows none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Days {
    pub(super) published: Option<Day>,
    pub(super) modified: Option<Day>,
}

/// The days beside the title, which is the first heading.
pub(super) fn days(tree: &Tree, title: NodeId) -> Days {
    let (mut all, mut tries) = (Vec::new(), 0);
    for node in tree.ids() {
        if tries < DATES
            && let Some(text) = tree.text(node)
            && let Some(day) = date_of(text)
        {
            tries += 1;
            let is_change = is_change(tree, node);
            all.extend(named(tree, node, title).map(|is_named| Shown { node, day, is_named, is_change }));
        }
    }
    let (changes, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|shown: &Shown| shown.is_change);
    let modified = likely(title, &changes).or_else(|| possible(title, &changes));
    // A page whose changes alone are told at its title is of that day.
    let published = likely(title, &all).or(modified).or_else(|| possible(title, &all));
    Days { published, modified }
}

/// Whether a date is behind the title, or before it, and near.
fn is_behind(title: NodeId) -> impl Fn(&&Shown) -> bool {
    move |shown| (title..title + BEHIND).contains(&shown.node)
}

/// See `is_behind`.
fn is_before(title: NodeId) -> impl Fn(&&Shown) -> bool {
    move |shown| (title.saturating_sub(BEFORE)..title).contains(&shown.node)
}

/// The day that is likely the page's.
fn likely(title: NodeId, all: &[Shown]) -> Option<Day> {
    let named = || all.iter().filter(|shown| shown.is_named);
    let near = named().find(is_behind(title)).or_else(|| named().rfind(is_before(title)));
    near.or_else(|| all.iter().find(is_behind(title))).map(|shown| shown.day)
}

/// The day that may be the page's.
fn possible(title: NodeId, all: &[Shown]) -> Option<Day> {
    let near = all.iter().rfind(is_before(title));
    near.or_else(|| all.iter().find(|shown| shown.is_named && shown.node > title)).map(|shown| shown.day)
}

/// The first heading; 0: there is none.
pub(super) fn title_of(tree: &Tree) -> NodeId {
    tree.ids().find(|node| tree.tag(*node) == Tag::H1).unwrap_or_default()
}

/// The date that a text is, with some words.
fn date_of(text: &str) -> Option<Day> {
    let text = text.trim();
    // A character has at most four bytes.
    if text.len() > 4 * LONGEST || text.bytes().filter(u8::is_ascii_digit).count() < 4 {
        return None;
    }
    let lower = text.to_lowercase();
    if text.chars().count() > LONGEST || NOT.iter().any(|words| says(&lower, words)) {
        return None;
    }
    dates::find(text)
}

/// Whether a text has some words, and not as the end of a longer one.
fn says(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| !text[..at].ends_with(char::is_alphabetic))
}

/// Whether the day in a text or an element is that of a change, by what is said before it.
pub(super) fn is_change(tree: &Tree, node: NodeId) -> bool {
    let classes = [node, tree.parent(node)].map(|one| tree.attribute(one, "class").unwrap_or_default());
    // Some name a day both, since nothing has changed since.
    let is_named = classes.iter().any(|classes| has_part(classes, &["updated", "modified"]))
        && !classes.iter().any(|classes| has_part(classes, &["publish", "entry-date"]));
    let own = tree.text(node).map_or_else(|| text_of(tree, node), str::to_owned).to_lowercase();
    let before = own.split(|c: char| c.is_numeric()).next().unwrap_or_default();
    let label = match before.contains(char::is_alphabetic) {
        true => before.to_owned(),
        false => label_of(tree, node).map_or(own, str::to_lowercase),
    };
    is_named || CHANGED.iter().any(|words| label.contains(words))
}

/// The text before a node in what is around it; `None`: there is none, or it is longer than a label.
fn label_of(tree: &Tree, node: NodeId) -> Option<&str> {
    let around = (0..NEAREST).fold(node, |node, _| match tree.parent(node) {
        NONE => node,
        parent => parent,
    });
    let before = (around..node).rev().take(LABEL);
    before
        .filter_map(|node| tree.text(node))
        .find(|text| text.contains(char::is_alphabetic))
        .filter(|text| text.len() <= LONGEST)
}

/// Whether the elements around a text or an element say that it is a date of the page; `None`: it is one of something else.
pub(super) fn named(tree: &Tree, text: NodeId, title: NodeId) -> Option<bool> {
    let (mut node, mut is_named) = (tree.parent(text), false);
    for around in 0..AROUND {
        if node == NONE {
            break;
        }
        let tag = tree.tag(node);
        let is_apart = matches!(tag, Tag::Nav | Tag::Footer | Tag::Aside | Tag::Title);
        // The head of a site has its clock.
        let is_of_site =
            tag == Tag::Header && node < title && tree.after(node) <= title && tree.after(node) != NONE;
        if is_apart || is_of_site || is_left_out(tree, node) {
            return None;
        }
        if matches!(tag, Tag::Html | Tag::Body | Tag::Main) {
            break;
        }
        for (name, value) in tree.attributes(node) {
            if !matches!(name, "class" | "id" | "data-testid") {
                continue;
            }
            let value = value.get(..BYTES.min(value.len())).unwrap_or_default().to_ascii_lowercase();
            if has_part(&value, &OTHERS) {
                return None;
            }
            is_named |= around < NEAREST && has_part(&value, &NAMES);
        }
        node = tree.parent(node);
    }
    Some(is_named)
}

/// Whether one of the names in an attribute has one of these parts: names that tell how a page is set out do not count.
fn has_part(names: &str, parts: &[&str]) -> bool {
    let is_of_layout = |name: &str| {
        OF_LAYOUT.iter().any(|start| name.starts_with(start))
            || OF_STATE.iter().any(|end| name.ends_with(end))
    };
    let mut names = names.split_ascii_whitespace().filter(|name| !is_of_layout(name));
    names.any(|name| parts.iter().any(|part| name.contains(part)))
}
