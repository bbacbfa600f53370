//! Formulas between dollars: from MathML, from scripts of MathJax, and from elements that a script would draw.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::code::all_text;
use super::escape::escaped;
use crate::metadata::collapsed;

/// The formula of MathML: its source in TeX, or what it shows, which is better than nothing; empty: it shows nothing.
pub(super) fn of_math(tree: &Tree, node: NodeId) -> String {
    let source = annotation(tree, node).unwrap_or_else(|| shown(tree, node));
    between_dollars(&collapsed(&source), tree.attribute(node, "display") == Some("block"))
}

/// The formula of a script of MathJax.
pub(super) fn of_script(tree: &Tree, node: NodeId) -> String {
    let is_display = tree.attribute(node, "type").is_some_and(|kind| kind.contains("mode=display"));
    between_dollars(&collapsed(&shown(tree, node)), is_display)
}

/// Whether an element has nothing but the source of a formula in TeX, which a script would draw.
pub(super) fn is_marked(tree: &Tree, node: NodeId) -> bool {
    let is_math =
        |class: &str| matches!(class, "math" | "arithmatex" | "math-inline" | "math-display" | "tex");
    let first = tree.first(node);
    let text = if first == NONE { None } else { tree.text(first) };
    // A word in an element of such a class is a word: the name of a subject, of a category.
    text.is_some_and(|text| text.contains(['\\', '^', '_', '=', '+', '$', '<', '>', '{', '(']))
        && tree.next(first) == NONE
        && tree.attribute(node, "class").is_some_and(|classes| classes.split_whitespace().any(is_math))
}

/// The formula of such an element, between dollars.
pub(super) fn of_mark(tree: &Tree, node: NodeId) -> String {
    let mut source = collapsed(&shown(tree, node));
    let mut is_display = tree.tag(node) == Tag::Div;
    for (start, end, is_of_block) in
        [("\\(", "\\)", false), ("\\[", "\\]", true), ("$$", "$$", true), ("$", "$", false)]
    {
        let inner = source
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .map(|text| text.trim().to_owned());
        if let Some(inner) = inner {
            (source, is_display) = (inner, is_of_block);
            break;
        }
    }
    between_dollars(&source, is_display)
}

/// A formula with its marks; one that would end them is written as text.
fn between_dollars(source: &str, is_display: bool) -> String {
    let mark = if is_display { "$$" } else { "$" };
    let mut before = ' ';
    let mut ends = source.contains('`') || source.ends_with('\\');
    for character in source.chars() {
        ends |= character == '$' && before != '\\';
        before = if before == '\\' { ' ' } else { character };
    }
    match source {
        "" => String::new(),
        _ if ends => escaped(source),
        // A sign that would begin HTML where formulas are not known.
        _ => format!("{mark}{}{mark}", source.replace('<', "\\lt ")),
    }
}

/// All text in an element.
fn shown(tree: &Tree, node: NodeId) -> String {
    let mut shown = String::new();
    all_text(tree, node, &mut shown);
    shown
}

/// The TeX source within MathML.
fn annotation(tree: &Tree, node: NodeId) -> Option<String> {
    let end = tree.after(node);
    let mut at = tree.first(node);
    while at != NONE && at != end {
        if tree.attribute(at, "encoding") == Some("application/x-tex") {
            return Some(shown(tree, at));
        }
        at = tree.following(at);
    }
    tree.attribute(node, "alttext").map(str::to_owned)
}
