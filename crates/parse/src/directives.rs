//! A site's directives to robots about a page: X-Robots-Tag and `<meta name=robots>`.

use lycosa_records::Head;
use lycosa_url::product_token;

/// The directives that a crawler acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// The page must not be indexed.
    pub(crate) noindex: bool,
    /// Its links must not be followed.
    pub(crate) nofollow: bool,
}

impl Directives {
    /// Adds a comma-separated list such as `noindex, nofollow` or `none`.
    pub(crate) fn add(&mut self, list: &str) {
        for word in list.split(',').map(str::trim) {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            self.noindex |= is("noindex") || is("none");
            self.nofollow |= is("nofollow") || is("none");
        }
    }
}

/// The directives of all X-Robots-Tag headers for all robots or for `agent`. Within one header, a robot's
/// name before a colon (`otherbot: noindex, nofollow`) applies up to the next name.
pub(crate) fn from_head(head: &Head, agent: &str) -> Directives {
    let mut directives = Directives::default();
    for value in head.get_all("x-robots-tag") {
        let mut to_us = true;
        for part in value.split(',').map(str::trim) {
            let directive = match part.split_once(':') {
                Some((name, rest)) if is_robot(name.trim()) => {
                    to_us = name.trim().eq_ignore_ascii_case(agent) || name.trim() == "*";
                    rest
                }
                _ => part,
            };
            if to_us {
                directives.add(directive);
            }
        }
    }
    directives
}

/// Whether a word before a colon is a robot's name: a product token or `*`, but not a directive that takes a
/// value.
fn is_robot(word: &str) -> bool {
    let valued = ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];
    let is_token = product_token(word.as_bytes()).len() == word.len();
    word == "*"
        || (is_token && !word.is_empty() && !valued.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> (bool, bool) {
        let head = Head::of("HTTP/1.1 200", values.iter().map(|value| ("X-Robots-Tag", value))).unwrap();
        let directives = from_head(&head, "lycosa");
        (directives.noindex, directives.nofollow)
    }

    #[test]
    fn lists_and_robots_are_told_apart() {
        assert_eq!(read(&["noindex"]), (true, false));
        assert_eq!(read(&["NOFOLLOW , noarchive"]), (false, true));
        assert_eq!(read(&["none"]), (true, true));
        assert_eq!(read(&["otherbot: none"]), (false, false));
        assert_eq!(read(&["max-snippet: 20, noindex"]), (true, false));
        assert_eq!(read(&["otherbot: noindex", "nofollow"]), (false, true));
        assert_eq!(read(&["otherbot: noindex, nofollow"]), (false, false));
        assert_eq!(read(&["otherbot: noindex, Lycosa: nofollow"]), (false, true));
        assert_eq!(read(&["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"]), (true, false));
        assert_eq!(read(&["googlebot: max-snippet: 20, *: noindex"]), (true, false));
    }
}
