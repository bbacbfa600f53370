//! The guarantees of the set of known URLs, against a plain set.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;

/// A digest as evenly spread as MD5's (splitmix64).
pub(super) fn digest(number: u64) -> Digest {
    let mix = |mut z: u64| {
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let (high, low) = (mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)), mix(!number));
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

/// Digests of consecutive numbers.
fn digests(numbers: std::ops::Range<u64>) -> Vec<Digest> {
    numbers.map(digest).collect()
}

/// A set of short keys, as published, in memory.
fn published() -> Seen {
    Seen::open(SeenSettings { key: KeyKind::Md5Published, ..SeenSettings::default() }).unwrap()
}

#[test]
fn a_key_is_new_exactly_once() {
    for mut seen in [Seen::default(), published()] {
        let keys: Vec<Digest> = digests(0..400_000).into_iter().map(|key| seen.cut(key)).collect();
        for batch in keys.chunks(1000) {
            assert!(seen.add(batch).iter().all(|answer| *answer == Answer::New));
        }
        assert_eq!(seen.len(), keys.len() as u64);
        for batch in keys.chunks(1000) {
            assert!(seen.add(batch).iter().all(|answer| *answer == Answer::Known));
        }
        assert!(digests(400_000..500_000).iter().all(|key| !seen.contains(key).unwrap()));
    }
}

#[test]
fn a_key_takes_little_more_than_its_own_bytes() {
    let mut seen = Seen::default();
    digests(0..1_000_000).chunks(10_000).for_each(|batch| drop(seen.add(batch)));
    let bytes = seen.memory() as f64 / 1e6;
    assert!(bytes < 18.0, "{bytes} bytes a key");
}

#[test]
fn a_batch_that_repeats_itself_is_new_once() {
    let mut seen = Seen::default();
    let answers = seen.add(&[digest(1), digest(1), digest(2)]);
    assert_eq!(answers, [Answer::New, Answer::Known, Answer::New]);
}

#[test]
fn keys_that_an_attacker_chose_cost_time_but_no_wrong_answer() {
    // Keys that differ in two bytes only, wherever those stand.
    for at in 0..15 {
        let mut seen = Seen::default();
        let keys: Vec<Digest> = (0..20_000u16)
            .map(|number| {
                let mut key = [7; 16];
                key[at..at + 2].copy_from_slice(&number.to_le_bytes());
                key
            })
            .collect();
        assert!(seen.add(&keys).iter().all(|answer| *answer == Answer::New), "at {at}");
        assert!(keys.iter().all(|key| seen.contains(key).unwrap()), "at {at}");
        assert!(seen.memory() < 16 << 20, "at {at}: {} bytes", seen.memory());
        assert!(keys.iter().all(|key| seen.delete(key).unwrap()), "at {at}");
        assert!(seen.is_empty());
    }
}

#[test]
fn a_saved_set_is_the_same_set() {
    for mut seen in [Seen::default(), published()] {
        let keys: Vec<Digest> = digests(0..300_000).into_iter().map(|key| seen.cut(key)).collect();
        seen.add(&keys);
        let mut saved = Vec::new();
        seen.save(&mut saved).unwrap();
        saved.extend(b"what follows is not its own");
        let mut from = &saved[..];
        let mut loaded = Seen::load(seen.settings.clone(), &mut from).unwrap();
        assert_eq!(from, b"what follows is not its own");
        assert_eq!(loaded.len(), seen.len());
        assert!(loaded.add(&keys).iter().all(|answer| *answer == Answer::Known));
        let more: Vec<Digest> = digests(300_000..310_000).into_iter().map(|key| seen.cut(key)).collect();
        assert!(loaded.add(&more).iter().all(|answer| *answer == Answer::New));
    }
}

#[test]
fn the_walk_gives_all_keys_in_order() {
    for count in [0, 1, 1_000, 200_000] {
        let mut tree = Tree::new(16);
        digests(0..count).iter().for_each(|key| assert!(tree.insert(key)));
        let mut walked = Vec::new();
        let all = tree.walk(|keys| {
            walked.extend_from_slice(keys);
            Ok::<(), ()>(())
        });
        all.unwrap();
        let expected: BTreeSet<Digest> = digests(0..count).into_iter().collect();
        assert!(walked.iter().eq(expected.iter()), "{count}");
    }
}

#[test]
fn a_keyed_set_knows_its_keys_after_a_restart_and_no_other_set_does() {
    let settings = SeenSettings { key: KeyKind::Keyed, ..SeenSettings::default() };
    let url = CrawlUrl::parse("http://example.org/").unwrap();
    let mut seen = Seen::open(settings.clone()).unwrap();
    let mut saved = Vec::new();
    seen.save(&mut saved).unwrap();
    let loaded = Seen::load(settings.clone(), &mut &saved[..]).unwrap();
    assert_eq!(loaded.key(&url), seen.key(&url));
    assert_ne!(Seen::open(settings).unwrap().key(&url), seen.key(&url));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_a_set(steps in proptest::collection::vec((0u8..3, 0u64..3000), 0..6000)) {
        let (mut seen, mut model) = (Seen::default(), HashSet::new());
        for (step, number) in steps {
            let key = digest(number);
            match step {
                0 => prop_assert_eq!(seen.add(&[key]) == [Answer::New], model.insert(number)),
                1 => prop_assert_eq!(seen.delete(&key).unwrap(), model.remove(&number)),
                _ => prop_assert_eq!(seen.contains(&key).unwrap(), model.contains(&number)),
            }
            prop_assert_eq!(seen.len(), model.len() as u64);
        }
    }

    #[test]
    fn damage_is_an_error(at in 0usize..100_000, bit in 0u8..8) {
        let mut seen = Seen::default();
        seen.add(&digests(0..3000));
        let mut saved = Vec::new();
        seen.save(&mut saved).unwrap();
        let at = at % saved.len();
        prop_assert!(Seen::load(SeenSettings::default(), &mut &saved[..at]).is_err());
        saved[at] ^= 1 << bit;
        prop_assert!(Seen::load(SeenSettings::default(), &mut &saved[..]).is_err());
    }
}
