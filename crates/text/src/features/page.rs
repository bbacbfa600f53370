//! What is known of a page as a whole, and of each of its blocks in their order.

use hashbrown::HashMap;
use lycosa_dom::{Tag, Tree};

use crate::blocks::{Block, Blocks, Container, Place};
use crate::data;
use crate::figures::TextFigures;
use crate::kind::KINDS;
use crate::stated::{self, Stated};
use crate::surroundings::Surroundings;
use crate::tokens::{self, Evidence, Source, Tables};

use super::at::ln;

/// What is known of a page.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) tree: &'a Tree,
    pub(super) blocks: &'a Blocks,
    pub(super) texts: Vec<TextFigures>,
    /// Characters before each block, and since the last heading; blocks since that, and since the page's main heading.
    pub(super) before: Vec<u32>,
    pub(super) since_heading: Vec<(u32, u32)>,
    pub(super) title_at: Option<usize>,
    /// The part of each block's words that the title, and the heading before, has.
    pub(super) of_title: Vec<f32>,
    pub(super) of_heading: Vec<f32>,
    /// The part of each block that the page states beside its text: description, body, name, review.
    pub(super) stated: Vec<[f32; 4]>,
    /// The part of the page's text that is in what it states as its body; -1: it states none.
    pub(super) has_stated: f32,
    /// How often each block's text was on the page before.
    pub(super) again: Vec<u32>,
    /// What the classes of each container say, the words of each block, and those of the heading before it.
    pub(super) of_classes: Vec<[Evidence; 2]>,
    pub(super) of_words: Vec<[Evidence; 2]>,
    pub(super) of_headings: Vec<[Evidence; 2]>,
    pub(super) alike: HashMap<u32, Alike>,
    pub(super) surroundings: Surroundings,
    /// The region of each container.
    pub(super) regions: Vec<u32>,
    pub(super) prose: f32,
    pub(super) in_article: f32,
    pub(super) in_main: f32,
    pub(super) in_lists: f32,
    pub(super) in_tables: f32,
    pub(super) in_code: f32,
    pub(super) unspaced: f32,
    pub(super) headings: u32,
    pub(super) articles: u32,
    pub(super) forms: u32,
    pub(super) images: u32,
    pub(super) currencies: u32,
    pub(super) kind: u8,
    pub(super) kinds: [f32; KINDS],
}

impl<'a> Page<'a> {
    /// Looks at a page.
    pub(super) fn of(tree: &'a Tree, blocks: &'a Blocks, tables: &Tables) -> Self {
        let texts: Vec<_> = blocks.all.iter().map(|block| TextFigures::of(blocks.text_of(block))).collect();
        let total = blocks.containers[0].characters.max(1) as f32;
        let part = |is_it: &dyn Fn(&Block) -> bool| {
            let of = blocks.all.iter().filter(|block| is_it(block));
            of.map(|block| block.characters).sum::<u32>() as f32 / total
        };
        let within =
            |place: Place| part(&|block| blocks.containers[block.container as usize].within.has(place));
        let (mut articles, mut forms, mut images) = (0, 0, 0);
        for node in tree.ids() {
            match tree.tag(node) {
                Tag::Article => articles += 1,
                Tag::Form => forms += 1,
                Tag::Img => images += 1,
                _ => {}
            }
        }
        let mut page = Page {
            tree,
            blocks,
            before: Vec::with_capacity(blocks.all.len()),
            since_heading: Vec::with_capacity(blocks.all.len()),
            title_at: None,
            of_title: Vec::with_capacity(blocks.all.len()),
            of_heading: Vec::with_capacity(blocks.all.len()),
            stated: Vec::with_capacity(blocks.all.len()),
            has_stated: 0.0,
            again: Vec::with_capacity(blocks.all.len()),
            of_classes: tokens::of_containers(tree, blocks, tables),
            of_words: Vec::with_capacity(blocks.all.len()),
            of_headings: Vec::with_capacity(blocks.all.len()),
            alike: HashMap::new(),
            surroundings: Surroundings::default(),
            regions: regions(blocks),
            prose: part(&Block::is_prose),
            in_article: within(Place::Article),
            in_main: within(Place::Main),
            in_lists: within(Place::List),
            in_tables: within(Place::Table),
            in_code: within(Place::Preformatted),
            unspaced: texts.iter().map(|text| text.unspaced).sum::<u32>() as f32 / total,
            headings: 0,
            articles,
            forms,
            images,
            currencies: texts.iter().map(|text| text.currencies).sum(),
            kind: kind_of(tree) as u8,
            kinds: [0.0; KINDS],
            texts,
        };
        page.walk(tables);
        let levels: Vec<_> = blocks.all.iter().map(|block| blocks.heading_of(block).unwrap_or(7)).collect();
        page.surroundings = Surroundings::of(blocks, &page.texts, &page.of_words, &levels, page.title_at);
        page
    }

    /// Looks at the blocks in their order.
    pub(super) fn walk(&mut self, tables: &Tables) {
        let mut of_heading = [Evidence::default(); 2];
        let title = words_of(&self.blocks.title);
        let stated = Stated::of(self.tree);
        // All of them are needed where they may be the same as what is stated.
        let most = if stated.is_empty() { WORDS } else { usize::MAX };
        let mut in_body = 0.0;
        let (mut heading, mut seen) = (Vec::new(), HashMap::<&str, u32>::new());
        let (mut characters, mut since) = (0, (0, 0));
        let mut best = 0.0;
        for (index, block) in self.blocks.all.iter().enumerate() {
            let text = self.blocks.text_of(block);
            let in_order = stated::first_words_of(text, most);
            let words = each_once(&in_order);
            let runs = [&stated.description, &stated.body, &stated.name, &stated.review];
            let shares = runs.map(|runs| runs.share(&in_order));
            self.stated.push(shares);
            in_body += shares[1] * block.characters as f32;
            self.before.push(characters);
            self.since_heading.push(since);
            self.of_title.push(overlap(&words, &title));
            self.of_heading.push(overlap(&words, &heading));
            let mut said = words.clone();
            tokens::with_whole(&mut said, &in_order);
            self.of_words.push(tables.evidence(Source::Text, &said));
            self.of_headings.push(of_heading);
            let times = seen.entry(text).or_default();
            self.again.push(*times);
            *times += 1;
            let container = &self.blocks.containers[block.container as usize];
            let alike =
                self.alike.entry(container.path).or_insert(Alike { first: index as u32, ..Alike::default() });
            alike.blocks += 1;
            alike.words += block.words;
            alike.characters += block.characters;
            alike.linked += block.linked;
            alike.last = index as u32;
            characters += block.characters;
            since = (since.0 + 1, since.1 + block.characters);
            if container.within.has(Place::Heading) {
                self.headings += 1;
                // The heading that says what the title says is the page's own; of equal ones the first.
                let is_first = self.tree.tag(container.node) == Tag::H1;
                let likeness =
                    overlap(&title, &words) + overlap(&words, &title) + f32::from(u8::from(is_first)) * 0.5;
                if likeness > best {
                    (best, self.title_at) = (likeness, Some(index));
                }
                of_heading = tables.evidence(Source::Heading, &said);
                (heading, since) = (words, (0, 0));
            }
        }
        self.has_stated = in_body / self.characters();
    }

    /// Blocks, at least one.
    pub(super) fn count(&self) -> f32 {
        self.blocks.all.len().max(1) as f32
    }

    /// Characters, at least one.
    pub(super) fn characters(&self) -> f32 {
        self.whole().characters.max(1) as f32
    }

    /// The container of all.
    pub(super) fn whole(&self) -> &Container {
        &self.blocks.containers[0]
    }

    /// Blocks since the last heading.
    pub(super) fn blocks_since_heading(&self, index: usize) -> f32 {
        ln(self.since_heading[index].0)
    }

    /// Characters since the last heading.
    pub(super) fn characters_since_heading(&self, index: usize) -> f32 {
        ln(self.since_heading[index].1)
    }

    /// Blocks from the page's own heading: negative before it; -9 if there is none.
    pub(super) fn blocks_since_title(&self, index: usize) -> f32 {
        match self.title_at {
            None => -9.0,
            Some(at) if index >= at => ln((index - at) as u32),
            Some(at) => -ln((at - index) as u32),
        }
    }
}
/// What a page states that it is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u8)]
enum StatedKind {
    #[default]
    Unknown,
    Article,
    Product,
    Forum,
    Listing,
    Site,
}

/// Blocks with the same tags and classes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alike {
    pub(super) blocks: u32,
    pub(super) words: u32,
    pub(super) characters: u32,
    pub(super) linked: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The region of each container: the innermost one around it that has a tenth of the page's text.
fn regions(blocks: &Blocks) -> Vec<u32> {
    let least = blocks.containers[0].characters / 10;
    let mut regions = Vec::with_capacity(blocks.containers.len());
    for (index, container) in blocks.containers.iter().enumerate() {
        let is_large = index == 0 || container.characters >= least.max(1);
        let region = if is_large { index as u32 } else { regions[container.parent as usize] };
        regions.push(region);
    }
    regions
}

/// What a page states that it is, by Open Graph and JSON-LD.
fn kind_of(tree: &Tree) -> StatedKind {
    let mut kind = StatedKind::Unknown;
    for node in tree.ids() {
        match tree.tag(node) {
            Tag::Meta if tree.attribute(node, "property") == Some("og:type") => {
                let found = match tree.attribute(node, "content").unwrap_or_default() {
                    "article" | "blog" | "news" => StatedKind::Article,
                    "product" | "og:product" | "product.item" | "book" => StatedKind::Product,
                    "website" => StatedKind::Site,
                    _ => StatedKind::Unknown,
                };
                if matches!(kind, StatedKind::Unknown | StatedKind::Site) {
                    kind = found;
                }
            }
            Tag::Script => {
                let types = || data::texts(tree, node).flat_map(data::types);
                let stated = TYPES.iter().find(|(_, names)| types().any(|name| names.contains(&name)));
                kind = stated.map_or(kind, |(stated, _)| *stated);
            }
            _ => {}
        }
    }
    kind
}

/// Types of JSON-LD of each kind: the first kind of which a page states one.
const TYPES: [(StatedKind, &[&str]); 4] = [
    (StatedKind::Forum, &["DiscussionForumPosting", "QAPage"]),
    (
        StatedKind::Article,
        &[
            "NewsArticle",
            "ReportageNewsArticle",
            "BlogPosting",
            "LiveBlogPosting",
            "Article",
            "TechArticle",
            "Report",
        ],
    ),
    (StatedKind::Product, &["Product", "ProductGroup"]),
    (StatedKind::Listing, &["ItemList", "CollectionPage", "SearchResultsPage"]),
];

/// Words at the beginning of a text that count.
const WORDS: usize = 64;

/// The words of a text, as hashes, each once.
pub(crate) fn words_of(text: &str) -> Vec<u32> {
    each_once(&stated::first_words_of(text, WORDS))
}

/// The first of some words, each once.
fn each_once(words: &[u32]) -> Vec<u32> {
    let mut words = words[..words.len().min(WORDS)].to_vec();
    words.sort_unstable();
    words.dedup();
    words
}

/// The part of some words that others have.
fn overlap(words: &[u32], others: &[u32]) -> f32 {
    if words.is_empty() {
        return 0.0;
    }
    words.iter().filter(|word| others.binary_search(word).is_ok()).count() as f32 / words.len() as f32
}
