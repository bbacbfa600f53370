//! robots.txt by RFC 9309: groups, longest match, `*` and `$`, percent-equivalence, Crawl-delay.
//!
//! Guarantees, which the tests repeat:
//! 1. Any bytes give rules, and any rules a verdict, in bounded time and memory (see [`index`]).
//! 2. A path has exactly one verdict: the longest pattern decides, `allow` on a tie, no pattern allows.
//! 3. The spelling of an escape allows no path: if the RFC's reading of escapes and Google's differ, both must allow.

mod cache;
mod index;
mod lines;
mod origins;
mod pattern;
mod store;
mod tdmrep;
#[cfg(test)]
mod tests;
mod usage;

use std::time::Duration;

use lycosa_records::usage::Statement;
use lycosa_records::{MAX_LICENSES, robots_license};
use lycosa_url::product_token;

use crate::codec;

pub(crate) use cache::{Permission, RobotsCache, Stated};
use index::{Index, MatchedRule};
use lines::{Key, Lines};
pub(crate) use origins::{Origins, Robots, TdmrepState};
use pattern::{Escapes, Pattern};
pub(crate) use store::{KeptRules, RulesStore};
use tdmrep::{TdmRule, Tdmrep};
use usage::{Usage, UsageKind, UsageLine};

/// The rules of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Escapes of unreserved characters undone, as in the table of section 2.2.2.
    undone: Index,
    /// Escapes kept as written, as Google's parser compares them; nothing where no pattern has such an escape.
    kept: Option<Box<Index>>,
    crawl_delay: Option<Duration>,
    /// What pages may be used for; `None` where no line speaks of that, as in nearly all files.
    usage: Option<Box<Usage>>,
    /// Licences of the whole site (RSL 1.0), as canonical URLs, each once.
    licenses: Box<[Box<str>]>,
    /// What the origin's tdmrep.json states; `None` before it was asked for.
    tdmrep: Option<Box<Tdmrep>>,
    /// The lines that all of this was made of, packed: what a snapshot keeps.
    packed: Box<[u8]>,
}

/// What robots.txt says of one path, and which line says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// The line that decides, counted from 1; nothing where no line speaks of the path.
    pub line: Option<u32>,
    rule: Option<MatchedRule<'a>>,
}

impl Verdict<'_> {
    /// Nothing speaks against it.
    const ALLOWED: Verdict<'static> = Verdict { allowed: true, line: None, rule: None };

    /// The rule that decides, in normal form, such as `Disallow: /private/`.
    pub fn rule(&self) -> Option<String> {
        let key = if self.allowed { "Allow" } else { "Disallow" };
        self.rule.map(|rule| format!("{key}: {}", pattern::text(rule.pattern)))
    }
}

impl Rules {
    /// Reads the groups that speak to `agent`, a product token: those that name it, else those for `*` (section
    /// 2.2.1). `body` are the bytes as served; past [`MAX_ROBOTS_BYTES`](lycosa_records::MAX_ROBOTS_BYTES) they are not read.
    pub fn parse(body: &[u8], agent: &str) -> Rules {
        let (mut own, mut general) = (Group::default(), Group::default());
        let (mut named, mut in_own, mut in_general, mut in_header) = (false, false, false, false);
        let mut licenses: Vec<Box<str>> = Vec::new();
        for (number, key, value) in Lines::new(body) {
            match key {
                Key::UserAgent => {
                    if !in_header {
                        (in_own, in_general) = (false, false);
                    }
                    in_header = true;
                    let token = product_token(value);
                    in_general |= lines::is_everyone(value);
                    in_own |= !token.is_empty() && token.eq_ignore_ascii_case(agent.as_bytes());
                    named |= in_own;
                }
                // Other records do not interfere with groups (section 2.2.4): Crawl-delay ends no header.
                Key::CrawlDelay => {
                    let speaks = [(in_own, &mut own), (in_general, &mut general)];
                    speaks
                        .into_iter()
                        .filter(|(speaks, _)| *speaks)
                        .for_each(|(_, group)| group.delay(value));
                }
                // Content-Usage is a rule (draft-ietf-aipref-attach section 3.3): it ends a header. Content-Signal is another record.
                Key::Usage(kind) => {
                    in_header &= kind != UsageKind::ContentUsage;
                    let line = UsageLine { kind, value };
                    let speaks = [(in_own, &mut own), (in_general, &mut general)];
                    let groups = speaks.into_iter().filter(|(speaks, _)| *speaks);
                    groups.for_each(|(_, group)| group.usage.push(line));
                }
                // Of no group, and no end of a header: it speaks to all crawlers (RSL 1.0).
                Key::License if licenses.len() < MAX_LICENSES => {
                    let url = robots_license(value).map(|url| Box::from(url.as_str()));
                    licenses.extend(url.filter(|url| !licenses.contains(url)));
                }
                Key::License => {}
                Key::Allow | Key::Disallow => {
                    in_header = false;
                    let line = Line { number, allow: key == Key::Allow, pattern: value };
                    let speaks = [(in_own, &mut own), (in_general, &mut general)];
                    speaks.into_iter().filter(|(speaks, _)| *speaks).for_each(|(_, group)| group.add(line));
                }
            }
        }
        let group = if named { own } else { general };
        Group { licenses, ..group }.rules()
    }

    /// The rules that an answer for robots.txt gives (section 2.3.1); nothing where it says nothing of the origin:
    /// overload, errors of the server, and 421, since the name may have moved. A redirect counts as unavailable,
    /// and so does the caller's last one of too many: then there are no rules.
    pub fn of_answer(status: u16, body: &[u8], agent: &str) -> Option<Rules> {
        match status {
            200..=299 => Some(Rules::parse(body, agent)),
            300..=420 | 422..=428 | 430..=499 => Some(Rules::default()),
            _ => None,
        }
    }

    /// Whether a path with its query may be fetched; see [`Rules::verdict`].
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.verdict(path_and_query).allowed
    }

    /// Whether a path with its query may be fetched, and which line says so. The path is ASCII, as of
    /// [`lycosa_url::CrawlUrl::path_and_query`]; an empty one counts as `/`. `/robots.txt` itself is always allowed.
    pub fn verdict(&self, path_and_query: &str) -> Verdict<'_> {
        if self.undone.is_empty() || path_and_query == "/robots.txt" {
            return Verdict::ALLOWED;
        }
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        let (undone, differs) = pattern::normalize_path(path, Escapes::Undone);
        let verdict = Self::decide(&self.undone, &undone);
        if !verdict.allowed || !(differs || self.kept.is_some()) {
            return verdict;
        }
        let (kept, _) = pattern::normalize_path(path, Escapes::Kept);
        let second = Self::decide(self.kept.as_deref().unwrap_or(&self.undone), &kept);
        if second.allowed { verdict } else { second }
    }

    /// What is stated about the uses of a page.
    pub(crate) fn usage(&self, path_and_query: &str) -> Vec<Statement> {
        let Some(usage) = &self.usage else { return Vec::new() };
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        usage.of(&pattern::normalize_path(path, Escapes::Undone).0)
    }

    /// The licences that the site names for all its pages, as canonical URLs.
    pub(crate) fn licenses(&self) -> &[Box<str>] {
        &self.licenses
    }

    /// The same with what the origin's tdmrep.json states, which is kept with them.
    pub(crate) fn with_tdmrep(&self, file: &[u8]) -> Rules {
        let group = if self.packed.is_empty() { None } else { Group::unpack(&self.packed) };
        Group { tdmrep: Some(tdmrep::parse(file)), ..group.unwrap_or_default() }.rules()
    }

    /// Whether it is known what the origin's tdmrep.json states.
    pub(crate) fn has_tdmrep(&self) -> bool {
        self.tdmrep.is_some()
    }

    /// Whether tdmrep.json reserves text and data mining of the page at a path; `None` if it states nothing.
    pub(crate) fn reserves_tdm(&self, path_and_query: &str) -> Option<bool> {
        self.tdmrep.as_ref().and_then(|tdmrep| tdmrep.reserves(path_and_query))
    }

    /// The verdict of one reading.
    fn decide<'a>(index: &'a Index, path: &[u8]) -> Verdict<'a> {
        match index.longest_match(path) {
            Some(rule) => Verdict { allowed: rule.allow, line: Some(rule.line), rule: Some(rule) },
            None => Verdict::ALLOWED,
        }
    }

    /// Bytes of memory that they hold beyond their own size.
    pub(crate) fn memory(&self) -> usize {
        let kept = self.kept.as_ref().map_or(0, |index| size_of::<Index>() + index.memory());
        let usage = self.usage.as_ref().map_or(0, |usage| size_of::<Usage>() + usage.memory());
        let licenses =
            size_of_val(&*self.licenses) + self.licenses.iter().map(|url| url.len()).sum::<usize>();
        let tdmrep = self.tdmrep.as_ref().map_or(0, |tdmrep| size_of::<Tdmrep>() + tdmrep.memory());
        self.undone.memory() + kept + usage + licenses + tdmrep + self.packed.len()
    }

    /// The rules as bytes, for a snapshot; none for those of an answer without rules.
    pub(crate) fn pack(&self) -> &[u8] {
        &self.packed
    }

    /// The rules from a snapshot.
    pub(crate) fn unpack(from: &[u8]) -> Option<Rules> {
        if from.is_empty() { Some(Rules::default()) } else { Some(Group::unpack(from)?.rules()) }
    }

    /// The pause that the site asks for between requests; the longest where it names several.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

/// One `allow` or `disallow` line as it stands in the file.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: u32,
    allow: bool,
    pattern: &'a [u8],
}

/// The kind of a packed line about uses, whose number is its kind's; `None` of a rule, whose number is at least 2.
fn usage_kind(head: u64) -> Option<UsageKind> {
    match head {
        0 => Some(UsageKind::ContentUsage),
        1 => Some(UsageKind::ContentSignal),
        _ => None,
    }
}

/// The head of a packed licence; that of a rule has the number of a line, which is far less.
const LICENSE: u64 = u64::MAX;

/// The heads of packed rules of a tdmrep.json: this one and the next two, by what the rule says. A rule without a location, which no
/// file gives, marks one that is known.
const TDMREP: u64 = u64::MAX - 3;

/// What the groups that speak to one agent say together, what the file says to all, and what the origin's tdmrep.json says.
#[derive(Default)]
struct Group<'a> {
    lines: Vec<Line<'a>>,
    usage: Vec<UsageLine<'a>>,
    licenses: Vec<Box<str>>,
    tdmrep: Option<Vec<TdmRule>>,
    crawl_delay: Option<Duration>,
}

impl<'a> Group<'a> {
    /// Takes in a rule; one without a pattern says nothing.
    fn add(&mut self, line: Line<'a>) {
        if !line.pattern.is_empty() {
            self.lines.push(line);
        }
    }

    /// Takes in a pause in seconds; what is no number of seconds says nothing.
    fn delay(&mut self, value: &[u8]) {
        let seconds = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
        let delay = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        self.crawl_delay = self.crawl_delay.max(delay);
    }

    /// The rules, ready to be asked.
    fn rules(self) -> Rules {
        let mut differs = false;
        let undone = self.patterns(Escapes::Undone, &mut differs);
        let kept = differs.then(|| Box::new(Index::new(self.patterns(Escapes::Kept, &mut false))));
        let (crawl_delay, usage, packed) = (self.crawl_delay, Usage::new(&self.usage), self.pack());
        let tdmrep = self.tdmrep.map(|rules| Box::new(Tdmrep::new(&rules)));
        let (undone, licenses) = (Index::new(undone), self.licenses.into());
        Rules { undone, kept, crawl_delay, usage, licenses, tdmrep, packed }
    }

    /// The lines as bytes.
    fn pack(&self) -> Box<[u8]> {
        let mut packed = Vec::new();
        let delay = self.crawl_delay.map_or(0, |delay| delay.as_micros() as u64 + 1);
        codec::put_number(&mut packed, delay);
        for line in &self.lines {
            codec::put_number(&mut packed, u64::from(line.number) << 1 | u64::from(line.allow));
            codec::put_bytes(&mut packed, line.pattern);
        }
        for line in &self.usage {
            codec::put_number(&mut packed, line.kind as u64);
            codec::put_bytes(&mut packed, line.value);
        }
        for url in &self.licenses {
            codec::put_number(&mut packed, LICENSE);
            codec::put_bytes(&mut packed, url.as_bytes());
        }
        if let Some(rules) = &self.tdmrep {
            codec::put_number(&mut packed, TDMREP);
            codec::put_bytes(&mut packed, b"");
            for rule in rules {
                codec::put_number(&mut packed, TDMREP + u64::from(tdmrep::code(rule.reserved)));
                codec::put_bytes(&mut packed, rule.location.as_bytes());
            }
        }
        packed.into_boxed_slice()
    }

    /// The lines from bytes.
    fn unpack(mut from: &'a [u8]) -> Option<Self> {
        let from = &mut from;
        let crawl_delay = codec::number(from)?.checked_sub(1).map(Duration::from_micros);
        let mut group = Group { crawl_delay, ..Group::default() };
        while !from.is_empty() {
            let head = codec::number(from)?;
            if let Some(kind) = usage_kind(head) {
                group.usage.push(UsageLine { kind, value: codec::bytes(from)? });
                continue;
            }
            match head {
                LICENSE => group.licenses.push(codec::text(from)?.into()),
                TDMREP.. => {
                    let (location, reserved) = (codec::text(from)?.into(), tdmrep::reserved(head - TDMREP));
                    let rules = group.tdmrep.get_or_insert_default();
                    rules.extend(
                        Some(TdmRule { location, reserved }).filter(|rule| !rule.location.is_empty()),
                    );
                }
                _ => {
                    let number = u32::try_from(head >> 1).ok()?;
                    group.lines.push(Line { number, allow: head & 1 == 1, pattern: codec::bytes(from)? });
                }
            }
        }
        Some(group)
    }

    /// All patterns by one reading of escapes. An `allow` of a folder's index page opens the folder itself too, as
    /// Google's parser has it.
    fn patterns(&self, escapes: Escapes, differs: &mut bool) -> Vec<Pattern> {
        let mut patterns = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            patterns.push(Pattern::new(line.pattern, line.allow, line.number, escapes, differs));
            if line.allow
                && let Some(slash) = line.pattern.iter().rposition(|&byte| byte == b'/')
                && line.pattern[slash + 1..].starts_with(b"index.htm")
            {
                let folder = [&line.pattern[..=slash], b"$"].concat();
                patterns.push(Pattern::new(&folder, true, line.number, escapes, differs));
            }
        }
        patterns
    }
}
