//! A page's text in blocks: a run of inline text in the nearest block element, divided where two `<br>` follow each other.
//!
//! Guarantees: each text that a browser would show is in one block, in the order of the page; whitespace is collapsed as browsers
//! do, but for `pre`; no block is blank; there are at most [`MOST`].

use std::ops::Range;

use lycosa_dom::{NONE, NodeId, Tag, Tree};

/// Blocks of a page, at most: those after them are left out. Few pages have a tenth of it.
pub const MOST: usize = 20_000;

/// What is true of all that is in an element, because of it or of an element around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Within(u32);

/// One of the things that may be true of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "names of elements, and of their roles")]
pub enum Place {
    Article,
    Main,
    Section,
    Navigation,
    Aside,
    Header,
    Footer,
    Form,
    Table,
    List,
    Definitions,
    Figure,
    Quote,
    Preformatted,
    Code,
    Heading,
    Button,
    Details,
    Dialog,
    Hidden,
    Microdata,
    Label,
    Caption,
}

impl Within {
    /// With one more.
    fn with(self, place: Place) -> Self {
        Within(self.0 | 1 << place as u8)
    }

    /// Whether that is so.
    pub fn has(self, place: Place) -> bool {
        self.0 >> place as u8 & 1 == 1
    }

    /// All of it, as bits.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// A block element that has text of its own, or elements that have.
#[derive(Clone, Copy, Debug)]
pub struct Container {
    /// The element.
    pub(crate) node: NodeId,
    /// The container around it; its own number for the outermost one.
    pub(crate) parent: u32,
    /// Elements around it.
    pub(crate) depth: u16,
    /// List elements around it.
    pub(crate) list_depth: u8,
    /// What is true of it.
    pub(crate) within: Within,
    /// A hash of its tag, its classes, and those of the containers around it: alike elements have the same.
    pub(crate) path: u32,
    /// Of all blocks in it: how many, characters, characters in links, links, and words.
    pub(crate) blocks: u32,
    pub(crate) characters: u32,
    pub(crate) linked: u32,
    pub(crate) links: u32,
    pub(crate) words: u32,
}

/// A run of text.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its container's number.
    pub(crate) container: u32,
    /// Where its text is in [`Blocks::text`].
    pub(crate) text: Range<usize>,
    /// The first and the last text of it in the tree.
    pub(crate) nodes: (NodeId, NodeId),
    /// Characters without spaces; those of them in links, and in bold or emphasised text.
    pub(crate) characters: u32,
    pub(crate) linked: u32,
    pub(crate) strong: u32,
    /// Words: runs of letters and digits, or single characters of scripts without spaces.
    pub words: u32,
    /// Links, images, and single line breaks in it.
    pub(crate) links: u16,
    pub(crate) images: u16,
    pub(crate) breaks: u16,
}

/// All blocks of a page.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// Their texts, one after the other.
    pub text: String,
    /// In the order of the page.
    pub all: Vec<Block>,
    /// Elements with text; the first one is the page.
    pub containers: Vec<Container>,
    /// The title of the page.
    pub title: String,
}

impl Blocks {
    /// Divides a page.
    pub fn of(tree: &Tree) -> Self {
        let mut walk = Walk::new(tree);
        walk.all();
        walk.blocks
    }

    /// The text of a block.
    pub fn text_of(&self, block: &Block) -> &str {
        &self.text[block.text.clone()]
    }
}

/// An element that the walk is in.
#[derive(Clone, Copy, Debug)]
struct Level {
    container: u32,
    is_block: bool,
    link: bool,
    strong: bool,
    preformatted: bool,
}

/// A walk through a page.
struct Walk<'a> {
    tree: &'a Tree,
    blocks: Blocks,
    levels: Vec<Level>,
    /// The block that is being read.
    open: Option<Block>,
    /// Whether a space is due before the next word, and how many `<br>` have come since the last one.
    space: bool,
    line_breaks: u8,
}

impl<'a> Walk<'a> {
    /// At the beginning.
    fn new(tree: &'a Tree) -> Self {
        let page = Container {
            node: Tree::ROOT,
            parent: 0,
            depth: 0,
            list_depth: 0,
            within: Within::default(),
            path: 0,
            blocks: 0,
            characters: 0,
            linked: 0,
            links: 0,
            words: 0,
        };
        let blocks = Blocks { containers: vec![page], ..Blocks::default() };
        let level = Level { container: 0, is_block: true, link: false, strong: false, preformatted: false };
        Walk { tree, blocks, levels: vec![level], open: None, space: false, line_breaks: 0 }
    }

    /// Walks through all of it.
    fn all(&mut self) {
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
            Tag::Script
            | Tag::Style
            | Tag::Template
            | Tag::Iframe
            | Tag::Svg
            | Tag::Math
            | Tag::Select
            | Tag::Textarea
            | Tag::Object
            | Tag::Canvas
            | Tag::Noembed
            | Tag::Noframes
            | Tag::Audio
            | Tag::Video => return false,
            Tag::Head => {
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
        let is_link = tag == Tag::A && self.tree.attribute(node, "href").is_some();
        let container = if is_block || adds_place(self.tree, node, tag).is_some() {
            self.close_if(is_block);
            self.container(node, tag, before.container)
        } else {
            before.container
        };
        if is_link
            && !before.link
            && let Some(open) = &mut self.open
        {
            open.links = open.links.saturating_add(1);
        }
        self.levels.push(Level {
            container,
            is_block,
            link: before.link || is_link,
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
        let own = self.tree.attribute(node, "class").unwrap_or_default().bytes().fold(tag as u32 + 1, mix);
        self.blocks.containers.push(Container {
            node,
            parent,
            depth: (self.levels.len() as u16).min(u16::MAX - 1),
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

    /// The title in a head.
    fn title(&mut self, head: NodeId) {
        let title = self.tree.children(head).find(|child| self.tree.tag(*child) == Tag::Title);
        let text =
            title.map(|title| self.tree.children(title).filter_map(|text| self.tree.text(text)).collect());
        self.blocks.title = text.unwrap_or_default();
    }

    /// A `<br>`.
    fn line_break(&mut self) {
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
        let mut is_in_word = false;
        for (index, part) in text.split(|c: char| c.is_whitespace()).enumerate() {
            if index > 0 {
                self.space = true;
                is_in_word = false;
            }
            if part.is_empty() {
                continue;
            }
            self.word(node, part, level, is_in_word);
            is_in_word = true;
        }
        if level.preformatted && self.open.is_some() && text.ends_with('\n') {
            self.blocks.text.push('\n');
            self.space = false;
        }
    }

    /// A piece of text without whitespace.
    fn word(&mut self, node: NodeId, word: &str, level: Level, _: bool) {
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
                links: u16::from(level.link),
                images: 0,
                breaks: 0,
            });
            self.space = false;
            self.line_breaks = 0;
        }
        if self.line_breaks > 0 {
            self.blocks.text.push('\n');
        } else if self.space {
            self.blocks.text.push(' ');
        }
        (self.space, self.line_breaks) = (false, 0);
        self.blocks.text.push_str(word);
        let Some(open) = &mut self.open else { return };
        let characters = word.chars().count() as u32;
        open.nodes.1 = node;
        open.characters += characters;
        open.linked += if level.link { characters } else { 0 };
        open.strong += if level.strong { characters } else { 0 };
        open.words += words_in(word);
        open.text.end = self.blocks.text.len();
    }

    /// Ends the open block.
    fn close(&mut self) {
        (self.space, self.line_breaks) = (false, 0);
        let Some(block) = self.open.take() else { return };
        if self.blocks.all.len() >= MOST {
            self.blocks.text.truncate(block.text.start);
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

/// Whether a link is the mark beside a heading that leads to the heading itself.
fn is_permalink(tree: &Tree, node: NodeId) -> bool {
    let first = tree.first(node);
    tree.attribute(node, "href").is_some_and(|target| target.starts_with('#'))
        && first != NONE
        && tree.next(first) == NONE
        && tree.text(first).is_some_and(|text| matches!(text.trim(), "¶" | "#" | "§" | "🔗" | "\u{f0c1}"))
}

/// What a tag says of what is in it.
fn place_of(tag: Tag) -> Option<Place> {
    Some(match tag {
        Tag::Article => Place::Article,
        Tag::Main => Place::Main,
        Tag::Section => Place::Section,
        Tag::Nav => Place::Navigation,
        Tag::Aside => Place::Aside,
        Tag::Header => Place::Header,
        Tag::Footer => Place::Footer,
        Tag::Form | Tag::Fieldset => Place::Form,
        Tag::Table => Place::Table,
        Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir => Place::List,
        Tag::Dl => Place::Definitions,
        Tag::Figure => Place::Figure,
        Tag::Blockquote => Place::Quote,
        Tag::Pre | Tag::Listing | Tag::Xmp => Place::Preformatted,
        Tag::Code => Place::Code,
        Tag::Button => Place::Button,
        Tag::Details => Place::Details,
        Tag::Dialog => Place::Dialog,
        Tag::Label | Tag::Legend => Place::Label,
        Tag::Figcaption | Tag::Caption => Place::Caption,
        _ if tag.heading().is_some() => Place::Heading,
        _ => return None,
    })
}

/// What the attributes of an element say of what is in it.
fn adds_place(tree: &Tree, node: NodeId, tag: Tag) -> Option<Place> {
    if !matches!(
        tag,
        Tag::Div | Tag::Span | Tag::Section | Tag::Ul | Tag::Aside | Tag::Article | Tag::Other | Tag::Header
    ) {
        return None;
    }
    if let Some(role) = tree.attribute(node, "role") {
        return Some(match role {
            "main" => Place::Main,
            "navigation" | "menu" | "menubar" | "tablist" => Place::Navigation,
            "complementary" => Place::Aside,
            "banner" => Place::Header,
            "contentinfo" => Place::Footer,
            "article" => Place::Article,
            "dialog" | "alertdialog" => Place::Dialog,
            "search" | "form" => Place::Form,
            "button" => Place::Button,
            _ => return None,
        });
    }
    match tree.attribute(node, "itemprop") {
        Some("articleBody" | "text" | "description" | "reviewBody" | "mainContentOfPage") => {
            Some(Place::Microdata)
        }
        _ => None,
    }
}

/// Whether a browser shows nothing of an element, as far as the page itself says.
fn is_hidden(tree: &Tree, node: NodeId) -> bool {
    tree.attributes(node).any(|(name, value)| match name {
        "hidden" => value != "until-found",
        "aria-hidden" => value == "true",
        "style" => {
            let style: String = value.chars().filter(|c| !c.is_whitespace()).collect();
            style.contains("display:none") || style.contains("visibility:hidden")
        }
        _ => false,
    })
}

/// Adds a byte to a hash.
fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// Words in a piece of text without spaces: of scripts that have none between words, each character is one.
pub fn words_in(piece: &str) -> u32 {
    let (mut words, mut is_in_word) = (0, false);
    for character in piece.chars() {
        let is_alone = is_of_script_without_spaces(character);
        let is_word = character.is_alphanumeric() || character == '_';
        words += u32::from(is_word && (is_alone || !is_in_word));
        is_in_word = is_word && !is_alone;
    }
    words
}

/// Whether a character belongs to a script that has no spaces between words.
pub fn is_of_script_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    fn texts(html: &str) -> Vec<String> {
        let blocks = Blocks::of(&parse(html, &Limits::default()));
        blocks.all.iter().map(|block| blocks.text_of(block).to_owned()).collect()
    }

    #[test]
    fn a_block_is_a_run_of_text_in_an_element() {
        let html = "<div>one <b>two</b><p>three</p> four<br>five<br><br>six</div><pre>a\n  b</pre><script>no</script>";
        assert_eq!(texts(html), ["one two", "three", "four\nfive", "six", "a b"]);
    }

    #[test]
    fn a_page_has_so_many_blocks_at_most() {
        let found = texts(&"<p>a".repeat(MOST + 10));
        assert_eq!(found.len(), MOST);
    }
}
