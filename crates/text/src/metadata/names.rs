//! Names of authors in bylines.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::{AUTHORS, NODES, collapsed, text_of};
use crate::dates;

/// Words of a name, at most.
const NAME: usize = 8;

/// The names in an element, which may say more, such as the day and how long it takes to read: then those of its links.
pub(super) fn authors_in(tree: &Tree, element: NodeId, language: &str) -> String {
    let whole = authors_of(&text_of(tree, element), language);
    if whole.split(", ").all(is_name) {
        return whole;
    }
    let (mut node, end) = (tree.first(element), tree.after(element));
    for _ in 0..NODES {
        if node == NONE || node == end {
            break;
        }
        if tree.tag(node) == Tag::A || tree.attribute(node, "itemprop") == Some("name") {
            let names = authors_of(&text_of(tree, node), language);
            if !names.is_empty() && names.split(", ").all(is_name) {
                return names;
            }
        }
        node = tree.following(node);
    }
    whole.split(", ").filter(|name| is_name(name)).collect::<Vec<_>>().join(", ")
}

/// Whether a part of a byline is a name: it has no numbers, unless it is the name of a user, and no words about the page.
fn is_name(part: &str) -> bool {
    const OTHERS: [&str; 6] = ["updated", "published", "posted", "read", "views", "comments"];
    let has_number = part.bytes().any(|byte| byte.is_ascii_digit()) && part.contains(' ');
    let has_word = part.split(' ').any(|word| OTHERS.iter().any(|other| word.eq_ignore_ascii_case(other)));
    !has_number && !has_word && dates::find(part).is_none()
}

/// The names in a byline, with `, ` between them; empty: there is none.
pub(super) fn authors_of(text: &str, language: &str) -> String {
    let text = without_by(&collapsed(text), language);
    let parts = text.split([',', ';', '|', '&', '、', '•', '·']).flat_map(|part| part.split(" and "));
    let names: Vec<_> = parts.map(author_name).filter(|name| !name.is_empty()).take(AUTHORS).collect();
    names.join(", ")
}

/// The name of one author; empty: it is none.
pub(crate) fn author_name(text: &str) -> String {
    let text = without_by(&collapsed(text), "");
    let name = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | '·' | '-' | ':'));
    let is_url = name.contains("://") || name.starts_with("www.") || name.starts_with('@');
    if is_url || name.split(' ').count() > NAME || name.len() > 100 { String::new() } else { name.to_owned() }
}

/// A byline without the word at its beginning. Some of these words are parts of names in other languages.
fn without_by(text: &str, language: &str) -> String {
    let start = match language.get(..2).unwrap_or_default() {
        "de" => "von ",
        "fr" => "par ",
        "es" | "pt" => "por ",
        "it" => "di ",
        _ => "",
    };
    let lower = text.to_lowercase();
    let starts = ["written by ", "posted by ", "by ", "作者：", "作者:", start];
    let found = starts.into_iter().find(|start| !start.is_empty() && lower.starts_with(*start));
    // Lower case may be longer: then nothing is cut.
    found.and_then(|start| text.get(start.len()..)).unwrap_or(text).to_owned()
}
