//! A plain map as the reference of the cache.

use super::*;

/// The model's entries for a name's IPv4 and IPv6.
type Parts = [Option<Part>; 2];

/// The entry of one family; it expires at some second between `earliest` and `latest`.
#[derive(Clone, Debug)]
struct Part {
    addresses: Addresses,
    earliest: Seconds,
    latest: Seconds,
}

/// The indexes of families in [`Parts`].
fn places(families: Families) -> &'static [usize] {
    match families {
        V4 => &[0],
        V6 => &[1],
        Both => &[0, 1],
    }
}

/// An operation on the cache.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, Families, Vec<u8>, Vec<u8>, u32),
    Get(u8, Families),
    Forget(u8),
    Wait(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let families = || prop_oneof![Just(V4), Just(V6), Just(Both)];
    let bytes = || proptest::collection::vec(0u8..9, 0..6);
    let step = prop_oneof![
        4 => (0u8..40, families(), bytes(), bytes(), 0u32..9_000)
            .prop_map(|(name, families, v4, v6, ttl)| Step::Put(name, families, v4, v6, ttl)),
        6 => (0u8..40, families()).prop_map(|(name, families)| Step::Get(name, families)),
        1 => (0u8..40).prop_map(Step::Forget),
        2 => prop_oneof![0u32..500, 0u32..90_000, Just(86_400 * 12), Just(65_536 * 60)].prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// With space for all names, the cache equals a plain map; expiries lie within the minute that they are
    /// rounded down to.
    #[test]
    fn a_plain_map_gives_the_same_answers(steps in steps()) {
        let cache = memory(CompactSettings { negative_capacity: Some(0), min_ttl: 120, max_ttl: 7_200, ..small() });
        let (mut plain, mut now) = (HashMap::<u8, Parts>::new(), NOW);
        for step in steps {
            match step {
                Step::Put(number, families, given4, given6, ttl) => {
                    let given = Addresses { v4: given4.iter().map(|&n| v4(n)).collect(), v6: given6.iter().map(|&n| v6(n.into())).collect() };
                    let mut kept = sorted(&given);
                    kept.v4.truncate(if families == V6 { 0 } else { 4 });
                    kept.v6.truncate(if families == V4 { 0 } else { 4 });
                    let nothing = kept.is_empty();
                    let ttl = if nothing { ttl.clamp(1, 3_600) } else { ttl.clamp(120, 7_200) };
                    let text = format!("n{number}.example.com");
                    prop_assert!(cache.put(name(&text), families, &resolved(Answer::Addresses(given), ttl), now));
                    let parts = plain.entry(number).or_default();
                    let other = match families {
                        V4 => parts[1].clone(),
                        V6 => parts[0].clone(),
                        Both => None,
                    }.filter(|other| now < other.latest);
                    let mut latest = now + u64::from(ttl);
                    let had = other.as_ref().is_some_and(|other| !other.addresses.is_empty());
                    // Whether the merged answer is valid for the shortest retention of addresses, a minute.
                    let left = other.as_ref().map_or(0, |other| other.latest - now);
                    let near = other.as_ref().is_some_and(|other| (other.earliest.saturating_sub(now) < 60) != (left < 60));
                    // Whether it is still valid at all, which its expiry does not say to the second.
                    let is_over = other.as_ref().is_some_and(|other| other.earliest <= now);
                    prop_assume!(!near && !is_over);
                    let is_short = left.min(u64::from(ttl)) < 60;
                    if is_short && nothing && had {
                        continue;
                    }
                    let joins = other.is_some() && !(is_short && (had || !nothing));
                    latest = if joins { latest.min(now + left) } else { latest };
                    let earliest = if nothing && !(joins && had) { latest } else { latest / 60 * 60 };
                    let earliest = other.as_ref().filter(|_| joins).map_or(earliest, |other| earliest.min(other.earliest));
                    *parts = Default::default();
                    let split = [Addresses { v6: vec![], ..kept.clone() }, Addresses { v4: vec![], ..kept }];
                    for &place in places(families) {
                        parts[place] = Some(Part { addresses: split[place].clone(), earliest, latest });
                    }
                    if let Some(other) = other.filter(|_| joins) {
                        parts[usize::from(families == V4)] = Some(Part { earliest, latest, ..other });
                    }
                }
                Step::Get(number, families) => {
                    let found = answer(&cache, &format!("n{number}.example.com"), families, now);
                    let expected = plain.get(&number).and_then(|parts| {
                        let parts = places(families).iter().map(|&place| parts[place].as_ref()).collect::<Option<Vec<&Part>>>()?;
                        let all = Addresses {
                            v4: parts.iter().flat_map(|part| part.addresses.v4.clone()).collect(),
                            v6: parts.iter().flat_map(|part| part.addresses.v6.clone()).collect(),
                        };
                        let answer = if all.is_empty() { Answer::NoData } else { Answer::Addresses(all) };
                        Some((answer, parts[0].earliest, parts[0].latest))
                    });
                    match (found, expected) {
                        (Some(found), Some((answer, _, latest))) => {
                            prop_assert_eq!(found, answer);
                            prop_assert!(now < latest, "beyond its TTL");
                        }
                        (None, Some((.., earliest, _))) => prop_assert!(now >= earliest, "lost before its TTL"),
                        (found, None) => prop_assert_eq!(found, None),
                    }
                }
                Step::Forget(number) => {
                    let known = cache.remove(name(&format!("n{number}.example.com")));
                    let is_valid = plain.remove(&number).is_some_and(|parts| parts.into_iter().flatten().any(|part| now < part.earliest));
                    prop_assert!(known || !is_valid);
                }
                Step::Wait(seconds) => now += u64::from(seconds),
            }
        }
        // The reference counts of sets are those of the slots.
        let counted = cache.details();
        cache.recount();
        prop_assert_eq!(cache.details(), counted);
        cache.forget_in(&KeyRange::all());
        prop_assert_eq!((cache.details().sets, cache.details().used, cache.count()), ([0, 0], 0, 0));
    }
}
