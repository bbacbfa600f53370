//! Hosts on disk: what is put in comes out, whatever keys collide.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

thread_local! {
    /// Bits of keys that are used in this thread: with few of them, keys collide.
    pub(crate) static USED_BITS: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What can happen.
#[derive(Clone, Debug)]
enum Step {
    /// A URL of a host.
    Url(u8),
    /// A host that was in memory comes, with so many URLs.
    Rest(u8, usize),
    Next,
    Take(u8),
    Event,
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0u8..40).prop_map(Step::Url),
        3 => ((0u8..40), prop_oneof![Just(0usize), 1usize..9]).prop_map(|(host, urls)| Step::Rest(host, urls)),
        4 => Just(Step::Next),
        2 => (0u8..40).prop_map(Step::Take),
        1 => Just(Step::Event),
        1 => Just(Step::Snapshot),
    ];
    proptest::collection::vec(step, 0..200)
}

fn host(number: u8) -> String {
    format!("h{number}.example")
}

/// What is known of hosts on disk: state, URLs, and how many events there were before.
type Model = BTreeMap<String, (Vec<u8>, Vec<u8>, usize, usize)>;

/// Hosts that were taken out are those of the model, which loses them.
fn check(model: &mut Model, taken: Vec<ColdHost>, events: usize) -> Result<(), TestCaseError> {
    for cold in taken {
        let (state, packed, urls, before) = model.remove(&*cold.host).unwrap();
        prop_assert_eq!((cold.state, cold.packed, cold.urls), (state, packed, urls));
        prop_assert_eq!(cold.events.len(), events - before);
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_put_in_comes_out_once(steps in steps(), bits in prop_oneof![Just(u64::MAX), Just(15)]) {
        USED_BITS.set(bits);
        let directory = tempfile::tempdir().unwrap();
        let mut cold = Cold::new(Some(directory.path().to_owned()));
        let (mut model, mut events): (Model, usize) = (Model::new(), 0);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Url(name) => {
                    let entry = model.entry(host(name)).or_insert_with(|| (Vec::new(), Vec::new(), 0, events));
                    entry.1.push(number as u8);
                    entry.2 += 1;
                    cold.append(&host(name), &[], 1, |into| into.push(number as u8)).unwrap();
                }
                Step::Rest(name, urls) if !model.contains_key(&host(name)) => {
                    let (state, packed) = (vec![name, 1], vec![number as u8; urls]);
                    cold.append(&host(name), &state, urls, |into| into.extend_from_slice(&packed)).unwrap();
                    model.insert(host(name), (state, packed, urls, events));
                }
                Step::Rest(..) => {}
                Step::Next => match cold.next().unwrap() {
                    None => prop_assert!(model.values().all(|(.., urls, _)| *urls == 0)),
                    Some(key) => {
                        let taken = cold.take(key).unwrap();
                        prop_assert!(taken.iter().any(|host| host.urls > 0));
                        check(&mut model, taken, events)?;
                    }
                },
                Step::Take(name) => {
                    let taken = cold.take(cold.key(&host(name))).unwrap();
                    check(&mut model, taken, events)?;
                    prop_assert!(!model.contains_key(&host(name)));
                }
                Step::Event if !model.is_empty() => {
                    cold.happens(Event::DoubtedNames);
                    events += 1;
                }
                Step::Event => {}
                Step::Snapshot => {
                    cold.flush().unwrap();
                    cold.sync().unwrap();
                    let files = cold.used();
                    let mut saved = Vec::new();
                    cold.save(&mut saved).unwrap();
                    // What comes later is not in the snapshot.
                    cold.append("later.example", &[], 1, |into| into.push(1)).unwrap();
                    cold.sync().unwrap();
                    cold = Cold::new(Some(directory.path().to_owned()));
                    cold.load(&mut &saved[..], 10).unwrap();
                    cold.unused_files(&files).unwrap().iter().for_each(|path| std::fs::remove_file(path).unwrap());
                }
            }
            prop_assert_eq!(cold.urls(), model.values().map(|(.., urls, _)| *urls as u64).sum::<u64>());
        }
        while let Some(key) = cold.next().unwrap() {
            let taken = cold.take(key).unwrap();
            check(&mut model, taken, events)?;
        }
        for name in 0..40 {
            let taken = cold.take(cold.key(&host(name))).unwrap();
            check(&mut model, taken, events)?;
        }
        prop_assert!(model.is_empty() && cold.len() == 0 && !cold.has_waiting());
        prop_assert!(cold.used().iter().all(BTreeSet::is_empty), "no record is in use any more");
    }
}

#[test]
fn hosts_come_back_in_the_order_in_which_they_came_with_all_their_urls() {
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    for number in [3, 1, 2, 1, 3, 4] {
        cold.append(&host(number), &[], 1, |into| into.push(number)).unwrap();
    }
    let mut order = Vec::new();
    while let Some(key) = cold.next().unwrap() {
        order.extend(cold.take(key).unwrap().into_iter().map(|cold| (cold.packed[0], cold.urls)));
    }
    assert_eq!(order, [(3, 2), (1, 2), (2, 1), (4, 1)]);
}

#[test]
fn bytes_that_are_no_snapshot_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    for number in 0..40 {
        cold.append(&host(number), &[], 1, |into| into.push(1)).unwrap();
    }
    cold.flush().unwrap();
    cold.sync().unwrap();
    let mut saved = Vec::new();
    cold.save(&mut saved).unwrap();
    let load = |bytes: &[u8]| Cold::new(Some(directory.path().to_owned())).load(&mut &*bytes, 10);
    load(&saved).unwrap();
    for length in 0..saved.len() {
        assert!(load(&saved[..length]).is_err());
    }
    for at in 0..saved.len() {
        let mut other = saved.clone();
        other[at] ^= 0x81;
        let _ = load(&other);
    }
    assert!(Record::parse(&[]).is_none() && Record::parse(&[0xff; 30]).is_none());
}

#[test]
fn files_of_hosts_that_rest_stay_small_while_others_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    let hot = vec![7; 100_000];
    for round in 0..600 {
        cold.append(&format!("keep{round}.example"), &[1, 2, 3], 0, |_| ()).unwrap();
        cold.append("hot.example", &hot, 0, |_| ()).unwrap();
        assert_eq!(cold.take(cold.key("hot.example")).unwrap()[0].state, hot);
        cold.compact().unwrap();
    }
    assert!(cold.used()[1].len() < 3, "60 MB were written: {:?}", cold.used());
    for round in 0..600 {
        let taken = cold.take(cold.key(&format!("keep{round}.example"))).unwrap();
        assert_eq!((taken.len(), &taken[0].state[..]), (1, &[1, 2, 3][..]));
    }
    assert!(cold.used().iter().all(BTreeSet::is_empty));
}

#[test]
fn a_key_of_another_host_is_damage_and_a_file_that_is_there_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = Cold::new(Some(directory.path().to_owned()));
    first.append("a.example", &[1], 0, |_| ()).unwrap();
    first.sync().unwrap();
    let mut saved = Vec::new();
    first.flush().unwrap();
    first.save(&mut saved).unwrap();
    // A process that has no snapshot begins anew: what the snapshot names is there nevertheless.
    let mut second = Cold::new(Some(directory.path().to_owned()));
    second.append("b.example", &[2], 0, |_| ()).unwrap();
    second.flush().unwrap();
    let mut third = Cold::new(Some(directory.path().to_owned()));
    third.load(&mut &saved[..], 10).unwrap();
    let taken = third.take(third.key("a.example")).unwrap();
    assert_eq!((&*taken[0].host, &taken[0].state[..]), ("a.example", &[1][..]));
    // Files that were exchanged: the record is whole, and of another host.
    let paths = [0, 1].map(|number| directory.path().join(format!("{number:010}.rested")));
    std::fs::copy(&paths[1], &paths[0]).unwrap();
    let mut fourth = Cold::new(Some(directory.path().to_owned()));
    fourth.load(&mut &saved[..], 10).unwrap();
    assert!(fourth.take(fourth.key("a.example")).is_err());
}

#[test]
fn a_file_that_was_truncated_is_told_when_it_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = Cold::new(Some(directory.path().to_owned()));
    first.append("a.example", &[1; 100], 1, |into| into.push(1)).unwrap();
    first.flush().unwrap();
    let mut saved = Vec::new();
    first.save(&mut saved).unwrap();
    let path = directory.path().join("0000000000.waiting");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(50).unwrap();
    let error = Cold::new(Some(directory.path().to_owned())).load(&mut &saved[..], 10).unwrap_err();
    assert!(error.to_string().contains("file 0 of waiting is missing or damaged"), "{error}");
}

#[test]
fn urls_of_hosts_that_fail_are_counted_also_if_keys_collide() {
    USED_BITS.set(0);
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    cold.append("waits.example", &[], 2, |into| into.push(7)).unwrap();
    cold.put_aside("fails.example", &[1], (1, &[8]), true).unwrap();
    cold.append("fails.example", &[], 1, |into| into.push(9)).unwrap();
    assert_eq!((cold.failing_urls(), cold.urls()), (4, 4));
    let hosts = cold.take(cold.key("fails.example")).unwrap();
    assert_eq!((hosts.len(), cold.failing_urls(), cold.urls()), (2, 0, 0));
    USED_BITS.set(u64::MAX);
}

#[test]
fn hosts_that_an_earlier_process_had_put_aside_take_turns_with_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    for number in 0..3 {
        cold.put_aside(&format!("fails{number}.example"), &[1], (1, &[8]), true).unwrap();
        cold.append(&format!("waits{number}.example"), &[], 1, |into| into.push(7)).unwrap();
    }
    cold.flush().unwrap();
    cold.sync().unwrap();
    let mut bytes = Vec::new();
    cold.save(&mut bytes).unwrap();
    let mut cold = Cold::new(Some(directory.path().to_owned()));
    cold.load(&mut &bytes[..], 11).unwrap();
    assert_eq!(cold.failing_urls(), 0, "what failed counts for one process");
    let mut order = String::new();
    while let Some(key) = cold.next().unwrap() {
        let hosts = cold.take(key).unwrap();
        order.push_str(&hosts[0].host[..1]);
    }
    assert_eq!(order, "fwfwfw");
}
