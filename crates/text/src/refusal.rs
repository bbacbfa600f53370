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

use crate::blocks::is_of_script_without_spaces;
use crate::marks::{Mark, marks};
pub use crate::seen::Seen;
use crate::seen::{Elements, plain};

/// What a page is, in place of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind: `challenge`, `blocked`, `rate-limited`, `parked`, `consent`, `login`, `not-found`, `server-error`, `needs-script`.
    pub kind: &'static str,
    /// The mark by which it is known.
    pub mark: &'static str,
    /// Whether a mark is of somebody who stands before sites, such as a firewall's.
    pub is_vendors: bool,
}

/// What a page is in place of content; `None`: it is content, as far as marks tell.
pub fn refusal(seen: &Seen<'_>) -> Option<Refusal> {
    let marks = marks();
    let is_stated = |mark: &Mark| mark.is_stated(seen.headers, &seen.title, &seen.headings);
    let stated = marks.stated.iter().copied().filter(|number| is_stated(&marks.all[*number]));
    let places =
        [(&*seen.title, TITLE), (&*seen.headings, HEADING), (&*seen.buttons, BUTTON), (&*seen.text, TEXT)];
    let found = stated.map(|number| (number, TITLE));
    let found = found.chain(marks.sources.find(seen.source).map(|number| (number, SOURCE)));
    let found = found.chain(places.iter().flat_map(|(text, weight)| {
        marks.texts.find(text).map(|number| {
            let mark = marks.all[number].text;
            let weight = if *weight > BUTTON && !is_most_of(mark, text) { TEXT } else { *weight };
            (number, weight * specificity(mark))
        })
    }));
    let is_short = |number: usize| {
        let mark = &marks.all[number];
        mark.words == 0 || seen.words <= mark.words
    };
    let mut found: Vec<_> = found.filter(|(number, _)| is_short(*number)).take(MOST_FOUND).collect();
    // Each mark once, where it weighs most.
    found.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    found.dedup_by_key(|(number, _)| *number);
    let refusal = |number: usize| {
        let kind = marks.all[number].kind;
        let mut of = found.iter().map(|(number, _)| &marks.all[*number]).filter(|mark| mark.kind == kind);
        Refusal { kind, mark: marks.all[number].text, is_vendors: of.any(Mark::is_vendors) }
    };
    if let Some((number, _)) = found.iter().find(|(number, _)| marks.all[*number].is_enough) {
        return Some(refusal(*number));
    }
    if found.is_empty() {
        return None;
    }
    let elements = Elements::of(seen.tree);
    let of_buttons: Vec<_> = marks.texts.find(&seen.buttons).collect();
    let is_of_button = |number: usize| of_buttons.contains(&number);
    // Of equal ones the last is the greatest: the first of the file has to come last.
    let kinds = KINDS.iter().rev().map(|kind| {
        let of = found.iter().filter(|(number, _)| marks.all[*number].kind == *kind);
        let sum: f32 = of.clone().map(|(_, weight)| weight).sum();
        // Among menus a page says it with its text: buttons are those of banners and of other parts.
        let said: f32 =
            of.clone().filter(|(number, _)| !is_of_button(*number)).map(|(_, weight)| weight).sum();
        let said = if FRAMED.contains(kind) { said } else { 0.0 };
        (sum + seen.other_signs(kind, sum, &elements), said, of.clone().map(|(number, _)| *number).min())
    });
    let best = kinds.max_by(|one, other| one.0.total_cmp(&other.0));
    let (sum, said, Some(number)) = best? else { return None };
    if is_question(&seen.title) && !seen.is_stated(marks.all[number].kind) {
        return None;
    }
    let is_little_else = seen.words as f32 <= sum * WORDS && elements.links <= LINKS;
    let is_in_a_frame = elements.links <= FRAME_LINKS
        && (said >= SURE && seen.prose <= PROSE || said >= LEAST && seen.prose <= LITTLE_PROSE);
    (sum >= LEAST && is_little_else
        || is_in_a_frame
        || sum >= TEXT && seen.words <= BARE_WORDS && elements.links <= BARE_LINKS && elements.signs >= 0.0)
        .then(|| refusal(number))
}

/// Whether a wording is most of a heading, or of a part of a title: headings of pages about something have it among other words.
fn is_most_of(mark: &str, text: &str) -> bool {
    let parts = text.split(['\n', '|', '·', '–', '—', ':', '»', '«', '.', '!']);
    let mut with_it = parts.flat_map(|part| part.split(" - ")).filter(|part| part.contains(mark));
    with_it.any(|part| mark.chars().count() * MOST >= part.trim().chars().count())
}

/// Whether a title asks, as those of pages that explain something: a refusal tells.
fn is_question(title: &str) -> bool {
    let word = title.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    QUESTIONS.split(' ').any(|one| one == word)
}

/// How many times as long as a wording its heading may be.
const MOST: usize = 3;

/// Words with which questions begin, in English, German, French, Spanish, Portuguese, Italian, Dutch, Polish and Russian.
const QUESTIONS: &str = "how what why when where who which wie was warum wann wo wer comment pourquoi quand cómo qué cuándo dónde \
    como porque quando perché dove hoe wat waarom wanneer jak dlaczego kiedy как что почему когда";

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

/// Kinds that sites tell within the frame of their pages.
const FRAMED: [&str; 5] = ["blocked", "rate-limited", "login", "not-found", "server-error"];

/// What a mark weighs, by its place.
pub(crate) const TITLE: f32 = 2.0;
const HEADING: f32 = 1.5;
const BUTTON: f32 = 1.1;
const TEXT: f32 = 1.0;
/// Ordinary pages have the same scripts: not enough even for a page without a word.
const SOURCE: f32 = 0.9;

/// How much more a longer wording says than a short one, which other pages have as well.
fn specificity(mark: &str) -> f32 {
    let letters: usize = mark.chars().map(|c| if is_of_script_without_spaces(c) { 3 } else { 1 }).sum();
    match letters {
        0..MIDDLE => 1.0,
        MIDDLE..LONG => 1.5,
        _ => 2.0,
    }
}

/// Letters of wordings that say more, and of those that say much more.
const MIDDLE: usize = 16;
const LONG: usize = 24;

/// The least weight of a refusal; visible words for each unit of it, and links to other pages, at most.
const LEAST: f32 = 2.0;
const WORDS: f32 = 40.0;
const LINKS: usize = 10;

/// A page says so itself, more than once, among the menus of its site: the least weight, and what it may have besides. What
/// it states of itself is of its site, and does not count.
const SURE: f32 = 3.0;
const PROSE: usize = 60;
const LITTLE_PROSE: usize = 30;
const FRAME_LINKS: usize = 80;

/// A page of so few words and links that does not describe itself is a refusal by one wording.
const BARE_WORDS: usize = 40;
const BARE_LINKS: usize = 2;

/// Marks of a page that are looked at, at most.
const MOST_FOUND: usize = 1_000;

/// Whether a page may be a refusal: only then its text has to be looked at. A short page may be one whatever its source says, a longer one
/// by its title, its response and its scripts: nearly each has some of the wordings somewhere in its source.
pub fn may_be_refusal(headers: &[(&str, &str)], title: &str, source: &str) -> bool {
    let marks = marks();
    let title = plain(title.trim());
    source.len() <= SHORT
        || marks.stated.iter().any(|number| marks.all[*number].is_stated(headers, &title, ""))
        || marks.texts.find(&title).next().is_some()
        || marks.sources.find(source).next().is_some()
}

/// Bytes of a page of which the text is looked at whatever its source says.
const SHORT: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Blocks;

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
    fn of_equal_kinds_the_first_of_the_file_counts() {
        assert_eq!(kind("", "Verify you are human. Enable JavaScript."), Some("challenge"));
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
    fn pages_about_refusals_are_content() {
        let menu: String = (0..14).map(|n| format!("<a href=/{n}>Topic {n}</a> ")).collect();
        for (title, text) in [
            (
                "How to log in to your account",
                "To log in to your account, open the app. Enter your password and tap Log in.",
            ),
            (
                "What does error 404 mean? - Help",
                "The page you are looking for could not be found: the server has answered, but it has no such page.",
            ),
            (
                "Why am I told to try again later",
                "Too many requests: you have exceeded the limit of an hour.",
            ),
        ] {
            assert_eq!(kind(title, &format!("{menu}<h1>{title}</h1><p>{text}")), None, "{title}");
        }
        let heading = "Notes on the song 404 not found and on others of this album of the year";
        assert_eq!(kind(heading, &format!("{menu}<h1>{heading}</h1><p>It was not found on the list.")), None);
        assert_eq!(
            kind("404 not found", &format!("{menu}<h1>404 not found</h1><p>Page not found.")),
            Some("not-found")
        );
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
    fn a_page_with_more_words_than_marks_allow_is_not_searched() {
        let seen = |words: usize| {
            let html = "word ".repeat(words);
            let tree = lycosa_dom::parse(&html, &lycosa_dom::Limits::default());
            let seen = Seen::of(&tree, &Blocks::of(&tree), &html, &[], 200);
            (seen.words, seen.text.is_empty(), seen.source.is_empty())
        };
        let most = marks().most_words;
        assert_eq!(seen(most), (most, false, false));
        assert_eq!(seen(most + 1), (most + 1, true, true));
    }

    #[test]
    fn a_page_that_is_hidden_until_a_script_has_looked_at_it_is_none_for_its_title() {
        let article =
            "We bake bread in the old town every morning but Sunday, from rye and spelt of our own fields. "
                .repeat(36);
        for hidden in ["style=display:none", "hidden", "aria-hidden=true", "style='visibility: hidden'"] {
            assert_eq!(
                kind("Page not found? A song", &format!("<div {hidden}>{article}</div>")),
                None,
                "{hidden}"
            );
            let overlay = "<div><h2>We use cookies</h2><button>Accept all cookies</button></div>";
            assert_eq!(kind("Bread", &format!("<main {hidden}>{article}</main>{overlay}")), None, "{hidden}");
        }
    }

    #[test]
    fn a_title_is_the_same_whatever_its_apostrophes_are() {
        let long = " ".repeat(SHORT + 1);
        for title in [
            "This page isn\u{2019}t available",
            "This page isn't available",
            "THIS PAGE \u{130}SN'T AVAILABLE",
        ] {
            assert!(may_be_refusal(&[], title, &long), "{title}");
        }
    }

    #[test]
    fn a_login_page_has_a_field_for_a_password() {
        let article = "A word of five letters for what one does with a name and a secret, and for the record of a ship. ".repeat(5);
        assert_eq!(kind("Login", &article), None);
        assert_eq!(kind("Login", "<form><input type=password></form>"), Some("login"));
    }
}
