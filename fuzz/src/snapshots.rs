//! Snapshots: of the frontier, of known URLs, and the files that hold them.

use std::fs;
use std::io::{self, Read as _};

use lycosa_frontier::{Answer, Frontier, Seen, SeenSettings, Settings, State};
use lycosa_records::{Outcome, Request};
use lycosa_store::{LogError, Snapshots};
use lycosa_url::CrawlUrl;

use crate::bounds::{FIXED_BYTES, directory, within};
use crate::pages::page;
use crate::sites::{NOW, Names, answered, next, settings};

/// Requests that a frontier is asked for.
const REQUESTS: usize = 200;

/// Invariant: any records are an error or a frontier, within memory; it can be saved, and is the same when it is loaded again; its
/// waiting URLs are those of its queues: when these have been fetched, nothing waits. The first byte says whether the rest is
/// records (two bytes of length, then the bytes) before an empty set of known URLs, or the snapshot as it is.
pub fn snapshot(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let bytes = if first & 1 == 0 { records(rest) } else { rest.to_vec() };
    let settings = Settings { robots: first & 2 != 0, ..settings() };
    let load = |bytes: &[u8]| Frontier::load(settings.clone(), Names::default(), &mut &bytes[..]);
    let Ok((mut frontier, _)) = within(bytes.len(), FIXED_BYTES + 512 * bytes.len(), || load(&bytes)) else {
        return;
    };
    if frontier.restore().finish(NOW).is_err() {
        return; // a queue that cannot be read
    }
    let mut saved = Vec::new();
    frontier.save(&mut saved).expect("memory");
    let (mut again, _) = load(&saved).expect("what was saved");
    again.restore().finish(NOW).expect("queues that were read before");
    let counts = [frontier.counts(), again.counts()];
    let [tally, loaded] =
        counts.map(|counts| format!("{:?} {} {}", counts.tally, counts.known, counts.hosts));
    assert_eq!(tally, loaded);
    if let Ok(true) = fetch_all(&mut again) {
        assert_eq!(again.counts().tally.count(State::Waiting), 0, "what waits is in a queue");
        assert!(again.idle());
    }
}

/// Answers requests until there are none; gives whether it came to that.
fn fetch_all(frontier: &mut Frontier<Names>) -> io::Result<bool> {
    let mut now = NOW;
    for _ in 0..REQUESTS {
        let Some(request) = next(frontier, &mut now)? else { return Ok(frontier.due_at().is_none()) };
        let gone = gone(request, now);
        frontier.done([&gone], now)?;
        frontier.settled();
    }
    Ok(false)
}

/// The answer that ends a URL.
fn gone(request: Request, now: u64) -> Outcome {
    let url = request.url.as_str().to_owned();
    answered(request, page(&url, 404, Vec::new(), b""), now)
}

/// A snapshot of these records and no known URL.
fn records(mut data: &[u8]) -> Vec<u8> {
    let mut snapshot = Vec::new();
    while let [low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (record, after) = rest.split_at(length);
        snapshot.extend((length as u64).to_le_bytes());
        snapshot.extend(record);
        data = after;
    }
    Seen::open(SeenSettings::default()).and_then(|mut seen| seen.save(&mut snapshot)).expect("memory");
    snapshot
}

/// Invariant: any bytes are an error or a set of known URLs, within memory; it can be asked, added to and saved, and is the same
/// when it is loaded again. The bytes are what stands between a set's head and its checksum.
pub fn seen(data: &[u8]) {
    let mut saved = Vec::new();
    Seen::open(SeenSettings::default()).and_then(|mut seen| seen.save(&mut saved)).expect("memory");
    let mut bytes = [&saved[..12 + 1 + 16], data].concat();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let load = |bytes: &[u8]| Seen::load(SeenSettings::default(), &mut &bytes[..]);
    let Ok(mut seen) = within(bytes.len(), FIXED_BYTES + 256 * bytes.len(), || load(&bytes)) else { return };
    let before = seen.len();
    let url = CrawlUrl::parse("http://example.com/").expect("a URL");
    let key = seen.key(&url);
    let is_new = seen.add(&[key]) == [Answer::New];
    assert_eq!(seen.len(), before + u64::from(is_new));
    assert_eq!(seen.add(&[key]), [Answer::Known]);
    let mut saved = Vec::new();
    seen.save(&mut saved).expect("memory");
    assert_eq!(load(&saved).expect("what was saved").len(), seen.len());
}

/// Invariant: a file is offered as a snapshot only with the head and the checksum of one, and gives then what stands between
/// them. The first byte says whether head and checksum are those of the rest.
pub fn snapshot_file(data: &[u8]) {
    const POSITION: u64 = 77;
    let (first, content) = data.split_first().unwrap_or((&0, &[]));
    let mut file = match first & 1 {
        0 => [b"LYCOSASN\x01\0\0\0\0\0\0\0", POSITION.to_le_bytes().as_slice(), content].concat(),
        _ => content.to_vec(),
    };
    if first & 2 == 0 {
        file.extend(crc32fast::hash(&file).to_le_bytes());
    }
    let place = directory();
    fs::write(place.join(format!("{POSITION:020}.snapshot")), &file).expect("a disk with space");
    let snapshots = Snapshots::open(&place, POSITION).expect("a directory");
    let read = || -> Result<Vec<u8>, LogError> {
        let mut reader = snapshots.newest(POSITION)?.next().expect("one file")?;
        assert_eq!(reader.position(), POSITION);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).map_err(|error| LogError::of(&place, error))?;
        reader.finish().map(|()| read)
    };
    let whole = file.split_last_chunk::<4>().filter(|(before, checksum)| {
        before.starts_with(b"LYCOSASN\x01\0\0\0\0\0\0\0")
            && before.get(16..24) == Some(&POSITION.to_le_bytes())
            && crc32fast::hash(before).to_le_bytes() == **checksum
    });
    match (within(file.len(), FIXED_BYTES + 4 * file.len(), read), whole) {
        (Ok(read), Some((before, _))) => assert_eq!(read, &before[24..]),
        (Err(_), None) => {}
        (read, whole) => panic!("{read:?}, whole: {}", whole.is_some()),
    }
}
