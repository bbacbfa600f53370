//! Tests of the guarantees of the regions, and comparison of both with a plain map.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use lycosa_names::cache::{Addresses, Answer, Trouble};

/// One address, resolved in `took` milliseconds.
fn found(last: u8, took: u32, ttl: u32) -> Resolution {
    let addresses = Addresses { v4: vec![Ipv4Addr::new(192, 0, 2, last)], v6: Vec::new() };
    Resolution { answer: Answer::Addresses(addresses), ttl, took }
}

/// A small cache.
fn regions(settings: RegionsSettings) -> Regions {
    Regions::new(settings)
}

impl Regions {
    /// Inserts a resolution at second `now`.
    fn put(&mut self, name: &str, resolution: &Resolution, now: Seconds) {
        self.insert(HostName::new(name).unwrap(), Families::V4, resolution, now);
    }

    /// The class of a name's answer at second `now`.
    fn class(&mut self, name: &str, now: Seconds) -> Option<Class> {
        self.lookup(HostName::new(name).unwrap(), Families::V4, now).map(|found| found.class)
    }

    /// The names at and below a name, sorted.
    fn sorted(&self, name: &str) -> Vec<&str> {
        let mut names = self.under(HostName::new(name).unwrap());
        names.sort_unstable();
        names
    }
}

#[test]
fn a_name_is_classed_by_time_and_success_and_moves_with_them() {
    let mut cache = regions(RegionsSettings::default());
    let failed =
        Resolution { answer: Answer::Failed { trouble: Trouble::TimeOut, attempts: 2 }, ttl: 0, took: 5_000 };
    cache.put("a.example", &found(1, 499, 60), 0);
    assert_eq!((cache.class("a.example", 59), cache.class("a.example", 60)), (Some(Class::Fast), None));
    cache.put("a.example", &found(1, 500, 60), 100);
    assert_eq!((cache.class("a.example", 100), cache.forward.count()), (Some(Class::Slow), 0));
    cache.put("a.example", &failed, 200);
    assert_eq!((cache.class("a.example", 201), cache.class("a.example", 202)), (Some(Class::Failed), None));
    cache.put("a.example", &found(1, 20, 60), 300);
    assert_eq!(
        (cache.class("a.example", 300), cache.reverse.count(), cache.count()),
        (Some(Class::Fast), 0, 1)
    );
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (4, 2));
}

#[test]
fn a_failure_leaves_addresses_that_hold() {
    let mut cache = regions(RegionsSettings::default());
    let failed =
        Resolution { answer: Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 }, ttl: 0, took: 5_000 };
    for (name, took, class) in [("fast.example", 20, Class::Fast), ("slow.example", 900, Class::Slow)] {
        cache.put(name, &found(1, took, 60), 0);
        cache.put(name, &failed, 30);
        assert_eq!(cache.class(name, 59), Some(class));
        cache.put(name, &failed, 60); // the earlier answers have expired
        assert_eq!(cache.class(name, 60), Some(Class::Failed));
    }
}

#[test]
fn by_dots_only_names_of_two_and_three_dots_have_an_address() {
    let mut cache = regions(RegionsSettings { levels: Levels::Dots, ..RegionsSettings::default() });
    for name in ["baidu.com", "pan.baidu.com", "a.pan.baidu.com", "x.a.pan.baidu.com"] {
        cache.put(name, &found(1, 20, 60), 0);
    }
    assert_eq!(cache.sorted("baidu.com"), ["a.pan.baidu.com", "pan.baidu.com"]);
    assert_eq!((cache.class("baidu.com", 1), cache.class("x.a.pan.baidu.com", 1)), (None, None));
    assert_eq!((cache.count(), cache.statistics().refused), (2, 2));
}

#[test]
fn by_public_suffix_every_name_has_an_address() {
    let mut cache = regions(RegionsSettings::default());
    for name in ["foo.co.uk", "www.foo.co.uk", "c.b.a.foo.co.uk", "bar.co.uk"] {
        cache.put(name, &found(1, 20, 60), 0);
    }
    assert_eq!(cache.sorted("foo.co.uk"), ["c.b.a.foo.co.uk", "foo.co.uk", "www.foo.co.uk"]);
    assert_eq!(cache.sorted("a.foo.co.uk"), ["c.b.a.foo.co.uk"]); // the host between has no address itself
    assert!(cache.forget(HostName::new("c.b.a.foo.co.uk").unwrap()));
    cache.forward.check();
    assert_eq!(cache.sorted("a.foo.co.uk"), [""; 0]);
}

#[test]
fn names_not_used_since_the_median_go_when_one_is_too_many() {
    let mut cache = regions(RegionsSettings { deeper: 4, hosts: 2, ..RegionsSettings::default() });
    for name in ["1.h.a.com", "2.h.a.com", "3.h.a.com", "4.h.a.com"] {
        cache.put(name, &found(1, 20, 60), 0);
    }
    assert_eq!(cache.class("1.h.a.com", 0), Some(Class::Fast)); // within the same second, but later
    cache.put("5.h.a.com", &found(1, 20, 60), 0);
    assert_eq!(cache.sorted("a.com"), ["1.h.a.com", "4.h.a.com", "5.h.a.com"]);
    for name in ["b.com", "c.com", "d.com"] {
        cache.put(name, &found(1, 20, 60), 0); // hosts and domains have a separate limit
    }
    assert_eq!((cache.class("b.com", 0), cache.class("d.com", 0)), (None, Some(Class::Fast)));
    assert_eq!((cache.count(), cache.statistics().evictions), (5, 3));
    cache.forward.check();
}

#[test]
fn in_a_full_conflict_area_the_lightest_gives_way() {
    let mut cache = regions(RegionsSettings { reverse: 8, ..RegionsSettings::default() });
    for number in 0..8 {
        cache.put(&format!("{number}.example"), &found(1, 1_000 + 100 * number, 86_400), 0);
    }
    assert_eq!(cache.reverse.check()[0][0], "7.example");
    assert_eq!(cache.class("0.example", 7_200), Some(Class::Slow)); // used: now the heaviest
    cache.put("new.example", &found(1, 600, 86_400), 7_200);
    assert_eq!((cache.class("1.example", 7_200), cache.class("0.example", 7_200)), (None, Some(Class::Slow)));
    assert_eq!((cache.class("new.example", 7_200), cache.statistics().evictions), (Some(Class::Slow), 1));
    cache.reverse.check();
}

#[test]
fn what_is_light_and_was_not_refreshed_within_the_period_goes() {
    let mut cache = regions(RegionsSettings { light: 100.0, period: 3_600, ..RegionsSettings::default() });
    cache.put("light.example", &found(1, 500, 1_000_000), 0);
    cache.put("heavy.example", &found(1, 5_000, 1_000_000), 0);
    cache.put("late.example", &found(1, 500, 1_000_000), 3 * 3_600 - 1);
    cache.put("x.example", &found(1, 500, 1_000_000), 3 * 3_600); // weights: 62, 622, 500
    assert_eq!(cache.class("light.example", 3 * 3_600), None);
    assert_eq!(cache.class("heavy.example", 3 * 3_600), Some(Class::Slow));
    assert_eq!((cache.class("late.example", 3 * 3_600), cache.reverse.count()), (Some(Class::Slow), 3));
}

#[test]
fn the_cost_is_the_formula() {
    let worth = Worth { took: 800, ttl: 1_000, remaining: 500, idle: 7_200 };
    assert_eq!(Weight::COST.of(&worth), 100.0);
    assert_eq!(Weight::COST.of(&Worth { ttl: 0, remaining: 0, ..worth }), 0.0);
    let halves_in_half_an_hour = Weight { recency: 2.0, ..Weight::RECENCY };
    assert_eq!(halves_in_half_an_hour.of(&worth), 62.5);
    let none = Weight { time: f64::NAN, ..Weight::COST };
    let mut cache = regions(RegionsSettings { weight: none, ..RegionsSettings::default() });
    cache.put("a.example", &found(1, 900, 60), 0);
    assert_eq!(cache.class("a.example", 1), Some(Class::Slow), "NaN counts as weight 0");
}

#[test]
fn the_weight_decides_who_gives_way() {
    for (weight, gone) in [(Weight::TIME, "quick.example"), (Weight::RECENCY, "old.example")] {
        let mut cache = regions(RegionsSettings { reverse: 8, weight, ..RegionsSettings::default() });
        cache.put("old.example", &found(1, 5_000, 86_400), 0);
        cache.put("quick.example", &found(1, 500, 86_400), 100);
        for number in 0..7 {
            cache.put(&format!("{number}.example"), &found(1, 1_000, 86_400), 100);
        }
        assert_eq!(cache.class(gone, 100), None, "{weight:?}");
        assert_eq!(cache.count(), 8);
    }
}

proptest! {
    #[test]
    fn each_named_weight_is_its_formula_and_none_is_beyond_numbers(
        (took, ttl, remaining, idle) in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>()),
        (time, left, recency) in (0.0..=10.0, 0.0..=10.0, 0.0..=10.0),
    ) {
        let worth = Worth { took, ttl, remaining: remaining.min(ttl), idle };
        let share = f64::from(worth.remaining) / f64::from(ttl.max(1));
        let halved = (-(idle as f64) / 3_600.0).exp2();
        prop_assert_eq!(Weight::COST.of(&worth), f64::from(took) * share * halved);
        prop_assert_eq!(Weight::TIME.of(&worth), f64::from(took));
        prop_assert_eq!(Weight::RECENCY.of(&worth), 1_000.0 * halved);
        let weight = Weight { time, ttl: left, recency };
        prop_assert!(weight.of(&worth).is_finite() && weight.of(&worth) >= 0.0, "{weight:?}");
        // The weight never decreases in a parameter.
        let slower = Worth { took: took.saturating_add(1_000), ..worth };
        let asked = Worth { idle: idle / 2, ..worth };
        prop_assert!(weight.of(&slower) >= weight.of(&worth) && weight.of(&asked) >= weight.of(&worth));
    }
}

/// Names of all levels.
fn names() -> impl Strategy<Value = String> {
    let domain = prop::sample::select(&["a.com", "b.com", "c.co.uk", "co.uk", "localhost", "d.example"][..]);
    let below = prop::sample::select(&["", "", "www.", "h.", "1.h.", "2.h.", "x.1.h.", "y.x.1.h."][..]);
    (below, domain).prop_map(|(below, domain)| format!("{below}{domain}"))
}

proptest! {
    #[test]
    fn they_answer_as_a_map_does_as_long_as_all_fit(
        dots in any::<bool>(),
        space in prop::sample::select(&[3_usize, 10, 8_000][..]),
        steps in prop::collection::vec((0..10_u8, names(), 0..2_000_u64, 0..1_000_u32), 1..150),
    ) {
        let levels = if dots { Levels::Dots } else { Levels::PublicSuffix };
        let settings = RegionsSettings { levels, deeper: space, hosts: space, reverse: space, light: 0.0, ..Default::default() };
        let (mut cache, mut plain, mut now) = (Regions::new(settings), HashMap::new(), 0);
        for (what, text, passed, took) in steps {
            now += passed;
            let name = HostName::new(&text).unwrap();
            match what {
                0..=4 => {
                    let got = cache.lookup(name, Families::V4, now);
                    let held = plain.get(&text).filter(|held: &&Found| held.expires > Some(now));
                    if space < 8_000 {
                        prop_assert!(got.is_none() || got.as_ref() == held); // never another answer
                    } else {
                        prop_assert_eq!(got.as_ref(), held);
                    }
                }
                5 => {
                    let known = plain.remove(&text).is_some();
                    let forgotten = cache.forget(name);
                    prop_assert!(!forgotten || known);
                }
                _ => {
                    let resolution = match what {
                        6 => Resolution { answer: Answer::NxDomain, ttl: 600, took },
                        7 => Resolution { answer: Answer::Failed { trouble: Trouble::TimeOut, attempts: 255 }, ttl: 0, took },
                        _ => found(what, took, 1_200),
                    };
                    let held = cache.lookup(name, Families::V4, now); // names in `plain` may have been evicted
                    let known = held.is_some_and(|found| matches!(found.answer, Answer::Addresses(_)));
                    cache.put(&text, &resolution, now);
                    let class = resolution.class(SLOW);
                    let ttl = match class { Class::Failed => u64::from(negative_ttl(&resolution)), _ => 1_200 };
                    if known && matches!(resolution.answer, Answer::Failed { .. }) {
                        // valid addresses stay
                    } else if class == Class::Fast && levels.path(&text).is_none() {
                        plain.remove(&text);
                    } else {
                        plain.insert(text, Found { answer: resolution.answer, expires: Some(now + ttl), class });
                    }
                }
            }
            cache.forward.check();
            let areas = cache.reverse.check();
            prop_assert!(areas.iter().flatten().all(|name| cache.forward.find(name).is_none()));
        }
    }
}
