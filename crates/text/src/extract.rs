//! What a page says: its kind, its main text, and how sure that is.
//!
//! One tree of the page, its blocks, two models: the first one judges each block by itself, the second one with what the first says of
//! the blocks around it. The blocks whose expected F1 of words is greatest are the main text.
//!
//! Guarantees: a page's result depends on the page, its URL and what is said to be boilerplate alone; time and memory are linear in the
//! size of the page.

use std::sync::OnceLock;

use lycosa_dom::{Limits, Tree, parse};

use crate::blocks::{Block, Blocks, Place, is_of_script_without_spaces};
use crate::choice::choose;
use crate::context::{COUNT, Context};
use crate::features::{Described, NAMES};
use crate::kind::{KINDS, Kind, Kinds, likeliest, words_of_page};
use crate::markdown::{self, markdown};
use crate::model::Model;
use crate::stated;
use crate::tokens::Tables;

/// A page whose likeliest kind is less likely than this is of no kind.
const LIKELY: f32 = 0.35;

/// Words of a page's text below which what it states beside it may be its text: the page is an empty frame that scripts fill.
const FEW: u32 = 20;

/// Blocks that are described at once: a row of a block has about a kilobyte.
const ROWS: usize = 1_000;

/// Characters of a word, in scripts without spaces.
const ALONE: u32 = 3;

/// What is learnt of the development pages by `tools/text_model`.
#[derive(Clone, Debug)]
pub struct Learnt {
    tables: Tables,
    kinds: Kinds,
    first: Model,
    second: Model,
}

/// The models of this program; `None`: they are for another version, which a test rules out.
fn learnt() -> Option<&'static Learnt> {
    static LEARNT: OnceLock<Option<Learnt>> = OnceLock::new();
    let read = || {
        Learnt::of(
            include_bytes!("../models/words.bin"),
            include_bytes!("../models/kinds.bin"),
            include_bytes!("../models/first.bin"),
            include_bytes!("../models/second.bin"),
        )
    };
    LEARNT.get_or_init(read).as_ref()
}

impl Learnt {
    /// Reads tables of words, the model of kinds, and both models of blocks; `None`: they are for another version.
    pub fn of(tables: &[u8], kinds: &[u8], first: &[u8], second: &[u8]) -> Option<Self> {
        Some(Learnt {
            tables: Tables::of(tables)?,
            kinds: Kinds::of(kinds)?,
            first: Model::of(first, NAMES.len())?,
            second: Model::of(second, NAMES.len() + COUNT)?,
        })
    }

    /// How likely each block of a page is of its main text. Pages of many blocks are described twice, so that few rows are held at once.
    fn judge(&self, tree: &Tree, blocks: &Blocks, kinds: &[f32; KINDS]) -> Vec<f32> {
        let (width, count) = (NAMES.len() + COUNT, blocks.all.len());
        let described = Described::of(tree, blocks, &self.tables, kinds);
        let parts = || (0..count).step_by(ROWS).map(|from| from..count.min(from + ROWS));
        let (mut rows, mut first) = (Vec::new(), Vec::with_capacity(count));
        for part in parts() {
            rows = described.rows(part, width);
            first.extend(self.first.probabilities(&rows, width));
        }
        let context = Context::of(blocks, &first);
        let mut second = Vec::with_capacity(count);
        for part in parts() {
            if count > ROWS {
                rows = described.rows(part.clone(), width);
            }
            context.write(part.start, &mut rows, width);
            second.extend(self.second.probabilities(&rows, width));
        }
        second
    }
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A heading, from 1 to 6.
    Heading(u8),
    /// Text that is none of the others.
    Paragraph,
    /// An item of a list, with how many lists are around it.
    Item(u8),
    /// A cell of a table.
    Cell,
    /// Preformatted text.
    Code,
    /// A quotation.
    Quote,
    /// The caption of a figure or a table.
    Caption,
}

/// A page that was read, and which of its blocks are its main text.
#[derive(Debug)]
pub struct Page {
    /// The page.
    pub tree: Tree,
    /// All its blocks.
    pub blocks: Blocks,
    /// Of each block, whether it is of the main text, and how likely that is.
    pub is_chosen: Vec<bool>,
    /// See `is_chosen`.
    pub probabilities: Vec<f32>,
    /// The kind; `None`: none is likely.
    pub kind: Option<Kind>,
    /// The expected F1 of the main text's words, from 0 to 1.
    pub confidence: f32,
    /// The blocks that would be chosen if nothing were known of other pages; `None`: the same.
    alone: Option<Vec<bool>>,
    /// What it states beside its text, if that is made by scripts; else empty.
    stated: String,
    /// Its URL, or empty.
    url: String,
}

impl Page {
    /// Reads a page. url: its own, or empty.
    pub fn read(html: &str, url: &str) -> Self {
        let tree = parse(html, &Limits::default());
        let blocks = Blocks::of(&tree);
        Page::of(tree, blocks, url, &[])
    }

    /// The same, of a tree and its blocks. is_boilerplate: of each block, whether other pages of its site have it; may be shorter.
    pub fn of(tree: Tree, blocks: Blocks, url: &str, is_boilerplate: &[bool]) -> Self {
        Page::by(learnt(), tree, blocks, url, is_boilerplate)
    }

    /// The same, by models that are not those of this program.
    pub fn by(
        learnt: Option<&Learnt>,
        tree: Tree,
        blocks: Blocks,
        url: &str,
        is_boilerplate: &[bool],
    ) -> Self {
        let stated = stated(&tree, &blocks);
        let Some(learnt) = learnt else {
            let (is_chosen, probabilities) = (vec![true; blocks.all.len()], vec![0.5; blocks.all.len()]);
            return Page {
                tree,
                blocks,
                is_chosen,
                probabilities,
                kind: None,
                confidence: 0.0,
                alone: None,
                stated,
                url: url.to_owned(),
            };
        };
        let kinds = learnt.kinds.probabilities(&words_of_page(&tree, &blocks, url));
        let mut probabilities = learnt.judge(&tree, &blocks, &kinds);
        let has_boilerplate =
            is_boilerplate.contains(&true) && !is_variant(&blocks, &probabilities, is_boilerplate);
        let is_boilerplate = if has_boilerplate { is_boilerplate } else { &[] };
        let mut alone = has_boilerplate.then(|| choose(&blocks, &probabilities).0);
        let flagged =
            probabilities.iter_mut().zip(is_boilerplate).filter(|(_, is_boilerplate)| **is_boilerplate);
        flagged.for_each(|(probability, _)| *probability = 0.0);
        let (mut is_chosen, confidence) = choose(&blocks, &probabilities);
        let is_empty = blocks.all.is_empty() && blocks.title.is_empty() && stated.is_empty();
        if !stated.is_empty() {
            // What is stated is said once.
            for chosen in std::iter::once(&mut is_chosen).chain(&mut alone) {
                for (block, is_it) in blocks.all.iter().zip(chosen) {
                    *is_it &= !stated.contains(blocks.text_of(block));
                }
            }
        }
        Page {
            tree,
            blocks,
            is_chosen,
            probabilities,
            kind: if is_empty { None } else { kind(&kinds) },
            confidence,
            alone,
            stated,
            url: url.to_owned(),
        }
    }

    /// The chosen blocks, with what they are; and the paragraphs of what is stated beside them.
    pub fn chosen(&self) -> impl Iterator<Item = (Role, &str)> {
        let chosen = self.blocks.all.iter().zip(&self.is_chosen).filter(|(_, is_it)| **is_it);
        let chosen = chosen.map(|(block, _)| (self.role(block), self.blocks.text_of(block)));
        chosen.chain(self.stated.lines().map(|line| (Role::Paragraph, line)))
    }

    /// The main text: each block on lines of its own.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (_, block) in self.chosen() {
            text.push_str(block);
            text.push('\n');
        }
        text
    }

    /// The same, if nothing were known of other pages.
    pub fn text_alone(&self) -> String {
        let Some(alone) = &self.alone else { return self.text() };
        let chosen = self.blocks.all.iter().zip(alone).filter(|(_, is_it)| **is_it);
        let chosen = chosen.map(|(block, _)| self.blocks.text_of(block));
        chosen.chain(self.stated.lines()).map(|line| format!("{line}\n")).collect()
    }

    /// The main text as Markdown.
    pub fn markdown(&self, options: markdown::Options) -> String {
        let mut text = markdown(&self.tree, &self.blocks, &self.is_chosen, options, &self.url);
        for line in self.stated.lines() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&markdown::paragraph(line));
            text.push('\n');
        }
        text
    }

    /// What a block is.
    fn role(&self, block: &Block) -> Role {
        let container = &self.blocks.containers[block.container as usize];
        let (within, depth) = (container.within, container.list_depth);
        match self.blocks.heading_of(block) {
            _ if within.has(Place::Preformatted) => Role::Code,
            Some(level) => Role::Heading(level),
            None if within.has(Place::Caption) => Role::Caption,
            None if within.has(Place::Table) => Role::Cell,
            None if within.has(Place::Quote) => Role::Quote,
            None if depth > 0 => Role::Item(depth),
            None => Role::Paragraph,
        }
    }
}

/// Whether other pages have most of what a page is likely to say: it is one of several with one text, such as the colours of a product, and
/// each of them says it.
fn is_variant(blocks: &Blocks, probabilities: &[f32], is_boilerplate: &[bool]) -> bool {
    let (mut of_others, mut own) = (0, 0);
    for ((block, probability), is_boilerplate) in blocks.all.iter().zip(probabilities).zip(is_boilerplate) {
        if *probability >= 0.5 {
            *(if *is_boilerplate { &mut of_others } else { &mut own }) += block.words;
        }
    }
    of_others > own
}

/// What a page states, if it has nearly no text of its own, and less than that.
pub fn stated(tree: &Tree, blocks: &Blocks) -> String {
    let mut words = blocks.containers[0].words;
    if (FEW..FEW * ALONE).contains(&words) {
        // Of scripts without spaces each character is counted, of which some are a word.
        let alone =
            blocks.text.chars().filter(|character| is_of_script_without_spaces(*character)).count() as u32;
        words -= alone.min(words) * (ALONE - 1) / ALONE;
    }
    if words >= FEW {
        return String::new();
    }
    let text = stated::text_of(tree, words == 0);
    if stated::words_of(&text).len() > words as usize { text } else { String::new() }
}

/// The kind, if one is likely.
fn kind(probabilities: &[f32; KINDS]) -> Option<Kind> {
    probabilities.iter().any(|probability| *probability >= LIKELY).then(|| likeliest(probabilities))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page of which no site is known.
    fn page(html: &str) -> Page {
        Page::read(html, "")
    }

    #[test]
    fn the_models_are_of_this_version() {
        assert!(learnt().is_some(), "python -m tools.text_model --write");
    }

    #[test]
    fn an_article_is_chosen_and_its_menu_is_not() {
        let menu: String = (0..20).map(|n| format!("<li><a href=/{n}>Topic {n}</a></li>")).collect();
        let text = "The harbour was rebuilt after the flood of 1953, and ships of up to ninety metres can enter it at any tide. \
            Two cranes stand on the eastern quay, and the western one belongs to the fishing boats.";
        let body: String = (0..8).map(|n| format!("<p>{n}. {text}</p>")).collect();
        let html = format!(
            "<html lang=en><title>The harbour - News</title><body><nav><ul>{menu}</ul></nav><main><article><h1>The harbour</h1>{body}\
             <pre>code here</pre></article></main><footer><p>© 2024 News Ltd. All rights reserved.</p></footer>"
        );
        let page = page(&html);
        let text = page.text();
        assert_eq!(text.matches("rebuilt").count(), 8, "{text}");
        assert!(!text.contains("Topic 3") && !text.contains("rights reserved"), "{text}");
        assert_eq!(page.kind, Some(Kind::Article));
        assert!(page.confidence > 0.7, "{}", page.confidence);
        assert!(page.markdown(markdown::Options::default()).starts_with("# The harbour\n"));
    }

    #[test]
    fn a_page_that_scripts_fill_says_what_it_states() {
        let html = r#"<body><div id=app></div><script type="application/ld+json">{"articleBody": "The harbour was rebuilt."}</script>"#;
        assert_eq!(page(html).text(), "The harbour was rebuilt.\n");
        assert_eq!(page(html).markdown(markdown::Options::default()), "The harbour was rebuilt.\n");
        let chinese = format!(
            r#"<div id=app>加载中</div><script type="application/ld+json">{{"articleBody": "{}"}}</script>"#,
            "港口重建了。".repeat(20)
        );
        assert!(page(&chinese).text().contains("港口重建了。港口"), "its words are counted by characters");
        let beside = r#"<body><p>The tide is low.<p>Loading</p><script type="application/ld+json">{"text": "Ships of up to ninety metres can enter."}</script>"#;
        let text = page(beside).text();
        assert!(
            text.contains("tide") == page(beside).is_chosen[0]
                && text.ends_with("ninety metres can enter.\n"),
            "{text}"
        );
        // Whatever is known of other pages: by this text pages are the same.
        let said = r#"<p>Ships can enter.<script type="application/ld+json">{"text": "Ships can enter. The tide is low."}</script>"#;
        let tree = parse(said, &Limits::default());
        let blocks = Blocks::of(&tree);
        assert_eq!(Page::of(tree, blocks, "", &[true]).text_alone(), page(said).text_alone());
        let photo = "<meta name=description content='A long description of a photo that says more than it'><p>A cat, Rome, 1953.</p>";
        assert_eq!(page(photo).text(), "A cat, Rome, 1953.\n");
    }

    #[test]
    fn pages_of_many_blocks_are_read_in_parts() {
        let html = "<p>The harbour was rebuilt.</p>".repeat(ROWS + 1);
        let page = page(&html);
        assert_eq!(page.probabilities.len(), ROWS + 1);
        assert!(page.probabilities.iter().all(|probability| (0.0..=1.0).contains(probability)));
    }

    #[test]
    fn nothing_says_nothing() {
        let page = page("");
        assert_eq!((page.text(), page.confidence, page.kind), (String::new(), 0.0, None));
    }

    proptest! {
        #[test]
        fn any_page_is_read(html in "(<(div|p|h1|table|tr|td|li|a href=/|nav|pre|br)>|</(div|p|li|a|table)>|[a-z0-9., ]{0,9}|[一-三]){0,60}") {
            let page = page(&html);
            prop_assert_eq!(page.is_chosen.len(), page.blocks.all.len());
            prop_assert!((0.0..=1.0).contains(&page.confidence));
            page.markdown(markdown::Options { links: true, images: true });
        }
    }
}
