//! Detects the character encoding of a body: byte order mark, HTTP header, meta, then a guess.
//!
//! The order is the HTML standard's (section 13.2.3, "determining the character encoding").

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Bytes in which the standard searches for `<meta charset>`.
const PRESCAN_BYTES: usize = 1024;

/// Bytes from which the encoding is guessed: more text rarely changes the guess and costs time.
const GUESS_BYTES: usize = 16 * 1024;

/// Spare capacity that a decoder requires to be sure that the next character fits, in bytes.
const SPARE: usize = 64;

/// The encoding of a body.
pub fn detect(content_type: Option<&str>, body: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    content_type.and_then(from_content_type).or_else(|| prescan(body)).unwrap_or_else(|| guess(body))
}

/// The body as text; invalid bytes become U+FFFD.
pub fn decode_text<'a>(body: &'a [u8], charset: &str) -> Cow<'a, str> {
    Encoding::for_label(charset.as_bytes()).unwrap_or(UTF_8).decode(body).0
}

/// The same, or `None` if the text is longer than `largest` bytes in UTF-8, where a single byte may become
/// three. A longer text is not allocated.
pub fn decode_text_within<'a>(body: &'a [u8], charset: &str, largest: usize) -> Option<Cow<'a, str>> {
    if body.len() <= largest / 3 || std::str::from_utf8(body).is_ok() {
        return Some(decode_text(body, charset)).filter(|text| text.len() <= largest);
    }
    let mut decoder = Encoding::for_label(charset.as_bytes()).unwrap_or(UTF_8).new_decoder();
    let longest = decoder.max_utf8_buffer_length(body.len())?;
    // Capacity that is not written to uses no memory.
    let mut text = String::with_capacity(longest.min(largest.saturating_add(SPARE)));
    let (ended, _, _) = decoder.decode_to_string(body, &mut text, true);
    (ended == CoderResult::InputEmpty && text.len() <= largest).then_some(Cow::Owned(text))
}

/// The `charset` parameter of a Content-Type.
fn from_content_type(value: &str) -> Option<&'static Encoding> {
    Encoding::for_label(charset_value(value.as_bytes())?)
}

/// The value after the first `charset=`, quoted or not.
fn charset_value(text: &[u8]) -> Option<&[u8]> {
    let start = text.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))? + 7;
    let rest = text[start..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (rest, end): (&[u8], fn(u8) -> bool) = match rest.first()? {
        b'"' => (&rest[1..], |byte| byte == b'"'),
        b'\'' => (&rest[1..], |byte| byte == b'\''),
        _ => (rest, |byte| matches!(byte, b';' | b'"' | b'\'' | b'>' | b'/') || byte.is_ascii_whitespace()),
    };
    let length = rest.iter().position(|&byte| end(byte)).unwrap_or(rest.len());
    Some(&rest[..length])
}

/// `<meta charset>` or `<meta http-equiv content>` in the first bytes (HTML section 13.2.3.2).
fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(PRESCAN_BYTES)];
    let mut rest = head;
    while let Some(start) = rest.windows(5).position(|window| window.eq_ignore_ascii_case(b"<meta")) {
        rest = &rest[start + 5..];
        let end = rest.iter().position(|&byte| byte == b'>').unwrap_or(rest.len());
        if let Some(encoding) = charset_value(&rest[..end]).and_then(Encoding::for_label) {
            // A document that was readable as ASCII up to here is not UTF-16, whatever it declares.
            return Some(match encoding {
                e if e == UTF_16BE || e == UTF_16LE => UTF_8,
                e if e == X_USER_DEFINED => WINDOWS_1252,
                other => other,
            });
        }
    }
    None
}

/// Guesses the encoding from the bytes.
fn guess(body: &[u8]) -> &'static Encoding {
    let sample = &body[..body.len().min(GUESS_BYTES)];
    if sample.is_ascii() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == body.len());
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_mark_header_meta_guess() {
        let meta = b"<html><meta charset=\"gbk\"><p>x";
        assert_eq!(detect(None, b"\xef\xbb\xbf<meta charset=gbk>").name(), "UTF-8");
        assert_eq!(detect(Some("text/html; charset=ISO-8859-1"), meta).name(), "windows-1252");
        assert_eq!(detect(Some("text/html"), meta).name(), "GBK");
        assert_eq!(detect(Some("text/html; charset=nonsense"), meta).name(), "GBK");
        let http_equiv = b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=Shift_JIS'>";
        assert_eq!(detect(None, http_equiv).name(), "Shift_JIS");
        assert_eq!(detect(None, b"<meta charset=utf-16>").name(), "UTF-8");
        assert_eq!(detect(None, "<p>прочее и другое по-русски".as_bytes()).name(), "UTF-8");
        assert_eq!(detect(None, b"plain ascii").name(), "UTF-8");
    }

    #[test]
    fn text_is_decoded_leniently() {
        assert_eq!(decode_text(b"caf\xe9", "windows-1252"), "café");
        assert_eq!(decode_text(b"caf\xe9", "UTF-8"), "caf\u{fffd}");
        for (body, charset, bytes) in [
            (b"\x80".repeat(1_000), "windows-1252", 3_000),
            (b"\xff".repeat(1_000), "UTF-8", 3_000),
            ("\u{20ac}".repeat(1_000).into_bytes(), "UTF-8", 3_000),
            (b"a\0".repeat(1_000), "UTF-16LE", 1_000),
        ] {
            assert_eq!(decode_text_within(&body, charset, bytes), Some(decode_text(&body, charset)));
            assert_eq!(decode_text_within(&body, charset, bytes - 1), None, "{charset}");
        }
    }
}
