//! A page, or the part of it that was chosen, as Markdown (CommonMark, with the tables of GFM and formulas between dollars).
//!
//! Guarantees: each text that is kept is in the Markdown once; nothing in a text is taken for markup; what a page nests deeper than
//! [`DEPTH`] is flat.

mod code;
mod escape;
mod formula;
mod inline;
mod kept;
mod lists;
mod table;

use lycosa_dom::{NodeId, Tag, Tree};

use crate::blocks::Blocks;
use inline::Inline;
use kept::Kept;

/// Elements within each other that are followed.
const DEPTH: usize = 200;

/// Bytes before each line: quotes and lists that are nested deeper are flat.
const PREFIX: usize = 32;

/// Bytes before all lines, beside as many as these have: what is quoted or indented beyond that is flat.
const PREFIXES: usize = 4 << 10;

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
    let kept = Kept::of(tree, blocks, is_chosen, url);
    let mut writer = Writer {
        tree,
        kept: &kept,
        options,
        out: String::new(),
        prefix: String::new(),
        prefixes: PREFIXES,
        is_open: false,
        link: None,
        last_list: None,
    };
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
    escape::escaped(line)
}

/// Writes blocks.
struct Writer<'a> {
    tree: &'a Tree,
    kept: &'a Kept,
    options: Options,
    out: String,
    /// What each line begins with: quotes, and the indentation of lists.
    prefix: String,
    /// How many bytes lines may still begin with.
    prefixes: usize,
    /// Whether the last thing was a block, so that an empty line comes before the next one.
    is_open: bool,
    /// Where the link leads that is around the blocks, as Markdown has it, and the first node that it is not around.
    link: Option<(String, NodeId)>,
    /// Bytes at the end of the last list, whether it has numbers, and whether it has the other marks of its kind.
    last_list: Option<(usize, bool, bool)>,
}

impl<'a> Writer<'a> {
    /// Writes what is in an element: its inline parts as paragraphs.
    fn children(&mut self, node: NodeId, depth: usize) {
        let mut inline = Inline::new(self.tree, self.kept, self.options);
        for child in self.tree.children(node) {
            if self.is_behind_link(child) {
                self.paragraph(&mut inline);
                self.link = None;
            }
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

    /// Whether the link around the blocks has ended before a node.
    fn is_behind_link(&self, node: NodeId) -> bool {
        self.link.as_ref().is_some_and(|(_, end)| node >= *end)
    }

    /// Writes a block.
    fn block(&mut self, node: NodeId, depth: usize) {
        let tag = self.tree.tag(node);
        if self.is_behind_link(node) {
            self.link = None;
        }
        if let Some(level) = tag.heading() {
            let text = Inline::of(self.tree, self.kept, self.options, node).one_line();
            if !text.is_empty() {
                // Signs at the end would be taken for the closing ones.
                let text = match text.strip_suffix('#') {
                    Some(before) => format!("{before}\\#"),
                    None => text,
                };
                let text = self.linked(text);
                self.lines(&format!("{} {text}", "#".repeat(level.into())));
            }
            return;
        }
        if self.kept.has(node) && formula::is_marked(self.tree, node) {
            self.lines(&formula::of_mark(self.tree, node));
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
            Tag::A if self.options.links && self.link.is_none() => {
                let target = inline::target(self.tree, self.kept, node);
                self.link = target.map(|target| (target, self.tree.end(node)));
                self.children(node, depth);
                self.link = None;
            }
            _ => self.children(node, depth),
        }
    }

    /// Writes inline text as a paragraph, if there is some.
    fn paragraph(&mut self, inline: &mut Inline<'a>) {
        let text = std::mem::replace(inline, Inline::new(self.tree, self.kept, self.options)).text();
        if !text.is_empty() {
            let text = self.linked(text);
            self.lines(&text);
        }
    }

    /// A text in the link that is around it. One of several lines, or with links, has no place for it.
    fn linked(&self, text: String) -> String {
        match &self.link {
            Some((target, _)) if !text.contains('\n') && !text.contains("](") => {
                format!("[{text}]({target})")
            }
            _ => text,
        }
    }

    /// Writes lines as a block.
    fn lines(&mut self, text: &str) {
        // Short lines within many quotes would make much of little.
        self.prefixes += text.len();
        let cost = self.prefix.len() * (text.lines().count() + 1);
        match self.prefixes.checked_sub(cost) {
            Some(left) => {
                self.prefixes = left;
                self.write_lines(text);
            }
            None => {
                let prefix = std::mem::take(&mut self.prefix);
                self.write_lines(text);
                self.prefix = prefix;
            }
        }
    }

    /// The same, whatever they cost.
    fn write_lines(&mut self, text: &str) {
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

    /// A table; one that is there for the layout is written as blocks.
    fn table(&mut self, node: NodeId, depth: usize) {
        let captions = self.tree.children(node).filter(|child| self.tree.tag(*child) == Tag::Caption);
        for caption in captions.filter(|caption| self.kept.has(*caption)) {
            self.children(caption, depth);
        }
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

#[cfg(test)]
mod tests;
