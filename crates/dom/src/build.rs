//! Tree construction: tokens to a tree, after section 13.2.6 of the HTML Standard.

mod emit;
mod end;
mod stack;
mod start;

use html5gum::Tokenizer;

use crate::{Attribute, Limits, NONE, Node, NodeId, Span, Tag, Tree};
use stack::{Open, Stack};

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
    /// A hash of the name of each of its attributes.
    names: Vec<u32>,
}

/// Builds a tree.
struct Builder {
    tree: Tree,
    limits: Limits,
    stack: Stack,
    token: Token,
    /// The name of the last start tag: an end tag of it ends raw text.
    last_start: Vec<u8>,
    head: NodeId,
    body: NodeId,
    is_done: bool,
    result: Option<Tree>,
    /// All texts and attributes, which become the tree's at its end.
    bytes: Vec<u8>,
    /// Attributes of the page: more would take more memory than it has bytes.
    most_attributes: usize,
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
            ended: Vec::new(),
            is_cut: false,
        };
        let mut builder = Builder {
            tree,
            bytes: Vec::with_capacity(length.min(limits.bytes)),
            most_attributes: length / 6 + 4_096,
            limits,
            stack: Stack::default(),
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
        self.stack.last().unwrap_or(Open { id: Tree::ROOT, tag: Tag::Other, is_foreign: false })
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
        let table = self.stack.get(self.stack.innermost(&[Tag::Table])?)?.id;
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
        if self.body == NONE && !self.stack.has(Tag::Template) {
            self.open_implied(Tag::Body);
        }
    }

    /// Opens an element without a tag.
    fn open_implied(&mut self, tag: Tag) {
        if self.stack.len() == 0
            && let Some(id) = self.append(Tree::ROOT, Span::default(), Tag::Html, false)
        {
            self.stack.push(Open { id, tag: Tag::Html, is_foreign: false });
        }
        let Some(html) = self.stack.first() else { return };
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

    /// Text.
    fn characters(&mut self, text: &[u8]) {
        let current = self.current();
        let is_raw = current.tag.is_raw();
        let is_blank = text.iter().all(u8::is_ascii_whitespace);
        if !is_raw && self.body == NONE {
            if is_blank {
                return;
            }
            self.ensure_body();
        }
        if self.bytes.len() + text.len() > self.limits.bytes || self.tree.nodes.len() >= self.limits.nodes {
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
        let is_full =
            earlier.len() >= self.limits.attributes || self.tree.attributes.len() >= self.most_attributes;
        let hash = bytes(attribute.name)
            .iter()
            .fold(0u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        let mut known = self.token.names.iter().zip(earlier);
        let mut is_known =
            || known.any(|(of, known)| *of == hash && bytes(known.name) == bytes(attribute.name));
        // Asked for first: with many of them the comparison would cost more than the page.
        if is_full || is_known() {
            self.bytes.truncate(name as usize);
        } else {
            self.token.names.push(hash);
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
        self.token.names.clear();
    }
}
