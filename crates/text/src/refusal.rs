//! Pages that are no content: challenges, blocks, logins, limits, consent, parked domains, pages that are not there.
//!
//! Marks with their sources are in `refusals.txt`. Whatever the status: many come with 200. Nothing is solved or evaded; such a page is
//! told, and its host left alone.
//!
//! Guarantees: a page with more visible text than a mark allows is not taken for a refusal by it; of several marks the first kind in the
//! order of the file counts.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

/// The marks.
const MARKS: &str = include_str!("refusals.txt");

/// Bytes of a page in which marks are looked for: refusals are short.
const LOOKED_AT: usize = 256 << 10;

/// Where a mark is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Header,
    Title,
    Source,
    Text,
}

/// A mark.
#[derive(Clone, Copy, Debug)]
struct Mark {
    kind: &'static str,
    place: Place,
    /// Visible words of a page, at most; 0: any number.
    words: usize,
    text: &'static str,
}

impl Mark {
    /// Whether the fields of a response, or a title in lower case, have it.
    fn is_stated(&self, headers: &[(&str, &str)], title: &str) -> bool {
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

/// What a page is, in place of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind: `challenge`, `blocked`, `rate-limited`, `parked`, `consent`, `login`, `not-found`, `server-error`, `needs-script`.
    pub kind: &'static str,
    /// The mark by which it is known.
    pub mark: &'static str,
}

/// A page, as marks are looked for in it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Fields of the response: names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// The title.
    pub title: &'a str,
    /// The HTML.
    pub source: &'a str,
    /// The visible text, and how many words it has.
    pub text: &'a str,
    /// Its words.
    pub words: usize,
    /// Whether it has a field for a password.
    pub has_password: bool,
}

/// All marks, and where to find those of sources and texts at once.
struct Marks {
    all: Vec<Mark>,
    sources: Finder,
    texts: Finder,
    /// Both, for pages of which nothing but the source is known.
    any: Finder,
}

/// Finds marks in a text, in one pass.
struct Finder {
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
        // Nearly all pages have no mark: a byte of them is one step.
        let builder = builder
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA));
        Finder { automaton: builder.build(&patterns).ok(), numbers }
    }

    /// The numbers of the marks that a text has.
    fn find(&self, text: &str) -> impl Iterator<Item = usize> {
        let end = (0..=LOOKED_AT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let found =
            self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(&text[..end]));
        found.map(|found| self.numbers[found.pattern().as_usize()])
    }
}

/// The marks of the file; lines that are none are left out, and a test knows of none.
fn marks() -> &'static Marks {
    static ALL: OnceLock<Marks> = OnceLock::new();
    ALL.get_or_init(|| {
        let all: Vec<_> = MARKS.lines().filter_map(read).collect();
        Marks {
            sources: Finder::of(&all, &[Place::Source]),
            texts: Finder::of(&all, &[Place::Text]),
            any: Finder::of(&all, &[Place::Source, Place::Text]),
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
    let place = match place {
        "header" => Place::Header,
        "title" => Place::Title,
        "source" => Place::Source,
        "text" => Place::Text,
        _ => return None,
    };
    Some(Mark { kind, place, words: words.parse().ok()?, text })
}

/// What a page is in place of content; `None`: it is content, as far as marks tell.
pub fn refusal(seen: &Seen<'_>) -> Option<Refusal> {
    let marks = marks();
    let title = seen.title.trim().to_lowercase();
    let stated = marks.all.iter().enumerate().filter(|(_, mark)| mark.is_stated(seen.headers, &title));
    let stated = stated.map(|(number, _)| number);
    // Letters other than those of ASCII are compared in lower case.
    let text = if seen.text.is_ascii() { None } else { Some(seen.text.to_lowercase()) };
    let found = stated
        .chain(marks.sources.find(seen.source))
        .chain(marks.texts.find(text.as_deref().unwrap_or(seen.text)));
    let counts = |number: &usize| {
        let mark = &marks.all[*number];
        (mark.words == 0 || seen.words <= mark.words)
            && (mark.kind != "login" || mark.place != Place::Title || seen.has_password)
    };
    let first = found.filter(counts).min()?;
    Some(Refusal { kind: marks.all[first].kind, mark: marks.all[first].text })
}

/// Whether a page has a mark at all, however many words it has: only then its text has to be looked at.
pub fn may_be_refusal(headers: &[(&str, &str)], title: &str, source: &str) -> bool {
    let marks = marks();
    let title = title.trim().to_lowercase();
    marks.all.iter().any(|mark| mark.is_stated(headers, &title)) || marks.any.find(source).next().is_some()
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

    /// A short page of this title and text.
    fn page<'a>(title: &'a str, text: &'a str) -> Seen<'a> {
        let words = text.split_whitespace().count();
        Seen { headers: &[], title, source: text, text, words, has_password: false }
    }

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
    fn a_header_says_it_all() {
        let seen =
            Seen { headers: &[("cf-mitigated", "challenge")], words: 5_000, ..page("News", "a long page") };
        assert_eq!(refusal(&seen).map(|found| found.kind), Some("challenge"));
    }

    #[test]
    fn a_short_page_is_known_by_its_words() {
        let kind = |title, text| refusal(&page(title, text)).map(|found| found.kind);
        assert_eq!(kind("", "Please verify you are human to go on."), Some("challenge"));
        assert_eq!(kind("Oops", "Sorry, this page doesn't exist."), Some("not-found"));
        assert_eq!(kind("", "Ce nom de domaine est À VENDRE"), Some("parked"));
        assert_eq!(kind("Recipes", "A cake of apples."), None);
    }

    #[test]
    fn a_long_page_about_challenges_is_content() {
        let long = "The page says: verify you are human. ".repeat(40);
        assert_eq!(refusal(&page("How captchas work", &long)), None);
    }

    #[test]
    fn a_login_page_has_a_field_for_a_password() {
        let article = page("Login", "A word of five letters.");
        assert_eq!(refusal(&article), None);
        assert_eq!(refusal(&Seen { has_password: true, ..article }).map(|found| found.kind), Some("login"));
    }
}
