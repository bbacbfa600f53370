//! Tests of the guarantees of async-lru, and comparison of the cache with a literal model of the paper.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use lycosa_names::cache::{Addresses, Trouble};

/// A resolution with one address and a TTL of a day.
fn found(last: u8) -> Resolution {
    let addresses = Addresses { v4: vec![Ipv4Addr::new(192, 0, 2, last)], v6: Vec::new() };
    Resolution { answer: Answer::Addresses(addresses), ttl: 86_400, took: 20 }
}

/// A resolution without addresses.
fn failed(answer: Answer) -> Resolution {
    Resolution { answer, ttl: 60, took: 20 }
}

/// A small cache.
fn cache(capacity: usize, buckets: usize) -> AsyncLru {
    AsyncLru::new(AsyncLruSettings { capacity, buckets, ..AsyncLruSettings::default() })
}

impl AsyncLru {
    /// Inserts an address at second `now`.
    fn put(&mut self, name: &str, last: u8, now: Seconds) {
        self.insert(HostName::new(name).unwrap(), Families::V4, &found(last), now);
    }

    /// Whether a name is a hit at second `now`.
    fn has(&mut self, name: &str, now: Seconds) -> bool {
        self.lookup(HostName::new(name).unwrap(), Families::V4, now).is_some()
    }

    /// The usable list from its head; checks that chains and list are consistent.
    fn list(&self) -> Vec<&str> {
        let (mut names, mut at, mut before) = (Vec::new(), self.node(HEAD).next, HEAD);
        while at != HEAD {
            assert_eq!(self.node(at).previous, before);
            assert_eq!(self.find(self.bucket(&self.node(at).name), &self.node(at).name).0, Some(at));
            names.push(&*self.node(at).name);
            (before, at) = (at, self.node(at).next);
        }
        let chained: usize = (0..self.buckets.len()).map(|bucket| self.find(bucket, "").1).sum();
        let bytes: usize = self.nodes.iter().map(Node::heap).sum();
        assert_eq!((names.len() as u64, chained, bytes), (self.count(), names.len(), self.heap));
        names
    }
}

#[test]
fn a_new_name_stands_after_the_head_and_takes_the_tail_when_no_node_is_free() {
    let mut cache = cache(3, 7);
    for name in ["a", "b", "c"] {
        cache.put(name, 1, 0);
    }
    assert_eq!(cache.list(), ["c", "b", "a"]);
    cache.put("d", 1, 0);
    assert_eq!(cache.list(), ["d", "c", "b"]);
    assert!(cache.forget(HostName::new("c").unwrap()) && !cache.has("c", 0));
    cache.put("e", 1, 0); // takes the free node
    assert_eq!(cache.list(), ["e", "d", "b"]);
    assert_eq!((cache.statistics().evictions, cache.statistics().insertions), (1, 5));
}

#[test]
fn a_hit_moves_a_name_one_place_forward() {
    let mut cache = cache(3, 7);
    for name in ["a", "b", "c"] {
        cache.put(name, 1, 0);
    }
    for expected in [["c", "a", "b"], ["a", "c", "b"], ["a", "c", "b"]] {
        assert!(cache.has("a", 1));
        assert_eq!(cache.list(), expected);
    }
}

#[test]
fn an_answer_holds_for_the_own_period_and_is_refreshed_in_place() {
    let mut cache = cache(3, 7);
    for name in ["a", "b", "c"] {
        cache.put(name, 1, 100);
    }
    assert!(cache.has("c", 1_899) && !cache.has("a", 1_900));
    assert_eq!(cache.list(), ["c", "b", "a"]); // a miss moves nothing
    cache.put("a", 2, 1_900);
    assert_eq!(cache.list(), ["c", "a", "b"]);
    let name = HostName::new("a").unwrap();
    let got = cache.lookup(name, Families::V4, 1_900).unwrap();
    assert_eq!(got, Found { answer: found(2).answer, expires: Some(3_700), class: Class::Fast });
    assert_eq!(cache.lookup(name, Families::V6, 1_900), None); // the other family was not resolved
}

#[test]
fn failures_are_not_cached() {
    let mut cache = cache(3, 7);
    let name = HostName::new("a").unwrap();
    cache.insert(name, Families::V4, &failed(Answer::NxDomain), 0);
    assert_eq!((cache.count(), cache.statistics().insertions), (0, 0));
    cache.put("a", 1, 0);
    let silence = Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 };
    cache.insert(name, Families::V4, &failed(silence), 1);
    assert!(cache.has("a", 1)); // a failure changes nothing
    cache.insert(name, Families::V4, &failed(Answer::NoData), 1);
    assert!(!cache.has("a", 1)); // a negative answer invalidates
}

#[test]
fn the_hash_is_the_papers() {
    let cache = cache(3, 21_911);
    assert_eq!(cache.bucket(""), 5_381);
    assert_eq!(cache.bucket("a"), (5_381 * 33 + 97) % 21_911);
    assert_eq!(cache.bucket("ab"), ((5_381 * 33 + 97) * 33 + 98) % 21_911);
}

#[test]
fn names_that_share_a_chain_on_purpose_make_no_long_chain() {
    let mut cache = cache(1_000, 1);
    for number in 0..1_000 {
        cache.put(&format!("host-{number}.example"), 1, 0);
    }
    assert_eq!(cache.count(), MAX_CHAIN as u64);
    assert_eq!(cache.list().first(), Some(&"host-999.example"));
}

/// Model of the paper's text: a list of name, address and time; the head is before its first element.
#[derive(Default)]
struct Literal(Vec<(String, Answer, Option<Seconds>)>);

impl Literal {
    fn transpose(&mut self, at: usize) {
        if at > 0 {
            self.0.swap(at, at - 1);
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(own, ..)| own == name)
    }

    fn lookup(&mut self, name: &str, now: Seconds) -> Option<Answer> {
        let at = self.place(name)?;
        self.0[at].2.filter(|created| now < created + 1_800)?;
        let answer = self.0[at].1.clone();
        self.transpose(at);
        Some(answer)
    }

    fn insert(&mut self, name: &str, answer: &Answer, now: Seconds, capacity: usize) {
        match (answer, self.place(name)) {
            (Answer::Addresses(_), Some(at)) => {
                (self.0[at].1, self.0[at].2) = (answer.clone(), Some(now));
                self.transpose(at);
            }
            (Answer::Addresses(_), None) => {
                self.0.truncate(capacity - 1);
                self.0.insert(0, (name.to_owned(), answer.clone(), Some(now)));
            }
            (Answer::NxDomain | Answer::NoData, Some(at)) => self.0[at].2 = None,
            (_, _) => (),
        }
    }
}

proptest! {
    #[test]
    fn it_does_what_the_paper_says(
        capacity in 1..6_usize,
        buckets in 1..5_usize,
        steps in prop::collection::vec((0..10_u8, 0..12_u32, 0..700_u64), 0..120),
    ) {
        let mut cache = cache(capacity, buckets);
        let (mut literal, mut now) = (Literal::default(), 0);
        for (number, (what, which, passed)) in steps.into_iter().enumerate() {
            now += passed;
            let text = format!("h{which}.example");
            let name = HostName::new(&text).unwrap();
            match what {
                0..=4 => {
                    let got = cache.lookup(name, Families::V4, now).map(|found| found.answer);
                    prop_assert_eq!(got, literal.lookup(&text, now));
                }
                5 => {
                    let known = literal.place(&text).map(|at| literal.0.remove(at)).is_some();
                    prop_assert_eq!(cache.forget(name), known);
                }
                _ => {
                    let resolution = match what {
                        6 => failed(Answer::NxDomain),
                        7 => failed(Answer::Failed { trouble: Trouble::ServerFailure, attempts: 1 }),
                        _ => found(number as u8),
                    };
                    cache.insert(name, Families::V4, &resolution, now);
                    literal.insert(&text, &resolution.answer, now, capacity);
                }
            }
            prop_assert_eq!(cache.list(), literal.0.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>());
        }
    }
}
