//! Tree construction: tokens to a tree, after section 13.2.6 of the HTML Standard.

use html5gum::{Emitter, Error, State, Tokenizer};

use crate::{Attribute, Limits, NONE, Node, NodeId, Span, Tag, Tree};

/// Reads a page.
pub fn parse(html: &str, limits: &Limits) -> Tree {
    let builder = Builder::new(html.len(), *limits);
    let mut tokenizer = Tokenizer::new_with_emitter(html, builder);
    // The reader of a text has no errors; the emitter keeps its tree until its end.
    match tokenizer.next() {
        Some(Ok(tree)) => tree,
        _ => Tree::default(),
    }
}

/// An open element.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: NodeId,
    tag: Tag,
    /// Whether it is in SVG or MathML.
    is_foreign: bool,
}

/// What the tokenizer reads now.
#[derive(Debug, Default)]
struct Token {
    is_end: bool,
    is_self_closing: bool,
    name: Vec<u8>,
    /// Where its attributes begin in the tree's.
    attributes: usize,
    /// The attribute that is read: where its name begins, and its value.
    attribute: Option<(u32, Option<u32>)>,
}

/// Builds a tree.
struct Builder {
    tree: Tree,
    limits: Limits,
    stack: Vec<Open>,
    token: Token,
    /// The name of the last start tag: an end tag of it ends raw text.
    last_start: Vec<u8>,
    head: NodeId,
    body: NodeId,
    is_done: bool,
    result: Option<Tree>,
    /// All texts and attributes, which become the tree's at its end.
    bytes: Vec<u8>,
}

impl Builder {
    /// Nothing is read. `length`: of the page.
    fn new(length: usize, limits: Limits) -> Self {
        let root = Node {
            parent: NONE,
            next: NONE,
            previous: NONE,
            first: NONE,
            last: NONE,
            span: Span::default(),
            tag: Tag::Other,
            is_text: false,
        };
        let tree = Tree {
            nodes: Vec::with_capacity(length / 32 + 16),
            attributes: Vec::with_capacity(length / 64 + 16),
            bytes: String::new(),
            is_cut: false,
        };
        let mut builder = Builder {
            tree,
            bytes: Vec::with_capacity(length.min(limits.bytes)),
            limits,
            stack: Vec::with_capacity(64),
            token: Token::default(),
            last_start: Vec::new(),
            head: NONE,
            body: NONE,
            is_done: false,
            result: None,
        };
        builder.tree.nodes.push(root);
        builder
    }

    /// The innermost open element.
    fn current(&self) -> Open {
        self.stack.last().copied().unwrap_or(Open { id: Tree::ROOT, tag: Tag::Other, is_foreign: false })
    }

    /// Appends a node to a parent; `None`: a limit is reached.
    fn append(&mut self, parent: NodeId, span: Span, tag: Tag, is_text: bool) -> Option<NodeId> {
        if self.tree.nodes.len() >= self.limits.nodes {
            self.tree.is_cut = true;
            return None;
        }
        let id = self.tree.nodes.len() as NodeId;
        let last = std::mem::replace(&mut self.tree.nodes[parent as usize].last, id);
        let (next, first) = (NONE, NONE);
        self.tree.nodes.push(Node { parent, next, previous: last, first, last: NONE, span, tag, is_text });
        let before = match last {
            NONE => &mut self.tree.nodes[parent as usize].first,
            last => &mut self.tree.nodes[last as usize].next,
        };
        *before = id;
        Some(id)
    }

    /// Inserts a node before the table that is open: what is not a table's may not be in it.
    fn append_before_table(&mut self, span: Span, tag: Tag, is_text: bool) -> Option<NodeId> {
        let table = self.stack.iter().rposition(|open| open.tag == Tag::Table)?;
        let table = self.stack[table].id;
        let Node { parent, previous, .. } = self.tree.nodes[table as usize];
        let id = self.append(parent, span, tag, is_text)?;
        let last = self.tree.nodes[id as usize].previous;
        if last == NONE {
            return Some(id); // the table is elsewhere
        }
        let nodes = &mut self.tree.nodes;
        nodes[last as usize].next = NONE;
        nodes[parent as usize].last = last;
        (nodes[id as usize].previous, nodes[id as usize].next) = (previous, table);
        nodes[table as usize].previous = id;
        match previous {
            NONE => nodes[parent as usize].first = id,
            previous => nodes[previous as usize].next = id,
        }
        Some(id)
    }

    /// Opens `html`, `head` or `body` where they were left out.
    fn ensure_body(&mut self) {
        if self.body == NONE && !self.stack.iter().any(|open| open.tag == Tag::Template) {
            self.open_implied(Tag::Body);
        }
    }

    /// Opens an element without a tag.
    fn open_implied(&mut self, tag: Tag) {
        if self.stack.is_empty()
            && let Some(id) = self.append(Tree::ROOT, Span::default(), Tag::Html, false)
        {
            self.stack.push(Open { id, tag: Tag::Html, is_foreign: false });
        }
        let Some(html) = self.stack.first().copied() else { return };
        match tag {
            Tag::Head if self.head == NONE && self.body == NONE => {
                if let Some(id) = self.append(html.id, Span::default(), Tag::Head, false) {
                    self.stack.push(Open { id, tag, is_foreign: false });
                    self.head = id;
                }
            }
            Tag::Body if self.body == NONE => {
                self.stack.truncate(1);
                if let Some(id) = self.append(html.id, Span::default(), Tag::Body, false) {
                    self.stack.push(Open { id, tag, is_foreign: false });
                    self.body = id;
                }
            }
            _ => {}
        }
    }

    /// Closes all from an open element on.
    fn close_from(&mut self, index: usize) {
        // `html` and `body` stay open to the end: what comes after them is in the body.
        self.stack.truncate(index.max(1));
    }

    /// The index of an open element with one of some tags, within the scope that others end.
    fn in_scope(&self, is_it: impl Fn(Tag) -> bool, ends: impl Fn(Tag) -> bool) -> Option<usize> {
        for (index, open) in self.stack.iter().enumerate().rev() {
            if is_it(open.tag) && !open.is_foreign {
                return Some(index);
            }
            if open.tag.is_scope() || ends(open.tag) {
                return None;
            }
        }
        None
    }

    /// Closes an open paragraph.
    fn close_paragraph(&mut self) {
        if let Some(index) = self.in_scope(|tag| tag == Tag::P, |tag| tag == Tag::Button) {
            self.close_from(index);
        }
    }

    /// Closes an open list item, or a term or its definition.
    fn close_item(&mut self, is_it: impl Fn(Tag) -> bool) {
        let ends = |tag: Tag| matches!(tag, Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir | Tag::Dl | Tag::Button);
        if let Some(index) = self.in_scope(is_it, ends) {
            self.close_from(index);
        }
    }

    /// Closes what a part of a table closes: cells, rows and sections that are open.
    fn close_table_parts(&mut self, tag: Tag) {
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
        let table = self.stack.iter().rposition(|open| matches!(open.tag, Tag::Table | Tag::Template));
        let Some(table) = table else { return };
        if let Some(index) = self.stack[table..].iter().position(|open| closes(open.tag)) {
            self.close_from(table + index);
        } else {
            // What is open in the table itself does not belong there.
            let parts = self.stack[table..].iter().take_while(|open| open.tag.is_table_part()).count();
            self.close_from(table + parts.max(1));
        }
    }

    /// Opens the sections and rows of a table that were left out.
    fn open_table_parts(&mut self, tag: Tag) {
        let needs_row = matches!(tag, Tag::Td | Tag::Th);
        if (needs_row || tag == Tag::Tr) && self.current().tag == Tag::Table {
            self.push_implied(Tag::Tbody);
        }
        if needs_row && matches!(self.current().tag, Tag::Tbody | Tag::Thead | Tag::Tfoot) {
            self.push_implied(Tag::Tr);
        }
    }

    /// Opens an element without a tag in the current one.
    fn push_implied(&mut self, tag: Tag) {
        if let Some(id) = self.append(self.current().id, Span::default(), tag, false) {
            self.stack.push(Open { id, tag, is_foreign: false });
        }
    }

    /// A start tag; gives the state of the tokenizer that it begins.
    fn start(&mut self) -> Option<State> {
        let tag = match Tag::of(&self.token.name) {
            Tag::Image => Tag::Img,
            tag => tag,
        };
        if self.current().is_foreign && (tag.breaks_out() || (tag == Tag::Font && self.has_attributes())) {
            let html = self.stack.iter().rposition(|open| !open.is_foreign).unwrap_or(0);
            self.close_from(html + 1);
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
            Tag::Td
            | Tag::Th
            | Tag::Tr
            | Tag::Tbody
            | Tag::Thead
            | Tag::Tfoot
            | Tag::Caption
            | Tag::Col
            | Tag::Colgroup
                if !self.stack.iter().any(|open| open.tag == Tag::Template) =>
            {
                self.drop_attributes();
                return None;
            }
            Tag::Li => self.close_item(|tag| tag == Tag::Li),
            Tag::Dd | Tag::Dt => self.close_item(|tag| matches!(tag, Tag::Dd | Tag::Dt)),
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
            Tag::A | Tag::Nobr | Tag::Button => {
                if let Some(index) = self.in_scope(|open| open == tag, |_| false) {
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
            Tag::Textarea | Tag::Title => Some(State::RcData),
            Tag::Script => Some(State::ScriptData),
            Tag::Style | Tag::Xmp | Tag::Iframe | Tag::Noembed | Tag::Noframes => Some(State::RawText),
            Tag::Plaintext => Some(State::PlainText),
            _ => None,
        }
    }

    /// The start of `html`, `head` or `body`: the first one opens it, attributes of later ones are added to it if it has none.
    fn start_of_page(&mut self, tag: Tag) {
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
    fn is_of_table(&self, tag: Tag) -> bool {
        matches!(
            tag,
            Tag::Td
                | Tag::Th
                | Tag::Tr
                | Tag::Tbody
                | Tag::Thead
                | Tag::Tfoot
                | Tag::Caption
                | Tag::Col
                | Tag::Colgroup
        ) && self
            .stack
            .iter()
            .rev()
            .take_while(|open| open.tag != Tag::Template)
            .any(|open| open.tag == Tag::Table)
    }

    /// Inserts an element, and opens it if it has content.
    fn insert(&mut self, tag: Tag, is_foreign: bool) {
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
        let is_closed = if is_foreign { self.token.is_self_closing } else { tag.is_void() };
        if !is_closed && self.stack.len() < self.limits.depth {
            self.stack.push(Open { id, tag, is_foreign });
        }
    }

    /// An end tag.
    fn end(&mut self) {
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
                if self.in_scope(|tag| tag == Tag::P, |tag| tag == Tag::Button).is_some() {
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
            Tag::Li => self.close_item(|tag| tag == Tag::Li),
            Tag::Dd | Tag::Dt => self.close_item(|open| open == tag),
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
                if let Some(index) = self.in_scope(|open| open.heading().is_some(), |_| false) {
                    self.close_from(index);
                }
            }
            _ if tag.is_formatting() => {
                if let Some(index) = self.in_scope(|open| open == tag, |_| false) {
                    self.close_formatting(index);
                }
            }
            Tag::Other => self.end_of_other(),
            _ => {
                if let Some(index) = self.in_scope(|open| open == tag, |_| false) {
                    self.close_from(index);
                }
            }
        }
    }

    /// The end tag of a part of a table.
    fn end_of_table_part(&mut self, tag: Tag) {
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
    fn end_of_other(&mut self) {
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
    fn end_of_foreign(&mut self, tag: Tag) {
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
    fn close_formatting(&mut self, index: usize) {
        if self.stack[index..].iter().any(|open| open.tag.is_block()) {
            self.stack.remove(index);
        } else {
            self.close_from(index);
        }
    }

    /// Text.
    fn characters(&mut self, text: &[u8]) {
        let current = self.current();
        let is_raw = matches!(
            current.tag,
            Tag::Script
                | Tag::Style
                | Tag::Title
                | Tag::Textarea
                | Tag::Xmp
                | Tag::Iframe
                | Tag::Noembed
                | Tag::Noframes
        );
        let is_blank = text.iter().all(u8::is_ascii_whitespace);
        if !is_raw && self.body == NONE {
            if is_blank {
                return;
            }
            self.ensure_body();
        }
        if self.bytes.len() + text.len() > self.limits.bytes {
            self.tree.is_cut = true;
            return;
        }
        let current = self.current();
        let is_misplaced = current.tag.is_table_part() && !current.is_foreign && !is_blank;
        let start = self.bytes.len() as u32;
        if !is_misplaced {
            let last = self.tree.nodes[current.id as usize].last;
            if last != NONE {
                let last = &mut self.tree.nodes[last as usize];
                if last.is_text && last.span.start + last.span.length == start {
                    last.span.length += text.len() as u32;
                    self.bytes.extend_from_slice(text);
                    return;
                }
            }
        }
        self.bytes.extend_from_slice(text);
        let span = Span { start, length: text.len() as u32 };
        match is_misplaced {
            true => self.append_before_table(span, Tag::Other, true),
            false => self.append(current.id, span, Tag::Other, true),
        };
    }

    /// Whether the current token has attributes.
    fn has_attributes(&self) -> bool {
        self.tree.attributes.len() > self.token.attributes
    }

    /// The attributes of the current token, for its element.
    fn attributes(&mut self) -> Span {
        let start = self.token.attributes;
        Span { start: start as u32, length: (self.tree.attributes.len() - start) as u32 }
    }

    /// The current token has no element.
    fn drop_attributes(&mut self) {
        self.tree.attributes.truncate(self.token.attributes);
    }

    /// Ends the attribute that is read: the first of a name counts.
    fn end_attribute(&mut self) {
        let Some((name, value)) = self.token.attribute.take() else { return };
        let end = self.bytes.len() as u32;
        let middle = value.unwrap_or(end);
        let attribute = Attribute {
            name: Span { start: name, length: middle - name },
            value: Span { start: middle, length: end - middle },
        };
        let earlier = &self.tree.attributes[self.token.attributes..];
        let bytes = |span: Span| &self.bytes[span.start as usize..][..span.length as usize];
        let is_known = earlier.iter().any(|known| bytes(known.name) == bytes(attribute.name));
        if is_known || earlier.len() >= self.limits.attributes {
            self.bytes.truncate(name as usize);
        } else {
            self.tree.attributes.push(attribute);
        }
    }

    /// Appends to the attribute that is read.
    fn push_attribute(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > self.limits.bytes {
            self.tree.is_cut = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Begins a tag.
    fn begin_tag(&mut self, is_end: bool) {
        self.token.is_end = is_end;
        self.token.is_self_closing = false;
        self.token.name.clear();
        self.token.attributes = self.tree.attributes.len();
        self.token.attribute = None;
    }
}

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
