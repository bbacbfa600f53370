//! A log as text: one JSON object a line for every entry, so that what can be read of a damaged log, or of one that
//! another program shall read, is never locked in.
//!
//! ```text
//! {"kind":"page","url":"https://example.com/","lease":7,"status":200,…,"links":[["https://example.com/a",false]],"body_base64":"…"}
//! {"kind":"end","entries":1,"skipped":0}
//! ```
//!
//! The keys are the fields of [`Outcome`]; those at their default are left out. The body is as received. The last line
//! tells how many bytes of the log could not be read. [`import`] is the inverse of [`export`].

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Outcome};
use crate::error::LogError;
use crate::frame::Kind;
use crate::log::Log;
use crate::reader::{Bodies, Reader};

/// The longest line that is read: a frame's largest body in base64, and its facts.
const MAX_LINE_BYTES: u64 = 1600 << 20;

/// Entries, and bytes of their bodies, that are appended at once.
const BATCH: (usize, usize) = (256, 8 << 20);

/// What was exported or imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Entries in all.
    pub entries: u64,
    /// Of these, seeds.
    pub seeds: u64,
    /// Of these, outcomes of pages' URLs.
    pub pages: u64,
    /// Of these, answers for robots.txt.
    pub robots: u64,
    /// Requests that were about to be sent.
    pub leases: u64,
    /// Bytes of the log that could not be read.
    pub skipped: u64,
    /// Whether the last line was there: a file without it was cut off.
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
            Kind::Lease => &mut self.leases,
        } += 1;
    }
}

/// Why an export or an import failed.
#[derive(Debug)]
pub enum ExportError {
    /// The log.
    Log(LogError),
    /// The text.
    Text(io::Error),
    /// A line that is no entry: its number, from 1, and what is wrong.
    Line(u64, String),
    /// A log that already holds something cannot be imported into.
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

/// A line as it is written.
#[derive(Serialize)]
struct Written<'a> {
    kind: &'static str,
    #[serde(flatten)]
    outcome: &'a Outcome<'static>,
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

/// A line as it is read.
#[derive(Deserialize)]
struct Line {
    kind: String,
    #[serde(flatten)]
    outcome: Outcome<'static>,
    #[serde(default)]
    body_base64: String,
    /// Of the last line only.
    #[serde(default)]
    skipped: u64,
}

/// Writes every entry of a log that can be read; what is damaged is passed over and counted.
pub fn export(directory: &Path, into: &mut dyn Write) -> Result<Exported, ExportError> {
    let mut reader = Reader::open(directory, Bodies::All)?;
    let mut exported = Exported::default();
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                write_entry(&entry, into).map_err(ExportError::Text)?;
                exported.add(entry.kind);
            }
            // At the end, what is left is a frame that a crash tore.
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

/// Appends all entries of an export to a new log. After an error the log holds those before it.
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
            return Err(wrong("nothing is allowed after the line of kind end".into()));
        }
        let line: Line =
            serde_json::from_slice(text.trim_ascii_end()).map_err(|error| wrong(cause(&error)))?;
        if line.kind == "end" {
            (imported.skipped, imported.complete) = (line.skipped, true);
            continue;
        }
        let entry = into_entry(line).map_err(wrong)?;
        imported.add(entry.kind);
        bytes += entry.body.len();
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
    let body_base64 = STANDARD.encode(&entry.body);
    write_line(&Written { kind: entry.kind.name(), outcome: &entry.outcome, body_base64 }, into)
}

/// Writes one line.
fn write_line(line: &impl Serialize, into: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *into, line)?;
    into.write_all(b"\n")
}

/// The entry of a line, or what is wrong with it.
fn into_entry(line: Line) -> Result<Entry<'static>, String> {
    let kind = Kind::from_name(&line.kind)
        .ok_or_else(|| format!("kind is {:?}; allowed: seed, page, robots, lease, end", line.kind))?;
    if line.outcome.url.is_empty() {
        return Err("url is missing".into());
    }
    let body = STANDARD.decode(line.body_base64).map_err(|error| format!("body_base64: {error}"))?;
    Ok(Entry { kind, outcome: line.outcome, body: Bytes::from(body), skipped: 0, end: 0 })
}

/// What JSON's error says, without a line number of its own: each line is parsed alone.
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

    use super::*;
    use crate::samples::{any_entry, page, read_all, settings, written};

    /// The export of a log, and what it counted.
    fn exported(directory: &Path) -> (String, Exported) {
        let mut text = Vec::new();
        let counted = export(directory, &mut text).unwrap();
        (String::from_utf8(text).unwrap(), counted)
    }

    /// A new log of lines, and what was counted.
    fn imported(text: &str) -> (tempfile::TempDir, Result<Exported, ExportError>) {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), settings(1000)).unwrap();
        let counted = import(&mut text.as_bytes(), &mut log);
        (directory, counted)
    }

    #[test]
    fn people_can_read_what_is_exported() {
        let directory = tempfile::tempdir().unwrap();
        let mut robots = page(2, 0);
        robots.kind = Kind::Robots;
        robots.outcome.headers = vec![("server".into(), b"nginx".to_vec().into())];
        written(directory.path(), 1 << 20, &[page(1, 3), robots, Entry::seed("http://a.com/", 7)]);
        let expected = concat!(
            r#"{"kind":"page","url":"http://example.com/1","lease":1,"status":200,"address":"127.0.0.1","#,
            r#""headers":[{"name":"x","value_base64":"/2E="}],"links":[["http://example.com/",true]],"body_base64":"eHh4"}"#,
            "\n",
            r#"{"kind":"robots","url":"http://example.com/2","lease":2,"status":200,"address":"127.0.0.1","#,
            r#""headers":[{"name":"server","value":"nginx"}],"links":[["http://example.com/",true]]}"#,
            "\n",
            r#"{"kind":"seed","url":"http://a.com/","finished":7}"#,
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
        let path = directory.path().join(crate::frame::segment_name(0));
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
        assert_eq!(counted.unwrap().entries, 1, "the last line may lack its end");
        let told = imported(&format!("{line}{}", &line[..20])).1.unwrap_err().to_string();
        assert_eq!(told, "line 2: EOF while parsing an object (at byte 20)");
    }

    #[test]
    fn bad_lines_are_told_by_number_and_cause() {
        let cases = [
            ("\n", "line 2: EOF while parsing a value (at byte 0)"),
            ("{}\n", "line 2: missing field `kind` (at byte 2)"),
            ("{\"kind\":\"page\"}\n", "line 2: url is missing"),
            (
                "{\"kind\":\"dog\",\"url\":\"u\"}\n",
                "line 2: kind is \"dog\"; allowed: seed, page, robots, lease, end",
            ),
            (
                "{\"kind\":\"page\",\"url\":\"u\",\"body_base64\":\"é\"}\n",
                "line 2: body_base64: Invalid symbol 195, offset 0.",
            ),
            (
                "{\"kind\":\"end\"}\n{\"kind\":\"end\"}\n",
                "line 3: nothing is allowed after the line of kind end",
            ),
        ];
        for (text, expected) in cases {
            let text = format!("{{\"kind\":\"seed\",\"url\":\"http://a.com/\"}}\n{text}");
            assert_eq!(imported(&text).1.unwrap_err().to_string(), expected);
        }
        for bad in [
            r#"{"name":"x"}"#,
            r#"{"name":"x","value":"a","value_base64":"YQ=="}"#,
            r#"{"name":"x","value_base64":"?"}"#,
        ] {
            let (_, counted) =
                imported(&format!("{{\"kind\":\"page\",\"url\":\"u\",\"headers\":[{bad}]}}\n"));
            assert!(counted.unwrap_err().to_string().contains("value"), "{bad}");
        }
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
