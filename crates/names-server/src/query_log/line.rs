//! Lines of the query log, and the data of an answer until its line is written.

use std::io::Write as _;
use std::net::IpAddr;

use domain::base::iana::{OptRcode, Rtype};
use lycosa_names::{HEADER, skip_uncompressed_name};
use lycosa_url::Micros;

use crate::answered::Source;
use crate::question::labels;

/// Data of an answer.
pub(super) struct Entry {
    /// When its question was received.
    pub(super) received: Micros,
    /// Duration in microseconds; set when the answer is sent.
    took: Micros,
    /// The client's truncated address and its prefix length.
    client: Option<(IpAddr, u8)>,
    /// End of its name in `Entries::names`; it begins where that of the previous entry ends.
    end: usize,
    /// `None` if the question could not be parsed.
    rtype: Option<u16>,
    code: u16,
    source: Source,
    is_stream: bool,
}

/// Answers of a batch.
#[derive(Default)]
pub(super) struct Entries {
    /// Names in wire format, concatenated; empty for questions that could not be parsed.
    names: Vec<u8>,
    entries: Vec<Entry>,
}

impl Entries {
    /// Number of entries.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Adds an entry from the bytes of its answer.
    pub(super) fn add(
        &mut self,
        source: Source,
        received: Micros,
        (client, is_stream): (Option<(IpAddr, u8)>, bool),
        answer: &[u8],
    ) {
        let end = skip_uncompressed_name(answer, HEADER)
            .filter(|end| has_question(answer) && answer.len() >= end + 4);
        let name = end.map_or(&[][..], |end| &answer[HEADER..end]);
        self.names.extend_from_slice(name);
        let rtype = end.map(|end| u16::from_be_bytes([answer[end], answer[end + 1]]));
        let code = code_of(answer, end.map_or(HEADER, |end| end + 4));
        let end = self.names.len();
        self.entries.push(Entry { received, took: 0, client, end, rtype, code, source, is_stream });
    }

    /// Sets the durations: all are sent at `now`.
    pub(super) fn settle(&mut self, now: Micros) {
        for entry in &mut self.entries {
            entry.took = now.saturating_sub(entry.received);
        }
    }

    /// The entries with their wire-format names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Entry, &[u8])> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let name = self.names.get(start..entry.end).unwrap_or_default();
            start = entry.end;
            (entry, name)
        })
    }
}

/// Whether an answer contains its question.
fn has_question(answer: &[u8]) -> bool {
    answer.get(4..6) == Some(&[0, 1])
}

/// The response code of an answer; with the upper bits of EDNS (RFC 6891 section 6.1.3) if the OPT record
/// follows the question directly.
fn code_of(answer: &[u8], end: usize) -> u16 {
    let low = answer.get(3).map_or(0, |flags| flags & 0xf);
    let is_bare = answer.get(6..HEADER) == Some(&[0, 0, 0, 0, 0, 1]);
    let high = answer.get(end + 5).filter(|_| is_bare).copied().unwrap_or(0);
    u16::from(high) << 4 | u16::from(low)
}

/// Appends an entry's line. `wall`: when its question was received, by the wall clock.
pub(super) fn write_line(entry: &Entry, name: &[u8], wall: Micros, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":\"");
    write_time(wall, out);
    out.extend_from_slice(b"\",\"client\":");
    // Writing to a vector cannot fail.
    let _ = match entry.client {
        None => write!(out, "null"),
        Some((address, bits)) if bits == if address.is_ipv4() { 32 } else { 128 } => {
            write!(out, "\"{address}\"")
        }
        Some((address, bits)) => write!(out, "\"{address}/{bits}\""),
    };
    match entry.rtype {
        None => out.extend_from_slice(b",\"name\":null,\"type\":null"),
        Some(rtype) => {
            out.extend_from_slice(b",\"name\":\"");
            write_name(name, out);
            let _ = write!(out, "\",\"type\":\"{}\"", Rtype::from_int(rtype));
        }
    }
    let (source, _) = Source::NAMES[entry.source as usize];
    let _ = writeln!(
        out,
        ",\"transport\":\"{}\",\"code\":\"{}\",\"source\":\"{source}\",\"microseconds\":{}}}",
        if entry.is_stream { "tcp" } else { "udp" },
        OptRcode::masked_from_int(entry.code),
        entry.took,
    );
}

/// Appends a wire-format name in zone file syntax (RFC 1035 section 5.1), in lower case, for a JSON string:
/// bytes other than letters, digits and `-_*/+:` are escaped, with the backslash doubled for JSON.
fn write_name(name: &[u8], out: &mut Vec<u8>) {
    let mut is_first = true;
    for label in labels(name) {
        if !std::mem::take(&mut is_first) {
            out.push(b'.');
        }
        for byte in label {
            match byte.to_ascii_lowercase() {
                plain @ (b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'*' | b'/' | b'+' | b':') => {
                    out.push(plain)
                }
                other => _ = write!(out, "\\\\{other:03}"),
            }
        }
    }
    if is_first {
        out.push(b'.');
    }
}

/// Appends a time in RFC 3339 format, in UTC, with microseconds.
fn write_time(wall: Micros, out: &mut Vec<u8>) {
    let (seconds, micros) = (wall / 1_000_000, wall % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that leap days come last; 400 years have 146,097 days. 1970-01-01 is day
    // 719,468 since 0000-03-01.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (400 * era + year + month / 10, (month + 2) % 12 + 1);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let _ = write!(out, "{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::question::{Code, Read, read};
    use crate::reply::To;

    const NOON: Micros = 1_709_208_000_000_001;

    /// The line of an answer to this wire-format name.
    fn line(name: &[u8], code: Code) -> String {
        let question =
            [&b"\0\x01\x01\0\0\x01\0\0\0\0\0\x01"[..], name, b"\0\x41\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0"];
        let (question, mut answer, mut out) = (question.concat(), Vec::new(), Vec::new());
        let Read::Question(question) = read(&question) else { panic!("{question:?}") };
        To::of(&question).code(code, &mut answer);
        let mut entries = Entries::default();
        entries.add(Source::Own, NOON, (Some(([192, 0, 2, 0].into(), 24)), true), &answer);
        entries.settle(NOON + 25);
        entries.iter().for_each(|(entry, name)| write_line(entry, name, entry.received, &mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_answer_is_one_object_on_a_line() {
        assert_eq!(
            line(b"\x03wWw\x07example\0", Code::ServFail),
            "{\"time\":\"2024-02-29T12:00:00.000001Z\",\"client\":\"192.0.2.0/24\",\"name\":\"www.example\",\"type\":\"HTTPS\",\
             \"transport\":\"tcp\",\"code\":\"SERVFAIL\",\"source\":\"own\",\"microseconds\":25}\n"
        );
        assert!(
            line(b"\0", Code::BadVers)
                .contains("\"name\":\".\",\"type\":\"HTTPS\",\"transport\":\"tcp\",\"code\":\"BADVERS\"")
        );
    }

    #[test]
    fn a_question_that_cannot_be_read_has_no_name() {
        let (mut entries, mut out) = (Entries::default(), Vec::new());
        for answer in [&b"\0\x01\x81\x81\0\0\0\0\0\0\0\0"[..], b"", b"\0\x01\x81\x81\0\x01\0\0\0\0\0\0\x03ww"]
        {
            entries.add(Source::Own, NOON, (None, false), answer);
        }
        entries.iter().for_each(|(entry, name)| write_line(entry, name, NOON, &mut out));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("\"client\":null,\"name\":null,\"type\":null").count(), 3, "{text}");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let told = |seconds: u64| {
            let mut out = Vec::new();
            write_time(seconds * 1_000_000, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(told(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(told(951_782_399), "2000-02-28T23:59:59.000000Z");
        assert_eq!(told(951_782_400), "2000-02-29T00:00:00.000000Z");
        assert_eq!(told(4_107_542_400), "2100-03-01T00:00:00.000000Z");
        assert_eq!(told(1_798_761_599), "2026-12-31T23:59:59.000000Z");
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_of_a_name_its_line_is_ascii_and_tells_it_from_others(label in prop::collection::vec(any::<u8>(), 1..30)) {
            let name = [&[label.len() as u8][..], &label, b"\0"].concat();
            let line = line(&name, Code::NoError);
            prop_assert!(line.strip_suffix('\n').unwrap().bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            let text = line.split("\"name\":\"").nth(1).unwrap().split('"').next().unwrap();
            // Decode JSON escapes, then zone file escapes.
            let (text, mut bytes) = (text.replace("\\\\", "\\"), Vec::new());
            let mut rest = text.as_bytes();
            while let Some((&byte, next)) = rest.split_first() {
                if byte == b'\\' {
                    bytes.push(std::str::from_utf8(&next[..3]).unwrap().parse::<u8>().unwrap());
                    rest = &next[3..];
                } else {
                    bytes.push(byte);
                    rest = next;
                }
            }
            prop_assert_eq!(bytes, label.to_ascii_lowercase());
        }
    }
}
