//! A block, with what is around it.

use std::sync::LazyLock;

use crate::blocks::{Block, Container, Place};
use crate::figures::TextFigures;
use crate::surroundings::{Mixture, Outline, Shared};
use crate::tokens::Evidence;

use super::page::{Alike, Page};

/// Containers around a block whose figures are among its own.
const AROUND: usize = 4;

/// A block, where it is.
pub(super) struct At<'a> {
    pub(super) page: &'a Page<'a>,
    pub(super) index: usize,
    pub(super) block: &'a Block,
    pub(super) text: &'a TextFigures,
    /// Its container, and those around it.
    around: [&'a Container; AROUND],
    pub(super) region: &'a Container,
    /// All blocks that are alike.
    pub(super) alike: Alike,
    /// What the headings above it say.
    pub(super) outline: Outline,
    /// The innermost container that it shares with the page's own heading, and with most of the page's prose.
    pub(super) with_title: Shared,
    pub(super) with_prose: Shared,
    /// What the container around its own consists of, and the one around two more; and the blocks near it.
    pub(super) mixtures: [Mixture; 2],
    pub(super) near_mixture: Mixture,
    /// What the classes around it say, its words, and the heading before it: by all pages, and by those of other kinds.
    pub(super) classes: [Evidence; 2],
    pub(super) words_say: [Evidence; 2],
    pub(super) heading_says: [Evidence; 2],
}

impl<'a> At<'a> {
    /// A block of a page.
    pub(super) fn of(page: &'a Page<'a>, index: usize) -> Self {
        let (blocks, surroundings) = (page.blocks, &page.surroundings);
        let block = &blocks.all[index];
        let mut numbers = [0; AROUND];
        let mut container = block.container;
        for number in &mut numbers {
            *number = container;
            container = blocks.containers[container as usize].parent;
        }
        let around = numbers.map(|number| &blocks.containers[number as usize]);
        At {
            page,
            index,
            block,
            text: &page.texts[index],
            around,
            region: &blocks.containers[page.regions[block.container as usize] as usize],
            alike: page.alike.get(&around[0].path).copied().unwrap_or_default(),
            outline: surroundings.outline(index),
            with_title: surroundings.with_title(blocks, index),
            with_prose: surroundings.with_prose(blocks, index),
            mixtures: [1, 3].map(|level: usize| surroundings.within(blocks, numbers[level])),
            near_mixture: surroundings.near(index),
            classes: page.of_classes[block.container as usize],
            words_say: page.of_words[index],
            heading_says: page.of_headings[index],
        }
    }

    /// Its container.
    pub(super) fn container(&self) -> &Container {
        self.around(0)
    }

    /// A container around it.
    pub(super) fn around(&self, level: usize) -> &Container {
        self.around[level]
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
}

/// A count, on a scale on which twice as many are one step.
pub(super) fn ln(count: impl Into<u32>) -> f32 {
    /// Of the counts that are usual: dozens are asked for of each block.
    static KNOWN: LazyLock<[f32; 4096]> = LazyLock::new(|| std::array::from_fn(|count| log(count as u32)));
    let count = count.into();
    KNOWN.get(count as usize).copied().unwrap_or_else(|| log(count))
}

/// The same, calculated.
fn log(count: u32) -> f32 {
    (count as f32 + 1.0).log2()
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: u32, whole: u32) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 }
}
