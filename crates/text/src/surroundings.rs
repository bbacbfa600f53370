//! Where a block stands among the others: under which headings, how near to the page's own heading and to most of its prose, and what
//! the elements around it consist of.
//!
//! Guarantees: time is linear in the number of blocks and containers.

use crate::blocks::Blocks;
use crate::figures::TextFigures;
use crate::tokens::Evidence;

/// Elements around a block whose first words are looked at.
const LEADS: usize = 6;

/// Words of a block that may be the heading of the element that it begins, at most.
const SHORT: u32 = 8;

/// Blocks before and after a block that are looked at together.
const NEAR: usize = 5;

/// Sums over the blocks of a page: of those in a range, one difference.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    characters: u32,
    linked: u32,
    words: u32,
    prose: u32,
    prices: u32,
    sentences: u32,
    headings: u32,
    digits: u32,
}

/// What a range of blocks consists of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixture {
    /// Of its characters, those in links, in prose, and digits.
    pub(crate) linked: f32,
    pub(crate) prose: f32,
    pub(crate) digits: f32,
    /// Of each block.
    pub(crate) words: f32,
    pub(crate) prices: f32,
    pub(crate) sentences: f32,
    pub(crate) headings: f32,
}

/// A container that a block shares with something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared {
    /// Its part of the page's text, and how much of that is in links.
    pub(crate) part: f32,
    pub(crate) linked: f32,
    /// How far below it the block is.
    pub(crate) below: u16,
}

/// What the headings above a block say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outline {
    pub(crate) depth: u8,
    pub(crate) sum: f32,
    pub(crate) least: f32,
    pub(crate) most: f32,
}

/// Where all blocks of a page stand.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Before each block, and at the end.
    sums: Vec<Sums>,
    outlines: Vec<Outline>,
    /// Of each container the first block in it, and what that says if it may be a heading.
    first: Vec<u32>,
    leads: Vec<f32>,
    /// Of each container the innermost one that the page's own heading, and most of its prose, is in, too.
    with_title: Vec<u32>,
    with_prose: Vec<u32>,
}

impl Surroundings {
    /// Of a page. headings: of each block its level, or 7. title: the page's own heading.
    pub fn of(
        blocks: &Blocks,
        texts: &[TextFigures],
        said: &[[Evidence; 2]],
        headings: &[u8],
        title: Option<usize>,
    ) -> Self {
        let mut found = Surroundings { outlines: outlines(said, headings), ..Surroundings::default() };
        found.sum(blocks, texts, headings);
        found.find_leads(blocks, said);
        let title = title.and_then(|at| blocks.all.get(at)).map_or(0, |block| block.container);
        found.with_title = nearest(blocks, title);
        found.with_prose = nearest(blocks, found.most_of_prose(blocks));
        found
    }

    /// Adds up all blocks.
    fn sum(&mut self, blocks: &Blocks, texts: &[TextFigures], headings: &[u8]) {
        let mut sums = Sums::default();
        self.sums.push(sums);
        for ((block, text), heading) in blocks.all.iter().zip(texts).zip(headings) {
            sums.characters += block.characters;
            sums.linked += block.linked;
            sums.words += block.words;
            sums.prose += if block.is_prose() { block.characters } else { 0 };
            sums.prices += u32::from(text.currencies > 0 && text.digits > 0);
            sums.sentences += text.sentences;
            sums.headings += u32::from(*heading < 7);
            sums.digits += text.digits;
            self.sums.push(sums);
        }
    }

    /// Finds the first block of each container, and what it says.
    fn find_leads(&mut self, blocks: &Blocks, said: &[[Evidence; 2]]) {
        self.first = vec![u32::MAX; blocks.containers.len()];
        for (index, block) in blocks.all.iter().enumerate().rev() {
            self.first[block.container as usize] = index as u32;
        }
        // A container comes after the one around it.
        for index in (1..blocks.containers.len()).rev() {
            let parent = blocks.containers[index].parent as usize;
            self.first[parent] = self.first[parent].min(self.first[index]);
        }
        let lead =
            |(container, first): (&crate::blocks::Container, &u32)| match blocks.all.get(*first as usize) {
                Some(block) if container.blocks > 1 && block.words <= SHORT => said[*first as usize][0].mean,
                _ => 0.0,
            };
        self.leads = blocks.containers.iter().zip(&self.first).map(lead).collect();
    }

    /// The innermost container with most of the page's prose.
    fn most_of_prose(&self, blocks: &Blocks) -> u32 {
        let prose = |container: usize| {
            let (first, count) =
                (self.first[container] as usize, blocks.containers[container].blocks as usize);
            match self.sums.get(first.saturating_add(count)) {
                Some(end) => end.prose - self.sums[first].prose,
                None => 0,
            }
        };
        let all = prose(0);
        let with_most = (0..blocks.containers.len()).rev().find(|container| prose(*container) * 2 > all);
        with_most.unwrap_or(0) as u32
    }

    /// What the headings above a block say.
    pub fn outline(&self, block: usize) -> Outline {
        self.outlines[block]
    }

    /// What begins the containers around a block: the least of it.
    pub fn worst_lead(&self, blocks: &Blocks, block: usize) -> f32 {
        0.0_f32.min(self.leads_around(blocks, block).fold(f32::MAX, f32::min))
    }

    /// The greatest of it.
    pub fn best_lead(&self, blocks: &Blocks, block: usize) -> f32 {
        self.leads_around(blocks, block).fold(0.0, f32::max)
    }

    /// All of it.
    fn leads_around(&self, blocks: &Blocks, block: usize) -> impl Iterator<Item = f32> {
        let mut container = blocks.all[block].container;
        (0..LEADS).map(move |_| {
            let lead = self.leads[container as usize];
            container = blocks.containers[container as usize].parent;
            lead
        })
    }

    /// What a container consists of.
    pub fn within(&self, blocks: &Blocks, container: u32) -> Mixture {
        let first = self.first[container as usize] as usize;
        self.mixture(first, first.saturating_add(blocks.containers[container as usize].blocks as usize))
    }

    /// What the blocks near a block consist of.
    pub fn near(&self, block: usize) -> Mixture {
        self.mixture(block.saturating_sub(NEAR), (block + NEAR + 1).min(self.sums.len() - 1))
    }

    /// What some blocks consist of.
    fn mixture(&self, from: usize, to: usize) -> Mixture {
        let (Some(start), Some(end)) = (self.sums.get(from), self.sums.get(to)) else {
            return Mixture::default();
        };
        let blocks = (to - from).max(1) as f32;
        let characters = (end.characters - start.characters).max(1) as f32;
        Mixture {
            linked: (end.linked - start.linked) as f32 / characters,
            prose: (end.prose - start.prose) as f32 / characters,
            digits: (end.digits - start.digits) as f32 / characters,
            words: ((end.words - start.words) as f32 / blocks).min(400.0),
            prices: (end.prices - start.prices) as f32 / blocks,
            sentences: (end.sentences - start.sentences) as f32 / blocks,
            headings: (end.headings - start.headings) as f32 / blocks,
        }
    }

    /// The innermost container that a block shares with the page's own heading.
    pub fn with_title(&self, blocks: &Blocks, block: usize) -> Shared {
        shared(blocks, block, &self.with_title)
    }

    /// The innermost container that a block shares with most of the page's prose.
    pub fn with_prose(&self, blocks: &Blocks, block: usize) -> Shared {
        shared(blocks, block, &self.with_prose)
    }
}

/// What the headings above each block say. A heading ends those of its level and of the levels below.
fn outlines(said: &[[Evidence; 2]], headings: &[u8]) -> Vec<Outline> {
    let mut open: Vec<(u8, f32)> = Vec::new();
    let outline = |(said, heading): (&[Evidence; 2], &u8)| {
        if *heading < 7 {
            open.retain(|(level, _)| level < heading);
            open.push((*heading, said[0].mean));
        }
        let values = || open.iter().map(|(_, value)| *value);
        Outline {
            depth: open.len() as u8,
            sum: values().sum(),
            least: values().fold(0.0, f32::min),
            most: values().fold(0.0, f32::max),
        }
    };
    said.iter().zip(headings).map(outline).collect()
}

/// Of each container the innermost one around it that is also around another one.
fn nearest(blocks: &Blocks, other: u32) -> Vec<u32> {
    let mut is_around = vec![false; blocks.containers.len()];
    let mut at = other;
    while !is_around[at as usize] {
        is_around[at as usize] = true;
        at = blocks.containers[at as usize].parent;
    }
    let mut found = Vec::with_capacity(is_around.len());
    for (index, container) in blocks.containers.iter().enumerate() {
        found.push(if is_around[index] { index as u32 } else { found[container.parent as usize] });
    }
    found
}

/// What is known of a container that a block shares.
fn shared(blocks: &Blocks, block: usize, with: &[u32]) -> Shared {
    let own = &blocks.containers[blocks.all[block].container as usize];
    let container = &blocks.containers[with[blocks.all[block].container as usize] as usize];
    Shared {
        part: container.characters as f32 / blocks.containers[0].characters.max(1) as f32,
        linked: container.linked as f32 / container.characters.max(1) as f32,
        below: own.depth.saturating_sub(container.depth),
    }
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    /// Of a page whose headings are known, and of which the first block is the title.
    fn surroundings(html: &str, headings: &[u8], said: &[f32]) -> (Blocks, Surroundings) {
        let blocks = Blocks::of(&parse(html, &Limits::default()));
        let texts: Vec<_> = blocks.all.iter().map(|block| TextFigures::of(blocks.text_of(block))).collect();
        let said: Vec<_> =
            said.iter().map(|mean| [Evidence { mean: *mean, ..Evidence::default() }; 2]).collect();
        let found = Surroundings::of(&blocks, &texts, &said, headings, Some(0));
        (blocks, found)
    }

    #[test]
    fn headings_hold_until_one_of_their_level() {
        let html = "<h1>a</h1><h2>b</h2><h3>c</h3><p>d</p><h2>e</h2><p>f</p>";
        let (_, found) = surroundings(html, &[1, 2, 3, 7, 2, 7], &[1.0, -2.0, 0.5, 0.0, 0.25, 0.0]);
        let last = found.outline(5);
        assert_eq!((last.depth, last.sum, last.least, last.most), (2, 1.25, 0.0, 1.0));
        assert_eq!((found.outline(3).depth, found.outline(3).least), (3, -2.0));
    }

    #[test]
    fn an_element_begins_with_what_it_is_about() {
        let html = "<div><div>Related</div><ul><li>a<li>b</ul></div><p>c</p>";
        let (blocks, found) = surroundings(html, &[7; 4], &[-1.5, 0.0, 0.0, 0.0]);
        assert_eq!((found.worst_lead(&blocks, 2), found.best_lead(&blocks, 2)), (-1.5, 0.0));
    }

    #[test]
    fn a_block_is_near_to_the_prose_or_not() {
        let prose = "word ".repeat(30);
        let html = format!("<h1>t</h1><main><p>{prose}</p><p>{prose}</p><p>x</p></main><div><p>y</p></div>");
        let (blocks, found) = surroundings(&html, &[1, 7, 7, 7, 7], &[0.0; 5]);
        assert!(found.with_prose(&blocks, 3).part < found.with_prose(&blocks, 4).part);
        assert_eq!(found.with_title(&blocks, 3).part, 1.0);
        assert_eq!(found.near(3).headings, 0.2);
    }

    #[test]
    fn nothing_is_around_nothing() {
        let (blocks, found) = surroundings("", &[], &[]);
        assert_eq!(found.within(&blocks, 0).words, 0.0);
    }
}
