//! End tags.

use super::Builder;
use crate::{NONE, NodeId, Span, Tag};

/// The end tag of one ends any of them.
const HEADINGS: [Tag; 6] = [Tag::H1, Tag::H2, Tag::H3, Tag::H4, Tag::H5, Tag::H6];

/// Elements that stay open in one that ends before them, at most: each end tag costs so much. Browsers keep fewer of them.
const INNER: usize = 32;

impl Builder {
    /// An end tag.
    pub(super) fn end(&mut self) {
        self.drop_attributes();
        let tag = Tag::of(&self.token.name);
        // In SVG and MathML first of these, otherwise of what is around them.
        if self.current().is_foreign
            && let Some(index) = self.stack.foreign(tag)
        {
            return self.close_from(index);
        }
        match tag {
            Tag::Html | Tag::Body | Tag::Head => {
                if tag == Tag::Head && self.body == NONE && self.stack.len() > 0 {
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
            _ if tag.is_phrase() => {
                // Names of others are not kept: an end tag ends the innermost of them.
                if let Some(index) = self.stack.beside_blocks(tag) {
                    self.close_from(index);
                }
            }
            Tag::Template => {
                if let Some(index) = self.stack.innermost(&[tag]) {
                    self.close_from(index);
                }
            }
            Tag::Form => {
                if let Some(index) = self.stack.in_scope(&[tag], &[]) {
                    self.close_formatting(index);
                }
            }
            _ => {
                if let Some(index) = self.stack.in_scope(&[tag], &[]) {
                    self.close_from(index);
                }
            }
        }
    }

    /// The end tag of a part of a table: of the innermost table.
    pub(super) fn end_of_table_part(&mut self, tag: Tag) {
        let (part, table) =
            (self.stack.innermost(&[tag]), self.stack.innermost(&[Tag::Table, Tag::Template]));
        if let Some(index) = part.filter(|part| table.is_none_or(|table| *part >= table)) {
            self.close_from(index);
        }
    }

    /// Closes a formatting element: with what is in it, unless a block is open in it, which stays open beside it.
    pub(super) fn close_formatting(&mut self, index: usize) {
        let inner = self.stack.len() - index - 1;
        let Some(open) = self.stack.get(index).filter(|_| self.stack.has_block_in(index) && inner <= INNER)
        else {
            return self.close_from(index);
        };
        self.stack.remove(index);
        self.tree.ended.push((open.id, self.tree.nodes.len() as NodeId));
    }
}
