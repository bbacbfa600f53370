//! Content codings: pure functions that decode a body.
//!
//! Separate from fetching: responses are passed on as received, and a consumer that needs the text decodes it
//! (RFC 9110 section 8.4).

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use lycosa_url::{Failure, FailureKind};

/// Maximum number of codings on one body; more are an attack.
const MAX_CODINGS: usize = 3;

/// Maximum number of members of one gzip body; each costs a decoder, so many empty ones would cost time
/// without output.
const MAX_MEMBERS: usize = 10_000;

/// The largest window of the content coding `zstd` is 8 MB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// The base-2 logarithm of the largest zlib window, 32 KiB, for gzip and raw deflate.
const WINDOW_BITS: u8 = 15;

/// Bytes of a body's beginning that are decoded, and that this comes to: more than [`PART`], and than a block of zstd (128 KiB), of which
/// nothing is known before its end.
pub(crate) const BEGINNING: usize = 160 << 10;

/// Bytes that a decoder writes at once.
const PART: usize = 16 * 1024;

/// Bytes that gzip and deflate write at once, directly into the output.
const INFLATED: usize = 64 * 1024;

/// An output grows by doubling up to this size, in bytes.
const SMALL_OUTPUT: usize = 1 << 20;

/// Beyond that it grows by at least this many bytes, or by doubling if that is more.
const GROWTH: usize = 64 << 20;

/// One coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Decodes the codings that `Content-Encoding` lists. Without any, the result shares the body's memory.
///
/// An output of more than `limit` bytes, including the intermediate result between two codings, is
/// `BodyTooLarge`; invalid or truncated data is `EncodingBad`. Bytes after the end of the coded data are
/// ignored, as in browsers. Memory: `limit`, and the used part of the coding's window (brotli 16 MiB, zstd 8
/// MiB, others 32 KiB).
pub fn decode(body: &Bytes, content_encoding: Option<&str>, limit: usize) -> Result<Bytes, Failure> {
    let codings = codings(content_encoding.unwrap_or_default())?;
    let (mut bytes, mut left) = (body.clone(), limit);
    for coding in codings.into_iter().rev() {
        if bytes.is_empty() {
            break; // servers also list a coding for empty bodies
        }
        let mut output = Vec::new();
        coding.undo(&bytes, left, &mut output).map_err(|problem| problem.failure(coding, limit))?;
        bytes = finish(output);
        // The next coding's input is in memory with its output: both count.
        left = limit - bytes.len();
    }
    if bytes.len() > limit {
        return Err(Problem::TooLarge.failure(Coding::Gzip, limit));
    }
    Ok(bytes)
}

/// The beginning of a body of which the beginning is known, without its codings: some of its bytes, about [`BEGINNING`] at most. `None`
/// if it has a coding that is not supported.
pub(crate) fn beginning(body: &[u8], content_encoding: Option<&str>) -> Option<Vec<u8>> {
    let mut bytes = body.get(..BEGINNING).unwrap_or(body).to_vec();
    for coding in codings(content_encoding.unwrap_or_default()).ok()?.into_iter().rev() {
        let mut output = Vec::new();
        // It ends somewhere: what was decoded until there is there.
        let _ = coding.undo(&bytes, BEGINNING, &mut output);
        bytes = output;
    }
    Some(bytes)
}

impl Coding {
    /// Decodes data and appends to the output, which has what was decoded also if that fails.
    fn undo(self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Problem> {
        match self {
            Coding::Gzip => gunzip(input, limit, output),
            Coding::Deflate => inflate(input, limit, output),
            Coding::Brotli => unbrotli(input, limit, output),
            Coding::Zstd => unzstd(input, limit, output),
        }
    }
}

/// Why data does not decode.
enum Problem {
    TooLarge,
    CutOff,
    Broken(String),
}

impl Problem {
    /// Converts it to a failure.
    fn failure(self, coding: Coding, limit: usize) -> Failure {
        match self {
            Problem::TooLarge => {
                Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes when decoded"))
            }
            Problem::CutOff => Failure::new(FailureKind::EncodingBad, format!("{coding:?}: truncated")),
            Problem::Broken(why) => Failure::new(FailureKind::EncodingBad, format!("{coding:?}: {why}")),
        }
    }
}

/// The codings in the order applied. Unknown words (`utf-8`, `none`) are ignored, as in browsers.
fn codings(field: &str) -> Result<Vec<Coding>, Failure> {
    let mut codings = Vec::new();
    for word in field.split(',') {
        codings.push(match word.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            known @ ("compress" | "x-compress" | "dcb" | "dcz") => {
                return Err(Failure::new(FailureKind::EncodingBad, format!("{known}: coding not requested")));
            }
            _ => continue,
        });
    }
    if codings.len() > MAX_CODINGS {
        let detail = format!("{} codings; at most {MAX_CODINGS}", codings.len());
        return Err(Failure::new(FailureKind::EncodingBad, detail));
    }
    Ok(codings)
}

/// gzip: one or more members (RFC 1952 section 2.2); other data after them is ignored.
fn gunzip(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Problem> {
    let mut rest = input;
    for _ in 0..MAX_MEMBERS {
        rest = stream(Decompress::new_gzip(WINDOW_BITS), rest, output, limit)?;
        if !rest.starts_with(&[0x1f, 0x8b]) {
            return Ok(());
        }
    }
    Err(Problem::Broken("too many members".to_owned()))
}

/// deflate: zlib as in RFC 9110, or raw as some servers send it.
fn inflate(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Problem> {
    let is_zlib =
        matches!(*input, [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([a, b]).is_multiple_of(31));
    if is_zlib {
        match stream(Decompress::new(true), input, output, limit) {
            Err(Problem::Broken(_)) => output.clear(), // raw data may begin like a zlib header by chance
            ended => return ended.map(|_| ()),
        }
    }
    stream(Decompress::new(false), input, output, limit).map(|_| ())
}

/// Inflates one stream and appends to the output; returns the input after it.
fn stream<'a>(
    mut state: Decompress,
    input: &'a [u8],
    output: &mut Vec<u8>,
    limit: usize,
) -> Result<&'a [u8], Problem> {
    output.reserve_exact(first_guess(input, limit));
    loop {
        let taken = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
        let rest = input.get(taken..).unwrap_or_default();
        let before = (output.len(), state.total_out());
        // Not into the whole capacity at once (`decompress_vec`), which would be zeroed first even if nothing
        // follows.
        let space = (output.capacity() - before.0).min(INFLATED);
        output.resize(before.0 + space, 0);
        let ended = state.decompress(rest, &mut output[before.0..], FlushDecompress::None);
        output.truncate(before.0 + usize::try_from(state.total_out() - before.1).unwrap_or(0));
        let status = ended.map_err(|error| Problem::Broken(error.to_string()))?;
        if output.len() > limit {
            return Err(Problem::TooLarge);
        }
        let taken = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
        let left = input.get(taken..).unwrap_or_default();
        if status == Status::StreamEnd {
            return Ok(left);
        }
        if output.len() == before.0 + space {
            if output.len() == output.capacity() {
                grow(output, limit);
            }
        } else if output.len() == before.0 && left.len() == rest.len() || left.is_empty() {
            return Err(Problem::CutOff);
        }
    }
}

/// brotli as in RFC 7932, with windows of up to 16 MiB. The large windows of RFC 9841, which is not a content
/// coding, would cost up to 1 GiB before the first byte of output; the decoder rejects them by their header.
fn unbrotli(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Problem> {
    let alloc = StandardAlloc::default();
    let mut state = BrotliState::new_strict(alloc, alloc, alloc);
    output.reserve_exact(first_guess(input, limit));
    let mut part = vec![0; PART];
    let (mut left, mut taken, mut total) = (input.len(), 0, 0);
    loop {
        let (mut free, mut filled) = (part.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut taken,
            input,
            &mut free,
            &mut filled,
            &mut part,
            &mut total,
            &mut state,
        );
        append(output, &part[..filled], limit)?;
        match result {
            BrotliResult::ResultSuccess => return Ok(()),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(Problem::CutOff),
            BrotliResult::ResultFailure => return Err(Problem::Broken("invalid data".to_owned())),
        }
    }
}

/// zstd: one or more frames.
fn unzstd(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Problem> {
    output.reserve_exact(first_guess(input, limit));
    let mut part = vec![0; PART];
    let mut decoder = zstd::stream::read::Decoder::with_buffer(input)
        .map_err(|error| Problem::Broken(error.to_string()))?;
    decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(|error| Problem::Broken(error.to_string()))?;
    loop {
        match decoder.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(filled) => append(output, &part[..filled], limit)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Problem::CutOff),
            Err(error) => return Err(Problem::Broken(error.to_string())),
        }
    }
}

/// Appends a part of the output.
fn append(output: &mut Vec<u8>, part: &[u8], limit: usize) -> Result<(), Problem> {
    if part.len() > limit - output.len() {
        return Err(Problem::TooLarge);
    }
    if part.len() > output.capacity() - output.len() {
        grow(output, limit);
    }
    output.extend_from_slice(part);
    Ok(())
}

/// Reserves capacity for more output. A large output reserves most of what may follow at once: unwritten
/// capacity costs no memory, whereas a copy would need twice the memory.
fn grow(output: &mut Vec<u8>, limit: usize) {
    let more = if output.len() < SMALL_OUTPUT { output.len() } else { output.len().max(GROWTH) };
    output.reserve_exact(more.clamp(PART, (limit - output.len() + 1).max(PART)));
}

/// The output without spare capacity.
fn finish(mut output: Vec<u8>) -> Bytes {
    if output.capacity() - output.len() > output.len() / 4 {
        output.shrink_to_fit();
    }
    output.into()
}

/// The initial capacity: HTML is compressed to about a quarter.
fn first_guess(input: &[u8], limit: usize) -> usize {
    input.len().saturating_mul(4).clamp(64, SMALL_OUTPUT).min(limit.saturating_add(1))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
