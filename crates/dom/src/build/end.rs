//! End tags.

use super::Builder;
use crate::{NONE, Span, Tag};

/// The end tag of one ends any of them.
const HEADINGS: [Tag; 6] = [Tag::H1, Tag::H2, Tag::H3, Tag::H4, Tag::H5, Tag::H6];

impl Builder {
    /// An end tag.
    pub(super) fn end(&mut self) {
        self.drop_attributes();
        let tag = Tag::of(&self.token.name);
        if self.current().is_foreign {
            self.end_of_foreign(tag);
            return;
        }
        match tag {
            Tag::Html | Tag::Body | Tag::Head => {
                if tag == Tag::Head && self.body == NONE && !self.stack.is_empty() {
                    self.stack.truncate(1);
                }
            }
            Tag::P => {
                if self.stack.in_scope(&[Tag::P], &[Tag::Button]).is_some() {
                    self.close_paragraph();
                } else {
                    self.ensure_body();
                    self.append(self.current().id, Span::default(), Tag::P, false);
                }
            }
            Tag::Br => {
                self.ensure_body();
                self.append(self.current().id, Span::default(), Tag::Br, false);
            }
            Tag::Li => self.close_item(&[Tag::Li]),
            Tag::Dd | Tag::Dt => self.close_item(&[tag]),
            Tag::Td
            | Tag::Th
            | Tag::Tr
            | Tag::Tbody
            | Tag::Thead
            | Tag::Tfoot
            | Tag::Table
            | Tag::Caption => {
                self.end_of_table_part(tag);
            }
            _ if tag.heading().is_some() => {
                if let Some(index) = self.stack.in_scope(&HEADINGS, &[]) {
                    self.close_from(index);
                }
            }
            _ if tag.is_formatting() => {
                if let Some(index) = self.stack.in_scope(&[tag], &[]) {
                    self.close_formatting(index);
                }
            }
            Tag::Other => self.end_of_other(),
            _ => {
                if let Some(index) = self.stack.in_scope(&[tag], &[]) {
                    self.close_from(index);
                }
            }
        }
    }

    /// The end tag of a part of a table.
    pub(super) fn end_of_table_part(&mut self, tag: Tag) {
        if !self.stack.has(tag) {
            return;
        }
        for (index, open) in self.stack.iter().enumerate().rev() {
            if open.tag == tag {
                return self.close_from(index);
            }
            if open.tag == Tag::Table || open.tag == Tag::Template {
                return;
            }
        }
    }

    /// The end tag of an element without a tag of its own: the next one of that name, as far as no block is in between.
    pub(super) fn end_of_other(&mut self) {
        for (index, open) in self.stack.iter().enumerate().rev() {
            if open.tag == Tag::Other {
                // Names of others are not kept: an end tag ends the innermost of them.
                return self.close_from(index);
            }
            if open.tag.is_block() || open.tag.is_scope() {
                return;
            }
        }
    }

    /// An end tag within SVG or MathML.
    pub(super) fn end_of_foreign(&mut self, tag: Tag) {
        for (index, open) in self.stack.iter().enumerate().rev() {
            if !open.is_foreign {
                return;
            }
            if open.tag == tag {
                return self.close_from(index);
            }
        }
    }

    /// Closes a formatting element: with what is in it, unless a block is open in it, which stays open beside it.
    pub(super) fn close_formatting(&mut self, index: usize) {
        if self.stack[index..].iter().any(|open| open.tag.is_block()) {
            self.stack.remove(index);
        } else {
            self.close_from(index);
        }
    }
}
