//! Tests of natures: shares are met, and difficult hosts hide no others.

use std::collections::HashMap;

use super::*;
use crate::params::Params;
use crate::world::World;

/// A world of a profile.
fn world(profile: &str, hosts: u32, seed: u64, ipv6: bool) -> World {
    World::new(&Params { profile: profile.into(), hosts, pages: 5, seed, ipv6, ..Params::default() })
}

#[test]
fn shares_of_the_internet_are_exact() {
    let world = world("internet", 10_000, 3, true);
    let count = |fits: &dyn Fn(Nature) -> bool| (0..10_000).filter(|&h| fits(world.nature(h))).count();
    for (lookup, expected) in [
        (Lookup::Address, 8_800),
        (Lookup::NoData, 300),
        (Lookup::NxDomain, 400),
        (Lookup::ServFail, 200),
        (Lookup::Dead, 300),
    ] {
        assert_eq!(count(&|n| n.lookup == lookup), expected, "{lookup:?}");
    }
    assert_eq!((count(&|n| n.family == Family::Both), count(&|n| n.family == Family::V6)), (3_500, 100));
    assert_eq!(count(&|n| n.wildcard), 200);
    let mut names = HashMap::new();
    (0..10_000).for_each(|h| *names.entry(world.address(h)).or_insert(0) += 1);
    let on = |fits: &dyn Fn(i32) -> bool| names.values().filter(|&&n| fits(n)).sum::<i32>();
    assert_eq!((on(&|n| n == 1), on(&|n| n > 100)), (2_000, 3_000));
    let ttls = |most| (0..10_000).filter(|&h| world.ttl(h) <= most).count();
    for (most, expected) in [(60, 1_000_usize), (300, 4_000), (3_600, 7_000)] {
        assert!(ttls(most).abs_diff(expected) < 150, "{most}: {}", ttls(most));
    }
    let aliases: Vec<_> = (0..10_000).map(|h| world.aliases(h)).collect();
    let alias = aliases.iter().filter(|&&n| n > 0).count();
    assert!(alias.abs_diff(3_000) < 150 && aliases.iter().all(|&n| n <= 8), "{alias}");
    let longer = aliases.iter().filter(|&&n| n > 1).count();
    assert!(longer.abs_diff(1_050) < 100, "{longer}");
}

#[test]
fn hostile_shares_are_exact_and_hide_no_host() {
    for (hosts, seed) in [(30, 1), (60, 2), (2_000, 3)] {
        let world = world("hostile", hosts, seed, false);
        let natures: Vec<_> = (0..hosts).map(|h| world.nature(h)).collect();
        let part = |share: f64| (share * f64::from(hosts)).round() as usize;
        let count = |fits: &dyn Fn(&Nature) -> bool| natures.iter().filter(|n| fits(n)).count();
        assert_eq!(count(&|n| n.lookup == Lookup::Address), part(0.9));
        assert_eq!(count(&|n| n.manner != Manner::Ordinary), part(0.55));
        assert_eq!(count(&|n| n.trap != Trap::None), part(0.55));
        assert_eq!(count(&|n| n.gate != Gate::Ordinary), part(0.28));
        assert!(world.seeds().all(|h| world.nature(h).counts()));
        // Every host that counts is reachable by front pages alone.
        let mut seen = vec![false; hosts as usize];
        let mut queue: Vec<u32> = world.seeds().collect();
        while let Some(host) = queue.pop() {
            if std::mem::replace(&mut seen[host as usize], true) || !world.nature(host).counts() {
                continue;
            }
            world.links(host, 0, |link| {
                if link.place != crate::world::Place::List && link.follow && link.slot == 0 {
                    queue.push(link.host);
                }
            });
        }
        assert!(seen.iter().all(|&s| s), "{hosts} hosts");
    }
}

#[test]
fn nothing_lives_beneath_names_that_do_not_exist() {
    let world = world("internet", 5_000, 4, false);
    for host in 0..5_000 {
        if world.nature(host).lookup == Lookup::NxDomain {
            let end = format!(".{}", world.name(host));
            assert!((0..5_000).all(|other| !world.name(other).ends_with(&end)), "{end}");
        }
    }
}

#[test]
fn names_move_after_their_time_and_the_old_address_answers_for_a_while() {
    let world = world("internet", 3_000, 5, false);
    let movers: Vec<_> = (0..3_000).filter(|&h| world.address_at(h, 1e6) != world.address(h)).collect();
    assert!((150..260).contains(&movers.len()), "{}", movers.len());
    for host in movers {
        let (ttl, old) = (f64::from(world.ttl(host)), world.address(host));
        let new = world.address_at(host, ttl * 3.01);
        assert_eq!(world.address_at(host, ttl * 2.99), old);
        assert!(world.lives_at(host, old, ttl * 4.4) && world.lives_at(host, new, ttl * 3.01));
        assert!(new == old || !world.lives_at(host, old, ttl * 4.6));
    }
}

#[test]
fn one_seed_deals_the_same_natures() {
    for profile in ["internet", "hostile"] {
        let (one, two, other) =
            (world(profile, 500, 7, true), world(profile, 500, 7, true), world(profile, 500, 8, true));
        let natures = |world: &World| (0..500).map(|h| world.nature(h)).collect::<Vec<_>>();
        assert_eq!(natures(&one), natures(&two));
        assert_ne!(natures(&one), natures(&other));
        assert!((0..500).all(|h| one.address_at(h, 5e5) == two.address_at(h, 5e5)));
    }
}

#[test]
fn lan_is_all_ordinary() {
    let world = world("lan", 500, 7, true);
    assert!(!world.has_natures() && (0..500).all(|h| world.address6(h).is_none() && world.aliases(h) == 0));
}
