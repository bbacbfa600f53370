//! A page as refusals are looked for in it: its visible words by place, its links, and what it states of itself.

use lycosa_dom::{NodeId, Tag, Tree};

use crate::blocks::{Block, Blocks, Place as Within};
use crate::data;
use crate::marks::{LOOKED_AT, marks};
use crate::refusal::TITLE;

/// A page, as marks are looked for in it.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub(crate) tree: &'a Tree,
    /// Fields of the response: names in lower case.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// The title, in lower case.
    pub(crate) title: String,
    /// The HTML; of a page with more words than any mark in it allows nothing, as of its text.
    pub(crate) source: &'a str,
    /// The visible text in lower case, apart from links: of headings, of buttons, and of the rest.
    pub(crate) headings: String,
    pub(crate) buttons: String,
    pub(crate) text: String,
    /// Words of the page, whether they are seen or not.
    pub(crate) words: usize,
    /// Those that lead nowhere: what is left of a page without its menus.
    pub(crate) prose: usize,
    /// The status.
    status: u16,
}

impl<'a> Seen<'a> {
    /// Of a page. headers: names in lower case.
    pub fn of(
        tree: &'a Tree,
        blocks: &Blocks,
        source: &'a str,
        headers: &'a [(&'a str, &'a str)],
        status: u16,
    ) -> Self {
        let within = |block: &Block| blocks.containers[block.container as usize].within;
        // Overlays and messages that scripts show where they are due are not seen.
        let is_apart = |block: &&Block| within(block).has(Within::Dialog);
        let is_seen = |block: &&Block| !within(block).has(Within::Hidden) && !is_apart(block);
        // Menus of ordinary pages offer to log in, too.
        let is_prose = |block: &&Block| block.linked * 2 <= block.characters;
        let count = |words: u32, block: &Block| words + block.words;
        let seen = || blocks.all.iter().filter(is_seen);
        // Whole pages are hidden until a script has looked at them: what is hidden counts for what a page has besides.
        let all = || blocks.all.iter().filter(|block| !is_apart(block));
        let words = all().fold(0, count) as usize;
        let mut page = Seen {
            tree,
            headers,
            title: plain(blocks.title.trim()),
            source: "",
            headings: String::new(),
            buttons: String::new(),
            text: String::new(),
            words,
            prose: all().filter(is_prose).fold(0, count) as usize,
            status,
        };
        if words > marks().most_words {
            return page;
        }
        page.source = source;
        for block in seen().filter(is_prose) {
            let into = if within(block).has(Within::Button) {
                &mut page.buttons
            } else if within(block).has(Within::Heading) {
                &mut page.headings
            } else {
                &mut page.text
            };
            if into.len() < LOOKED_AT {
                into.push_str(&plain(blocks.text_of(block)));
                into.push('\n');
            }
        }
        page
    }

    /// What other signs weigh of a kind for which there are marks.
    pub(crate) fn other_signs(&self, kind: &str, sum: f32, elements: &Elements) -> f32 {
        if sum <= 0.0 {
            return 0.0;
        }
        let status = if self.is_stated(kind) { TITLE } else { 0.0 };
        let password = if kind == "login" && elements.has_password { TITLE } else { 0.0 };
        status + password + elements.signs
    }

    /// Whether the status says so by itself.
    pub(crate) fn is_stated(&self, kind: &str) -> bool {
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
pub(crate) fn plain(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'").replace("i\u{307}", "i")
}

/// What the elements of a page say.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    /// Links to other pages.
    pub(crate) links: usize,
    /// What the page states of itself weighs: pages with content are described for search engines, others ask not to be found.
    pub(crate) signs: f32,
    /// Whether it has a field for a password.
    has_password: bool,
}

impl Elements {
    /// Of a page.
    pub(crate) fn of(tree: &Tree) -> Self {
        let (mut links, mut has_password, mut signs) = (0, false, Signs::default());
        for node in tree.ids() {
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
        }
        Elements { links, signs: signs.weight(), has_password }
    }
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
