//! Answers by name, until they expire.
//!
//! Guarantees: at most `capacity` names; an expired answer is never given; the oldest insertion goes first.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;

use hashbrown::HashMap;
use lycosa_url::{Failure, Micros};

/// What is known of a name, good or bad.
pub(crate) type Answer = Result<Vec<IpAddr>, Failure>;

/// The cache.
pub(crate) struct Cache {
    capacity: usize,
    inserted: u64,
    entries: HashMap<Rc<str>, Entry>,
    /// Names by insertion; a name that was inserted again stands here twice, and only its last place counts.
    order: VecDeque<(u64, Rc<str>)>,
}

/// One answer.
struct Entry {
    number: u64,
    expires: Micros,
    answer: Answer,
}

impl Cache {
    /// An empty cache.
    pub(crate) fn new(capacity: usize) -> Self {
        Cache { capacity, inserted: 0, entries: HashMap::new(), order: VecDeque::new() }
    }

    /// The answer for a name and until when it holds.
    pub(crate) fn lookup(&mut self, name: &str, now: Micros) -> Option<(Answer, Micros)> {
        let entry = self.entries.get(name)?;
        if entry.expires <= now {
            self.entries.remove(name);
            return None;
        }
        Some((entry.answer.clone(), entry.expires))
    }

    /// Holds an answer, in place of the name's earlier one.
    pub(crate) fn insert(&mut self, name: Rc<str>, answer: Answer, expires: Micros) {
        self.inserted += 1;
        self.order.push_back((self.inserted, name.clone()));
        self.entries.insert(name, Entry { number: self.inserted, expires, answer });
        while self.entries.len() > self.capacity || self.order.len() > self.capacity.saturating_mul(2) {
            let Some((number, name)) = self.order.pop_front() else { return };
            if self.entries.get(&name).is_some_and(|entry| entry.number == number) {
                self.entries.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(last: u8) -> Answer {
        Ok(vec![IpAddr::from([192, 0, 2, last])])
    }

    #[test]
    fn an_expired_answer_is_never_given() {
        let mut cache = Cache::new(10);
        cache.insert("a".into(), answer(1), 100);
        assert_eq!(cache.lookup("a", 99), Some((answer(1), 100)));
        assert_eq!(cache.lookup("a", 100), None);
        assert_eq!(cache.lookup("b", 0), None);
    }

    #[test]
    fn the_oldest_insertion_goes_first() {
        let mut cache = Cache::new(2);
        cache.insert("a".into(), answer(1), 100);
        cache.insert("b".into(), answer(2), 100);
        cache.insert("a".into(), answer(3), 100); // a is now younger than b
        cache.insert("c".into(), answer(4), 100);
        assert_eq!(cache.lookup("b", 0), None);
        assert_eq!(cache.lookup("a", 0), Some((answer(3), 100)));
        assert_eq!(cache.lookup("c", 0), Some((answer(4), 100)));
    }

    #[test]
    fn inserting_one_name_for_ever_keeps_the_order_short() {
        let mut cache = Cache::new(4);
        for turn in 0..1_000 {
            cache.insert("a".into(), answer(1), turn);
        }
        assert!(cache.order.len() <= 8);
        assert_eq!(cache.entries.len(), 1);
    }
}
