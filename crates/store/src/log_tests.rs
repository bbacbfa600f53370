//! Tests of the writer's guarantees.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lycosa_records::Entry;
use proptest::prelude::*;

use crate::disk::Disk;
use crate::error::LogError;
use crate::layout;
use crate::log::{Log, LogSettings};
use crate::reader::{Bodies, Reader};
use crate::samples::{any_entry, entries, page, read_all, settings, written};
use crate::segment;

/// Contents of the torn files in a directory.
fn torn_files(directory: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("torn-"));
    names.sort();
    names.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// All bytes of a log, segment after segment.
fn content(directory: &Path) -> Vec<u8> {
    let starts = segment::starts(directory).unwrap();
    starts.iter().flat_map(|start| fs::read(directory.join(layout::segment_name(*start))).unwrap()).collect()
}

#[test]
fn one_process_writes_and_the_next_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path(), settings(300)).unwrap();
    assert!(log.is_new());
    let mut expected = Vec::new();
    for number in 0..10 {
        let second = Log::open(directory.path(), settings(300));
        assert!(matches!(second, Err(LogError::InUse { pid: Some(pid), .. }) if pid == std::process::id()));
        log.append([page(number, 100)]).unwrap();
        expected.push(page(number, 100));
        let end = log.end();
        drop(log);
        log = Log::open(directory.path(), settings(300)).unwrap();
        assert_eq!((log.end(), log.committed(), log.is_new(), log.torn()), (end, end, false, None));
    }
    assert_eq!(read_all(directory.path()), expected);
}

#[test]
fn what_a_crash_left_unfinished_is_set_aside_and_the_log_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let positions = written(directory.path(), 1 << 20, &[page(1, 100), page(2, 100)]);
    let (first_end, path) = (positions[1], directory.path().join(layout::segment_name(0)));
    let whole = fs::read(&path).unwrap();
    for cut in usize::try_from(first_end).unwrap()..whole.len() {
        let mut flipped = whole.clone();
        flipped[cut] ^= 0x10;
        for damaged in [&whole[..cut], &flipped[..]] {
            fs::write(&path, damaged).unwrap();
            let mut log = Log::open(directory.path(), settings(1 << 20)).unwrap();
            assert_eq!(log.end(), first_end, "damage at {cut}");
            let bytes = damaged.len() as u64 - first_end;
            assert_eq!(
                log.torn().map(|torn| (torn.position, torn.bytes)),
                (bytes > 0).then_some((first_end, bytes))
            );
            let torn = damaged[usize::try_from(first_end).unwrap()..].to_vec();
            assert!(torn.is_empty() || torn_files(directory.path()).contains(&torn), "torn bytes are kept");
            log.append([page(3, 7)]).unwrap();
            drop(log);
            assert_eq!(read_all(directory.path()), [page(1, 100), page(3, 7)]);
        }
    }
}

#[test]
fn a_segment_that_a_crash_left_without_its_beginning_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let end = *written(directory.path(), 1 << 20, &[page(1, 100)]).last().unwrap();
    let path = directory.path().join(layout::segment_name(end));
    for left in [&[][..], b"LYCO", &[0; 16]] {
        fs::write(&path, left).unwrap();
        let log = Log::open(directory.path(), settings(1 << 20)).unwrap();
        assert_eq!((log.end(), log.torn()), (end, None));
        assert!(!path.exists());
    }
}

#[test]
fn a_disk_that_fills_up_at_any_byte_leaves_the_log_as_it_was() {
    let batch = || [page(1, 200), page(2, 300)];
    let plain = tempfile::tempdir().unwrap();
    let mut log = Log::open(plain.path(), settings(500)).unwrap();
    log.append([page(0, 300)]).unwrap();
    log.append(batch()).unwrap();
    log.append(batch()).unwrap();
    let bytes = content(plain.path());
    for space in 0..1200 {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        let mut log = Log::open_on(directory.path(), settings(500), disk.clone()).unwrap();
        log.append([page(0, 300)]).unwrap();
        disk.faults.space.store(space, Ordering::SeqCst);
        let (mut appended, mut refused) = (0, 0);
        while appended < 2 {
            let before = content(directory.path());
            match log.append(batch()) {
                Ok(_) => appended += 1,
                Err(LogError::Full { .. }) => {
                    refused += 1;
                    // A new segment may have been created; nothing of the batch remains.
                    assert_eq!(content(directory.path())[..before.len()], before, "space {space}");
                    assert!(content(directory.path()).len() <= before.len() + 16);
                    disk.faults.space.store(usize::MAX, Ordering::SeqCst);
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refused == 1 || space > 800, "space {space}");
        assert_eq!(content(directory.path()), bytes, "the log is the same as without a full disk");
    }
}

#[test]
fn an_entry_that_is_too_large_takes_nothing_of_its_batch_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path(), settings(1 << 40)).unwrap();
    log.append([page(1, 10)]).unwrap();
    // Zeroed memory that is never touched: the size is checked before the content is read.
    let large = page(3, (1 << 30) + 1);
    assert!(matches!(log.append([page(2, 3 << 20), large]), Err(LogError::TooLarge(_))));
    log.append([page(4, 10)]).unwrap();
    assert_eq!(read_all(directory.path()), [page(1, 10), page(4, 10)]);
}

#[test]
fn followers_see_what_is_on_the_disk_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path(), settings(400)).unwrap();
    let follower = Reader::open(directory.path(), Bodies::All).unwrap();
    let mut follower = follower.until(log.committed_position());
    for number in 0..20 {
        let before = log.committed();
        log.append([page(number, 100)]).unwrap();
        // A new segment commits what precedes it, and nothing of the batch.
        assert!(log.committed() < log.end() && log.committed() <= before + 16);
        assert_eq!(follower.read(10, usize::MAX).unwrap(), []);
        log.sync().unwrap();
        assert_eq!(log.committed(), log.end());
        assert_eq!(entries(follower.read(10, usize::MAX)), [page(number, 100)]);
    }
    assert_eq!(follower.position(), log.end());
}

#[test]
fn commits_come_by_themselves_by_time_and_by_size() {
    let by_time = LogSettings { commit_interval: Duration::from_millis(1), ..settings(1 << 20) };
    let by_size = LogSettings { commit_bytes: 1, ..settings(1 << 20) };
    for settings in [by_time, by_size] {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), settings).unwrap();
        let end = log.append([page(1, 100)]).unwrap();
        while log.committed() < end {
            std::thread::yield_now();
        }
    }
}

#[test]
fn one_sync_commits_many_batches() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let mut log = Log::open_on(directory.path(), settings(1 << 20), disk.clone()).unwrap();
    let before = disk.faults.syncs.load(Ordering::SeqCst);
    for number in 0..100 {
        log.append([page(number, 100)]).unwrap();
    }
    log.sync().unwrap();
    log.sync().unwrap();
    assert_eq!(disk.faults.syncs.load(Ordering::SeqCst) - before, 1, "the second call does not sync");
}

#[test]
fn while_commits_fail_nothing_is_accepted_and_then_all_of_it_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let mut log = Log::open_on(directory.path(), settings(1 << 20), disk.clone()).unwrap();
    log.append([page(1, 100)]).unwrap();
    log.sync().unwrap();
    let committed = log.committed();
    log.append([page(2, 100)]).unwrap();
    disk.faults.sync_fails.store(true, Ordering::SeqCst);
    assert!(matches!(log.sync(), Err(LogError::Full { .. })));
    assert!(matches!(log.append([page(3, 100)]), Err(LogError::Full { .. })));
    assert_eq!(log.committed(), committed);
    disk.faults.sync_fails.store(false, Ordering::SeqCst);
    disk.faults.space.store(1 << 20, Ordering::SeqCst);
    log.sync().unwrap();
    let rewritten = (1 << 20) - disk.faults.space.load(Ordering::SeqCst);
    assert_eq!(rewritten as u64, log.end() - committed, "a second sync alone would not write lost pages");
    log.append([page(3, 100)]).unwrap();
    log.sync().unwrap();
    assert_eq!(read_all(directory.path()), [page(1, 100), page(2, 100), page(3, 100)]);
}

#[test]
fn a_disk_that_breaks_is_told_by_the_systems_own_words_and_what_was_confirmed_stays() {
    const EIO: i32 = 5;
    const EDQUOT: i32 = 122;
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let mut log = Log::open_on(directory.path(), settings(1 << 20), disk.clone()).unwrap();
    log.append([page(1, 100)]).unwrap();
    log.sync().unwrap();
    let committed = log.committed();
    log.append([page(2, 100)]).unwrap();
    disk.faults.number.store(EIO, Ordering::SeqCst);
    disk.faults.sync_fails.store(true, Ordering::SeqCst);
    for result in [log.sync(), log.append([page(3, 100)]).map(drop)] {
        let Err(LogError::Io(_, error)) = result else { panic!("{result:?}") };
        assert_eq!(error.raw_os_error(), Some(EIO), "{error}");
    }
    assert_eq!(log.committed(), committed);
    disk.faults.number.store(EDQUOT, Ordering::SeqCst);
    assert!(matches!(log.sync(), Err(LogError::Full { .. })), "an exceeded quota counts as a full disk");
    assert_eq!(read_all(directory.path())[..1], [page(1, 100)]);
}

#[test]
fn what_a_failed_commit_has_lost_is_never_called_durable() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let mut log = Log::open_on(directory.path(), settings(1 << 20), disk.clone()).unwrap();
    let end = log.append([page(1, 100)]).unwrap();
    disk.faults.sync_fails.store(true, Ordering::SeqCst);
    assert!(log.sync().is_err());
    // The system drops the page that it could not write, and reads the old one: zeros.
    let path = directory.path().join(layout::segment_name(0));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(100).unwrap();
    file.set_len(end).unwrap();
    disk.faults.sync_fails.store(false, Ordering::SeqCst);
    assert!(matches!(log.sync(), Err(LogError::Damaged { position: 16, .. })));
    assert!(matches!(log.append([page(2, 100)]), Err(LogError::Damaged { position: 16, .. })));
    assert!(matches!(log.sync(), Err(LogError::Damaged { .. })), "it does not block");
    drop(log);
    let mut log = Log::open(directory.path(), settings(1 << 20)).unwrap();
    assert_eq!(log.end(), 16, "after reopening, the log ends with its intact frames");
    log.append([page(2, 100)]).unwrap();
}

#[test]
fn segments_go_when_nobody_needs_them_and_the_newest_stays() {
    let directory = tempfile::tempdir().unwrap();
    let entries: Vec<Entry<'_>> = (0..6).map(|number| page(number, 300)).collect();
    let positions = written(directory.path(), 100, &entries);
    let starts = segment::starts(directory.path()).unwrap();
    assert_eq!(starts.len(), 6, "one segment per entry");
    let mut log = Log::open(directory.path(), settings(100)).unwrap();
    assert_eq!(log.retain(starts[2] - 1).unwrap(), 1, "the second segment is still needed");
    assert_eq!(log.retain(starts[2]).unwrap(), 1);
    assert_eq!(segment::first_position(directory.path()).unwrap(), starts[2]);
    assert_eq!(read_all(directory.path()), entries[2..]);
    let gone = Reader::open_at(directory.path(), positions[1], Bodies::All);
    assert!(matches!(gone, Err(LogError::Absent { present: (first, _), .. }) if first == starts[2]));
    assert_eq!(log.retain(u64::MAX).unwrap(), 3);
    drop(log);
    let mut log = Log::open(directory.path(), settings(100)).unwrap();
    assert!(!log.is_new());
    log.append([page(6, 1)]).unwrap();
    assert_eq!(read_all(directory.path()), [page(5, 300), page(6, 1)]);
}

#[test]
fn a_log_of_another_version_or_with_a_piece_missing_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let entries: Vec<Entry<'_>> = (0..4).map(|number| page(number, 300)).collect();
    written(directory.path(), 100, &entries);
    let starts = segment::starts(directory.path()).unwrap();
    let path = directory.path().join(layout::segment_name(starts[3]));
    let whole = fs::read(&path).unwrap();
    let open = || Log::open(directory.path(), settings(100)).map(|log| log.end());
    let mut foreign = whole.clone();
    foreign[8] = 7;
    fs::write(&path, &foreign).unwrap();
    assert!(matches!(open(), Err(LogError::Foreign { version: 7, .. })));
    let mut damaged = whole.clone();
    damaged[0] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(matches!(open(), Err(LogError::Damaged { position, .. }) if position == starts[3]));
    fs::write(&path, &whole).unwrap();
    open().unwrap();
    let second = directory.path().join(layout::segment_name(starts[1]));
    let kept = fs::read(&second).unwrap();
    fs::write(&second, &kept[..50]).unwrap();
    assert!(matches!(open(), Err(LogError::Damaged { position, .. }) if position == starts[1] + 50));
    fs::remove_file(&second).unwrap();
    assert!(matches!(open(), Err(LogError::Damaged { position, .. }) if position == starts[1]));
}

/// An operation on a log.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Entry<'static>>),
    AppendOnFullDisk(Vec<Entry<'static>>, usize),
    Sync,
    Close,
    /// Truncates by this number of bytes, as a power cut may.
    Tear(usize),
    Retain(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let batch = || proptest::collection::vec(any_entry(), 0..4);
    prop_oneof![
        4 => batch().prop_map(Step::Append),
        1 => (batch(), 0..1500_usize).prop_map(|(batch, space)| Step::AppendOnFullDisk(batch, space)),
        1 => Just(Step::Sync),
        1 => Just(Step::Close),
        1 => (0..800_usize).prop_map(Step::Tear),
        1 => (0..20_usize).prop_map(Step::Retain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_log_is_a_list_whatever_happens(steps in proptest::collection::vec(any_step(), 1..24)) {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        let open = || Log::open_on(directory.path(), settings(700), disk.clone()).unwrap();
        let mut log = open();
        // Entries with the end of their frame; the first may have been removed with their segment.
        let mut model: Vec<Entry<'static>> = Vec::new();
        for step in steps {
            match step {
                Step::Append(batch) => {
                    log.append(batch.clone()).unwrap();
                    model.extend(batch);
                }
                Step::AppendOnFullDisk(batch, space) => {
                    disk.faults.space.store(space, Ordering::SeqCst);
                    let appended = log.append(batch.clone());
                    disk.faults.space.store(usize::MAX, Ordering::SeqCst);
                    match appended {
                        Ok(_) => model.extend(batch),
                        Err(error) => prop_assert!(matches!(error, LogError::Full { .. }), "{}", error),
                    }
                }
                Step::Sync => {
                    log.sync().unwrap();
                    prop_assert_eq!(log.committed(), log.end());
                }
                Step::Close => {
                    drop(log);
                    log = open();
                }
                Step::Tear(bytes) => {
                    drop(log);
                    let start = *segment::starts(directory.path()).unwrap().last().unwrap();
                    let path = directory.path().join(layout::segment_name(start));
                    let length = fs::metadata(&path).unwrap().len();
                    let cut = length.saturating_sub(bytes as u64).max(16);
                    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
                    log = open();
                    prop_assert!(log.end() <= start + cut);
                    let left = read_all(directory.path());
                    prop_assert!(model.len() >= left.len());
                    let lost = model.len() - left.len();
                    prop_assert!(lost == 0 || bytes > 0);
                    model.truncate(left.len());
                }
                Step::Retain(back) => {
                    let mut reader = Reader::open(directory.path(), Bodies::None).unwrap();
                    let from = model.len().saturating_sub(back);
                    reader.read(from, usize::MAX).unwrap();
                    log.retain(reader.position()).unwrap();
                    let left = read_all(directory.path());
                    prop_assert!(left.len() >= model.len() - from, "needed entries are kept");
                    model.drain(..model.len() - left.len());
                }
            }
            prop_assert_eq!(&read_all(directory.path()), &model);
        }
    }
}
