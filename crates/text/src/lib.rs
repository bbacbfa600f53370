//! A page's text: [`blocks`] divides a page, [`features`] describes each block, [`model`] and [`context`] decide which are its main text.

pub mod blocks;
pub mod choice;
pub mod context;
pub mod dates;
pub mod density;
pub mod extract;
pub mod features;
pub mod figures;
pub mod fingerprint;
pub mod kind;
pub mod markdown;
pub mod metadata;
pub mod model;
pub mod refusal;
pub mod stated;
pub mod surroundings;
pub mod templates;
pub mod tokens;

/// Bytes of the beginning of a page in which is looked whether it is text.
const LOOKED_AT: usize = 4 << 10;

/// Whether bytes are no text, whatever they are said to be: they have bytes that no text in UTF-8, or in a character set of the web, has.
pub fn is_binary(body: &[u8]) -> bool {
    let start = &body[..body.len().min(LOOKED_AT)];
    let is_utf16 = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
    let controls = start.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    // Some pages have a control character by mistake.
    !is_utf16 && controls * 100 > start.len()
}

#[cfg(test)]
mod tests {
    use super::is_binary;

    #[test]
    fn images_and_archives_are_no_text() {
        assert!(is_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"));
        assert!(is_binary(b"PK\x03\x04\x14\0\0\0\x08\0"));
        assert!(!is_binary("<p>Größe: 日本".as_bytes()));
        assert!(!is_binary(b"\xff\xfe<\0p\0>\0"));
        assert!(!is_binary(b""));
    }
}
