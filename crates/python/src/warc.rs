//! WARC files: written from outcomes, and read as responses.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;

use bytes::Bytes;
use lycosa_records::{Body, Certificate, Head, Received, Request, Response, Source};
use lycosa_url::CrawlUrl;
use lycosa_warc::{
    Compression as Coding, Earlier, Exchange, Kind, Limits, Placed, Reader, Record, Writer, cdxj, date,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{self, lock};
use crate::outcomes::Outcomes;
use crate::response::Responses;
use crate::written::{Compression, write_at};

/// Levels of compression: this one of libdeflate gives archives that are about as small as zlib's usual 6 does, in half the time.
const GZIP_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 3;

/// Letters of hops, at most.
const MOST_HOPS: u32 = 100;

/// Payloads that are remembered, so that one that comes again is a revisit: about 200 bytes each.
const PAYLOADS: usize = 100_000;

/// Bytes of a payload from which a revisit is smaller than the payload again.
const LEAST: usize = 512;

/// Writes outcomes as records of WARC 1.1.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct WarcWriter {
    coding: Coding,
    job: Vec<u8>,
    with_texts: bool,
    /// URL and date of payloads by their digests: the newer ones, and those before.
    payloads: Mutex<[HashMap<String, (String, String)>; 2]>,
}

#[pymethods]
impl WarcWriter {
    /// compression: gzip, zstd or None. job: makes records' identifiers. texts: the main texts are written, not what was received.
    #[new]
    #[pyo3(signature = (job, compression, texts = false))]
    fn new(job: &str, compression: Option<&str>, texts: bool) -> PyResult<Self> {
        let coding = match Compression::named(compression)? {
            Compression::None => Coding::None,
            Compression::Gzip => Coding::Gzip(GZIP_LEVEL),
            Compression::Zstd => Coding::Zstd(ZSTD_LEVEL),
        };
        Ok(WarcWriter { coding, job: job.as_bytes().to_vec(), with_texts: texts, payloads: Mutex::default() })
    }

    /// Writes outcomes into a file from an offset on, with what describes the file at its beginning; gives its bytes, and lines of an
    /// index. name: the file's, in the index.
    fn write<'py>(
        &self,
        py: Python<'py>,
        outcomes: &Outcomes,
        path: PathBuf,
        offset: u64,
        name: &str,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let all = outcomes.batch.all();
        let written = py.detach(|| {
            let mut lines = String::new();
            let length = write_at(&path, offset, Compression::None, |into| {
                let mut writer = Writer::new(self.coding).at(offset);
                for (index, outcome) in all.iter().enumerate() {
                    if offset == 0 && index == 0 {
                        writer.info(name, outcome.response.fetched_at().cast_signed(), &INFO)?;
                    }
                    self.record(&mut writer, outcome, name, &mut lines)?;
                    into.write_all(&writer.take())?;
                }
                Ok(())
            })?;
            io::Result::Ok((length, lines))
        });
        let (length, lines) = written.map_err(|error| errors::os(&error))?;
        Ok((length, PyBytes::new(py, lines.as_bytes())))
    }
}

/// What describes a file.
const INFO: [(&str, &str); 2] =
    [("software", concat!("Lycosa/", env!("CARGO_PKG_VERSION"))), ("format", "WARC File Format 1.1")];

impl WarcWriter {
    /// Writes an outcome's records, if it has a response.
    fn record(
        &self,
        writer: &mut Writer,
        outcome: &lycosa_records::Outcome,
        file: &str,
        lines: &mut String,
    ) -> io::Result<()> {
        let Some(received) = outcome.received() else { return Ok(()) };
        let response = &outcome.response;
        let took = response.finished.saturating_sub(response.started);
        let micros = response.fetched_at().saturating_sub(took).cast_signed();
        let url = outcome.url().as_str();
        let key = [self.job.as_slice(), url.as_bytes(), &micros.to_le_bytes()].concat();
        let protocols = protocols(received);
        let protocols: Vec<&str> = protocols.iter().map(String::as_str).collect();
        let exchange = Exchange {
            key: &key,
            url,
            micros,
            address: response.site_address(),
            protocols: &protocols,
            sent: received.sent.raw(),
            head: received.head.raw(),
            body: received.body.memory().map_or(&[][..], |body| body),
            // One that is larger than parse.max_decoded_bytes stays in the log.
            truncated: received.body.memory().is_none().then_some("length"),
        };
        let (placed, digest, media) = if self.with_texts {
            let Some(text) = outcome.text.as_deref() else { return Ok(()) };
            let language = Some(&*text.language).filter(|language| !language.is_empty());
            (writer.conversion(&exchange, &text.text, language)?, String::new(), "text/plain".to_owned())
        } else {
            let placed = self.exchange(writer, &exchange, received)?;
            // As Heritrix names them: each hop is a letter, that of a link.
            let hops = "L".repeat(outcome.request().depth.min(MOST_HOPS) as usize);
            let milliseconds = (took / 1_000).to_string();
            let mut fields = vec![("hopsFromSeed", &*hops), ("fetchTimeMs", &*milliseconds)];
            fields.extend(outcome.charset.as_deref().map(|charset| ("charsetForLinkExtraction", charset)));
            writer.metadata(&exchange, &fields)?;
            placed
        };
        let entry = cdxj::Entry {
            url,
            date: &date(micros),
            media: &media,
            status: received.status,
            digest: &digest,
            placed,
            file,
        };
        if let Some(line) = cdxj::line(&entry) {
            lines.push_str(&line);
            lines.push('\n');
        }
        Ok(())
    }

    /// Writes an exchange, or a revisit where its payload was written before; gives where, its digest, and its media type.
    fn exchange(
        &self,
        writer: &mut Writer,
        exchange: &Exchange<'_>,
        received: &Received,
    ) -> io::Result<(Placed, String, String)> {
        let digest = lycosa_warc::sha1(&[exchange.body]);
        let is_large = exchange.body.len() >= LEAST;
        let earlier = is_large.then(|| self.earlier(&digest)).flatten();
        if let Some((url, date)) = earlier {
            let placed = writer.revisit(exchange, &digest, Earlier { url: &url, date: &date })?;
            return Ok((placed, digest, "warc/revisit".to_owned()));
        }
        let placed = writer.exchange(exchange, &digest)?;
        if is_large {
            let mut payloads = lock(&self.payloads);
            if payloads[0].len() >= PAYLOADS / 2 {
                payloads.swap(0, 1);
                payloads[0].clear();
            }
            payloads[0].insert(digest.clone(), (exchange.url.to_owned(), date(exchange.micros)));
        }
        Ok((placed, digest, received.head.media_type()))
    }

    /// URL and date of a payload that was written.
    fn earlier(&self, digest: &str) -> Option<(String, String)> {
        let payloads = lock(&self.payloads);
        payloads.iter().find_map(|known| known.get(digest).cloned())
    }
}

/// The protocols of an exchange, as `WARC-Protocol` names them.
fn protocols(received: &Received) -> Vec<String> {
    let http = match received.source {
        Source::Http10 => "http/1.0",
        Source::Http2 => "h2",
        Source::Http11 | Source::Browser | Source::Cache => "http/1.1",
    };
    let tls = received.certificate.as_deref().map(|certificate: &Certificate| {
        certificate.protocol.to_ascii_lowercase().replace("tlsv1_", "tls/1.")
    });
    std::iter::once(http.to_owned()).chain(tls).collect()
}

/// Reads responses from a WARC or ARC file.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct WarcReader {
    reader: Mutex<Reader<Box<dyn Read + Send + Sync>>>,
    position: u64,
    max_bytes: usize,
}

#[pymethods]
impl WarcReader {
    /// path: of a file, compressed or not. position: where a record begins. end: where the records end, if they are a part of the file;
    /// default: its end. max_bytes: of a body; more is cut.
    #[new]
    #[pyo3(signature = (path, position = 0, end = None, max_bytes = 64 << 20))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        position: u64,
        end: Option<u64>,
        max_bytes: usize,
    ) -> PyResult<Self> {
        let opened = py.detach(|| {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(position))?;
            io::Result::Ok(file.take(end.unwrap_or(u64::MAX).saturating_sub(position)))
        });
        let file = opened.map_err(|error| errors::system(&path.to_string_lossy(), &error))?;
        let limits = Limits { block: max_bytes, ..Limits::default() };
        Ok(WarcReader { reader: Mutex::new(Reader::new(Box::new(file), limits)), position, max_bytes })
    }

    /// The next responses, at most so many records and bytes; with the position after them, and damage: position and text. Nothing of
    /// all: the file ends.
    #[pyo3(signature = (records = 1_000, max_bytes = 8 << 20))]
    fn read(
        &self,
        py: Python<'_>,
        records: usize,
        max_bytes: usize,
    ) -> PyResult<(Responses, u64, Damages, bool)> {
        let read = py.detach(|| self.read_on(records, max_bytes));
        let Part { responses, damages, is_over } = read.map_err(|error| errors::os(&error))?;
        let position = self.position + lock(&self.reader).used();
        Ok((Responses::new(responses, None), position, damages, is_over))
    }
}

impl WarcReader {
    /// Reads some.
    fn read_on(&self, most: usize, max_bytes: usize) -> io::Result<Part> {
        let (mut part, mut bytes) = (Part::default(), 0);
        let mut reader = lock(&self.reader);
        for _ in 0..most {
            match reader.next()? {
                None => {
                    part.is_over = true;
                    break;
                }
                Some(Err(damage)) => {
                    part.damages.push((self.position + damage.position, damage.to_string()));
                }
                Some(Ok(record)) => {
                    bytes += record.block.len();
                    let position = self.position + record.position;
                    if record.block.len() >= self.max_bytes {
                        let cut = format!("it is longer than {} bytes: it was cut", self.max_bytes);
                        part.damages.push((position, cut));
                    }
                    match response_of(record) {
                        Some(Ok(response)) => part.responses.push(response),
                        Some(Err(text)) => part.damages.push((position, text.to_owned())),
                        None => {}
                    }
                }
            }
            if bytes >= max_bytes {
                break;
            }
        }
        Ok(part)
    }
}

/// What was damaged: positions, and what is said of them.
type Damages = Vec<(u64, String)>;

/// Some records of a file.
#[derive(Default)]
struct Part {
    responses: Vec<Response>,
    damages: Damages,
    /// Whether the file ends after them.
    is_over: bool,
}

/// The response that a record has, or why it has none; `None`: it is no response to a URL that can be crawled.
fn response_of(record: Record) -> Option<Result<Response, &'static str>> {
    let url = CrawlUrl::parse(&record.header.url()?).ok()?;
    let message = match record.kind() {
        Kind::Response => split_message(record.block.into()),
        // A file that came by no HTTP message.
        Kind::Resource => {
            let media = record.header.get("Content-Type").unwrap_or("application/octet-stream");
            Some((Head::of("HTTP/1.1 200 OK", [("Content-Type", media)])?, record.block.into()))
        }
        _ => return None,
    };
    let message = message.and_then(|(head, body)| Some((status_of(head.line())?, head, body)));
    let Some((status, head, body)) = message else { return Some(Err("it has no HTTP response")) };
    let taken = record.header.get("WARC-Date").and_then(micros_of).unwrap_or(0);
    let received = Received { status, head, body: Body::Memory(body), ..Received::default() };
    Some(Ok(Response {
        request: Request::get(url),
        address: record.header.get("WARC-IP-Address").and_then(|address| address.parse().ok()),
        started: taken,
        finished: taken,
        times: lycosa_records::Times::default(),
        result: Ok(received),
    }))
}

/// Divides an HTTP message into its head and its body without transfer coding.
fn split_message(block: Bytes) -> Option<(Head, Bytes)> {
    let end = memchr::memmem::find(&block, b"\r\n\r\n").map(|at| (at + 2, at + 4));
    let end = end.or_else(|| memchr::memmem::find(&block, b"\n\n").map(|at| (at + 1, at + 2)));
    let (head, body) = end.unwrap_or((block.len(), block.len()));
    block.starts_with(b"HTTP/").then_some(())?;
    // A head of its own: it stays where the body is left out.
    let (head, body) = (Head::new(Bytes::copy_from_slice(&block[..head])), block.slice(body..));
    let is_chunked =
        head.get("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    let plain = is_chunked.then(|| unchunked(&body)).flatten().map(Bytes::from);
    Some((head, plain.unwrap_or(body)))
}

/// A body without its chunks; `None`: it has none, which many writers do not tell.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(body.len());
    loop {
        let line = memchr::memchr(b'\n', body)?;
        let digits = std::str::from_utf8(&body[..line]).ok()?.split(';').next()?.trim();
        let length = usize::from_str_radix(digits, 16).ok()?;
        body = &body[line + 1..];
        if length == 0 {
            return Some(plain);
        }
        // The last chunk of a body that was cut.
        plain.extend_from_slice(&body[..length.min(body.len())]);
        let Some(rest) = body.get(length..).filter(|rest| !rest.is_empty()) else { return Some(plain) };
        body = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

/// The status in a status line.
fn status_of(line: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(line).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A date as microseconds since 1970.
fn micros_of(text: &str) -> Option<u64> {
    lycosa_warc::micros(text).and_then(|micros| u64::try_from(micros).ok())
}
