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
    fn any_bytes(data in vec(any::<u8>(), 0..200)) {
        lycosa_fuzz::url(&data);
        lycosa_fuzz::robots(&data);
        lycosa_fuzz::name(&data);
        lycosa_fuzz::names_cache(&data);
    }
}

#[test]
fn a_megabyte_ends_in_time() {
    for word in ["a", "/", "*", "%41", "é", "\n", "allow: /*a\n", "a."] {
        let data = "http://".to_owned() + &word.repeat((1 << 20) / word.len());
        lycosa_fuzz::url(data.as_bytes());
        lycosa_fuzz::robots(data.as_bytes());
        lycosa_fuzz::name(data.as_bytes());
        lycosa_fuzz::robots(format!("{}\nuser-agent: *\ndisallow: {data}", "a".repeat(8_000)).as_bytes());
    }
}
