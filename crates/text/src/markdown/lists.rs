//! Lists and definitions.

use lycosa_dom::{NodeId, Tag};

use super::inline::Inline;
use super::{DEPTH, PREFIX, Writer};

impl Writer<'_> {
    /// A list: its items, and what is beside them.
    pub(super) fn list(&mut self, node: NodeId, depth: usize) {
        let is_ordered = self.tree.tag(node) == Tag::Ol;
        let given = self.tree.attribute(node, "start").and_then(|start| start.trim().parse().ok());
        let mut number: u32 = given.filter(|start| *start < 1_000_000).unwrap_or(1);
        let items: Vec<_> = self.tree.children(node).filter(|child| self.kept.has(*child)).collect();
        // A list that follows another one of its kind would be one with it.
        let is_other = self.last_list == Some((self.written(), is_ordered, false));
        let is_tight = !items.iter().any(|item| self.has_paragraphs(*item));
        self.separate();
        for item in items {
            if self.tree.tag(item) != Tag::Li {
                self.is_open = false;
                self.item("", item, depth);
                continue;
            }
            let value = self.tree.attribute(item, "value").and_then(|value| value.trim().parse().ok());
            number = value.filter(|value| *value < 1_000_000).unwrap_or(number);
            let marker = match (is_ordered, is_other) {
                (true, false) => format!("{number}. "),
                (true, true) => format!("{number}) "),
                (false, false) => "- ".to_owned(),
                (false, true) => "* ".to_owned(),
            };
            number += 1;
            if is_tight {
                self.is_open = false;
            }
            self.item(&marker, item, depth);
        }
        self.is_open = true;
        self.last_list = Some((self.written(), is_ordered, is_other));
    }

    /// Bytes of Markdown but for the space at their end.
    fn written(&self) -> usize {
        self.out.trim_end().len()
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
    pub(super) fn definitions(&mut self, node: NodeId, depth: usize) {
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
}
