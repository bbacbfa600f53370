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
                    cold.load(&mut &saved[..]).unwrap();
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
        prop_assert!(model.is_empty() && cold.len() == 0 && cold.waiting() == 0);
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
    cold.sync().unwrap();
    let mut saved = Vec::new();
    cold.save(&mut saved).unwrap();
    let load = |bytes: &[u8]| Cold::new(Some(directory.path().to_owned())).load(&mut &*bytes);
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
