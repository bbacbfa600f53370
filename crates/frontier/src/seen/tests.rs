//! The guarantees of the set of known URLs, against a plain set.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use super::arena::{Arena, LINE};
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Keys of few beginnings: their leaves are full, and some stand outside.
    #[test]
    fn a_tree_of_crowded_keys_is_a_sorted_set(
        steps in proptest::collection::vec((0u8..4, 0u8..3, 0u16..2500), 1..4000),
        width in prop_oneof![Just(8), Just(16)],
    ) {
        let (mut tree, mut model) = (Tree::new(width), BTreeSet::new());
        for (step, beginning, number) in steps {
            let mut key = [beginning; 16];
            key[width - 2..width].copy_from_slice(&number.to_be_bytes());
            key[width..].fill(0);
            match step {
                0 => prop_assert_eq!(tree.delete(&key), model.remove(&key)),
                _ => prop_assert_eq!(tree.insert(&key), model.insert(key)),
            }
            prop_assert_eq!(tree.contains(&key), step > 0);
        }
        let mut image = Vec::new();
        tree.write(&mut image).unwrap();
        for tree in [tree, Tree::read(width, &mut image.as_slice()).unwrap()] {
            let mut walked = Vec::new();
            let all = tree.walk(|keys| {
                walked.extend_from_slice(keys);
                Ok::<(), ()>(())
            });
            all.unwrap();
            prop_assert!(walked.iter().eq(model.iter()));
            prop_assert_eq!(tree.len, model.len() as u64);
        }
    }

    #[test]
    fn a_block_keeps_its_bytes_and_few_are_free(
        sizes in proptest::collection::vec((1u8..=64, any::<prop::sample::Index>()), 1..3000),
    ) {
        let mut arena = Arena::default();
        let mut blocks: Vec<(u32, u8)> = Vec::new();
        let mark = |owner: usize| (owner as u32).to_le_bytes();
        for (lines, which) in sizes {
            // Each leaf, one after the other, gets a block; then one grows or shrinks.
            let owner = blocks.len();
            blocks.push((arena.allocate(lines, owner as u32), lines));
            arena.get_mut(blocks[owner].0, 4).copy_from_slice(&mark(owner));
            let moved = which.index(blocks.len());
            let (old, before) = blocks[moved];
            blocks[moved] = (arena.allocate(lines, moved as u32), lines);
            arena.copy((old, 0..4), (blocks[moved].0, 0));
            arena.free(old);
            for owner in arena.choose_to_move(before) {
                let (old, lines) = blocks[owner as usize];
                prop_assert_eq!(lines, before);
                let new = arena.allocate(lines, owner);
                arena.copy((old, 0..4), (new, 0));
                arena.free(old);
                blocks[owner as usize].0 = new;
            }
        }
        for (owner, (block, _)) in blocks.iter().enumerate() {
            prop_assert_eq!(arena.get(*block, 4), mark(owner));
        }
        let used: usize = blocks.iter().map(|(_, lines)| usize::from(*lines)).sum();
        prop_assert_eq!(arena.used_memory(), (used + used / 24) * LINE);
        // Three slabs of each size, and a part of the rest.
        prop_assert!(arena.memory() < (used * LINE) / 8 * 9 + 64 * 3 * (132 << 10));
    }
}

#[test]
fn a_keyed_set_knows_its_keys_after_a_restart_and_no_other_set_does() {
    let settings = SeenSettings { key: KeyKind::Keyed, ..SeenSettings::default() };
    let url = lycosa_url::CrawlUrl::parse("http://example.org/").unwrap();
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

/// A set with so little memory that keys go to disk, a plain set that does the same, and what was saved last.
struct Story {
    settings: SeenSettings,
    seen: Seen,
    model: HashSet<u64>,
    /// What the next verification must give: numbers that were new when they were suspected, and how often.
    expected: HashMap<Digest, usize>,
    saved: Vec<(Vec<u8>, HashSet<u64>, Vec<u64>)>,
}

impl Story {
    /// An empty set in a directory.
    fn begin(directory: &std::path::Path, memory: usize, key: KeyKind) -> Self {
        let settings = SeenSettings { key, memory, directory: Some(directory.to_path_buf()) };
        let mut seen = Seen::open(settings.clone()).unwrap();
        let mut empty = Vec::new();
        seen.save(&mut empty).unwrap();
        let saved = vec![(empty, HashSet::new(), Vec::new())];
        Story { settings, seen, model: HashSet::new(), expected: HashMap::new(), saved }
    }

    /// Adds numbers; each must be new exactly when the plain set says so, at once or when it is verified.
    fn add(&mut self, numbers: &[u64]) {
        let keys: Vec<Digest> = numbers.iter().map(|number| self.seen.cut(digest(*number))).collect();
        for ((number, key), answer) in numbers.iter().zip(&keys).zip(self.seen.add(&keys)) {
            let new = self.model.insert(*number);
            match answer {
                Answer::New => assert!(new, "{number} was known"),
                Answer::Known => assert!(!new, "{number} was new"),
                Answer::Suspected if new => *self.expected.entry(*key).or_default() += 1,
                Answer::Suspected => {}
            }
        }
    }

    /// Decides what is suspected.
    fn verify(&mut self) {
        let mut told: HashMap<Digest, usize> = HashMap::new();
        self.seen.verify().unwrap().into_iter().for_each(|key| *told.entry(key).or_default() += 1);
        assert_eq!(told, std::mem::take(&mut self.expected));
        assert_eq!(self.seen.suspected(), 0);
        assert_eq!(self.seen.len(), self.model.len() as u64);
    }

    /// Saves; of older snapshots one is kept.
    fn save(&mut self) {
        self.verify();
        let mut bytes = Vec::new();
        self.seen.save(&mut bytes).unwrap();
        self.saved.push((bytes, self.model.clone(), self.seen.files()));
        // What is not kept cannot be loaded again: its runs may be gone.
        self.saved.drain(..self.saved.len() - self.saved.len().min(2));
        let kept = self.saved.iter().flat_map(|(.., files)| files.iter().copied()).collect();
        for path in self.seen.unused_files(&kept).unwrap() {
            std::fs::remove_file(path).unwrap();
        }
    }

    /// Ends without saving and begins again from a snapshot, the last or the one before it.
    fn crash(&mut self, back: usize) {
        let at = self.saved.len() - 1 - back.min(self.saved.len() - 1);
        self.saved.truncate(at + 1);
        let (bytes, model, _) = &self.saved[at];
        // Closed first, as a process that ended is.
        self.seen = Seen::default();
        self.seen = Seen::load(self.settings.clone(), &mut &bytes[..]).unwrap();
        self.model = model.clone();
        self.expected.clear();
        assert_eq!(self.seen.len(), self.model.len() as u64);
    }
}

#[test]
fn beyond_the_budget_a_key_is_new_exactly_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(directory.path(), 16 << 20, KeyKind::Md5);
    let numbers: Vec<u64> = (0..3_000_000).collect();
    for batch in numbers.chunks(10_000) {
        story.add(batch);
        assert!(story.seen.memory() < 18 << 20, "{} bytes", story.seen.memory());
        if story.seen.suspected() > 50_000 {
            story.verify();
        }
    }
    story.save();
    assert!(!story.seen.files().is_empty());
    for batch in numbers.chunks(100_000) {
        story.add(batch);
        story.verify();
    }
    story.crash(0);
    story.add(&numbers[..100_000]);
    story.verify();
}

#[test]
fn a_suspected_key_is_new_once_however_often_it_comes_and_whether_or_not_it_is_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(directory.path(), 0, KeyKind::Md5);
    story.add(&(0..50_000).collect::<Vec<_>>());
    // What comes after a full tree waits until the one before is a run.
    story.add(&[70_000]);
    story.save();
    // One new key in a hundred looks known to the filter.
    let keys = digests(50_000..70_000);
    let answers = story.seen.add(&keys).into_iter();
    let suspects = keys.into_iter().zip(answers).filter(|(_, answer)| *answer == Answer::Suspected);
    let suspected: Vec<Digest> = suspects.map(|(key, _)| key).collect();
    assert!((50..1_000).contains(&suspected.len()), "{}", suspected.len());
    assert!(story.seen.add(&suspected).iter().all(|answer| *answer == Answer::Known));
    assert!(suspected.iter().all(|key| story.seen.contains(key).unwrap()));
    let (forgotten, kept) = suspected.split_at(suspected.len() / 2);
    assert!(forgotten.iter().all(|key| story.seen.delete(key).unwrap() && !story.seen.delete(key).unwrap()));
    let told: BTreeSet<Digest> = story.seen.verify().unwrap().into_iter().collect();
    assert_eq!(told, suspected.iter().copied().collect());
    assert!(story.seen.verify().unwrap().is_empty());
    assert!(kept.iter().all(|key| story.seen.contains(key).unwrap()));
    assert!(!forgotten.iter().any(|key| story.seen.contains(key).unwrap()));
}

#[test]
fn a_set_that_is_dropped_while_it_writes_and_merges_leaves_what_was_saved() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(directory.path(), 0, KeyKind::Md5);
    for round in 0..30 {
        for part in 0..10 {
            let from = round * 1000 + part * 100;
            story.add(&(from..from + 100).collect::<Vec<_>>());
        }
        if round % 5 == 4 {
            story.save();
        }
        // In four of five rounds newer runs, whole and in part, than the snapshot names are there.
        story.crash(0);
    }
    assert_eq!(story.model.len(), 6 * 1000);
    story.add(&(0..30_000).collect::<Vec<_>>());
    story.verify();
    story.save();
    story.save();
    let files: BTreeSet<u64> = std::fs::read_dir(directory.path())
        .unwrap()
        .filter_map(|file| run::number(file.unwrap().file_name().to_str().unwrap()))
        .collect();
    let known: BTreeSet<u64> = story.saved.iter().flat_map(|(.., files)| files.iter().copied()).collect();
    assert!(files.is_superset(&known));
}

#[test]
fn when_the_disk_takes_nothing_keys_stay_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(&directory.path().join("runs"), 0, KeyKind::Md5);
    std::fs::remove_dir(directory.path().join("runs")).unwrap();
    for from in 0..40 {
        story.add(&(from * 1000..from * 1000 + 2000).collect::<Vec<_>>());
    }
    assert!(story.seen.take_error().is_some());
    assert!(story.seen.files().is_empty());
    std::fs::create_dir(directory.path().join("runs")).unwrap();
    for from in 40..400 {
        story.add(&(from * 1000..from * 1000 + 2000).collect::<Vec<_>>());
        story.verify();
    }
    assert!(!story.seen.files().is_empty());
    story.add(&(0..401_000).collect::<Vec<_>>());
    story.verify();
}

#[test]
fn a_damaged_run_is_an_error_and_all_stay_suspected() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(directory.path(), 0, KeyKind::Md5);
    story.add(&(0..50_000).collect::<Vec<_>>());
    story.add(&(50_000..50_010).collect::<Vec<_>>());
    story.save();
    story.add(&(0..50_000).collect::<Vec<_>>());
    let suspected = story.seen.suspected();
    assert!(suspected > 40_000);
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let error = story.seen.verify().unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert_eq!(story.seen.suspected(), suspected);
    let refused = story.seen.save(&mut Vec::new()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_set_on_disk_wants_its_directory_and_its_kind_of_key() {
    let directory = tempfile::tempdir().unwrap();
    let mut story = Story::begin(directory.path(), 0, KeyKind::Md5);
    story.add(&[1, 2, 3]);
    story.save();
    let (bytes, ..) = story.saved.last().unwrap();
    let nowhere = SeenSettings { directory: None, ..story.settings.clone() };
    assert_eq!(Seen::load(nowhere, &mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let other = SeenSettings { key: KeyKind::Keyed, ..story.settings.clone() };
    assert_eq!(Seen::load(other, &mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

/// Something that can happen to a set.
#[derive(Clone, Debug)]
enum Event {
    Add(u64, u64),
    Delete(u64, u64),
    Ask(u64),
    Verify,
    Save,
    Crash(usize),
}

/// Events, additions most often.
fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0u64..4000, 1u64..400).prop_map(|(from, count)| Event::Add(from, count)),
        3 => (0u64..4000, 1u64..200).prop_map(|(from, count)| Event::Delete(from, count)),
        2 => (0u64..4400).prop_map(Event::Ask),
        2 => Just(Event::Verify),
        2 => Just(Event::Save),
        1 => (0usize..2).prop_map(Event::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_happens_it_is_a_set(
        events in proptest::collection::vec(event(), 1..120),
        published in any::<bool>(),
        memory in prop_oneof![Just(0usize), Just(1 << 21)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let kind = if published { KeyKind::Md5Published } else { KeyKind::Md5 };
        let mut story = Story::begin(directory.path(), memory, kind);
        for event in events {
            match event {
                Event::Add(from, count) => story.add(&(from..from + count).collect::<Vec<_>>()),
                Event::Delete(from, count) => {
                    for number in from..from + count {
                        let key = story.seen.cut(digest(number));
                        prop_assert_eq!(story.seen.delete(&key).unwrap(), story.model.remove(&number));
                    }
                }
                Event::Ask(number) => {
                    let key = story.seen.cut(digest(number));
                    prop_assert_eq!(story.seen.contains(&key).unwrap(), story.model.contains(&number));
                }
                Event::Verify => story.verify(),
                Event::Save => story.save(),
                Event::Crash(back) => story.crash(back),
            }
        }
        story.verify();
        for number in 0..4600 {
            let key = story.seen.cut(digest(number));
            prop_assert_eq!(story.seen.contains(&key).unwrap(), story.model.contains(&number));
        }
    }
}

/// A saved set of one leaf with these keys, and of these that found no space there.
fn saved(leaf: &[Digest], is_full: bool, overflow: &[Digest]) -> Vec<u8> {
    let mut bytes = [MAGIC.as_slice(), &[KeyKind::Md5.number()], &Secret::default(), &[0; 9]].concat();
    bytes.extend((leaf.len() as u16).to_le_bytes());
    bytes.push(u8::from(is_full));
    bytes.extend(leaf.concat());
    bytes.extend((overflow.len() as u64).to_le_bytes());
    bytes.extend(overflow.concat());
    bytes.extend([0; 9 + 4]);
    seal(&mut bytes);
    bytes
}

/// Puts the checksum of a saved set in its place.
fn seal(bytes: &mut [u8]) {
    let Some((content, checksum)) = bytes.split_last_chunk_mut() else { return };
    *checksum = crc32fast::hash(content).to_le_bytes();
}

#[test]
fn a_saved_set_whose_keys_stand_in_a_wrong_place_is_damaged() {
    let load = |bytes: Vec<u8>| Seen::load(SeenSettings::default(), &mut &bytes[..]);
    let [one, two, three] = [[1; 16], [2; 16], [3; 16]];
    assert_eq!(load(saved(&[one, two], false, &[])).unwrap().len(), 2);
    assert_eq!(load(saved(&[one, two], true, &[three])).unwrap().len(), 3);
    let wrong = [
        saved(&[two, one], false, &[]),
        saved(&[one, one], false, &[]),
        saved(&[one, two], false, &[three]),
        saved(&[one, two], true, &[two]),
        saved(&(0..97).map(|number| [number; 16]).collect::<Vec<_>>(), false, &[]),
    ];
    let mut long = [0; 16];
    long[8..].fill(9);
    let mut short = saved(&[], true, &[long]);
    short[MAGIC.len()] = KeyKind::Md5Published.number();
    seal(&mut short);
    let settings = SeenSettings { key: KeyKind::Md5Published, ..SeenSettings::default() };
    assert!(Seen::load(settings, &mut &short[..]).is_err(), "a short key has no more than eight bytes");
    for bytes in wrong {
        let error = load(bytes).unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error}");
    }
}

#[test]
fn a_leaf_with_the_keys_of_another_one_is_damaged() {
    for kind in [KeyKind::Md5, KeyKind::Md5Published] {
        // Leaves that one bit, two bits, and a byte with one and with two bits more choose.
        for count in [100, 200, 30_000, 60_000] {
            let mut seen = Seen::open(SeenSettings { key: kind, ..SeenSettings::default() }).unwrap();
            let keys: Vec<Digest> = digests(0..count).into_iter().map(|key| seen.cut(key)).collect();
            seen.add(&keys);
            let mut bytes = Vec::new();
            seen.save(&mut bytes).unwrap();
            let load = |bytes: &[u8]| Seen::load(seen.settings.clone(), &mut &bytes[..]);
            let mut loaded = load(&bytes).unwrap();
            assert!(loaded.add(&keys).iter().all(|answer| *answer == Answer::Known));
            // The last key of the first leaf: the order stays, and in each of these the first bit of the last key there is not set.
            let (stride, first) = (seen.tree.stride(seen.tree.bits(0)), MAGIC.len() + 1 + 16 + 9 + 3);
            bytes[first + (usize::from(seen.tree.leaves[0].count) - 1) * stride] |= 0x80;
            seal(&mut bytes);
            assert!(load(&bytes).unwrap_err().to_string().contains("is damaged"), "{count} keys");
        }
    }
}
