//! The elements that are open, with how many there are of each tag: most questions of scope need no walk.

use crate::{NodeId, Tag};

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) id: NodeId,
    pub(super) tag: Tag,
    /// Whether it is in SVG or MathML.
    pub(super) is_foreign: bool,
}

/// Open elements, the innermost one last.
pub(super) struct Stack {
    open: Vec<Open>,
    /// Of each tag; elements of SVG and MathML do not count.
    counts: [u16; 256],
}

impl Default for Stack {
    fn default() -> Self {
        Stack { open: Vec::with_capacity(64), counts: [0; 256] }
    }
}

impl std::ops::Deref for Stack {
    type Target = [Open];

    fn deref(&self) -> &[Open] {
        &self.open
    }
}

impl Stack {
    /// Opens an element.
    pub(super) fn push(&mut self, open: Open) {
        self.counts[open.tag as usize] += u16::from(!open.is_foreign);
        self.open.push(open);
    }

    /// Closes the innermost one.
    pub(super) fn pop(&mut self) {
        if let Some(open) = self.open.pop() {
            self.forget(open);
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
        let open = self.open.remove(index);
        self.forget(open);
    }

    /// An element is not open any more.
    fn forget(&mut self, open: Open) {
        self.counts[open.tag as usize] -= u16::from(!open.is_foreign);
    }

    /// Whether an element is open.
    pub(super) fn has(&self, tag: Tag) -> bool {
        self.counts[tag as usize] > 0
    }

    /// The innermost open element of some tags, within the scope that its own elements and others end.
    pub(super) fn in_scope(&self, tags: &[Tag], ends: &[Tag]) -> Option<usize> {
        if !tags.iter().any(|tag| self.has(*tag)) {
            return None;
        }
        for (index, open) in self.open.iter().enumerate().rev() {
            if tags.contains(&open.tag) && !open.is_foreign {
                return Some(index);
            }
            if open.tag.is_scope() || ends.contains(&open.tag) {
                return None;
            }
        }
        None
    }
}
