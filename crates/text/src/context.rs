//! What is known of a block once each block has a first probability: those of its neighbours, of the elements around it, and of blocks
//! that are alike. A second model decides by these and by what was known before.

use hashbrown::HashMap;

use crate::blocks::Blocks;

/// Blocks before and after a block whose probabilities are among its own numbers.
const NEAR: isize = 4;

/// Containers around a block whose probabilities are among its own numbers.
const AROUND: usize = 5;

/// How many numbers a block has.
pub const COUNT: usize = 2 * NEAR as usize + 2 * AROUND + 9;

/// A sum of probabilities, by words.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f32,
    words: f32,
    most: f32,
}

impl Mean {
    /// Adds a block.
    fn add(&mut self, probability: f32, words: f32) {
        self.sum += probability * words;
        self.words += words;
        self.most = self.most.max(probability);
    }

    /// The mean; -1 of nothing.
    fn mean(self) -> f32 {
        if self.words > 0.0 { self.sum / self.words } else { -1.0 }
    }
}

/// What first probabilities tell of a page.
#[derive(Debug)]
pub struct Context<'a> {
    blocks: &'a Blocks,
    first: &'a [f32],
    of_containers: Vec<Mean>,
    /// Of blocks whose elements have the same path.
    alike: HashMap<u32, Mean>,
    whole: Mean,
    runs: Vec<Run>,
}

impl<'a> Context<'a> {
    /// Of a page. first: a probability of each block.
    pub fn of(blocks: &'a Blocks, first: &'a [f32]) -> Self {
        let mut of_containers = vec![Mean::default(); blocks.containers.len()];
        let mut alike = HashMap::<u32, Mean>::new();
        let mut whole = Mean::default();
        for (block, probability) in blocks.all.iter().zip(first) {
            let (container, words) = (block.container as usize, block.words.max(1) as f32);
            of_containers[container].add(*probability, words);
            alike.entry(blocks.containers[container].path).or_default().add(*probability, words);
            whole.add(*probability, words);
        }
        // A container comes after the one around it.
        for index in (1..of_containers.len()).rev() {
            let inner = of_containers[index];
            let outer = &mut of_containers[blocks.containers[index].parent as usize];
            outer.sum += inner.sum;
            outer.words += inner.words;
            outer.most = outer.most.max(inner.most);
        }
        Context { blocks, first, of_containers, alike, whole, runs: runs(first) }
    }

    /// Writes the numbers of the blocks from one on, [`COUNT`] of each, at the end of each row.
    pub fn write(&self, from: usize, rows: &mut [f32], width: usize) {
        let (blocks, first) = (self.blocks, self.first);
        let mut numbers = Vec::with_capacity(COUNT);
        for (index, row) in (from..blocks.all.len()).zip(rows.chunks_exact_mut(width)) {
            numbers.clear();
            numbers.push(first[index]);
            for offset in (-NEAR..0).chain(1..=NEAR) {
                let near = index.checked_add_signed(offset).and_then(|near| first.get(near));
                numbers.push(near.copied().unwrap_or(-1.0));
            }
            let own = blocks.all[index].container as usize;
            let mut container = own;
            for _ in 0..AROUND {
                let mean = self.of_containers[container];
                numbers.extend([mean.mean(), mean.most]);
                container = blocks.containers[container].parent as usize;
            }
            let same = self.alike.get(&blocks.containers[own].path).copied().unwrap_or_default();
            numbers.extend([same.mean(), same.most, self.whole.mean(), self.whole.most]);
            let run = self.runs[index];
            numbers.extend([run.before, run.after, run.share_before, run.share_after]);
            row[width - COUNT..].copy_from_slice(&numbers);
        }
    }
}

/// How far the next likely blocks are.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Blocks since the last one with a probability of a half, and to the next one.
    before: f32,
    after: f32,
    /// The part of all probability before the block, and behind it.
    share_before: f32,
    share_after: f32,
}

/// The runs of all blocks.
fn runs(first: &[f32]) -> Vec<Run> {
    let total: f32 = first.iter().sum::<f32>().max(1e-6);
    let mut runs = vec![Run::default(); first.len()];
    let (mut distance, mut sum) = (99.0f32, 0.0);
    for (run, probability) in runs.iter_mut().zip(first) {
        (run.before, run.share_before) = (distance, sum / total);
        sum += probability;
        distance = if *probability >= 0.5 { 0.0 } else { (distance + 1.0).min(99.0) };
    }
    distance = 99.0;
    for (run, probability) in runs.iter_mut().zip(first).rev() {
        run.after = distance;
        run.share_after = 1.0 - run.share_before - probability / total;
        distance = if *probability >= 0.5 { 0.0 } else { (distance + 1.0).min(99.0) };
    }
    runs
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    #[test]
    fn each_block_has_its_numbers() {
        let blocks = Blocks::of(&parse("<p>a<p>b<div>c</div>", &Limits::default()));
        let mut rows = vec![f32::NAN; 3 * (COUNT + 1)];
        Context::of(&blocks, &[0.9, 0.5, 0.1]).write(0, &mut rows, COUNT + 1);
        assert_eq!(rows.iter().filter(|number| number.is_nan()).count(), 3, "what is before them stays");
        assert_eq!(&rows[COUNT + 2..COUNT + 8], [0.5, -1.0, -1.0, -1.0, 0.9, 0.1]);
    }
}
