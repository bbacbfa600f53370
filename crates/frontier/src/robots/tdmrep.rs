//! `/.well-known/tdmrep.json`: what a site states about text and data mining (TDM) of its pages, by path (TDM Reservation Protocol, final
//! report of the W3C community group of 10 May 2024, section *TDM File on the Origin Server*).
//!
//! Guarantees:
//! 1. Any bytes give rules, at most [`MAX_RULES`], and any path a statement or none, in bounded time and memory.
//! 2. Of the rules that match a path the first one counts, whether it states something or has a value that the report does not define.
//! 3. What stands before a mistake counts: a file that is cut, or has a comma too many, still reserves.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;

use super::index::Index;
use super::pattern::{Escapes, Pattern, normalize_path};

/// Rules that are read, at most.
pub(super) const MAX_RULES: usize = 1_000;

/// Bytes of a rule's location, at most.
const MAX_LOCATION_BYTES: usize = 2_048;

/// A rule as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TdmRule {
    /// The pattern of paths: as in robots.txt, `*` and a `$` at the end are special.
    pub(super) location: Box<str>,
    /// Whether the right to mine is reserved; `None` if the value is none that the report defines.
    pub(super) reserved: Option<bool>,
}

/// Reads a file: a list of objects with `location` and `tdm-reservation`. Other members, among them `tdm-policy`, are ignored.
pub(super) fn parse(body: &[u8]) -> Vec<TdmRule> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut rules = Vec::new();
    // An error ends the list; so does a list that is longer.
    let _ = serde_json::Deserializer::from_slice(body).deserialize_seq(Collect(&mut rules));
    rules
}

/// Collects rules from a list.
struct Collect<'r>(&'r mut Vec<TdmRule>);

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = ();

    fn expecting(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        into.write_str("a list of rules")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.len() < MAX_RULES
            && let Some(value) = list.next_element()?
        {
            self.0.extend(rule(&value));
        }
        Ok(())
    }
}

/// Reads one rule; `None` if its location can match no path.
fn rule(value: &Value) -> Option<TdmRule> {
    let location = value.get("location")?.as_str()?.trim();
    if !location.starts_with(['/', '*']) || location.len() > MAX_LOCATION_BYTES {
        return None;
    }
    // The report wants a number; as a header field and in HTML the same value is text.
    let number = match value.get("tdm-reservation") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_u64(),
        None => None,
    };
    let reserved = match number {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    };
    Some(TdmRule { location: location.into(), reserved })
}

/// The rules of one origin, ready to be asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tdmrep(Index);

impl Tdmrep {
    /// Indexes rules in their order.
    pub(super) fn new(rules: &[TdmRule]) -> Self {
        let pattern = |(place, rule): (u32, &TdmRule)| {
            let line = place << 2 | code(rule.reserved);
            let pattern = Pattern::new(rule.location.as_bytes(), true, line, Escapes::Undone, &mut false);
            // Of equal ranks the first line counts.
            Pattern { octets: 0, ..pattern }
        };
        Tdmrep(Index::new((0..).zip(rules).map(pattern).collect()))
    }

    /// Whether mining of the page at a path with its query is reserved; `None` if nothing is stated.
    pub(super) fn reserves(&self, path_and_query: &str) -> Option<bool> {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        let (path, _) = normalize_path(path, Escapes::Undone);
        self.0.longest_match(&path).and_then(|rule| reserved(u64::from(rule.line & 3)))
    }

    /// Bytes of memory that it holds beyond its own size.
    pub(super) fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// What a rule says, as a number below 3.
pub(super) fn code(reserved: Option<bool>) -> u32 {
    reserved.map_or(2, u32::from)
}

/// What a number says.
pub(super) fn reserved(code: u64) -> Option<bool> {
    (code < 2).then_some(code == 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a file says of a path.
    fn says(file: &str, path: &str) -> Option<bool> {
        Tdmrep::new(&parse(file.as_bytes())).reserves(path)
    }

    #[test]
    fn the_examples_of_the_report() {
        assert_eq!(says(r#"[{"location": "/", "tdm-reservation": 1}]"#, "/any/page?x=1"), Some(true));
        let three = r#"[
            {"location": "/directory-a/", "tdm-reservation": 1},
            {"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy": "https://provider.com/policy.json"},
            {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}
        ]"#;
        for (path, expected) in [
            ("/directory-a/doc.pdf", Some(true)),
            ("/directory-b/html/", Some(true)),
            ("/directory-b/images/x/1.jpg", Some(false)),
            ("/directory-b/images/1.png", None),
            ("/Directory-A/", None),
            ("", None),
        ] {
            assert_eq!(says(three, path), expected, "{path}");
        }
    }

    #[test]
    fn of_the_rules_that_match_the_first_counts_however_short() {
        let file = r#"[{"location": "/a/b$", "tdm-reservation": 2}, {"location": "/*/private", "tdm-reservation": 1},
            {"location": "/a", "tdm-reservation": 0}, {"location": "/a/b", "tdm-reservation": 1},
            {"location": "*", "tdm-reservation": "1"}]"#;
        for (path, expected) in [
            ("/a/b", None),
            ("/a/b/c", Some(false)),
            ("/a/b/private", Some(true)),
            ("/a/b/c/privat", Some(false)),
            ("/other", Some(true)),
        ] {
            assert_eq!(says(file, path), expected, "{path}");
        }
    }

    #[test]
    fn patterns_are_those_of_robots_txt() {
        let of = |location: &str, path| {
            says(&format!(r#"[{{"location": "{location}", "tdm-reservation": 1}}]"#), path)
        };
        for (location, path, matches) in [
            ("/exactly$", "/exactly", true),
            ("/exactly$", "/exactly/not", false),
            ("/foo-%24", "/foo-$", true),
            ("/%7ejoe", "/~joe/x", true),
            ("/caf\u{e9}", "/caf%C3%A9", true),
            ("/this/*/then", "/this/a/b/then/c", true),
            ("images/", "/images/", false),
            ("https://a.com/", "/", false),
        ] {
            assert_eq!(of(location, path).is_some(), matches, "{location} {path}");
        }
    }

    #[test]
    fn what_stands_before_a_mistake_counts() {
        let rule = r#"{"location": "/", "tdm-reservation": 1}"#;
        for (file, reserved) in [
            (format!("[{rule},]"), Some(true)),
            (format!("[{rule}, {{\"location\""), Some(true)),
            (format!("[7, {{}}, {{\"location\": []}}, {rule}]"), Some(true)),
            (format!("\u{feff}[{rule}]"), Some(true)),
            (rule.to_owned(), None),
            ("<!doctype html><title>Not found</title>".to_owned(), None),
            (format!("[oops, {rule}]"), None),
            (String::new(), None),
            ("[".repeat(100_000), None),
        ] {
            assert_eq!(says(&file, "/"), reserved, "{}", &file[..file.len().min(80)]);
        }
        let many = format!("[{}{rule}]", r#"{"location": "/x", "tdm-reservation": 0},"#.repeat(5_000));
        assert_eq!((parse(many.as_bytes()).len(), says(&many, "/")), (MAX_RULES, None));
    }

    /// Any rules of short patterns, so that some match.
    fn rules() -> impl Strategy<Value = Vec<TdmRule>> {
        let rule = ("[/*][ab/*]{0,4}\\$?", proptest::option::of(any::<bool>()));
        let rule = rule.prop_map(|(location, reserved)| TdmRule { location: location.into(), reserved });
        proptest::collection::vec(rule, 0..8)
    }

    /// Whether a pattern matches a path: every way is tried.
    fn matches(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|at| matches(rest, &path[at..])),
            [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn the_first_that_matches_is_the_one_that_trying_all_finds(rules in rules(), path in "/[ab/]{0,6}") {
            let first = rules.iter().find(|rule| matches(rule.location.as_bytes(), path.as_bytes()));
            prop_assert_eq!(Tdmrep::new(&rules).reserves(&path), first.and_then(|rule| rule.reserved));
        }

        #[test]
        fn any_bytes_give_few_rules(body in proptest::collection::vec(any::<u8>(), 0..300), path in "\\PC{0,40}") {
            let rules = parse(&body);
            prop_assert!(rules.len() <= MAX_RULES);
            Tdmrep::new(&rules).reserves(&path);
        }

        #[test]
        fn what_a_file_lists_is_read(rules in rules()) {
            let list: Vec<Value> = rules
                .iter()
                .map(|rule| serde_json::json!({"location": &*rule.location, "tdm-reservation": code(rule.reserved)}))
                .collect();
            prop_assert_eq!(parse(Value::Array(list).to_string().as_bytes()), rules);
        }
    }
}
