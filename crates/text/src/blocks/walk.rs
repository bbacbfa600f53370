//! The walk through a page that divides it into blocks.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::elements::{adds_place, is_hidden, is_invisible, is_left_out, is_permalink, place_of};
use super::{Block, Blocks, Container, MOST, Piece, Place, Within};

/// An element that the walk is in.
#[derive(Clone, Copy, Debug)]
struct Level {
    container: u32,
    is_block: bool,
    /// The first node that the link is no longer around; 0: there is none.
    link_end: NodeId,
    strong: bool,
    preformatted: bool,
}

impl Level {
    /// Whether a node in it is in a link.
    fn is_linked(&self, node: NodeId) -> bool {
        node < self.link_end
    }
}

/// Containers of a page, at most.
const CONTAINERS: usize = 4 * MOST;

/// A walk through a page.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    pub(super) blocks: Blocks,
    levels: Vec<Level>,
    /// The block that is being read.
    open: Option<Block>,
    /// Whether a space is due before the next word, and how many `<br>` have come since the last one.
    space: bool,
    line_breaks: u8,
    /// Whether the space is a line break of the source.
    is_wrapped: bool,
    /// The indentation of the first line of code.
    indent: String,
}

impl<'a> Walk<'a> {
    /// At the beginning.
    pub(super) fn new(tree: &'a Tree) -> Self {
        let page = Container {
            node: Tree::ROOT,
            parent: 0,
            depth: 0,
            list_depth: 0,
            heading: 0,
            within: Within::default(),
            path: 0,
            blocks: 0,
            characters: 0,
            linked: 0,
            links: 0,
            words: 0,
        };
        let blocks = Blocks { containers: vec![page], ..Blocks::default() };
        let level = Level { container: 0, is_block: true, link_end: 0, strong: false, preformatted: false };
        Walk {
            tree,
            blocks,
            levels: vec![level],
            open: None,
            space: false,
            line_breaks: 0,
            is_wrapped: false,
            indent: String::new(),
        }
    }

    /// Walks through all of it.
    pub(super) fn all(&mut self) {
        let mut node = self.tree.first(Tree::ROOT);
        while node != NONE {
            let goes_in = match self.tree.text(node) {
                Some(text) => {
                    self.text(node, text);
                    false
                }
                None => self.enter(node),
            };
            let first = if goes_in { self.tree.first(node) } else { NONE };
            if first != NONE {
                node = first;
                continue;
            }
            if goes_in {
                self.leave();
            }
            while node != NONE && self.tree.next(node) == NONE {
                node = self.tree.parent(node);
                if node != NONE && node != Tree::ROOT {
                    self.leave();
                }
            }
            node = if node == NONE { NONE } else { self.tree.next(node) };
        }
        self.close();
        self.sum();
    }

    /// Begins an element; whether what is in it is of the page's text.
    fn enter(&mut self, node: NodeId) -> bool {
        let tag = self.tree.tag(node);
        match tag {
            _ if is_left_out(self.tree, node) => return false,
            Tag::Title => {
                self.title(node);
                return false;
            }
            Tag::Br => {
                self.line_break();
                return false;
            }
            Tag::Hr => {
                self.close();
                return false;
            }
            Tag::Img => {
                if let Some(open) = &mut self.open {
                    open.images = open.images.saturating_add(1);
                }
                return false;
            }
            Tag::Input | Tag::Link | Tag::Meta | Tag::Source | Tag::Track | Tag::Wbr => return false,
            Tag::A if is_permalink(self.tree, node) => return false,
            _ => {}
        }
        let before = self.levels[self.levels.len() - 1];
        let is_block = tag.is_block();
        // Hidden blocks are blocks of their own, which are judged; within a line there is nothing to judge.
        if !is_block && is_invisible(self.tree, node) {
            return false;
        }
        let is_link = tag == Tag::A && self.tree.attribute(node, "href").is_some();
        let container = if is_block || adds_place(self.tree, node, tag).is_some() {
            self.close_if(is_block);
            self.container(node, tag, before.container)
        } else {
            before.container
        };
        if is_link
            && !before.is_linked(node)
            && let Some(open) = &mut self.open
        {
            open.links = open.links.saturating_add(1);
        }
        self.levels.push(Level {
            container,
            is_block,
            link_end: if is_link && !before.is_linked(node) { self.tree.end(node) } else { before.link_end },
            strong: before.strong || matches!(tag, Tag::B | Tag::Strong | Tag::Em | Tag::Mark),
            preformatted: before.preformatted || matches!(tag, Tag::Pre | Tag::Listing | Tag::Xmp),
        });
        true
    }

    /// Ends the innermost element.
    fn leave(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.close_if(level.is_block);
        }
    }

    /// Ends the open block at the edge of a block element.
    fn close_if(&mut self, is_block: bool) {
        if is_block {
            self.close();
        }
    }

    /// A new container.
    fn container(&mut self, node: NodeId, tag: Tag, parent: u32) -> u32 {
        // Elements without a text may be many more than those with one.
        if self.blocks.containers.len() >= CONTAINERS {
            self.blocks.is_cut = true;
            return parent;
        }
        let around = self.blocks.containers[parent as usize];
        let mut within = around.within;
        if let Some(place) = place_of(tag) {
            within = within.with(place);
        }
        if let Some(place) = adds_place(self.tree, node, tag) {
            within = within.with(place);
        }
        if is_hidden(self.tree, node) {
            within = within.with(Place::Hidden);
        }
        // Many systems write the number of the page into the classes of `body`.
        let classes = match tag {
            Tag::Html | Tag::Body => "",
            _ => self.tree.attribute(node, "class").unwrap_or_default(),
        };
        let own = classes.bytes().fold(tag as u32 + 1, mix);
        self.blocks.containers.push(Container {
            node,
            parent,
            depth: (self.levels.len() as u16).min(u16::MAX - 1),
            heading: tag.heading().unwrap_or(around.heading),
            list_depth: around.list_depth
                + u8::from(matches!(tag, Tag::Ul | Tag::Ol | Tag::Menu) && around.list_depth < 99),
            within,
            path: around.path.rotate_left(5) ^ own,
            blocks: 0,
            characters: 0,
            linked: 0,
            links: 0,
            words: 0,
        });
        self.blocks.containers.len() as u32 - 1
    }

    /// A title: the first one is the page's, wherever it stands.
    fn title(&mut self, title: NodeId) {
        if self.blocks.title.is_empty() {
            self.blocks.title = self.tree.children(title).filter_map(|text| self.tree.text(text)).collect();
        }
    }

    /// A `<br>`.
    fn line_break(&mut self) {
        if self.levels[self.levels.len() - 1].preformatted {
            // As a line break of its text: at the beginning it is none.
            if self.open.is_some() {
                self.blocks.text.push('\n');
            }
            return;
        }
        self.line_breaks += 1;
        if self.line_breaks >= 2 {
            self.close();
        } else if let Some(open) = &mut self.open {
            open.breaks = open.breaks.saturating_add(1);
        }
    }

    /// Text of the page.
    fn text(&mut self, node: NodeId, text: &str) {
        let level = self.levels[self.levels.len() - 1];
        if level.preformatted {
            return self.code(node, text, level);
        }
        let mut rest = text;
        loop {
            let trimmed = rest.trim_start();
            let blank = &rest[..rest.len() - trimmed.len()];
            self.space |= !blank.is_empty();
            self.is_wrapped |= blank.contains('\n');
            let Some(piece) = Piece::of(trimmed) else { break };
            rest = &trimmed[piece.bytes..];
            self.word(node, &trimmed[..piece.bytes], &piece, level);
        }
    }

    /// Preformatted text: spaces and line breaks are kept, but for blank lines at the beginning.
    fn code(&mut self, node: NodeId, text: &str, level: Level) {
        let mut rest = text;
        loop {
            let trimmed = rest.trim_start();
            let blank = &rest[..rest.len() - trimmed.len()];
            // At the beginning the indentation of the first line alone.
            let kept =
                if self.open.is_some() { blank } else { blank.rsplit('\n').next().unwrap_or_default() };
            if self.open.is_none() && blank.contains('\n') {
                self.indent.clear();
            }
            let Some(piece) = Piece::of(trimmed) else {
                let into = if self.open.is_some() { &mut self.blocks.text } else { &mut self.indent };
                into.push_str(kept);
                break;
            };
            let start = self.blocks.text.len();
            self.blocks.text.push_str(&std::mem::take(&mut self.indent));
            self.blocks.text.push_str(kept);
            (self.space, self.line_breaks) = (false, 0);
            self.word(node, &trimmed[..piece.bytes], &piece, level);
            if let Some(open) = &mut self.open {
                open.text.start = open.text.start.min(start);
            }
            rest = &trimmed[piece.bytes..];
        }
    }

    /// A piece of text without whitespace.
    fn word(&mut self, node: NodeId, word: &str, piece: &Piece, level: Level) {
        let start = self.blocks.text.len();
        if self.open.is_none() {
            self.open = Some(Block {
                container: level.container,
                text: start..start,
                nodes: (node, node),
                characters: 0,
                linked: 0,
                strong: 0,
                words: 0,
                links: u16::from(level.is_linked(node)),
                images: 0,
                breaks: 0,
            });
            (self.space, self.line_breaks) = (false, 0);
        }
        if self.line_breaks > 0 {
            self.blocks.text.push('\n');
        } else if self.space && !(self.is_wrapped && joins(&self.blocks.text, word)) {
            self.blocks.text.push(' ');
        }
        (self.space, self.line_breaks, self.is_wrapped) = (false, 0, false);
        if word.contains(UNSEEN) {
            self.blocks.text.extend(word.chars().filter(|character| !UNSEEN.contains(character)));
        } else {
            self.blocks.text.push_str(word);
        }
        let Some(open) = &mut self.open else { return };
        open.nodes.1 = node;
        open.characters += piece.characters;
        open.linked += if level.is_linked(node) { piece.characters } else { 0 };
        open.strong += if level.strong { piece.characters } else { 0 };
        open.words += piece.words;
        open.text.end = self.blocks.text.len();
    }

    /// Ends the open block.
    fn close(&mut self) {
        (self.space, self.line_breaks, self.is_wrapped) = (false, 0, false);
        self.indent.clear();
        let Some(block) = self.open.take() else { return };
        if self.blocks.all.len() >= MOST {
            self.blocks.text.truncate(block.text.start);
            self.blocks.is_cut = true;
            return;
        }
        self.blocks.text.truncate(block.text.end);
        self.blocks.text.push('\n');
        self.blocks.all.push(block);
    }

    /// Adds the figures of blocks to all containers around them.
    fn sum(&mut self) {
        for block in &self.blocks.all {
            let container = &mut self.blocks.containers[block.container as usize];
            container.blocks += 1;
            container.characters += block.characters;
            container.linked += block.linked;
            container.links += u32::from(block.links);
            container.words += block.words;
        }
        // A container comes after the one around it.
        for index in (1..self.blocks.containers.len()).rev() {
            let inner = self.blocks.containers[index];
            let outer = &mut self.blocks.containers[inner.parent as usize];
            outer.blocks += inner.blocks;
            outer.characters += inner.characters;
            outer.linked += inner.linked;
            outer.links += inner.links;
            outer.words += inner.words;
        }
    }
}

/// Characters that no browser shows: of soft hyphens nearly none.
pub(crate) const UNSEEN: [char; 3] = ['\0', '\u{1}', '\u{ad}'];

/// Whether a line break of the source between two texts is no space: in Chinese and Japanese it is not shown (CSS Text 3, section 4.1.3).
pub(crate) fn joins(before: &str, after: &str) -> bool {
    let is_wide = |character: char| {
        matches!(character, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}'
            | '\u{20000}'..='\u{3ffff}')
    };
    before.ends_with(is_wide) && after.starts_with(is_wide)
}

/// Adds a byte to a hash.
fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
