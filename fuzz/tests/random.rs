//! The targets on texts made of what matters to them, and on any bytes; `PROPTEST_CASES=10000000` for a long run.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Words that a URL's parser acts upon.
const URL: &[&str] = &[
    "http://",
    "https://",
    "HTTP:",
    "//",
    "///",
    "\\",
    "/",
    "?",
    "#",
    "&",
    "=",
    ";",
    ":",
    "@",
    "..",
    ".",
    "%2e",
    "%41",
    "%",
    "%4",
    "xn--",
    "a",
    "EXAMPLE",
    ".com",
    ".co.uk",
    "1",
    "0x7f",
    "127.1",
    "[::1]",
    "[",
    "é",
    "☃",
    "ß",
    "\u{ad}",
    "\u{3002}",
    " ",
    "\t",
    "\0",
    "\u{7f}",
    ":80",
    ":443",
    ":0",
    ":65536",
    "utm_source=x",
    "sid=00112233445566778899",
    ";jsessionid=",
    "\n",
    "|",
    "{",
    "'",
    "\"",
    "<",
    "^",
    "`",
    "javascript:",
    "mailto:",
];

/// Words that a robots.txt is made of.
const ROBOTS: &[&str] = &[
    "user-agent:",
    "User-Agent: *",
    "user-agent: lycosa",
    "user-agent: lycosabot",
    "allow:",
    "disallow:",
    "Disallow: /",
    "disalow",
    "crawl-delay: ",
    "1e9",
    "sitemap: ",
    "#",
    ":",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "/",
    "*",
    "**",
    "$",
    "a",
    "b",
    "ab",
    "%41",
    "%2a",
    "%2A",
    "%",
    "é",
    "index.html",
    "\u{feff}",
    "\0",
    "?",
    "/a*b",
    "/*a$",
    "allow: /a",
];

/// Words that a host name's parser acts upon.
const NAME: &[&str] = &[
    "a",
    "B",
    "com",
    "3",
    "0x",
    "7f",
    "127",
    ".",
    ".",
    ".",
    "-",
    "--",
    "_",
    "xn--",
    "XN--",
    "bcher-kva",
    "zckzah",
    "ü",
    "U\u{308}",
    "ß",
    "。",
    "．",
    "\u{ad}",
    "\u{200d}",
    "א",
    "ب",
    "١",
    "１",
    "ⅷ",
    "℡",
    "☃",
    "[",
    "]",
    ":",
    "::1",
    "%",
    "%65",
    "/",
    "*",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Pieces that a question is made of: labels, ends, types and classes, EDNS with and without cookies, lengths that lie.
const QUESTION: &[&[u8]] = &[
    b"\x01a",
    b"\x07example",
    b"\x3f",
    b"\xc0\x0c",
    b"\x00",
    b"\x00\x01\x00\x01",
    b"\x00\xff\x00\x01",
    b"\x00\x1c\x00\x03",
    b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00",
    b"\x00\x00\x29\x04\xd0\x00\x01\x00\x00\x00\x00",
    b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x0c",
    b"\x00\x0a\x00\x08abcdefgh",
    b"\x00\x0a\x00\xff",
    b"\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x00",
];

/// Pieces that a message's records are made of: pointers to the question, to the first answer and ahead, whole records, types
/// and lengths.
const MESSAGE: &[&[u8]] = &[
    b"\xc0\x0c",
    b"\xc0\x10",
    b"\xc0\x21",
    b"\xc0\x2d",
    b"\xff\xff",
    b"\0",
    b"\x01a\0",
    b"\x01a\xc0\x10",
    b"\x3f",
    b"\x03www\x07example\x03com\0",
    b"\x03WWW\x07example\x03com\0",
    b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01",
    b"\xc0\x0c\0\x1c\0\x01\xff\0\0\x3c\0\x10aaaabbbbccccdddd",
    b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x02\xc0\x10",
    b"\xc0\x10\0\x01\0\x01\0\0\0\x05\0\x04\xc0\0\x02\x02",
    b"\xc0\x10\0\x05\0\x01\0\0\0\x3c\0\x02\xc0\x0c",
    b"\xc0\x0c\0\x01\0\x03\0\0\0\x3c\0\x04\xc0\0\x02\x01",
    b"\0\x01",
    b"\0\x05",
    b"\0\x1c",
    b"\0\x02",
    b"\0\x06",
    b"\0\0\0\x3c",
    b"\0\x04",
    b"\0\x10",
    b"\0\xff",
];

/// Texts of words, with some bytes between.
fn text(words: &'static [&'static str], length: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        12 => select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..4),
    ];
    vec(word, 0..length).prop_map(|parts| parts.concat())
}

/// Places in a cache of names: seldom in what has a checksum, often in what changes, mostly behind the header.
fn place() -> impl Strategy<Value = u32> {
    prop_oneof![1 => 0u32..4_000, 4 => 192u32..248, 1 => 4_096u32..4_160, 40 => 8_192u32..60_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn url(start in select(&["http://a", "https://", "http://example.com/a/b?c", ""][..]), rest in text(URL, 16)) {
        lycosa_fuzz::url(&[start.as_bytes(), &rest].concat());
    }

    #[test]
    fn robots(data in text(ROBOTS, 40)) {
        lycosa_fuzz::robots(&data);
    }

    #[test]
    fn name(data in text(NAME, 12)) {
        lycosa_fuzz::name(&data);
    }

    #[test]
    fn names_cache(changes in vec((place(), any::<u8>()), 0..40), rest in vec(any::<u8>(), 0..4)) {
        let changes = changes.into_iter().flat_map(|(place, byte)| [place.to_le_bytes().as_slice(), &[byte]].concat());
        lycosa_fuzz::names_cache(&changes.chain(rest).collect::<Vec<u8>>());
    }

    #[test]
    fn message(first in any::<u8>(), pieces in vec(prop_oneof![
        12 => select(MESSAGE).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 1..4),
    ], 0..12)) {
        lycosa_fuzz::message(&[&[first], &pieces.concat()[..]].concat());
    }

    #[test]
    fn question(first in any::<u8>(), pieces in vec(prop_oneof![
        12 => select(QUESTION).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 1..4),
    ], 0..8)) {
        lycosa_fuzz::question(&[&[first], &pieces.concat()[..]].concat());
    }

    #[test]
    fn any_bytes(data in vec(any::<u8>(), 0..200)) {
        lycosa_fuzz::url(&data);
        lycosa_fuzz::robots(&data);
        lycosa_fuzz::name(&data);
        lycosa_fuzz::names_cache(&data);
        lycosa_fuzz::message(&data);
        lycosa_fuzz::question(&data);
    }
}

#[test]
fn a_megabyte_ends_in_time() {
    for word in ["a", "/", "*", "%41", "é", "\n", "allow: /*a\n", "a."] {
        let data = "http://".to_owned() + &word.repeat((1 << 20) / word.len());
        lycosa_fuzz::url(data.as_bytes());
        lycosa_fuzz::robots(data.as_bytes());
        lycosa_fuzz::name(data.as_bytes());
        lycosa_fuzz::message(data.as_bytes());
        lycosa_fuzz::question(data.as_bytes());
        lycosa_fuzz::robots(format!("{}\nuser-agent: *\ndisallow: {data}", "a".repeat(8_000)).as_bytes());
    }
}
