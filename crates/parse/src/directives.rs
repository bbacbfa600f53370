//! A site's directives to robots about a page: X-Robots-Tag and `<meta name=robots>`.

use lycosa_records::Head;
use lycosa_records::usage::{self, UsagePreference};
use lycosa_url::product_token;

/// The directives that a crawler acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// The page must not be indexed.
    pub(crate) noindex: bool,
    /// Its links must not be followed.
    pub(crate) nofollow: bool,
    /// It must not be used to train models; the same of images.
    noai: bool,
    noimageai: bool,
}

impl Directives {
    /// Adds a comma-separated list such as `noindex, nofollow` or `none`.
    pub(crate) fn add(&mut self, list: &str) {
        for word in list.split(',').map(str::trim) {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            self.noindex |= is("noindex") || is("none");
            self.nofollow |= is("nofollow") || is("none");
            self.noai |= is("noai");
            self.noimageai |= is("noimageai");
        }
    }

    /// What they state about uses of the page, or of the image that it is.
    pub(crate) fn usage(&self, is_image: bool) -> Option<(&'static str, bool)> {
        (self.noai || (self.noimageai && is_image)).then_some(("train-ai", false))
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

/// What the header fields of a response state about uses of its page, besides X-Robots-Tag: Content-Usage (draft-ietf-aipref-attach),
/// Content-Signal, `tdm-reservation` (TDMRep section 6).
pub(crate) fn usage_from_head(head: &Head, preferences: &mut Vec<UsagePreference>) {
    // Several fields of a name are one list (RFC 9110 section 5.3).
    let joined = |name: &str| head.get_all(name).collect::<Vec<_>>().join(", ");
    let stated = usage::content_usage(&joined("content-usage"));
    usage::restrict(preferences, stated.iter().map(|(name, allowed)| (&**name, *allowed)), "content-usage");
    let stated = usage::content_signal(&joined("content-signal"));
    usage::restrict(preferences, stated.iter().map(|(name, allowed)| (&**name, *allowed)), "content-signal");
    let reserved = head.get("tdm-reservation").and_then(|value| tdm(&value));
    usage::restrict(preferences, reserved, "tdm-reservation");
}

/// What the value of a `tdm-reservation` states: 1 reserves text and data mining, 0 does not.
pub(crate) fn tdm(value: &str) -> Option<(&'static str, bool)> {
    match value.trim() {
        "1" => Some(("tdm", false)),
        "0" => Some(("tdm", true)),
        _ => None,
    }
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
    fn fields_state_uses_and_the_most_restrictive_counts() {
        let read = |fields: &[(&str, &str)]| {
            let head = Head::of("HTTP/1.1 200", fields.iter().copied()).unwrap();
            let mut preferences = Vec::new();
            usage::restrict(&mut preferences, from_head(&head, "lycosa").usage(false), "x-robots-tag");
            usage_from_head(&head, &mut preferences);
            let told =
                |one: &UsagePreference| format!("{}={} {}", one.usage, u8::from(one.allowed), one.source);
            preferences.iter().map(told).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            read(&[("Content-Usage", "train-ai=n"), ("content-usage", "search=y")]),
            "train-ai=0 content-usage; search=1 content-usage"
        );
        assert_eq!(
            read(&[("Content-Signal", "ai-train=yes"), ("X-Robots-Tag", "noai")]),
            "train-ai=0 x-robots-tag"
        );
        assert_eq!(
            read(&[("X-Robots-Tag", "otherbot: noai, noindex"), ("TDM-Reservation", " 1")]),
            "tdm=0 tdm-reservation"
        );
        assert_eq!(read(&[("X-Robots-Tag", "noimageai"), ("TDM-Reservation", "yes")]), "");
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
