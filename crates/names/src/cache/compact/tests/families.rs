//! IPv4 and IPv6 of a name side by side, and failures beside answers.

use super::*;

const NAME: &str = "a.example.com";

fn failed() -> Resolution {
    resolved(Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 }, 0)
}

/// The answers with the first IPv4 address, the first IPv6 address, and both.
fn first() -> [Option<Answer>; 3] {
    [Some(addresses(&[v4(1)], &[])), Some(addresses(&[], &[v6(1)])), Some(addresses(&[v4(1)], &[v6(1)]))]
}

fn only6(last: u16) -> Resolution {
    resolved(addresses(&[], &[v6(last)]), 3_600)
}

/// The cached answers for IPv4, IPv6 and both.
fn known(cache: &CompactCache, now: Seconds) -> [Option<Answer>; 3] {
    [V4, V6, Both].map(|families| answer(cache, NAME, families, now))
}

#[test]
fn answers_of_both_families_are_merged_until_the_first_expires() {
    for filter in [0, 1_000] {
        let cache = memory(CompactSettings { negative_capacity: Some(filter), ..small() });
        let none = resolved(Answer::NoData, 900);
        cache.put(name(NAME), V4, &one(1), NOW);
        cache.put(name(NAME), V6, &only6(1), NOW);
        assert_eq!(known(&cache, NOW), first());
        cache.put(name(NAME), V6, &none, NOW);
        let v4_only = Some(addresses(&[v4(1)], &[]));
        assert_eq!(known(&cache, NOW), [v4_only.clone(), Some(Answer::NoData), v4_only], "filter: {filter}");
        // The merged answer expires with the first of them.
        assert_eq!(answer(&cache, NAME, V4, NOW + 900), None);
        cache.put(name(NAME), V4, &none, NOW);
        cache.put(name(NAME), V6, &none, NOW);
        assert_eq!(known(&cache, NOW), [const { Some(Answer::NoData) }; 3]);
    }
}

#[test]
fn a_short_denial_of_one_family_keeps_the_addresses_of_the_other() {
    let cache = memory(small());
    cache.put(name(NAME), V4, &one(1), NOW);
    cache.put(name(NAME), V6, &resolved(Answer::NoData, 5), NOW);
    assert_eq!(known(&cache, NOW), [Some(addresses(&[v4(1)], &[])), None, None]);
}

#[test]
fn a_failure_never_replaces_an_answer() {
    for negative in [Negative::Generations(4), Negative::ClearAll] {
        let cache = memory(CompactSettings { negative, ..small() });
        cache.put(name(NAME), Both, &resolved(addresses(&[v4(1)], &[v6(1)]), 3_600), NOW);
        for families in [V4, V6, Both] {
            cache.put(name(NAME), families, &failed(), NOW + 10);
        }
        assert_eq!(known(&cache, NOW + 11), first(), "{negative:?}");
    }
}

#[test]
fn stale_data_keeps_its_expiry_however_often_resolving_fails() {
    let cache = memory(small());
    cache.put(name(NAME), Both, &resolved(addresses(&[v4(1)], &[v6(1)]), 600), NOW);
    let stale = |now| cache.get_expired(name(NAME), V4, now, 3_600).map(|record| record.found().answer);
    for after in (600..4_100).step_by(90) {
        cache.put(name(NAME), V4, &failed(), NOW + after);
        assert_eq!(stale(NOW + after), Some(addresses(&[v4(1)], &[])), "{after} s later");
    }
    assert_eq!(stale(NOW + 600 + 3_600), None, "an hour after its end and no longer");
    // The other family is unchanged.
    assert!(cache.get_expired(name(NAME), V6, NOW + 4_000, 3_600).is_some());
}

#[test]
fn a_family_that_failed_pauses_while_the_other_one_is_valid() {
    let cache = memory(small());
    cache.put(name(NAME), V4, &one(1), NOW);
    for _ in 0..4 {
        cache.put(name(NAME), V6, &failed(), NOW);
    }
    let half = Some(addresses(&[v4(1)], &[]));
    let failure = Some(Answer::Failed { trouble: Trouble::TimeOut, attempts: 4 });
    assert_eq!(known(&cache, NOW + 7), [half.clone(), failure, half.clone()]);
    assert_eq!(known(&cache, NOW + 8), [half, None, None], "eight seconds after the fourth failure");
    // If the family that was answered has no address, the name may still have one.
    cache.put(name("b.example.com"), V4, &resolved(Answer::NoData, 900), NOW);
    cache.put(name("b.example.com"), V6, &failed(), NOW);
    let told = cache.get(name("b.example.com"), Both, NOW).unwrap();
    assert_eq!(
        (told.state, told.expires),
        (State::Failed { trouble: Trouble::TimeOut, attempts: 1 }, Some(NOW + 1))
    );
}

#[test]
fn an_answer_resets_earlier_failures() {
    let cache = memory(small());
    (0..9).for_each(|_| _ = cache.put(name(NAME), Both, &failed(), NOW));
    cache.put(name(NAME), Both, &resolved(addresses(&[v4(1)], &[]), 60), NOW);
    assert_eq!(known(&cache, NOW + 300), [const { None }; 3], "its time is over, and nothing else is known");
    (0..9).for_each(|_| _ = cache.put(name(NAME), V4, &failed(), NOW));
    assert!(cache.remove(name(NAME)));
    assert_eq!(known(&cache, NOW), [const { None }; 3], "forgotten");
    assert!(!cache.remove(name(NAME)));
}

#[test]
fn failures_evict_no_stale_data() {
    let cache = memory(CompactSettings { capacity: 1_000, ..small() });
    let names: Vec<String> = (0..1_000).map(|number| format!("n{number}.example.com")).collect();
    for text in &names {
        cache.put(name(text), V4, &resolved(addresses(&[v4(1)], &[]), 600), NOW);
    }
    let later = NOW + 1_000;
    let stale = || {
        let old = |text: &&String| cache.get_expired(name(text), V4, later, 3_600).is_some();
        names.iter().filter(old).count()
    };
    let before = stale();
    for text in &names {
        for families in [V4, V6] {
            cache.put(name(text), families, &failed(), later);
        }
    }
    assert!(before > 900 && stale() == before, "{} of {before}", stale());
    let failing = names.iter().filter(|text| answer(&cache, text, V4, later).is_some()).count();
    assert_eq!(failing, 1_000, "and all failures are known");
}

#[test]
fn a_failure_while_an_answer_is_valid_only_lengthens_the_pause() {
    let cache = memory(small());
    cache.put(name(NAME), V4, &resolved(addresses(&[v4(1)], &[]), 600), NOW);
    let paused = |now| cache.paused_until(name(NAME), V4, now).map(|until| until - now);
    for pause in [1, 2, 4] {
        cache.put(name(NAME), V4, &failed(), NOW + 590);
        assert_eq!(paused(NOW + 590), Some(pause));
    }
    cache.put_failure(name(NAME), V4, Trouble::TimeOut, 120, NOW + 500);
    assert_eq!(answer(&cache, NAME, V4, NOW + 601), None, "it is asked for again at once");
}

#[test]
fn a_clock_that_is_set_back_prolongs_no_pause() {
    let cache = memory(small());
    cache.put(name(NAME), V4, &failed(), NOW + 3_600);
    assert_eq!(answer(&cache, NAME, V4, NOW), None, "it may be asked for at once, not in an hour");
    assert_eq!(cache.paused_until(name(NAME), V4, NOW), None);
    cache.put(name(NAME), V4, &failed(), NOW);
    let paused = cache.paused_until(name(NAME), V4, NOW);
    assert_eq!(
        paused,
        Some(NOW + 2),
        "the second failure in a row, whatever the clock said at the first one"
    );
}
