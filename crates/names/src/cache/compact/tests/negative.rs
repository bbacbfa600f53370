//! Names that do not resolve: the filter, and cuts.

use super::*;

/// Inserts that a name does not exist.
fn deny(cache: &CompactCache, text: &str, now: Seconds) {
    cache.put(name(text), V4, &resolved(Answer::NxDomain, 60), now);
}

/// Inserts `names` names that do not exist.
fn deny_many(cache: &CompactCache, names: u64) {
    (0..names).for_each(|number| deny(cache, &format!("dead{number}.example.com"), NOW));
}

/// The number of names that were never inserted and seem not to exist, of `names`.
fn false_positives(cache: &CompactCache, names: u64) -> usize {
    (0..names).filter(|n| answer(cache, &format!("live{n}.example.com"), V4, NOW).is_some()).count()
}

#[test]
fn a_name_that_does_not_resolve_is_known_for_its_time_and_a_retry_may_bypass_the_filter() {
    let cache = memory(CompactSettings { negative_ttl: 4_000, ..small() });
    deny(&cache, "no.example.com", NOW);
    assert_eq!(answer(&cache, "no.example.com", V4, NOW), Some(Answer::NxDomain));
    assert_eq!(cache.get(name("no.example.com"), V4, NOW).unwrap().expires, None);
    assert_eq!(cache.get_past_filter(name("no.example.com"), V4, NOW), None);
    assert_eq!(answer(&cache, "no.example.com", V4, NOW + 2_999), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "no.example.com", V4, NOW + 4_000), None);
}

#[test]
fn generations_are_cleared_in_turn_or_the_filter_as_a_whole() {
    let held = |negative, after: u64| {
        let cache = memory(CompactSettings { negative, negative_ttl: 4_000, ..small() });
        let text = |number: u64| format!("n{number}.example.com");
        (0..40).for_each(|number| deny(&cache, &text(number), NOW + 100 * number));
        (0..40).filter(|&number| answer(&cache, &text(number), V4, NOW + after).is_some()).count()
    };
    let counts = |negative| [3_999, 4_000, 5_000, 6_000, 7_000, 8_000].map(|after| held(negative, after));
    assert_eq!(counts(Negative::Generations(4)), [40, 30, 20, 10, 0, 0]);
    assert_eq!(counts(Negative::ClearAll), [40, 0, 0, 0, 0, 0]);
    assert_eq!(held(Negative::Generations(4), 1_000_000), 0);
}

#[test]
fn two_processes_whose_clocks_differ_by_hours_do_not_clear_each_others_filter() {
    for hours in [1, 3, 20] {
        let cache = memory(CompactSettings { negative_ttl: 3_600, ..small() });
        let (late, early) = (NOW, NOW + hours * 3_600);
        // The process that is ahead rotates by its clock: once.
        assert_eq!(answer(&cache, "live.example.com", V4, early), None);
        let texts: Vec<String> = (0..50).map(|number| format!("dead{number}.example.com")).collect();
        for (number, text) in texts.iter().enumerate() {
            deny(&cache, text, [late, early][number % 2] + number as u64);
        }
        for text in &texts {
            for at in [late + 60, early + 60] {
                assert_eq!(answer(&cache, text, V4, at), Some(Answer::NxDomain), "{hours} h, {text}");
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_back_keeps_names_for_a_day_more_at_most() {
    for (days, kept) in [(1, 86_400), (2, 0), (1_000, 0)] {
        let cache = memory(CompactSettings { negative_ttl: 4_000, ..small() });
        deny(&cache, "no.example.com", NOW);
        let at = |seconds| answer(&cache, "no.example.com", V4, NOW - days * 86_400 + seconds);
        assert_eq!([0, kept + 2_999].map(at), [const { Some(Answer::NxDomain) }; 2], "{days}");
        assert_eq!(at(kept + 4_000), None, "{days}");
    }
}

#[test]
fn an_overfull_filter_drops_the_oldest_names_and_its_error_rate_stays() {
    for negative in [Negative::ClearAll, Negative::Generations(4)] {
        let cache = memory(CompactSettings { negative, negative_capacity: Some(20_000), ..small() });
        deny_many(&cache, 200_000);
        let wrong = false_positives(&cache, 100_000);
        assert!(wrong <= 2, "{negative:?}: {wrong} of 100,000");
        let known = |number: &u32| answer(&cache, &format!("dead{number}.example.com"), V4, NOW).is_some();
        assert_eq!((199_990..200_000).filter(known).count(), 10, "{negative:?}");
        // A small filter errs no more often. A rate of 1e-6 leaves one error in three such tests.
        let cache = memory(CompactSettings { negative, negative_capacity: Some(300), ..small() });
        deny_many(&cache, 300);
        let wrong = false_positives(&cache, 300_000);
        assert!(wrong <= 3, "{negative:?}: {wrong} of 300,000");
    }
}

#[test]
fn a_filter_cleared_as_a_whole_takes_failures_and_generations_do_not() {
    for (negative, known) in [(Negative::ClearAll, true), (Negative::Generations(4), false)] {
        let cache = memory(CompactSettings { negative, ..small() });
        let failed = resolved(Answer::Failed { trouble: Trouble::ServerFailure, attempts: 1 }, 0);
        cache.put(name("a.example.com"), V4, &failed, NOW);
        assert_eq!(answer(&cache, "a.example.com", V4, NOW + 600).is_some(), known);
    }
}

#[test]
fn a_name_in_the_filter_that_resolves_counts_as_suspected_false_positive() {
    let cache = memory(small());
    deny(&cache, "a.example.com", NOW);
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    assert_eq!(cache.details().suspected_false_positives, 1);
    assert_eq!(answer(&cache, "a.example.com", V4, NOW), Some(addresses(&[v4(1)], &[])));
    deny(&cache, "a.example.com", NOW);
    assert_eq!(answer(&cache, "a.example.com", V4, NOW), Some(Answer::NxDomain), "the address is replaced");
}

#[test]
fn a_filter_distinguishes_nxdomain_from_no_data_except_in_the_published_mode() {
    let (cache, no_data) = (memory(small()), resolved(Answer::NoData, 900));
    deny(&cache, "gone.example.com", NOW);
    cache.put(name("mail.example.com"), V4, &no_data, NOW);
    for _ in 0..3 {
        assert_eq!(answer(&cache, "gone.example.com", V4, NOW + 60), Some(Answer::NxDomain));
        assert_eq!(answer(&cache, "mail.example.com", V4, NOW + 60), Some(Answer::NoData));
    }
    assert_eq!(answer(&cache, "gone.example.com", Both, NOW), Some(Answer::NxDomain), "for all families");
    assert_eq!(answer(&cache, "mail.example.com", V6, NOW), None);
    assert_eq!(answer(&cache, "mail.example.com", V4, NOW + 900), None, "it has its own TTL");
    let published = memory(CompactSettings { negative: Negative::ClearAll, ..small() });
    published.put(name("mail.example.com"), V4, &no_data, NOW);
    assert_eq!(answer(&published, "mail.example.com", V4, NOW), Some(Answer::Negative));
}

#[test]
fn without_a_filter_negative_answers_are_entries_with_their_own_ttl_and_leave_cuts() {
    let cache = memory(CompactSettings { negative_capacity: Some(0), ..small() });
    deny(&cache, "a.example.com", NOW);
    cache.put(name("b.example.com"), V4, &resolved(Answer::NoData, 9_000), NOW);
    assert_eq!(answer(&cache, "a.example.com", Both, NOW + 59), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "a.example.com", Both, NOW + 60), None);
    assert_eq!(answer(&cache, "b.example.com", V4, NOW + 3_599), Some(Answer::NoData));
    assert_eq!(answer(&cache, "b.example.com", V6, NOW), None);
    assert_eq!(answer(&cache, "b.example.com", V4, NOW + 3_600), None);
    assert_eq!(cache.count(), 0, "names with addresses");
    assert!(cache.put_cut(name("gone.example.com"), 900, NOW));
    deny(&cache, "gone.example.com", NOW);
    for text in ["www.gone.example.com", "gone.example.com"] {
        assert_eq!(answer(&cache, text, V4, NOW + 600), Some(Answer::NxDomain), "{text}");
    }
}

#[test]
fn a_cut_denies_the_names_below_it_and_no_others() {
    let cache = memory(small());
    assert!(!cache.put_cut(name("co.uk"), 900, NOW) && !cache.put_cut(name("com"), 900, NOW));
    assert!(cache.put_cut(name("gone.example.co.uk"), 900, NOW));
    for text in ["gone.example.co.uk", "a.gone.example.co.uk", "a.b.gone.example.co.uk"] {
        assert_eq!(answer(&cache, text, V4, NOW + 899), Some(Answer::NxDomain), "{text}");
        assert_eq!(answer(&cache, text, V4, NOW + 900), None, "{text}");
    }
    for text in ["example.co.uk", "www.example.co.uk", "agone.example.co.uk", "gone.other.co.uk"] {
        assert_eq!(answer(&cache, text, V4, NOW), None, "{text}");
    }
    // A name that resolves after all has its own slot.
    cache.put(name("a.gone.example.co.uk"), V4, &one(1), NOW);
    assert_eq!(answer(&cache, "a.gone.example.co.uk", V4, NOW), Some(addresses(&[v4(1)], &[])));
    cache.put(name("gone.example.co.uk"), V4, &one(2), NOW);
    assert_eq!(answer(&cache, "b.gone.example.co.uk", V4, NOW), None);
}
