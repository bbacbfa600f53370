//! robots.txt by RFC 9309: groups, longest match, `*` and `$`, Crawl-delay.
//!
//! Guarantees: any bytes give rules in bounded time and memory; a path has exactly one verdict.

use std::time::Duration;

use crate::codec::{self, put_bytes, put_number};

/// How much of a robots.txt is read (RFC 9309 section 2.5 asks for at least 500 KiB).
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// Rules kept for one agent; real files stay far below.
const MAX_RULES: usize = 10_000;

/// The rules of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

/// One `allow` or `disallow` line, its pattern in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    allow: bool,
    pattern: Box<[u8]>,
}

impl Rules {
    /// Reads the groups that speak to `agent`: those that name it, else those for `*` (section 2.2.1).
    pub fn parse(body: &[u8], agent: &str) -> Rules {
        let body = &body[..body.len().min(MAX_ROBOTS_BYTES)];
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let (mut own, mut general) = (Rules::default(), Rules::default());
        let (mut named, mut in_own, mut in_general, mut in_header) = (false, false, false, false);
        for line in body.split(|&byte| byte == b'\n' || byte == b'\r') {
            let Some((key, value)) = key_value(line) else { continue };
            if key.eq_ignore_ascii_case(b"user-agent") || key.eq_ignore_ascii_case(b"useragent") {
                if !in_header {
                    (in_own, in_general) = (false, false);
                }
                in_header = true;
                let token = product_token(value);
                in_general |= value.first() == Some(&b'*');
                in_own |= !token.is_empty() && token.eq_ignore_ascii_case(agent.as_bytes());
                named |= in_own;
                continue;
            }
            // Sitemap lines and unknown keys belong to no group and end no header.
            if !own_key(key) {
                continue;
            }
            in_header = false;
            if in_own {
                own.add(key, value);
            }
            if in_general {
                general.add(key, value);
            }
        }
        if named { own } else { general }
    }

    /// The rules that an answer for robots.txt gives (section 2.3.1); nothing where it says nothing of the origin:
    /// overload, errors of the server, and 421, since the name may have moved. A redirect counts as unavailable,
    /// and so does the caller's last one of too many: then there are no rules.
    pub(crate) fn of_answer(status: u16, body: &[u8], agent: &str) -> Option<Rules> {
        match status {
            200..=299 => Some(Rules::parse(body, agent)),
            300..=420 | 422..=428 | 430..=499 => Some(Rules::default()),
            _ => None,
        }
    }

    /// Takes in one line of a group.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        if key.eq_ignore_ascii_case(b"crawl-delay") {
            let seconds = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
            if let Some(delay) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
                self.crawl_delay = Some(delay);
            }
        } else if !value.is_empty() && self.rules.len() < MAX_RULES {
            let pattern = normalize(value).into_boxed_slice();
            self.rules.push(Rule { allow: key.eq_ignore_ascii_case(b"allow"), pattern });
        }
    }

    /// Whether a path with its query may be fetched: the longest pattern decides, `allow` on a tie (section 2.2.2).
    pub fn allows(&self, path_and_query: &str) -> bool {
        if self.rules.is_empty() || path_and_query == "/robots.txt" {
            return true;
        }
        let path = normalize(path_and_query.as_bytes());
        let mut best: Option<(usize, bool)> = None;
        for rule in &self.rules {
            let rank = (rule.pattern.len(), rule.allow);
            if best.is_none_or(|best| rank > best) && matches(&rule.pattern, &path) {
                best = Some(rank);
            }
        }
        best.is_none_or(|(_, allow)| allow)
    }

    /// The rules as bytes, for a snapshot.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut into = Vec::new();
        let delay = self.crawl_delay.map_or(0, |delay| delay.as_micros() as u64 + 1);
        put_number(&mut into, delay);
        for rule in &self.rules {
            put_number(&mut into, rule.allow.into());
            put_bytes(&mut into, &rule.pattern);
        }
        into
    }

    /// The rules from a snapshot.
    pub(crate) fn unpack(mut from: &[u8]) -> Option<Rules> {
        let from = &mut from;
        let crawl_delay = codec::number(from)?.checked_sub(1).map(Duration::from_micros);
        let mut rules = Vec::new();
        while !from.is_empty() {
            rules.push(Rule { allow: codec::number(from)? == 1, pattern: codec::bytes(from)?.into() });
        }
        Some(Rules { rules, crawl_delay })
    }

    /// The pause that the site asks for between requests.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

/// Splits `key: value # comment`; nothing for lines without a key.
fn key_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.split(|&byte| byte == b'#').next()?;
    let colon = line.iter().position(|&byte| byte == b':')?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// The keys that rules are made of.
fn own_key(key: &[u8]) -> bool {
    ["allow", "disallow", "crawl-delay"].iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
}

/// The leading letters, `-` and `_` of a user-agent line: what an agent is compared by (section 2.2.1).
fn product_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|byte| !(byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')));
    &value[..end.unwrap_or(value.len())]
}

/// Percent-equivalence (section 2.2.2): escapes of unreserved bytes are undone, others get upper-case
/// digits, bytes outside ASCII are escaped.
fn normalize(text: &[u8]) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, ..] if *byte == b'%' => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        match escaped {
            Some(value) => {
                rest = &tail[2..];
                if value.is_ascii_alphanumeric() || matches!(value, b'-' | b'.' | b'_' | b'~') {
                    out.push(value);
                } else {
                    out.extend([b'%', HEX[usize::from(value >> 4)], HEX[usize::from(value & 15)]]);
                }
            }
            None => {
                rest = tail;
                if byte.is_ascii() {
                    out.push(*byte);
                } else {
                    out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                }
            }
        }
    }
    out
}

/// The value of a hexadecimal digit.
fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Whether a pattern matches from the path's start; the leftmost place of each part suffices.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split(|&byte| byte == b'*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !anchored || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if anchored && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match find(rest, part) {
            Some(position) => rest = &rest[position + part.len()..],
            None => return false,
        }
    }
    true
}

/// The first place of `part`.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() { Some(0) } else { text.windows(part.len()).position(|window| window == part) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    }

    #[test]
    fn the_longest_pattern_decides() {
        let robots =
            "user-agent: *\ndisallow: /\nallow: /p\ndisallow: /p/*/x$\nallow: /same\ndisallow: /same";
        for (path, allowed) in [
            ("/", false),
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

    #[test]
    fn escapes_are_equivalent() {
        assert!(!allows("user-agent: *\ndisallow: /a%3cd", "/a%3Cd"));
        assert!(!allows("user-agent: *\ndisallow: /%7ejoe", "/~joe/x"));
        assert!(!allows("user-agent: *\ndisallow: /é", "/%C3%A9"));
        assert!(allows("user-agent: *\ndisallow: /a%2Fb", "/a/b"));
    }

    #[test]
    fn wildcards_match_anything() {
        for (pattern, path, expected) in [
            ("/*.gif$", "/a/b.gif", true),
            ("/*.gif$", "/a.gif?x", false),
            ("/a*b*c", "/aXXbYYcZ", true),
            ("/a*b*c", "/acb", false),
            ("*", "/x", true),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("/**x", "/x", true),
            ("/a*a$", "/a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn crawl_delay_is_read() {
        let delay = |value: &str| {
            Rules::parse(format!("user-agent: *\ncrawl-delay: {value}").as_bytes(), "x").crawl_delay()
        };
        assert_eq!(delay("2.5"), Some(Duration::from_millis(2500)));
        for bad in ["", "-1", "nan", "inf", "soon", "1e300"] {
            assert_eq!(delay(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_verdict(body in proptest::collection::vec(any::<u8>(), 0..400), path in "/[ -~]{0,30}") {
            Rules::parse(&body, "lycosa").allows(&path);
        }

        #[test]
        fn normal_form_is_a_fixed_point(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }
    }
}
