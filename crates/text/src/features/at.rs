//! A block, with what is around it.

use crate::blocks::{Block, Container, Place};
use crate::figures::TextFigures;
use crate::surroundings::{Mixture, Outline, Shared};
use crate::tokens::Evidence;

use super::page::{Alike, Page};

/// Containers around a block whose figures are among its own.
pub(super) const AROUND: usize = 4;

/// A block, where it is.
pub(super) struct At<'a> {
    pub(super) page: &'a Page<'a>,
    pub(super) index: usize,
    pub(super) block: &'a Block,
    pub(super) text: &'a TextFigures,
    /// Its container, and those around it.
    pub(super) around: [u32; AROUND],
}

impl At<'_> {
    /// Its container.
    pub(super) fn container(&self) -> &Container {
        self.around(0)
    }

    /// A container around it.
    pub(super) fn around(&self, level: usize) -> &Container {
        &self.page.blocks.containers[self.around[level] as usize]
    }

    /// Its region.
    pub(super) fn region(&self) -> &Container {
        &self.page.blocks.containers[self.page.regions[self.around[0] as usize] as usize]
    }

    /// Whether it is within an element of some kind.
    pub(super) fn within(&self, place: Place) -> u8 {
        u8::from(self.container().within.has(place))
    }

    /// The number of the tag of a container around it.
    pub(super) fn tag(&self, level: usize) -> u8 {
        self.page.tree.tag(self.around(level).node) as u8
    }

    /// A block before or after it.
    pub(super) fn near(&self, offset: isize) -> Option<&Block> {
        self.page.blocks.all.get(self.index.checked_add_signed(offset)?)
    }

    /// The words of a block near it; -1: there is none.
    pub(super) fn words(&self, offset: isize) -> f32 {
        self.near(offset).map_or(-1.0, |block| ln(block.words))
    }

    /// The part of a block near it that is in links; -1: there is none.
    pub(super) fn linked(&self, offset: isize) -> f32 {
        self.near(offset).map_or(-1.0, |block| share(block.linked, block.characters))
    }

    /// The level of the heading that it, or a block near it, is in; 7: none. 8: there is no such block.
    pub(super) fn heading(&self, offset: isize) -> u8 {
        self.near(offset).map_or(8, |block| self.page.blocks.heading_of(block).unwrap_or(7))
    }

    /// What the headings above it say.
    pub(super) fn outline(&self) -> Outline {
        self.page.surroundings.outline(self.index)
    }

    /// The innermost container that it shares with the page's own heading.
    pub(super) fn with_title(&self) -> Shared {
        self.page.surroundings.with_title(self.page.blocks, self.index)
    }

    /// The innermost container that it shares with most of the page's prose.
    pub(super) fn with_prose(&self) -> Shared {
        self.page.surroundings.with_prose(self.page.blocks, self.index)
    }

    /// What a container around it consists of.
    pub(super) fn mixture(&self, level: usize) -> Mixture {
        self.page.surroundings.within(self.page.blocks, self.around[level])
    }

    /// What the blocks near it consist of.
    pub(super) fn near_mixture(&self) -> Mixture {
        self.page.surroundings.near(self.index)
    }

    /// Whether a block near it is in elements with the same tags and classes.
    pub(super) fn is_alike(&self, offset: isize) -> u8 {
        let path = self.container().path;
        let near = self.near(offset);
        u8::from(near.is_some_and(|near| self.page.blocks.containers[near.container as usize].path == path))
    }

    /// Whether a block near it ends a sentence.
    pub(super) fn ends(&self, offset: isize) -> u8 {
        let text = self.index.checked_add_signed(offset).and_then(|index| self.page.texts.get(index));
        u8::from(text.is_some_and(|text| text.ends_sentence))
    }

    /// What the classes around it say, by all pages (0) or by those of other kinds (1).
    pub(super) fn classes(&self, pages: usize) -> Evidence {
        self.page.of_classes[self.block.container as usize][pages]
    }

    /// What its words say.
    pub(super) fn words_say(&self, pages: usize) -> Evidence {
        self.page.of_words[self.index][pages]
    }

    /// What the heading before it says.
    pub(super) fn heading_says(&self, pages: usize) -> Evidence {
        self.page.of_headings[self.index][pages]
    }

    /// All blocks that are alike.
    pub(super) fn alike(&self) -> Alike {
        self.page.alike.get(&self.container().path).copied().unwrap_or_default()
    }
}
/// A count, on a scale on which twice as many are one step.
pub(super) fn ln(count: impl Into<u32>) -> f32 {
    (count.into() as f32 + 1.0).log2()
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: u32, whole: u32) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 }
}
