//! The marks of refusals: what `refusals.txt` states, and where a page has it.
//!
//! Each line of the file is a mark: its kind, the place where it is looked for, how many words a page with it may have, and its source.
//! All marks of texts are looked for at once, in one pass.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

use crate::blocks::is_of_script_without_spaces;

/// The marks.
const MARKS: &str = include_str!("refusals.txt");

/// Bytes of a page in which marks are looked for: refusals are short.
pub(crate) const LOOKED_AT: usize = 256 << 10;

/// Where a mark is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Header,
    Title,
    /// All of a heading.
    Heading,
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
    /// Whether it is of somebody who stands before sites: a header field or a script, or a wording that nobody else has.
    pub(crate) fn is_vendors(&self) -> bool {
        self.is_enough || matches!(self.place, Place::Header | Place::Source)
    }

    /// Whether the fields of a response, a title or the lines of headings, in lower case, have it.
    pub(crate) fn is_stated(&self, headers: &[(&str, &str)], title: &str, headings: &str) -> bool {
        match self.place {
            Place::Header => has_header(headers, self.text),
            Place::Heading => headings.lines().any(|line| line == self.text),
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
    /// The numbers of those that are looked for one by one: in header fields, titles and headings.
    pub(crate) stated: Vec<usize>,
    /// Visible words of a page that a mark in its text or its HTML allows, at most.
    pub(crate) most_words: usize,
    pub(crate) sources: Finder,
    pub(crate) texts: Finder,
}

/// Finds marks in a text, in one pass: of those that overlap the first and longest.
pub(crate) struct Finder {
    automaton: Option<AhoCorasick>,
    /// Whether marks begin words, and short ones end them.
    are_words: bool,
    /// The number of each of its patterns.
    numbers: Vec<usize>,
}

impl Finder {
    /// For marks of some places. kind: of the automaton: one of thousands of wordings takes up tens of megabytes as a DFA.
    fn of(all: &[Mark], places: &[Place], kind: AhoCorasickKind) -> Self {
        let marks = all.iter().enumerate().filter(|(_, mark)| places.contains(&mark.place));
        let (numbers, patterns): (Vec<_>, Vec<_>) = marks.map(|(number, mark)| (number, mark.text)).unzip();
        let mut builder = AhoCorasickBuilder::new();
        let builder =
            builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).kind(Some(kind));
        Finder { automaton: builder.build(&patterns).ok(), are_words: places == [Place::Text], numbers }
    }

    /// The numbers of the marks that a text has.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let end = (0..=LOOKED_AT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let text = &text[..end];
        let found = self.automaton.iter().flat_map(move |automaton| automaton.find_iter(text));
        let found =
            found.filter(move |found| !self.are_words || stands_alone(text, found.start(), found.end()));
        found.map(|found| self.numbers[found.pattern().as_usize()])
    }
}

/// Whether a mark begins a word, and ends one if it is short: a longer one may go on, as words do in many languages.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() && !is_of_script_without_spaces(c);
    let (mark, before, after) = (&text[start..end], &text[..start], &text[end..]);
    let is_inside =
        |one: Option<char>, other: Option<char>| one.is_some_and(is_letter) && other.is_some_and(is_letter);
    !is_inside(before.chars().next_back(), mark.chars().next())
        && (mark.len() > SHORT || !is_inside(mark.chars().next_back(), after.chars().next()))
}

/// Bytes of a mark that is all of a word.
const SHORT: usize = 8;

/// The marks of the file; lines that are none are left out, and a test knows of none.
pub(crate) fn marks() -> &'static Marks {
    static ALL: OnceLock<Marks> = OnceLock::new();
    ALL.get_or_init(|| {
        let all: Vec<_> = MARKS.lines().filter_map(read).collect();
        let is_within = |mark: &&Mark| !matches!(mark.place, Place::Header | Place::Title);
        let words = |mark: &Mark| if mark.words == 0 { usize::MAX } else { mark.words };
        let is_stated = |(_, mark): &(usize, &Mark)| !matches!(mark.place, Place::Source | Place::Text);
        Marks {
            stated: all.iter().enumerate().filter(is_stated).map(|(number, _)| number).collect(),
            most_words: all.iter().filter(is_within).map(words).max().unwrap_or(0),
            sources: Finder::of(&all, &[Place::Source], AhoCorasickKind::DFA),
            texts: Finder::of(&all, &[Place::Text], AhoCorasickKind::ContiguousNFA),
            all,
        }
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
        "heading" => Place::Heading,
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

    #[test]
    fn marks_are_words() {
        assert!(
            stands_alone("a gone b", 2, 6) && !stands_alone("a goner", 2, 6) && !stands_alone("agone", 1, 5)
        );
        assert!(stands_alone("заблокирована", 0, "заблокирован".len()), "a longer one may go on");
        assert!(stands_alone("这个页面不存在了", 6, 21));
    }

    #[test]
    fn marks_that_overlap_count_once() {
        let all = ["accept all", "accept all cookies"].map(|text| Mark {
            kind: "consent",
            place: Place::Text,
            words: 0,
            is_enough: false,
            text,
        });
        let finder = Finder::of(&all, &[Place::Text], AhoCorasickKind::ContiguousNFA);
        assert_eq!(finder.find("please accept all cookies").collect::<Vec<_>>(), [1]);
    }
}
