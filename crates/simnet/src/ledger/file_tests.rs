//! Tests of ledger files: all records are read back; from a truncated or damaged file, all before the damage, with the number missing.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::ledger::{Kind, Ledger, NONE, Question, Request};

/// A temporary file, removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    /// Returns an unused path.
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lycosa-ledger-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A small world's parameters.
fn params() -> Params {
    Params { hosts: 30, pages: 4, speed: 10.0, agent: "x".into(), ..Params::default() }
}

/// A ledger in a file.
fn ledger(file: &Temporary, shards: u32) -> Ledger {
    Ledger::create(shards, &file.0, Header::new(&params(), &Ports::new(81, 443), &World::new(&params())))
        .unwrap()
}

/// Request number `i`.
fn request(i: u32) -> Request {
    Request {
        time: u64::from(i) * 10,
        host: i % 30,
        page: i % 4,
        connection: i,
        body: 27_000,
        status: 200,
        ..Request::default()
    }
}

/// A closed ledger with rounds of 5 requests and 3 questions; the last one of each round is completed in the next.
fn small(file: &Temporary, rounds: u32) -> Vec<u8> {
    let ledger = ledger(file, 2);
    let mut open = None;
    for round in 0..rounds {
        for i in round * 5..round * 5 + 5 {
            ledger.connect();
            ledger.shaken(i % 4 > 0);
            let place = ledger.request(1, request(i));
            if let Some(before) = open.replace(place) {
                ledger.complete(1, before);
            }
        }
        for i in 0..3 {
            ledger.question(0, Question { time: i, host: NONE, qtype: 28, rcode: 3, tcp: i == 1 });
        }
        ledger.request(
            0,
            Request { page: ledger.intern(&format!("/{round}")), kind: Kind::Unknown, ..request(round) },
        );
        ledger.records().unwrap();
    }
    ledger.close();
    fs::read(&file.0).unwrap()
}

#[test]
fn what_was_recorded_is_read_without_the_simnet() {
    let file = Temporary::new("whole");
    small(&file, 4);
    let saved = read(&file.0).unwrap();
    assert_eq!((saved.damage.as_ref(), &saved.header.ports), (None, &Ports::new(81, 443)));
    assert_eq!(saved.header.params, params());
    assert!(saved.header.started_us > 1_600_000_000_000_000 && saved.world().is_ok());
    let Records { requests, questions, strings, connections, handshakes } = saved.records;
    assert_eq!((requests.len(), questions.len(), connections), (24, 12, 20));
    assert_eq!((handshakes.good, handshakes.failed), (15, 5));
    assert_eq!(strings, ["/0", "/1", "/2", "/3"]);
    let completed = requests.iter().filter(|r| r.complete && r.took > 0).count();
    assert_eq!(completed, 19, "including late completions");
    assert!(requests.is_sorted_by_key(|r| r.time) && questions.iter().filter(|q| q.tcp).count() == 4);
}

#[test]
fn a_ledger_can_be_read_while_it_is_written() {
    let file = Temporary::new("live");
    let ledger = ledger(&file, 1);
    for i in 0..3 {
        ledger.request(0, request(i));
        assert_eq!(ledger.records().unwrap().requests.len(), i as usize + 1);
    }
    let damage = read(&file.0).unwrap().damage.unwrap();
    assert_eq!((damage.why, damage.unread), ("not closed", 0));
    ledger.close();
    assert_eq!((ledger.records().unwrap().requests.len(), read(&file.0).unwrap().damage), (3, None));
}

#[test]
fn cut_anywhere_it_is_read_up_to_the_cut() {
    let file = Temporary::new("cut");
    let whole = small(&file, 4);
    let all = read(&file.0).unwrap().records;
    let mut most = 0;
    let mut told = 0;
    for length in 0..whole.len() {
        fs::write(&file.0, &whole[..length]).unwrap();
        let Ok(saved) = read(&file.0) else {
            assert!(most == 0, "a prefix longer than a readable one is readable too");
            continue;
        };
        let damage = saved.damage.unwrap();
        assert_eq!(damage.at + damage.unread, length as u64);
        assert!(saved.records.requests.len() >= most);
        most = saved.records.requests.len();
        told = told.max(damage.requests);
        // The entries of a truncated block are counted by its head; later ones are unknown.
        assert!(most + damage.requests as usize <= all.requests.len(), "{damage:?}");
        assert!(saved.records.strings.iter().zip(&all.strings).all(|(a, b)| a == b));
    }
    assert_eq!((most, told), (24, 5));
}

#[test]
fn a_flipped_byte_ends_the_reading_and_what_is_missing_is_counted() {
    let file = Temporary::new("flip");
    let whole = small(&file, 4);
    let all = read(&file.0).unwrap().records;
    let (mut counted, mut readable) = (0, 0);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file.0, &bytes).unwrap();
        let Ok(saved) = read(&file.0) else { continue };
        let damage = saved.damage.expect("every flip is detected");
        let read = saved.records.requests.len() + damage.requests as usize;
        assert!(read <= all.requests.len() && damage.at <= at as u64, "{at} {damage:?}");
        counted += usize::from(read == all.requests.len());
        readable += 1;
    }
    // Only the entries of the last block of a shard cannot be counted if its head is damaged.
    assert!(counted * 4 > readable * 3, "{counted} of {readable}");
}

#[test]
fn what_is_no_ledger_is_told() {
    let file = Temporary::new("none");
    let told = |bytes: &[u8]| {
        fs::write(&file.0, bytes).unwrap();
        read(&file.0).unwrap_err().to_string()
    };
    assert!(told(b"").contains("lycosa simnet --ledger"));
    assert!(told(b"<!DOCTYPE html><title>no</title>").contains("lycosa simnet --ledger"));
    assert!(told(b"LYCOSA-LEDGER 2\n........").contains("version 1"));
    assert!(told(MAGIC).contains("header is undamaged"));
    drop(file);
    assert!(read(Path::new("/no/such/ledger")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn only_ledgers_are_replaced() {
    let file = Temporary::new("replace");
    small(&file, 1);
    assert_eq!(ledger(&file, 1).records().unwrap(), Records::default());
    fs::write(&file.0, "my thesis").unwrap();
    for path in [&file.0, Path::new("/no/such/folder/x"), Path::new("/")] {
        let header = Header::new(&params(), &crate::ports::Ports::default(), &World::new(&params()));
        let Err(Error::Setting { name, .. }) = Ledger::create(1, path, header).map(|_| ()) else { panic!() };
        assert_eq!(name, "ledger");
    }
    assert_eq!(fs::read(&file.0).unwrap(), b"my thesis");
}

#[test]
fn a_full_disk_is_told() {
    // /dev/full: writing fails with ENOSPC.
    let Ok(file) = OpenOptions::new().write(true).open("/dev/full") else { return };
    let store = std::sync::Arc::new(crate::ledger::Store::new(1));
    let writer =
        crate::ledger::writer::Writer::spawn(Path::new("/dev/full"), file, Vec::new(), store.clone())
            .unwrap();
    super::super::lock(&store.shards[0]).requests.push(request(1));
    let told = writer.flush().unwrap_err().to_string();
    assert!(told.contains("/dev/full") && told.contains("No space left"), "{told}");
    writer.close();
    assert!(writer.flush().is_err());
}

#[test]
fn a_flood_of_four_threads_is_complete_and_small() {
    const EACH: u32 = 50_000;
    let file = Temporary::new("flood");
    let ledger = ledger(&file, 4);
    let begin = std::time::Instant::now();
    std::thread::scope(|scope| {
        for shard in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                let mut open = Vec::new();
                for i in 0..EACH {
                    let time = ledger.time(None);
                    open.push(ledger.request(shard, Request { time, ..request(i) }));
                    if i % 4 == 0 {
                        ledger.question(shard, Question { time, host: 1, qtype: 1, rcode: 0, tcp: false });
                    }
                    // Sixteen responses are always in flight.
                    if open.len() > 16 {
                        ledger.complete(shard, open.remove(0));
                    }
                }
                open.into_iter().for_each(|place| ledger.complete(shard, place));
            });
        }
    });
    ledger.close();
    let rate = f64::from(4 * EACH) / begin.elapsed().as_secs_f64();
    let Records { requests, questions, .. } = read(&file.0).unwrap().records;
    assert_eq!((requests.len(), questions.len()), (4 * EACH as usize, EACH as usize));
    assert!(requests.iter().all(|r| r.complete));
    assert!(rate > 20_000.0, "{rate} requests/s");
    let size = fs::metadata(&file.0).unwrap().len() - u64::from(EACH) * 8;
    assert!(size < 40 * 4 * u64::from(EACH), "{size}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_records_come_back(
        requests in proptest::collection::vec((0_usize..3, any::<[u32; 6]>(), any::<bool>(), ".{0,20}"), 0..40),
        rounds in proptest::collection::vec(0_usize..40, 0..4),
    ) {
        let file = Temporary::new(&format!("any-{:?}", std::thread::current().id()));
        let (memory, filed) = (Ledger::new(3), ledger(&file, 3));
        for (i, (shard, n, complete, text)) in requests.iter().enumerate() {
            for ledger in [&memory, &filed] {
                let time = i as u64;
                let page = ledger.intern(text);
                let [host, address, connection, body, retry_after_ms, _] = *n;
                let kind = Kind::Unknown;
                let made = Request { time, page, host, address, connection, body, retry_after_ms, kind, ..Request::default() };
                let place = ledger.request(*shard, made);
                if *complete {
                    ledger.complete(*shard, place);
                }
            }
            if rounds.contains(&i) {
                filed.records().unwrap();
            }
        }
        filed.close();
        let mut both = [memory.records().unwrap(), filed.records().unwrap()];
        // The times of completion differ slightly.
        both.iter_mut().flat_map(|records| &mut records.requests).for_each(|r| r.took = r.took.min(1));
        prop_assert_eq!(&both[0], &both[1]);
    }
}
