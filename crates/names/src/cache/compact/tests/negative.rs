//! Names that do not resolve: the filter, and cuts.

use super::*;

#[test]
fn names_that_do_not_resolve_are_known_for_their_time_and_a_retry_may_look_past_the_filter() {
    let cache = memory(CompactSettings { negative_ttl: 4_000, ..small() });
    cache.put(name("no.example.com"), V4, &resolved(Answer::NxDomain, 60), NOW);
    assert_eq!(answer(&cache, "no.example.com", V4, NOW), Some(Answer::NxDomain));
    assert_eq!(cache.get(name("no.example.com"), V4, NOW).unwrap().expires, None);
    assert_eq!(cache.get_past_filter(name("no.example.com"), V4, NOW), None);
    assert_eq!(answer(&cache, "no.example.com", V4, NOW + 2_999), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "no.example.com", V4, NOW + 4_000), None);
}

#[test]
fn generations_go_one_by_one_and_clear_all_at_once() {
    let held = |negative, after: u64| {
        let cache = memory(CompactSettings { negative, negative_ttl: 4_000, ..small() });
        for number in 0..40_u64 {
            let text = format!("n{number}.example.com");
            cache.put(name(&text), V4, &resolved(Answer::NxDomain, 60), NOW + 100 * number);
        }
        (0..40)
            .filter(|number| answer(&cache, &format!("n{number}.example.com"), V4, NOW + after).is_some())
            .count()
    };
    let counts = |negative| [3_999, 4_000, 5_000, 6_000, 7_000, 8_000].map(|after| held(negative, after));
    assert_eq!(counts(Negative::Generations(4)), [40, 30, 20, 10, 0, 0]);
    assert_eq!(counts(Negative::ClearAll), [40, 0, 0, 0, 0, 0]);
    assert_eq!(held(Negative::Generations(4), 1_000_000), 0);
}

#[test]
fn two_processes_whose_clocks_are_hours_apart_do_not_clear_each_others_filter() {
    for hours in [1, 3, 20] {
        let cache = memory(CompactSettings { negative_ttl: 3_600, ..small() });
        let (late, early) = (NOW, NOW + hours * 3_600);
        // The one that is ahead rotates by its clock: once.
        assert_eq!(answer(&cache, "live.example.com", V4, early), None);
        for number in 0..50 {
            let text = format!("dead{number}.example.com");
            let at = [late, early][number % 2] + number as u64;
            cache.put(name(&text), V4, &resolved(Answer::NxDomain, 60), at);
        }
        for number in 0..50 {
            let text = format!("dead{number}.example.com");
            for at in [late + 60, early + 60] {
                assert_eq!(answer(&cache, &text, V4, at), Some(Answer::NxDomain), "{hours} h, {text}");
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_back_keeps_names_for_a_day_more_at_most() {
    for (days, kept) in [(1, 86_400), (2, 0), (1_000, 0)] {
        let cache = memory(CompactSettings { negative_ttl: 4_000, ..small() });
        cache.put(name("no.example.com"), V4, &resolved(Answer::NxDomain, 60), NOW);
        let back = NOW - days * 86_400;
        assert_eq!(answer(&cache, "no.example.com", V4, back), Some(Answer::NxDomain), "{days}");
        assert_eq!(answer(&cache, "no.example.com", V4, back + kept + 2_999), Some(Answer::NxDomain));
        assert_eq!(answer(&cache, "no.example.com", V4, back + kept + 4_000), None, "{days}");
    }
}

#[test]
fn more_dead_names_than_the_filter_was_made_for_push_out_the_oldest_and_no_live_name_is_taken_for_dead() {
    for negative in [Negative::ClearAll, Negative::Generations(4)] {
        let settings = CompactSettings { negative, negative_capacity: Some(20_000), ..small() };
        let cache = memory(settings);
        for number in 0..200_000 {
            let text = format!("dead{number}.example.com");
            cache.put(name(&text), V4, &resolved(Answer::NxDomain, 60), NOW);
        }
        let known = |text: String| answer(&cache, &text, V4, NOW).is_some();
        let live = (0..100_000).filter(|number| known(format!("live{number}.example.com"))).count();
        assert!(live <= 2, "{negative:?}: {live} of 100,000 live names taken for dead");
        let last = (199_990..200_000).filter(|number| known(format!("dead{number}.example.com"))).count();
        assert_eq!(last, 10, "{negative:?}");
    }
}

#[test]
fn a_small_filter_errs_no_more_often_than_a_large_one() {
    for negative in [Negative::ClearAll, Negative::Generations(4)] {
        let cache = memory(CompactSettings { negative, negative_capacity: Some(300), ..small() });
        for number in 0..300 {
            let text = format!("dead{number}.example.com");
            cache.put(name(&text), V4, &resolved(Answer::NxDomain, 60), NOW);
        }
        // A rate of 1e-6 leaves one error in three such tests.
        let known = |text: String| answer(&cache, &text, V4, NOW).is_some();
        let wrong = (0..300_000).filter(|number| known(format!("live{number}.example.com"))).count();
        assert!(wrong <= 3, "{negative:?}: {wrong} of 300,000 live names taken for dead");
    }
}

#[test]
fn clear_all_takes_every_failure_and_generations_do_not() {
    for (negative, known) in [(Negative::ClearAll, true), (Negative::Generations(4), false)] {
        let cache = memory(CompactSettings { negative, ..small() });
        let failed = resolved(Answer::Failed { trouble: Trouble::ServerFailure, attempts: 1 }, 0);
        cache.put(name("a.example.com"), V4, &failed, NOW);
        assert_eq!(answer(&cache, "a.example.com", V4, NOW + 600).is_some(), known);
    }
}

#[test]
fn a_name_that_resolves_although_the_filter_holds_it_is_suspected() {
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &resolved(Answer::NxDomain, 60), NOW);
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    assert_eq!(cache.details().suspected_false_positives, 1);
    assert_eq!(answer(&cache, "a.example.com", V4, NOW), Some(addresses(&[v4(1)], &[])));
    cache.put(name("a.example.com"), V4, &resolved(Answer::NxDomain, 60), NOW);
    assert_eq!(
        answer(&cache, "a.example.com", V4, NOW),
        Some(Answer::NxDomain),
        "in place of what was known"
    );
}

#[test]
fn a_filter_tells_a_name_that_does_not_exist_from_one_without_addresses() {
    let cache = memory(small());
    cache.put(name("gone.example.com"), V4, &resolved(Answer::NxDomain, 900), NOW);
    cache.put(name("mail.example.com"), V4, &resolved(Answer::NoData, 900), NOW);
    for _ in 0..3 {
        assert_eq!(answer(&cache, "gone.example.com", V4, NOW + 60), Some(Answer::NxDomain));
        assert_eq!(answer(&cache, "mail.example.com", V4, NOW + 60), Some(Answer::NoData));
    }
    assert_eq!(answer(&cache, "gone.example.com", Both, NOW), Some(Answer::NxDomain), "for all families");
    assert_eq!(answer(&cache, "mail.example.com", V6, NOW), None);
    assert_eq!(answer(&cache, "mail.example.com", V4, NOW + 900), None, "it has its own time");
    // As published, the filter cannot tell.
    let published = memory(CompactSettings { negative: Negative::ClearAll, ..small() });
    published.put(name("mail.example.com"), V4, &resolved(Answer::NoData, 900), NOW);
    assert_eq!(answer(&published, "mail.example.com", V4, NOW), Some(Answer::Negative));
}

#[test]
fn a_denial_leaves_the_cut_at_its_name() {
    let cache = memory(CompactSettings { negative_capacity: Some(0), ..small() });
    assert!(cache.put_cut(name("gone.example.com"), 900, NOW));
    cache.put(name("gone.example.com"), V4, &resolved(Answer::NxDomain, 900), NOW);
    assert_eq!(answer(&cache, "www.gone.example.com", V4, NOW), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "gone.example.com", V4, NOW), Some(Answer::NxDomain));
}

#[test]
fn without_a_filter_what_does_not_resolve_is_kept_among_the_others() {
    let cache = memory(CompactSettings { negative_capacity: Some(0), ..small() });
    cache.put(name("a.example.com"), V4, &resolved(Answer::NxDomain, 60), NOW);
    cache.put(name("b.example.com"), V4, &resolved(Answer::NoData, 9_000), NOW);
    assert_eq!(answer(&cache, "a.example.com", Both, NOW + 59), Some(Answer::NxDomain));
    assert_eq!(answer(&cache, "a.example.com", Both, NOW + 60), None);
    assert_eq!(answer(&cache, "b.example.com", V4, NOW + 3_599), Some(Answer::NoData));
    assert_eq!(answer(&cache, "b.example.com", V6, NOW), None);
    assert_eq!(answer(&cache, "b.example.com", V4, NOW + 3_600), None);
    assert_eq!(cache.count(), 0, "names with addresses");
}

#[test]
fn a_cut_silences_what_is_below_it_and_nothing_else() {
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
    // What resolves after all is known by its own slot.
    cache.put(name("a.gone.example.co.uk"), V4, &one(1), NOW);
    assert_eq!(answer(&cache, "a.gone.example.co.uk", V4, NOW), Some(addresses(&[v4(1)], &[])));
    cache.put(name("gone.example.co.uk"), V4, &one(2), NOW);
    assert_eq!(answer(&cache, "b.gone.example.co.uk", V4, NOW), None);
}
