//! A page, or the part of it that was chosen, as Markdown (CommonMark, with the tables of GFM and formulas between dollars).
//!
//! Guarantees: each text that is kept is in the Markdown once; nothing in a text is taken for markup; what a page nests deeper than
//! [`DEPTH`] is flat.

mod inline;
mod table;

use lycosa_dom::{NONE, NodeId, Tag, Tree};
use lycosa_url::{Base, CrawlUrl};

use crate::blocks::{Blocks, is_invisible, is_left_out};
use inline::Inline;

/// Elements within each other that are followed.
const DEPTH: usize = 200;

/// Bytes before each line: quotes and lists that are nested deeper are flat.
const PREFIX: usize = 80;

/// What is written besides text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether links have their targets; otherwise their texts alone are written.
    pub links: bool,
    /// Whether images are written.
    pub images: bool,
}

/// Returns the Markdown of some blocks of a page. `is_chosen`: of each block. `url`: the page's own, against which addresses are
/// resolved; or empty: they stay as they are.
pub fn markdown(tree: &Tree, blocks: &Blocks, is_chosen: &[bool], options: Options, url: &str) -> String {
    let kept = Kept { base: base_of(tree, url), ..Kept::of(tree, blocks, is_chosen) };
    let mut writer =
        Writer { tree, kept: &kept, options, out: String::new(), prefix: String::new(), is_open: false };
    writer.children(Tree::ROOT, 0);
    let length = writer.out.trim_end().len();
    writer.out.truncate(length);
    if length > 0 {
        writer.out.push('\n');
    }
    writer.out
}

/// A line of text as a paragraph, without its line break.
pub(crate) fn paragraph(line: &str) -> String {
    inline::escaped(line)
}

/// The nodes that are kept: texts of chosen blocks, all elements around them, and lines beside these.
pub(crate) struct Kept {
    kept: Vec<bool>,
    /// Elements with a block in them.
    divided: Vec<bool>,
    /// What addresses are resolved against.
    base: Option<Base<'static>>,
}

impl Kept {
    /// Of some blocks.
    fn of(tree: &Tree, blocks: &Blocks, is_chosen: &[bool]) -> Self {
        let mut kept = vec![false; tree.len()];
        for (block, _) in blocks.all.iter().zip(is_chosen).filter(|(_, is_chosen)| **is_chosen) {
            let (mut node, last) = block.nodes;
            loop {
                if tree.text(node).is_some() {
                    keep(tree, node, &mut kept);
                }
                if node == last {
                    break;
                }
                // As the division into blocks has not gone into them.
                let is_skipped = tree.text(node).is_none()
                    && (is_left_out(tree, node) || (!tree.tag(node).is_block() && is_invisible(tree, node)));
                node = if is_skipped { tree.after(node) } else { tree.following(node) };
                if node == NONE {
                    break;
                }
            }
        }
        keep_between(tree, blocks, is_chosen, &mut kept);
        let mut divided = vec![false; tree.len()];
        for node in 1..tree.len() as NodeId {
            let (tag, mut up) = (tree.tag(node), tree.parent(node));
            if tag == Tag::Hr {
                kept[node as usize] = kept[up as usize];
            }
            if kept[node as usize] && (tag.is_block() || tag == Tag::Hr) {
                while up != NONE && !std::mem::replace(&mut divided[up as usize], true) {
                    up = tree.parent(up);
                }
            }
        }
        Kept { kept, divided, base: None }
    }

    /// Whether a node, or something in it, is kept.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.kept[node as usize]
    }

    /// An address as it is from elsewhere.
    pub(crate) fn resolved(&self, target: String) -> String {
        // A URL that is fetched has no fragment; an address that is read has.
        let (page, fragment) = target.find('#').map_or((&*target, ""), |at| target.split_at(at));
        let joined =
            self.base.as_ref().filter(|_| !page.is_empty()).and_then(|base| base.join_as_given(page).ok());
        match joined {
            Some(url) => format!("{}{fragment}", url.as_str()),
            None => target,
        }
    }

    /// Whether a node has blocks in it.
    fn is_divided(&self, node: NodeId) -> bool {
        self.divided[node as usize]
    }
}

/// What addresses of a page are resolved against; `None`: its own is not known.
fn base_of(tree: &Tree, url: &str) -> Option<Base<'static>> {
    let mut base = Base::new(&CrawlUrl::parse(url).ok()?).ok()?;
    let mut node = tree.first(Tree::ROOT);
    while node != NONE {
        if tree.tag(node) == Tag::Base
            && let Some(reference) = tree.attribute(node, "href")
        {
            // One that is none changes nothing.
            let _ = base.set(reference);
            break;
        }
        node = tree.following(node);
    }
    Some(base)
}

/// Keeps a node, and all elements around it.
fn keep(tree: &Tree, node: NodeId, kept: &mut [bool]) {
    let mut up = node;
    while up != NONE && !std::mem::replace(&mut kept[up as usize], true) {
        up = tree.parent(up);
    }
}

/// Keeps images and formulas in chosen blocks, and those between two of them: they may have an element without text of their own.
fn keep_between(tree: &Tree, blocks: &Blocks, is_chosen: &[bool], kept: &mut [bool]) {
    // Nodes are numbered in the order of the page, but for what was moved out of tables.
    let mut next = 0;
    for node in 1..tree.len() as NodeId {
        while blocks.all.get(next).is_some_and(|block| block.nodes.1 < node) {
            next += 1;
        }
        if !matches!(tree.tag(node), Tag::Img | Tag::Math) {
            continue;
        }
        let is_at = |block: usize| is_chosen.get(block).copied().unwrap_or(false);
        let is_inside = blocks.all.get(next).is_some_and(|block| block.nodes.0 < node);
        let before = next.checked_sub(1);
        let is_between = before.is_some_and(is_at) && is_at(next);
        let is_beside = || {
            let chosen = [before, Some(next)].into_iter().flatten().filter(|block| is_at(*block));
            let mut chosen = chosen.filter_map(|block| blocks.all.get(block));
            chosen.any(|block| is_in(tree, node, blocks.containers[block.container as usize].node))
        };
        if (is_inside && is_at(next)) || (!is_inside && (is_between || is_beside())) {
            keep(tree, node, kept);
        }
    }
}

/// Whether a node is in an element, or in one of the next elements in it.
fn is_in(tree: &Tree, node: NodeId, element: NodeId) -> bool {
    let mut up = node;
    (0..NEAR).any(|_| {
        up = if up == NONE { NONE } else { tree.parent(up) };
        up == element && up != NONE
    })
}

/// How far within the element of a text an image may be that belongs to it.
const NEAR: usize = 6;

/// Writes blocks.
struct Writer<'a> {
    tree: &'a Tree,
    kept: &'a Kept,
    options: Options,
    out: String,
    /// What each line begins with: quotes, and the indentation of lists.
    prefix: String,
    /// Whether the last thing was a block, so that an empty line comes before the next one.
    is_open: bool,
}

impl<'a> Writer<'a> {
    /// Writes what is in an element: its inline parts as paragraphs.
    fn children(&mut self, node: NodeId, depth: usize) {
        let mut inline = Inline::new(self.tree, self.kept, self.options);
        for child in self.tree.children(node) {
            if self.is_block(child) && depth < DEPTH {
                self.paragraph(&mut inline);
                self.block(child, depth + 1);
            } else {
                inline.add(child);
            }
        }
        self.paragraph(&mut inline);
    }

    /// Whether something is a block, or has one in it.
    fn is_block(&self, node: NodeId) -> bool {
        let tag = self.tree.tag(node);
        self.kept.has(node) && (tag.is_block() || tag == Tag::Hr || self.kept.is_divided(node))
    }

    /// Writes a block.
    fn block(&mut self, node: NodeId, depth: usize) {
        let tag = self.tree.tag(node);
        if let Some(level) = tag.heading() {
            let text = Inline::of(self.tree, self.kept, self.options, node).one_line();
            if !text.is_empty() {
                // Signs at the end would be taken for the closing ones.
                let text = match text.strip_suffix('#') {
                    Some(before) => format!("{before}\\#"),
                    None => text,
                };
                self.lines(&format!("{} {text}", "#".repeat(level.into())));
            }
            return;
        }
        if self.kept.has(node) && inline::is_marked_formula(self.tree, node) {
            self.lines(&inline::marked_formula(self.tree, node));
            return;
        }
        match tag {
            Tag::Hr if self.out.is_empty() => {}
            Tag::Hr => self.lines("---"),
            Tag::Pre | Tag::Listing | Tag::Xmp => self.code(node),
            Tag::Blockquote => self.within("> ", |writer| writer.children(node, depth)),
            Tag::Ul | Tag::Menu | Tag::Dir | Tag::Ol => self.list(node, depth),
            Tag::Dl => self.definitions(node, depth),
            Tag::Table => self.table(node, depth),
            _ => self.children(node, depth),
        }
    }

    /// Writes inline text as a paragraph, if there is some.
    fn paragraph(&mut self, inline: &mut Inline<'a>) {
        let text = std::mem::replace(inline, Inline::new(self.tree, self.kept, self.options)).text();
        if !text.is_empty() {
            self.lines(&text);
        }
    }

    /// Writes lines as a block.
    fn lines(&mut self, text: &str) {
        self.separate();
        for line in text.lines() {
            self.line(line);
        }
        self.is_open = true;
    }

    /// An empty line before the next block.
    fn separate(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let prefix = self.prefix.trim_end().to_owned();
            self.out.push_str(&prefix);
            self.out.push('\n');
        }
    }

    /// One line. The first one of a list's item has its marker already.
    fn line(&mut self, line: &str) {
        if self.out.is_empty() || self.out.ends_with('\n') {
            self.out.push_str(&self.prefix);
        }
        self.out.push_str(line);
        let length = self.out.trim_end_matches(' ').len();
        self.out.truncate(length);
        self.out.push('\n');
    }

    /// Does something with a longer prefix.
    fn within(&mut self, more: &str, work: impl FnOnce(&mut Self)) {
        self.separate();
        let length = self.prefix.len();
        if length < PREFIX {
            self.prefix.push_str(more);
            // Behind the marker of an item its line has begun.
            if !self.out.is_empty() && !self.out.ends_with('\n') {
                self.out.push_str(more);
            }
        }
        work(self);
        self.prefix.truncate(length);
    }

    /// A list: its items, and what is beside them.
    fn list(&mut self, node: NodeId, depth: usize) {
        let is_ordered = self.tree.tag(node) == Tag::Ol;
        let given = self.tree.attribute(node, "start").and_then(|start| start.trim().parse().ok());
        let mut number: u32 = given.filter(|start| *start < 1_000_000).unwrap_or(1);
        let items: Vec<_> = self.tree.children(node).filter(|child| self.kept.has(*child)).collect();
        let is_tight = !items.iter().any(|item| self.has_paragraphs(*item));
        self.separate();
        for item in items {
            if self.tree.tag(item) != Tag::Li {
                self.is_open = false;
                self.item("", item, depth);
                continue;
            }
            let marker = if is_ordered { format!("{number}. ") } else { "- ".to_owned() };
            number += 1;
            if is_tight {
                self.is_open = false;
            }
            self.item(&marker, item, depth);
        }
        self.is_open = true;
    }

    /// Whether an item of a list has several blocks, other than a list at its end.
    fn has_paragraphs(&self, item: NodeId) -> bool {
        let blocks = self.tree.children(item).filter(|child| self.is_block(*child));
        blocks.filter(|child| !matches!(self.tree.tag(*child), Tag::Ul | Tag::Ol | Tag::Menu)).count() > 1
    }

    /// An item of a list.
    fn item(&mut self, marker: &str, item: NodeId, depth: usize) {
        self.separate();
        if !marker.is_empty() {
            // A list that begins an item of another one is on the line of its marker.
            if self.out.is_empty() || self.out.ends_with('\n') {
                self.out.push_str(&self.prefix);
            }
            self.out.push_str(marker);
        }
        let (length, before) = (self.prefix.len(), self.out.len());
        if length < PREFIX {
            self.prefix.push_str(&" ".repeat(marker.len().max(if marker.is_empty() { 2 } else { 0 })));
        }
        if !self.is_block(item) {
            // Text of a list that is in no item.
            let mut inline = Inline::new(self.tree, self.kept, self.options);
            inline.add(item);
            self.paragraph(&mut inline);
        } else if !matches!(self.tree.tag(item), Tag::Li | Tag::Dd) {
            self.block(item, depth + 1);
        } else {
            self.item_children(item, depth + 1);
        }
        self.prefix.truncate(length);
        if self.out.len() == before && !marker.is_empty() {
            self.out.push('\n');
        }
    }

    /// What is in an item: a list in it follows its text without an empty line.
    fn item_children(&mut self, item: NodeId, depth: usize) {
        let mut inline = Inline::new(self.tree, self.kept, self.options);
        for child in self.tree.children(item) {
            if !self.is_block(child) || depth >= DEPTH {
                inline.add(child);
                continue;
            }
            self.paragraph(&mut inline);
            if matches!(self.tree.tag(child), Tag::Ul | Tag::Ol | Tag::Menu) {
                self.is_open = false;
            }
            self.block(child, depth + 1);
        }
        self.paragraph(&mut inline);
    }

    /// Terms in bold, each with its definitions.
    fn definitions(&mut self, node: NodeId, depth: usize) {
        for child in self.tree.children(node).filter(|child| self.kept.has(*child)) {
            match self.tree.tag(child) {
                Tag::Dt => {
                    let term = Inline::of(self.tree, self.kept, self.options, child).one_line();
                    if !term.is_empty() {
                        self.lines(&format!("**{term}**"));
                    }
                }
                Tag::Div => self.definitions(child, depth + 1),
                _ => {
                    self.is_open = false;
                    self.item(": ", child, depth);
                    self.is_open = true;
                }
            }
        }
    }

    /// Code between fences, with its language.
    fn code(&mut self, node: NodeId) {
        let mut code = String::new();
        lines_of_code(self.tree, node, &mut code);
        let code = code.strip_prefix('\n').unwrap_or(&code).trim_end();
        if code.is_empty() {
            return;
        }
        let longest = longest_run(code, '`');
        let fence = "`".repeat((longest + 1).max(3));
        let language = language_of(self.tree, node);
        self.lines(&format!("{fence}{language}\n{code}\n{fence}"));
    }

    /// A table; one that is there for the layout is written as blocks.
    fn table(&mut self, node: NodeId, depth: usize) {
        match table::grid(self.tree, self.kept, self.options, node) {
            Some(text) => self.lines(&text),
            None => {
                for cell in table::cells(self.tree, node).into_iter().filter(|cell| self.kept.has(*cell)) {
                    self.children(cell, depth);
                }
            }
        }
    }
}

/// Appends all text in a node as it is.
pub(crate) fn all_text(tree: &Tree, node: NodeId, into: &mut String) {
    let end = tree.after(node);
    let mut at = node;
    while at != NONE && at != end {
        match tree.text(at) {
            Some(text) => into.push_str(text),
            None if tree.tag(at) == Tag::Br => into.push('\n'),
            None => {}
        }
        at = tree.following(at);
    }
}

/// Appends the text of code: elements that are lines of it have line breaks.
fn lines_of_code(tree: &Tree, node: NodeId, into: &mut String) {
    let (mut at, end) = (tree.first(node), tree.after(node));
    let mut line_ends = Vec::new();
    while at != NONE && at != end {
        if line_ends.last() == Some(&at) {
            line_ends.retain(|line_end| *line_end != at);
            end_line(into);
        }
        match tree.text(at) {
            Some(text) => into.push_str(text),
            None if tree.tag(at) == Tag::Br => into.push('\n'),
            None if tree.tag(at).is_block() => {
                end_line(into);
                line_ends.push(tree.after(at));
            }
            None => {}
        }
        at = tree.following(at);
    }
}

/// Ends a line, if one has begun.
fn end_line(code: &mut String) {
    if !code.is_empty() && !code.ends_with('\n') {
        code.push('\n');
    }
}

/// The longest run of a character.
pub(crate) fn longest_run(text: &str, character: char) -> usize {
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

/// The language that an element's attributes name.
fn named_in(tree: &Tree, node: NodeId) -> Option<&str> {
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.len() <= 20
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte))
    };
    let given = ["data-lang", "data-language"].into_iter().find_map(|name| tree.attribute(node, name));
    let classes = tree.attribute(node, "class").unwrap_or_default();
    let is_highlighter = |class: &str| matches!(class, "sourceCode" | "brush:" | "highlight" | "code");
    let mut before = "";
    let of_class = classes.split_ascii_whitespace().find_map(|class| {
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
    given.or(of_class).map(|name| name.trim_end_matches(';')).filter(is_name)
}

#[cfg(test)]
mod tests;
