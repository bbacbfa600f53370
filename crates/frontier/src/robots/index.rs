//! Which of many patterns matches a path and is the longest.
//!
//! Guarantees:
//! 1. The match is the one that trying every pattern would find: most octets, then `allow`, then the first line.
//! 2. Without wildcards a path costs one binary search, however many patterns there are.
//! 3. With them, at worst one linear scan of the path for each of at most [`MAX_WILDCARDS`] patterns: nothing is
//!    exponential, nothing goes back.

use std::cmp::Reverse;

use memchr::memmem;

use super::pattern::Pattern;

/// Patterns with wildcards that are tried one by one. Of real files only few come near; past it, a `disallow` counts as
/// its part before the first `*`, which forbids more, and an `allow` not at all.
const MAX_WILDCARDS: usize = 5_000;

/// The rule that decides, with its pattern in normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatchedRule<'a> {
    /// What it says.
    pub(super) allow: bool,
    /// Its line.
    pub(super) line: u32,
    /// Its pattern.
    pub(super) pattern: &'a [u8],
}

/// All patterns of one reading, ready to be asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Index {
    /// The patterns' texts, one after another.
    texts: Box<[u8]>,
    /// Patterns without wildcard, sorted by text, each text once.
    plain: Box<[Plain]>,
    /// Patterns with wildcards, best rank first.
    wild: Box<[Wild]>,
}

/// Where a pattern stands, and its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    start: u32,
    end: u32,
    octets: u32,
    line: u32,
    allow: bool,
}

impl Entry {
    /// The greater rank decides.
    fn rank(&self) -> (u32, bool, Reverse<u32>) {
        (self.octets, self.allow, Reverse(self.line))
    }
}

/// A pattern without wildcard: a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain {
    entry: Entry,
    /// The longest other pattern that is a prefix of this one.
    parent: Option<u32>,
    /// Of this pattern and all that are prefixes of it, the one with the greatest rank.
    best: u32,
}

/// A pattern with wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wild {
    entry: Entry,
    /// Pairs of bytes that a path must have; see [`pairs`].
    pairs: u128,
}

impl Index {
    /// Sorts the patterns.
    pub(super) fn new(patterns: Vec<Pattern>) -> Self {
        let (mut wild, mut plain): (Vec<_>, Vec<_>) =
            patterns.into_iter().partition(|pattern| pattern.text.contains(&b'*'));
        for mut pattern in wild.split_off(wild.len().min(MAX_WILDCARDS)) {
            let star = pattern.text.iter().position(|&byte| byte == b'*');
            pattern.text.truncate(star.unwrap_or_default());
            plain.extend((!pattern.allow).then_some(pattern));
        }
        let mut texts = Vec::new();
        let plain = sort_plain(plain, &mut texts);
        let mut wild: Vec<Wild> = wild
            .iter()
            .map(|pattern| Wild {
                entry: append(pattern, &mut texts),
                pairs: pattern.text.split(|&byte| byte == b'*').fold(0, |all, part| all | pairs(part)),
            })
            .collect();
        wild.sort_unstable_by_key(|wild| Reverse(wild.entry.rank()));
        Index { texts: texts.into(), plain: plain.into(), wild: wild.into() }
    }

    /// Bytes of memory that it holds beyond its own size.
    pub(super) fn memory(&self) -> usize {
        self.texts.len() + size_of_val(&*self.plain) + size_of_val(&*self.wild)
    }

    /// Whether there are no patterns.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.wild.is_empty()
    }

    /// The pattern of the greatest rank that matches a path in normal form.
    pub(super) fn longest_match(&self, path: &[u8]) -> Option<MatchedRule<'_>> {
        let mut best = self.longest_prefix(path);
        if !self.wild.is_empty() {
            let has = pairs(path);
            let better = |wild: &&Wild| best.is_none_or(|best| wild.entry.rank() > best.rank());
            let found = self
                .wild
                .iter()
                .take_while(better)
                .find(|wild| wild.pairs & !has == 0 && matches(self.text(&wild.entry), path));
            best = found.map(|wild| &wild.entry).or(best);
        }
        best.map(|entry| MatchedRule { allow: entry.allow, line: entry.line, pattern: self.text(entry) })
    }

    /// The best pattern without wildcard. The last text not greater than the path has every prefix of the path that is a
    /// pattern as a prefix too: all that match are on its chain of parents.
    fn longest_prefix(&self, path: &[u8]) -> Option<&Entry> {
        let after = self.plain.partition_point(|plain| self.text(&plain.entry) <= path);
        let mut plain = self.plain.get(after.checked_sub(1)?)?;
        let common =
            self.text(&plain.entry).iter().zip(path).take_while(|(ours, theirs)| ours == theirs).count();
        while (plain.entry.end - plain.entry.start) as usize > common {
            plain = self.plain.get(plain.parent? as usize)?;
        }
        self.plain.get(plain.best as usize).map(|best| &best.entry)
    }

    /// A pattern's text.
    fn text(&self, entry: &Entry) -> &[u8] {
        &self.texts[entry.start as usize..entry.end as usize]
    }
}

/// Appends a pattern's text; a robots.txt is shorter than 4 GiB, and so are its patterns.
#[allow(clippy::cast_possible_truncation, reason = "at most six times MAX_ROBOTS_BYTES")]
fn append(pattern: &Pattern, texts: &mut Vec<u8>) -> Entry {
    let start = texts.len() as u32;
    texts.extend_from_slice(&pattern.text);
    Entry { start, end: texts.len() as u32, octets: pattern.octets, line: pattern.line, allow: pattern.allow }
}

/// Sorts patterns without wildcard by text, the best rank of each, and finds parents and bests.
#[allow(clippy::cast_possible_truncation, reason = "fewer patterns than bytes")]
fn sort_plain(mut patterns: Vec<Pattern>, texts: &mut Vec<u8>) -> Vec<Plain> {
    let rank = |pattern: &Pattern| Reverse((pattern.octets, pattern.allow, Reverse(pattern.line)));
    patterns.sort_unstable_by(|a, b| a.text.cmp(&b.text).then_with(|| rank(a).cmp(&rank(b))));
    patterns.dedup_by(|later, first| later.text == first.text);
    let mut sorted: Vec<Plain> = Vec::with_capacity(patterns.len());
    let mut chain: Vec<u32> = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        while chain.last().is_some_and(|&last| !pattern.text.starts_with(&patterns[last as usize].text)) {
            chain.pop();
        }
        let parent = chain.last().copied();
        let entry = append(pattern, texts);
        let above = parent.map(|parent| sorted[parent as usize].best);
        let best = above.filter(|&above| sorted[above as usize].entry.rank() > entry.rank());
        sorted.push(Plain { entry, parent, best: best.unwrap_or(number as u32) });
        chain.push(number as u32);
    }
    sorted
}

/// The pairs of neighbouring bytes in a text, as a set of 128 classes. Most patterns that do not match need a pair
/// that the path has not, which one comparison tells.
fn pairs(text: &[u8]) -> u128 {
    let class = |pair: &[u8]| u32::from(pair[0]).wrapping_mul(37).wrapping_add(u32::from(pair[1])) & 127;
    text.windows(2).fold(0, |set, pair| set | 1 << class(pair))
}

/// Whether a pattern with wildcards matches from the path's start; the leftmost place of each part suffices.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let mut parts = pattern.split(|&byte| byte == b'*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match memmem::find(rest, part) {
            Some(position) => rest = &rest[position + part.len()..],
            None => return false,
        }
    }
    true
}
