//! Start tags.

use html5gum::State;

use super::{Builder, Open};
use crate::{NONE, Span, Tag, Tree};

impl Builder {
    /// Closes an open paragraph.
    pub(super) fn close_paragraph(&mut self) {
        if let Some(index) = self.stack.in_scope(&[Tag::P], &[Tag::Button]) {
            self.close_from(index);
        }
    }

    /// Closes an open list item, or a term or its definition.
    pub(super) fn close_item(&mut self, tags: &[Tag]) {
        let ends = [Tag::Ul, Tag::Ol, Tag::Menu, Tag::Dir, Tag::Dl, Tag::Button];
        if let Some(index) = self.stack.in_scope(tags, &ends) {
            self.close_from(index);
        }
    }

    /// Closes what a part of a table closes: cells, rows and sections that are open.
    pub(super) fn close_table_parts(&mut self, tag: Tag) {
        let closes = |open: Tag| match tag {
            Tag::Td | Tag::Th => matches!(open, Tag::Td | Tag::Th | Tag::Caption),
            Tag::Tr => matches!(open, Tag::Td | Tag::Th | Tag::Tr | Tag::Caption),
            _ => matches!(
                open,
                Tag::Td
                    | Tag::Th
                    | Tag::Tr
                    | Tag::Tbody
                    | Tag::Thead
                    | Tag::Tfoot
                    | Tag::Caption
                    | Tag::Colgroup
            ),
        };
        let Some(table) = self.stack.innermost(&[Tag::Table, Tag::Template]) else { return };
        let inside = |index: usize| self.stack.get(index).map(|open| open.tag);
        if let Some(index) = (table..self.stack.len()).find(|index| inside(*index).is_some_and(&closes)) {
            self.close_from(index);
        } else {
            // What is open in the table itself does not belong there.
            let parts =
                (table..self.stack.len()).take_while(|index| inside(*index).is_some_and(Tag::is_table_part));
            self.close_from(table + parts.count().max(1));
        }
    }

    /// Opens the sections and rows of a table that were left out.
    pub(super) fn open_table_parts(&mut self, tag: Tag) {
        let needs_row = matches!(tag, Tag::Td | Tag::Th);
        if (needs_row || tag == Tag::Tr) && self.current().tag == Tag::Table {
            self.push_implied(Tag::Tbody);
        }
        if needs_row && matches!(self.current().tag, Tag::Tbody | Tag::Thead | Tag::Tfoot) {
            self.push_implied(Tag::Tr);
        }
    }

    /// Opens an element without a tag in the current one.
    pub(super) fn push_implied(&mut self, tag: Tag) {
        if let Some(id) = self.append(self.current().id, Span::default(), tag, false) {
            self.stack.push(Open { id, tag, is_foreign: false });
        }
    }

    /// A start tag; gives the state of the tokenizer that it begins.
    pub(super) fn start(&mut self) -> Option<State> {
        let tag = match Tag::of(&self.token.name) {
            Tag::Image => Tag::Img,
            tag => tag,
        };
        if self.current().is_foreign && (tag.breaks_out() || (tag == Tag::Font && self.has_attributes())) {
            let root = self.stack.foreign_root();
            self.close_from(root);
        }
        if self.current().is_foreign {
            self.insert(tag, true);
            return None;
        }
        match tag {
            Tag::Html | Tag::Head | Tag::Body => {
                self.start_of_page(tag);
                return None;
            }
            Tag::Frameset | Tag::Frame => {}
            _ if tag.is_of_head() && self.body == NONE => self.open_implied(Tag::Head),
            _ => self.ensure_body(),
        }
        if self.is_of_table(tag) {
            self.close_table_parts(tag);
            self.open_table_parts(tag);
            self.insert(tag, false);
            return None;
        }
        match tag {
            // Parts of a table without one have no meaning, as in browsers.
            _ if tag.needs_table() && !self.stack.has(Tag::Template) => {
                self.drop_attributes();
                return None;
            }
            Tag::Li => self.close_item(&[Tag::Li]),
            Tag::Dd | Tag::Dt => self.close_item(&[Tag::Dd, Tag::Dt]),
            Tag::Option | Tag::Optgroup => {
                if self.current().tag == Tag::Option {
                    self.stack.pop();
                }
                if tag == Tag::Optgroup && self.current().tag == Tag::Optgroup {
                    self.stack.pop();
                }
            }
            Tag::Rb | Tag::Rt | Tag::Rp if matches!(self.current().tag, Tag::Rt | Tag::Rp) => {
                self.stack.pop();
            }
            Tag::Input | Tag::Textarea | Tag::Select => {
                if let Some(index) = self.stack.in_scope(&[Tag::Select], &[]) {
                    self.close_from(index);
                    if tag == Tag::Select {
                        self.drop_attributes();
                        return None;
                    }
                }
            }
            Tag::A | Tag::Nobr | Tag::Button => {
                if let Some(index) = self.stack.in_scope(&[tag], &[]) {
                    self.close_formatting(index);
                }
            }
            _ if tag.heading().is_some() && self.current().tag.heading().is_some() => {
                self.close_paragraph();
                self.stack.pop();
            }
            _ => {}
        }
        if tag.closes_paragraph() {
            self.close_paragraph();
        }
        self.insert(tag, matches!(tag, Tag::Svg | Tag::Math));
        match tag {
            _ if self.ends_with_its_tag() => None,
            Tag::Textarea | Tag::Title => Some(State::RcData),
            Tag::Script => Some(State::ScriptData),
            Tag::Style | Tag::Xmp | Tag::Iframe | Tag::Noembed | Tag::Noframes => Some(State::RawText),
            Tag::Plaintext => Some(State::PlainText),
            _ => None,
        }
    }

    /// The start of `html`, `head` or `body`: the first one opens it, attributes of later ones are added to it if it has none.
    pub(super) fn start_of_page(&mut self, tag: Tag) {
        let before = match tag {
            Tag::Html => self.stack.first().map_or(NONE, |open| open.id),
            Tag::Head => self.head,
            _ => self.body,
        };
        if before == NONE {
            match tag {
                Tag::Html => {
                    if let Some(id) = self.append(Tree::ROOT, Span::default(), Tag::Html, false) {
                        self.stack.push(Open { id, tag, is_foreign: false });
                    }
                }
                tag => self.open_implied(tag),
            }
        }
        let id = match tag {
            Tag::Html => self.stack.first().map_or(NONE, |open| open.id),
            Tag::Head => self.head,
            _ => self.body,
        };
        let span = self.attributes();
        if id != NONE && self.tree.nodes[id as usize].span.length == 0 {
            self.tree.nodes[id as usize].span = span;
        }
    }

    /// Whether a start tag is a part of the table that is open.
    pub(super) fn is_of_table(&self, tag: Tag) -> bool {
        tag.needs_table() && self.stack.innermost(&[Tag::Table]) > self.stack.innermost(&[Tag::Template])
    }

    /// Whether the element of the current token has no content, as its tag says.
    fn ends_with_its_tag(&self) -> bool {
        self.limits.is_xml && self.token.is_self_closing
    }

    /// Inserts an element, and opens it if it has content.
    pub(super) fn insert(&mut self, tag: Tag, is_foreign: bool) {
        let span = self.attributes();
        let current = self.current();
        let is_row = tag.is_table_part() && tag != Tag::Table;
        let belongs = is_row
            || matches!(
                tag,
                Tag::Td
                    | Tag::Th
                    | Tag::Caption
                    | Tag::Col
                    | Tag::Colgroup
                    | Tag::Script
                    | Tag::Style
                    | Tag::Template
                    | Tag::Form
                    | Tag::Input
            );
        let is_misplaced = current.tag.is_table_part() && !current.is_foreign && !belongs;
        let id = match is_misplaced {
            true => self.append_before_table(span, tag, false),
            false => self.append(current.id, span, tag, false),
        };
        let Some(id) = id else { return };
        let is_closed =
            if is_foreign { self.token.is_self_closing } else { tag.is_void() || self.ends_with_its_tag() };
        // What is text whatever it looks like is not the text of the element around it. In SVG and MathML nothing is.
        let is_apart = if is_foreign { !current.is_foreign } else { tag.is_raw() };
        if !is_closed && (self.stack.len() < self.limits.depth || is_apart) {
            self.stack.push(Open { id, tag, is_foreign });
        }
    }
}
