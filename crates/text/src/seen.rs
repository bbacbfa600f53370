//! A page as refusals are looked for in it: its visible words by place, its links, and what it states of itself.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use crate::blocks::{Blocks, Place as Within};
use crate::data;
use crate::marks::LOOKED_AT;
use crate::refusal::TITLE;

/// A page, as marks are looked for in it.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Fields of the response: names in lower case.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// The title, in lower case.
    pub(crate) title: String,
    /// The HTML.
    pub(crate) source: &'a str,
    /// The visible text in lower case, apart from links: of headings, of buttons, and of the rest; and how many words all of it has.
    pub(crate) headings: String,
    pub(crate) buttons: String,
    pub(crate) text: String,
    pub(crate) words: usize,
    /// Words that lead nowhere: what is left of a page without its menus.
    pub(crate) prose: usize,
    /// Links to other pages.
    pub(crate) links: usize,
    /// What the page states of itself weighs: pages with content are described for search engines, others ask not to be found.
    pub(crate) signs: f32,
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
        let (mut headings, mut buttons, mut text) = (String::new(), String::new(), String::new());
        let (mut words, mut prose) = (0, 0);
        for block in &blocks.all {
            let within = blocks.containers[block.container as usize].within;
            // Overlays and messages that scripts show where they are due.
            if within.has(Within::Hidden) || within.has(Within::Dialog) {
                continue;
            }
            words += block.words as usize;
            // Menus of ordinary pages offer to log in, too.
            let is_link = block.linked * 2 > block.characters;
            if !is_link {
                prose += block.words as usize;
            }
            let into = if within.has(Within::Button) {
                &mut buttons
            } else if within.has(Within::Heading) {
                &mut headings
            } else {
                &mut text
            };
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
            buttons,
            text,
            words,
            prose,
            links,
            signs: signs.weight(),
            has_password,
            status,
        }
    }

    /// What other signs weigh of a kind for which there are marks.
    pub(crate) fn other_signs(&self, kind: &str, sum: f32) -> f32 {
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

/// A text in lower case, with the apostrophes of typewriters, as marks have them. The capital i of Turkish leaves a dot behind.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'").replace("i\u{307}", "i")
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
            Tag::Script => self.has_data |= data::texts(tree, node).next().is_some(),
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
