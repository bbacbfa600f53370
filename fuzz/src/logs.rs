//! The log: segments of whole and damaged frames. An input is a list of pieces, see [`Segments::of`].

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use lycosa_frontier::Frontier;
use lycosa_records::columns::{Columns, TextDecoder, record_batch, write_lines};
use lycosa_records::frame::Kind;
use lycosa_records::{Body, Entry, Outcome, Purpose, Received, Request, Response};
use lycosa_store::{Bodies, Log, LogError, LogSettings, Logged, Reader};
use lycosa_url::CrawlUrl;
use serde::de::IgnoredAny;

use crate::bounds::{FIXED_BYTES, directory, within};
use crate::frames::{Frame, parts};
use crate::segments::{Answer, BEFORE, BEGINNING_BYTES, Segments};
use crate::sites::{NOW, Names, settings};

/// Bytes of a decoded body and of its text, at most.
const LARGEST: usize = 10_000;

/// The file of a log's first segment.
const FIRST: &str = "00000000000000000000.log";

/// Invariant: a reader gives every frame that is whole, as it stands in the file, up to the first that is not; damage and later
/// versions are told by their position, and passing them over goes forward until the log's end; outcomes are the last ones among
/// these records; whatever was read can be told to a frontier, and written to every output.
pub fn log(data: &[u8]) {
    let place = directory();
    let segments = Segments::of(data);
    segments.write(&place);
    let bytes = segments.end() as usize;
    let all = within(bytes, FIXED_BYTES + 256 * bytes, || read(&place, &segments, Bodies::All));
    // One is as good as the other, and either takes as long as all the rest.
    let bodies = if data.len().is_multiple_of(2) { Bodies::None } else { Bodies::Robots };
    without_bodies(&place, &segments, &all, bodies);
    outcomes(&place, &segments, &all, data.len());
    restore(&all);
    write_out(all);
}

/// Invariant: a log is opened with all that is whole before its first damage, or not at all; what was torn off is kept; what is
/// appended then comes back, and nothing is damaged any more.
pub fn log_repair(data: &[u8]) {
    let place = directory();
    let mut segments = Segments::of(data);
    segments.0.drain(..segments.0.len() - 1);
    segments.write(&place);
    let settings = LogSettings { commit_interval: Duration::from_secs(3_600), ..LogSettings::default() };
    let mut log = match Log::open(&place, settings) {
        Ok(log) => log,
        Err(error) => return assert_eq!(Answer::of(Err(error)), segments.answer(0), "no segment"),
    };
    let (end, torn) = (log.end(), log.torn());
    let kept = fs::read_dir(&place).expect("a directory").flatten();
    let kept = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("torn-"));
    let kept: u64 = kept.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len())).sum();
    assert_eq!(torn.map_or(0, |torn| torn.bytes), kept);
    // A segment that was not begun is made anew.
    let is_begun = segments.behind_beginning(0).is_ok();
    assert!(
        kept + end == segments.end() || (!is_begun && kept == 0 && segments.end() <= 16),
        "{kept} + {end}"
    );
    assert_eq!(end, segments.whole(), "all that is whole, and nothing else");
    let request = Request::get(CrawlUrl::parse("http://example.com/").expect("a URL"));
    log.append([Entry::accepted(&request, 1)]).expect("a disk with space");
    drop(log);
    if is_begun {
        let (file, before) =
            (fs::read(place.join(FIRST)).expect("a segment"), &segments.0[0][..end as usize]);
        assert!(file.starts_with(before), "what was whole is changed");
        assert!(file.len() > before.len() || before.starts_with(BEFORE), "what comes next has its place");
        assert!(file.len() == before.len() || !before.starts_with(BEFORE), "an older program reads it");
    }
    let mut reader = Reader::open(&place, Bodies::All).expect("a log");
    while reader.position().max(BEGINNING_BYTES) < end {
        let position = reader.position();
        if segments.behind_left_out(position).is_ok_and(|next| next >= end) {
            break;
        }
        match Answer::of(reader.read(1, usize::MAX)) {
            Answer::End => panic!("{position} of {end}"),
            // Whole, but no record that this version reads: it stays where it is.
            Answer::Newer { position, .. } | Answer::Damage { position } => {
                assert!(Frame::of(segments.rest(position).0).is_some(), "damage at {position}");
                reader.skip_damage().expect("files that are there");
            }
            given => assert_eq!(given, segments.answer(position)),
        }
    }
    let read: Vec<_> = reader.read(9, usize::MAX).expect("what was appended");
    let read: Vec<_> = read.into_iter().map(|logged| logged.entry).collect();
    assert_eq!(read, [Entry::accepted(&request, 1)]);
}

/// Goes through a log to its end, over what is damaged in it; `step` reads on, and gives what stands there where that is no record.
fn go_through(
    place: &Path,
    segments: &Segments,
    bodies: Bodies,
    mut step: impl FnMut(&mut Reader) -> Answer,
) {
    let mut reader = Reader::open(place, bodies).expect("a segment");
    for _ in 0..=2 * segments.end() {
        let before = reader.position();
        match step(&mut reader) {
            Answer::Record(_) => assert!(reader.position() > before),
            Answer::End if reader.position() == before => return,
            Answer::End => {}
            Answer::Foreign { .. } => return,
            Answer::Damage { position } | Answer::Newer { position, .. } => {
                assert_eq!(position, reader.position());
                let passed = reader.skip_damage().expect("files that are there");
                assert!(passed > 0 && reader.position() == position + passed);
                assert!(reader.position() <= segments.end());
            }
        }
    }
    panic!("no end after {} bytes", segments.end());
}

/// All records of a log, each with its position. With their bodies they are those that stand in the file.
fn read(place: &Path, segments: &Segments, bodies: Bodies) -> Vec<(u64, Logged)> {
    let mut all = Vec::new();
    go_through(place, segments, bodies, |reader| {
        let position = reader.position();
        let answer = Answer::of(reader.read(1, usize::MAX));
        if bodies == Bodies::All {
            assert_eq!(answer, segments.answer(position), "at {position}");
        }
        if let Answer::Record(logged) = &answer {
            assert_eq!(logged.end, reader.position());
            all.push((segments.behind_left_out(position).expect("a segment"), (**logged).clone()));
        }
        answer
    });
    all
}

/// Readers without bodies give the same of each record, and where its body is. They pass over no record whose body is damaged.
fn without_bodies(place: &Path, segments: &Segments, all: &[(u64, Logged)], bodies: Bodies) {
    let mut all = all.iter().peekable();
    for (position, bare) in read(place, segments, bodies) {
        let (rest, _) = segments.rest(position);
        let length = parts(rest).map_or(0, |[_, body]| body.len() as u64);
        let is_left_out = length > 0 && (bodies == Bodies::None || rest[8] != Kind::Robots as u8);
        match all.next_if(|(known, _)| *known == position) {
            Some((_, whole)) => {
                let mut expected = whole.clone();
                if let Some(body) = body_of(&mut expected.entry).filter(|_| is_left_out) {
                    assert_eq!(Reader::body_at(place, position).ok().as_ref(), body.memory());
                    *body = Body::Log { position, length };
                }
                assert_eq!(bare, expected);
            }
            None => {
                assert!(is_left_out && Frame::of(rest).is_none(), "no whole record, at {position}");
                let body = Reader::body_at(place, position);
                assert!(matches!(body, Err(LogError::Damaged { .. })), "{body:?}");
            }
        }
    }
    assert_eq!(all.next(), None, "a record is left out with its body");
}

/// The body of a record, if it is in its frame.
fn body_of<'a>(entry: &'a mut Entry<'static>) -> Option<&'a mut Body> {
    let Entry::Outcome(outcome) = entry else { return None };
    let received = outcome.to_mut().response.result.as_mut().ok()?;
    Some(&mut received.body).filter(|body| body.is_memory())
}

/// What a reader gives to outputs are the last outcomes of URLs, with decoded bodies, among the records of each piece that it reads.
fn outcomes(place: &Path, segments: &Segments, all: &[(u64, Logged)], number: usize) {
    let (most, bytes) = (1 + number % 4, if number.is_multiple_of(3) { 5_000 } else { usize::MAX });
    let mut seen = 0;
    go_through(place, segments, Bodies::All, |reader| {
        let given = match reader.outcomes(most, bytes, decode) {
            Ok(given) => given,
            Err(error) => return Answer::of(Err(error)),
        };
        let rest = all[seen..].iter().map(|(_, logged)| logged);
        let piece: Vec<&Logged> = rest.take_while(|logged| logged.end <= reader.position()).collect();
        seen += piece.len();
        let is_next = matches!(segments.answer(reader.position()), Answer::Record(_));
        assert!(piece.len() == most || !is_next || bytes < usize::MAX, "{} of {most}", piece.len());
        assert!(piece.len() <= most && (!piece.is_empty() || !is_next));
        assert_eq!(given, last_outcomes(&piece));
        Answer::End // unless the position has moved on
    });
    assert_eq!(seen, all.len());
}

/// The outcomes of pages after which nothing is said of their URLs.
fn last_outcomes(piece: &[&Logged]) -> Vec<(Outcome, u64)> {
    let (mut last, mut taken_back) = (Vec::new(), HashSet::new());
    for Logged { entry, end } in piece.iter().rev() {
        match entry.clone().into_outcome() {
            Some(outcome) if outcome.request().purpose == Purpose::Robots => {}
            Some(outcome) if outcome.retry && outcome.request().lease == 0 => {
                taken_back.insert(outcome.url().clone());
            }
            Some(mut outcome) if !outcome.retry && !taken_back.contains(outcome.url()) => {
                decode(&mut outcome);
                last.push((outcome, *end));
            }
            _ => {}
        }
    }
    last.reverse();
    last
}

/// Undoes a body's content coding.
fn decode(outcome: &mut Outcome) {
    let decoded = |received: &Received| {
        let coding = received.head.get("content-encoding");
        lycosa_fetch::decode(received.body.memory()?, coding.as_deref(), LARGEST).ok()
    };
    outcome.decoded = outcome.received().and_then(decoded);
}

/// Tells a frontier of all records; what it is then can be saved and loaded.
fn restore(all: &[(u64, Logged)]) {
    let mut frontier = Frontier::new(settings(), Names::default()).expect("nothing on disk");
    let mut restore = frontier.restore();
    for (_, logged) in all {
        restore.entry(&logged.entry, logged.end).expect("nothing on disk");
    }
    restore.finish(NOW).expect("nothing on disk");
    let mut saved = Vec::new();
    frontier.save(&mut saved).expect("memory");
    drop(Frontier::load(settings(), Names::default(), &mut &saved[..]).expect("what was saved"));
}

/// Brings records to outputs, as rows of each kind.
fn write_out(all: Vec<(u64, Logged)>) {
    let (mut requests, mut responses, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for (_, Logged { entry, .. }) in all {
        match entry {
            Entry::Accepted(accepted) => requests.push(Box::new(accepted.request.into_owned())),
            Entry::Leased(_) => {}
            Entry::Outcome(outcome) => {
                let mut outcome = outcome.into_owned();
                decode(&mut outcome);
                requests.push(Box::new(outcome.request().clone()));
                responses.push(Box::new(outcome.response.clone()));
                outcomes.push(Box::new(outcome));
            }
        }
    }
    rows::<Request>(&requests);
    rows::<Response>(&responses);
    rows::<Outcome>(&outcomes);
}

/// Writes records as JSON lines and as Arrow, with all their columns.
fn rows<T: Columns>(records: &[Box<T>]) {
    if records.is_empty() {
        return; // what is written of nothing is the same for every input
    }
    let texts = TextDecoder { decode: lycosa_parse::decode_text_within, largest: LARGEST };
    let columns: Vec<_> = T::columns().iter().collect();
    let mut lines = Vec::new();
    write_lines(records, &columns, texts, &mut lines).expect("JSON of every row");
    let lines = lines.strip_suffix(b"\n").expect("lines that are ended").split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines.collect();
    assert_eq!(lines.len(), records.len());
    for line in lines {
        let line: BTreeMap<String, IgnoredAny> = serde_json::from_slice(line).expect("JSON in every line");
        assert!(columns.iter().all(|column| line.contains_key(column.name)));
    }
    let batch = record_batch(records, &columns, texts).expect("Arrow of every row");
    assert_eq!((batch.num_rows(), batch.num_columns()), (records.len(), columns.len()));
}
