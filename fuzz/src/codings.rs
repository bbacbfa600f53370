//! Content codings of bodies. The first two bytes of an input are the limit of the decoded size.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use lycosa_fetch::decode;
use lycosa_url::{Failure, FailureKind};

use crate::bounds::{FIXED_BYTES, within};

/// Invariant: any bytes as gzip give at most the limit, or have a reason, within memory and time.
pub fn gzip(data: &[u8]) {
    let (limit, body) = limit(data);
    bounded(body, "gzip", limit);
}

/// Invariant: any bytes as zlib or raw deflate give at most the limit, or have a reason, within memory and time.
pub fn deflate(data: &[u8]) {
    let (limit, body) = limit(data);
    bounded(body, "deflate", limit);
}

/// Invariant: any bytes as brotli give at most the limit, or have a reason, within memory and time.
pub fn brotli(data: &[u8]) {
    let (limit, body) = limit(data);
    bounded(body, "br", limit);
}

/// Invariant: any bytes as zstd give at most the limit, or have a reason, within memory and time.
pub fn zstd(data: &[u8]) {
    let (limit, body) = limit(data);
    bounded(body, "zstd", limit);
}

/// Invariant: what the reference encoders make of any bytes, one upon the other, decodes to these bytes up to the limit, and is
/// too large beyond it; with one byte changed it gives at most the limit or has a reason. The first byte says which codings,
/// the next two which byte changes and how.
pub fn codings(data: &[u8]) {
    let [first, place, change, plain @ ..] = data else { return };
    let (mut coded, mut names) = (plain.to_vec(), Vec::new());
    for shift in [0, 2, 4].into_iter().take(1 + usize::from(first >> 6) % 3) {
        let (name, bytes) = encode(first >> shift & 3, &coded);
        names.push(name);
        coded = bytes;
    }
    let field = names.join(", ");
    let whole = Bytes::from(coded.clone());
    // Between the codings a body may be larger than at its end: encoders add a few bytes to what does not shrink.
    let limit = 2 * plain.len() + 256;
    let decoded =
        within(coded.len() + plain.len(), limit + FIXED_BYTES, || decode(&whole, Some(&field), limit));
    assert_eq!(decoded.as_deref(), Ok(plain), "{field}");
    if let Some(less) = plain.len().checked_sub(1) {
        let failure = decode(&whole, Some(&field), less).expect_err("more than the limit");
        assert_eq!(failure.kind, FailureKind::BodyTooLarge, "{field}: {}", failure.detail);
    }
    if !coded.is_empty() {
        let place = usize::from(*place) * coded.len() / 256;
        coded[place] ^= change;
        bounded(&coded, &field, limit);
    }
}

/// The limit of an input, and its body.
fn limit(data: &[u8]) -> (usize, &[u8]) {
    match data {
        [low, high, body @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), body),
        _ => (1_000, data),
    }
}

/// Decodes a body within the limits; its failures are of the two kinds that decoding has.
fn bounded(body: &[u8], coding: &str, limit: usize) {
    let given = Bytes::copy_from_slice(body);
    let decoded =
        within(body.len() + limit, limit + body.len() + FIXED_BYTES, || decode(&given, Some(coding), limit));
    match &decoded {
        Ok(decoded) => assert!(decoded.len() <= limit, "{} bytes, at most {limit}", decoded.len()),
        Err(Failure { kind: FailureKind::BodyTooLarge | FailureKind::EncodingBad, detail }) => {
            assert!(!detail.is_empty() && detail.len() < 1_000, "{detail}");
        }
        Err(failure) => panic!("{failure:?}"),
    }
    // What a body decodes to does not depend on the limit, as long as that is not reached, between codings too.
    if let Ok(decoded) = decoded
        && !coding.contains(',')
    {
        assert_eq!(decode(&given, Some(coding), decoded.len()), Ok(decoded));
    }
}

/// Bytes in a coding, and its name.
fn encode(number: u8, plain: &[u8]) -> (&'static str, Vec<u8>) {
    let level = Compression::new((plain.len() % 10) as u32);
    let written = "an encoder into memory";
    match number {
        0 => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(plain).expect(written);
            ("gzip", encoder.finish().expect(written))
        }
        1 if plain.len().is_multiple_of(2) => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(plain).expect(written);
            ("deflate", encoder.finish().expect(written))
        }
        1 => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(plain).expect(written);
            ("deflate", encoder.finish().expect(written))
        }
        2 => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4_096, 2, 16);
            encoder.write_all(plain).expect(written);
            ("br", encoder.into_inner())
        }
        _ => ("zstd", zstd::encode_all(plain, 1).expect(written)),
    }
}
