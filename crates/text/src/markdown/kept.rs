//! Which nodes of a page are written: the texts of the chosen blocks, the elements around them, and what is beside them.

use std::cell::Cell;

use lycosa_dom::{NONE, NodeId, Tag, Tree};
use lycosa_url::{Base, CrawlUrl};

use crate::blocks::{Blocks, is_invisible, is_left_out};

/// The nodes that are kept: texts of chosen blocks, all elements around them, and lines beside these.
pub(crate) struct Kept {
    kept: Vec<bool>,
    /// Elements with a block in them.
    divided: Vec<bool>,
    /// What addresses are resolved against, and how many bytes more they may become by that, all together: a long base with many short
    /// links would make much of little.
    base: Option<Base<'static>>,
    longer: Cell<usize>,
}

/// Bytes that addresses become longer, at most: besides four times what the page has.
const LONGER: usize = 16 << 10;

impl Kept {
    /// Of some blocks. url: see [`super::markdown`].
    pub(super) fn of(tree: &Tree, blocks: &Blocks, is_chosen: &[bool], url: &str) -> Self {
        let mut kept = vec![false; tree.len()];
        for (block, _) in blocks.all.iter().zip(is_chosen).filter(|(_, is_chosen)| **is_chosen) {
            let (mut node, last) = block.nodes;
            loop {
                if tree.text(node).is_some() {
                    keep(tree, node, &mut kept);
                }
                if node == last {
                    break;
                }
                // As the division into blocks has not gone into them.
                let is_skipped = tree.text(node).is_none()
                    && (is_left_out(tree, node) || (!tree.tag(node).is_block() && is_invisible(tree, node)));
                node = if is_skipped { tree.after(node) } else { tree.following(node) };
                if node == NONE {
                    break;
                }
            }
        }
        keep_between(tree, blocks, is_chosen, &mut kept);
        let mut divided = vec![false; tree.len()];
        for node in 1..tree.len() as NodeId {
            let (tag, mut up) = (tree.tag(node), tree.parent(node));
            if tag == Tag::Hr {
                kept[node as usize] = kept[up as usize];
            }
            if kept[node as usize] && (tag.is_block() || tag == Tag::Hr) {
                while up != NONE && !std::mem::replace(&mut divided[up as usize], true) {
                    up = tree.parent(up);
                }
            }
        }
        Kept { kept, divided, base: base_of(tree, url), longer: Cell::new(LONGER + 4 * tree.bytes()) }
    }

    /// Whether a node, or something in it, is kept.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.kept[node as usize]
    }

    /// An address as it is from elsewhere.
    pub(crate) fn resolved(&self, target: String) -> String {
        // A URL that is fetched has no fragment; an address that is read has.
        let (page, fragment) = target.find('#').map_or((&*target, ""), |at| target.split_at(at));
        let joined =
            self.base.as_ref().filter(|_| !page.is_empty()).and_then(|base| base.join_as_given(page).ok());
        let resolved = joined.map(|url| format!("{}{fragment}", url.as_str()));
        let more = resolved.as_ref().map_or(0, |resolved| resolved.len().saturating_sub(target.len()));
        match (resolved, self.longer.get().checked_sub(more)) {
            (Some(resolved), Some(left)) => {
                self.longer.set(left);
                resolved
            }
            _ => target,
        }
    }

    /// Whether a node has blocks in it.
    pub(super) fn is_divided(&self, node: NodeId) -> bool {
        self.divided[node as usize]
    }
}

/// What addresses of a page are resolved against; `None`: its own is not known.
fn base_of(tree: &Tree, url: &str) -> Option<Base<'static>> {
    let mut base = Base::new(&CrawlUrl::parse(url).ok()?).ok()?;
    let mut node = tree.first(Tree::ROOT);
    while node != NONE {
        if tree.tag(node) == Tag::Base
            && let Some(reference) = tree.attribute(node, "href")
        {
            // One that is none changes nothing.
            let _ = base.set(reference);
            break;
        }
        node = tree.following(node);
    }
    Some(base)
}

/// Keeps a node, and all elements around it.
fn keep(tree: &Tree, node: NodeId, kept: &mut [bool]) {
    let mut up = node;
    while up != NONE && !std::mem::replace(&mut kept[up as usize], true) {
        up = tree.parent(up);
    }
}

/// Keeps images and formulas in chosen blocks, and those between two of them: they may have an element without text of their own.
fn keep_between(tree: &Tree, blocks: &Blocks, is_chosen: &[bool], kept: &mut [bool]) {
    // Nodes are numbered in the order of the page, but for what was moved out of tables.
    let (mut next, mut before_it) = (0, NONE);
    for node in 1..tree.len() as NodeId {
        while blocks.all.get(next).is_some_and(|block| block.nodes.1 < node) {
            next += 1;
        }
        if !matches!(tree.tag(node), Tag::Img | Tag::Math) {
            continue;
        }
        // Behind an image that is loaded late the same one stands for those without scripts.
        let parent = tree.parent(node);
        let place =
            if parent != NONE && tree.tag(parent) == Tag::Noscript { tree.parent(parent) } else { parent };
        let is_again = place != parent && place == before_it;
        before_it = place;
        if is_again {
            continue;
        }
        let is_at = |block: usize| is_chosen.get(block).copied().unwrap_or(false);
        let is_inside = blocks.all.get(next).is_some_and(|block| block.nodes.0 < node);
        let before = next.checked_sub(1);
        let is_between = before.is_some_and(is_at) && is_at(next);
        let is_beside = || {
            let chosen = [before, Some(next)].into_iter().flatten().filter(|block| is_at(*block));
            let mut chosen = chosen.filter_map(|block| blocks.all.get(block));
            chosen.any(|block| is_in(tree, node, blocks.containers[block.container as usize].node))
        };
        if (is_inside && is_at(next)) || (!is_inside && (is_between || is_beside())) {
            keep(tree, node, kept);
        }
    }
}

/// Whether a node is in an element, or in one of the next elements in it.
fn is_in(tree: &Tree, node: NodeId, element: NodeId) -> bool {
    let mut up = node;
    (0..NEAR).any(|_| {
        up = if up == NONE { NONE } else { tree.parent(up) };
        up == element && up != NONE
    })
}

/// How far within the element of a text an image may be that belongs to it.
const NEAR: usize = 6;
