//! Pages that are no content: challenges, blocks, logins, limits, consent, parked domains, pages that are not there.
//!
//! Marks with their sources are in `refusals.txt`. Whatever the status: many come with 200. Nothing is solved or evaded; such a page is
//! told, and its host left alone.
//!
//! Pages with content have nearly all of these marks as well: in a comment form, an overlay, an article about them. So most marks count
//! only beside another sign: a status that says the same, another mark of the same kind, or a page that has little else
//! than the mark.
//!
//! Guarantees: a page with more visible text than a mark allows is not taken for a refusal by it; of several marks the first kind in the
//! order of the file counts.

use std::sync::OnceLock;

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use crate::blocks::{Blocks, Place as Within};
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
    /// Whether it says enough by itself.
    is_enough: bool,
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
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Fields of the response: names in lower case.
    headers: &'a [(&'a str, &'a str)],
    /// The title, in lower case.
    title: String,
    /// The HTML.
    source: &'a str,
    /// The visible text in lower case, apart from links: of headings and buttons, and of the rest; and how many words all of it has.
    headings: String,
    text: String,
    words: usize,
    /// Links to other pages.
    links: usize,
    /// What the page states of itself weighs: pages with content are described for search engines, others ask not to be found.
    signs: f32,
    /// Whether it has a field for a password.
    has_password: bool,
    /// The status.
    status: u16,
}

impl<'a> Seen<'a> {
    /// Of a page. headers: names in lower case.
    pub fn of(
        tree: &Tree,
        blocks: &Blocks,
        source: &'a str,
        headers: &'a [(&'a str, &'a str)],
        status: u16,
    ) -> Self {
        let (mut headings, mut text, mut words) = (String::new(), String::new(), 0);
        for block in &blocks.all {
            let within = blocks.containers[block.container as usize].within;
            // Overlays and messages that scripts show where they are due.
            if within.has(Within::Hidden) || within.has(Within::Dialog) {
                continue;
            }
            words += block.words as usize;
            // Menus of ordinary pages offer to log in, too.
            let is_link = block.linked * 2 > block.characters;
            let is_heading = within.has(Within::Heading) || within.has(Within::Button);
            let into = if is_heading { &mut headings } else { &mut text };
            if !is_link && into.len() < LOOKED_AT {
                into.push_str(&plain(blocks.text_of(block)));
                into.push('\n');
            }
        }
        let (mut links, mut has_password, mut signs) = (0, false, Signs::default());
        let mut node = tree.first(Tree::ROOT);
        while node != NONE {
            let attribute = |name| tree.attribute(node, name);
            match tree.tag(node) {
                Tag::A => links += usize::from(attribute("href").is_some_and(leads_elsewhere)),
                Tag::Input => {
                    has_password |=
                        attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("password"));
                }
                _ => {}
            }
            signs.look(tree, node);
            node = tree.following(node);
        }
        let title = plain(blocks.title.trim());
        Seen {
            headers,
            title,
            source,
            headings,
            text,
            words,
            links,
            signs: signs.weight(),
            has_password,
            status,
        }
    }

    /// What other signs weigh of a kind for which there are marks.
    fn other_signs(&self, kind: &str, sum: f32) -> f32 {
        if sum <= 0.0 {
            return 0.0;
        }
        let status = if self.is_stated(kind) { TITLE } else { 0.0 };
        let password = if kind == "login" && self.has_password { TITLE } else { 0.0 };
        status + password + self.signs
    }

    /// Whether the status says so by itself.
    fn is_stated(&self, kind: &str) -> bool {
        match kind {
            "challenge" | "blocked" => matches!(self.status, 401 | 403 | 405 | 406 | 429 | 451 | 503),
            "rate-limited" => matches!(self.status, 403 | 420 | 429 | 503),
            "login" => matches!(self.status, 401 | 403),
            "not-found" => matches!(self.status, 404 | 410),
            "server-error" => self.status >= 500,
            _ => false,
        }
    }
}

/// A text in lower case, with the apostrophes of typewriters, as marks have them.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'")
}

/// What a page states of itself.
#[derive(Debug, Default)]
struct Signs {
    is_described: bool,
    is_canonical: bool,
    has_open_graph: bool,
    has_data: bool,
    has_feed: bool,
    is_hidden: bool,
    images: usize,
}

impl Signs {
    /// Looks at an element.
    fn look(&mut self, tree: &Tree, node: NodeId) {
        let attribute = |name| tree.attribute(node, name).unwrap_or_default();
        match tree.tag(node) {
            Tag::Meta => {
                let (name, content) = (attribute("name"), attribute("content"));
                self.is_described |= name == "description" && content.len() > 20;
                self.has_open_graph |= attribute("property").starts_with("og:");
                self.is_hidden |= name == "robots" && content.to_ascii_lowercase().contains("noindex");
            }
            Tag::Link => {
                self.is_canonical |= attribute("rel") == "canonical";
                self.has_feed |= attribute("type").ends_with("+xml");
            }
            Tag::Script => self.has_data |= attribute("type") == "application/ld+json",
            Tag::Img => self.images += 1,
            _ => {}
        }
    }

    /// What they weigh: less than 0 for content.
    fn weight(&self) -> f32 {
        let content = [
            self.is_described,
            self.is_canonical,
            self.has_open_graph,
            self.has_data,
            self.has_feed,
            self.images > 3,
        ];
        let content = content.into_iter().filter(|is_it| *is_it).count() as f32 * CONTENT;
        if self.is_hidden { HIDDEN - content } else { -content }
    }
}

/// What each sign of content weighs, and that a page asks not to be indexed.
const CONTENT: f32 = 0.6;
const HIDDEN: f32 = 0.5;

/// Whether a link leads to another page.
fn leads_elsewhere(target: &str) -> bool {
    !target.is_empty() && !target.starts_with('#') && !target.starts_with("javascript:")
}

/// All marks, and where to find those of sources and texts at once.
struct Marks {
    all: Vec<Mark>,
    sources: Finder,
    texts: Finder,
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
        // Of several that begin at one place the longest is the one. Nearly all pages have no mark: a byte of them is one step.
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

/// What a page is in place of content; `None`: it is content, as far as marks tell.
pub fn refusal(seen: &Seen<'_>) -> Option<Refusal> {
    let marks = marks();
    let stated = marks.all.iter().enumerate().filter(|(_, mark)| mark.is_stated(seen.headers, &seen.title));
    let places = [(&*seen.title, TITLE), (&*seen.headings, HEADING), (&*seen.text, TEXT)];
    let found = stated.map(|(number, _)| (number, TITLE));
    let found = found.chain(marks.sources.find(seen.source).map(|number| (number, SOURCE)));
    let found = found.chain(
        places.iter().flat_map(|(text, weight)| marks.texts.find(text).map(|number| (number, *weight))),
    );
    let is_short = |number: usize| {
        let mark = &marks.all[number];
        mark.words == 0 || seen.words <= mark.words
    };
    let mut found: Vec<_> = found.filter(|(number, _)| is_short(*number)).take(MOST_FOUND).collect();
    // Each mark once, where it weighs most.
    found.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    found.dedup_by_key(|(number, _)| *number);
    if let Some((number, _)) = found.iter().find(|(number, _)| marks.all[*number].is_enough) {
        return Some(Refusal { kind: marks.all[*number].kind, mark: marks.all[*number].text });
    }
    let kinds = KINDS.iter().map(|kind| {
        let of = found.iter().filter(|(number, _)| marks.all[*number].kind == *kind);
        let sum: f32 = of.clone().map(|(_, weight)| weight).sum();
        (sum + seen.other_signs(kind, sum), of.clone().map(|(number, _)| *number).min())
    });
    let best = kinds.max_by(|one, other| one.0.total_cmp(&other.0));
    let (sum, Some(number)) = best? else { return None };
    let is_little_else = seen.words as f32 <= sum * WORDS && seen.links <= LINKS;
    (sum >= LEAST && is_little_else
        || sum >= TEXT && seen.words <= BARE_WORDS && seen.links <= BARE_LINKS && seen.signs >= 0.0)
        .then(|| Refusal { kind: marks.all[number].kind, mark: marks.all[number].text })
}

/// All kinds that marks have, in the order of the file.
const KINDS: [&str; 9] = [
    "challenge",
    "blocked",
    "rate-limited",
    "parked",
    "consent",
    "login",
    "not-found",
    "server-error",
    "needs-script",
];

/// What a mark weighs, by its place.
const TITLE: f32 = 2.0;
const HEADING: f32 = 1.5;
const TEXT: f32 = 1.0;
/// Ordinary pages have the same scripts: not enough even for a page without a word.
const SOURCE: f32 = 0.9;

/// The least weight of a refusal; visible words for each unit of it, and links to other pages, at most.
const LEAST: f32 = 2.0;
const WORDS: f32 = 40.0;
const LINKS: usize = 10;

/// A page of so few words and links that does not describe itself is a refusal by one wording.
const BARE_WORDS: usize = 40;
const BARE_LINKS: usize = 2;

/// Marks of a page that are looked at, at most.
const MOST_FOUND: usize = 1_000;

/// Whether a page may be a refusal: only then its text has to be looked at. Wordings that are written by references or divided by
/// elements are not seen here, so a short page may be one whatever its source says.
pub fn may_be_refusal(headers: &[(&str, &str)], title: &str, source: &str) -> bool {
    let marks = marks();
    let title = title.trim().to_lowercase();
    source.len() <= SHORT
        || marks.all.iter().any(|mark| mark.is_stated(headers, &title))
        || marks.sources.find(source).next().is_some()
        || marks.texts.find(source).next().is_some()
}

/// Bytes of a page of which the text is looked at whatever its source says.
const SHORT: usize = 8 << 10;

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

    /// What a page of this title and body is, with a status.
    fn kind_of(title: &str, body: &str, headers: &[(&str, &str)], status: u16) -> Option<&'static str> {
        let html = format!("<title>{title}</title><body>{body}");
        let tree = lycosa_dom::parse(&html, &lycosa_dom::Limits::default());
        let blocks = Blocks::of(&tree);
        refusal(&Seen::of(&tree, &blocks, &html, headers, status)).map(|found| found.kind)
    }

    /// The same, with status 200.
    fn kind(title: &str, body: &str) -> Option<&'static str> {
        kind_of(title, body, &[], 200)
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
        let long = "word ".repeat(5_000);
        assert_eq!(kind_of("News", &long, &[("cf-mitigated", "challenge")], 403), Some("challenge"));
    }

    #[test]
    fn a_page_with_little_else_is_known_by_its_words() {
        assert_eq!(kind("", "Please verify you are human to go on."), Some("challenge"));
        assert_eq!(kind("Oops", "Sorry, this page doesn&#39;t <b>exist</b>."), Some("not-found"));
        assert_eq!(kind("", "Ce nom de domaine est À VENDRE"), Some("parked"));
        assert_eq!(kind("Recipes", "A cake of apples."), None);
    }

    #[test]
    fn pages_with_content_have_the_same_words() {
        let menu: String = (0..12).map(|n| format!("<a href=/{n}>Topic {n}</a> ")).collect();
        let text =
            "We bake bread in the old town every morning but Sunday, from rye and spelt of our own fields. "
                .repeat(3);
        for more in [
            "<p>You must be logged in to post a comment.",
            "<div style='display:none'>Oops! Something went wrong while submitting the form.</div>",
            "<p>Press and hold the button for three seconds.",
            "<p>Coming soon: a new oven.",
            "<div class=g-recaptcha></div>",
            "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>",
            "<dialog>You must be 18 years old to enter.</dialog>",
        ] {
            assert_eq!(kind("Bakery", &format!("{menu}{text}{more}")), None, "{more}");
        }
        assert_eq!(kind("404 Elm Street - for sale", &format!("{menu}{text}")), None);
        assert_eq!(kind("", "<div id=app></div><script>window._pxAppId = 1</script>"), None);
    }

    #[test]
    fn a_status_that_says_the_same_is_another_sign() {
        let shell = "<div id=app></div><script>window._pxAppId = 1</script>";
        assert_eq!(kind_of("", shell, &[], 403), Some("challenge"));
    }

    #[test]
    fn a_long_page_about_challenges_is_content() {
        let long = "The page says: verify you are human. ".repeat(40);
        assert_eq!(kind("How captchas work", &long), None);
    }

    #[test]
    fn a_login_page_has_a_field_for_a_password() {
        let article = "A word of five letters for what one does with a name and a secret, and for the record of a ship. ".repeat(5);
        assert_eq!(kind("Login", &article), None);
        assert_eq!(kind("Login", "<form><input type=password></form>"), Some("login"));
    }
}
