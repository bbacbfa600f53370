//! A plain map beside the cache.

use super::*;

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
                    let ttl_counts = if nothing { ttl.clamp(1, 3_600) } else { ttl.clamp(120, 7_200) };
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
