//! The guarantees of the compact cache.

mod crowded;
mod families;
mod negative;
mod plain;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::super::{Addresses, Answer, Class, Resolution, Trouble};
use super::*;
use Families::{Both, V4, V6};

/// Some second; not the start of a minute.
const NOW: Seconds = 1_800_000_017;

fn name(text: &str) -> HostName<'_> {
    HostName::new(text).unwrap()
}

fn small() -> CompactSettings {
    CompactSettings { capacity: 1_000, negative_capacity: Some(1_000), ..CompactSettings::default() }
}

fn memory(settings: CompactSettings) -> CompactCache {
    CompactCache::in_memory(settings, NOW, None).unwrap()
}

fn v4(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

fn v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)
}

fn addresses(v4: &[Ipv4Addr], v6: &[Ipv6Addr]) -> Answer {
    Answer::Addresses(Addresses { v4: v4.to_vec(), v6: v6.to_vec() })
}

fn resolved(answer: Answer, ttl: u32) -> Resolution {
    Resolution { answer, ttl, took: 20 }
}

fn one(last: u8) -> Resolution {
    resolved(addresses(&[v4(last)], &[]), 3_600)
}

fn answer(cache: &CompactCache, text: &str, families: Families, now: Seconds) -> Option<Answer> {
    cache.get(name(text), families, now).map(|record| record.found().answer)
}

#[test]
fn a_name_that_is_foreseen_is_as_it_was_whatever_its_text() {
    for capacity in [Some(0), Some(1_000)] {
        let cache = memory(CompactSettings { negative_capacity: capacity, ..small() });
        cache.put(name("a.example.com"), V4, &one(1), NOW);
        let before = cache.statistics();
        for text in ["a.example.com", "b.example.com", "", ".", "\u{e9}", &"x".repeat(70_000)] {
            cache.foresee(text);
        }
        assert_eq!(cache.statistics(), before);
        assert_eq!(answer(&cache, "a.example.com", V4, NOW), Some(addresses(&[v4(1)], &[])));
        assert_eq!(answer(&cache, "b.example.com", V4, NOW), None);
    }
}

#[test]
fn a_name_has_its_addresses_and_its_class_until_they_expire() {
    let cache = memory(small());
    assert_eq!(answer(&cache, "a.example.com", V4, NOW), None);
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    let found = cache.get(name("a.example.com"), V4, NOW).unwrap().found();
    assert_eq!((found.answer, found.class), (addresses(&[v4(1)], &[]), Class::Fast));
    let expires = found.expires.unwrap();
    assert!(expires <= NOW + 3_600 && expires > NOW + 3_540, "minutes, rounded down");
    assert!(answer(&cache, "a.example.com", V4, expires - 1).is_some());
    assert_eq!(answer(&cache, "a.example.com", V4, expires), None);
    assert_eq!((cache.count(), cache.statistics().hits, cache.statistics().misses), (1, 2, 2));
    cache.put(name("a.example.com"), V4, &Resolution { took: 2_000, ..one(1) }, NOW);
    assert_eq!(cache.get(name("a.example.com"), V4, NOW).unwrap().class, Class::Slow);
}

/// Addresses sorted, deduplicated, and truncated to four of each family.
fn sorted(given: &Addresses) -> Addresses {
    let Addresses { mut v4, mut v6 } = given.clone();
    v4.sort();
    v4.dedup();
    v4.truncate(4);
    v6.sort();
    v6.dedup();
    v6.truncate(4);
    Addresses { v4, v6 }
}

#[test]
fn addresses_of_both_families_are_sorted_and_at_most_four_of_each() {
    let cache = memory(small());
    let (many4, many6): (Vec<_>, Vec<_>) = (1..=6).rev().map(|n| (v4(n), v6(n.into()))).unzip();
    let cases = [
        (vec![v4(2), v4(1), v4(2)], vec![], V4),
        (vec![v4(1)], vec![], Both),
        (vec![v4(1)], vec![v6(1)], Both),
        (vec![], vec![v6(2), v6(1)], V6),
        (many4, many6, Both),
    ];
    for (v4, v6, families) in cases {
        let given = Addresses { v4, v6 };
        let expected = Some(Answer::Addresses(sorted(&given)));
        cache.put(name("a.example.com"), families, &resolved(Answer::Addresses(given), 3_600), NOW);
        assert_eq!(answer(&cache, "a.example.com", families, NOW), expected);
        cache.remove(name("a.example.com"));
    }
}

#[test]
fn an_answer_for_both_families_answers_for_each_and_not_vice_versa() {
    let cache = memory(small());
    cache.put(name("both.example.com"), Both, &resolved(addresses(&[v4(1)], &[v6(1)]), 3_600), NOW);
    assert_eq!(answer(&cache, "both.example.com", V4, NOW), Some(addresses(&[v4(1)], &[])));
    assert_eq!(answer(&cache, "both.example.com", V6, NOW), Some(addresses(&[], &[v6(1)])));
    cache.put(name("lone.example.com"), Both, &one(7), NOW);
    assert_eq!(answer(&cache, "lone.example.com", V6, NOW), Some(Answer::NoData));
    cache.put(name("half.example.com"), V4, &one(7), NOW);
    for families in [V6, Both] {
        assert_eq!(answer(&cache, "half.example.com", families, NOW), None);
    }
}

#[test]
fn a_ttl_is_clamped_to_the_limits() {
    let cache = memory(CompactSettings { min_ttl: 300, max_ttl: 7_200, ..small() });
    for (ttl, shortest, longest) in [(0, 240, 300), (301, 240, 301), (u32::MAX, 7_140, 7_200)] {
        cache.put(name("a.example.com"), V4, &resolved(addresses(&[v4(1)], &[]), ttl), NOW);
        let left = cache.get(name("a.example.com"), V4, NOW).unwrap().expires.unwrap() - NOW;
        assert!((shortest..=longest).contains(&left), "{ttl}: {left}");
    }
}

#[test]
fn pauses_after_failures_double_up_to_five_minutes() {
    let cache = memory(small());
    let failed = |attempts| resolved(Answer::Failed { trouble: Trouble::TimeOut, attempts }, 0);
    let mut now = NOW;
    for (turn, pause) in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].into_iter().enumerate() {
        cache.put(name("a.example.com"), V4, &failed(1), now);
        let attempts = turn as u8 + 1;
        let known = Some(Answer::Failed { trouble: Trouble::TimeOut, attempts });
        assert_eq!(answer(&cache, "a.example.com", V4, now + pause - 1), known);
        assert_eq!(answer(&cache, "a.example.com", V4, now + pause), None);
        now += pause;
    }
    // A success resets the count.
    cache.put(name("a.example.com"), V4, &one(1), now);
    cache.put(name("a.example.com"), V4, &failed(1), now + 3_600);
    let known = Some(Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 });
    assert_eq!(answer(&cache, "a.example.com", V4, now + 3_600), known);
    assert_eq!(answer(&cache, "a.example.com", V4, now + 3_601), None);
}

#[test]
fn equal_sets_are_stored_once_and_released_with_the_last_name() {
    let cache = memory(small());
    let pair = |last| resolved(addresses(&[v4(last), v4(last + 1)], &[]), 3_600);
    for text in ["a.example.com", "b.example.com", "c.example.com"] {
        cache.put(name(text), V4, &pair(1), NOW);
    }
    assert_eq!(cache.details().sets, [1, 0]);
    cache.put(name("a.example.com"), V4, &pair(1), NOW); // the same again
    cache.put(name("b.example.com"), V4, &pair(5), NOW);
    assert_eq!(cache.details().sets, [2, 0]);
    assert!(cache.remove(name("a.example.com")));
    assert_eq!(cache.details().sets, [2, 0]);
    assert!(cache.remove(name("c.example.com")) && !cache.remove(name("c.example.com")));
    assert_eq!((cache.details().sets, cache.count()), ([1, 0], 1));
}

#[test]
fn without_room_for_a_set_one_address_is_kept() {
    let cache = memory(CompactSettings { small_sets: Some(8), large_sets: Some(0), ..small() });
    for number in 0..20 {
        let text = format!("n{number}.example.com");
        cache.put(name(&text), V4, &resolved(addresses(&[v4(number), v4(number + 100)], &[]), 3_600), NOW);
        let Some(Answer::Addresses(found)) = answer(&cache, &text, V4, NOW) else { panic!("{text}") };
        assert_eq!(found.v4[0], v4(number));
    }
    assert_eq!(cache.details().sets_full, 12);
    // That would be no answer for both families.
    assert!(!cache.put(name("x.example.com"), Both, &resolved(addresses(&[v4(1), v4(9)], &[]), 60), NOW));
    assert_eq!(cache.statistics().refused, 1);
}

#[test]
fn names_are_counted_scanned_and_forgotten_by_domain() {
    let cache = memory(small());
    let all =
        ["a.foo.com", "foo.com", "bar.com", "x.foo.co.uk", "y.foo.co.uk", "foo.org.uk", "host.nonsense"];
    for (number, text) in all.into_iter().enumerate() {
        cache.put(name(text), V4, &one(number as u8), NOW);
    }
    let count = |under: &str| KeyRange::under(under).map(|range| cache.count_in(&range, NOW));
    for (under, expected) in [
        ("", 7),
        (".", 7),
        ("com", 3),
        ("COM.", 3),
        ("foo.com", 2),
        ("uk", 3),
        ("foo.co.uk", 2),
        ("foo.org.uk", 1),
        ("de", 0),
    ] {
        assert_eq!(count(under), Ok(expected), "{under}");
    }
    assert_eq!(count("co.uk"), Err(BadRange::Suffix("co.uk".into())));
    assert_eq!(
        count("a.foo.com"),
        Err(BadRange::Deeper { name: "a.foo.com".into(), domain: "foo.com".into() })
    );
    assert_eq!(count("nonsense"), Err(BadRange::Unknown("nonsense".into())));
    assert!(matches!(count("a..com"), Err(BadRange::Name(..))));
    assert_eq!(cache.count_by_tld(NOW), [(Some("com"), 3), (Some("uk"), 3), (None, 1)]);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW + 4_000), 0, "expired");
    let mut seen = Vec::new();
    cache.scan(&KeyRange::under("foo.co.uk").unwrap(), NOW, |entry| {
        seen.push((entry.top, entry.record.v4().next()))
    });
    seen.sort();
    assert_eq!(seen, [(Some("uk"), Some(v4(3))), (Some("uk"), Some(v4(4)))]);
    assert_eq!(cache.forget_in(&KeyRange::under("foo.co.uk").unwrap()), 2);
    assert_eq!((cache.count(), answer(&cache, "x.foo.co.uk", V4, NOW)), (5, None));
    assert!(answer(&cache, "foo.org.uk", V4, NOW).is_some());
}

#[test]
fn ranges_go_from_one_domain_to_another() {
    let cache = memory(small());
    let all = ["host.nonsense", "a.com", "b.com", "c.de", "d.net", "e.co.uk"];
    for (number, text) in all.into_iter().enumerate() {
        cache.put(name(text), V4, &one(number as u8), NOW);
    }
    let range = |first, last| KeyRange::under(first).unwrap().up_to(&KeyRange::under(last).unwrap());
    let count = |first, last| range(first, last).map(|range| cache.count_in(&range, NOW));
    for (first, last, expected) in [
        ("com", "com", Some(2)),
        ("com", "de", Some(3)),
        ("cz", "uk", Some(3)),
        ("de", "com", None),
        ("", "com", Some(3)),
        ("net", "", Some(2)),
        ("", "", Some(6)),
        ("a.com", "e.co.uk", count("a.com", "uk")),
    ] {
        assert_eq!(count(first, last), expected, "{first} to {last}");
    }
    let (a, b) = (count("com", "a.com").unwrap(), count("com", "b.com").unwrap());
    assert_eq!((a.min(b), a.max(b)), (1, 2), "one of the two hashes comes first");
    assert_eq!(cache.forget_in(&range("com", "de").unwrap()), 3);
    assert_eq!(cache.count(), 3);
}

#[test]
fn names_around_zones_are_forgotten_with_their_failures() {
    let cache = memory(CompactSettings { negative_capacity: Some(0), ..small() });
    let all = ["www.corp.foo.com", "foo.com", "bar.com", "a.co.uk", "b.org.uk", "printer.intern", "c.de"];
    let fill = || {
        for text in all {
            cache.put(name(text), V4, &one(1), NOW);
        }
        cache.put_failure(name("failed.net"), V4, Trouble::TimeOut, 60, NOW);
    };
    let left = |zones: &[&str]| {
        fill();
        cache.forget_around(zones.iter().copied());
        assert_eq!(answer(&cache, "failed.net", V4, NOW), None, "{zones:?}");
        let left = all.into_iter().filter(|text| answer(&cache, text, V4, NOW).is_some());
        left.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        left(&["corp.foo.com"]),
        "bar.com a.co.uk b.org.uk printer.intern c.de",
        "its registered domain"
    );
    assert_eq!(left(&["intern", "bar.com"]), "www.corp.foo.com foo.com a.co.uk b.org.uk c.de");
    assert_eq!(
        left(&["foo.com", "com", "de", "co.uk"]),
        "printer.intern",
        "all below a public suffix's last label"
    );
    assert_eq!(left(&["."]), "");
}

#[test]
fn sixteen_bits_of_minutes_never_wrap() {
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    let minute = 60_u64;
    // After any time, in one step or in many.
    for days in [1_u64, 10, 11, 12, 22, 23, 44, 45, 46, 91, 400] {
        assert_eq!(answer(&cache, "a.example.com", V4, NOW + days * 1_440 * minute), None, "{days}");
    }
    assert_eq!(cache.details().used, 0, "it was swept away");
    // Clocks that differ or are set back neither lose valid entries nor keep undecidable ones.
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    assert!(answer(&cache, "a.example.com", V4, NOW - 90).is_some());
    assert_eq!(answer(&cache, "a.example.com", V4, NOW - 400 * 86_400), None);
    assert_eq!(cache.details().used, 0);
    // After 2^16 minutes its 16 bits would look valid again.
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    assert_eq!(answer(&cache, "a.example.com", V4, NOW + 65_536 * minute), None);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW + 65_536 * minute), 0);
}

#[test]
fn batched_lookups_give_the_same_as_single_ones() {
    let cache = memory(small());
    let texts: Vec<String> = (0..200).map(|number| format!("N{number}.Example.com.")).collect();
    for text in texts.iter().step_by(3) {
        let mut buffer = String::new();
        cache.put(HostName::normalize(text, &mut buffer).unwrap(), V4, &one(text.len() as u8), NOW);
    }
    let mut given: Vec<&str> = texts.iter().map(String::as_str).collect();
    given.insert(50, "a..b");
    given.push("192.0.2.1");
    let mut seen = vec![None; given.len()];
    cache.get_texts(&given, V4, NOW, |place, found| seen[place] = Some(found));
    for (text, found) in given.iter().zip(seen) {
        let mut buffer = String::new();
        let alone = HostName::normalize(text, &mut buffer).map(|name| cache.get(name, V4, NOW));
        assert_eq!(found.unwrap(), alone, "{text}");
    }
}

#[test]
fn settings_out_of_range_are_refused_with_what_is_allowed() {
    let bad = [
        CompactSettings { capacity: 0, ..small() },
        CompactSettings { max_ttl: 12 * 86_400, ..small() },
        CompactSettings { min_ttl: 90_000, ..small() },
        CompactSettings { false_positives: 0.0, ..small() },
        CompactSettings { last_pause: 301, ..small() },
        CompactSettings { negative: Negative::Generations(1), ..small() },
    ];
    for settings in bad {
        let told = CompactCache::in_memory(settings, NOW, None).unwrap_err().to_string();
        assert!(told.contains(" = ") && told.contains("allowed: "), "{told}");
    }
    let vast = CompactSettings { capacity: 10_000_000_000, ..CompactSettings::default() };
    assert!(
        matches!(CompactCache::in_memory(vast, NOW, None), Err(CompactError::NoRoom { needed, available, .. }) if needed > available)
    );
}
