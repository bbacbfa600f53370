//! Shards that have few hosts decide no worse about the crawl's own network than one frontier with all of them.

use std::sync::Arc;

use lycosa_records::{Outcome, Request};
use lycosa_url::{FailureKind, Micros};

use crate::scripted::{Names, SECOND, answer, failed, frontier, url};
use crate::scripted::{patient, turn, world};
use crate::{Frontier, Settings, Shared, State};

/// Frontiers that report to each other; each with a host of its own.
fn shards(count: usize) -> Vec<(Frontier<Names>, Names)> {
    let shared = Shared { reports: Some(Arc::default()), ..Shared::default() };
    (0..count).map(|_| frontier(Settings { shared: shared.clone(), ..patient() })).collect()
}

/// Runs them side by side, ten times a second, for so many seconds or to their end; gives all messages, by shard.
fn run_for(
    shards: &mut [(Frontier<Names>, Names)],
    seconds: u64,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> Vec<Vec<String>> {
    let (mut now, mut messages) = (0, vec![Vec::new(); shards.len()]);
    while now < seconds * SECOND && !shards.iter().all(|(frontier, _)| frontier.idle()) {
        for ((frontier, _), messages) in shards.iter_mut().zip(&mut messages) {
            messages.extend(turn(frontier, now, site));
        }
        now += SECOND / 10;
    }
    messages
}

/// Pages of all shards in a state.
fn count(shards: &[(Frontier<Names>, Names)], state: State) -> u64 {
    shards.iter().map(|(frontier, _)| frontier.counts().tally.count(state)).sum()
}

#[test]
fn when_the_uplink_breaks_shards_of_one_host_each_give_nothing_up() {
    let mut shards = shards(4);
    for (number, (frontier, names)) in shards.iter_mut().enumerate() {
        let seeds = world(names, 4, 60);
        let own = format!("http://host{number}.com/");
        let own: Vec<_> = seeds.into_iter().filter(|seed| seed.as_str().starts_with(&own)).collect();
        frontier.add(&own, 0).unwrap();
    }
    let messages = run_for(&mut shards, 20_000, &mut |request, now| {
        if (20 * SECOND..3620 * SECOND).contains(&now) {
            return failed(request, now, FailureKind::ConnectRefused);
        }
        answer(request, now, 200, &[], "", &[])
    });
    assert_eq!((count(&shards, State::Done), count(&shards, State::Failed)), (240, 0));
    for messages in messages {
        assert!(messages[0].starts_with("suspended: no site answers"), "{messages:?}");
        assert!(messages[1].starts_with("the crawl goes on"), "{messages:?}");
    }
}

#[test]
fn a_shard_of_dead_hosts_suspends_nothing_while_the_others_hosts_answer() {
    let mut shards = shards(2);
    let dead: Vec<_> = (0..9).map(|host| url(&format!("http://host{host}.com/"))).collect();
    world(&shards[0].1, 9, 1);
    shards[0].0.add(&dead, 0).unwrap();
    shards[1].1.addresses.borrow_mut().insert("alive.com".to_owned(), "95.1.1.1".parse().unwrap());
    let alive: Vec<_> = (0..900).map(|page| url(&format!("http://alive.com/{page}"))).collect();
    shards[1].0.add(&alive, 0).unwrap();
    let messages = run_for(&mut shards, 4000, &mut |request, now| match request.url.host() {
        "alive.com" => answer(request, now, 200, &[], "", &[]),
        _ => failed(request, now, FailureKind::ConnectRefused),
    });
    assert_eq!(messages, [Vec::<String>::new(), Vec::new()], "their trouble, not the crawl's");
    assert_eq!((count(&shards, State::Done), count(&shards, State::Failed)), (900, 9));
}

#[test]
fn a_shard_of_failing_hosts_is_patient_while_another_shard_has_work() {
    let mut shards = shards(2);
    world(&shards[0].1, 1, 1);
    shards[0].0.add(&[url("http://host0.com/")], 0).unwrap();
    shards[1].1.addresses.borrow_mut().insert("alive.com".to_owned(), "95.1.1.1".parse().unwrap());
    let alive: Vec<_> = (0..900).map(|page| url(&format!("http://alive.com/{page}"))).collect();
    shards[1].0.add(&alive, 0).unwrap();
    // Longer than the patience of a crawl of which only failing hosts are left, and shorter than that of one with other work.
    let answers_at = 700 * SECOND;
    run_for(&mut shards, 4000, &mut |request, now| match request.url.host() {
        "host0.com" if now < answers_at => failed(request, now, FailureKind::ConnectRefused),
        _ => answer(request, now, 200, &[], "", &[]),
    });
    assert_eq!((count(&shards, State::Done), count(&shards, State::Failed)), (901, 0));
}
