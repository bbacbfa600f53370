//! The media type of a body by its first bytes, for servers that do not say it (WHATWG MIME Sniffing Standard, section 7.1).
//!
//! The standard's order is kept: markup, binary signatures, text, anything else. Signatures are those of the crate infer, which has
//! documents and archives besides the standard's. Markup is wider than the standard's, as parse takes it: any tag at the beginning.

use memchr::memmem;

/// Bytes of a body that tell its type. The standard has 1,445; the type of an office document is in the names of its first parts.
pub(crate) const BYTES: usize = 8 << 10;

/// Types without binary bytes at their beginning. Other signatures, such as the two letters `BM`, are chance in a text.
const TEXTUAL: [&str; 3] = ["application/pdf", "application/postscript", "application/rtf"];

/// The first tags of XML documents that are served as `text/xml`.
const VOCABULARIES: [&[u8]; 5] = [b"rss", b"feed", b"urlset", b"sitemapindex", b"rdf:"];

/// Office documents by the folder of their main part.
const OFFICE: [(&[u8], &str); 3] = [
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
];

/// The media type of a body that begins with these bytes, [`BYTES`] at most of which count.
pub(crate) fn media_type(bytes: &[u8]) -> &'static str {
    let bytes = bytes.get(..BYTES).unwrap_or(bytes);
    if let [0xfe, 0xff, text @ ..] | [0xff, 0xfe, text @ ..] = bytes {
        // UTF-16: of ASCII one byte in two is 0.
        let ascii: Vec<u8> = text.iter().copied().filter(|byte| *byte != 0).collect();
        return markup(&ascii).unwrap_or("text/plain");
    }
    if let Some(kind) = markup(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)) {
        return kind;
    }
    let kind = infer::get(bytes).map(|kind| match kind.mime_type() {
        "application/zip" => packed(bytes),
        "application/msword" => "application/x-ole-storage", // which program's is told by its end
        kind => kind,
    });
    if bytes.iter().any(|byte| is_binary(*byte)) {
        return kind.unwrap_or("application/octet-stream");
    }
    kind.filter(|kind| TEXTUAL.contains(kind)).unwrap_or("text/plain")
}

/// The type of a document that begins with a tag.
fn markup(text: &[u8]) -> Option<&'static str> {
    let tag = text.trim_ascii_start().strip_prefix(b"<")?;
    let begins = |name: &[u8]| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let has = |name: &[u8]| memmem::find(tag, name).is_some();
    if begins(b"?xml") {
        return Some(match () {
            () if has(b"<html") => "application/xhtml+xml",
            () if has(b"<svg") => "image/svg+xml",
            () => "text/xml",
        });
    }
    if begins(b"svg") {
        return Some("image/svg+xml");
    }
    if VOCABULARIES.iter().any(|name| begins(name)) {
        return Some("text/xml");
    }
    let is_tag = tag.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'!');
    is_tag.then_some("text/html")
}

/// The type of a zip archive: that of an office document if one of its first files is (ECMA-376 part 2).
fn packed(bytes: &[u8]) -> &'static str {
    let names = memmem::find_iter(bytes, b"PK\x03\x04").filter_map(|at| bytes.get(at + 30..));
    let kind =
        |name: &[u8]| OFFICE.iter().find(|(folder, _)| name.starts_with(folder)).map(|(_, kind)| *kind);
    names.filter_map(kind).next().unwrap_or("application/zip")
}

/// Whether a byte is in no text (the standard's "binary data byte").
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_crawlers_meet_is_told_by_its_first_bytes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let utf16: Vec<u8> = "\u{feff}<html>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, kind) in [
            (&b"  \r\n<!DOCTYPE html>"[..], "text/html"),
            (b"\xef\xbb\xbf<html lang=en>", "text/html"),
            (b"<center>", "text/html"),
            (&utf16, "text/html"),
            (b"<?xml version='1.0'?><!DOCTYPE html><html xmlns='x'>", "application/xhtml+xml"),
            (b"<?xml version='1.0'?><svg>", "image/svg+xml"),
            (b"<?xml version='1.0'?><a/>", "text/xml"),
            (b"<urlset xmlns='x'>", "text/xml"),
            (b"<svg xmlns='x'>", "image/svg+xml"),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "application/pdf"),
            (png, "image/png"),
            (b"GIF89a\x01\0\x01\0", "image/gif"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "video/mp4"),
            (b"PK\x03\x04\x14\0\0\0\x08\0", "application/zip"),
            (b"\x1f\x8b\x08\0\0\0\0\0", "application/gzip"),
            (b"OggS\0\x02", "audio/ogg"),
            (b"MZ\x90\0\x03\0", "application/vnd.microsoft.portable-executable"),
            (b"BM is short for bitmap", "text/plain"),
            (b"MZ", "text/plain"),
            ("grüße".as_bytes(), "text/plain"),
            (b"{\"a\": 1}", "text/plain"),
            (b"a < b", "text/plain"),
            (b"< b", "text/plain"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
            (b"\x01\x02\x03", "application/octet-stream"),
            (b"", "text/plain"),
        ] {
            assert_eq!(media_type(bytes), kind, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_office_document_is_more_than_an_archive() {
        let part = |name: &str, data: &[u8]| {
            let sizes = (data.len() as u32).to_le_bytes();
            let head = [&b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], &sizes, &sizes].concat();
            [&head, &(name.len() as u16).to_le_bytes()[..], &[0, 0], name.as_bytes(), data].concat()
        };
        let data = [b'x'; 1_500];
        let names = ["[Content_Types].xml", "_rels/.rels", "word/document.xml"];
        let document: Vec<u8> = names.iter().flat_map(|name| part(name, &data)).collect();
        let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        assert_eq!(media_type(&document), kind);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_type(beginning in prop::sample::select(vec![
            &b""[..], b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"\x50\x2a\x4d\x18", b"RIFF", b"\x1a\x45\xdf\xa3",
            b"\0\0\0\x18ftyp", b"\x7fELF", b"<?xml", b"\xff\xfe", b"MZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ]), rest in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(media_type(&[beginning, &rest].concat()).contains('/'));
        }
    }
}
