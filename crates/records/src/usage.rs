//! A site's preferences about the uses of its pages: how they are stated in texts, and how several statements are joined.
//!
//! The uses have the names of the IETF's vocabulary (draft-ietf-aipref-vocab): `train-ai`, `search`. What it has no name for keeps its
//! own: `ai-input` of Content-Signal, `tdm` (text and data mining) of TDMRep. A use that nobody speaks of is neither allowed nor
//! forbidden.

use lycosa_url::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// Uses that have a meaning here. There is always space for them: other names that a page has leave out no restriction of its site.
const KNOWN: [&str; 6] = ["train-ai", "search", "ai-input", "ai-use", "bots", "tdm"];

/// Preferences of one page about other uses, at most; a page of one site speaks of three.
const MAX_PREFERENCES: usize = 16;

/// Bytes of the name of a use, at most.
const MAX_USE_BYTES: usize = 32;

/// A site's preference about one use of a page, and where the site states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsagePreference {
    /// The use, such as `train-ai`.
    pub usage: Box<str>,
    /// Whether it is allowed.
    pub allowed: bool,
    /// The signal that states it, such as `robots.txt` or `x-robots-tag`.
    pub source: Box<str>,
}

/// A use, and whether it is allowed.
pub type Statement = (Box<str>, bool);

/// Reads the value of Content-Usage, a dictionary such as `train-ai=n, search=y` (draft-ietf-aipref-attach; RFC 9651). Nothing is known
/// of a value that is none; what is neither `y` nor `n` says nothing.
pub fn content_usage(value: &str) -> Vec<Statement> {
    let members = Parser::new(value.trim_matches([' ', '\t'])).parse::<Dictionary>().unwrap_or_default();
    let mut stated = Vec::new();
    for (usage, member) in &members {
        if let ListEntry::Item(item) = member
            && let BareItem::Token(word) = &item.bare_item
        {
            state(&mut stated, usage.as_str(), word.as_str(), ["y", "n"]);
        }
    }
    stated
}

/// Reads the value of Content-Signal, such as `search=yes, ai-train=no` (contentsignals.org). Other items say nothing.
pub fn content_signal(value: &str) -> Vec<Statement> {
    let mut stated = Vec::new();
    for item in value.split(',') {
        let (usage, word) = item.split_once('=').unwrap_or((item, ""));
        let usage = usage.trim().to_ascii_lowercase();
        let usage = if usage == "ai-train" { "train-ai" } else { &*usage };
        if is_key(usage) {
            state(&mut stated, usage, &word.trim().to_ascii_lowercase(), ["yes", "no"]);
        }
    }
    stated
}

/// Adds a statement whose word is one of two: allowed, not allowed.
fn state(stated: &mut Vec<Statement>, usage: &str, word: &str, words: [&str; 2]) {
    if let Some(place) = words.iter().position(|known| *known == word)
        && usage.len() <= MAX_USE_BYTES
        && has_space(stated.len(), usage)
    {
        stated.push((usage.into(), place == 0));
    }
}

/// Adds statements to others. Of several about one use the most restrictive counts.
pub fn join(stated: &mut Vec<Statement>, more: impl IntoIterator<Item = Statement>) {
    for (usage, allowed) in more {
        match stated.iter().position(|(known, _)| *known == usage) {
            Some(place) => stated[place].1 &= allowed,
            None if has_space(stated.len(), &usage) => stated.push((usage, allowed)),
            None => {}
        }
    }
}

/// Whether a use may be one more beside so many.
fn has_space(others: usize, usage: &str) -> bool {
    others < MAX_PREFERENCES || KNOWN.contains(&usage)
}

/// Whether a text is a key of a dictionary (RFC 9651 section 3.1.2).
fn is_key(text: &str) -> bool {
    let other = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte);
    text.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first == b'*')
        && text.bytes().all(other)
}

/// Adds what a signal states. Of several statements about one use the most restrictive counts, of equal ones the first.
pub fn restrict<'a>(
    preferences: &mut Vec<UsagePreference>,
    stated: impl IntoIterator<Item = (&'a str, bool)>,
    source: &str,
) {
    for (usage, allowed) in stated {
        match preferences.iter().position(|known| &*known.usage == usage) {
            Some(place) if preferences[place].allowed && !allowed => {
                (preferences[place].allowed, preferences[place].source) = (false, source.into());
            }
            Some(_) => {}
            None if has_space(preferences.len(), usage) => {
                let preference = UsagePreference { usage: usage.into(), allowed, source: source.into() };
                preferences.push(preference);
            }
            None => {}
        }
    }
}

/// The failure of a page of which a signal does not allow a use for which the job crawls.
pub fn refused_use(usage: &str, source: &str) -> Failure {
    Failure::new(FailureKind::UsageRefused, format!("{source} does not allow {usage}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(stated: Vec<Statement>) -> String {
        let words: Vec<String> =
            stated.iter().map(|(usage, allowed)| format!("{usage}={}", u8::from(*allowed))).collect();
        words.join(" ")
    }

    #[test]
    fn content_usage_is_a_dictionary_or_nothing() {
        for (value, expected) in [
            ("train-ai=n", "train-ai=0"),
            ("train-ai=n, search=y", "train-ai=0 search=1"),
            ("search=y;exceptions, train-ai=n", "search=1 train-ai=0"),
            ("train-ai, search=y", "search=1"),
            ("train-ai=?0, search=\"y\"", ""),
            ("train-ai=n search=y", ""),
            ("Train-AI=n", ""),
            ("train-ai=n,, search=y", ""),
            ("train-ai=n;by=\"law, search=n\"; b, search=y", "train-ai=0 search=1"),
            ("", ""),
        ] {
            assert_eq!(text(content_usage(value)), expected, "{value}");
        }
    }

    #[test]
    fn content_signal_is_read_as_far_as_it_is_understood() {
        for (value, expected) in [
            ("search=yes,ai-train=no", "search=1 train-ai=0"),
            ("Search = Yes, ai-input=no, use=reference", "search=1 ai-input=0"),
            ("ai-train=maybe, search=no", "search=0"),
            ("", ""),
        ] {
            assert_eq!(text(content_signal(value)), expected, "{value}");
        }
    }

    #[test]
    fn the_most_restrictive_statement_counts_and_has_its_source() {
        let mut preferences = Vec::new();
        restrict(&mut preferences, [("train-ai", true), ("search", true)], "header");
        restrict(&mut preferences, [("train-ai", false), ("search", true)], "robots.txt");
        restrict(&mut preferences, [("train-ai", true)], "meta");
        let told: Vec<_> = preferences.iter().map(|one| (&*one.usage, one.allowed, &*one.source)).collect();
        assert_eq!(told, [("train-ai", false, "robots.txt"), ("search", true, "header")]);
    }

    #[test]
    fn names_without_a_meaning_leave_out_no_restriction() {
        let (mut preferences, mut joined) = (Vec::new(), Vec::new());
        let names: Vec<String> = (0..99).map(|number| format!("use{number}")).collect();
        restrict(&mut preferences, names.iter().map(|name| (&**name, true)), "header");
        restrict(&mut preferences, [("train-ai", false)], "robots.txt");
        join(&mut joined, names.iter().map(|name| (name[..].into(), true)));
        join(&mut joined, [("train-ai".into(), false)]);
        let said = content_usage(&format!("{}=y, train-ai=n", names.join("=y, ")));
        let last = preferences.last().map(|one| (&*one.usage, one.allowed));
        assert_eq!((last, preferences.len()), (Some(("train-ai", false)), MAX_PREFERENCES + 1));
        assert_eq!((joined.len(), said.len()), (MAX_PREFERENCES + 1, MAX_PREFERENCES + 1));
    }

    proptest! {
        #[test]
        fn any_text_gives_few_statements(value in ".{0,300}") {
            prop_assert!(content_usage(&value).len() <= MAX_PREFERENCES + KNOWN.len());
            prop_assert!(content_signal(&value).iter().all(|(usage, _)| usage.len() <= MAX_USE_BYTES));
        }
    }
}
