//! Gradient-boosted trees, as `tools/text_model` writes them.
//!
//! Guarantees: bytes that are no model are refused, and no model reads beyond its nodes or runs for ever.

use wide::f32x8;

/// The beginning of a model, with the version of its layout.
const MAGIC: &[u8; 8] = b"lycotre2";

/// Bytes of a node.
const NODE: usize = 12;

/// Log odds beyond which a row is decided: what is left of the trees changes little.
const SURE: f32 = 3.5;

/// Rows that are asked about at once.
const LANES: usize = 8;

/// Leaves of a tree, at most: each is a bit.
const LEAVES: usize = 32;

/// In place of a feature: the node is a leaf.
const LEAF: u16 = u16::MAX;

/// A number of each row that is asked about.
type Column = [f32; LANES];

/// A question of a tree: is a feature at most a value?
#[derive(Clone, Copy, Debug)]
struct Question {
    feature: u16,
    value: f32,
    /// The leaves that it rules out where it is not, as bits.
    lower: f32,
}

/// A tree, as its questions in any order: the answer is the first leaf which none of them rules out. No step waits for the one before,
/// and several rows are asked at once ("QuickScorer", Lucchese et al., SIGIR 2015).
#[derive(Clone, Debug)]
struct Tree {
    questions: Vec<Question>,
    answers: [f32; LEAVES],
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    features: usize,
    trees: Vec<Tree>,
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
        let (sizes, mut rest) = rest.split_at_checked(trees.checked_mul(4)?)?;
        let mut model = Model { features, trees: Vec::new(), look, growth };
        for size in sizes.chunks_exact(4) {
            let size = u32::from_le_bytes(size.try_into().ok()?) as usize;
            let (nodes, others) = rest.split_at_checked(size.checked_mul(NODE)?)?;
            model.trees.push(Tree::of(nodes, features)?);
            rest = others;
        }
        rest.is_empty().then_some(model)
    }

    /// The probability of each row of some. What trees say of a row is not looked at any more when the sum of all is expected to be
    /// beyond [`SURE`]. width: of a row, which has the model's features at its beginning.
    pub fn probabilities(&self, rows: &[f32], width: usize) -> Vec<f32> {
        if width < self.features {
            return Vec::new();
        }
        let mut probabilities = Vec::with_capacity(rows.len() / width);
        let mut columns = vec![[0.0; LANES]; self.features];
        for some in rows.chunks(LANES * width) {
            let count = some.len() / width;
            for (lane, row) in some.chunks_exact(width).enumerate() {
                columns.iter_mut().zip(row).for_each(|(column, number)| column[lane] = *number);
            }
            let sums = self.sums(&columns, count);
            probabilities.extend(sums[..count].iter().map(|sum| 1.0 / (1.0 + (-sum).exp())));
        }
        probabilities
    }

    /// The log odds of some rows; of those after them, anything.
    fn sums(&self, columns: &[Column], count: usize) -> Column {
        let (mut sums, mut decided) = ([0.0; LANES], [None; LANES]);
        for (trees, growth) in self.trees.chunks(self.look).zip(&self.growth) {
            for tree in trees {
                sums.iter_mut().zip(tree.answer(columns)).for_each(|(sum, answer)| *sum += answer);
            }
            for (sum, decided) in sums.iter().zip(&mut decided) {
                let expected = sum * growth;
                *decided = decided.or((expected.abs() >= SURE).then_some(expected));
            }
            if decided[..count].iter().all(Option::is_some) {
                break;
            }
        }
        std::array::from_fn(|lane| decided[lane].unwrap_or(sums[lane]))
    }
}

impl Tree {
    /// Reads the nodes of a tree; `None`: these are none, or ask for other features, or have too many leaves.
    fn of(bytes: &[u8], features: usize) -> Option<Self> {
        let count = bytes.len() / NODE;
        let mut tree = Tree { questions: Vec::new(), answers: [0.0; LEAVES] };
        let mut leaves = 0;
        // Nodes to be visited, from the left; and questions whose lower leaves are all known then.
        let mut next = vec![Visit::Node(0)];
        while let Some(visit) = next.pop() {
            match visit {
                Visit::End { question, from } => {
                    let below = |leaves: usize| 1u64.wrapping_shl(leaves as u32).wrapping_sub(1) as u32;
                    tree.questions[question].lower = f32::from_bits(below(leaves) & !below(from));
                }
                Visit::Node(index) => {
                    let node = bytes.get(index * NODE..(index + 1) * NODE)?;
                    let short = |at: usize| Some(u16::from_le_bytes(node.get(at..at + 2)?.try_into().ok()?));
                    let value = f32::from_le_bytes(node.get(8..12)?.try_into().ok()?);
                    value.is_finite().then_some(())?;
                    if short(0)? == LEAF {
                        *tree.answers.get_mut(leaves)? = value;
                        leaves += 1;
                        continue;
                    }
                    let (low, high) = (usize::from(short(2)?), usize::from(short(4)?));
                    let is_inside = |step: usize| step > 0 && index + step < count;
                    if usize::from(short(0)?) >= features || !is_inside(low) || !is_inside(high) {
                        return None;
                    }
                    let question = tree.questions.len();
                    tree.questions.push(Question { feature: short(0)?, value, lower: 0.0 });
                    // Nodes that lead together again would not end; a tree has fewer questions than leaves.
                    (tree.questions.len() < LEAVES).then_some(())?;
                    next.extend([
                        Visit::Node(index + high),
                        Visit::End { question, from: leaves },
                        Visit::Node(index + low),
                    ]);
                }
            }
        }
        Some(tree)
    }

    /// Its answer to each row.
    fn answer(&self, columns: &[Column]) -> Column {
        let mut out = f32x8::ZERO;
        for question in &self.questions {
            let numbers = f32x8::from(columns[usize::from(question.feature)]);
            out |= numbers.simd_gt(f32x8::splat(question.value)) & f32x8::splat(question.lower);
        }
        out.to_array().map(|out| self.answers[out.to_bits().trailing_ones() as usize % LEAVES])
    }
}

/// What is visited when a tree is read.
#[derive(Clone, Copy, Debug)]
enum Visit {
    /// A node.
    Node(usize),
    /// The end of the leaves of a question's lower side, with how many leaves were before them.
    End { question: usize, from: usize },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A model as it is written.
    fn written(features: u32, look: u32, growth: &[f32], trees: &[Vec<(u16, u16, u16, f32)>]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        [features, trees.len() as u32, look]
            .into_iter()
            .for_each(|number| bytes.extend(number.to_le_bytes()));
        growth.iter().for_each(|growth| bytes.extend(growth.to_le_bytes()));
        trees.iter().for_each(|tree| bytes.extend((tree.len() as u32).to_le_bytes()));
        for (feature, low, high, value) in trees.iter().flatten() {
            [*feature, *low, *high, 0].into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    /// A model of one tree: is feature 1 at most 0.5?
    fn bytes() -> Vec<u8> {
        written(2, 1, &[1.0], &[vec![(1, 1, 2, 0.5), (LEAF, 0, 0, -3.0), (LEAF, 0, 0, 3.0)]])
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

    #[test]
    fn trees_that_grow_together_again_or_have_too_many_leaves_are_refused() {
        let question = |low, high| (0, low, high, 0.0);
        // Each question leads to the next one twice: a thousand leaves.
        let mut together = vec![question(1, 1); 10];
        together.push((LEAF, 0, 0, 1.0));
        assert!(Model::of(&written(1, 1, &[1.0], &[together]), 1).is_none());
        let chain = |leaves: usize| {
            let mut nodes = Vec::new();
            (1..leaves).for_each(|_| nodes.extend([question(1, 2), (LEAF, 0, 0, -1.0)]));
            nodes.push((LEAF, 0, 0, 1.0));
            Model::of(&written(1, 1, &[1.0], &[nodes]), 1)
        };
        assert!(chain(LEAVES).is_some_and(|model| model.probabilities(&[1.0], 1)[0] > 0.5));
        assert!(chain(LEAVES + 1).is_none());
    }

    /// A tree as it is written.
    #[derive(Clone, Debug)]
    enum Plain {
        Leaf(f32),
        Question(u16, f32, Box<[Plain; 2]>),
    }

    impl Plain {
        /// Trees of some questions about three features.
        fn any() -> impl Strategy<Value = Plain> {
            let number = (-4i8..4).prop_map(f32::from);
            let asks = |inner: BoxedStrategy<Plain>| {
                (0u16..3, (-4i8..4).prop_map(f32::from), [inner.clone(), inner])
                    .prop_map(|(feature, value, sides)| Plain::Question(feature, value, Box::new(sides)))
            };
            number.prop_map(Plain::Leaf).prop_recursive(6, 31, 2, asks)
        }

        /// Walks down the tree.
        fn answer(&self, row: &[f32]) -> f32 {
            match self {
                Plain::Leaf(value) => *value,
                Plain::Question(feature, value, sides) => {
                    sides[usize::from(row[usize::from(*feature)] > *value)].answer(row)
                }
            }
        }

        /// Its nodes: each one before those of its sides.
        fn nodes(&self) -> Vec<(u16, u16, u16, f32)> {
            match self {
                Plain::Leaf(value) => vec![(LEAF, 0, 0, *value)],
                Plain::Question(feature, value, sides) => {
                    let [low, high] = [sides[0].nodes(), sides[1].nodes()];
                    let first = (*feature, 1, 1 + low.len() as u16, *value);
                    [vec![first], low, high].concat()
                }
            }
        }
    }

    proptest! {
        #[test]
        fn trees_answer_as_who_walks_down_them(
            trees in proptest::collection::vec(Plain::any(), 1..9),
            rows in proptest::collection::vec([-4i8..4, -4i8..4, -4i8..4], 0..20),
        ) {
            let rows: Vec<_> = rows.iter().map(|row| row.map(f32::from)).collect();
            let growth = vec![1.0; trees.len()];
            let nodes: Vec<_> = trees.iter().map(Plain::nodes).collect();
            let model = Model::of(&written(3, 1, &growth, &nodes), 3).unwrap();
            let found = model.probabilities(&rows.concat(), 3);
            prop_assert_eq!(found.len(), rows.len());
            for (row, found) in rows.iter().zip(found) {
                let mut sum = 0.0;
                for tree in &trees {
                    sum += tree.answer(row);
                    if f32::abs(sum) >= SURE {
                        break;
                    }
                }
                prop_assert_eq!(found, 1.0 / (1.0 + (-sum).exp()));
            }
        }

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
