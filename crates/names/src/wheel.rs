//! A timer wheel: deadlines of numbered items, set, moved and removed in constant time (Varghese & Lauck 1987,
//! scheme 6).
//!
//! Guarantees, which the test checks: no item is returned before its deadline; a due item is returned once, as
//! soon as [`TICK`] has passed, unless it was removed before.

use lycosa_url::Micros;

/// The width of a slot. Deadlines that are multiples of it are exact; others are late by less than it.
pub(crate) const TICK: Micros = 10_000;

/// Slots; a rotation takes 10 s. Later deadlines are skipped once per rotation.
const SLOTS: usize = 1_024;

/// No node.
const NONE: u32 = u32::MAX;

/// An item's deadline, and its neighbours in the slot.
#[derive(Clone, Copy)]
struct Node {
    /// [`NONE`] if the item has no deadline.
    slot: u32,
    deadline: Micros,
    before: u32,
    after: u32,
}

/// The wheel. Items are numbered densely, from 0.
pub(crate) struct Wheel {
    heads: Box<[u32]>,
    nodes: Vec<Node>,
    /// The tick up to which all due items were returned.
    swept: u64,
    count: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel { heads: vec![NONE; SLOTS].into(), nodes: Vec::new(), swept: 0, count: 0 }
    }
}

impl Wheel {
    /// Sets the deadline of an item that has none.
    pub(crate) fn set(&mut self, thing: u32, deadline: Micros) {
        let place = thing as usize;
        if self.nodes.len() <= place {
            self.nodes.resize(place + 1, Node { slot: NONE, deadline: 0, before: NONE, after: NONE });
        }
        // A deadline in the past is due at the next tick.
        let slot = deadline.div_ceil(TICK).max(self.swept + 1) as usize % SLOTS;
        let after = std::mem::replace(&mut self.heads[slot], thing);
        if let Some(next) = self.nodes.get_mut(after as usize) {
            next.before = thing;
        }
        self.nodes[place] = Node { slot: slot as u32, deadline, before: NONE, after };
        self.count += 1;
    }

    /// Removes the deadline of an item, if it has one.
    pub(crate) fn clear(&mut self, thing: u32) {
        let Some(node) = self.nodes.get_mut(thing as usize).filter(|node| node.slot != NONE) else { return };
        let Node { slot, before, after, .. } = *node;
        node.slot = NONE;
        match self.nodes.get_mut(before as usize) {
            Some(previous) => previous.after = after,
            None => self.heads[slot as usize] = after,
        }
        if let Some(next) = self.nodes.get_mut(after as usize) {
            next.before = before;
        }
        self.count -= 1;
    }

    /// Removes and returns a due item.
    pub(crate) fn pop(&mut self, now: Micros) -> Option<u32> {
        let last = now / TICK;
        if self.count == 0 || last.saturating_sub(self.swept) > SLOTS as u64 {
            // Nothing to sweep; or more than a rotation, in which every slot is swept once.
            self.swept = self.swept.max(if self.count == 0 { last } else { last - SLOTS as u64 });
        }
        while self.swept < last {
            let mut thing = self.heads[(self.swept + 1) as usize % SLOTS];
            while let Some(node) = self.nodes.get(thing as usize).copied() {
                if node.deadline <= now {
                    self.clear(thing);
                    return Some(thing);
                }
                thing = node.after;
            }
            self.swept += 1;
        }
        None
    }

    /// Whether no item has a deadline.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Near and far deadlines, and steps of time between them.
    fn events() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
        let ahead = prop_oneof![0..50_000_u64, 0..5_000_000_u64, 0..60_000_000_u64];
        let step = prop_oneof![4 => 0..30_000_u64, 1 => 0..40_000_000_u64];
        proptest::collection::vec((0..40_u32, ahead, step), 1..200)
    }

    proptest! {
        #[test]
        fn what_is_due_comes_out_once_and_in_time(start in 0..2_000_000_000_000_u64, events in events()) {
            let (mut wheel, mut model, mut now) = (Wheel::default(), BTreeMap::new(), start);
            prop_assert_eq!(wheel.pop(now), None);
            for (thing, ahead, step) in events {
                if model.remove(&thing).is_some() {
                    wheel.clear(thing);
                } else {
                    wheel.set(thing, now + ahead);
                    model.insert(thing, now + ahead);
                }
                now += step;
                while let Some(out) = wheel.pop(now) {
                    let deadline = model.remove(&out);
                    prop_assert!(deadline.is_some_and(|deadline| deadline <= now), "{} at {}", out, now);
                }
                let late = model.values().find(|deadline| **deadline + 2 * TICK < now);
                prop_assert_eq!(late, None);
                prop_assert_eq!(wheel.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn a_deadline_of_whole_ticks_is_exact() {
        let mut wheel = Wheel::default();
        wheel.pop(60_000_000);
        wheel.set(0, 62_000_000);
        assert_eq!(wheel.pop(61_999_999), None);
        assert_eq!(wheel.pop(62_000_000), Some(0));
        assert_eq!(wheel.pop(90_000_000), None);
    }
}
