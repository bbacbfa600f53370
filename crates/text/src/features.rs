//! What is known of each block of a page, as numbers: what the model decides by.
//!
//! Guarantees: each number is finite; a page's numbers depend on the page alone; time is linear in its size.

use hashbrown::HashMap;
use lycosa_dom::{NONE, NodeId, Tag, Tree};

use crate::blocks::{Block, Blocks, Container, Place};
use crate::figures::TextFigures;
use crate::kind::KINDS;
use crate::stated::{self, Stated};
use crate::surroundings::{Mixture, Outline, Shared, Surroundings};
use crate::tokens::{self, Evidence, Source, Tables};

/// Containers around a block whose figures are among its own.
const AROUND: usize = 4;

/// Makes the list of names, and the function that gives the numbers in their order.
macro_rules! features {
    (|$at:ident| $($name:ident = $value:expr),* $(,)?) => {
        /// Their names.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl At<'_> {
            /// Appends the numbers of a block.
            fn append(&self, numbers: &mut Vec<f32>) {
                let $at = self;
                $(numbers.push($value as f32);)*
            }
        }
    };
}

features! { |at|
    // The block's own text.
    characters = ln(at.text.characters),
    words = ln(at.block.words),
    linked = share(at.block.linked, at.block.characters),
    strong = share(at.block.strong, at.block.characters),
    links = ln(at.block.links),
    images = ln(at.block.images),
    breaks = ln(at.block.breaks),
    word_length = share(at.text.letters, at.text.words),
    digits = share(at.text.digits, at.text.characters),
    capitals = share(at.text.capitals, at.text.letters),
    commas = share(at.text.commas, at.text.words),
    commas_counted = ln(at.text.commas),
    sentences = share(at.text.sentences, at.text.words),
    sentences_counted = ln(at.text.sentences),
    colons = share(at.text.colons, at.text.words),
    separators = share(at.text.separators, at.text.words),
    quotes = share(at.text.quotes, at.text.words),
    currencies = at.text.currencies.min(4),
    code = share(at.text.code, at.text.characters),
    unspaced = share(at.text.unspaced, at.text.characters),
    short_words = share(at.text.short_words, at.text.words),
    capital_words = share(at.text.capital_words, at.text.words),
    numbers = share(at.text.numbers, at.text.words),
    longest_word = at.text.longest_word.min(60),
    lines = ln(at.text.lines),
    has_copyright = u8::from(at.text.has_copyright),
    has_at = u8::from(at.text.has_at),
    begins_with_capital = u8::from(at.text.begins_with_capital),
    begins_with_digit = u8::from(at.text.begins_with_digit),
    ends_sentence = u8::from(at.text.ends_sentence),
    ends_with_colon = u8::from(at.text.ends_with_colon),
    ends_with_ellipsis = u8::from(at.text.ends_with_ellipsis),
    title_words = at.page.of_title[at.index],
    heading_words = at.page.of_heading[at.index],
    again = at.page.again[at.index].min(9),
    // What words say: of the classes around it, of its text, of the heading before it.
    class_own = at.classes().mean,
    class_most = at.classes().most,
    class_least = at.classes().least,
    class_sum = at.classes().sum,
    word_mean = at.page.of_words[at.index].mean,
    word_most = at.page.of_words[at.index].most,
    word_least = at.page.of_words[at.index].least,
    word_sum = at.page.of_words[at.index].sum,
    heading_mean = at.page.of_headings[at.index].mean,
    heading_sum = at.page.of_headings[at.index].sum,
    outline_depth = at.outline().depth,
    outline_sum = at.outline().sum,
    outline_least = at.outline().least,
    outline_most = at.outline().most,
    lead_least = at.page.surroundings.lead(at.page.blocks, at.index),
    lead_most = at.page.surroundings.best_lead(at.page.blocks, at.index),
    stated_description = at.page.stated[at.index][0],
    stated_body = at.page.stated[at.index][1],
    stated_name = at.page.stated[at.index][2],
    stated_review = at.page.stated[at.index][3],
    page_stated_body = at.page.has_stated,
    // Where it is.
    place = at.index as f32 / at.page.count(),
    place_of_characters = at.page.before[at.index] as f32 / at.page.characters(),
    index = ln(at.index as u32),
    index_from_end = ln((at.page.blocks.all.len() - 1 - at.index) as u32),
    from_heading = at.page.blocks_since_heading(at.index),
    from_heading_characters = at.page.characters_since_heading(at.index),
    from_title = at.page.blocks_since_title(at.index),
    depth = at.container().depth,
    list_depth = at.container().list_depth,
    // Elements around it.
    in_article = at.within(Place::Article),
    in_main = at.within(Place::Main),
    in_section = at.within(Place::Section),
    in_navigation = at.within(Place::Navigation),
    in_aside = at.within(Place::Aside),
    in_header = at.within(Place::Header),
    in_footer = at.within(Place::Footer),
    in_form = at.within(Place::Form),
    in_table = at.within(Place::Table),
    in_list = at.within(Place::List),
    in_definitions = at.within(Place::Definitions),
    in_figure = at.within(Place::Figure),
    in_quote = at.within(Place::Quote),
    in_preformatted = at.within(Place::Preformatted),
    in_code = at.within(Place::Code),
    in_heading = at.within(Place::Heading),
    in_button = at.within(Place::Button),
    in_details = at.within(Place::Details),
    in_dialog = at.within(Place::Dialog),
    in_hidden = at.within(Place::Hidden),
    in_microdata = at.within(Place::Microdata),
    in_label = at.within(Place::Label),
    in_caption = at.within(Place::Caption),
    heading = at.heading(0),
    tag_0 = at.tag(0),
    tag_1 = at.tag(1),
    tag_2 = at.tag(2),
    // Containers around it: how much text they have, and how much of that is in links.
    size_0 = ln(at.around(0).characters),
    size_1 = ln(at.around(1).characters),
    size_2 = ln(at.around(2).characters),
    size_3 = ln(at.around(3).characters),
    part_0 = at.around(0).characters as f32 / at.page.characters(),
    part_1 = at.around(1).characters as f32 / at.page.characters(),
    part_2 = at.around(2).characters as f32 / at.page.characters(),
    part_3 = at.around(3).characters as f32 / at.page.characters(),
    linked_0 = share(at.around(0).linked, at.around(0).characters),
    linked_1 = share(at.around(1).linked, at.around(1).characters),
    linked_2 = share(at.around(2).linked, at.around(2).characters),
    linked_3 = share(at.around(3).linked, at.around(3).characters),
    blocks_0 = ln(at.around(0).blocks),
    blocks_1 = ln(at.around(1).blocks),
    blocks_2 = ln(at.around(2).blocks),
    blocks_3 = ln(at.around(3).blocks),
    words_0 = share(at.around(0).words, at.around(0).blocks).min(400.0),
    words_1 = share(at.around(1).words, at.around(1).blocks).min(400.0),
    words_2 = share(at.around(2).words, at.around(2).blocks).min(400.0),
    words_3 = share(at.around(3).words, at.around(3).blocks).min(400.0),
    // The region: the innermost container that has a tenth of the page's text.
    region_part = at.region().characters as f32 / at.page.characters(),
    region_linked = share(at.region().linked, at.region().characters),
    region_words = share(at.region().words, at.region().blocks).min(400.0),
    region_depth = at.container().depth.saturating_sub(at.region().depth),
    // The innermost container that it shares with the page's own heading, and with most of the page's prose.
    with_title_part = at.with_title().part,
    with_title_linked = at.with_title().linked,
    with_title_below = at.with_title().below,
    with_prose_part = at.with_prose().part,
    with_prose_linked = at.with_prose().linked,
    with_prose_below = at.with_prose().below,
    // What containers around it, and the blocks near it, consist of.
    prose_1 = at.mixture(1).prose,
    prices_1 = at.mixture(1).prices,
    sentences_1 = at.mixture(1).sentences,
    headings_1 = at.mixture(1).headings,
    digits_1 = at.mixture(1).digits,
    prose_3 = at.mixture(3).prose,
    prices_3 = at.mixture(3).prices,
    sentences_3 = at.mixture(3).sentences,
    headings_3 = at.mixture(3).headings,
    digits_3 = at.mixture(3).digits,
    near_linked = at.near_mixture().linked,
    near_prose = at.near_mixture().prose,
    near_words = at.near_mixture().words,
    near_prices = at.near_mixture().prices,
    near_sentences = at.near_mixture().sentences,
    near_headings = at.near_mixture().headings,
    // Blocks before and after it.
    words_before_1 = at.words(-1),
    words_before_2 = at.words(-2),
    words_before_3 = at.words(-3),
    words_after_1 = at.words(1),
    words_after_2 = at.words(2),
    words_after_3 = at.words(3),
    linked_before_1 = at.linked(-1),
    linked_before_2 = at.linked(-2),
    linked_after_1 = at.linked(1),
    linked_after_2 = at.linked(2),
    heading_before = at.heading(-1),
    heading_after = at.heading(1),
    is_alike_before = at.is_alike(-1),
    is_alike_after = at.is_alike(1),
    ends_before = at.ends(-1),
    ends_after = at.ends(1),
    // Elements with the same tags and classes.
    alike = ln(at.alike().blocks),
    alike_words = share(at.alike().words, at.alike().blocks).min(400.0),
    alike_part = at.alike().characters as f32 / at.page.characters(),
    alike_linked = share(at.alike().linked, at.alike().characters),
    alike_first = at.alike().first as f32 / at.page.count(),
    alike_last = at.alike().last as f32 / at.page.count(),
    // The page.
    page_characters = ln(at.page.characters() as u32),
    page_blocks = ln(at.page.blocks.all.len() as u32),
    page_linked = share(at.page.whole().linked, at.page.whole().characters),
    page_words = share(at.page.whole().words, at.page.whole().blocks).min(400.0),
    page_prose = at.page.prose,
    page_in_article = at.page.in_article,
    page_in_main = at.page.in_main,
    page_in_lists = at.page.in_lists,
    page_in_tables = at.page.in_tables,
    page_headings = ln(at.page.headings),
    page_articles = ln(at.page.articles),
    page_forms = ln(at.page.forms),
    page_images = ln(at.page.images),
    page_currencies = ln(at.page.currencies),
    page_code = at.page.in_code,
    page_unspaced = at.page.unspaced,
    page_type = at.page.kind,
    page_article = at.page.kinds[0],
    page_forum = at.page.kinds[1],
    page_product = at.page.kinds[2],
    page_collection = at.page.kinds[3],
    page_listing = at.page.kinds[4],
    page_documentation = at.page.kinds[5],
    page_service = at.page.kinds[6],
}

/// Returns the numbers of all blocks of a page, one block after the other: [`NAMES`] of each. kinds: probabilities of the page's kind.
pub fn features(tree: &Tree, blocks: &Blocks, tables: &Tables, kinds: &[f32; KINDS]) -> Vec<f32> {
    let mut page = Page::of(tree, blocks, tables);
    page.kinds = *kinds;
    let mut numbers = Vec::with_capacity(blocks.all.len() * NAMES.len());
    for (index, block) in blocks.all.iter().enumerate() {
        let mut around = [0; AROUND];
        let mut container = block.container;
        for place in &mut around {
            *place = container;
            container = blocks.containers[container as usize].parent;
        }
        At { page: &page, index, block, text: &page.texts[index], around }.append(&mut numbers);
    }
    numbers
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
struct Alike {
    blocks: u32,
    words: u32,
    characters: u32,
    linked: u32,
    first: u32,
    last: u32,
}

/// What is known of a page.
struct Page<'a> {
    tree: &'a Tree,
    blocks: &'a Blocks,
    texts: Vec<TextFigures>,
    /// Characters before each block, and since the last heading; blocks since that, and since the page's main heading.
    before: Vec<u32>,
    since_heading: Vec<(u32, u32)>,
    title_at: Option<usize>,
    /// The part of each block's words that the title, and the heading before, has.
    of_title: Vec<f32>,
    of_heading: Vec<f32>,
    /// The part of each block that the page states beside its text: description, body, name, review.
    stated: Vec<[f32; 4]>,
    /// The part of the page's text that is in what it states as its body; -1: it states none.
    has_stated: f32,
    /// How often each block's text was on the page before.
    again: Vec<u32>,
    /// What the classes of each container say, the words of each block, and those of the heading before it.
    of_classes: Vec<Evidence>,
    of_words: Vec<Evidence>,
    of_headings: Vec<Evidence>,
    alike: HashMap<u32, Alike>,
    surroundings: Surroundings,
    /// The region of each container.
    regions: Vec<u32>,
    prose: f32,
    in_article: f32,
    in_main: f32,
    in_lists: f32,
    in_tables: f32,
    in_code: f32,
    unspaced: f32,
    headings: u32,
    articles: u32,
    forms: u32,
    images: u32,
    currencies: u32,
    kind: u8,
    kinds: [f32; KINDS],
}

impl<'a> Page<'a> {
    /// Looks at a page.
    fn of(tree: &'a Tree, blocks: &'a Blocks, tables: &Tables) -> Self {
        let texts: Vec<_> = blocks.all.iter().map(|block| TextFigures::of(blocks.text_of(block))).collect();
        let total = blocks.containers[0].characters.max(1) as f32;
        let part = |is_it: &dyn Fn(&Block) -> bool| {
            let of = blocks.all.iter().filter(|block| is_it(block));
            of.map(|block| block.characters).sum::<u32>() as f32 / total
        };
        let within =
            |place: Place| part(&|block| blocks.containers[block.container as usize].within.has(place));
        let (mut articles, mut forms, mut images) = (0, 0, 0);
        let mut node = tree.first(Tree::ROOT);
        while node != NONE {
            match tree.tag(node) {
                Tag::Article => articles += 1,
                Tag::Form => forms += 1,
                Tag::Img => images += 1,
                _ => {}
            }
            node = tree.following(node);
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
            prose: part(&|block| block.words >= 20 && block.linked * 3 < block.characters),
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
        let levels: Vec<_> = blocks.all.iter().map(|block| level_of(tree, blocks, block)).collect();
        page.surroundings = Surroundings::of(blocks, &page.texts, &page.of_words, &levels, page.title_at);
        page
    }

    /// Looks at the blocks in their order.
    fn walk(&mut self, tables: &Tables) {
        let values =
            |source, words: &[u32]| Evidence::of(words.iter().map(|word| tables.value(source, *word)));
        let mut of_heading = Evidence::default();
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
            self.of_words.push(values(Source::Text, &said));
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
                of_heading = values(Source::Heading, &said);
                (heading, since) = (words, (0, 0));
            }
        }
        self.has_stated = in_body / self.characters();
    }

    /// Blocks, at least one.
    fn count(&self) -> f32 {
        self.blocks.all.len().max(1) as f32
    }

    /// Characters, at least one.
    fn characters(&self) -> f32 {
        self.whole().characters.max(1) as f32
    }

    /// The container of all.
    fn whole(&self) -> &Container {
        &self.blocks.containers[0]
    }

    /// Blocks since the last heading.
    fn blocks_since_heading(&self, index: usize) -> f32 {
        ln(self.since_heading[index].0)
    }

    /// Characters since the last heading.
    fn characters_since_heading(&self, index: usize) -> f32 {
        ln(self.since_heading[index].1)
    }

    /// Blocks from the page's own heading: negative before it; -9 if there is none.
    fn blocks_since_title(&self, index: usize) -> f32 {
        match self.title_at {
            None => -9.0,
            Some(at) if index >= at => ln((index - at) as u32),
            Some(at) => -ln((at - index) as u32),
        }
    }
}

/// A block, where it is.
struct At<'a> {
    page: &'a Page<'a>,
    index: usize,
    block: &'a Block,
    text: &'a TextFigures,
    /// Its container, and those around it.
    around: [u32; AROUND],
}

impl At<'_> {
    /// Its container.
    fn container(&self) -> &Container {
        self.around(0)
    }

    /// A container around it.
    fn around(&self, level: usize) -> &Container {
        &self.page.blocks.containers[self.around[level] as usize]
    }

    /// Its region.
    fn region(&self) -> &Container {
        &self.page.blocks.containers[self.page.regions[self.around[0] as usize] as usize]
    }

    /// Whether it is within an element of some kind.
    fn within(&self, place: Place) -> u8 {
        u8::from(self.container().within.has(place))
    }

    /// The number of the tag of a container around it.
    fn tag(&self, level: usize) -> u8 {
        self.page.tree.tag(self.around(level).node) as u8
    }

    /// A block before or after it.
    fn near(&self, offset: isize) -> Option<&Block> {
        self.page.blocks.all.get(self.index.checked_add_signed(offset)?)
    }

    /// The words of a block near it; -1: there is none.
    fn words(&self, offset: isize) -> f32 {
        self.near(offset).map_or(-1.0, |block| ln(block.words))
    }

    /// The part of a block near it that is in links; -1: there is none.
    fn linked(&self, offset: isize) -> f32 {
        self.near(offset).map_or(-1.0, |block| share(block.linked, block.characters))
    }

    /// The level of the heading that it, or a block near it, is in; 7: none. 8: there is no such block.
    fn heading(&self, offset: isize) -> u8 {
        self.near(offset).map_or(8, |block| level_of(self.page.tree, self.page.blocks, block))
    }

    /// What the headings above it say.
    fn outline(&self) -> Outline {
        self.page.surroundings.outline(self.index)
    }

    /// The innermost container that it shares with the page's own heading.
    fn with_title(&self) -> Shared {
        self.page.surroundings.with_title(self.page.blocks, self.index)
    }

    /// The innermost container that it shares with most of the page's prose.
    fn with_prose(&self) -> Shared {
        self.page.surroundings.with_prose(self.page.blocks, self.index)
    }

    /// What a container around it consists of.
    fn mixture(&self, level: usize) -> Mixture {
        self.page.surroundings.within(self.page.blocks, self.around[level])
    }

    /// What the blocks near it consist of.
    fn near_mixture(&self) -> Mixture {
        self.page.surroundings.near(self.index)
    }

    /// Whether a block near it is in elements with the same tags and classes.
    fn is_alike(&self, offset: isize) -> u8 {
        let path = self.container().path;
        let near = self.near(offset);
        u8::from(near.is_some_and(|near| self.page.blocks.containers[near.container as usize].path == path))
    }

    /// Whether a block near it ends a sentence.
    fn ends(&self, offset: isize) -> u8 {
        let text = self.index.checked_add_signed(offset).and_then(|index| self.page.texts.get(index));
        u8::from(text.is_some_and(|text| text.ends_sentence))
    }

    /// What the classes around it say.
    fn classes(&self) -> Evidence {
        self.page.of_classes[self.block.container as usize]
    }

    /// All blocks that are alike.
    fn alike(&self) -> Alike {
        self.page.alike.get(&self.container().path).copied().unwrap_or_default()
    }
}

/// The level of the heading that a block is in; 7: none.
fn level_of(tree: &Tree, blocks: &Blocks, block: &Block) -> u8 {
    let mut container = &blocks.containers[block.container as usize];
    if !container.within.has(Place::Heading) {
        return 7;
    }
    loop {
        if let Some(level) = tree.tag(container.node).heading() {
            return level;
        }
        let outer = &blocks.containers[container.parent as usize];
        if outer.node == container.node {
            return 7;
        }
        container = outer;
    }
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
    let mut node = tree.first(Tree::ROOT);
    while node != NONE {
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
            Tag::Script if tree.attribute(node, "type").is_some_and(|is| is.ends_with("ld+json")) => {
                kind = stated_in(tree, node).unwrap_or(kind);
            }
            _ => {}
        }
        node = tree.following(node);
    }
    kind
}

/// What the text of a JSON-LD script says, without reading it as JSON: many are malformed.
fn stated_in(tree: &Tree, script: NodeId) -> Option<StatedKind> {
    let text = tree.children(script).find_map(|child| tree.text(child))?;
    let found = [
        (StatedKind::Forum, &["DiscussionForumPosting", "QAPage"][..]),
        (StatedKind::Article, &["NewsArticle", "BlogPosting", "\"Article\"", "TechArticle", "Report\""]),
        (StatedKind::Product, &["\"Product\"", "ProductGroup"]),
        (StatedKind::Listing, &["ItemList\"", "CollectionPage", "SearchResultsPage"]),
    ];
    found.into_iter().find(|(_, names)| names.iter().any(|name| text.contains(name))).map(|(kind, _)| kind)
}

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

/// A count, on a scale on which twice as many are one step.
fn ln(count: impl Into<u32>) -> f32 {
    (count.into() as f32 + 1.0).log2()
}

/// A part of a whole; 0 of nothing.
fn share(part: u32, whole: u32) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 }
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};
    use proptest::prelude::*;

    use super::*;

    /// The numbers of a page, by block and name.
    fn numbers(html: &str) -> Vec<HashMap<&'static str, f32>> {
        let tree = parse(html, &Limits::default());
        let blocks = Blocks::of(&tree);
        let all = features(&tree, &blocks, &Tables::default(), &[0.0; KINDS]);
        all.chunks(NAMES.len()).map(|row| NAMES.iter().copied().zip(row.iter().copied()).collect()).collect()
    }

    #[test]
    fn a_page_is_described() {
        let page = numbers(
            "<title>Cats - News</title><nav><a href=/>Home</a></nav><article><h1>Cats</h1>\
             <p>Cats are small, and they sleep a lot.</p><p>They do.</p></article>",
        );
        assert_eq!(page.len(), 4);
        assert_eq!((page[0]["in_navigation"], page[0]["linked"]), (1.0, 1.0));
        assert_eq!((page[1]["heading"], page[2]["heading_before"]), (1.0, 1.0));
        assert_eq!(page[2]["heading_words"], 1.0 / 8.0);
        assert_eq!((page[1]["from_title"], page[3]["from_title"]), (0.0, 3f32.log2()));
        assert_eq!((page[2]["is_alike_after"], page[2]["alike"]), (1.0, 3f32.log2()));
        assert_eq!(page[3]["ends_before"], 1.0);
    }

    proptest! {
        #[test]
        fn every_number_is_finite(html in "(<(div|p|h1|table|td|li|a href=/|nav|br)>|</(div|p|li|a)>|[a-z0-9., ]{0,9}|[一-三]){0,60}") {
            let tree = parse(&html, &Limits::default());
            let blocks = Blocks::of(&tree);
            let all = features(&tree, &blocks, &Tables::default(), &[0.0; KINDS]);
            prop_assert_eq!(all.len(), blocks.all.len() * NAMES.len());
            prop_assert!(all.iter().all(|number| number.is_finite()));
        }
    }
}
