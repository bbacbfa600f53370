//! Code between fences, with its language.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::Writer;
use crate::blocks::{UNSEEN, is_invisible, is_left_out};

impl Writer<'_> {
    /// Code between fences, with its language.
    pub(super) fn code(&mut self, node: NodeId) {
        let above = std::iter::successors(Some(node), |node| Some(self.tree.parent(*node)));
        if above.take_while(|node| *node != NONE).take(AROUND).any(|node| is_gutter(self.tree, node)) {
            return;
        }
        let mut code = String::new();
        lines_of_code(self.tree, node, &mut code);
        // A carriage return would end the line, and with it a quote or a list around the code.
        let code = code.replace("\r\n", "\n").replace('\r', "\n");
        let code = code.strip_prefix('\n').unwrap_or(&code).trim_end();
        if code.is_empty() {
            return;
        }
        let longest = longest_run(code, '`');
        let fence = "`".repeat((longest + 1).max(3));
        let language = language_of(self.tree, node);
        self.lines(&format!("{fence}{language}\n{code}\n{fence}"));
    }
}

/// Appends all text in a node as it is, but for what nobody sees.
pub(super) fn all_text(tree: &Tree, node: NodeId, into: &mut String) {
    let end = tree.after(node);
    let mut at = tree.first(node);
    while at != NONE && at != end {
        match tree.text(at) {
            Some(text) => push(text, into),
            None if tree.tag(at) == Tag::Br => into.push('\n'),
            None => {}
        }
        at = next(tree, at);
    }
}

/// The node to look at after one: what is in it, but for what is no text of the page.
fn next(tree: &Tree, node: NodeId) -> NodeId {
    let is_unseen = tree.text(node).is_none()
        && (is_left_out(tree, node) || is_invisible(tree, node) || is_gutter(tree, node));
    if is_unseen { tree.after(node) } else { tree.following(node) }
}

/// Whether an element has the numbers of the lines of code.
fn is_gutter(tree: &Tree, node: NodeId) -> bool {
    const NAMES: [&str; 8] = [
        "gutter",
        "linenos",
        "lineno",
        "linenodiv",
        "line-numbers-rows",
        "line-number",
        "blob-num",
        "hljs-ln-numbers",
    ];
    classes_of(tree, node).any(|class| NAMES.contains(&class))
}

/// The classes of an element, of many the first ones: an element around many codes is asked for each of them.
fn classes_of(tree: &Tree, node: NodeId) -> impl Iterator<Item = &str> {
    let classes = tree.attribute(node, "class").unwrap_or_default();
    classes.get(..CLASSES.min(classes.len())).unwrap_or_default().split_ascii_whitespace()
}

/// Appends a text without the characters that no browser shows.
fn push(text: &str, into: &mut String) {
    if text.contains(UNSEEN) {
        into.extend(text.chars().filter(|character| !UNSEEN.contains(character)));
    } else {
        into.push_str(text);
    }
}

/// Appends the text of code: elements that are lines of it have line breaks.
fn lines_of_code(tree: &Tree, node: NodeId, into: &mut String) {
    let (mut at, end) = (tree.first(node), tree.after(node));
    let mut line_ends = Vec::new();
    while at != NONE && at != end {
        while line_ends.last() == Some(&at) {
            line_ends.pop();
            end_line(into);
        }
        match tree.text(at) {
            Some(text) => push(text, into),
            None if tree.tag(at) == Tag::Br => into.push('\n'),
            None if tree.tag(at).is_block() => {
                end_line(into);
                line_ends.push(tree.after(at));
            }
            None => {}
        }
        at = next(tree, at);
    }
}

/// Ends a line, if one has begun.
fn end_line(code: &mut String) {
    if !code.is_empty() && !code.ends_with('\n') {
        code.push('\n');
    }
}

/// The longest run of a character.
pub(super) fn longest_run(text: &str, character: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for other in text.chars() {
        run = if other == character { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The language of code, by the classes that highlighters give: of the element, of what is in it, or of what is around it.
fn language_of(tree: &Tree, node: NodeId) -> &str {
    let inner = tree.children(node).find(|child| tree.tag(*child) == Tag::Code);
    let outer = Some(tree.parent(node)).filter(|parent| *parent != NONE);
    let outer_2 = outer.map(|outer| tree.parent(outer)).filter(|parent| *parent != NONE);
    [Some(node), inner, outer, outer_2]
        .into_iter()
        .flatten()
        .find_map(|node| named_in(tree, node))
        .unwrap_or("")
}

/// Elements around code that may say that it is a column of numbers.
const AROUND: usize = 4;

/// Bytes of an element's classes that are looked at.
const CLASSES: usize = 512;

/// The language that an element's attributes name.
fn named_in(tree: &Tree, node: NodeId) -> Option<&str> {
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.len() <= 20
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte))
    };
    let given = ["data-lang", "data-language"].into_iter().find_map(|name| tree.attribute(node, name));
    let is_highlighter = |class: &str| matches!(class, "sourceCode" | "brush:" | "highlight" | "code");
    let mut before = "";
    let of_class = classes_of(tree, node).find_map(|class| {
        let prefixes = [
            "language-",
            "lang-",
            "highlight-source-",
            "mw-highlight-lang-",
            "brush:",
            "sourceCode-",
            "highlight-",
        ];
        let named = prefixes
            .into_iter()
            .find_map(|prefix| class.strip_prefix(prefix))
            .filter(|name| !name.is_empty());
        // Pandoc writes `sourceCode python`, SyntaxHighlighter `brush: js`.
        let follows = matches!(before, "sourceCode" | "brush:") && !is_highlighter(class);
        before = class;
        named.or_else(|| follows.then_some(class))
    });
    let name = given.or(of_class).map(|name| name.trim_end_matches(';')).filter(is_name);
    // Sphinx and others name one where the author has not.
    name.filter(|name| !matches!(*name, "default" | "none" | "auto"))
}
