//! Full and nearly full caches: evictions and lookups.

use super::*;

#[test]
fn at_ninety_percent_load_hardly_any_name_is_evicted_early() {
    let cache = memory(CompactSettings { capacity: 100_000, ..small() });
    for number in 0..100_000 {
        cache.put(name(&format!("n{number}.example.com")), V4, &one(1), NOW);
    }
    assert!(cache.statistics().evictions <= 2_000, "{}", cache.statistics().evictions);
    assert_eq!(cache.count() + cache.statistics().evictions, 100_000);
    assert_eq!(cache.count_in(&KeyRange::all(), NOW), cache.count());
}

#[test]
fn a_wrong_answer_takes_all_of_64_bits_in_one_of_twelve_slots() {
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    let (table, key) = (cache.table(), cache.keys.of("a.example.com"));
    let homes = table.homes(&key);
    let found = |verify| table.find(&key::NameKey { verify, ..key }, homes, |_| ()).is_some();
    assert!(found(key.verify) && (0..64).all(|bit| !found(key.verify ^ 1 << bit)));
    assert_eq!(homes.len() * bucket::SLOTS, 12);
    const { assert!(WRONG_ANSWERS <= 1e-12) };
    // The 64 bits are random: of half a million names, no two share 39 of them more often than by chance
    // (expected: 0.23 pairs).
    let mut hashes: Vec<u64> =
        (0..500_000).map(|n| cache.keys.of(&format!("n{n}.example.com")).verify >> 25).collect();
    hashes.sort_unstable();
    assert!(hashes.windows(2).filter(|two| two[0] == two[1]).count() <= 5);
}

#[test]
fn a_lookup_in_a_crowded_cache_gives_the_last_insertion() {
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
            assert!(cache.put(name(&texts[number]), Both, &resolved(addresses(&v4, &v6), 3_600), NOW));
            told[number] = Some(addresses(&v4, &v6));
        }
        let other = (dice >> 20) as usize % texts.len();
        if let Some(found) = answer(&cache, &texts[other], Both, NOW) {
            assert_eq!(Some(found), told[other]);
        }
    }
    let held = texts.iter().filter(|text| answer(&cache, text, Both, NOW).is_some()).count() as u64;
    assert!(held > 1_000 && cache.statistics().evictions > 10_000);
    let counted = cache.details();
    assert_eq!((cache.count(), counted.used), (held, held));
    cache.recount();
    assert_eq!(cache.details(), counted, "reference counts are those of the slots");
}

#[test]
fn a_scan_of_one_time_names_does_not_evict_names_that_were_looked_up_again() {
    let cache = memory(CompactSettings { capacity: 10_000, ..small() });
    let useful: Vec<String> = (0..2_000).map(|number| format!("u{number}.example.com")).collect();
    for text in &useful {
        cache.put(name(text), V4, &one(1), NOW);
        (0..3).for_each(|_| drop(answer(&cache, text, V4, NOW)));
    }
    for number in 0..30_000 {
        cache.put(name(&format!("s{number}.example.com")), V4, &one(2), NOW);
    }
    let left = useful.iter().filter(|text| answer(&cache, text, V4, NOW).is_some()).count();
    assert!(left >= 1_750, "{left} of 2,000 left");
}

#[test]
fn names_that_were_useful_long_ago_are_evicted() {
    let cache = memory(CompactSettings { capacity: 2_000, ..small() });
    for number in 0..2_000 {
        let text = format!("old{number}.example.com");
        cache.put(name(&text), V4, &one(1), NOW);
        (0..3).for_each(|_| drop(answer(&cache, &text, V4, NOW)));
    }
    let texts: Vec<String> = (0..1_500).map(|number| format!("new{number}.example.com")).collect();
    for _ in 0..60 {
        for text in &texts {
            if answer(&cache, text, V4, NOW).is_none() {
                cache.put(name(text), V4, &one(2), NOW);
            }
        }
    }
    let held = texts.iter().filter(|text| answer(&cache, text, V4, NOW).is_some()).count();
    assert!(held >= 1_000, "{held} of 1,500");
}

#[test]
fn expired_names_are_replaced_before_others() {
    let cache = memory(small());
    let lives = |number: u32| if number.is_multiple_of(2) { 300 } else { 7_200 };
    for number in 0..1_000 {
        let resolution = resolved(addresses(&[v4(1)], &[]), lives(number));
        cache.put(name(&format!("n{number}.example.com")), V4, &resolution, NOW);
    }
    for number in 0..300 {
        cache.put(name(&format!("m{number}.example.com")), V4, &one(2), NOW + 600);
    }
    let lost = (0..1_000)
        .filter(|n| n % 2 == 1)
        .filter(|n| answer(&cache, &format!("n{n}.example.com"), V4, NOW + 600).is_none())
        .count();
    assert!(lost <= 20, "{lost}");
}

#[test]
fn a_writer_waits_for_a_preempted_writer_and_a_reader_does_not() {
    let cache = memory(small());
    cache.put(name("a.example.com"), V4, &one(1), NOW);
    let (table, key) = (cache.table(), cache.keys.of("a.example.com"));
    let bucket = table.bucket(table.homes(&key)[0]);
    let held = bucket.take(&cache.writers()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| cache.put(name("a.example.com"), V4, &one(2), NOW));
        assert_eq!(table.bucket(table.homes(&key)[0]).read(|_| ()), None, "it gets nothing");
        std::thread::sleep(std::time::Duration::from_millis(5));
        drop(held);
        assert!(writer.join().unwrap());
    });
    assert_eq!(answer(&cache, "a.example.com", V4, NOW), Some(addresses(&[v4(2)], &[])));
}
