//! Extracts links and metadata of the head from a page's tree, where one is built for its text.

use lycosa_dom::{NONE, NodeId, Tag, Tree};
use lycosa_url::Bound;

use crate::Settings;
use crate::found::{Attributes, Found, on_anchor, on_base, on_frame, on_link, on_meta};

/// An element of a tree.
struct Element<'a> {
    tree: &'a Tree,
    node: NodeId,
}

impl Attributes for Element<'_> {
    fn value(&self, name: &str) -> Option<String> {
        self.tree.attribute(self.node, name).map(str::to_owned)
    }
}

/// Looks at all elements, in the order of the page.
pub(crate) fn collect(tree: &Tree, settings: &Settings) -> Found {
    let mut found = Found::default();
    if tree.is_cut() {
        found.bounds.add(Bound::ParseMemory);
    }
    // Where the innermost link ends whose text is collected.
    let mut end_of_link = NONE;
    let mut node = tree.first(Tree::ROOT);
    while node != NONE {
        if node == end_of_link {
            found.in_anchor = false;
        }
        if let Some(text) = tree.text(node) {
            if settings.anchors && found.in_anchor {
                found.push_anchor(text, settings);
            }
        } else {
            let element = Element { tree, node };
            let has = |name: &str| tree.attribute(node, name).is_some();
            match tree.tag(node) {
                Tag::A if has("href") => {
                    on_anchor(&mut found, &element, settings);
                    end_of_link = tree.after(node);
                }
                Tag::Area if has("href") => on_frame(&mut found, &element, settings),
                Tag::Frame | Tag::Iframe if has("src") => on_frame(&mut found, &element, settings),
                Tag::Link => on_link(&mut found, &element, settings),
                Tag::Base if has("href") => on_base(&mut found, &element, settings),
                Tag::Meta if has("name") || is_refresh(tree, node) => on_meta(&mut found, &element, settings),
                Tag::Title if !found.title_done && !is_in_svg(tree, node) => {
                    for text in tree.children(node).filter_map(|child| tree.text(child)) {
                        found.push_title(text, settings);
                    }
                    found.title_done = true;
                }
                _ => {}
            }
        }
        node = tree.following(node);
    }
    found
}

/// Whether a `meta` element sends a browser elsewhere.
fn is_refresh(tree: &Tree, node: NodeId) -> bool {
    tree.attribute(node, "http-equiv").is_some_and(|is| is.eq_ignore_ascii_case("refresh"))
}

/// Whether an element is in a drawing, whose titles are its own.
fn is_in_svg(tree: &Tree, node: NodeId) -> bool {
    let mut up = tree.parent(node);
    while up != NONE {
        if tree.tag(up) == Tag::Svg {
            return true;
        }
        up = tree.parent(up);
    }
    false
}
