//! JSON-LD of a page: which of its scripts have it, and what they state without being read as JSON.
//!
//! On many pages it is malformed, cut off, or several objects. As evidence its strings and types are enough; what becomes metadata is
//! read as JSON (`metadata/linked_data.rs`, `posts.rs`).

use std::borrow::Cow;

use lycosa_dom::{NodeId, Tag, Tree};
use serde_json::Value;

/// The texts of an element that is a script of JSON-LD; none: it is something else.
pub(crate) fn texts(tree: &Tree, node: NodeId) -> impl Iterator<Item = &str> {
    let is_data = tree.tag(node) == Tag::Script
        && tree.attribute(node, "type").is_some_and(|is| is.trim().to_ascii_lowercase().ends_with("ld+json"));
    let children = is_data.then(|| tree.children(node)).into_iter().flatten();
    children.filter_map(|child| tree.text(child))
}

/// The first type that each object states, without the address of its vocabulary.
pub(crate) fn types(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(TYPE).filter_map(move |(at, _)| {
        let value = text[at + TYPE.len()..].trim_start().strip_prefix(':')?;
        let name = value.trim_start_matches(|c: char| c.is_whitespace() || c == '[').strip_prefix('"')?;
        name.split('"').next()?.rsplit(['/', '#', ':']).next()
    })
}

/// The key of a type.
const TYPE: &str = "\"@type\"";

/// JSON of a script; `None`: it is malformed, or has so many values that they would take up much more memory than the script.
pub(crate) fn parsed(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches("<!--").trim_end_matches("-->").trim();
    let text =
        text.trim_start_matches("//<![CDATA[").trim_end_matches("//]]>").trim_end().trim_end_matches(';');
    let begin = text.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count();
    if begin > VALUES { None } else { serde_json::from_str(text).ok() }
}

/// Values of a script, at most.
const VALUES: usize = 100_000;

/// Tells the keys and strings of a text: without the tags and references of HTML that may be in them.
pub(crate) fn each_string(text: &str, tell: &mut impl FnMut(&str, &str)) {
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        rest = &rest[start + 1..];
        let Some(end) = rest.find('"') else { return };
        let (key, after) = (&rest[..end], &rest[end + 1..]);
        let value =
            after.trim_start().strip_prefix(':').and_then(|value| value.trim_start().strip_prefix('"'));
        // What is not a key is a string's end or its beginning: the next quote decides.
        let Some(value) = value else {
            rest = &rest[end..];
            continue;
        };
        let (string, after) = string(value);
        tell(key, &plain(&string));
        rest = after;
    }
}

/// Reads the rest of a string of JSON: what it says, and what comes after it.
fn string(from: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = from.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, &from[at + 1..]),
            '\\' => match characters.next() {
                Some((_, 'n' | 't' | 'r')) => text.push(' '),
                Some((at, 'u')) => {
                    let (character, length) = escaped(&from[at + 1..]);
                    if length > 0 {
                        characters.nth(length - 1);
                    }
                    text.push(character);
                }
                Some((_, other)) => text.push(other),
                None => break,
            },
            other => text.push(other),
        }
    }
    (text, "")
}

/// The character of a reference by number, and the length of the digits behind `\\u`; a space: it is none, or one that is not shown.
fn escaped(from: &str) -> (char, usize) {
    let digits = |at: usize| from.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(code) = digits(0) else { return (' ', 0) };
    let second = from.get(4..6).filter(|between| *between == "\\u").and_then(|_| digits(6));
    match (code, second) {
        // Those beyond 65,535 are written as two (RFC 8259, section 7).
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            let code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(' '), 10)
        }
        _ => (char::from_u32(code).filter(|character| !character.is_control()).unwrap_or(' '), 4),
    }
}

/// A string of which HTML may be made: without its tags, and with what its references stand for.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // Where the last tag may end: without it each sign would be followed by a look through all that is left.
    let last = text.rfind('>').unwrap_or(0);
    while let Some(at) = rest.find('<') {
        let is_tag = rest[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'))
            && text.len() - rest.len() + at < last;
        let end = if is_tag { rest[at..].find('>').map_or(at + 1, |length| at + length + 1) } else { at + 1 };
        shown.push_str(&rest[..at]);
        shown.push_str(if is_tag && end > at + 1 { " " } else { "<" });
        rest = &rest[end..];
    }
    shown.push_str(rest);
    Cow::Owned(htmlize::unescape(shown.as_str()).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_are_named_without_their_vocabulary() {
        let text = r#"{"@type": "https://schema.org/Question", "x": {"@type" : [ "schema:Answer", "Comment"]}, "@type": 5}"#;
        assert_eq!(types(text).collect::<Vec<_>>(), ["Question", "Answer"]);
    }

    #[test]
    fn signs_that_are_no_tags_cost_no_look_at_all_that_is_left() {
        let text = "<a".repeat(500_000);
        assert_eq!(plain(&text), text);
        assert_eq!(plain("<b>x<a"), " x<a");
    }

    #[test]
    fn a_script_of_very_many_values_is_none() {
        assert!(parsed(&format!("[{}0]", "{\"\":0},".repeat(200_000))).is_none());
        assert!(parsed("<!-- {\"a\": 1}; -->").is_some());
    }

    #[test]
    fn characters_may_be_written_by_number() {
        let mut found = Vec::new();
        let text = r#"{"a": "x\ud83d\ude00y \u00e9\u001b\ud83d \u00", "b": "c"}"#;
        each_string(text, &mut |key, text| found.push(format!("{key}={text}")));
        assert_eq!(found, ["a=x\u{1f600}y \u{e9}    00", "b=c"]);
    }

    #[test]
    fn html_in_strings_is_read() {
        assert_eq!(plain("R&D costs; x<y &amp; z"), "R&D costs; x<y & z");
        assert_eq!(plain("<p>a</p><br/>b < c"), " a  b < c");
    }

    proptest! {
        #[test]
        fn any_script_is_read(text in "(\"(name|@type|x)\"|:|\"|\\\\|u00e4|\\{|\\[|[a-zä ]{1,4}){0,40}") {
            each_string(&text, &mut |_, _| {});
            types(&text).for_each(drop);
        }
    }
}
