//! Words that tell whether a block is of the main text: of the classes around it, of its own text, and of the heading before it.
//!
//! For each word that many sites have, a table has the logarithm of how much more often than others its blocks are of the main text.
//! Words are kept as hashes. Guarantees: bytes that are no table are refused; values are finite.

use std::collections::HashSet;

use lycosa_dom::{NodeId, Tree};

use crate::blocks::Blocks;

/// The beginning of tables, with the version of their layout.
const MAGIC: &[u8; 8] = b"lycotab2";

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the tag, the classes or the ID of an element around the block.
    Class,
    /// In the block.
    Text,
    /// In the heading before the block.
    Heading,
}

/// Their number.
pub const SOURCES: usize = 3;

/// Words of one element's attributes, at most.
const MOST: usize = 16;

/// How much less an element says than the one in it.
const DECAY: f32 = 0.7;

/// Values are kept in steps of this size.
const STEP: f32 = 1.0 / 32.0;

/// The values of words, by source: two of each word, of all pages, and of those that are neither articles nor documentation. What is
/// boilerplate there may be the text here.
#[derive(Clone, Debug, Default)]
pub struct Tables([Table; SOURCES]);

/// A hash table with linear probing, which is at most half full. A hash of 0 is an empty place. Values are in steps of [`STEP`]; both of a
/// word are found by one look.
#[derive(Clone, Debug, Default)]
struct Table(Vec<(u32, [i8; 2])>);

impl Tables {
    /// Reads tables; `None`: these are none.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut entries = [[&[][..]; SOURCES]; 2];
        for of_table in entries.iter_mut().flatten() {
            let (count, after) = rest.split_first_chunk::<4>()?;
            (*of_table, rest) =
                after.split_at_checked((u32::from_le_bytes(*count) as usize).checked_mul(5)?)?;
        }
        let [all, others] = entries;
        let tables = std::array::from_fn(|source| Table::of([all[source], others[source]]));
        rest.is_empty().then_some(Tables(tables))
    }

    /// The values of a word; 0: nothing is known of it.
    pub fn values(&self, source: Source, word: u32) -> [f32; 2] {
        self.0[source as usize].values(word)
    }

    /// What some words say, of all pages and of the others.
    pub fn evidence(&self, source: Source, words: &[u32]) -> [Evidence; 2] {
        let mut evidence = [Evidence::default(); 2];
        for word in words {
            let values = self.values(source, *word);
            evidence.iter_mut().zip(values).for_each(|(evidence, value)| evidence.add(value));
        }
        evidence.iter_mut().for_each(|evidence| evidence.mean = evidence.sum / words.len().max(1) as f32);
        evidence
    }
}

impl Table {
    /// Reads entries: hash and value.
    fn of(entries: [&[u8]; 2]) -> Self {
        let count = entries.map(|entries| entries.len() / 5).iter().sum::<usize>();
        let mut table = Table(vec![(0, [0; 2]); (count * 2).next_power_of_two()]);
        for (pages, entries) in entries.into_iter().enumerate() {
            for entry in entries.chunks_exact(5) {
                let hash = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
                if let Some(place) = table.place(hash) {
                    table.0[place].0 = hash;
                    table.0[place].1[pages] = entry[4].cast_signed();
                }
            }
        }
        table
    }

    /// Where a word is, or would be; `None`: it has no hash, or there are no places.
    fn place(&self, word: u32) -> Option<usize> {
        // Their number is a power of two.
        let mask = self.0.len().checked_sub(1)?;
        if word == 0 {
            return None;
        }
        let mut place = word.wrapping_mul(0x9e37_79b1).rotate_left(15) as usize & mask;
        while self.0[place].0 != word && self.0[place].0 != 0 {
            place = (place + 1) & mask;
        }
        Some(place)
    }

    /// The values of a word.
    fn values(&self, word: u32) -> [f32; 2] {
        let values = self.place(word).map_or([0; 2], |place| self.0[place].1);
        values.map(|value| f32::from(value) * STEP)
    }
}

/// What some words say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    pub(crate) mean: f32,
    pub(crate) most: f32,
    pub(crate) least: f32,
    pub(crate) sum: f32,
}

impl Evidence {
    /// Adds a word's value; the mean is the caller's.
    fn add(&mut self, value: f32) {
        self.most = self.most.max(value);
        self.least = self.least.min(value);
        self.sum += value;
    }

    /// Of an element, and of those around it.
    fn around(self, outer: Evidence) -> Self {
        Evidence {
            mean: self.mean,
            most: self.most.max(outer.most),
            least: self.least.min(outer.least),
            sum: self.sum + outer.sum * DECAY,
        }
    }
}

/// What the classes around each container say: `mean` of its own, and the rest of those around it as well.
pub fn of_containers(tree: &Tree, blocks: &Blocks, tables: &Tables) -> Vec<[Evidence; 2]> {
    let mut found: Vec<[Evidence; 2]> = Vec::with_capacity(blocks.containers.len());
    let mut words = Vec::new();
    for (index, container) in blocks.containers.iter().enumerate() {
        // Nobody asks for those without text.
        if container.blocks == 0 {
            found.push(Default::default());
            continue;
        }
        classes_of(tree, container.node, &mut words);
        let outer = if index == 0 { Default::default() } else { found[container.parent as usize] };
        let [all, others] = tables.evidence(Source::Class, &words);
        found.push([all.around(outer[0]), others.around(outer[1])]);
    }
    found
}

/// The words of an element's tag, classes and ID, as hashes, each once.
pub fn classes_of(tree: &Tree, element: NodeId, words: &mut Vec<u32>) {
    words.clear();
    words.push(0x811c_9dc5 ^ (tree.tag(element) as u32 + 1));
    for (name, value) in tree.attributes(element) {
        if !matches!(name, "class" | "id" | "itemprop" | "role") {
            continue;
        }
        let mut hash = 0u32;
        let mut before = b' ';
        for byte in value.bytes().chain([b' ']) {
            let is_new = byte.is_ascii_uppercase() && before.is_ascii_lowercase();
            if hash != 0 && (is_new || !(byte.is_ascii_alphabetic() || byte >= 0x80)) {
                words.push(std::mem::take(&mut hash));
            }
            if byte.is_ascii_alphabetic() || byte >= 0x80 {
                hash =
                    (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193).wrapping_add(1);
            }
            before = byte;
        }
        if words.len() >= MOST {
            break;
        }
    }
    words.truncate(MOST);
    words.sort_unstable();
    words.dedup();
}

/// Words of a text that tell something as a whole, at most: `related articles` does, a sentence does not.
const WHOLE: usize = 8;

/// Adds the hash of a short text as a whole to its words.
pub fn with_whole(words: &mut Vec<u32>, in_order: &[u32]) {
    if (2..=WHOLE).contains(&in_order.len()) {
        let hash = in_order
            .iter()
            .fold(0x51_7c_c1_b7u32, |hash, word| (hash.rotate_left(9) ^ word).wrapping_mul(0x9e37_79b1));
        words.push(hash.max(1));
    }
}

/// All words that tell something of each block, for training: by block and source.
pub fn words_of_blocks(tree: &Tree, blocks: &Blocks, around: usize) -> Vec<[Vec<u32>; SOURCES]> {
    let (mut words, mut found) = (Vec::new(), Vec::with_capacity(blocks.all.len()));
    let mut heading = Vec::new();
    for block in &blocks.all {
        let mut classes = HashSet::new();
        let mut at = block.container;
        for _ in 0..around {
            let container = &blocks.containers[at as usize];
            classes_of(tree, container.node, &mut words);
            classes.extend(words.iter().copied());
            if at == container.parent {
                break;
            }
            at = container.parent;
        }
        let mut text = crate::features::words_of(blocks.text_of(block));
        with_whole(&mut text, &crate::stated::words_of(blocks.text_of(block)));
        let is_heading =
            blocks.containers[block.container as usize].within.has(crate::blocks::Place::Heading);
        let before = if is_heading { std::mem::replace(&mut heading, text.clone()) } else { heading.clone() };
        found.push([classes.into_iter().collect(), text, before]);
    }
    found
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};
    use proptest::prelude::*;

    use super::*;

    /// Tables of which the first has some values.
    fn bytes(entries: &[(u32, i8)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_le_bytes());
        for (hash, value) in entries {
            bytes.extend(hash.to_le_bytes());
            bytes.push(value.cast_unsigned());
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn words_have_their_values() {
        let tables = Tables::of(&bytes(&[(7, 32), (9, -64)])).unwrap();
        let value = |word| tables.values(Source::Class, word)[0];
        assert_eq!([value(7), value(9), value(8), value(0)], [1.0, -2.0, 0.0, 0.0]);
        assert_eq!(tables.values(Source::Class, 7)[1], 0.0);
        assert_eq!(tables.values(Source::Text, 7), [0.0; 2]);
        let evidence = tables.evidence(Source::Class, &[7, 9, 8])[0];
        assert_eq!(
            (evidence.most, evidence.least, evidence.sum, evidence.mean),
            (1.0, -2.0, -1.0, -1.0 / 3.0)
        );
    }

    #[test]
    fn classes_are_words_in_lower_case() {
        let words = |html: &str| {
            let tree = parse(html, &Limits::default());
            let blocks = Blocks::of(&tree);
            let mut words = Vec::new();
            classes_of(&tree, blocks.containers[blocks.all[0].container as usize].node, &mut words);
            words
        };
        let two = words("<div class='side-bar'>x</div>");
        assert_eq!(two.len(), 3);
        assert_eq!(two, words("<div id=sideBar12>x</div>"));
        assert_ne!(two, words("<div class=sidebar>x</div>"));
    }

    proptest! {
        #[test]
        fn damaged_tables_are_refused_or_answer(at in 0usize..40, byte in any::<u8>(), word in any::<u32>()) {
            let mut damaged = bytes(&[(7, 32), (9, -64)]);
            let at = at % damaged.len();
            damaged[at] = byte;
            if let Some(tables) = Tables::of(&damaged) {
                prop_assert!(tables.values(Source::Class, word).iter().all(|value| value.is_finite()));
            }
        }
    }
}
