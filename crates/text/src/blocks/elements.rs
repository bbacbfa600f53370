//! What elements say of the text in them.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::Place;

/// Whether a link is the mark beside a heading that leads to the heading itself.
pub(super) fn is_permalink(tree: &Tree, node: NodeId) -> bool {
    let first = tree.first(node);
    tree.attribute(node, "href").is_some_and(|target| target.starts_with('#'))
        && first != NONE
        && tree.next(first) == NONE
        && tree.text(first).is_some_and(|text| matches!(text.trim(), "¶" | "#" | "§" | "🔗" | "\u{f0c1}"))
}

/// Whether what is in an element is no text of the page.
pub(crate) fn is_left_out(tree: &Tree, node: NodeId) -> bool {
    let tag = tree.tag(node);
    // A template that is a shadow root is shown (HTML Standard, section 4.12.3).
    if tag == Tag::Template {
        return tree.attribute(node, "shadowrootmode").is_none();
    }
    matches!(
        tag,
        Tag::Script
            | Tag::Style
            | Tag::Iframe
            | Tag::Svg
            | Tag::Math
            | Tag::Select
            | Tag::Textarea
            | Tag::Object
            | Tag::Canvas
            | Tag::Noembed
            | Tag::Noframes
            | Tag::Audio
            | Tag::Video
    )
}

/// What a tag says of what is in it.
pub(super) fn place_of(tag: Tag) -> Option<Place> {
    Some(match tag {
        Tag::Article => Place::Article,
        Tag::Main => Place::Main,
        Tag::Section => Place::Section,
        Tag::Nav => Place::Navigation,
        Tag::Aside => Place::Aside,
        Tag::Header => Place::Header,
        Tag::Footer => Place::Footer,
        Tag::Form | Tag::Fieldset => Place::Form,
        Tag::Table => Place::Table,
        Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir => Place::List,
        Tag::Dl => Place::Definitions,
        Tag::Figure => Place::Figure,
        Tag::Blockquote => Place::Quote,
        Tag::Pre | Tag::Listing | Tag::Xmp => Place::Preformatted,
        Tag::Code => Place::Code,
        Tag::Button => Place::Button,
        Tag::Details => Place::Details,
        Tag::Dialog => Place::Dialog,
        Tag::Label | Tag::Legend => Place::Label,
        Tag::Figcaption | Tag::Caption => Place::Caption,
        _ if tag.heading().is_some() => Place::Heading,
        _ => return None,
    })
}

/// What the attributes of an element say of what is in it.
pub(super) fn adds_place(tree: &Tree, node: NodeId, tag: Tag) -> Option<Place> {
    if !matches!(
        tag,
        Tag::Div | Tag::Span | Tag::Section | Tag::Ul | Tag::Aside | Tag::Article | Tag::Other | Tag::Header
    ) {
        return None;
    }
    if let Some(role) = tree.attribute(node, "role") {
        return Some(match role {
            "main" => Place::Main,
            "navigation" | "menu" | "menubar" | "tablist" => Place::Navigation,
            "complementary" => Place::Aside,
            "banner" => Place::Header,
            "contentinfo" => Place::Footer,
            "article" => Place::Article,
            "dialog" | "alertdialog" => Place::Dialog,
            "search" | "form" => Place::Form,
            "button" => Place::Button,
            _ => return None,
        });
    }
    match tree.attribute(node, "itemprop") {
        Some("articleBody" | "text" | "description" | "reviewBody" | "mainContentOfPage") => {
            Some(Place::Microdata)
        }
        _ => None,
    }
}

/// Whether a browser shows nothing of an element, as far as the page itself says.
pub(crate) fn is_invisible(tree: &Tree, node: NodeId) -> bool {
    tree.attributes(node).any(|(name, value)| match name {
        "hidden" => value != "until-found",
        "style" => {
            (value.contains("none") || value.contains("hidden")) && {
                let style: String = value.chars().filter(|c| !c.is_whitespace()).collect();
                style.contains("display:none") || style.contains("visibility:hidden")
            }
        }
        _ => false,
    })
}

/// The same, or readers that speak leave it out.
pub(super) fn is_hidden(tree: &Tree, node: NodeId) -> bool {
    is_invisible(tree, node) || tree.attribute(node, "aria-hidden") == Some("true")
}
