//! Content codings: pure functions from a body as received to its meaning.
//!
//! Kept apart from fetching: responses travel as received, and who needs the text decodes (RFC 9110 section 8.4).

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use lycosa_url::{Failure, FailureKind};

/// More codings on one body than this are an attack, not a practice.
const MAX_CODINGS: usize = 3;

/// Members of one gzip body; each costs a decoder, so that many empty ones would cost time without output.
const MAX_MEMBERS: usize = 10_000;

/// RFC 9659: the largest window that `zstd` may use as a content coding is 8 MB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// The header byte that says "no zlib window larger than 32 KB", for gzip as for raw deflate.
const WINDOW_BITS: u8 = 15;

/// Bytes that a decoder gives at once.
const PART: usize = 16 * 1024;

/// Bytes that gzip and deflate give at once, straight into the output.
const INFLATED: usize = 64 * 1024;

/// Up to these bytes an output grows by doubling.
const SMALL_OUTPUT: usize = 1 << 20;

/// By these bytes, or by doubling where that is more, it grows from there on.
const GROWTH: usize = 64 << 20;

/// One coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Removes the codings that `Content-Encoding` names. Without one, the result shares the body's memory.
///
/// An output of more than `limit` bytes, with what lies between two codings, is `BodyTooLarge`; data that is broken or cut
/// off is `EncodingBad`. Bytes behind the end of the coded data are ignored, as browsers do. Memory: `limit`, and the window
/// of a coding as far as it is filled (brotli 16 MiB, zstd 8 MiB, the others 32 KiB).
pub fn decode(body: &Bytes, content_encoding: Option<&str>, limit: usize) -> Result<Bytes, Failure> {
    let codings = codings(content_encoding.unwrap_or_default())?;
    let (mut bytes, mut room) = (body.clone(), limit);
    for coding in codings.into_iter().rev() {
        if bytes.is_empty() {
            break; // servers name a coding on empty bodies, too
        }
        let decoded = match coding {
            Coding::Gzip => gunzip(&bytes, room),
            Coding::Deflate => inflate(&bytes, room),
            Coding::Brotli => unbrotli(&bytes, room),
            Coding::Zstd => unzstd(&bytes, room),
        };
        bytes = finish(decoded.map_err(|problem| problem.failure(coding, limit))?);
        // The next coding's input is held beside its output: both count.
        room = limit - bytes.len();
    }
    if bytes.len() > limit {
        return Err(Problem::TooLarge.failure(Coding::Gzip, limit));
    }
    Ok(bytes)
}

/// Why data does not decode.
enum Problem {
    TooLarge,
    CutOff,
    Broken(String),
}

impl Problem {
    /// The failure, in words.
    fn failure(self, coding: Coding, limit: usize) -> Failure {
        match self {
            Problem::TooLarge => {
                Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes when decoded"))
            }
            Problem::CutOff => Failure::new(FailureKind::EncodingBad, format!("{coding:?}: cut off")),
            Problem::Broken(why) => Failure::new(FailureKind::EncodingBad, format!("{coding:?}: {why}")),
        }
    }
}

/// The codings in the order applied. Words that are no coding (`utf-8`, `none`) are ignored, as browsers do.
fn codings(field: &str) -> Result<Vec<Coding>, Failure> {
    let mut codings = Vec::new();
    for word in field.split(',') {
        codings.push(match word.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            known @ ("compress" | "x-compress" | "dcb" | "dcz") => {
                return Err(Failure::new(FailureKind::EncodingBad, format!("{known}: not asked for")));
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

/// gzip: one member or several (RFC 1952 section 2.2); what follows and is no member is ignored.
fn gunzip(input: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let (mut output, mut rest) = (Vec::new(), input);
    for _ in 0..MAX_MEMBERS {
        rest = stream(Decompress::new_gzip(WINDOW_BITS), rest, &mut output, limit)?;
        if !rest.starts_with(&[0x1f, 0x8b]) {
            return Ok(output);
        }
    }
    Err(Problem::Broken("too many members".to_owned()))
}

/// deflate: zlib as RFC 9110 says, or raw as some servers send it.
fn inflate(input: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let is_zlib =
        matches!(*input, [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([a, b]).is_multiple_of(31));
    let mut output = Vec::new();
    if is_zlib {
        match stream(Decompress::new(true), input, &mut output, limit) {
            Err(Problem::Broken(_)) => output.clear(), // two bytes may look like a header by chance
            ended => return ended.map(|_| output),
        }
    }
    stream(Decompress::new(false), input, &mut output, limit).map(|_| output)
}

/// Inflates one stream onto the output; gives what follows it.
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
        // Not into all the room at once (`decompress_vec`): it is filled with zeros first, also where nothing follows.
        let room = (output.capacity() - before.0).min(INFLATED);
        output.resize(before.0 + room, 0);
        let status = state
            .decompress(rest, &mut output[before.0..], FlushDecompress::None)
            .map_err(|error| Problem::Broken(error.to_string()))?;
        output.truncate(before.0 + usize::try_from(state.total_out() - before.1).unwrap_or(0));
        if output.len() > limit {
            return Err(Problem::TooLarge);
        }
        let taken = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
        let left = input.get(taken..).unwrap_or_default();
        if status == Status::StreamEnd {
            return Ok(left);
        }
        if output.len() == before.0 + room {
            if output.len() == output.capacity() {
                grow(output, limit);
            }
        } else if output.len() == before.0 && left.len() == rest.len() || left.is_empty() {
            return Err(Problem::CutOff);
        }
    }
}

/// brotli as in RFC 7932: windows of up to 16 MiB. The large ones of RFC 9841, which is no content coding, would cost up to
/// 1 GiB before the first byte of output; the decoder refuses them by their header.
fn unbrotli(input: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let alloc = StandardAlloc::default();
    let mut state = BrotliState::new_strict(alloc, alloc, alloc);
    let mut output = Vec::with_capacity(first_guess(input, limit));
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
        append(&mut output, &part[..filled], limit)?;
        match result {
            BrotliResult::ResultSuccess => return Ok(output),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(Problem::CutOff),
            BrotliResult::ResultFailure => return Err(Problem::Broken("invalid data".to_owned())),
        }
    }
}

/// zstd: one frame or several.
fn unzstd(input: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let mut output = Vec::with_capacity(first_guess(input, limit));
    let mut part = vec![0; PART];
    let mut decoder = zstd::stream::read::Decoder::with_buffer(input)
        .map_err(|error| Problem::Broken(error.to_string()))?;
    decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(|error| Problem::Broken(error.to_string()))?;
    loop {
        match decoder.read(&mut part) {
            Ok(0) => return Ok(output),
            Ok(filled) => append(&mut output, &part[..filled], limit)?,
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

/// Makes room for more output. A large one gets room for most that may follow at once: what is not written costs no memory, and
/// a copy would, twice.
fn grow(output: &mut Vec<u8>, limit: usize) {
    let more = if output.len() < SMALL_OUTPUT { output.len() } else { output.len().max(GROWTH) };
    output.reserve_exact(more.clamp(PART, (limit - output.len() + 1).max(PART)));
}

/// The output without room for more.
fn finish(mut output: Vec<u8>) -> Bytes {
    if output.capacity() - output.len() > output.len() / 4 {
        output.shrink_to_fit();
    }
    output.into()
}

/// HTML shrinks to about a quarter.
fn first_guess(input: &[u8], limit: usize) -> usize {
    input.len().saturating_mul(4).clamp(64, SMALL_OUTPUT).min(limit.saturating_add(1))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
