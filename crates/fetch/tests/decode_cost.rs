//! Limits of the cost of decoding a body, whatever its content. Each body is decoded in a process of its own,
//! started by this test, since memory freed by an earlier body would hide what a later one uses.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use bytes::Bytes;
use lycosa_fetch::decode;

const MIB: usize = 1 << 20;
const LIMIT: usize = 8 * MIB;

/// Maximum microseconds per body in a test build: the slowest took 1.1 s on a slow machine. The benchmark
/// `memory_hostile` shows with a release build that a page takes at most a second.
const MOST_US: u64 = 3_000_000;

/// Environment variable that passes the coding to the started process.
const CODING: &str = "LYCOSA_TEST_CODING";

/// 1 GiB of zeros in brotli with a window of 1 GiB (RFC 9841), which takes 826 bytes.
const LARGE_WINDOW: &[u8] = include_bytes!("data/large_window.br");

/// `mib` MiB of zeros through a streaming encoder.
fn zeros<W: Write>(encoder: &mut W, mib: usize) {
    let zeros = vec![0; MIB];
    (0..mib).for_each(|_| encoder.write_all(&zeros).unwrap());
}

fn gzip(mib: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zeros(&mut encoder, mib);
    encoder.finish().unwrap()
}

fn zlib(mib: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zeros(&mut encoder, mib);
    encoder.finish().unwrap()
}

fn zstd(mib: usize) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    zeros(&mut encoder, mib);
    encoder.finish().unwrap()
}

fn brotli(mib: usize) -> Vec<u8> {
    let mut body = Vec::new();
    zeros(&mut brotli::CompressorWriter::new(&mut body, 4096, 1, 24), mib);
    body
}

/// A body, compressed once more with brotli.
fn brotli_of(data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    brotli::CompressorWriter::new(&mut body, 4096, 0, 24).write_all(data).unwrap();
    body
}

/// A body, compressed once more with gzip.
fn gzip_of(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A value of `/proc/self/status`, in KiB.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse().unwrap()
}

/// Microseconds of CPU time of this thread.
fn cpu_us() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    told.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000
}

/// The started process: decodes its input, and prints outcome, KiB and microseconds.
fn decode_input(coding: &str) {
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body).unwrap();
    let body = Bytes::from(body);
    std::fs::write("/proc/self/clear_refs", "5").unwrap(); // resets the peak (man 5 proc)
    let (before, began) = (status("VmRSS"), cpu_us());
    let decoded = decode(&body, Some(coding), LIMIT);
    let (kib, us) = (status("VmHWM").saturating_sub(before), cpu_us() - began);
    let outcome = decoded.map_or_else(|failure| failure.kind.as_str(), |_| "decoded");
    println!("\ncost {outcome} {kib} {us}");
}

/// Decodes a body in a process of its own; returns outcome, KiB and microseconds.
fn cost(coding: &str, body: &[u8]) -> (String, usize, u64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "a_body_costs_its_limit_and_a_window_at_most"])
        .env(CODING, coding);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let mut told = output.lines().find_map(|line| line.strip_prefix("cost ")).unwrap().split(' ');
    let outcome = told.next().unwrap().to_owned();
    (outcome, told.next().unwrap().parse().unwrap(), told.next().unwrap().parse().unwrap())
}

#[test]
fn a_body_costs_its_limit_and_a_window_at_most() {
    if let Ok(coding) = std::env::var(CODING) {
        return decode_input(&coding);
    }
    let nothing = b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00";
    let window = 16;
    // Name, codings, body, expected outcome, and MiB beyond the limit.
    let cases: Vec<(&str, &str, Vec<u8>, &str, usize)> = vec![
        ("a large window", "br", LARGE_WINDOW.to_vec(), "encoding-bad", 0),
        ("zeros", "gzip", gzip(64), "body-too-large", 0),
        ("zeros", "deflate", zlib(64), "body-too-large", 0),
        ("zeros", "zstd", zstd(64), "body-too-large", 8),
        ("zeros", "br", brotli(64), "body-too-large", window),
        ("just enough", "gzip", gzip(8), "decoded", 0),
        ("just enough", "br", brotli(8), "decoded", window),
        ("in two codings", "gzip, gzip", gzip_of(&gzip(64)), "body-too-large", 0),
        ("in three", "gzip, gzip, gzip", gzip_of(&gzip_of(&gzip(256))), "body-too-large", 0),
        ("long between two", "gzip, gzip", gzip_of(&stored(6)), "body-too-large", 0),
        ("long between three", "gzip, br, gzip", gzip_of(&brotli_of(&stored(6))), "body-too-large", window),
        ("members of nothing", "gzip", gzip(0).repeat(500_000), "encoding-bad", 0),
        ("frames of nothing", "zstd", nothing.repeat(1_100_000), "decoded", 0),
        ("blocks of nothing", "deflate", [0, 0, 0, 0xff, 0xff].repeat(2_000_000), "encoding-bad", 0),
        ("blocks of nothing", "br", [&[0x0c][..], &[0x06; 10 << 20]].concat(), "encoding-bad", 0),
    ];
    for (name, coding, body, expected, beside) in cases {
        let (outcome, kib, us) = cost(coding, &body);
        println!("{name}, {coding}: {outcome}, {kib} KiB, {us} us");
        assert_eq!(outcome, expected, "{name}, {coding}");
        let most = LIMIT / 1024 + (beside + 2) * 1024;
        assert!(kib <= most, "{name}, {coding}: {kib} KiB, at most {most}");
        assert!(us < MOST_US, "{name}, {coding}: {us} us");
    }
    // Spare capacity is not touched.
    for (coding, body) in [("gzip", gzip(2)), ("deflate", zlib(2)), ("zstd", zstd(2))] {
        let (outcome, kib, _) = cost(coding, &body);
        assert_eq!(outcome, "decoded");
        assert!(kib <= 4 * 1024, "2 MiB, {coding}: {kib} KiB");
    }
}

/// `mib` MiB of zeros as stored, uncompressed gzip.
fn stored(mib: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    zeros(&mut encoder, mib);
    encoder.finish().unwrap()
}
