//! What a site asks robots to do with a page: X-Robots-Tag and `<meta name=robots>`.

use lycosa_url::Headers;

/// The directives that a crawler acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// Not to be indexed.
    pub(crate) noindex: bool,
    /// Its links are not to be followed.
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

/// The directives of all X-Robots-Tag headers that speak to everyone: one that names a robot
/// (`otherbot: noindex`) starts with a word before a colon that is no directive, and is left out.
pub(crate) fn from_headers(headers: &Headers) -> Directives {
    let mut directives = Directives::default();
    for value in headers.get_all("x-robots-tag") {
        let first = value.split([',', ':']).next().unwrap_or_default();
        let names_a_robot = value[first.len()..].starts_with(':') && !is_valued_directive(first.trim());
        if !names_a_robot {
            directives.add(value);
        }
    }
    directives
}

/// Directives that have a value after a colon.
fn is_valued_directive(word: &str) -> bool {
    ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"]
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> (bool, bool) {
        let headers = values.iter().map(|value| ("x-robots-tag".into(), value.as_bytes().into())).collect();
        let directives = from_headers(&Headers(headers));
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
    }
}
