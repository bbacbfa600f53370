//! Which bodies are received where a job wants only some media types.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use lycosa_fetch::{Fetcher, MediaTypes, Settings};
use lycosa_records::{Purpose, Request, RequestOptions};
use lycosa_url::{Failure, FailureKind};
use support::*;

/// Settings of a job that wants pages.
fn pages_only() -> Settings {
    Settings { media_types: MediaTypes::new(["text/html", "Application/XHTML+xml"]), ..settings() }
}

/// A response with these header fields and this body.
fn response(fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// What a response comes to: its body, or why it is refused.
fn comes_to(settings: Settings, fields: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let server = Server::once(response(fields, body));
    fetch_with(settings, server.request("/")).result.map(|page| bytes(&page).to_vec())
}

/// Compresses by gzip.
fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

const HTML: &[u8] = b"<!doctype html><title>x</title>";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn what_the_server_says_decides_before_the_body() {
    let endless: Script = Box::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n").unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the client has closed");
    });
    let server = Server::start(vec![endless]);
    let failure = fetch_with(pages_only(), server.request("/")).result.unwrap_err();
    assert_eq!(failure, Failure::new(FailureKind::ContentType, "image/png"));
    assert_eq!(comes_to(pages_only(), "Content-Type: Text/HTML; charset=utf-8\r\n", b"x").unwrap(), b"x");
    assert_eq!(comes_to(pages_only(), "Content-Type: application/xhtml+xml\r\n", b"x").unwrap(), b"x");
    // It is not doubted: browsers believe it, too.
    assert_eq!(comes_to(pages_only(), "Content-Type: text/html\r\n", PNG).unwrap(), PNG);
}

#[test]
fn where_the_server_says_nothing_the_first_bytes_decide() {
    for label in
        ["", "Content-Type: \r\n", "Content-Type: html\r\n", "Content-Type: application/octet-stream\r\n"]
            .into_iter()
            .chain(["Content-Type: text/plain; charset=x\r\n", "Content-Type: unknown/unknown\r\n"])
    {
        assert_eq!(comes_to(pages_only(), label, HTML).unwrap(), HTML, "{label}");
        let failure = comes_to(pages_only(), label, PNG).unwrap_err();
        assert_eq!(failure.kind, FailureKind::ContentType, "{label}");
        assert!(failure.detail.starts_with("image/png by its first bytes"), "{failure:?}");
        assert_eq!(comes_to(pages_only(), label, b"").unwrap(), b"", "nothing is refused");
    }
    let texts = || Settings { media_types: MediaTypes::new(["text/plain"]), ..settings() };
    let plain = "Content-Type: text/plain\r\n";
    assert_eq!(comes_to(texts(), plain, HTML).unwrap(), HTML, "a source text");
    assert!(comes_to(texts(), "", HTML).is_err() && comes_to(texts(), plain, PNG).is_err());
    let images = || Settings { media_types: MediaTypes::new(["image/*"]), ..settings() };
    assert_eq!(comes_to(images(), "", PNG).unwrap(), PNG);
    assert!(comes_to(images(), "", HTML).is_err());
    let all = || Settings { media_types: MediaTypes::new(["*/*"]), ..settings() };
    assert_eq!(comes_to(all(), "", PNG).unwrap(), PNG);
}

#[test]
fn an_unwanted_body_is_left_after_its_first_bytes() {
    let endless: Script = Box::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        stream.write_all(PNG).unwrap();
        let mut sent = PNG.len();
        while stream.write_all(&[7; 4_096]).is_ok() {
            sent += 4_096;
            std::thread::sleep(Duration::from_millis(20));
            assert!(sent < 60_000, "{sent}");
        }
    });
    let server = Server::start(vec![endless]);
    assert_eq!(kind(&fetch_with(pages_only(), server.request("/"))), FailureKind::ContentType);
}

#[test]
fn a_coded_body_is_told_by_what_it_decodes_to() {
    let coded = "Content-Encoding: gzip\r\n";
    let large: Vec<u8> = (0..20_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_be_bytes()).collect();
    let page = gzip(&[HTML, &large].concat());
    assert!(page.len() > 60_000);
    assert_eq!(comes_to(pages_only(), coded, &page).unwrap(), page);
    let image = gzip(&[PNG, &large].concat());
    assert_eq!(comes_to(pages_only(), coded, &image).unwrap_err().kind, FailureKind::ContentType);
    let broken = comes_to(pages_only(), coded, &[7; 90_000]).unwrap();
    assert_eq!(broken.len(), 90_000, "parse says what is wrong with it");
}

#[test]
fn errors_redirects_robots_txt_and_heads_are_always_received() {
    for head in
        ["404 Not Found\r\nContent-Type: image/png", "302 Found\r\nLocation: /x\r\nContent-Type: image/png"]
    {
        let server = Server::once(format!("HTTP/1.1 {head}\r\nContent-Length: 1\r\n\r\nx"));
        assert_eq!(*bytes(&page(fetch_with(pages_only(), server.request("/")))), "x");
    }
    let image = || response("Content-Type: image/png\r\n", b"x");
    let server = Server::once(image());
    let robots = Request { purpose: Purpose::Robots, ..server.request("/robots.txt") };
    assert_eq!(*bytes(&page(fetch_with(pages_only(), robots))), "x");
    let server = Server::once(image());
    let options = RequestOptions { method: "HEAD".into(), ..RequestOptions::default() };
    let head = Request { options: Some(Box::new(options)), ..server.request("/") };
    assert_eq!(page(fetch_with(pages_only(), head)).status, 200);
}

#[test]
fn a_job_without_wishes_gets_everything_on_kept_connections() {
    let server = Server::start(vec![several(vec![response("", PNG), response("", HTML)])]);
    let fetcher = Fetcher::start(settings()).unwrap();
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), PNG);
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), HTML);
    assert_eq!(server.connections(), 1);
}
