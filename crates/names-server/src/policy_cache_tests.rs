use std::net::IpAddr;

use lycosa_names::cache::compact::CompactSettings;
use lycosa_names::cache::{Addresses, Trouble};

use super::*;
use crate::policy::Zones;

const NOW: Seconds = 1_800_000_000;

fn held(policy: Policy) -> PolicyCache {
    let settings = CompactSettings {
        capacity: 1_000,
        negative_capacity: Some(0),
        negative_ttl: 900,
        min_ttl: 60,
        ..CompactSettings::default()
    };
    let cache = CompactCache::in_memory(settings, NOW, None).unwrap();
    PolicyCache { cache: Arc::new(cache), policy: Arc::new(RwLock::new(Arc::new(policy))) }
}

fn name(text: &str) -> HostName<'_> {
    HostName::new(text).unwrap()
}

fn addresses(texts: &[&str], ttl: u32) -> Resolution {
    let addresses = Addresses::new(texts.iter().map(|text| text.parse::<IpAddr>().unwrap()));
    Resolution { answer: Answer::Addresses(addresses), ttl, took: 1 }
}

fn failure() -> Resolution {
    Resolution { answer: Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 }, ttl: 0, took: 1 }
}

fn known(held: &mut PolicyCache, text: &str, families: Families, at: Seconds) -> Option<String> {
    held.lookup(name(text), families, at).map(|found| match found.answer {
        Answer::Addresses(Addresses { v4, v6 }) => {
            let v4 = v4.iter().map(ToString::to_string);
            v4.chain(v6.iter().map(ToString::to_string)).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    })
}

#[test]
fn the_families_of_a_name_stand_side_by_side() {
    let mut held = held(Policy::default());
    held.insert(name("a.example"), Families::V4, &addresses(&["192.0.2.1"], 3_600), NOW);
    held.insert(name("a.example"), Families::V6, &addresses(&["2001:db8::1"], 3_600), NOW);
    assert_eq!(known(&mut held, "a.example", Families::V4, NOW).as_deref(), Some("192.0.2.1"));
    assert_eq!(known(&mut held, "a.example", Families::V6, NOW).as_deref(), Some("2001:db8::1"));
    let none = Resolution { answer: Answer::NoData, ttl: 900, took: 1 };
    held.insert(name("b.example"), Families::V4, &addresses(&["192.0.2.2"], 3_600), NOW);
    held.insert(name("b.example"), Families::V6, &none, NOW);
    assert_eq!(known(&mut held, "b.example", Families::V4, NOW).as_deref(), Some("192.0.2.2"));
    assert_eq!(known(&mut held, "b.example", Families::V6, NOW).as_deref(), Some("NoData"));
    held.insert(name("c.example"), Families::V6, &none, NOW);
    held.insert(name("c.example"), Families::V4, &none, NOW);
    assert_eq!(known(&mut held, "c.example", Families::V6, NOW).as_deref(), Some("NoData"));
    assert_eq!(known(&mut held, "c.example", Families::V4, NOW).as_deref(), Some("NoData"));
}

#[test]
fn ttls_follow_the_policy() {
    let keep_ttl = Zones::new(["dyn.example".into()]);
    let mut held = held(Policy { min_ttl: 600, max_ttl: 3_600, keep_ttl, ..Policy::default() });
    let now = NOW + 30; // within a minute, not at its start
    let mut ends = |text: &str, ttl| {
        held.insert(name(text), Families::V4, &addresses(&["192.0.2.1"], ttl), now);
        held.lookup(name(text), Families::V4, now).and_then(|found| found.expires).map(|at| at - now)
    };
    for ttl in [5, 600, 630] {
        assert!(
            ends("short.example", ttl).is_some_and(|left| (600..=659).contains(&left)),
            "never cut: {ttl}"
        );
    }
    assert!(ends("long.example", 90_000).is_some_and(|left| (3_540..=3_600).contains(&left)));
    assert!(ends("a.dyn.example", 7_200).is_some_and(|left| (7_140..=7_200).contains(&left)));
    assert_eq!(ends("b.dyn.example", 5), None, "too short to be cached");
}

#[test]
fn a_minimum_below_a_minute_lengthens_nothing_beyond_it() {
    for min_ttl in [0, 1, 30, 59] {
        let mut held = held(Policy { min_ttl, ..Policy::default() });
        for (ttl, is_kept) in [(5, false), (59, false), (90, true)] {
            held.insert(name("a.example"), Families::V4, &addresses(&["192.0.2.1"], ttl), NOW + 30);
            let left = held.lookup(name("a.example"), Families::V4, NOW + 30).and_then(|found| found.expires);
            let left = left.map(|at| at - NOW - 30);
            assert_eq!(left.is_some(), is_kept, "minimum {min_ttl}, TTL {ttl}");
            assert!(left.is_none_or(|left| left <= ttl.into()), "{left:?} of {ttl} s, minimum {min_ttl}");
        }
    }
}

#[test]
fn a_failure_is_kept_but_never_in_place_of_an_answer() {
    let mut held = held(Policy { failure_pause: 30, ..Policy::default() });
    held.insert(name("new.example"), Families::V4, &failure(), NOW);
    assert!(
        known(&mut held, "new.example", Families::V4, NOW + 29)
            .is_some_and(|told| told.starts_with("Failed"))
    );
    assert_eq!(known(&mut held, "new.example", Families::V4, NOW + 31), None);
    held.insert(name("a.example"), Families::V4, &addresses(&["192.0.2.1"], 600), NOW);
    held.insert(name("a.example"), Families::V4, &failure(), NOW + 10);
    assert_eq!(
        known(&mut held, "a.example", Families::V4, NOW + 10).as_deref(),
        Some("192.0.2.1"),
        "it holds"
    );
    held.insert(name("a.example"), Families::V6, &failure(), NOW + 10);
    assert_eq!(known(&mut held, "a.example", Families::V4, NOW + 10).as_deref(), Some("192.0.2.1"));
    // It has expired: the failure to refresh it is cached for its pause, and the old answer stays.
    assert_eq!(known(&mut held, "a.example", Families::V4, NOW + 700), None);
    for after in [700, 730, 790] {
        held.insert(name("a.example"), Families::V4, &failure(), NOW + after);
        let told = known(&mut held, "a.example", Families::V4, NOW + after + 1);
        assert!(told.is_some_and(|told| told.starts_with("Failed")), "{after}");
        assert!(held.stale(name("a.example"), Families::V4, NOW + after).is_some(), "{after}");
    }
}

#[test]
fn an_answer_is_stale_for_as_long_as_the_policy_says() {
    for (stale, after, is_told) in [(0, 1, false), (3_600, 3_000, true), (3_600, 4_000, false)] {
        let mut held = held(Policy { stale, ..Policy::default() });
        held.insert(name("a.example"), Families::V4, &addresses(&["192.0.2.1"], 600), NOW);
        // However many refreshes failed.
        for failed in (600..=600 + after).step_by(60) {
            held.insert(name("a.example"), Families::V4, &failure(), NOW + failed);
        }
        let found = held.stale(name("a.example"), Families::V4, NOW + 600 + after);
        assert_eq!(found.is_some(), is_told, "{stale} s, {after} s after its end");
    }
}
