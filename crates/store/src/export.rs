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
        let line: Line = serde_json::from_slice(&text).map_err(|error| wrong(cause(&error)))?;
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
        .ok_or_else(|| format!("kind is {:?}; allowed: seed, page, robots, end", line.kind))?;
    if line.outcome.url.is_empty() {
        return Err("url is missing".into());
    }
    let body = STANDARD.decode(line.body_base64).map_err(|error| format!("body_base64: {error}"))?;
    Ok(Entry { kind, outcome: line.outcome, body: Bytes::from(body) })
}

/// What JSON's error says, without a line number of its own: each line is parsed alone.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(cause) if error.column() > 0 => format!("{cause} (at byte {})", error.column()),
        _ => text,
    }
}
