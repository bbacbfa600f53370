//! What robots.txt states about the uses of pages, by path: `Content-Usage` (draft-ietf-aipref-attach) and `Content-Signal`
//! (contentsignals.org). Both may begin with a path; of lines of one kind, the longest path that matches counts.

use std::collections::BTreeMap;

use lycosa_records::usage::{self, Statement};

use super::index::Index;
use super::pattern::{Escapes, Pattern};

/// Lines of a kind that are read, at most.
const MAX_LINES: usize = 1_000;

/// The two kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageKind {
    ContentUsage = 0,
    ContentSignal = 1,
}

/// A line as it stands in the file.
#[derive(Clone, Copy)]
pub(super) struct UsageLine<'a> {
    pub(super) kind: UsageKind,
    pub(super) value: &'a [u8],
}

/// The statements of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Usage {
    content_usage: ByPath,
    content_signal: ByPath,
}

/// The statements of one kind of lines. The number of a pattern's "line" is its place in `stated`.
#[derive(Clone, Debug, Default, PartialEq)]
struct ByPath {
    index: Index,
    stated: Box<[Box<[Statement]>]>,
}

impl Usage {
    /// Reads lines; `None` if they state nothing.
    pub(super) fn new(lines: &[UsageLine<'_>]) -> Option<Box<Self>> {
        let of = |kind| lines.iter().filter(move |line| line.kind == kind).take(MAX_LINES);
        let content_usage = ByPath::new(of(UsageKind::ContentUsage), usage::content_usage);
        let content_signal = ByPath::new(of(UsageKind::ContentSignal), usage::content_signal);
        let made = Usage { content_usage, content_signal };
        (made != Usage::default()).then(|| Box::new(made))
    }

    /// What is stated about a path in normal form.
    pub(super) fn of(&self, path: &[u8]) -> Vec<Statement> {
        let mut stated = self.content_usage.of(path).to_vec();
        usage::join(&mut stated, self.content_signal.of(path).iter().cloned());
        stated
    }

    /// Bytes of memory that it holds beyond its own size.
    pub(super) fn memory(&self) -> usize {
        self.content_usage.memory() + self.content_signal.memory()
    }
}

impl ByPath {
    /// Reads lines of one kind. What several lines state about one path is joined.
    fn new<'a>(lines: impl Iterator<Item = &'a UsageLine<'a>>, read: fn(&str) -> Vec<Statement>) -> Self {
        let mut by_path: BTreeMap<Vec<u8>, (Pattern, Vec<Statement>)> = BTreeMap::new();
        for line in lines {
            let (path, value) = split(line.value);
            let Ok(value) = std::str::from_utf8(value) else { continue };
            let stated = read(value);
            if stated.is_empty() {
                continue;
            }
            let pattern = Pattern::new(path, true, 0, Escapes::Undone, &mut false);
            let (_, joined) = by_path.entry(pattern.text.clone()).or_insert((pattern, Vec::new()));
            usage::join(joined, stated);
        }
        let (mut patterns, mut stated) = (Vec::new(), Vec::new());
        for (place, (pattern, statements)) in (0..).zip(by_path.into_values()) {
            patterns.push(Pattern { line: place, ..pattern });
            stated.push(statements.into());
        }
        ByPath { index: Index::new(patterns), stated: stated.into() }
    }

    /// What is stated about a path in normal form.
    fn of(&self, path: &[u8]) -> &[Statement] {
        let rule = self.index.longest_match(path);
        rule.and_then(|rule| self.stated.get(rule.line as usize)).map_or(&[], |stated| stated)
    }

    /// Bytes of memory that it holds beyond its own size.
    fn memory(&self) -> usize {
        let bytes = |stated: &[Statement]| {
            size_of_val(stated) + stated.iter().map(|(usage, _)| usage.len()).sum::<usize>()
        };
        self.index.memory()
            + size_of_val(&*self.stated)
            + self.stated.iter().map(|one| bytes(one)).sum::<usize>()
    }
}

/// The path of a value, or that of all pages, and the rest.
fn split(value: &[u8]) -> (&[u8], &[u8]) {
    if !matches!(value.first(), Some(b'/' | b'*')) || value.starts_with(b"*=") {
        return (b"/", value);
    }
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    (&value[..end], value[end..].trim_ascii())
}
