//! A page as a tree: elements, attributes and text in a few arrays.
//!
//! [`parse`] reads HTML by the tokenizer of the standard (html5gum) and a tree construction that follows the standard where pages
//! depend on it: implied tags, paragraphs, lists, tables with what does not belong into them, raw text, foreign content. What
//! is left out: the order in which formatting elements that overlap are reopened, framesets, quirks mode. Scripts do not run, so
//! that what is in `noscript` is part of the page.
//!
//! Guarantees: any bytes give a tree; time is linear in their number; [`Limits`] hold; the tree's text and attributes are UTF-8.

mod build;
mod tag;

pub use build::parse;
pub use tag::Tag;

/// Number of a node; the root is 0.
pub type NodeId = u32;

/// No node.
pub const NONE: NodeId = u32::MAX;

/// Limits of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Elements and texts; what comes after them is ignored.
    pub nodes: usize,
    /// Elements within each other; deeper ones are beside each other, as in browsers.
    pub depth: usize,
    /// Attributes of an element.
    pub attributes: usize,
    /// Bytes of all texts and attributes.
    pub bytes: usize,
    /// Whether the page is XML (`application/xhtml+xml`), where any element ends with its tag that says so: `<script/>`.
    pub is_xml: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { nodes: 2_000_000, depth: 512, attributes: 256, bytes: 256 << 20, is_xml: false }
    }
}

/// A part of [`Tree`]'s bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: u32,
    length: u32,
}

/// An element or a text.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: NodeId,
    next: NodeId,
    previous: NodeId,
    first: NodeId,
    last: NodeId,
    /// Of a text: its bytes. Of an element: its attributes.
    span: Span,
    tag: Tag,
    is_text: bool,
}

/// An attribute.
#[derive(Clone, Copy, Debug)]
struct Attribute {
    name: Span,
    value: Span,
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    attributes: Vec<Attribute>,
    bytes: String,
    /// Elements that have ended before the blocks in them, and the first node after each; by their ids.
    ended: Vec<(NodeId, NodeId)>,
    /// Whether a limit has cut it.
    is_cut: bool,
}

impl Tree {
    /// The root, above `html`.
    pub const ROOT: NodeId = 0;

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() < 2
    }

    /// Bytes of all texts and attributes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a limit has cut it.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// An element's tag; `Other` also for texts and the root.
    pub fn tag(&self, id: NodeId) -> Tag {
        self.nodes[id as usize].tag
    }

    /// A text; `None`: it is an element.
    pub fn text(&self, id: NodeId) -> Option<&str> {
        let node = &self.nodes[id as usize];
        node.is_text.then(|| self.str(node.span))
    }

    /// The parent of a node; `NONE` of the root.
    pub fn parent(&self, id: NodeId) -> NodeId {
        self.nodes[id as usize].parent
    }

    /// The node after a node, of the same parent.
    pub fn next(&self, id: NodeId) -> NodeId {
        self.nodes[id as usize].next
    }

    /// The first child of a node.
    pub fn first(&self, id: NodeId) -> NodeId {
        self.nodes[id as usize].first
    }

    /// All nodes but the root, as they were read: in the order of the page, but for what was moved before a table. Faster than
    /// [`Tree::following`].
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        1..self.nodes.len() as NodeId
    }

    /// The children of a node.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut next = self.first(id);
        std::iter::from_fn(move || {
            let id = next;
            (id != NONE).then(|| {
                next = self.next(id);
                id
            })
        })
    }

    /// The attributes of an element: names in lower case, and values.
    pub fn attributes(&self, id: NodeId) -> impl Iterator<Item = (&str, &str)> {
        let node = &self.nodes[id as usize];
        let span = if node.is_text { Span::default() } else { node.span };
        let all = &self.attributes[span.start as usize..][..span.length as usize];
        all.iter().map(|attribute| (self.str(attribute.name), self.str(attribute.value)))
    }

    /// The value of an attribute.
    pub fn attribute(&self, id: NodeId, name: &str) -> Option<&str> {
        self.attributes(id).find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The node after a node and all in it, in the order of the page; `NONE`: it was the last one.
    pub fn after(&self, mut id: NodeId) -> NodeId {
        while id != NONE && self.next(id) == NONE {
            id = self.parent(id);
        }
        if id == NONE { NONE } else { self.next(id) }
    }

    /// The first node that an element is not around, although it is in it: the element's end tag came before those of blocks in it,
    /// which browsers divide (section 13.2.6.4.7 of the HTML Standard, the adoption agency algorithm). [`NONE`]: it is around all.
    pub fn end(&self, id: NodeId) -> NodeId {
        let found = self.ended.binary_search_by_key(&id, |(known, _)| *known);
        found.map_or(NONE, |index| self.ended[index].1)
    }

    /// The node after a node in the order of the page.
    pub fn following(&self, id: NodeId) -> NodeId {
        match self.first(id) {
            NONE => self.after(id),
            first => first,
        }
    }

    /// A part of the bytes.
    fn str(&self, span: Span) -> &str {
        // All spans are of whole texts.
        self.bytes.get(span.start as usize..(span.start + span.length) as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
