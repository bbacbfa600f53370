//! Tests of the log's thread: files that are moved, and full disks.

use super::*;
use crate::answered::Answered;
use crate::figures::Figures;

/// An answer to a question for the NS records of the root.
const ANSWER: &[u8] = b"\0\x01\x81\x80\0\x01\0\0\0\0\0\0\0\0\x02\0\x01";

/// Logs `count` answers in one batch.
fn add(log: &Arc<QueryLog>, count: usize) {
    let mut answered = Answered::new(Some(log.clone()));
    for _ in 0..count {
        answered.add(Source::Cache, 1, ([192, 0, 2, 77].into(), false), ANSWER);
    }
    answered.settle(2, &Figures::default());
}

fn wait(mut is_true: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !is_true() {
        assert!(Instant::now() < until, "timed out");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().filter(|line| line.ends_with('}')).count()
}

fn start(path: &Path) -> Arc<QueryLog> {
    QueryLog::start(path, Some(ClientBits::default()), Clock::shared()).unwrap()
}

#[test]
fn what_was_answered_before_the_end_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = start(&path);
    add(&log, 3_000);
    log.close();
    assert_eq!((lines(&path), log.dropped(), log.trouble()), (3_000, 0, None));
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("\"client\":\"192.0.2.0/24\",\"name\":\".\",\"type\":\"NS\"")
    );
    add(&log, 5);
    assert_eq!(log.dropped(), 0, "a closed log discards entries without counting them");
}

#[test]
fn a_file_that_was_moved_away_is_followed_by_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
    let log = start(&path);
    add(&log, 2);
    std::fs::rename(&path, &old).unwrap();
    add(&log, 1);
    log.reload(log.open().unwrap(), None);
    add(&log, 1);
    log.close();
    assert_eq!((lines(&old), lines(&path)), (3, 1));
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"client\":null"));
}

#[test]
fn a_full_disk_costs_lines_that_are_counted_and_nothing_else() {
    let log = start(Path::new("/dev/full"));
    add(&log, 7);
    wait(|| log.dropped() == 7);
    assert!(log.trouble().unwrap().starts_with("query_log: /dev/full: No space left on device"));
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("log")).unwrap();
    log.reload(Some(file), None);
    add(&log, 2);
    wait(|| lines(&folder.path().join("log")) == 2);
    assert_eq!((log.dropped(), log.trouble()), (7, None));
    log.close();
}

#[test]
fn a_line_that_was_cut_off_is_taken_back_or_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, "{\"a\":1}\n{\"a\":2").unwrap();
    assert!(cut(&open(&path).unwrap(), 6));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n");
    let mut lines = Lines { bytes: b"{}\n".to_vec(), is_torn: true };
    let (lost, error) = lines.write(&mut open(&path).unwrap());
    assert!(lost == 0 && error.is_none() && lines.bytes.is_empty() && !lines.is_torn);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n\n{}\n");
}

#[test]
fn lines_that_find_no_room_are_counted_and_nobody_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // A pipe that is not read; open for reading, so that it can be opened for writing.
    let _reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let log = start(&path);
    let begin = Instant::now();
    for _ in 0..4 {
        add(&log, WAITING / 2);
    }
    add(&log, WAITING + 1);
    assert!(begin.elapsed() < Duration::from_secs(5));
    wait(|| log.dropped() > WAITING as u64);
    log.close();
}

#[test]
fn addresses_are_cut_to_their_bits() {
    let cut = |v4, v6, client: &str| ClientBits { v4, v6 }.shorten(client.parse().unwrap()).0.to_string();
    assert_eq!(cut(24, 48, "192.0.2.77"), "192.0.2.0");
    assert_eq!(cut(24, 48, "::ffff:192.0.2.77"), "192.0.2.0");
    assert_eq!(cut(24, 48, "2001:db8:1:2:3:4:5:6"), "2001:db8:1::");
    assert_eq!((cut(0, 0, "192.0.2.77"), cut(0, 0, "2001:db8::1")), ("0.0.0.0".into(), "::".into()));
    assert_eq!(cut(32, 128, "2001:db8::1"), "2001:db8::1");
}

#[test]
fn a_file_that_cannot_be_opened_is_told_with_its_path() {
    let error = QueryLog::start(Path::new("/nowhere/log"), None, Clock::shared()).err().unwrap();
    assert_eq!(error.to_string(), "query_log: /nowhere/log: No such file or directory (os error 2)");
}
