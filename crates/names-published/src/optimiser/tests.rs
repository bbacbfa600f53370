//! Tests of the guarantees of the optimiser, and comparison of the cache with a plain map.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use lycosa_names::cache::{Addresses, Trouble};

/// A resolution with one address and a TTL of a minute.
fn found(last: u8) -> Resolution {
    let addresses = Addresses { v4: vec![Ipv4Addr::new(192, 0, 2, last)], v6: Vec::new() };
    Resolution { answer: Answer::Addresses(addresses), ttl: 60, took: 20 }
}

/// A resolution without addresses.
fn failed(answer: Answer) -> Resolution {
    Resolution { answer, ttl: 60, took: 20 }
}

impl Optimiser {
    /// Inserts an address at second `now`.
    fn put(&mut self, name: &str, now: Seconds) {
        self.insert(HostName::new(name).unwrap(), Families::V4, &found(1), now);
    }

    /// Whether a name is a hit at second `now`.
    fn has(&mut self, name: &str, now: Seconds) -> bool {
        self.lookup(HostName::new(name).unwrap(), Families::V4, now).is_some()
    }

    /// The names due.
    fn due_names(&mut self, now: Seconds) -> Vec<Box<str>> {
        self.due(now, usize::MAX).into_iter().map(|(name, _)| name).collect()
    }

    /// All collisions; checks the limits.
    fn collisions(&self) -> Vec<Vec<(&str, u32)>> {
        assert!(self.count() <= self.settings.capacity as u64);
        assert!(self.refreshed.len() <= 3 * self.settings.capacity);
        self.tree.collisions()
    }
}

#[test]
fn in_a_collision_the_most_wanted_name_comes_first() {
    let mut cache = Optimiser::new(OptimiserSettings { capacity: 64, ..Default::default() }); // 16 leaf slots
    let names: Vec<String> = (0..64).map(|number| format!("host-{number}.example")).collect();
    for (times, name) in names.iter().enumerate() {
        cache.put(name, 0);
        assert!((0..times).all(|_| cache.has(name, 1)));
    }
    let collisions = cache.collisions();
    assert!(collisions.iter().any(|cells| cells.len() > 1));
    assert!(collisions.iter().all(|cells| cells.is_sorted_by(|one, other| one.1 > other.1)));
}

#[test]
fn a_name_in_use_is_due_once_after_the_period_and_holds_for_two() {
    let mut cache = Optimiser::new(OptimiserSettings { refresh: 100, ..Default::default() });
    for (name, now) in [("used.example", 0), ("unused.example", 0), ("later.example", 50)] {
        cache.put(name, now);
    }
    assert!(cache.has("used.example", 60) && cache.has("later.example", 60));
    assert!(cache.due_names(99).is_empty());
    assert_eq!(cache.due(100, 1), [("used.example".into(), Families::V4)]);
    assert!(cache.due_names(100).is_empty());
    cache.put("used.example", 110);
    assert_eq!(cache.due_names(160), [Box::from("later.example")]);
    assert!(cache.has("unused.example", 199) && !cache.has("unused.example", 200));
    assert!(cache.has("used.example", 309) && !cache.has("used.example", 310));
}

#[test]
fn a_name_that_is_used_when_its_turn_has_passed_is_due_at_once() {
    let mut cache = Optimiser::new(OptimiserSettings { refresh: 100, ..Default::default() });
    cache.put("late.example", 0);
    cache.put("other.example", 90);
    assert!(cache.due_names(120).is_empty());
    assert!(cache.has("late.example", 130) && cache.has("late.example", 130));
    assert_eq!(cache.due_names(130), [Box::from("late.example")]);
    assert!(cache.has("late.example", 131) && cache.due_names(131).is_empty());
}

#[test]
fn a_name_without_address_is_dropped_and_silence_changes_nothing() {
    let mut cache = Optimiser::new(OptimiserSettings::default());
    let name = HostName::new("a.example").unwrap();
    cache.insert(name, Families::V4, &failed(Answer::NoData), 0);
    assert_eq!(cache.count(), 0);
    cache.put("a.example", 0);
    let silence = Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 };
    cache.insert(name, Families::V4, &failed(silence), 1);
    assert!(cache.has("a.example", 1));
    cache.insert(name, Families::V4, &failed(Answer::NxDomain), 2);
    assert!(!cache.has("a.example", 2));
    assert!(cache.due_names(10_000).is_empty());
}

#[test]
fn what_is_wanted_outlives_what_is_asked_for_once() {
    let mut cache = Optimiser::new(OptimiserSettings { capacity: 100, ..Default::default() });
    for number in 0..50 {
        cache.put(&format!("wanted-{number}.example"), 0);
    }
    for number in 0..1_000 {
        cache.put(&format!("once-{number}.example"), 1);
        if number % 10 == 0 {
            assert!((0..50).filter(|number| cache.has(&format!("wanted-{number}.example"), 1)).count() >= 45);
        }
    }
    assert_eq!((cache.count(), cache.statistics().evictions), (100, 950));
}

proptest! {
    #[test]
    fn it_answers_as_a_map_does_as_long_as_all_fit(
        capacity in prop::sample::select(&[1_usize, 7, 20, 1_000][..]),
        steps in prop::collection::vec((0..10_u8, 0..20_u32, 0..700_u64), 0..150),
    ) {
        let mut cache = Optimiser::new(OptimiserSettings { capacity, refresh: 1_000, ..Default::default() });
        let (mut plain, mut now) = (HashMap::new(), 0);
        for (number, (what, which, passed)) in steps.into_iter().enumerate() {
            now += passed;
            let text = format!("h{which}.example");
            let name = HostName::new(&text).unwrap();
            match what {
                0..=3 => {
                    let got = cache.lookup(name, Families::V4, now).map(|found| found.answer);
                    let held = plain.get(&text).filter(|(since, _)| now < since + 2_000).map(|(_, answer)| answer);
                    prop_assert!(got.as_ref() == held || (capacity < 20 && got.is_none()));
                }
                4 => {
                    let (known, forgotten) = (plain.remove(&text).is_some(), cache.forget(name));
                    prop_assert!(known == forgotten || (capacity < 20 && known));
                }
                5 => {
                    for name in cache.due_names(now) {
                        let known = plain.get(&*name);
                        prop_assert!(known.is_some_and(|(since, _)| since + 1_000 <= now));
                    }
                }
                6 => {
                    plain.remove(&text);
                    cache.insert(name, Families::V4, &failed(Answer::NxDomain), now);
                }
                _ => {
                    let resolution = found(number as u8);
                    cache.insert(name, Families::V4, &resolution, now);
                    plain.insert(text, (now, resolution.answer));
                }
            }
            cache.collisions();
        }
    }
}
