//! The elements that are open. Questions of scope are answered without a walk: of each tag the innermost element is known.

use crate::{NodeId, Tag};

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) id: NodeId,
    pub(super) tag: Tag,
    /// Whether it is in SVG or MathML.
    pub(super) is_foreign: bool,
}

/// An element with what is known of those around it; places count from 1, 0 is none.
#[derive(Clone, Copy, Debug)]
struct Placed {
    open: Open,
    /// The place of the next one of its tag around it.
    same: u16,
    /// The place of the innermost block, or end of a scope, that it is or is in.
    block: u16,
}

/// Open elements, the innermost one last.
pub(super) struct Stack {
    open: Vec<Placed>,
    /// The place of the innermost element of each tag: of HTML, and of SVG and MathML.
    last: [u16; 256],
    last_foreign: [u16; 256],
}

/// What ends the scope in which the start of an element is looked for (section 13.2.4.2 of the HTML Standard).
const SCOPE: [Tag; 7] = [Tag::Html, Tag::Table, Tag::Td, Tag::Th, Tag::Caption, Tag::Object, Tag::Template];

impl Default for Stack {
    fn default() -> Self {
        Stack { open: Vec::with_capacity(64), last: [0; 256], last_foreign: [0; 256] }
    }
}

impl Stack {
    /// Opens an element.
    pub(super) fn push(&mut self, open: Open) {
        let place = self.open.len() as u16 + 1;
        let is_block = !open.is_foreign && (open.tag.is_block() || SCOPE.contains(&open.tag));
        let block = if is_block { place } else { self.open.last().map_or(0, |outer| outer.block) };
        let last = self.last_of(open);
        let same = std::mem::replace(last, place);
        self.open.push(Placed { open, same, block });
    }

    /// Closes the innermost one.
    pub(super) fn pop(&mut self) {
        if let Some(placed) = self.open.pop() {
            *self.last_of(placed.open) = placed.same;
        }
    }

    /// Closes all but the outermost ones.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.open.len() > length {
            self.pop();
        }
    }

    /// Closes one; those within it stay open.
    pub(super) fn remove(&mut self, index: usize) {
        let inner: Vec<Open> =
            self.open.get(index + 1..).unwrap_or_default().iter().map(|inner| inner.open).collect();
        self.truncate(index);
        inner.into_iter().for_each(|open| self.push(open));
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The outermost one.
    pub(super) fn first(&self) -> Option<Open> {
        self.open.first().map(|placed| placed.open)
    }

    /// The innermost one.
    pub(super) fn last(&self) -> Option<Open> {
        self.open.last().map(|placed| placed.open)
    }

    /// One of them.
    pub(super) fn get(&self, index: usize) -> Option<Open> {
        self.open.get(index).map(|placed| placed.open)
    }

    /// Whether an element is open.
    pub(super) fn has(&self, tag: Tag) -> bool {
        self.last[tag as usize] > 0
    }

    /// The innermost open element of some tags.
    pub(super) fn innermost(&self, tags: &[Tag]) -> Option<usize> {
        usize::from(self.place(tags)).checked_sub(1)
    }

    /// The same, within the scope that its own elements and others end.
    pub(super) fn in_scope(&self, tags: &[Tag], ends: &[Tag]) -> Option<usize> {
        let place = self.place(tags);
        let is_inside = place >= self.place(&SCOPE) && place >= self.place(ends);
        is_inside.then(|| usize::from(place).checked_sub(1)).flatten()
    }

    /// The innermost open element of a tag, if no block and no scope begins in it.
    pub(super) fn beside_blocks(&self, tag: Tag) -> Option<usize> {
        let place = self.last[tag as usize];
        let block = self.open.last().map_or(0, |innermost| innermost.block);
        (place > block).then(|| usize::from(place).checked_sub(1)).flatten()
    }

    /// Whether a block is open in an open element.
    pub(super) fn has_block_in(&self, index: usize) -> bool {
        self.open.last().is_some_and(|innermost| usize::from(innermost.block) > index + 1)
    }

    /// The innermost open element of a tag of SVG or MathML that no HTML is in.
    pub(super) fn foreign(&self, tag: Tag) -> Option<usize> {
        let place = usize::from(self.last_foreign[tag as usize]);
        let is_inside = self.open.get(place.checked_sub(1)?..)?.iter().all(|placed| placed.open.is_foreign);
        is_inside.then_some(place - 1)
    }

    /// The outermost element of the SVG or MathML that is open.
    pub(super) fn foreign_root(&self) -> usize {
        let html = self.open.iter().rposition(|placed| !placed.open.is_foreign);
        html.map_or(0, |html| html + 1)
    }

    /// The place of the innermost of some tags.
    fn place(&self, tags: &[Tag]) -> u16 {
        tags.iter().map(|tag| self.last[*tag as usize]).max().unwrap_or(0)
    }

    /// Where the place of the innermost element like one is kept.
    fn last_of(&mut self, open: Open) -> &mut u16 {
        let last = if open.is_foreign { &mut self.last_foreign } else { &mut self.last };
        &mut last[open.tag as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAGS: [Tag; 7] = [Tag::Div, Tag::P, Tag::Span, Tag::Table, Tag::Td, Tag::Other, Tag::Svg];

    /// A plain stack that is walked through.
    #[derive(Default)]
    struct Model(Vec<Open>);

    impl Model {
        fn in_scope(&self, tag: Tag) -> Option<usize> {
            for (index, open) in self.0.iter().enumerate().rev() {
                if open.is_foreign {
                    continue;
                }
                if open.tag == tag {
                    return Some(index);
                }
                if SCOPE.contains(&open.tag) || open.tag == Tag::Button {
                    return None;
                }
            }
            None
        }

        fn beside_blocks(&self, tag: Tag) -> Option<usize> {
            for (index, open) in self.0.iter().enumerate().rev() {
                if open.is_foreign {
                    continue;
                }
                if open.tag == tag {
                    return Some(index);
                }
                if open.tag.is_block() || SCOPE.contains(&open.tag) {
                    return None;
                }
            }
            None
        }
    }

    proptest! {
        #[test]
        fn it_answers_as_a_walk_does(steps in prop::collection::vec((0usize..4, 0usize..7, any::<bool>(), 0usize..20), 0..60)) {
            let (mut stack, mut model) = (Stack::default(), Model::default());
            for (step, tag, is_foreign, at) in steps {
                let open = Open { id: 0, tag: TAGS[tag], is_foreign };
                match step {
                    0 | 1 => {
                        stack.push(open);
                        model.0.push(open);
                    }
                    2 => {
                        stack.pop();
                        model.0.pop();
                    }
                    _ if at < model.0.len() => {
                        stack.remove(at);
                        model.0.remove(at);
                    }
                    _ => {}
                }
                prop_assert_eq!(stack.len(), model.0.len());
                for tag in TAGS {
                    prop_assert_eq!(stack.in_scope(&[tag], &[Tag::Button]), model.in_scope(tag));
                    if !tag.is_block() && !SCOPE.contains(&tag) {
                        prop_assert_eq!(stack.beside_blocks(tag), model.beside_blocks(tag));
                    }
                }
            }
        }
    }
}
