//! The files of a log, as the comment in `crates/store/src/layout.rs` describes them, and what a reader has to give at each position.

use std::fs;
use std::path::Path;

use lycosa_records::{Entry, Head, Outcome, Purpose, Received, RecordError, Request, Response, Times};
use lycosa_store::{LogError, Logged};
use lycosa_url::{CrawlUrl, Failure, FailureKind};
use serde_json::json;

use crate::frames::{Frame, HEADER_BYTES, VERSION, parts};

/// What a segment begins with, and what one of the version before does, whose frames may be of any version all the same.
const BEGINNING: &[u8; 16] = b"LYCOSALG\x03\0\0\0\0\0\0\0";
pub(crate) const BEFORE: &[u8; 16] = b"LYCOSALG\x02\0\0\0\0\0\0\0";

/// Bytes of that.
pub(crate) const BEGINNING_BYTES: u64 = 16;

/// The versions that a frame of a piece may say.
const VERSIONS: [u8; 4] = [VERSION, 1, 0, VERSION + 1];

/// What stands at a position.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// A record.
    Record(Box<Logged>),
    /// One of a later version.
    Newer { position: u64, found: u8 },
    /// Something else.
    Damage { position: u64 },
    /// A segment of another version.
    Foreign { version: u32 },
    /// Nothing, or the beginning of what is still being written.
    End,
}

impl Answer {
    /// What a reader said that was asked for one record.
    pub(crate) fn of(read: Result<Vec<Logged>, LogError>) -> Self {
        match read.map(|mut read| (read.pop(), read.len())) {
            Ok((Some(logged), 0)) => Answer::Record(Box::new(logged)),
            Ok((None, _)) => Answer::End,
            Err(LogError::Newer { position, found, known: VERSION, .. }) => Answer::Newer { position, found },
            Err(LogError::Damaged { position, .. }) => Answer::Damage { position },
            Err(LogError::Foreign { version, .. }) => Answer::Foreign { version },
            other => panic!("{other:?}"),
        }
    }
}

/// The files of a log.
pub(crate) struct Segments(pub(crate) Vec<Vec<u8>>);

impl Segments {
    /// Makes segments from pieces: a byte that says what it is, two lengths, the bytes.
    pub(crate) fn of(data: &[u8]) -> Self {
        let (mut segments, mut rest) = (vec![BEGINNING.to_vec()], data);
        while let [what, first, second, after @ ..] = rest {
            rest = after;
            let mut take = |length: usize| {
                let (taken, left) = split(rest, length);
                rest = left;
                taken
            };
            let (kind, version) = (what >> 3 & 7, VERSIONS[usize::from(what >> 6)]);
            let frame = |facts: &[u8], body: &[u8]| Frame { kind, version, facts, body }.bytes();
            let (first, second) = (usize::from(*first), usize::from(*second));
            let segment = segments.last_mut().expect("there is always one");
            match what & 7 {
                0..=2 => {
                    let (facts, body) = split(take(first + second), first);
                    segment.extend(frame(facts, body));
                }
                3 => {
                    let (url, body) = split(take(first + second), first);
                    segment.extend(frame(&facts(kind, version, url, body.len()), body));
                }
                // Damaged, and cut off, at a place that the second length says.
                4 => {
                    let mut frame = frame(take(first), b"body");
                    let place = second % frame.len();
                    frame[place] ^= 1 << (what >> 5);
                    segment.extend(frame);
                }
                5 => {
                    let frame = frame(&facts(kind, version, take(first), 0), b"body");
                    segment.extend(&frame[..second % frame.len()]);
                }
                6 => segment.extend(take(first)),
                // Behind an empty one the next would have the same name.
                _ if segment.is_empty() => {}
                _ => segments.push(match kind {
                    7 => take(first % 17).to_vec(),
                    6 => BEFORE.to_vec(),
                    _ => BEGINNING.to_vec(),
                }),
            }
        }
        Segments(segments)
    }

    /// Writes the files.
    pub(crate) fn write(&self, directory: &Path) {
        let mut start = 0;
        for segment in &self.0 {
            fs::write(directory.join(format!("{start:020}.log")), segment).expect("a disk with space");
            start += segment.len();
        }
    }

    /// Where the last segment ends.
    pub(crate) fn end(&self) -> u64 {
        self.0.iter().map(|segment| segment.len() as u64).sum()
    }

    /// What stands at a position, where a segment begins or any frame might.
    pub(crate) fn answer(&self, position: u64) -> Answer {
        let position = match self.behind_left_out(position) {
            Ok(position) => position,
            Err(answer) => return answer,
        };
        let (rest, is_last) = self.rest(position);
        let may_go_on =
            rest.len() < HEADER_BYTES || parts(rest).is_some_and(|[_, body]| body.end > rest.len());
        match Frame::of(rest).map(|frame| (frame.length() as u64, frame.entry())) {
            Some((length, Ok(entry))) => Answer::Record(Box::new(Logged { entry, end: position + length })),
            Some((_, Err(RecordError::Newer { found, .. }))) => Answer::Newer { position, found },
            None if may_go_on && is_last => Answer::End,
            _ => Answer::Damage { position },
        }
    }

    /// Where the next record is: behind the beginning of a segment, and frames that are left out.
    pub(crate) fn behind_left_out(&self, position: u64) -> Result<u64, Answer> {
        let position = self.behind_beginning(position)?;
        match Frame::of(self.rest(position).0).map(|frame| (frame.length() as u64, frame.entry())) {
            Some((length, Err(RecordError::Url))) => self.behind_left_out(position + length),
            _ => Ok(position),
        }
    }

    /// Where the next frame would be: behind the beginning of a segment, where one stands there.
    pub(crate) fn behind_beginning(&self, position: u64) -> Result<u64, Answer> {
        let (segment, start, _) = self.segment(position);
        if position > start {
            return Ok(position);
        }
        // Also before other segments one without a whole beginning is taken for one that is being begun.
        let beginning = segment.first_chunk().ok_or(Answer::End)?;
        match version(beginning) {
            Some(2 | 3) => self.behind_beginning(position + BEGINNING_BYTES),
            Some(version) => Err(Answer::Foreign { version }),
            None => Err(Answer::Damage { position }),
        }
    }

    /// What follows a position in its segment, and whether that is the last.
    pub(crate) fn rest(&self, position: u64) -> (&[u8], bool) {
        let (segment, start, is_last) = self.segment(position);
        (segment.get((position - start) as usize..).unwrap_or_default(), is_last)
    }

    /// Where all that is whole ends in the first segment.
    pub(crate) fn whole(&self) -> u64 {
        let mut end = BEGINNING_BYTES;
        while let Some(frame) = Frame::of(self.rest(end).0) {
            end += frame.length() as u64;
        }
        end
    }

    /// The segment in which a position is, where it starts, and whether it is the last.
    fn segment(&self, position: u64) -> (&[u8], u64, bool) {
        let (last, others) = self.0.split_last().expect("there is always one");
        let mut start = 0;
        for segment in others {
            let end = start + segment.len() as u64;
            if position < end {
                return (segment, start, false);
            }
            start = end;
        }
        (last, start, true)
    }
}

/// The version that a segment's beginning says; `None` where it is none.
fn version(beginning: &[u8; 16]) -> Option<u32> {
    let (said, zero) = beginning.strip_prefix(b"LYCOSALG")?.split_first_chunk()?;
    (zero == [0; 4]).then_some(u32::from_le_bytes(*said))
}

/// The first bytes of a piece, and its others.
fn split(piece: &[u8], first: usize) -> (&[u8], &[u8]) {
    piece.split_at(first.min(piece.len()))
}

/// Facts of a kind and a version, about a URL that a text names or leads to.
fn facts(kind: u8, version: u8, text: &[u8], number: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let url = CrawlUrl::parse(&text).or_else(|_| CrawlUrl::parse(&format!("http://example.com/{text}")));
    let request = Request {
        lease: number as u64 / 10,
        purpose: if kind == 3 { Purpose::Robots } else { Purpose::Page },
        ..Request::get(url.unwrap_or_else(|_| CrawlUrl::parse("http://example.com/").expect("a URL")))
    };
    let facts = match Entry::leased(&request, 5, number as u64, -1) {
        _ if version < VERSION => rmp_serde::to_vec_named(&facts_of_before(&text, number)),
        Entry::Leased(leased) if kind == 4 => rmp_serde::to_vec_named(&leased),
        _ => match Entry::accepted(&request, number as u64) {
            Entry::Accepted(accepted) if kind == 1 => rmp_serde::to_vec_named(&accepted),
            _ => rmp_serde::to_vec_named(&outcome(request, number)),
        },
    };
    facts.expect("a record")
}

/// An outcome of a request, of which the number says how it ended and what came.
fn outcome(request: Request, number: usize) -> Outcome {
    let coding = if number % 4 == 1 { "gzip" } else { "" };
    let head = Head::of("HTTP/1.1 200 OK", [("Content-Encoding", coding), ("b", "c")]).expect("a head");
    let received = Received { status: 200, head, ..Received::default() };
    let failure = Failure::new(FailureKind::ConnectTimeout, "silent");
    let result = if number.is_multiple_of(3) { Err(failure) } else { Ok(received) };
    let (started, finished, times) = (1, number as u64, Times::default());
    let mut outcome = Outcome::new(Response { request, address: None, started, finished, times, result });
    outcome.links.push(&outcome.url().robots(), number.is_multiple_of(2));
    outcome.retry = number % 5 == 4;
    outcome.charset = (number % 4 < 2).then(|| "UTF-8".into());
    outcome
}

/// The same as an earlier version wrote it.
fn facts_of_before(url: &str, number: usize) -> serde_json::Value {
    let status = (!number.is_multiple_of(3)).then_some(200);
    json!({
        "url": url,
        "lease": number,
        "status": status,
        "started": 1,
        "finished": number,
        "retry": number % 5 == 4,
        "headers": [["b", [99]]],
        "links": [["http://example.com/x", true]],
        "bounds": ["links"],
    })
}
