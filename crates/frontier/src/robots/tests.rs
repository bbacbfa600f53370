//! What the guarantees of [`super`] and [`super::index`] promise.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use lycosa_records::MAX_ROBOTS_BYTES;
use proptest::prelude::*;

use super::pattern::{END, Escapes, Pattern, normalize_path};
use super::*;

fn allows(robots: &str, path: &str) -> bool {
    Rules::parse(robots.as_bytes(), "lycosa").allows(path)
}

#[test]
fn the_group_that_names_us_comes_first() {
    let robots = "User-agent: *\nDisallow: /\n\nUser-agent: other\nuser-agent: Lycosa/2.0\nDisallow: /a\n\
                  User-agent: lycosa\nAllow: /a/b";
    assert!(allows(robots, "/"));
    assert!(!allows(robots, "/a"));
    assert!(allows(robots, "/a/b"));
    assert!(!Rules::parse(robots.as_bytes(), "somebody").allows("/"));
    assert!(allows("User-agent: lycosabot\nDisallow: /", "/"));
    assert!(allows("User-agent: *bot\nDisallow: /", "/"));
}

#[test]
fn the_longest_pattern_decides() {
    let robots = "user-agent: *\ndisallow: /\nallow: /p\ndisallow: /p/*/x$\nallow: /same\ndisallow: /same";
    for (path, allowed) in [
        ("/", false),
        ("", false),
        ("/page", true),
        ("/p/1/x", false),
        ("/p/1/x?y", true),
        ("/same", true),
        ("/robots.txt", true),
    ] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
    assert!(allows("user-agent: *\ndisallow:", "/"));
    assert!(allows("disallow: /", "/"));
}

/// What a robots.txt states about the uses of a page.
fn usage(robots: &str, path: &str) -> String {
    let rules = Rules::parse(robots.as_bytes(), "lycosa");
    assert_eq!(Rules::unpack(rules.pack()).as_ref(), Some(&rules));
    let stated = rules.usage(path);
    let words: Vec<String> =
        stated.iter().map(|(usage, allowed)| format!("{usage}={}", u8::from(*allowed))).collect();
    words.join(" ")
}

#[test]
fn the_uses_of_a_page_are_stated_by_the_longest_path_of_the_group_that_speaks_to_us() {
    let robots = "user-agent: *\nContent-Usage: train-ai=n\nallow: /\ncontent-usage: /open/ train-ai=y, search=y\n\
                  content-usage: /open/*.pdf$ train-ai=n\nContent-Signal: search=yes, ai-train=no # here\n\
                  content-usage: broken broken\n\nuser-agent: other\ncontent-usage: search=n";
    for (path, expected) in [
        ("/", "train-ai=0 search=1"),
        ("/open/a", "train-ai=0 search=1"),
        ("/open/a.pdf", "train-ai=0 search=1"),
        ("", "train-ai=0 search=1"),
    ] {
        assert_eq!(usage(robots, path), expected, "{path}");
    }
    assert_eq!(usage("user-agent: lycosa\ndisallow: /x\nuser-agent: *\ncontent-usage: train-ai=n", "/"), "");
    assert_eq!(usage("content-usage: train-ai=n", "/"), "", "in no group");
    assert_eq!(
        usage("user-agent: *\ncontent-signal: /a ai-train=no\ncontent-signal: /a search=no", "/a/b"),
        "train-ai=0 search=0"
    );
}

#[test]
fn content_usage_is_a_rule_of_its_group_and_content_signal_interferes_with_none() {
    for (line, is_rule) in [("content-usage: train-ai=n", true), ("content-signal: ai-train=no", false)] {
        let robots = format!("user-agent: a\n{line}\nuser-agent: lycosa\ndisallow: /x");
        let of = |agent| Rules::parse(robots.as_bytes(), agent);
        assert!(!of("lycosa").allows("/x"));
        assert_eq!((of("a").allows("/x"), of("a").usage("/").len()), (is_rule, 1), "{line}");
        assert!(of("lycosa").usage("/").is_empty());
    }
}

#[test]
fn licences_are_those_of_the_whole_site_wherever_their_lines_stand() {
    let robots = "License: https://a.com/1.xml\nuser-agent: other\nlicense: https://a.com/2.xml # of all\nuser-agent: lycosa\n\
                  disallow: /x\nlicense: /relative\nlicense: https://A.com/1.xml\nlicense:\nlicense: https://b.com/feed";
    let rules = Rules::parse(robots.as_bytes(), "lycosa");
    let of = |rules: &Rules| rules.licenses().iter().map(|url| url.to_string()).collect::<Vec<_>>();
    assert_eq!(of(&rules), ["https://a.com/1.xml", "https://a.com/2.xml", "https://b.com/feed"]);
    assert_eq!(Rules::unpack(rules.pack()).as_ref(), Some(&rules));
    assert!(!rules.allows("/x"));
    let other = Rules::parse(robots.as_bytes(), "other");
    assert!(!other.allows("/x"), "a licence ends no header");
    assert_eq!(of(&other), of(&rules));
    let many: String = (0..99).map(|number| format!("license: https://a.com/{number}\n")).collect();
    assert_eq!(Rules::parse(many.as_bytes(), "lycosa").licenses().len(), MAX_LICENSES);
}

#[test]
fn a_verdict_names_its_line() {
    let rules = Rules::parse(
        b"\xef\xbb\xbfuser-agent: *\r\n# all but the caf\xc3\xa9\r\ndisallow: /\r\rallow: /caf\xc3\xa9/*.html$",
        "lycosa",
    );
    let verdict = rules.verdict("/caf%C3%A9/menu.html");
    assert_eq!((verdict.allowed, verdict.line), (true, Some(5)));
    assert_eq!(verdict.rule().as_deref(), Some("Allow: /caf%C3%A9/*.html$"));
    let verdict = rules.verdict("/caf%C3%A9/menu.html?");
    assert_eq!(
        (verdict.allowed, verdict.line, verdict.rule().as_deref()),
        (false, Some(3), Some("Disallow: /"))
    );
    let silent = Rules::default();
    let verdict = silent.verdict("/");
    assert_eq!((verdict.allowed, verdict.line, verdict.rule()), (true, None, None));
}

#[test]
fn escapes_are_equivalent() {
    for (pattern, path) in [
        ("/a%3cd", "/a%3Cd"),
        ("/%7ejoe", "/~joe/x"),
        ("/~joe", "/%7Ejoe/x"),
        ("/é", "/%C3%A9"),
        ("/a b", "/a%20b"),
        ("/x?{id}", "/x?%7bid%7D"),
        ("/x%2Ay", "/x*y"),
        ("/x$y", "/x$y"),
        ("/x%24", "/x$y"),
    ] {
        assert!(!allows(&format!("user-agent: *\ndisallow: {pattern}"), path), "{pattern} {path}");
    }
    assert!(allows("user-agent: *\ndisallow: /a%2Fb", "/a/b"));
    assert!(allows("user-agent: *\ndisallow: /x%2Ay", "/xzy"));
    // No digit of an escape that nobody wrote matches anything.
    assert!(allows("user-agent: *\ndisallow: /*4\ndisallow: /*A", "/a$*b"));
}

#[test]
fn how_an_escape_is_written_opens_nothing() {
    let robots = "user-agent: *\ndisallow: /\nallow: /%62az\nallow: /~joe";
    assert!(allows(robots, "/%62az"));
    assert!(!allows(robots, "/baz"));
    assert!(allows(robots, "/~joe"));
    assert!(!allows(robots, "/%7Ejoe"));
}

#[test]
fn an_open_index_page_opens_its_folder() {
    let robots = "user-agent: *\ndisallow: /\nallow: /a/index.html";
    assert!(allows(robots, "/a/"));
    assert!(!allows(robots, "/a/b"));
    assert!(allows("user-agent: *\ndisallow: /a/index.html", "/a/"));
}

#[test]
fn other_records_end_no_group() {
    let robots = "user-agent: lycosa\ncrawl-delay: 3\nsitemap: /s.xml\nuser-agent: other\ndisallow: /";
    assert!(!allows(robots, "/"));
    let delay = |agent| Rules::parse(robots.as_bytes(), agent).crawl_delay();
    assert_eq!((delay("lycosa"), delay("other")), (Some(Duration::from_secs(3)), None));
}

#[test]
fn crawl_delay_is_read() {
    let delay = |value: &str| {
        Rules::parse(format!("user-agent: *\ncrawl-delay: {value}").as_bytes(), "x").crawl_delay()
    };
    assert_eq!(delay("2.5"), Some(Duration::from_millis(2500)));
    assert_eq!(delay("7\ncrawl-delay: 2"), Some(Duration::from_secs(7)));
    for bad in ["", "-1", "nan", "inf", "soon", "1e300"] {
        assert_eq!(delay(bad), None, "{bad}");
    }
}

#[test]
fn a_file_past_the_limit_is_cut_between_lines() {
    let mut robots = "user-agent: *\ndisallow: /first\n".to_owned();
    while robots.len() < MAX_ROBOTS_BYTES - 12 {
        robots.push_str("#\n");
    }
    robots.push_str("disallow: /cut-in-the-middle\n");
    assert!(!allows(&robots, "/first"));
    assert!(allows(&robots, "/c"));
}

#[test]
fn answers_mean_what_the_rfc_says() {
    let body = b"user-agent: *\ndisallow: /";
    for (status, rules) in [(200, Some(false)), (404, Some(true)), (403, Some(true)), (301, Some(true))] {
        assert_eq!(Rules::of_answer(status, body, "x").map(|rules| rules.allows("/")), rules, "{status}");
    }
    for status in [421, 429, 500, 503] {
        assert_eq!(Rules::of_answer(status, body, "x"), None, "{status}");
    }
}

#[test]
fn the_worst_files_end_in_time() {
    let path = format!("/{}", "a".repeat(8190));
    for line in
        ["disallow: /*aaaaaaaaaaaaaaab\n", "disallow: *a*a*a*a*a*a*a*a*b\n", "disallow: /aaaaaaaaaaaaaab\n"]
    {
        let robots = "user-agent: *\n".to_owned() + &line.repeat(MAX_ROBOTS_BYTES / line.len());
        let rules = Rules::parse(robots.as_bytes(), "lycosa");
        let start = Instant::now();
        rules.verdict(&path);
        // About 20 ms optimised; exponential or quadratic matching would take minutes.
        assert!(start.elapsed() < Duration::from_secs(10), "{line}");
    }
    let chain: String = (1..900).map(|length| format!("disallow: /{}\n", "a".repeat(length))).collect();
    assert!(!allows(&format!("user-agent: *\n{chain}"), &path));
}

#[test]
fn past_the_limit_a_wildcard_forbids_more() {
    let many: String =
        (0..6_000).map(|number| format!("disallow: /{number}/*x\nallow: /{number}/*y\n")).collect();
    let robots = format!("user-agent: *\n{many}");
    assert!(allows(&robots, "/1/z"));
    assert!(!allows(&robots, "/5999/z"));
    assert!(!allows(&robots, "/5999/y"));
}

/// Whether a pattern matches a path, both in normal form, by trying everything.
fn model_matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern.split_first() {
        None => true,
        Some((b'*', rest)) => (0..=path.len()).any(|skip| model_matches(rest, &path[skip..])),
        Some((byte, rest)) => path.first() == Some(byte) && model_matches(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_verdict(body in proptest::collection::vec(any::<u8>(), 0..400), path in ".{0,30}") {
        Rules::parse(&body, "lycosa").verdict(&path).rule();
    }

    #[test]
    fn the_match_is_the_one_that_trying_every_pattern_finds(
        lines in proptest::collection::vec((any::<bool>(), "/?[ab*%é$/]{0,6}(%41)?[$]?"), 0..30),
        paths in proptest::collection::vec("/[abA*$/]{0,8}", 1..10),
    ) {
        let patterns: Vec<Pattern> = lines
            .iter()
            .zip(1..)
            .map(|((allow, text), line)| Pattern::new(text.as_bytes(), *allow, line, Escapes::Undone, &mut false))
            .collect();
        let index = Index::new(patterns.clone());
        for path in &paths {
            let (path, _) = normalize_path(path, Escapes::Undone);
            let expected = patterns
                .iter()
                .filter(|pattern| model_matches(&pattern.text, &path))
                .max_by_key(|pattern| (pattern.octets, pattern.allow, Reverse(pattern.line)));
            let found = index.longest_match(&path);
            prop_assert_eq!(found.map(|rule| (rule.allow, rule.line)), expected.map(|rule| (rule.allow, rule.line)));
        }
    }

    #[test]
    fn equivalent_paths_have_one_normal_form(path in "[a-c/~$*{ é]{0,12}", escaped in proptest::collection::vec(any::<bool>(), 20)) {
        let normal = |path: &str| normalize_path(path, Escapes::Undone).0;
        let mut written = String::new();
        for (character, escape) in path.chars().zip(escaped) {
            if escape && matches!(character, 'a'..='c' | '~' | '$' | '*' | '{' | ' ') {
                written.push_str(&format!("%{:02x}", u32::from(character)));
            } else {
                written.push(character);
            }
        }
        prop_assert!(normal(&path).ends_with(&[END]));
        prop_assert_eq!(normal(&path), normal(&written));
    }
}

proptest! {
    #[test]
    fn rules_come_back_from_a_snapshot(body in "(user-agent: \\*\n)((dis)?allow: /[a-z%*$7e]{0,9}\n|crawl-delay: [0-9.]{1,4}\n){0,9}") {
        let rules = Rules::parse(body.as_bytes(), "lycosa");
        prop_assert_eq!(Rules::unpack(rules.pack()).unwrap(), rules);
    }
}
