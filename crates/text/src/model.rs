//! Gradient-boosted trees, as `tools/text_model` writes them.
//!
//! Guarantees: bytes that are no model are refused, and no model reads beyond its nodes or runs for ever.

/// The beginning of a model, with the version of its layout.
const MAGIC: &[u8; 8] = b"lycotre2";

/// Bytes of a node.
const NODE: usize = 12;

/// Log odds beyond which a row is decided: what is left of the trees changes little.
const SURE: f32 = 3.5;

/// Rows that go down a tree side by side, and rows that are asked about by all trees before others are: these stay in the first cache.
const BESIDE: usize = 8;
const TOGETHER: usize = 32;

/// In place of a feature: the node is a leaf.
const LEAF: u16 = u16::MAX;

/// A node of a tree: a question, or an answer.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The feature that is looked at.
    feature: u16,
    /// Nodes further on for numbers that are at most the value, and for others; of a leaf 0.
    low: u16,
    high: u16,
    /// Where to divide; of a leaf its answer.
    value: f32,
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    features: usize,
    /// Where each tree begins.
    trees: Vec<u32>,
    nodes: Vec<Node>,
    /// How many trees are asked between two looks at what they say, and of each look how many times as large the sum of all trees is
    /// as that of those which were asked, in the mean.
    look: usize,
    growth: Vec<f32>,
}

impl Model {
    /// Reads a model for rows of so many features; `None`: it is none, or for others.
    pub fn of(bytes: &[u8], features: usize) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_at_checked(12)?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?) as usize);
        let (trees, look) = (number(4)?, number(8)?);
        if number(0)? != features || features == 0 || look == 0 {
            return None;
        }
        let (growth, rest) = rest.split_at_checked(trees.div_ceil(look).checked_mul(4)?)?;
        let growth: Vec<_> = growth
            .chunks_exact(4)
            .filter_map(|four| Some(f32::from_le_bytes(four.try_into().ok()?)))
            .collect();
        if !growth.iter().all(|growth| growth.is_finite() && *growth > 0.0) {
            return None;
        }
        let (sizes, rest) = rest.split_at_checked(trees.checked_mul(4)?)?;
        let mut model = Model { features, trees: Vec::new(), nodes: Vec::new(), look, growth };
        for size in sizes.chunks_exact(4) {
            model.trees.push(model.nodes.len() as u32);
            let size = u32::from_le_bytes(size.try_into().ok()?) as usize;
            let from = model.nodes.len().checked_mul(NODE)?;
            let nodes = rest.get(from..from.checked_add(size.checked_mul(NODE)?)?)?;
            for (index, node) in nodes.chunks_exact(NODE).enumerate() {
                model.nodes.push(read_node(node, (index, size), features)?);
            }
            (size > 0).then_some(())?;
        }
        (rest.len() == model.nodes.len() * NODE).then_some(model)
    }

    /// The answers of a tree to some rows, by where these begin. They go down the tree side by side, so that the processor does not wait
    /// for one of them.
    fn answer(&self, tree: u32, rows: &[f32], starts: [usize; BESIDE]) -> [f32; BESIDE] {
        let mut at = [tree as usize; BESIDE];
        loop {
            let mut moved = 0;
            for (at, start) in at.iter_mut().zip(starts) {
                let node = &self.nodes[*at];
                let is_low = rows[start + usize::from(node.feature)] <= node.value;
                let step = if is_low { node.low } else { node.high };
                *at += usize::from(step);
                moved |= step;
            }
            if moved == 0 {
                return at.map(|at| self.nodes[at].value);
            }
        }
    }

    /// The probability of each row of some. A row is not asked about any more when the sum of all trees is expected to be beyond
    /// [`SURE`]. width: of a row, which has the model's features at its beginning.
    pub fn probabilities(&self, rows: &[f32], width: usize) -> Vec<f32> {
        if width < self.features {
            return Vec::new();
        }
        let mut probabilities = Vec::with_capacity(rows.len() / width);
        for some in rows.chunks(TOGETHER * width) {
            let sums = self.sums(some, width);
            probabilities.extend(sums.iter().map(|sum| 1.0 / (1.0 + (-sum).exp())));
        }
        probabilities
    }

    /// The log odds of some rows.
    fn sums(&self, rows: &[f32], width: usize) -> Vec<f32> {
        let mut sums = vec![0.0f32; rows.len() / width];
        let mut unsure: Vec<usize> = (0..sums.len()).collect();
        for (trees, growth) in self.trees.chunks(self.look).zip(&self.growth) {
            for tree in trees {
                for some in unsure.chunks(BESIDE) {
                    // Where there are fewer, the last one goes several times.
                    let starts = std::array::from_fn(|place| some[place.min(some.len() - 1)] * width);
                    let answers = self.answer(*tree, rows, starts);
                    some.iter().zip(answers).for_each(|(index, answer)| sums[*index] += answer);
                }
            }
            unsure.retain(|index| {
                let expected = sums[*index] * growth;
                let is_unsure = expected.abs() < SURE;
                if !is_unsure {
                    sums[*index] = expected;
                }
                is_unsure
            });
            if unsure.is_empty() {
                break;
            }
        }
        sums
    }
}

/// Reads a node; `None`: it leads back, or out of its tree.
fn read_node(bytes: &[u8], (index, size): (usize, usize), features: usize) -> Option<Node> {
    let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let value = f32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?);
    let node = Node { feature: short(0)?, low: short(2)?, high: short(4)?, value };
    if node.feature == LEAF {
        return value.is_finite().then_some(Node { feature: 0, low: 0, high: 0, value });
    }
    let is_inside = |step: u16| step > 0 && index + usize::from(step) < size;
    let is_whole = usize::from(node.feature) < features && is_inside(node.low) && is_inside(node.high);
    (value.is_finite() && is_whole).then_some(node)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A model of one tree: is feature 1 at most 0.5?
    fn bytes() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        [2u32, 1, 1].into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(1f32.to_le_bytes());
        bytes.extend(3u32.to_le_bytes());
        for (feature, low, high, value) in [(1, 1, 2, 0.5f32), (LEAF, 0, 0, -3.0), (LEAF, 0, 0, 3.0)] {
            [feature, low, high, 0u16].into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_tree_asks_and_answers() {
        let found = Model::of(&bytes(), 2).unwrap().probabilities(&[9.0, 0.5, 0.0, 0.6], 2);
        assert!(found[0] < 0.05 && found[1] > 0.95, "{found:?}");
    }

    #[test]
    fn a_model_for_other_features_is_refused() {
        assert!(Model::of(&bytes(), 3).is_none());
        assert!(Model::of(&bytes()[..40], 2).is_none());
    }

    proptest! {
        #[test]
        fn damaged_models_are_refused_or_end(at in 0usize..64, byte in any::<u8>()) {
            let mut damaged = bytes();
            let at = at % damaged.len();
            damaged[at] = byte;
            if let Some(model) = Model::of(&damaged, 2) {
                model.probabilities(&[0.0, 0.0], 2);
            }
        }
    }
}
