//! What the tokenizer tells.

use html5gum::{Emitter, Error, State};

use super::Builder;
use crate::Tree;

impl Emitter for Builder {
    type Token = Tree;

    fn set_last_start_tag(&mut self, last: Option<&[u8]>) {
        self.last_start = last.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.ensure_body();
        let mut tree = std::mem::take(&mut self.tree);
        let mut bytes = std::mem::take(&mut self.bytes);
        make_valid(&mut bytes);
        tree.bytes = String::from_utf8(bytes).unwrap_or_default();
        tree.ended.sort_unstable();
        self.result = Some(tree);
        self.is_done = true;
    }

    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Tree> {
        if self.is_done { self.result.take() } else { None }
    }

    fn emit_string(&mut self, text: &[u8]) {
        self.characters(text);
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn init_comment(&mut self) {}

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        if self.token.is_end {
            self.end();
            return None;
        }
        self.last_start.clear();
        self.last_start.extend_from_slice(&self.token.name);
        self.start()
    }

    fn emit_current_comment(&mut self) {}

    fn emit_current_doctype(&mut self) {}

    fn set_self_closing(&mut self) {
        self.token.is_self_closing = true;
    }

    fn set_force_quirks(&mut self) {}

    fn push_tag_name(&mut self, name: &[u8]) {
        // Longer names are nobody's.
        if self.token.name.len() < 64 {
            self.token.name.extend_from_slice(name);
        }
    }

    fn push_comment(&mut self, _: &[u8]) {}

    fn push_doctype_name(&mut self, _: &[u8]) {}

    fn init_doctype(&mut self) {}

    fn init_attribute(&mut self) {
        self.end_attribute();
        self.token.attribute = Some((self.bytes.len() as u32, None));
    }

    fn init_attribute_value(&mut self) {
        let at = self.bytes.len() as u32;
        if let Some((_, value)) = &mut self.token.attribute {
            value.get_or_insert(at);
        }
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        self.push_attribute(name);
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        self.init_attribute_value();
        self.push_attribute(value);
    }

    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.token.is_end && !self.last_start.is_empty() && self.token.name == self.last_start
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.current().is_foreign
    }
}

/// Replaces bytes that are no UTF-8 by question marks: spans stay as they are.
fn make_valid(bytes: &mut [u8]) {
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let start = from + error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |length| start + length);
        bytes[start..end].fill(b'?');
        from = end;
    }
}
