//! Tests of the reader's guarantees.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use lycosa_records::frame::{FRAME_HEADER_BYTES, Kind, VERSION};
use lycosa_records::{Body, Entry, Purpose};
use lycosa_url::CrawlUrl;
use proptest::prelude::*;

use crate::error::LogError;
use crate::layout;
use crate::log::Log;
use crate::reader::{Bodies, Reader};
use crate::samples::{any_entry, entries, outcome, page, read_all, settings, written};
use crate::segment;

/// All readable entries, and the number of bytes skipped.
fn salvage(directory: &Path) -> (Vec<Entry<'static>>, u64) {
    let mut reader = Reader::open(directory, Bodies::All).unwrap();
    let (mut entries, mut skipped) = (Vec::new(), 0);
    loop {
        match reader.next_entry() {
            Ok(Some(logged)) => entries.push(logged.entry),
            Ok(None) | Err(LogError::Damaged { .. }) => match reader.skip_damage().unwrap() {
                0 => return (entries, skipped),
                bytes => skipped += bytes,
            },
            Err(LogError::Foreign { .. }) => return (entries, skipped),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_is_written_is_read_over_many_segments() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path(), settings(1000)).unwrap();
    let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
    assert!(reader.read(10, 1 << 20).unwrap().is_empty());
    for number in 0..50 {
        log.append([page(number, number * 10)]).unwrap();
        assert_eq!(entries(reader.read(10, 1 << 20)), [page(number, number * 10)]);
        assert_eq!(reader.position(), log.end());
    }
    assert!(segment::starts(directory.path()).unwrap().len() > 10);
}

#[test]
fn bodies_that_are_not_wanted_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let mut robots = outcome(1, 70_000);
    robots.response.request.purpose = Purpose::Robots;
    let all = [page(0, 100_000), Entry::Outcome(robots.into()), page(2, 0), page(3, 5)];
    let positions = written(directory.path(), 1 << 20, &all);
    let read = |bodies| entries(Reader::open(directory.path(), bodies).unwrap().read(10, usize::MAX));
    let without = |index: usize| match all[index].clone() {
        Entry::Outcome(mut outcome) => {
            let received = outcome.to_mut().response.result.as_mut().unwrap();
            if !received.body.is_empty() {
                received.body = Body::Log { position: positions[index], length: received.body.len() };
            }
            Entry::Outcome(outcome)
        }
        other => other,
    };
    assert_eq!(read(Bodies::All), all);
    assert_eq!(read(Bodies::None), [without(0), without(1), without(2), without(3)]);
    assert_eq!(read(Bodies::Robots), [without(0), all[1].clone(), without(2), without(3)]);
    assert_eq!(Reader::body_at(directory.path(), positions[0]).unwrap(), vec![b'x'; 100_000]);
}

/// A page with so many links, each of about 60 bytes, and a body.
fn linking(number: usize, links: usize, body: usize) -> Entry<'static> {
    let mut page = outcome(number, body);
    for at in 0..links {
        let link = CrawlUrl::parse(&format!("http://example.com/{number}/{at:040}")).unwrap();
        page.links.push(&link, false);
    }
    Entry::Outcome(page.into())
}

#[test]
fn of_large_bodies_that_are_not_wanted_next_to_nothing_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let all: Vec<_> = (0..100).map(|number| linking(number, 40 + number % 20, 30_000)).collect();
    let positions = written(directory.path(), 64 << 20, &all);
    let mut reader = Reader::open(directory.path(), Bodies::None).unwrap();
    while reader.next_entry().unwrap().is_some() {}
    let (facts, read) =
        (reader.position() - positions[0] - 100 * 30_000, reader.reads.iter().sum::<usize>() as u64);
    assert!(facts > 100 * 2_000, "{facts} bytes are not what pages have");
    assert!(read < facts * 2, "{read} bytes for {facts}");
    assert!(reader.reads.len() < 180, "{} reads of 100 pages", reader.reads.len());
}

#[test]
fn small_records_are_read_many_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let all: Vec<_> = (0..1_000).map(|number| page(number, 900)).collect();
    written(directory.path(), 64 << 20, &all);
    for bodies in [Bodies::None, Bodies::Robots, Bodies::All] {
        let mut reader = Reader::open(directory.path(), bodies).unwrap();
        while reader.next_entry().unwrap().is_some() {}
        assert!(reader.reads.len() < 150, "{bodies:?}: {} reads of 1,000 pages", reader.reads.len());
    }
}

#[test]
fn bounds_hold_by_entries_and_by_all_that_they_hold() {
    let directory = tempfile::tempdir().unwrap();
    let mut entries: Vec<_> = (0..10).map(|number| page(number, 10_000)).collect();
    // No body, but 800 KB of links.
    let mut many = outcome(10, 0);
    let link = CrawlUrl::parse(&format!("http://example.com/{}", "l".repeat(8_000))).unwrap();
    (0..100).for_each(|_| many.links.push(&link, false));
    entries.push(Entry::Outcome(many.into()));
    entries.push(page(11, 0));
    written(directory.path(), 1 << 20, &entries);
    let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
    assert_eq!(reader.read(3, usize::MAX).unwrap().len(), 3);
    assert_eq!(reader.read(100, 15_000).unwrap().len(), 2, "the entry that reaches the bound is included");
    assert_eq!(reader.read(100, 0).unwrap().len(), 1, "at least one");
    assert_eq!(reader.read(100, 500_000).unwrap().len(), 5, "links count");
    assert_eq!(reader.read(100, usize::MAX).unwrap().len(), 1);
}

#[test]
fn rows_are_made_until_their_decoded_bodies_reach_the_bound() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path(), 1 << 20, &(0..6).map(|number| page(number, 10 + number)).collect::<Vec<_>>());
    // Decodes ten bytes to a hundred thousand, like a decompression bomb.
    let decode = |outcome: &mut lycosa_records::Outcome| {
        let length = usize::try_from(outcome.received().unwrap().body.len()).unwrap() * 10_000;
        outcome.decoded = (length <= 140_000).then(|| vec![b'x'; length].into());
    };
    let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
    let mut bodies = |max_entries| -> Vec<Option<usize>> {
        let outcomes = reader.outcomes(max_entries, 200_000, decode).unwrap();
        outcomes.iter().map(|(outcome, _)| outcome.decoded.as_ref().map(Bytes::len)).collect()
    };
    assert_eq!(bodies(9), [Some(100_000), Some(110_000)]);
    assert_eq!(bodies(1), [Some(120_000)]);
    assert_eq!(bodies(9), [Some(130_000), Some(140_000)]);
    assert_eq!(bodies(9), [None], "a body above the limit is omitted, its outcome is returned");
}

/// Makes a frame without a body one of another version.
fn set_version(frame: &mut [u8], version: u8) {
    frame[9] = version;
    let mut crc = crc32fast::Hasher::new();
    [&frame[..16], &frame[FRAME_HEADER_BYTES..]].iter().for_each(|part| crc.update(part));
    let crc = crc.finalize().to_le_bytes();
    frame[16..20].copy_from_slice(&crc);
}

#[test]
fn a_record_of_the_version_before_whose_url_is_none_in_this_one_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path(), 1 << 20, &[page(1, 0)]);
    let path = directory.path().join(layout::segment_name(0));
    let mut segment = fs::read(&path).unwrap();
    for url in ["http://www..a.com/", "http://a.com/"] {
        let facts = std::collections::BTreeMap::from([("url", url), ("error", "name-bad")]);
        let facts = lycosa_records::write_map(&facts).unwrap();
        let mut frame = Vec::new();
        assert!(lycosa_records::frame::write(&mut frame, Kind::Page, &[], |into| {
            into.extend_from_slice(&facts);
            true
        }));
        set_version(&mut frame, 1);
        segment.extend_from_slice(&frame);
    }
    fs::write(&path, segment).unwrap();
    let read = read_all(directory.path());
    assert_eq!(
        read.iter().map(|entry| entry.url().as_str()).collect::<Vec<_>>(),
        ["http://example.com/1", "http://a.com/"]
    );
    let (_, skipped) = salvage(directory.path());
    assert_eq!(skipped, 0, "it is no damage");
}

#[test]
fn a_record_of_a_later_version_is_told_with_its_place_and_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let positions = written(directory.path(), 1 << 20, &[page(1, 0), page(2, 0), page(3, 0)]);
    let path = directory.path().join(layout::segment_name(0));
    let mut bytes = fs::read(&path).unwrap();
    let frame = &mut bytes[usize::try_from(positions[1]).unwrap()..usize::try_from(positions[2]).unwrap()];
    set_version(frame, VERSION + 1);
    fs::write(&path, bytes).unwrap();
    let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
    assert_eq!(entries(reader.read(9, usize::MAX)), [page(1, 0)]);
    let told = reader.read(9, usize::MAX).unwrap_err();
    assert!(
        matches!(told, LogError::Newer { position, found: 3, known: 2, .. } if position == positions[1]),
        "{told}"
    );
    assert_eq!(reader.skip_damage().unwrap(), positions[2] - positions[1]);
    assert_eq!(entries(reader.read(9, usize::MAX)), [page(3, 0)]);
}

#[test]
fn a_log_of_the_version_before_is_gone_on_with_in_a_new_segment() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path(), 1 << 20, &[page(1, 5)]);
    let path = directory.path().join(layout::segment_name(0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 2;
    fs::write(&path, &bytes).unwrap();
    let mut log = Log::open(directory.path(), settings(1 << 20)).unwrap();
    log.append([page(2, 5)]).unwrap();
    drop(log);
    assert_eq!(segment::starts(directory.path()).unwrap().len(), 2);
    assert_eq!(fs::read(&path).unwrap(), bytes, "a segment of the previous version stays unchanged");
    assert_eq!(salvage(directory.path()).0, [page(1, 5), page(2, 5)]);
}

#[test]
fn reading_begins_at_any_frame_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let entries: Vec<_> = (0..5).map(|number| page(number, 100)).collect();
    let positions = written(directory.path(), 500, &entries);
    let starts = segment::starts(directory.path()).unwrap();
    let end = *positions.last().unwrap();
    for position in 0..=end {
        let mut reader = Reader::open_at(directory.path(), position, Bodies::All).unwrap();
        let read = reader.read(10, usize::MAX);
        // A segment's start is also the end of the previous frame.
        let first = if starts.contains(&position) { position + 16 } else { position };
        match positions.binary_search(&first) {
            Ok(index) => assert_eq!(self::entries(read), entries[index..], "from {position}"),
            // The few remaining bytes may be an unfinished frame header.
            Err(_) if position + 20 > end => assert_eq!(self::entries(read), []),
            Err(_) => assert!(matches!(read, Err(LogError::Damaged { .. })), "from {position}"),
        }
    }
    let beyond = Reader::open_at(directory.path(), end + 1, Bodies::All);
    assert!(matches!(beyond, Err(LogError::Absent { present, .. }) if present == (0, end)));
}

#[test]
fn a_torn_tail_is_not_read_and_damage_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let positions = written(directory.path(), 1 << 20, &[page(1, 100), page(2, 100)]);
    let path = directory.path().join(layout::segment_name(0));
    let whole = fs::read(&path).unwrap();
    let first_end = usize::try_from(positions[1]).unwrap();
    for at in first_end..whole.len() {
        fs::write(&path, &whole[..at]).unwrap();
        let mut reader = Reader::open(directory.path(), Bodies::None).unwrap();
        assert_eq!(reader.read(10, 1 << 20).unwrap().len(), 1, "cut at {at}, with bodies skipped");
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, flipped).unwrap();
        let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
        assert_eq!(reader.read(10, 1 << 20).unwrap().len(), 1, "entries before damage are returned");
        match reader.read(10, 1 << 20) {
            Err(LogError::Damaged { position, .. }) => assert_eq!(position, positions[1]),
            // An increased length looks like an unfinished frame.
            read => assert!(read.unwrap().is_empty(), "flip at {at}"),
        }
    }
}

#[test]
fn behind_damage_at_any_byte_the_next_whole_frame_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let entries: Vec<_> = (0..6).map(|number| page(number, 60)).collect();
    let positions = written(directory.path(), 400, &entries);
    let starts = segment::starts(directory.path()).unwrap();
    assert!(starts.len() >= 2);
    for start in starts {
        let path = directory.path().join(layout::segment_name(start));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x20;
            fs::write(&path, flipped).unwrap();
            let (read, skipped) = salvage(directory.path());
            let place = start + at as u64;
            // The damaged frame; `None` for the segment header.
            let hit = positions.iter().rposition(|position| *position <= place).filter(|_| at >= 16);
            if (8..12).contains(&at) {
                assert!(read.len() < 6, "another version's segment is not read");
                continue;
            }
            let kept: Vec<_> =
                (0..6).filter(|index| Some(*index) != hit).map(|index| entries[index].clone()).collect();
            assert_eq!(read, kept, "flip at {place}");
            assert!(skipped >= 16, "flip at {place}: {skipped}");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(salvage(directory.path()), (entries, 0));
}

#[test]
fn a_missing_segment_is_damage_and_the_others_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let entries: Vec<_> = (0..5).map(|number| page(number, 300)).collect();
    written(directory.path(), 100, &entries);
    let starts = segment::starts(directory.path()).unwrap();
    fs::remove_file(directory.path().join(layout::segment_name(starts[2]))).unwrap();
    let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
    assert_eq!(self::entries(reader.read(10, usize::MAX)), entries[..2]);
    let told = reader.read(10, usize::MAX);
    assert!(matches!(told, Err(LogError::Damaged { position, .. }) if position == starts[2]));
    assert_eq!(reader.skip_damage().unwrap(), starts[3] - starts[2]);
    assert_eq!(self::entries(reader.read(10, usize::MAX)), entries[3..]);
}

#[test]
fn a_page_full_of_false_headers_does_not_hold_up_the_search() {
    // Repeated headers that claim the maximum length of facts, in the body of a damaged frame.
    let mut false_header = [0; 20];
    false_header[..4].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    false_header[8] = 2;
    let mut hostile = outcome(1, 0);
    hostile.response.result.as_mut().unwrap().body = Bytes::from(false_header.repeat(200)).into();
    let entry = Entry::Outcome(hostile.into());
    let directory = tempfile::tempdir().unwrap();
    let positions = written(directory.path(), 1 << 30, &[entry, page(2, 2 << 20), page(3, 1)]);
    let path = directory.path().join(layout::segment_name(0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(positions[0]).unwrap() + 25] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(salvage(directory.path()).0, [page(2, 2 << 20), page(3, 1)]);
}

proptest! {
    #[test]
    fn what_bodies_are_read_changes_nothing_else(
        pages in proptest::collection::vec((any::<bool>(), 0..60_usize, 0..40_000_usize), 0..30),
        segment in 20..200_000_u64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let all: Vec<_> = (0..).zip(&pages).map(|(number, (is_robots, links, body))| {
            let Entry::Outcome(mut page) = linking(number, *links, *body) else { unreachable!() };
            if *is_robots {
                page.to_mut().response.request.purpose = Purpose::Robots;
            }
            Entry::Outcome(page)
        }).collect();
        let positions = written(directory.path(), segment, &all);
        for bodies in [Bodies::None, Bodies::Robots, Bodies::All] {
            let mut reader = Reader::open(directory.path(), bodies).unwrap();
            for (entry, position) in all.iter().zip(&positions) {
                let mut expected = entry.clone();
                let Entry::Outcome(page) = &mut expected else { unreachable!() };
                let is_read = bodies == Bodies::All || (bodies == Bodies::Robots && page.request().purpose == Purpose::Robots);
                let received = page.to_mut().response.result.as_mut().unwrap();
                if !is_read && !received.body.is_empty() {
                    received.body = Body::Log { position: *position, length: received.body.len() };
                }
                prop_assert_eq!(reader.next_entry().unwrap().map(|logged| logged.entry), Some(expected));
            }
            prop_assert!(reader.next_entry().unwrap().is_none());
        }
    }

    #[test]
    fn any_entries_come_back(entries in proptest::collection::vec(any_entry(), 0..20), segment in 20..3000_u64) {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), segment, &entries);
        prop_assert_eq!(salvage(directory.path()), (entries, 0));
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..2000), small in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut file = layout::segment_header().to_vec();
        // Small numbers are more often valid lengths and kinds.
        file.extend(bytes.iter().map(|byte| if small { byte % 4 } else { *byte }));
        let path = directory.path().join(layout::segment_name(0));
        fs::write(&path, &file).unwrap();
        let (entries, skipped) = salvage(directory.path());
        prop_assert!(entries.is_empty());
        prop_assert_eq!(skipped, bytes.len() as u64);
        let log = Log::open(directory.path(), settings(1000)).unwrap();
        prop_assert_eq!(log.end(), 16);
        prop_assert_eq!(log.torn().map_or(0, |torn| torn.bytes), bytes.len() as u64);
    }

    #[test]
    fn damage_in_many_places_takes_only_what_it_hits(
        entries in proptest::collection::vec(any_entry(), 1..12),
        places in proptest::collection::vec(any::<proptest::sample::Index>(), 1..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let positions = written(directory.path(), 1 << 20, &entries);
        let path = directory.path().join(layout::segment_name(0));
        let mut bytes = fs::read(&path).unwrap();
        let mut hit = vec![false; entries.len()];
        for place in places {
            let at = 16 + place.index(bytes.len() - 16);
            bytes[at] ^= 0x41;
            hit[positions.iter().rposition(|position| *position <= at as u64).unwrap()] = true;
        }
        fs::write(&path, bytes).unwrap();
        let (read, _) = salvage(directory.path());
        let untouched = entries.iter().zip(&hit).filter(|(_, hit)| !**hit).map(|(entry, _)| entry.clone());
        // A byte that was flipped twice is intact again.
        let mut left = read.iter();
        for entry in untouched {
            prop_assert!(left.any(|other| *other == entry), "{:?} is lost", entry.url());
        }
    }
}
