use std::io::Write as _;

use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zst(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 1).unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 5, 22).write_all(data).unwrap();
    out
}

fn run(body: &[u8], coding: &str) -> Result<Vec<u8>, FailureKind> {
    decode(&Bytes::copy_from_slice(body), Some(coding), LIMIT)
        .map(|bytes| bytes.to_vec())
        .map_err(|failure| failure.kind)
}

fn text() -> Vec<u8> {
    (0..4_000).flat_map(|n: u32| format!("line {n} of some text\n").into_bytes()).collect()
}

type Encoder = fn(&[u8]) -> Vec<u8>;
const ENCODERS: [(&str, Encoder); 5] =
    [("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("br", brotli), ("zstd", zst)];

#[test]
fn the_beginning_of_a_coded_body_is_the_beginning_of_what_it_decodes_to() {
    let data = text();
    for (coding, encode) in ENCODERS {
        let coded = encode(&data);
        for length in [coded.len(), coded.len() * 3 / 4, coded.len() / 2] {
            let found = beginning(&coded[..length], Some(coding)).unwrap();
            // All of this is one block, of which zstd knows nothing before its end.
            let is_told = !found.is_empty() || (coding == "zstd" && length < coded.len());
            assert!(is_told && data.starts_with(&found), "{coding}: {length} of {}", coded.len());
        }
        let twice = format!("{coding}, {coding}");
        let found = beginning(&encode(&coded), Some(&twice)).unwrap();
        assert!(!found.is_empty() && data.starts_with(&found), "{twice}");
        assert!(beginning(&[7; 1_000], Some(coding)).unwrap().is_empty(), "{coding}: invalid data");
    }
    assert_eq!(beginning(b"plain", None).as_deref(), Some(&b"plain"[..]));
    assert_eq!(beginning(b"x", Some("compress")), None);
}

#[test]
fn each_coding_is_removed() {
    for (coding, encode) in ENCODERS {
        for data in [text(), b"x".to_vec(), Vec::new()] {
            assert_eq!(run(&encode(&data), coding), Ok(data), "{coding}");
        }
    }
    assert_eq!(run(&gzip(&text()), " X-GZIP "), Ok(text()));
}

#[test]
fn without_a_coding_the_memory_is_shared() {
    let body = Bytes::from(text());
    for coding in [None, Some(""), Some("identity"), Some("UTF-8"), Some("none")] {
        assert_eq!(decode(&body, coding, LIMIT).unwrap().as_ptr(), body.as_ptr());
    }
    assert_eq!(decode(&body, None, 10).unwrap_err().kind, FailureKind::BodyTooLarge);
}

#[test]
fn codings_may_be_stacked() {
    assert_eq!(run(&brotli(&gzip(&text())), "gzip, br"), Ok(text()));
    assert_eq!(run(&zst(&zlib(&gzip(&text()))), "gzip,deflate,zstd"), Ok(text()));
    assert_eq!(run(b"x", "gzip, gzip, gzip, gzip"), Err(FailureKind::EncodingBad));
}

#[test]
fn gzip_may_have_members_and_garbage_behind() {
    let two = [gzip(b"one "), gzip(b"two")].concat();
    assert_eq!(run(&two, "gzip"), Ok(b"one two".to_vec()));
    for (coding, encode) in &ENCODERS[..4] {
        let garbage = [encode(&text()), b"\0\0garbage".to_vec()].concat();
        assert_eq!(run(&garbage, coding), Ok(text()), "{coding}");
    }
}

#[test]
fn what_is_cut_off_is_bad() {
    for (coding, encode) in ENCODERS {
        let whole = encode(&text());
        for length in [1, 2, 5, whole.len() / 2, whole.len() - 1] {
            let ended = run(&whole[..length], coding);
            assert_eq!(ended, Err(FailureKind::EncodingBad), "{coding} {length} of {}", whole.len());
        }
    }
}

#[test]
fn what_is_not_coded_is_bad() {
    for coding in ["gzip", "deflate", "br", "zstd", "compress"] {
        assert_eq!(
            run(b"<html><body>Hello, hello, hello", coding),
            Err(FailureKind::EncodingBad),
            "{coding}"
        );
    }
    let mut broken = gzip(&text());
    let middle = broken.len() / 2;
    broken[middle] ^= 0xff;
    assert_eq!(run(&broken, "gzip"), Err(FailureKind::EncodingBad));
}

#[test]
fn bombs_end_at_the_limit() {
    let zeros = vec![0; 64 << 20];
    for (coding, encode) in ENCODERS {
        assert_eq!(run(&encode(&zeros), coding), Err(FailureKind::BodyTooLarge), "{coding}");
    }
    assert_eq!(run(&gzip(&zeros[..LIMIT]), "gzip").unwrap().len(), LIMIT);
    assert_eq!(run(&gzip(&zeros[..=LIMIT]), "gzip"), Err(FailureKind::BodyTooLarge));
    let many: Vec<u8> = gzip(b"").repeat(MAX_MEMBERS + 1);
    assert_eq!(run(&many, "gzip"), Err(FailureKind::EncodingBad));
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(
        mut body in proptest::collection::vec(any::<u8>(), 0..300),
        magic in 0..4_usize,
        coding in "(gzip|deflate|br|zstd)(, ?(gzip|deflate|br|zstd)){0,2}",
    ) {
        let start: &[u8] = [&[][..], &[0x1f, 0x8b, 8, 0], &[0x78, 0x9c], &[0x28, 0xb5, 0x2f, 0xfd]][magic];
        body.splice(0..0, start.iter().copied());
        if let Ok(bytes) = decode(&Bytes::from(body), Some(&coding), 4_096) {
            prop_assert!(bytes.len() <= 4_096);
        }
    }

    #[test]
    fn what_was_encoded_comes_back(data in proptest::collection::vec(any::<u8>(), 0..3_000), which in 0..5_usize) {
        let (coding, encode) = ENCODERS[which];
        prop_assert_eq!(run(&encode(&data), coding), Ok(data));
    }
}
