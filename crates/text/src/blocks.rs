//! A page's text in blocks: a run of inline text in the nearest block element, divided where two `<br>` follow each other.
//!
//! Guarantees: each text that a browser would show is in one block, in the order of the page; whitespace is collapsed as browsers
//! do, but for `pre`; no block is blank; there are at most [`MOST`].

mod elements;
mod walk;

use std::ops::Range;

use lycosa_dom::{NodeId, Tree};

use crate::letters::is_word;
pub(crate) use elements::{is_invisible, is_left_out};
use walk::Walk;
pub(crate) use walk::{UNSEEN, joins};

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
    /// The level of the heading that it is or is in; 0: none.
    pub(crate) heading: u8,
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

impl Block {
    /// Whether it is a paragraph of prose.
    pub(crate) fn is_prose(&self) -> bool {
        self.words >= 20 && self.linked * 3 < self.characters
    }
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
    /// Whether there are more than [`MOST`].
    pub is_cut: bool,
}

impl Blocks {
    /// Divides a page.
    pub fn of(tree: &Tree) -> Self {
        let mut walk = Walk::new(tree);
        walk.all();
        walk.blocks
    }

    /// The level of the heading that a block is in.
    pub(crate) fn heading_of(&self, block: &Block) -> Option<u8> {
        Some(self.containers[block.container as usize].heading).filter(|level| *level > 0)
    }

    /// The text of a block.
    pub fn text_of(&self, block: &Block) -> &str {
        &self.text[block.text.clone()]
    }
}

/// A run of characters without whitespace.
struct Piece {
    bytes: usize,
    characters: u32,
    /// Runs of letters and digits in it; of scripts that have no spaces between words each character is one.
    words: u32,
}

impl Piece {
    /// The run at the beginning of a text; `None`: there is none.
    fn of(text: &str) -> Option<Self> {
        let mut piece = Piece { bytes: text.len(), characters: 0, words: 0 };
        let mut is_in_word = false;
        for (at, character) in text.char_indices() {
            if character.is_whitespace() {
                piece.bytes = at;
                break;
            }
            // Most characters are ASCII.
            let (is_word, is_alone) = match character.is_ascii() {
                true => (character.is_ascii_alphanumeric() || character == '_', false),
                false => (is_word(character), is_of_script_without_spaces(character)),
            };
            piece.characters += 1;
            piece.words += u32::from(is_word && (is_alone || !is_in_word));
            is_in_word = is_word && !is_alone;
        }
        (piece.bytes > 0).then_some(piece)
    }
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
        assert_eq!(texts(html), ["one two", "three", "four\nfive", "six", "a\n  b"]);
    }

    #[test]
    fn code_keeps_its_lines() {
        let html = "<pre>\n  <b>if</b> x:\n    y()\n\nz()\n</pre><pre> \n </pre>";
        assert_eq!(texts(html), ["  if x:\n    y()\n\nz()"]);
        assert_eq!(texts("<pre><br>a<br>b<br><br>c</pre>"), ["a\nb\n\nc"]);
    }

    #[test]
    fn a_line_break_of_the_source_is_no_space_in_chinese() {
        assert_eq!(
            texts("<p>港口\n重建了。\n完<p>港口 重建<p>한국\n어"),
            ["港口重建了。完", "港口 重建", "한국 어"]
        );
    }

    #[test]
    fn what_no_browser_shows_is_left_out() {
        assert_eq!(texts("<p>har&shy;bour&#1;s"), ["harbours"]);
    }

    #[test]
    fn a_page_has_so_many_containers_at_most() {
        let blocks = Blocks::of(&parse(&"<p>".repeat(5 * MOST), &Limits::default()));
        assert!(blocks.containers.len() <= 4 * MOST && blocks.is_cut);
    }

    #[test]
    fn what_a_browser_does_not_show_within_a_line_is_no_text() {
        assert_eq!(
            texts("<p>Price <span style='display: none'>old 9</span> 5<i hidden>x</i></p>"),
            ["Price 5"]
        );
    }

    #[test]
    fn a_template_is_no_text_unless_it_is_a_shadow_root() {
        let html = "<my-card>a<template shadowrootmode=open><p>b</p><slot></slot></template></my-card><template>c</template>";
        assert_eq!(texts(html), ["a", "b"]);
    }

    #[test]
    fn a_link_that_ends_before_its_block_links_no_more_than_it_was_around() {
        let blocks =
            Blocks::of(&parse("<a href=/x><div><h1>Lamp</h1></a><p>Small</div>", &Limits::default()));
        assert_eq!(blocks.all.iter().map(|block| block.linked).collect::<Vec<_>>(), [4, 0]);
    }

    #[test]
    fn the_first_title_is_the_pages() {
        let html = "<head><noscript><img src=pixel></noscript><title>T</title></head><p>a<svg><title>b</title></svg>";
        let blocks = Blocks::of(&parse(html, &Limits::default()));
        assert_eq!((blocks.title.as_str(), blocks.text.as_str()), ("T", "a\n"));
    }

    #[test]
    fn a_page_has_so_many_blocks_at_most() {
        let blocks = Blocks::of(&parse(&"<p>a".repeat(MOST + 10), &Limits::default()));
        assert!(blocks.all.len() == MOST && blocks.is_cut);
    }
}
