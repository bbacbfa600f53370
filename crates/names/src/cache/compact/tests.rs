//! The guarantees of the compact cache, and a plain map beside it.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::super::{Addresses, Answer, Class, Resolution, Trouble};
use super::*;

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
fn a_name_has_its_addresses_until_they_expire() {
    let cache = memory(small());
    assert_eq!(answer(&cache, "a.example.com", Families::V4, NOW), None);
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    let found = cache.get(name("a.example.com"), Families::V4, NOW).unwrap().found();
    assert_eq!((found.answer, found.class), (addresses(&[v4(1)], &[]), Class::Fast));
    let expires = found.expires.unwrap();
    assert!(expires <= NOW + 3_600 && expires > NOW + 3_540, "minutes, rounded down");
    assert!(answer(&cache, "a.example.com", Families::V4, expires - 1).is_some());
    assert_eq!(answer(&cache, "a.example.com", Families::V4, expires), None);
    assert_eq!((cache.count(), cache.statistics().hits, cache.statistics().misses), (1, 2, 2));
}

#[test]
fn several_addresses_of_both_families_come_back_sorted_and_no_more_than_four_of_each() {
    let cache = memory(small());
    let (many4, many6): (Vec<_>, Vec<_>) = (1..=6).rev().map(|n| (v4(n), v6(n.into()))).unzip();
    let cases = [
        (vec![v4(2), v4(1), v4(2)], vec![], Families::V4),
        (vec![v4(1)], vec![], Families::Both),
        (vec![v4(1)], vec![v6(1)], Families::Both),
        (vec![], vec![v6(2), v6(1)], Families::V6),
        (many4, many6, Families::Both),
    ];
    for (number, (given4, given6, families)) in cases.into_iter().enumerate() {
        let text = format!("n{number}.example.com");
        cache.put(name(&text), families, &resolved(addresses(&given4, &given6), 3_600), NOW);
        let sorted = |count: usize| {
            let (mut v4, mut v6) = (given4.clone(), given6.clone());
            v4.sort();
            v4.dedup();
            v4.truncate(count);
            v6.sort();
            v6.dedup();
            v6.truncate(count);
            addresses(&v4, &v6)
        };
        assert_eq!(answer(&cache, &text, families, NOW), Some(sorted(4)), "{text}");
    }
}

#[test]
fn what_is_known_of_both_families_answers_for_each_and_not_the_other_way_round() {
    let cache = memory(small());
    cache.put(name("both.example.com"), Families::Both, &resolved(addresses(&[v4(1)], &[v6(1)]), 3_600), NOW);
    assert_eq!(answer(&cache, "both.example.com", Families::V4, NOW), Some(addresses(&[v4(1)], &[])));
    assert_eq!(answer(&cache, "both.example.com", Families::V6, NOW), Some(addresses(&[], &[v6(1)])));
    cache.put(name("lone.example.com"), Families::Both, &one(7), NOW);
    assert_eq!(answer(&cache, "lone.example.com", Families::V6, NOW), Some(Answer::NoData));
    cache.put(name("half.example.com"), Families::V4, &one(7), NOW);
    for families in [Families::V6, Families::Both] {
        assert_eq!(answer(&cache, "half.example.com", families, NOW), None);
    }
}

#[test]
fn a_short_ttl_is_stretched_and_a_long_one_cut() {
    let cache = memory(CompactSettings { min_ttl: 300, max_ttl: 7_200, ..small() });
    for (ttl, shortest, longest) in [(0, 240, 300), (301, 240, 301), (u32::MAX, 7_140, 7_200)] {
        cache.put(name("a.example.com"), Families::V4, &resolved(addresses(&[v4(1)], &[]), ttl), NOW);
        let left = cache.get(name("a.example.com"), Families::V4, NOW).unwrap().expires.unwrap() - NOW;
        assert!((shortest..=longest).contains(&left), "{ttl}: {left}");
    }
}

#[test]
fn failures_pause_for_twice_as_long_each_time_up_to_five_minutes() {
    let cache = memory(small());
    let failed = |attempts| resolved(Answer::Failed { trouble: Trouble::TimeOut, attempts }, 0);
    let mut now = NOW;
    for (turn, pause) in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].into_iter().enumerate() {
        cache.put(name("a.example.com"), Families::V4, &failed(1), now);
        let attempts = turn as u8 + 1;
        let known = Some(Answer::Failed { trouble: Trouble::TimeOut, attempts });
        assert_eq!(answer(&cache, "a.example.com", Families::V4, now + pause - 1), known);
        assert_eq!(answer(&cache, "a.example.com", Families::V4, now + pause), None);
        now += pause;
    }
    // A success ends the row.
    cache.put(name("a.example.com"), Families::V4, &one(1), now);
    cache.put(name("a.example.com"), Families::V4, &failed(1), now);
    assert_eq!(answer(&cache, "a.example.com", Families::V4, now + 1), None);
}

#[test]
fn slow_names_are_told() {
    let cache = memory(small());
    let slow = Resolution { took: 2_000, ..one(1) };
    cache.put(name("a.example.com"), Families::V4, &slow, NOW);
    assert_eq!(cache.get(name("a.example.com"), Families::V4, NOW).unwrap().class, Class::Slow);
}

#[test]
fn equal_sets_are_one_and_go_with_the_last_name() {
    let cache = memory(small());
    let pair = |last| resolved(addresses(&[v4(last), v4(last + 1)], &[]), 3_600);
    for text in ["a.example.com", "b.example.com", "c.example.com"] {
        cache.put(name(text), Families::V4, &pair(1), NOW);
    }
    assert_eq!(cache.details().sets, [1, 0]);
    cache.put(name("a.example.com"), Families::V4, &pair(1), NOW); // the same again
    cache.put(name("b.example.com"), Families::V4, &pair(5), NOW);
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
        cache.put(
            name(&text),
            Families::V4,
            &resolved(addresses(&[v4(number), v4(number + 100)], &[]), 3_600),
            NOW,
        );
        let Some(Answer::Addresses(found)) = answer(&cache, &text, Families::V4, NOW) else {
            panic!("{text}")
        };
        assert_eq!(found.v4[0], v4(number));
    }
    assert_eq!(cache.details().sets_full, 12);
    // For both families that would be a lie.
    assert!(!cache.put(
        name("x.example.com"),
        Families::Both,
        &resolved(addresses(&[v4(1), v4(9)], &[]), 60),
        NOW
    ));
    assert_eq!(cache.statistics().refused, 1);
}

#[test]
fn names_that_do_not_resolve_are_known_for_their_time_and_a_retry_may_look_past_the_filter() {
    let cache = memory(CompactSettings { negative_ttl: 4_000, ..small() });
    cache.put(name("no.example.com"), Families::V4, &resolved(Answer::NxDomain, 60), NOW);
    assert_eq!(answer(&cache, "no.example.com", Families::V4, NOW), Some(Answer::Negative));
    assert_eq!(cache.get(name("no.example.com"), Families::V4, NOW).unwrap().expires, None);
    assert_eq!(cache.get_past_filter(name("no.example.com"), Families::V4, NOW), None);
    assert_eq!(answer(&cache, "no.example.com", Families::V4, NOW + 2_999), Some(Answer::Negative));
    assert_eq!(answer(&cache, "no.example.com", Families::V4, NOW + 4_000), None);
}

#[test]
fn generations_go_one_by_one_and_clear_all_at_once() {
    let held = |negative, after: u64| {
        let cache = memory(CompactSettings { negative, negative_ttl: 4_000, ..small() });
        for number in 0..40_u64 {
            let text = format!("n{number}.example.com");
            cache.put(name(&text), Families::V4, &resolved(Answer::NoData, 60), NOW + 100 * number);
        }
        (0..40)
            .filter(|number| {
                answer(&cache, &format!("n{number}.example.com"), Families::V4, NOW + after).is_some()
            })
            .count()
    };
    let counts = |negative| [3_999, 4_000, 5_000, 6_000, 7_000, 8_000].map(|after| held(negative, after));
    assert_eq!(counts(Negative::Generations(4)), [40, 30, 20, 10, 0, 0]);
    assert_eq!(counts(Negative::ClearAll), [40, 0, 0, 0, 0, 0]);
    assert_eq!(held(Negative::Generations(4), 1_000_000), 0);
}

#[test]
fn more_dead_names_than_the_filter_was_made_for_push_out_the_oldest_and_no_live_name_is_taken_for_dead() {
    for negative in [Negative::ClearAll, Negative::Generations(4)] {
        let settings = CompactSettings { negative, negative_capacity: Some(20_000), ..small() };
        let cache = memory(settings);
        for number in 0..200_000 {
            let text = format!("dead{number}.example.com");
            cache.put(name(&text), Families::V4, &resolved(Answer::NxDomain, 60), NOW);
        }
        let known = |text: String| answer(&cache, &text, Families::V4, NOW).is_some();
        let live = (0..100_000).filter(|number| known(format!("live{number}.example.com"))).count();
        assert!(live <= 2, "{negative:?}: {live} of 100,000 live names taken for dead");
        let last = (199_990..200_000).filter(|number| known(format!("dead{number}.example.com"))).count();
        assert_eq!(last, 10, "{negative:?}");
    }
}

#[test]
fn clear_all_takes_every_failure_and_generations_do_not() {
    for (negative, known) in [(Negative::ClearAll, true), (Negative::Generations(4), false)] {
        let cache = memory(CompactSettings { negative, ..small() });
        let failed = resolved(Answer::Failed { trouble: Trouble::ServerFailure, attempts: 1 }, 0);
        cache.put(name("a.example.com"), Families::V4, &failed, NOW);
        assert_eq!(answer(&cache, "a.example.com", Families::V4, NOW + 600).is_some(), known);
    }
}

#[test]
fn a_name_that_resolves_although_the_filter_holds_it_is_suspected() {
    let cache = memory(small());
    cache.put(name("a.example.com"), Families::V4, &resolved(Answer::NxDomain, 60), NOW);
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    assert_eq!(cache.details().suspected_false_positives, 1);
    assert_eq!(answer(&cache, "a.example.com", Families::V4, NOW), Some(addresses(&[v4(1)], &[])));
    cache.put(name("a.example.com"), Families::V4, &resolved(Answer::NxDomain, 60), NOW);
    assert_eq!(
        answer(&cache, "a.example.com", Families::V4, NOW),
        Some(Answer::Negative),
        "in place of what was known"
    );
}

#[test]
fn without_a_filter_what_does_not_resolve_is_kept_among_the_others() {
    let cache = memory(CompactSettings { negative_capacity: Some(0), ..small() });
    cache.put(name("a.example.com"), Families::V4, &resolved(Answer::NxDomain, 60), NOW);
    cache.put(name("b.example.com"), Families::V4, &resolved(Answer::NoData, 60), NOW);
    assert_eq!(answer(&cache, "a.example.com", Families::Both, NOW), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "b.example.com", Families::V4, NOW + 3_599), Some(Answer::NoData));
    assert_eq!(answer(&cache, "b.example.com", Families::V6, NOW), None);
    assert_eq!(answer(&cache, "b.example.com", Families::V4, NOW + 3_600), None);
    assert_eq!(cache.count(), 0, "names with addresses");
}

#[test]
fn a_cut_silences_what_is_below_it_and_nothing_else() {
    let cache = memory(small());
    assert!(!cache.put_cut(name("co.uk"), 900, NOW) && !cache.put_cut(name("com"), 900, NOW));
    assert!(cache.put_cut(name("gone.example.co.uk"), 900, NOW));
    for text in ["gone.example.co.uk", "a.gone.example.co.uk", "a.b.gone.example.co.uk"] {
        assert_eq!(answer(&cache, text, Families::V4, NOW + 899), Some(Answer::NxDomain), "{text}");
        assert_eq!(answer(&cache, text, Families::V4, NOW + 900), None, "{text}");
    }
    for text in ["example.co.uk", "www.example.co.uk", "agone.example.co.uk", "gone.other.co.uk"] {
        assert_eq!(answer(&cache, text, Families::V4, NOW), None, "{text}");
    }
    // What resolves after all is known by its own slot.
    cache.put(name("a.gone.example.co.uk"), Families::V4, &one(1), NOW);
    assert_eq!(answer(&cache, "a.gone.example.co.uk", Families::V4, NOW), Some(addresses(&[v4(1)], &[])));
    cache.put(name("gone.example.co.uk"), Families::V4, &one(2), NOW);
    assert_eq!(answer(&cache, "b.gone.example.co.uk", Families::V4, NOW), None);
}

#[test]
fn names_are_counted_scanned_and_forgotten_by_domain() {
    let cache = memory(small());
    let all =
        ["a.foo.com", "foo.com", "bar.com", "x.foo.co.uk", "y.foo.co.uk", "foo.org.uk", "host.nonsense"];
    for (number, text) in all.into_iter().enumerate() {
        cache.put(name(text), Families::V4, &one(number as u8), NOW);
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
    assert_eq!(cache.count_in(&KeyRange::between("com", "uk").unwrap(), NOW), 6);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW + 4_000), 0, "expired");
    let mut seen = Vec::new();
    cache.scan(&KeyRange::under("foo.co.uk").unwrap(), NOW, |entry| {
        seen.push((entry.top, entry.record.v4().next()))
    });
    seen.sort();
    assert_eq!(seen, [(Some("uk"), Some(v4(3))), (Some("uk"), Some(v4(4)))]);
    assert_eq!(cache.forget_in(&KeyRange::under("foo.co.uk").unwrap()), 2);
    assert_eq!((cache.count(), answer(&cache, "x.foo.co.uk", Families::V4, NOW)), (5, None));
    assert!(answer(&cache, "foo.org.uk", Families::V4, NOW).is_some());
}

#[test]
fn at_ninety_percent_hardly_anybody_has_to_go_early() {
    let cache = memory(CompactSettings { capacity: 100_000, ..small() });
    for number in 0..100_000 {
        cache.put(name(&format!("n{number}.example.com")), Families::V4, &one(1), NOW);
    }
    assert!(cache.statistics().evictions <= 2_000, "{}", cache.statistics().evictions);
    assert_eq!(cache.count() + cache.statistics().evictions, 100_000);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW), cache.count());
}

#[test]
fn a_wrong_answer_takes_all_of_64_bits_in_one_of_twelve_slots() {
    let cache = memory(small());
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    let (table, key) = (cache.table(), cache.keys.of("a.example.com"));
    let homes = table.homes(&key);
    let found = |verify| table.find(&key::Key { verify, ..key }, homes, |_| true, |_| ()).is_some();
    assert!(found(key.verify) && (0..64).all(|bit| !found(key.verify ^ 1 << bit)));
    assert_eq!(homes.len() * bucket::SLOTS, 12);
    const { assert!(WRONG_ANSWERS <= 1e-12) };
    // The 64 bits are as good as chance: of half a million names no two share 39 of them more often than chance would have
    // it (expected: 0.23 pairs).
    let mut hashes: Vec<u64> =
        (0..500_000).map(|n| cache.keys.of(&format!("n{n}.example.com")).verify >> 25).collect();
    hashes.sort_unstable();
    assert!(hashes.windows(2).filter(|two| two[0] == two[1]).count() <= 5);
}

#[test]
fn what_is_found_in_a_crowded_cache_is_what_was_put_in_last() {
    let cache = memory(CompactSettings { small_sets: Some(20_000), large_sets: Some(20_000), ..small() });
    let texts: Vec<String> = (0..5_000).map(|number| format!("n{number}.example.com")).collect();
    let mut told: Vec<Option<Answer>> = vec![None; texts.len()];
    let mut dice = 1_u64;
    for _ in 0..40_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (number, what) = ((dice >> 33) as usize % texts.len(), dice >> 59);
        let bytes = number.to_be_bytes();
        let own = |n: u64| Ipv4Addr::new(10 + n as u8, bytes[6], bytes[7], (dice >> 50) as u8);
        let v4: Vec<_> = (0..what % 4).map(own).collect();
        let v6: Vec<_> = (0..what / 8).map(|n| v6(number as u16 + n as u16)).collect();
        if what == 31 {
            cache.remove(name(&texts[number]));
            told[number] = None;
        } else if !v4.is_empty() {
            assert!(cache.put(
                name(&texts[number]),
                Families::Both,
                &resolved(addresses(&v4, &v6), 3_600),
                NOW
            ));
            told[number] = Some(addresses(&v4, &v6));
        }
        let other = (dice >> 20) as usize % texts.len();
        if let Some(found) = answer(&cache, &texts[other], Families::Both, NOW) {
            assert_eq!(Some(found), told[other]);
        }
    }
    let held = texts.iter().filter(|text| answer(&cache, text, Families::Both, NOW).is_some()).count() as u64;
    assert!(held > 1_000 && cache.statistics().evictions > 10_000);
    let counted = cache.details();
    assert_eq!((cache.count(), counted.used), (held, held));
    cache.recount();
    assert_eq!(cache.details(), counted, "references are those of the slots");
}

#[test]
fn a_scan_of_one_time_names_does_not_push_out_what_was_asked_for_again() {
    let cache = memory(CompactSettings { capacity: 10_000, ..small() });
    let useful: Vec<String> = (0..2_000).map(|number| format!("u{number}.example.com")).collect();
    for text in &useful {
        cache.put(name(text), Families::V4, &one(1), NOW);
        (0..3).for_each(|_| drop(answer(&cache, text, Families::V4, NOW)));
    }
    for number in 0..30_000 {
        cache.put(name(&format!("s{number}.example.com")), Families::V4, &one(2), NOW);
    }
    let left = useful.iter().filter(|text| answer(&cache, text, Families::V4, NOW).is_some()).count();
    assert!(left >= 1_750, "{left} of 2,000 left");
}

#[test]
fn what_was_useful_long_ago_gives_way() {
    let cache = memory(CompactSettings { capacity: 2_000, ..small() });
    for number in 0..2_000 {
        let text = format!("old{number}.example.com");
        cache.put(name(&text), Families::V4, &one(1), NOW);
        (0..3).for_each(|_| drop(answer(&cache, &text, Families::V4, NOW)));
    }
    let texts: Vec<String> = (0..1_500).map(|number| format!("new{number}.example.com")).collect();
    for _ in 0..60 {
        for text in &texts {
            if answer(&cache, text, Families::V4, NOW).is_none() {
                cache.put(name(text), Families::V4, &one(2), NOW);
            }
        }
    }
    let held = texts.iter().filter(|text| answer(&cache, text, Families::V4, NOW).is_some()).count();
    assert!(held >= 1_000, "{held} of 1,500");
}

#[test]
fn expired_names_make_room_before_others() {
    let cache = memory(small());
    let lives = |number: u32| if number.is_multiple_of(2) { 300 } else { 7_200 };
    for number in 0..1_000 {
        let resolution = resolved(addresses(&[v4(1)], &[]), lives(number));
        cache.put(name(&format!("n{number}.example.com")), Families::V4, &resolution, NOW);
    }
    for number in 0..300 {
        cache.put(name(&format!("m{number}.example.com")), Families::V4, &one(2), NOW + 600);
    }
    let lost = (0..1_000)
        .filter(|n| n % 2 == 1)
        .filter(|n| answer(&cache, &format!("n{n}.example.com"), Families::V4, NOW + 600).is_none())
        .count();
    assert!(lost <= 20, "{lost}");
}

#[test]
fn sixteen_bits_of_minutes_never_wrap() {
    let cache = memory(small());
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    let minute = 60_u64;
    // Whatever the time that passes, in one step or in many.
    for days in [1_u64, 10, 11, 12, 22, 23, 44, 45, 46, 91, 400] {
        assert_eq!(
            answer(&cache, "a.example.com", Families::V4, NOW + days * 1_440 * minute),
            None,
            "{days}"
        );
    }
    assert_eq!(cache.details().used, 0, "it was swept away");
    // Clocks differ a little, and one may be set back: neither loses what still holds, nor keeps what no clock can tell.
    let cache = memory(small());
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    assert!(answer(&cache, "a.example.com", Families::V4, NOW - 90).is_some());
    assert_eq!(answer(&cache, "a.example.com", Families::V4, NOW - 400 * 86_400), None);
    assert_eq!(cache.details().used, 0);
    // 45.5 days later its sixteen bits would look fresh again.
    let cache = memory(small());
    cache.put(name("a.example.com"), Families::V4, &one(1), NOW);
    assert_eq!(answer(&cache, "a.example.com", Families::V4, NOW + 65_536 * minute), None);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW + 65_536 * minute), 0);
}

#[test]
fn many_at_once_is_the_same_as_one_by_one() {
    let cache = memory(small());
    let texts: Vec<String> = (0..200).map(|number| format!("N{number}.Example.com.")).collect();
    for text in texts.iter().step_by(3) {
        let mut buffer = String::new();
        cache.put(HostName::normalize(text, &mut buffer).unwrap(), Families::V4, &one(text.len() as u8), NOW);
    }
    let mut given: Vec<&str> = texts.iter().map(String::as_str).collect();
    given.insert(50, "a..b");
    given.push("192.0.2.1");
    let mut seen = vec![None; given.len()];
    cache.get_texts(&given, Families::V4, NOW, |place, found| seen[place] = Some(found));
    for (text, found) in given.iter().zip(seen) {
        let mut buffer = String::new();
        let alone = HostName::normalize(text, &mut buffer).map(|name| cache.get(name, Families::V4, NOW));
        assert_eq!(found.unwrap(), alone, "{text}");
    }
}

#[test]
fn settings_beyond_their_limits_are_told_with_what_is_allowed() {
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

/// What the plain map knows: the answer, when it was given, and the TTL that counts.
type Plain = HashMap<u8, (Families, Answer, Seconds, Seconds)>;

/// What a step does.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8, Vec<u8>, Vec<u8>, u32),
    Get(u8, u8),
    Forget(u8),
    Wait(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..40, 0u8..3, proptest::collection::vec(0u8..9, 0..6), proptest::collection::vec(0u8..9, 0..6), 0u32..9_000)
            .prop_map(|(name, families, v4, v6, ttl)| Step::Put(name, families, v4, v6, ttl)),
        6 => (0u8..40, 0u8..3).prop_map(|(name, families)| Step::Get(name, families)),
        1 => (0u8..40).prop_map(Step::Forget),
        2 => prop_oneof![0u32..500, 0u32..90_000, Just(86_400 * 12), Just(65_536 * 60)].prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// With room for all, the cache knows what a plain map does; expiries lie within the minute that they are rounded down to.
    #[test]
    fn a_plain_map_gives_the_same_answers(steps in steps()) {
        let cache = memory(CompactSettings { negative_capacity: Some(0), min_ttl: 120, max_ttl: 7_200, ..small() });
        let (mut plain, mut now) = (Plain::new(), NOW);
        for step in steps {
            match step {
                Step::Put(number, families, given4, given6, ttl) => {
                    let families = slot::families_of(families.into());
                    let given = Addresses { v4: given4.iter().map(|&n| v4(n)).collect(), v6: given6.iter().map(|&n| v6(n.into())).collect() };
                    let mut kept = given.clone();
                    kept.v4.sort();
                    kept.v4.dedup();
                    kept.v4.truncate(if families == Families::V6 { 0 } else { 4 });
                    kept.v6.sort();
                    kept.v6.dedup();
                    kept.v6.truncate(if families == Families::V4 { 0 } else { 4 });
                    let nothing = kept.v4.is_empty() && kept.v6.is_empty();
                    let ttl_counts = if nothing { 3_600 } else { ttl.clamp(120, 7_200) };
                    let answer = if nothing { Answer::NoData } else { Answer::Addresses(kept) };
                    let latest = now + u64::from(ttl_counts);
                    let earliest = if nothing { latest } else { latest / 60 * 60 };
                    let text = format!("n{number}.example.com");
                    prop_assert!(cache.put(name(&text), families, &resolved(Answer::Addresses(given), ttl), now));
                    plain.insert(number, (families, answer, earliest, latest));
                }
                Step::Get(number, families) => {
                    let asked = slot::families_of(families.into());
                    let found = answer(&cache, &format!("n{number}.example.com"), asked, now);
                    let expected = plain.get(&number).filter(|(known, ..)| slot::answers(*known, asked)).map(|(_, answer, earliest, latest)| {
                        let part = match (answer, asked) {
                            (Answer::Addresses(both), Families::V4) => Addresses { v4: both.v4.clone(), v6: vec![] },
                            (Answer::Addresses(both), Families::V6) => Addresses { v4: vec![], v6: both.v6.clone() },
                            (Answer::Addresses(both), Families::Both) => both.clone(),
                            _ => Addresses::default(),
                        };
                        let answer = if part == Addresses::default() { Answer::NoData } else { Answer::Addresses(part) };
                        (answer, *earliest, *latest)
                    });
                    match (found, expected) {
                        (Some(found), Some((answer, _, latest))) => {
                            prop_assert_eq!(found, answer);
                            prop_assert!(now < latest, "beyond its time");
                        }
                        (None, Some((.., earliest, _))) => prop_assert!(now >= earliest, "lost before its time"),
                        (found, None) => prop_assert_eq!(found, None),
                    }
                }
                Step::Forget(number) => {
                    let known = cache.remove(name(&format!("n{number}.example.com")));
                    let holds = plain.remove(&number).is_some_and(|(.., earliest, _)| now < earliest);
                    prop_assert!(known || !holds);
                }
                Step::Wait(seconds) => now += u64::from(seconds),
            }
        }
        // References to sets are those of the slots that are there.
        let counted = cache.details();
        cache.recount();
        prop_assert_eq!(cache.details(), counted);
        cache.forget_in(&KeyRange::all());
        prop_assert_eq!((cache.details().sets, cache.details().used, cache.count()), ([0, 0], 0, 0));
    }
}
