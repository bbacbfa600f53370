//! The marks of refusals: what `refusals.txt` states, and where a page has it.
//!
//! Each line of the file is a mark: its kind, the place where it is looked for, how many words a page with it may have, and its source.
//! All marks of texts are looked for at once, in one pass.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

/// The marks.
const MARKS: &str = include_str!("refusals.txt");

/// Bytes of a page in which marks are looked for: refusals are short.
pub(crate) const LOOKED_AT: usize = 256 << 10;

/// Where a mark is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Header,
    Title,
    Source,
    Text,
}

/// A mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) kind: &'static str,
    place: Place,
    /// Visible words of a page, at most; 0: any number.
    pub(crate) words: usize,
    /// Whether it says enough by itself.
    pub(crate) is_enough: bool,
    pub(crate) text: &'static str,
}

impl Mark {
    /// Whether the fields of a response, or a title in lower case, have it.
    pub(crate) fn is_stated(&self, headers: &[(&str, &str)], title: &str) -> bool {
        match self.place {
            Place::Header => has_header(headers, self.text),
            Place::Title => match self.text.strip_suffix('*') {
                Some(start) => title.starts_with(start),
                None => title == self.text,
            },
            Place::Source | Place::Text => false,
        }
    }
}

/// All marks, and where to find those of sources and texts at once.
pub(crate) struct Marks {
    pub(crate) all: Vec<Mark>,
    pub(crate) sources: Finder,
    pub(crate) texts: Finder,
}

/// Finds marks in a text, in one pass.
pub(crate) struct Finder {
    automaton: Option<AhoCorasick>,
    /// The number of each of its patterns.
    numbers: Vec<usize>,
}

impl Finder {
    /// For marks of some places.
    fn of(all: &[Mark], places: &[Place]) -> Self {
        let marks = all.iter().enumerate().filter(|(_, mark)| places.contains(&mark.place));
        let (numbers, patterns): (Vec<_>, Vec<_>) = marks.map(|(number, mark)| (number, mark.text)).unzip();
        let mut builder = AhoCorasickBuilder::new();
        // Of several that begin at one place the longest is the one. Nearly all pages have no mark: a byte of them is one step.
        let builder = builder
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA));
        Finder { automaton: builder.build(&patterns).ok(), numbers }
    }

    /// The numbers of the marks that a text has.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let end = (0..=LOOKED_AT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let found =
            self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(&text[..end]));
        found.map(|found| self.numbers[found.pattern().as_usize()])
    }
}

/// The marks of the file; lines that are none are left out, and a test knows of none.
pub(crate) fn marks() -> &'static Marks {
    static ALL: OnceLock<Marks> = OnceLock::new();
    ALL.get_or_init(|| {
        let all: Vec<_> = MARKS.lines().filter_map(read).collect();
        Marks { sources: Finder::of(&all, &[Place::Source]), texts: Finder::of(&all, &[Place::Text]), all }
    })
}

/// Reads a line; `None`: it is none, or a comment.
fn read(line: &'static str) -> Option<Mark> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let mut columns = line.split('\t');
    let (kind, place, words, text) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    // `!`: it says enough.
    let (words, is_enough) = words.strip_suffix('!').map_or((words, false), |words| (words, true));
    let place = match place {
        "header" => Place::Header,
        "title" => Place::Title,
        "source" => Place::Source,
        "text" => Place::Text,
        _ => return None,
    };
    Some(Mark { kind, place, words: words.parse().ok()?, is_enough, text })
}

/// Whether a response has a field of a name, with a value or any.
fn has_header(headers: &[(&str, &str)], mark: &str) -> bool {
    let Some((name, value)) = mark.split_once('=') else { return false };
    headers
        .iter()
        .any(|(known, given)| *known == name && (value == "*" || given.trim().eq_ignore_ascii_case(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_mark_or_a_comment() {
        let lines = MARKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let mark = read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(mark.text, mark.text.to_lowercase());
            assert_eq!(line.split('\t').count(), 5, "{line}");
        }
        assert!(marks().sources.automaton.is_some() && marks().texts.automaton.is_some());
    }
}
