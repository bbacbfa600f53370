//! Writes records, each compressed by itself.

use std::io;
use std::net::IpAddr;

use libdeflater::{CompressionLvl, Compressor};

use crate::date::date;
use crate::digest::sha1;
use crate::header::Kind;

/// How records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip, at a level from 1 to 9.
    Gzip(u32),
    /// By zstd, at a level from 1 to 19.
    Zstd(i32),
}

/// Where a record is in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Bytes before it, and its own as they are in the file.
    pub offset: u64,
    /// See `offset`.
    pub length: u64,
}

/// An HTTP exchange.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange<'a> {
    /// What makes it the only one: the records' identifiers are made of it, so that one that is written again is the same.
    pub key: &'a [u8],
    /// The URL.
    pub url: &'a str,
    /// When it began, in microseconds since 1970.
    pub micros: i64,
    /// The server's address.
    pub address: Option<IpAddr>,
    /// `h2`, `http/1.1`, `tls/1.3` and others, as `WARC-Protocol` has them.
    pub protocols: &'a [&'a str],
    /// First line and fields of the request as they were sent; empty: unknown.
    pub sent: &'a [u8],
    /// Status line and fields of the response as they were received; without the empty line.
    pub head: &'a [u8],
    /// The body, without transfer coding.
    pub body: &'a [u8],
    /// Why the body is not whole (`length`, `time`, `disconnect`, `unspecified`); `None`: it is.
    pub truncated: Option<&'a str>,
}

/// A response that was written before, and whose body is the same.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// Its URL, and its date as its record has it.
    pub url: &'a str,
    /// See `url`.
    pub date: &'a str,
}

/// Writes records to a buffer.
pub struct Writer {
    compression: Compression,
    out: Vec<u8>,
    /// Bytes of the file before the buffer.
    before: u64,
    deflate: Compressor,
    zstd: zstd::bulk::Compressor<'static>,
    /// Memory that is used again.
    header: String,
    plain: Vec<u8>,
}

impl Writer {
    /// At the beginning of a file.
    pub fn new(compression: Compression) -> Self {
        let level = match compression {
            Compression::Gzip(level) => {
                CompressionLvl::new(level.clamp(1, 9).cast_signed()).unwrap_or_default()
            }
            Compression::None | Compression::Zstd(_) => CompressionLvl::fastest(),
        };
        Writer {
            compression,
            out: Vec::new(),
            before: 0,
            deflate: Compressor::new(level),
            zstd: zstd::bulk::Compressor::default(),
            header: String::new(),
            plain: Vec::new(),
        }
    }

    /// In a file that has so many bytes already.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.before = offset;
        self
    }

    /// Where the next record will be.
    pub fn offset(&self) -> u64 {
        self.before + self.out.len() as u64
    }

    /// Returns what was written since the last call: it follows in the file.
    pub fn take(&mut self) -> Vec<u8> {
        self.before += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// Writes what describes a file: its name, and fields such as `software`.
    pub fn info(&mut self, file: &str, micros: i64, fields: &[(&str, &str)]) -> io::Result<Placed> {
        let body = lines(fields);
        let id = identifier(&[b"warcinfo", file.as_bytes(), &micros.to_le_bytes()]);
        self.begin(Kind::WarcInfo, &id, micros);
        self.field("WARC-Filename", file);
        self.end("application/warc-fields", &[body.as_bytes()])
    }

    /// Writes a response, and the request behind it if it is known; returns where the response is. digest: its payload's ([`sha1`]).
    pub fn exchange(&mut self, exchange: &Exchange<'_>, digest: &str) -> io::Result<Placed> {
        let head = stored_head(exchange.head, exchange.body.len());
        let response = self.message(exchange, Kind::Response, digest, |writer| {
            writer.end("application/http; msgtype=response", &[&head, b"\r\n", exchange.body])
        })?;
        self.request(exchange)?;
        Ok(response)
    }

    /// Writes a response whose body was written before: its head only.
    pub fn revisit(
        &mut self,
        exchange: &Exchange<'_>,
        digest: &str,
        earlier: Earlier<'_>,
    ) -> io::Result<Placed> {
        let head = stored_head(exchange.head, exchange.body.len());
        let revisit = self.message(exchange, Kind::Revisit, digest, |writer| {
            writer.field("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest");
            writer.field("WARC-Refers-To-Target-URI", earlier.url);
            writer.field("WARC-Refers-To-Date", earlier.date);
            writer.end("application/http; msgtype=response", &[&head, b"\r\n"])
        })?;
        self.request(exchange)?;
        Ok(revisit)
    }

    /// Writes what is known beside an exchange, such as where its URL was found.
    pub fn metadata(&mut self, exchange: &Exchange<'_>, fields: &[(&str, &str)]) -> io::Result<Placed> {
        let body = lines(fields);
        self.begin(Kind::Metadata, &identifier(&[exchange.key, b"metadata"]), exchange.micros);
        self.field("WARC-Target-URI", exchange.url);
        self.field("WARC-Concurrent-To", &bracketed(&identifier(&[exchange.key, b"response"])));
        self.end("application/warc-fields", &[body.as_bytes()])
    }

    /// Writes a text that was made of a response, as files of WET have them.
    pub fn conversion(
        &mut self,
        exchange: &Exchange<'_>,
        text: &str,
        language: Option<&str>,
    ) -> io::Result<Placed> {
        self.begin(Kind::Conversion, &identifier(&[exchange.key, b"conversion"]), exchange.micros);
        self.field("WARC-Target-URI", exchange.url);
        self.field("WARC-Refers-To", &bracketed(&identifier(&[exchange.key, b"response"])));
        if let Some(language) = language {
            self.field("WARC-Identified-Content-Language", language);
        }
        self.field("WARC-Block-Digest", &sha1(&[text.as_bytes()]));
        self.end("text/plain; charset=utf-8", &[text.as_bytes()])
    }

    /// Writes bytes that came by no HTTP message.
    pub fn resource(&mut self, url: &str, micros: i64, media: &str, body: &[u8]) -> io::Result<Placed> {
        let digest = sha1(&[body]);
        let id = identifier(&[b"resource", url.as_bytes(), &micros.to_le_bytes(), digest.as_bytes()]);
        self.begin(Kind::Resource, &id, micros);
        self.field("WARC-Target-URI", url);
        self.field("WARC-Payload-Digest", &digest);
        self.end(media, &[body])
    }

    /// The request of an exchange, if it is known.
    fn request(&mut self, exchange: &Exchange<'_>) -> io::Result<()> {
        if exchange.sent.is_empty() {
            return Ok(());
        }
        self.begin(Kind::Request, &identifier(&[exchange.key, b"request"]), exchange.micros);
        self.field("WARC-Target-URI", exchange.url);
        self.field("WARC-Concurrent-To", &bracketed(&identifier(&[exchange.key, b"response"])));
        self.end("application/http; msgtype=request", &[exchange.sent, b"\r\n"]).map(drop)
    }

    /// A response or what stands for it.
    fn message(
        &mut self,
        exchange: &Exchange<'_>,
        kind: Kind,
        digest: &str,
        rest: impl FnOnce(&mut Self) -> io::Result<Placed>,
    ) -> io::Result<Placed> {
        self.begin(kind, &identifier(&[exchange.key, b"response"]), exchange.micros);
        self.field("WARC-Target-URI", exchange.url);
        if let Some(address) = exchange.address {
            self.field("WARC-IP-Address", &address.to_string());
        }
        for protocol in exchange.protocols {
            self.field("WARC-Protocol", protocol);
        }
        if let Some(why) = exchange.truncated {
            self.field("WARC-Truncated", why);
        }
        self.field("WARC-Payload-Digest", digest);
        rest(self)
    }

    /// Begins a header.
    fn begin(&mut self, kind: Kind, id: &str, micros: i64) {
        self.header.clear();
        self.header.push_str("WARC/1.1\r\n");
        self.field("WARC-Type", kind.name());
        self.field("WARC-Record-ID", &bracketed(id));
        self.field("WARC-Date", &date(micros));
    }

    /// Adds a field; what would end its line is a space.
    fn field(&mut self, name: &str, value: &str) {
        self.header.push_str(name);
        self.header.push_str(": ");
        self.header.extend(value.chars().map(|c| if matches!(c, '\r' | '\n' | '\0') { ' ' } else { c }));
        self.header.push_str("\r\n");
    }

    /// Ends the header, and writes the record.
    fn end(&mut self, media: &str, block: &[&[u8]]) -> io::Result<Placed> {
        let length: usize = block.iter().map(|part| part.len()).sum();
        self.field("Content-Type", media);
        self.field("Content-Length", &length.to_string());
        self.header.push_str("\r\n");
        let offset = self.offset();
        let header = std::mem::take(&mut self.header);
        let parts = [&[header.as_bytes()], block, &[b"\r\n\r\n"]].concat();
        let into = if self.compression == Compression::None { &mut self.out } else { &mut self.plain };
        parts.iter().for_each(|part| into.extend_from_slice(part));
        match self.compression {
            Compression::None => {}
            Compression::Gzip(_) => self.gzip()?,
            Compression::Zstd(level) => {
                self.zstd.set_compression_level(level)?;
                self.out.extend(self.zstd.compress(&self.plain)?);
            }
        }
        self.plain.clear();
        self.header = header;
        Ok(Placed { offset, length: self.offset() - offset })
    }

    /// Appends a member of gzip: no name, no time, an unknown system, so that the same record gives the same bytes.
    fn gzip(&mut self) -> io::Result<()> {
        let from = self.out.len();
        self.out.resize(from + self.deflate.gzip_compress_bound(self.plain.len()), 0);
        let length = self.deflate.gzip_compress(&self.plain, &mut self.out[from..]);
        // What it cannot compress within its own bound leaves the file as it was.
        self.out.truncate(from + length.as_ref().copied().unwrap_or_default());
        length.map(|_| ()).map_err(io::Error::other)
    }
}

/// The head of a response as it is stored: its body has no transfer coding any more.
fn stored_head(head: &[u8], length: usize) -> Vec<u8> {
    let mut stored = Vec::with_capacity(head.len() + 64);
    let mut has_length = false;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            stored.extend_from_slice(b"X-Crawler-");
        }
        has_length |= name.eq_ignore_ascii_case(b"content-length");
        stored.extend_from_slice(line);
    }
    if !has_length && length > 0 {
        stored.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    stored
}

/// Fields as the body of a record has them.
fn lines(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}: {}\r\n", value.replace(['\r', '\n'], " "))).collect()
}

/// An identifier that is made of what makes a record the only one (a UUID of version 8, RFC 9562).
fn identifier(parts: &[&[u8]]) -> String {
    use sha1::{Digest as _, Sha1};
    let mut digest = Sha1::new();
    for part in parts {
        digest.update((part.len() as u32).to_le_bytes());
        digest.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x80, bytes[8] & 0x3f | 0x80);
    let hex = |range: std::ops::Range<usize>| -> String {
        bytes[range].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    format!("urn:uuid:{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
}

/// An identifier as fields have it.
fn bracketed(id: &str) -> String {
    format!("<{id}>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Reader, Record};

    fn records(file: &[u8]) -> Vec<Record> {
        let mut reader = Reader::new(file, Limits::default());
        let mut records = Vec::new();
        while let Some(next) = reader.next().unwrap() {
            records.push(next.unwrap());
        }
        records
    }

    const EXCHANGE: Exchange<'_> = Exchange {
        key: b"job 1",
        url: "http://a.example/",
        micros: 1_000_000,
        address: Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1))),
        protocols: &["http/1.1"],
        sent: b"GET / HTTP/1.1\r\nHost: a.example\r\n",
        head: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n",
        body: b"hello",
        truncated: None,
    };

    #[test]
    fn an_exchange_is_a_response_and_a_request() {
        let mut writer = Writer::new(Compression::Gzip(6));
        let digest = sha1(&[EXCHANGE.body]);
        let placed = writer.exchange(&EXCHANGE, &digest).unwrap();
        let file = writer.take();
        let found = records(&file);
        assert_eq!(found.iter().map(Record::kind).collect::<Vec<_>>(), [Kind::Response, Kind::Request]);
        let text = String::from_utf8_lossy(&found[0].block);
        assert_eq!(
            text,
            "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nX: y\r\nContent-Length: 5\r\n\r\nhello"
        );
        assert_eq!(found[0].header.get("WARC-Payload-Digest"), Some(digest.as_str()));
        assert_eq!(found[0].header.get("WARC-Date"), Some("1970-01-01T00:00:01Z"));
        assert_eq!(found[1].header.get("WARC-Concurrent-To"), found[0].header.get("WARC-Record-ID"));
        assert_eq!(records(&file[placed.offset as usize..][..placed.length as usize]).len(), 1);
    }

    #[test]
    fn the_same_exchange_gives_the_same_bytes() {
        let write = || {
            let mut writer = Writer::new(Compression::Gzip(6));
            writer.info("a.warc.gz", 0, &[("software", "Lycosa")]).unwrap();
            writer.exchange(&EXCHANGE, "sha1:X").unwrap();
            writer.take()
        };
        assert_eq!(write(), write());
    }

    #[test]
    fn a_revisit_names_what_it_repeats() {
        let mut writer = Writer::new(Compression::None).at(100);
        let earlier = Earlier { url: "http://b.example/", date: "2026-11-29T00:00:00Z" };
        let placed = writer.revisit(&EXCHANGE, "sha1:X", earlier).unwrap();
        writer.metadata(&EXCHANGE, &[("via", "http://c.example/\r\nx: y")]).unwrap();
        writer.conversion(&EXCHANGE, "Grüße", Some("deu")).unwrap();
        assert_eq!(placed.offset, 100);
        let found = records(&writer.take());
        let kinds: Vec<_> = found.iter().map(Record::kind).collect();
        assert_eq!(kinds, [Kind::Revisit, Kind::Request, Kind::Metadata, Kind::Conversion]);
        assert_eq!(found[0].header.get("WARC-Refers-To-Target-URI"), Some("http://b.example/"));
        assert!(!String::from_utf8_lossy(&found[0].block).contains("hello"));
        assert_eq!(found[2].block, b"via: http://c.example/  x: y\r\n");
        assert_eq!(found[3].block, "Grüße".as_bytes());
    }
}
