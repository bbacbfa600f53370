//! The day that a page shows beside its title, for pages that state none.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

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
const OTHERS: [&str; 8] =
    ["related", "sidebar", "comment", "footer", "recent", "widget", "event", "countdown"];

/// Words beside a date that is of something else.
const NOT: [&str; 9] =
    ["joined", "member since", "since", "expires", "deadline", "copyright", "©", "born", "last visit"];

/// A date of a page.
struct Shown {
    node: NodeId,
    day: Day,
    /// Whether its element says that it is a date.
    is_named: bool,
}

/// The day beside the title; `None`: there is none.
pub(super) fn day(tree: &Tree) -> Option<Day> {
    let (mut all, mut title, mut tries) = (Vec::new(), None, 0);
    for node in tree.ids() {
        match tree.text(node) {
            Some(text) => {
                if tries < DATES
                    && let Some(day) = date_of(text)
                {
                    tries += 1;
                    all.extend(named(tree, node).map(|is_named| Shown { node, day, is_named }));
                }
            }
            None => {
                if title.is_none() && tree.tag(node) == Tag::H1 {
                    title = Some(node);
                }
            }
        }
    }
    let title = title.unwrap_or_default();
    let is_behind = |shown: &&Shown| (title..title + BEHIND).contains(&shown.node);
    let is_before = |shown: &&Shown| (title.saturating_sub(BEFORE)..title).contains(&shown.node);
    let near = all.iter().filter(is_behind).find(|shown| shown.is_named);
    let near = near.or_else(|| all.iter().rfind(|shown| shown.is_named && is_before(shown)));
    let near = near.or_else(|| all.iter().find(is_behind)).or_else(|| all.iter().rfind(is_before));
    near.or_else(|| all.iter().find(|shown| shown.is_named && shown.node > title)).map(|shown| shown.day)
}

/// The date that a text is, with some words.
fn date_of(text: &str) -> Option<Day> {
    let text = text.trim();
    if text.len() > LONGEST || text.bytes().filter(u8::is_ascii_digit).count() < 4 {
        return None;
    }
    let lower = text.to_lowercase();
    if NOT.iter().any(|word| lower.contains(word)) {
        return None;
    }
    dates::find(text)
}

/// Whether the elements around a text say that it is a date of the page; `None`: it is one of something else.
fn named(tree: &Tree, text: NodeId) -> Option<bool> {
    let (mut node, mut is_named) = (tree.parent(text), false);
    for around in 0..AROUND {
        if node == NONE {
            break;
        }
        let is_apart = matches!(tree.tag(node), Tag::Nav | Tag::Footer | Tag::Aside | Tag::Title);
        if is_apart || is_left_out(tree, node) {
            return None;
        }
        for (name, value) in tree.attributes(node) {
            if !matches!(name, "class" | "id" | "data-testid") {
                continue;
            }
            let value = value.get(..BYTES.min(value.len())).unwrap_or_default().to_ascii_lowercase();
            if OTHERS.iter().any(|part| value.contains(part)) {
                return None;
            }
            is_named |= around < NEAREST && NAMES.iter().any(|part| value.contains(part));
        }
        node = tree.parent(node);
    }
    Some(is_named)
}
