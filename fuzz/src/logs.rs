//! The log: segments of whole and damaged frames. An input is a list of pieces, see [`Segments::of`].

use std::fs;
use std::path::Path;

use bytes::Bytes;
use lycosa_store::{
    Bodies, Decoders, Entry, Field, Kind, Log, LogError, LogSettings, Outcome, Reader, record_batch,
    write_lines,
};

use crate::bounds::{FIXED_BYTES, directory, within};

/// What every segment begins with: `frame.rs` in the store.
const SEGMENT_HEADER: &[u8; 16] = b"LYCOSALG\x02\0\0\0\0\0\0\0";

/// Bytes of a frame before its meta.
const FRAME_HEADER: usize = 20;

/// Invariant: a reader gives every frame that is whole, as it stands in the file, up to the first that is not; damage is told by
/// its position, and passing it over goes forward until the log's end; whatever was read can be written to every output.
pub fn log(data: &[u8]) {
    let place = directory();
    let segments = Segments::of(data);
    segments.write(&place);
    let bytes = segments.end() as usize;
    let entries = within(bytes, FIXED_BYTES + 256 * bytes, || {
        let mut reader = Reader::open(&place, Bodies::All).expect("a segment");
        let mut entries = Vec::new();
        for _ in 0..=2 * bytes {
            let position = reader.position();
            match reader.read(1, usize::MAX) {
                Ok(mut read) => match read.pop() {
                    Some(entry) => {
                        assert_eq!(segments.entry(position).as_ref(), Some(&entry), "at {position}");
                        entries.push(entry);
                    }
                    None => return entries,
                },
                Err(LogError::Damaged { position, .. }) => {
                    assert_eq!(position, reader.position());
                    assert_eq!(segments.entry(position), None, "whole, at {position}");
                    let passed = reader.skip_damage().expect("files that are there");
                    assert!(passed > 0 && reader.position() == position + passed);
                    assert!(reader.position() <= segments.end());
                }
                Err(LogError::Foreign { .. }) => return entries,
                Err(error) => panic!("{error:?}"),
            }
        }
        panic!("no end after {bytes} bytes");
    });
    without_bodies(&place, &entries);
    write_out(entries);
}

/// Invariant: a log is opened with all that is whole before its first damage, or not at all; what was torn off is kept; what is
/// appended then comes back, and nothing is damaged any more.
pub fn log_repair(data: &[u8]) {
    let place = directory();
    let mut segments = Segments::of(data);
    segments.0.truncate(1);
    segments.write(&place);
    let settings =
        LogSettings { commit_interval: std::time::Duration::from_secs(3_600), ..LogSettings::default() };
    let mut log = match Log::open(&place, settings) {
        Ok(log) => log,
        Err(LogError::Damaged { .. } | LogError::Foreign { .. }) => return,
        Err(error) => panic!("{error:?}"),
    };
    let (end, torn) = (log.end(), log.torn());
    let kept = fs::read_dir(&place).expect("a directory").flatten();
    let kept = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("torn-"));
    let kept: u64 = kept.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len())).sum();
    assert_eq!(torn.map_or(0, |torn| torn.bytes), kept);
    // A segment without its header is made anew.
    assert!(kept + end == segments.end() || (kept == 0 && segments.end() <= 16), "{kept} + {end}");
    log.append([Entry::seed("http://example.com/", 1)]).expect("a disk with room");
    drop(log);
    let mut reader = Reader::open(&place, Bodies::All).expect("a log");
    while reader.position().max(16) < end {
        let position = reader.position();
        match reader.read(1, usize::MAX) {
            Ok(read) if read.is_empty() => panic!("{position} of {end}"),
            Ok(read) => assert_eq!(segments.entry(position), read.into_iter().next()),
            // Whole, but no record of this version: it stays where it is.
            Err(LogError::Damaged { position, .. }) if segments.frame(position).is_some() => {
                reader.skip_damage().expect("files that are there");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    let read = reader.read(9, usize::MAX).expect("what was appended");
    assert_eq!(read, [Entry::seed("http://example.com/", 1)]);
}

/// Readers without bodies give the same facts of each record. They pass over no record whose body is damaged.
fn without_bodies(directory: &Path, entries: &[Entry<'static>]) {
    let mut reader = Reader::open(directory, Bodies::None).expect("a segment");
    let Ok(read) = reader.read(entries.len(), usize::MAX) else { return };
    for bare in &read {
        assert!(bare.body.is_empty());
        if let Some(entry) = entries.iter().find(|entry| entry.end == bare.end) {
            assert!(bare.outcome == entry.outcome && bare.kind == entry.kind);
        }
    }
}

/// Brings entries to where they go: pages for the frontier, rows for outputs.
fn write_out(entries: Vec<Entry<'static>>) {
    let decoders = Decoders {
        content: |body, coding, most| lycosa_fetch::decode(body, coding, most).ok(),
        largest: 10_000,
        text: lycosa_parse::decode_text_within,
    };
    for entry in &entries {
        if let Some(page) = entry.clone().into_page() {
            assert_eq!(page.response.request.url.as_str().is_empty(), entry.outcome.url.is_empty());
        }
    }
    let rows: Vec<_> = entries.into_iter().filter_map(|entry| entry.into_row(decoders, true)).collect();
    if rows.is_empty() {
        return; // what is written of nothing is the same for every input
    }
    let fields = Field::ALL.map(|(field, _)| field);
    let mut lines = Vec::new();
    write_lines(&rows, &fields, decoders, &mut lines).expect("JSON of every row");
    assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), rows.len());
    let batch = record_batch(&rows, &fields, decoders).expect("Arrow of every row");
    assert_eq!(batch.num_rows(), rows.len());
}

/// The files of a log.
pub(crate) struct Segments(Vec<Vec<u8>>);

impl Segments {
    /// Makes segments from pieces: a byte that says what it is, two lengths, the bytes.
    pub(crate) fn of(data: &[u8]) -> Self {
        let (mut segments, mut rest) = (vec![SEGMENT_HEADER.to_vec()], data);
        while let [what, first, second, after @ ..] = rest {
            let mut take = |length: usize| {
                let (taken, left) = after.split_at(length.min(after.len()));
                rest = left;
                taken
            };
            let kind = what >> 3 & 7;
            let whole = |meta: &[u8], body: &[u8]| write_frame(kind, meta, body);
            let (meta_bytes, body_bytes) = (usize::from(*first), usize::from(*second));
            let segment = segments.last_mut().expect("there is always one");
            match what & 7 {
                0..=2 => {
                    let (meta, body) = split(take(meta_bytes + body_bytes), meta_bytes);
                    segment.extend(whole(meta, body));
                }
                3 => {
                    let (url, body) = split(take(meta_bytes + body_bytes), meta_bytes);
                    segment.extend(whole(&outcome(url, body.len()), body));
                }
                // Damaged, and cut off, at a place that the second length says.
                4 => {
                    let mut frame = whole(take(meta_bytes), b"body");
                    let place = body_bytes % frame.len();
                    frame[place] ^= 1 << (what >> 5);
                    segment.extend(frame);
                }
                5 => {
                    let frame = whole(&outcome(take(meta_bytes), 0), b"body");
                    segment.extend(&frame[..body_bytes % frame.len()]);
                }
                6 => segment.extend(take(meta_bytes)),
                _ => {
                    let header =
                        if kind == 7 { take(meta_bytes % 17) } else { &SEGMENT_HEADER[take(0).len()..] };
                    segments.push(header.to_vec());
                }
            }
        }
        Segments(segments)
    }

    /// Writes the files.
    fn write(&self, directory: &Path) {
        let mut start = 0;
        for segment in &self.0 {
            fs::write(directory.join(format!("{start:020}.log")), segment).expect("a disk with room");
            start += segment.len();
            if segment.is_empty() {
                break; // the next would have the same name
            }
        }
    }

    /// Where the last segment ends.
    fn end(&self) -> u64 {
        let written = self.0.iter().take_while(|segment| !segment.is_empty());
        written.map(|segment| segment.len() as u64).sum()
    }

    /// The whole frame at a position, or behind the segment's header there: kind, meta, body.
    fn frame(&self, mut position: u64) -> Option<(u8, &[u8], &[u8])> {
        let mut start = 0;
        for segment in &self.0 {
            if position == start && segment.starts_with(SEGMENT_HEADER) {
                position += SEGMENT_HEADER.len() as u64;
            }
            let place = (position - start) as usize;
            if place < segment.len() {
                return read_frame(&segment[place..]).filter(|_| place >= SEGMENT_HEADER.len());
            }
            start += segment.len() as u64;
        }
        None
    }

    /// The entry at a position.
    fn entry(&self, position: u64) -> Option<Entry<'static>> {
        let (kind, meta, body) = self.frame(position)?;
        let kinds = [Kind::Seed, Kind::Page, Kind::Robots, Kind::Lease];
        let kind = *kinds.iter().find(|known| **known as u8 == kind)?;
        Some(Entry {
            kind,
            outcome: rmp_serde::from_slice(meta).ok()?,
            body: Bytes::copy_from_slice(body),
            skipped: 0,
            end: 0,
        })
    }
}

/// The first bytes of a piece, and its others.
fn split(piece: &[u8], first: usize) -> (&[u8], &[u8]) {
    piece.split_at(first.min(piece.len()))
}

/// The meta of an outcome.
fn outcome(url: &[u8], number: usize) -> Vec<u8> {
    let outcome = Outcome {
        url: String::from_utf8_lossy(url),
        status: (!number.is_multiple_of(3)).then_some(200),
        lease: number as u64,
        ..Outcome::default()
    };
    rmp_serde::to_vec_named(&outcome).expect("a record")
}

/// A frame, as `frame.rs` in the store describes it.
fn write_frame(kind: u8, meta: &[u8], body: &[u8]) -> Vec<u8> {
    let mut frame =
        [(meta.len() as u32).to_le_bytes(), (body.len() as u32).to_le_bytes(), [kind, 0, 0, 0]].concat();
    frame.extend(crc32fast::hash(body).to_le_bytes());
    let crc = crc32fast::hash(&[&frame, meta].concat());
    [&frame, crc.to_le_bytes().as_slice(), meta, body].concat()
}

/// The frame at the beginning of bytes, if it is whole.
fn read_frame(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (meta, body) = (word(0)? as usize, word(4)? as usize);
    let parts = bytes.get(FRAME_HEADER..)?.split_at_checked(meta)?;
    let (meta, body) = (parts.0, parts.1.get(..body)?);
    let kind = *bytes.get(8)?;
    (write_frame(kind, meta, body) == bytes[..FRAME_HEADER + meta.len() + body.len()])
        .then_some((kind, meta, body))
}
