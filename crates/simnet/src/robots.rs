//! robots.txt of a host: its text and its evaluation (RFC 9309), so that the judge uses the same rules that are served.

use crate::random::Rng;

/// Agents that some hosts exclude by name.
const UNWANTED: [&str; 3] = ["GPTBot", "CCBot", "SemrushBot"];

/// A kind of robots rule; a page "behind a fence" has a path that the host's rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// Pages under `/private/`.
    Private,
    /// Pages under `/private/`, except `/private/open/`, which a longer Allow permits.
    Open,
    /// Print versions: a wildcard and an end anchor.
    Print,
    /// Search results: a wildcard in front of the query.
    Search,
}

/// The `Allow` and `Disallow` lines of a fence: (allow, pattern).
fn rules(fence: Fence) -> &'static [(bool, &'static str)] {
    match fence {
        Fence::Private => &[(false, "/private/")],
        Fence::Open => &[(false, "/private/"), (true, "/private/open/")],
        Fence::Print => &[(false, "/*/print$"), (false, "/tmp/")],
        Fence::Search => &[(false, "/*?q="), (false, "/cgi-bin/")],
    }
}

/// A host's robots.txt. If `exists` is false, the response is 404 and everything is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Robots {
    /// Whether the host has the file.
    pub exists: bool,
    /// The rule for all agents.
    pub(crate) fence: Option<Fence>,
    /// Crawl-delay in unscaled seconds.
    pub crawl_delay: Option<u8>,
    /// Whether a group excludes some agents by name.
    pub shuts_out: bool,
    /// Whether the file is unavailable (5xx), which disallows everything (RFC 9309, 2.3.1.4).
    pub refuses: bool,
    /// Whether the alternating rule is present, which disallows `/blog/`.
    pub shuts_blog: bool,
}

impl Robots {
    /// Draws a host's file.
    pub(crate) fn draw(mut rng: Rng) -> Self {
        let nothing = Self {
            exists: false,
            fence: None,
            crawl_delay: None,
            shuts_out: false,
            refuses: false,
            shuts_blog: false,
        };
        if rng.chance(200) {
            return nothing;
        }
        let fences = [Fence::Private, Fence::Open, Fence::Print, Fence::Search];
        Self {
            exists: true,
            // Shares of the 80 % that have the file: 15 % of all hosts have a fence, 5 % a Crawl-delay.
            fence: rng.chance(188).then(|| fences[rng.below(4) as usize]),
            crawl_delay: rng.chance(63).then(|| 2 + rng.below(4) as u8),
            shuts_out: rng.chance(100),
            ..nothing
        }
    }

    /// Appends the file's text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut put = |line: &str| out.extend_from_slice(line.as_bytes());
        if self.shuts_out {
            put("# Some are not welcome here.\n");
            UNWANTED.iter().for_each(|agent| put(&format!("User-agent: {agent}\n")));
            put("Disallow: /\n\n");
        }
        put("User-agent: *\n");
        if self.shuts_blog {
            put("Disallow: /blog/\n");
        }
        match self.fence {
            None if self.shuts_blog => {}
            None => put("Disallow:\n"),
            Some(fence) => {
                for (allow, pattern) in rules(fence) {
                    put(&format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" }));
                }
            }
        }
        if let Some(seconds) = self.crawl_delay {
            put(&format!("Crawl-delay: {seconds}\n"));
        }
    }

    /// Whether an agent may fetch a path (with its query). The longest rule wins, Allow on a tie.
    pub fn allows(&self, agent: &str, path: &[u8]) -> bool {
        if path == b"/robots.txt" {
            return true;
        }
        if self.refuses || self.excludes(agent) || self.shuts_blog && path.starts_with(b"/blog/") {
            return false; // No Allow rule matches /blog/.
        }
        let best =
            self.fence.map_or(&[][..], rules).iter().filter(|(_, pattern)| matches(pattern.as_bytes(), path));
        best.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|(allow, _)| *allow)
    }

    /// The Crawl-delay for an agent; a group of its own has none.
    pub fn delay(&self, agent: &str) -> Option<u8> {
        if self.refuses || self.excludes(agent) { None } else { self.crawl_delay }
    }

    /// Whether the agent is excluded by name.
    fn excludes(&self, agent: &str) -> bool {
        self.shuts_out && UNWANTED.iter().any(|name| name.eq_ignore_ascii_case(agent))
    }
}

/// Whether a pattern with `*` and a final `$` matches a prefix of a path.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        b"$" => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|i| matches(rest, &path[i..])),
        [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one fence.
    fn with(fence: Fence) -> Robots {
        Robots {
            exists: true,
            fence: Some(fence),
            crawl_delay: Some(3),
            shuts_out: true,
            refuses: false,
            shuts_blog: false,
        }
    }

    #[test]
    fn wildcards_and_anchors() {
        for (pattern, path, expected) in [
            ("/private/", "/private/a", true),
            ("/private/", "/privat", false),
            ("/*/print$", "/news/a-1/print", true),
            ("/*/print$", "/news/a-1/print/2", false),
            ("/*?q=", "/search?q=a", true),
            ("/*?q=", "/search?n=1", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_longest_rule_wins() {
        assert!(!with(Fence::Open).allows("*", b"/private/a"));
        assert!(with(Fence::Open).allows("*", b"/private/open/a"));
        assert!(with(Fence::Open).allows("*", b"/"));
    }

    #[test]
    fn agents_named_are_shut_out() {
        let robots = with(Fence::Private);
        assert!(!robots.allows("gptbot", b"/") && robots.allows("gptbot", b"/robots.txt"));
        assert!(robots.allows("lycosa", b"/"));
        assert_eq!((robots.delay("GPTBot"), robots.delay("lycosa")), (None, Some(3)));
    }

    #[test]
    fn the_file_says_what_is_judged() {
        let mut text = Vec::new();
        with(Fence::Open).write(&mut text);
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("User-agent: *\nDisallow: /private/\nAllow: /private/open/\nCrawl-delay: 3\n"));
        assert!(text.contains("User-agent: GPTBot\n"));
    }
}
