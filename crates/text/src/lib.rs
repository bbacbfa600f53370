//! A page's text: [`blocks`] divides a page, [`features`] describes each block, [`model`] and [`context`] decide which are its main text.

pub mod blocks;
pub mod choice;
pub mod context;
mod data;
pub mod dates;
pub mod density;
pub mod extract;
pub mod features;
pub mod figures;
pub mod fingerprint;
pub mod kind;
mod letters;
pub mod markdown;
mod marks;
pub mod metadata;
pub mod model;
pub mod posts;
pub mod refusal;
mod seen;
pub mod stated;
pub mod surroundings;
pub mod templates;
pub mod tokens;

/// Characters of the beginning of a page in which is looked whether it is text.
const LOOKED_AT: usize = 4 << 10;

/// Beginnings of PDF, PostScript and RTF, of which the first characters may be those of a text.
const SIGNATURES: [&str; 3] = ["%PDF-", "%!PS", "{\\rtf"];

/// Whether a decoded page is no text, whatever it is said to be: it begins as other documents, or has characters that no text has.
pub fn is_binary(page: &str) -> bool {
    if SIGNATURES.iter().any(|signature| page.starts_with(signature)) {
        return true;
    }
    let start = page.chars().take(LOOKED_AT);
    let (mut all, mut controls) = (0usize, 0usize);
    for character in start {
        all += 1;
        controls +=
            usize::from(matches!(character, '\0'..='\u{8}' | '\u{e}'..='\u{1a}' | '\u{1c}'..='\u{1f}'));
    }
    // Some pages have a control character by mistake.
    controls * 100 > all
}

#[cfg(test)]
mod tests {
    use super::is_binary;

    #[test]
    fn images_and_archives_are_no_text() {
        for bytes in [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"[..], b"PK\x03\x04\x14\0\0\0\x08\0"] {
            assert!(is_binary(&String::from_utf8_lossy(bytes)));
        }
        for document in
            ["%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>", "%!PS-Adobe-3.0\n", "{\\rtf1\\ansi Hello}"]
        {
            assert!(is_binary(document));
        }
        assert!(!is_binary("<p>Größe: 日本"));
        assert!(!is_binary(""));
    }
}
