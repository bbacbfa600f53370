//! Levels against a model: wherever URLs lie, the greatest level comes out first.

use std::collections::{BTreeMap, VecDeque};

use lycosa_url::CrawlUrl;
use proptest::prelude::*;

use super::*;
use crate::waiting::Candidate;

/// What can happen to a host's URLs.
#[derive(Clone, Debug)]
enum Step {
    Push(i32, u16),
    Pop,
    Spill(usize),
    ForgetHead,
    Snapshot,
    Move,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (-6i32..7, 0u16..800).prop_map(|(priority, long)| Step::Push(priority, long)),
        6 => Just(Step::Pop),
        1 => (1usize..300).prop_map(Step::Spill),
        1 => Just(Step::ForgetHead),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Move),
    ];
    proptest::collection::vec(step, 0..200)
}

/// URLs by level, as a model.
type Model = BTreeMap<Level, VecDeque<CrawlUrl>>;

fn next(model: &mut Model) -> Option<CrawlUrl> {
    let mut entry = model.last_entry()?;
    let url = entry.get_mut().pop_front();
    if entry.get().is_empty() {
        entry.remove();
    }
    url
}

fn push(levels: &mut Levels, level: Level, url: &CrawlUrl) -> usize {
    let options = crate::waiting::prioritised(level.into());
    let options = (level != 0).then_some(&options);
    let candidate = Candidate { options, ..Candidate::link(url.borrow(), 1) };
    levels.push(level, |into| crate::waiting::pack(into, &candidate, (0, 0)))
}

proptest! {
    #[test]
    fn the_greatest_level_comes_first_and_each_level_in_order(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(Some(directory.path().to_owned()));
        let (mut levels, mut held, mut model) = (Levels::default(), 0, Model::new());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(priority, long) => {
                    let url = format!("http://a.example/{number}{}", "x".repeat(long.into()));
                    let url = CrawlUrl::parse(&url).unwrap();
                    held += push(&mut levels, level_of(priority), &url);
                    model.entry(level_of(priority)).or_default().push_back(url);
                }
                Step::Pop => {
                    let popped = levels.pop("a.example", &mut spill, &mut held).unwrap();
                    prop_assert_eq!(popped.map(|waiting| waiting.url), next(&mut model));
                }
                Step::Spill(least) => levels.spill(least, &mut spill, &mut held).unwrap(),
                Step::ForgetHead => levels.forget_head(&mut spill, &mut held),
                Step::Snapshot => {
                    let mut packed = Vec::new();
                    levels.pack(&[], 0, &mut packed);
                    levels.pack_others(&[], 0, &mut packed);
                    spill.flush().unwrap();
                    (spill, held) = (Spill::new(Some(directory.path().to_owned())), 0);
                    let mut from = &packed[..];
                    levels = Levels::unpack(&mut from, &mut spill, &mut held).unwrap();
                    levels.unpack_others(&mut from, &mut spill, &mut held).unwrap();
                    prop_assert!(from.is_empty());
                }
                Step::Move => {
                    let (packed, len) = (levels.packed("a.example", &spill).unwrap(), levels.len());
                    levels.clear(&mut spill, &mut held);
                    prop_assert_eq!((held, levels.len(), spill.used().len()), (0, 0, 0));
                    levels = Levels::of(packed, len, "a.example", &mut held).unwrap();
                }
            }
            prop_assert_eq!(levels.level(), model.keys().next_back().copied());
            prop_assert_eq!(levels.len(), model.values().map(VecDeque::len).sum::<usize>());
            prop_assert_eq!(levels.is_empty(), model.is_empty());
        }
        let shown: Vec<CrawlUrl> = levels.iter("a.example", &spill).map(|waiting| waiting.unwrap().url).collect();
        let left: Vec<CrawlUrl> = std::iter::from_fn(|| next(&mut model)).collect();
        prop_assert_eq!(&shown, &left);
        let rest: Vec<CrawlUrl> = std::iter::from_fn(|| levels.pop("a.example", &mut spill, &mut held).unwrap())
            .map(|waiting| waiting.url)
            .collect();
        prop_assert_eq!(rest, left);
        prop_assert_eq!(held, 0);
        prop_assert!(spill.used().is_empty(), "no piece is in use any more");
    }
}

#[test]
fn what_was_out_at_a_snapshot_comes_before_all_levels() {
    for kept in [&[][..], &[0], &[-2], &[3], &[3, 0, -4]] {
        let (mut levels, mut held) = (Levels::default(), 0);
        let url = |name: &str| CrawlUrl::parse(&format!("http://a.example/{name}")).unwrap();
        for level in kept {
            push(&mut levels, *level, &url("kept"));
        }
        let mut first = Vec::new();
        Waiting::new(url("first")).pack(&mut first);
        let mut packed = Vec::new();
        levels.pack(&first, 1, &mut packed);
        levels.pack_others(&first, 1, &mut packed);
        let mut spill = Spill::new(None);
        let mut from = &packed[..];
        let mut levels = Levels::unpack(&mut from, &mut spill, &mut held).unwrap();
        levels.unpack_others(&mut from, &mut spill, &mut held).unwrap();
        assert_eq!(levels.len(), kept.len() + 1);
        let popped = levels.pop("a.example", &mut spill, &mut held).unwrap().unwrap();
        assert_eq!(popped.url, url("first"), "{kept:?}");
    }
}

#[test]
fn a_snapshot_whose_levels_are_damaged_is_refused() {
    let url = CrawlUrl::parse("http://a.example/").unwrap();
    let mut levels = Levels::default();
    for level in [2, 1] {
        push(&mut levels, level, &url);
    }
    let mut packed = Vec::new();
    levels.pack_others(&[], 0, &mut packed);
    let read = |packed: &[u8]| {
        Levels::default().unpack_others(&mut &packed[..], &mut Spill::new(None), &mut 0).map(drop)
    };
    read(&packed).unwrap();
    read(&[]).unwrap();
    for (place, byte) in [(0, 3), (1, 4), (1, 5), (1, 9), (1, 200)] {
        let mut broken = packed.clone();
        broken[place] = byte;
        assert!(read(&broken).is_err(), "{place} {byte}");
    }
}
