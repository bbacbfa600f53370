//! Export of a log as text, one JSON object per line for every entry: readable by other programs, and a way to
//! rescue a damaged log.
//!
//! ```text
//! {"kind":"page","version":2,"record":{"response":{"request":{"url":"https://example.com/","lease":7},…},…},"body_base64":"…"}
//! {"kind":"end","entries":1,"skipped":0}
//! ```
//!
//! `record` has the fields of [`Entry`]'s records; fields with default values are omitted. The body is as received. The last line
//! has the number of log bytes that could not be read. [`import`] is the inverse of [`export`], and also reads version 1, whose
//! fields are in the line itself.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lycosa_records::frame::{Kind, VERSION};
use lycosa_records::v1::V1;
use lycosa_records::{Accepted, Body, Entry, Leased, Outcome, Record as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::LogError;
use crate::log::Log;
use crate::reader::{Bodies, Reader};

/// Maximum length of a line: a frame's largest body in base64, and its facts.
const MAX_LINE_BYTES: u64 = 1600 << 20;

/// Entries, and bytes of their memory, that are appended at once.
const BATCH: (usize, usize) = (256, 8 << 20);

/// Counts of an export or import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// All entries.
    pub entries: u64,
    /// Of these, seeds.
    pub seeds: u64,
    /// Of these, outcomes of pages' URLs.
    pub pages: u64,
    /// Of these, outcomes of robots.txt requests.
    pub robots: u64,
    /// Of these, leases.
    pub leases: u64,
    /// Bytes of the log that could not be read.
    pub skipped: u64,
    /// Whether the last line is present: a file without it is truncated.
    pub complete: bool,
}

impl Exported {
    /// Counts an entry.
    fn add(&mut self, kind: Kind) {
        self.entries += 1;
        *match kind {
            Kind::Seed => &mut self.seeds,
            Kind::Page => &mut self.pages,
            Kind::Robots => &mut self.robots,
            Kind::Lease | Kind::Request | Kind::Response | Kind::Newer => &mut self.leases,
        } += 1;
    }
}

/// Why an export or an import failed.
#[derive(Debug)]
pub enum ExportError {
    /// Error of the log.
    Log(LogError),
    /// I/O error of the text.
    Text(io::Error),
    /// Invalid line: its number, from 1, and the cause.
    Line(u64, String),
    /// The target log is not empty.
    NotEmpty(PathBuf),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Log(error) => error.fmt(f),
            ExportError::Text(error) => error.fmt(f),
            ExportError::Line(number, what) => write!(f, "line {number}: {what}"),
            ExportError::NotEmpty(path) => write!(f, "{}: not empty; import into a new log", path.display()),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<LogError> for ExportError {
    fn from(error: LogError) -> Self {
        ExportError::Log(error)
    }
}

/// A line for serialization.
#[derive(Serialize)]
struct Written<'a, T> {
    kind: &'static str,
    version: u8,
    record: &'a T,
    #[serde(skip_serializing_if = "String::is_empty")]
    body_base64: String,
}

/// The last line.
#[derive(Serialize)]
struct End {
    kind: &'static str,
    entries: u64,
    skipped: u64,
}

/// Kind and version of a line, which decide how the rest is parsed.
#[derive(Deserialize)]
struct LineHead {
    kind: String,
    #[serde(default = "first")]
    version: u8,
    /// In the last line only.
    #[serde(default)]
    skipped: u64,
}

/// Default version: lines without one are of version 1.
fn first() -> u8 {
    1
}

/// A line for deserialization.
#[derive(Deserialize)]
struct Line<T> {
    record: T,
    #[serde(default)]
    body_base64: String,
}

/// A line of version 1.
#[derive(Deserialize)]
struct LineBefore {
    #[serde(flatten)]
    record: V1,
    #[serde(default)]
    body_base64: String,
}

/// Writes every readable entry of a log; damage is skipped and counted.
pub fn export(directory: &Path, into: &mut dyn Write) -> Result<Exported, ExportError> {
    let mut reader = Reader::open(directory, Bodies::All)?;
    let mut exported = Exported::default();
    loop {
        match reader.next_entry() {
            Ok(Some(logged)) => {
                write_entry(&logged.entry, into).map_err(ExportError::Text)?;
                exported.add(logged.entry.kind());
            }
            // At the end, a torn frame may be left.
            Ok(None) | Err(LogError::Damaged { .. }) => match reader.skip_damage()? {
                0 => break,
                skipped => exported.skipped += skipped,
            },
            Err(error) => return Err(error.into()),
        }
    }
    exported.complete = true;
    let end = End { kind: "end", entries: exported.entries, skipped: exported.skipped };
    write_line(&end, into).and_then(|()| into.flush()).map_err(ExportError::Text)?;
    Ok(exported)
}

/// Appends all entries of an export to a new log. After an error the log may contain entries before the failed line.
pub fn import(lines: &mut dyn BufRead, log: &mut Log) -> Result<Exported, ExportError> {
    if !log.is_new() {
        return Err(ExportError::NotEmpty(log.directory().to_owned()));
    }
    let mut imported = Exported::default();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut limited = Read::take(&mut *lines, MAX_LINE_BYTES);
        limited.read_until(b'\n', &mut text).map_err(ExportError::Text)?;
        if text.is_empty() {
            break;
        }
        let wrong = |what: String| ExportError::Line(number, what);
        if imported.complete {
            return Err(wrong("no line may follow the line of kind end".into()));
        }
        let line = text.trim_ascii_end();
        let head: LineHead = serde_json::from_slice(line).map_err(|error| wrong(cause(&error)))?;
        if head.kind == "end" {
            (imported.skipped, imported.complete) = (head.skipped, true);
            continue;
        }
        let Some(entry) = read_entry(&head, line).map_err(wrong)? else { continue };
        imported.add(entry.kind());
        bytes += entry.memory();
        batch.push(entry);
        if batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            log.append(batch.drain(..))?;
            bytes = 0;
        }
    }
    log.append(batch)?;
    log.sync()?;
    Ok(imported)
}

/// Writes an entry as one line.
fn write_entry(entry: &Entry<'static>, into: &mut dyn Write) -> io::Result<()> {
    let (kind, version, body_base64) = (entry.kind().name(), VERSION, String::new());
    match entry {
        Entry::Accepted(record) => write_line(&Written { kind, version, record, body_base64 }, into),
        Entry::Leased(record) => write_line(&Written { kind, version, record, body_base64 }, into),
        Entry::Outcome(record) => {
            let body_base64 = STANDARD.encode(record.body());
            write_line(&Written { kind, version, record, body_base64 }, into)
        }
    }
}

/// Writes one line.
fn write_line(line: &impl Serialize, into: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *into, line)?;
    into.write_all(b"\n")
}

/// Parses a line into an entry; the error is the cause. `None`: a line of version 1 with a URL that is none in this version.
fn read_entry(head: &LineHead, line: &[u8]) -> Result<Option<Entry<'static>>, String> {
    let kind = Kind::from_name(&head.kind).filter(|kind| !matches!(kind, Kind::Request | Kind::Response));
    let kind =
        kind.ok_or_else(|| format!("kind is {:?}; allowed: seed, page, robots, lease, end", head.kind))?;
    match (head.version, kind) {
        (1, _) => {
            let LineBefore { record, body_base64 } = parse(line)?;
            if !record.has_url() {
                return Err("url is missing".to_owned());
            }
            Ok(record.into_entry(kind, decode(&body_base64)?))
        }
        (VERSION, Kind::Seed) => {
            let Line { record, .. } = parse::<Line<Accepted<'static>>>(line)?;
            Ok(Some(Entry::Accepted(record)))
        }
        (VERSION, Kind::Lease) => {
            let Line { record, .. } = parse::<Line<Leased<'static>>>(line)?;
            Ok(Some(Entry::Leased(record)))
        }
        (VERSION, _) => {
            let Line { mut record, body_base64 } = parse::<Line<Outcome>>(line)?;
            if record.kind() != kind {
                return Err(format!(
                    "kind is {}, but the record is of kind {}",
                    kind.name(),
                    record.kind().name()
                ));
            }
            record.attach(decode(&body_base64)?);
            Ok(Some(Entry::Outcome(record.into())))
        }
        (other, _) => Err(format!("a record of version {other}; this version reads 1 to {VERSION}")),
    }
}

/// Parses a line.
fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| cause(&error))
}

/// Decodes a body.
fn decode(body_base64: &str) -> Result<Body, String> {
    let bytes = STANDARD.decode(body_base64).map_err(|error| format!("body_base64: {error}"))?;
    Ok(Body::Memory(bytes.into()))
}

/// Text of a JSON error without its line number, which is always 1.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(cause) => format!("{cause} (at byte {})", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::borrow::Cow;

    use lycosa_records::{Head, Purpose, Request};
    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::samples::{any_entry, outcome, page, read_all, settings, written};

    /// Exports a log; returns the text and the counts.
    fn exported(directory: &Path) -> (String, Exported) {
        let mut text = Vec::new();
        let counted = export(directory, &mut text).unwrap();
        (String::from_utf8(text).unwrap(), counted)
    }

    /// Imports lines into a new log; returns its directory and the counts.
    fn imported(text: &str) -> (tempfile::TempDir, Result<Exported, ExportError>) {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), settings(1000)).unwrap();
        let counted = import(&mut text.as_bytes(), &mut log);
        (directory, counted)
    }

    #[test]
    fn people_can_read_what_is_exported() {
        let directory = tempfile::tempdir().unwrap();
        let mut robots = outcome(2, 0);
        robots.response.request.purpose = Purpose::Robots;
        robots.response.result.as_mut().unwrap().head =
            Head::of("HTTP/1.1 200 OK", [("server", "nginx")]).unwrap();
        let request = Cow::Owned(Request::get(CrawlUrl::parse("http://a.com/").unwrap()));
        let seed = Entry::Accepted(Accepted { request, at: 7 });
        written(directory.path(), 1 << 20, &[page(1, 3), Entry::Outcome(robots.into()), seed]);
        let expected = concat!(
            r#"{"kind":"page","version":2,"record":{"response":{"request":{"lease":1,"url":"http://example.com/1"},"#,
            r#""address":"127.0.0.1","started":0,"finished":0,"result":{"Ok":{"status":200,"head":"base64:SFRUUC8xLjEgMjAwIE9LDQp4OiD/YQ0K"}}},"#,
            r#""links":[{"url":"http://example.com/0","nofollow":true}]},"body_base64":"eHh4"}"#,
            "\n",
            r#"{"kind":"robots","version":2,"record":{"response":{"request":{"lease":2,"url":"http://example.com/2","purpose":"robots"},"#,
            r#""address":"127.0.0.1","started":0,"finished":0,"result":{"Ok":{"status":200,"head":"HTTP/1.1 200 OK\r\nserver: nginx\r\n"}}},"#,
            r#""links":[{"url":"http://example.com/0","nofollow":true}]}}"#,
            "\n",
            r#"{"kind":"seed","version":2,"record":{"request":{"url":"http://a.com/"},"at":7}}"#,
            "\n",
            r#"{"kind":"end","entries":3,"skipped":0}"#,
            "\n",
        );
        let (text, counted) = exported(directory.path());
        assert_eq!(text, expected);
        let all =
            Exported { entries: 3, seeds: 1, pages: 1, robots: 1, leases: 0, skipped: 0, complete: true };
        assert_eq!(counted, all);
        assert_eq!(imported(&text).1.unwrap(), all);
    }

    #[test]
    fn what_is_damaged_or_torn_is_passed_over_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let entries: Vec<_> = (0..4).map(|number| page(number, 100)).collect();
        let positions = written(directory.path(), 1 << 20, &entries);
        let path = directory.path().join(crate::layout::segment_name(0));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[usize::try_from(positions[1]).unwrap() + 30] ^= 1;
        bytes.truncate(bytes.len() - 10);
        std::fs::write(&path, bytes).unwrap();
        let (text, counted) = exported(directory.path());
        let lost = positions[2] - positions[1] + positions[4] - positions[3] - 10;
        assert_eq!((counted.entries, counted.skipped), (2, lost));
        assert!(text.ends_with(&format!("{{\"kind\":\"end\",\"entries\":2,\"skipped\":{lost}}}\n")));
        let (copy, counted) = imported(&text);
        assert_eq!(counted.unwrap().skipped, lost);
        assert_eq!(read_all(copy.path()), [entries[0].clone(), entries[2].clone()]);
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_apart() {
        let line = "{\"kind\":\"seed\",\"url\":\"http://a.com/\"}\n";
        let (directory, counted) = imported(line);
        assert!(!counted.unwrap().complete);
        assert_eq!(read_all(directory.path()).len(), 1);
        let (_, counted) = imported(&line[..line.len() - 1]);
        assert_eq!(counted.unwrap().entries, 1, "the last line may lack its line feed");
        let told = imported(&format!("{line}{}", &line[..20])).1.unwrap_err().to_string();
        assert_eq!(told, "line 2: EOF while parsing an object (at byte 20)");
    }

    #[test]
    fn bad_lines_are_told_by_number_and_cause() {
        let cases = [
            ("\n", "line 2: EOF while parsing a value (at byte 0)"),
            ("{}\n", "line 2: missing field `kind` (at byte 2)"),
            ("{\"kind\":\"page\"}\n", "line 2: url is missing"),
            ("{\"kind\":\"page\",\"version\":2}\n", "line 2: missing field `record` (at byte 27)"),
            (
                "{\"kind\":\"page\",\"version\":9,\"record\":{}}\n",
                "line 2: a record of version 9; this version reads 1 to 2",
            ),
            (
                "{\"kind\":\"dog\",\"url\":\"u\"}\n",
                "line 2: kind is \"dog\"; allowed: seed, page, robots, lease, end",
            ),
            (
                "{\"kind\":\"page\",\"url\":\"http://a.com/\",\"body_base64\":\"é\"}\n",
                "line 2: body_base64: Invalid symbol 195, offset 0.",
            ),
            ("{\"kind\":\"end\"}\n{\"kind\":\"end\"}\n", "line 3: no line may follow the line of kind end"),
        ];
        for (text, expected) in cases {
            let text = format!("{{\"kind\":\"seed\",\"url\":\"http://a.com/\"}}\n{text}");
            assert_eq!(imported(&text).1.unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn lines_of_version_1_are_read() {
        let lines = concat!(
            r#"{"kind":"page","url":"http://example.com/1","chain":[["http://a.com/",301]],"lease":1,"status":200,"address":"127.0.0.1","#,
            r#""headers":[{"name":"x","value_base64":"/2E="},{"name":"y","value":"z"}],"started":5,"finished":9,"wall_offset_us":2,"#,
            r#""links":[["http://example.com/",true]],"bounds":["links"],"body_base64":"eHh4"}"#,
            "\n",
            r#"{"kind":"lease","url":"http://a.com/","lease":4,"started":7,"finished":9}"#,
            "\n",
            r#"{"kind":"page","url":"http://a.com/","error":"connect-timeout","error_detail":"silent","retry":true}"#,
            "\n",
            // Version 1 accepted an empty label.
            r#"{"kind":"page","url":"http://www..a.com/","error":"name-bad"}"#,
            "\n",
            r#"{"kind":"end","entries":4,"skipped":0}"#,
        );
        let (directory, counted) = imported(lines);
        assert_eq!(counted.unwrap().entries, 3);
        let read = read_all(directory.path());
        let page = read[0].clone().into_outcome().unwrap();
        let received = page.received().unwrap();
        assert_eq!((page.response.started, page.response.finished, page.response.fetched_at()), (3, 7, 9));
        assert_eq!(received.head.raw(), &b"HTTP/1.1 200\r\nx: \xffa\r\ny: z\r\n"[..]);
        assert_eq!(
            (received.body.memory().unwrap().len(), page.links.len(), page.request().chain.len()),
            (3, 1, 1)
        );
        let Entry::Leased(leased) = &read[1] else { panic!("{:?}", read[1]) };
        assert_eq!((leased.lease, leased.process, leased.granted), (4, 7, 9));
        let failed = read[2].clone().into_outcome().unwrap();
        assert!(failed.retry && failed.failure().is_some_and(|failure| failure.detail == "silent"));
    }

    #[test]
    fn a_log_that_holds_something_is_not_imported_into() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), 1000, &[page(1, 1)]);
        let mut log = Log::open(directory.path(), settings(1000)).unwrap();
        let refused = import(&mut &b"{\"kind\":\"end\"}\n"[..], &mut log);
        assert!(matches!(refused, Err(ExportError::NotEmpty(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_exported_is_imported_the_same(entries in proptest::collection::vec(any_entry(), 0..12)) {
            let directory = tempfile::tempdir().unwrap();
            written(directory.path(), 2000, &entries);
            let (text, exported) = exported(directory.path());
            prop_assert_eq!(text.lines().count(), entries.len() + 1);
            let (copy, imported) = imported(&text);
            prop_assert_eq!(imported.unwrap(), exported);
            prop_assert_eq!(read_all(copy.path()), entries);
        }

        #[test]
        fn any_text_gets_an_answer(text in any::<String>()) {
            drop(imported(&text));
        }
    }
}
