//! What is known of each block of a page, as numbers: what the model decides by.
//!
//! Guarantees: each number is finite; a page's numbers depend on the page alone; time is linear in its size.

mod at;
mod page;

use std::ops::Range;

use lycosa_dom::Tree;

use crate::blocks::{Blocks, Place};
use crate::kind::KINDS;
use crate::tokens::Tables;
use at::{At, ln, share};
use page::Page;
pub(crate) use page::words_of;

/// Makes the list of names, and the functions that give the numbers in their order: those of a block, and those of its page.
macro_rules! features {
    (|$at:ident| { $($name:ident = $value:expr),* $(,)? } |$page:ident| { $($of_page:ident = $of:expr),* $(,)? }) => {
        /// Their names.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*, $(stringify!($of_page)),*];

        impl At<'_> {
            /// Appends the numbers of a block.
            fn append(&self, numbers: &mut Vec<f32>) {
                let $at = self;
                numbers.extend([$($value as f32),*]);
            }
        }

        impl Page<'_> {
            /// The numbers of the page.
            fn numbers(&self) -> Vec<f32> {
                let $page = self;
                vec![$($of as f32),*]
            }
        }
    };
}

features! { |at| {
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
    class_own = at.classes[0].mean,
    class_most = at.classes[0].most,
    class_least = at.classes[0].least,
    class_sum = at.classes[0].sum,
    word_mean = at.words_say[0].mean,
    word_most = at.words_say[0].most,
    word_least = at.words_say[0].least,
    word_sum = at.words_say[0].sum,
    heading_mean = at.heading_says[0].mean,
    heading_sum = at.heading_says[0].sum,
    // The same, of pages that are neither articles nor documentation.
    class_own_others = at.classes[1].mean,
    class_most_others = at.classes[1].most,
    class_least_others = at.classes[1].least,
    class_sum_others = at.classes[1].sum,
    word_mean_others = at.words_say[1].mean,
    word_most_others = at.words_say[1].most,
    word_least_others = at.words_say[1].least,
    word_sum_others = at.words_say[1].sum,
    heading_mean_others = at.heading_says[1].mean,
    heading_sum_others = at.heading_says[1].sum,
    outline_depth = at.outline.depth,
    outline_sum = at.outline.sum,
    outline_least = at.outline.least,
    outline_most = at.outline.most,
    lead_least = at.page.surroundings.worst_lead(at.page.blocks, at.index),
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
    region_part = at.region.characters as f32 / at.page.characters(),
    region_linked = share(at.region.linked, at.region.characters),
    region_words = share(at.region.words, at.region.blocks).min(400.0),
    region_depth = at.container().depth.saturating_sub(at.region.depth),
    // The innermost container that it shares with the page's own heading, and with most of the page's prose.
    with_title_part = at.with_title.part,
    with_title_linked = at.with_title.linked,
    with_title_below = at.with_title.below,
    with_prose_part = at.with_prose.part,
    with_prose_linked = at.with_prose.linked,
    with_prose_below = at.with_prose.below,
    // What containers around it, and the blocks near it, consist of.
    prose_1 = at.mixtures[0].prose,
    prices_1 = at.mixtures[0].prices,
    sentences_1 = at.mixtures[0].sentences,
    headings_1 = at.mixtures[0].headings,
    digits_1 = at.mixtures[0].digits,
    prose_3 = at.mixtures[1].prose,
    prices_3 = at.mixtures[1].prices,
    sentences_3 = at.mixtures[1].sentences,
    headings_3 = at.mixtures[1].headings,
    digits_3 = at.mixtures[1].digits,
    near_linked = at.near_mixture.linked,
    near_prose = at.near_mixture.prose,
    near_words = at.near_mixture.words,
    near_prices = at.near_mixture.prices,
    near_sentences = at.near_mixture.sentences,
    near_headings = at.near_mixture.headings,
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
    alike = ln(at.alike.blocks),
    alike_words = share(at.alike.words, at.alike.blocks).min(400.0),
    alike_part = at.alike.characters as f32 / at.page.characters(),
    alike_linked = share(at.alike.linked, at.alike.characters),
    alike_first = at.alike.first as f32 / at.page.count(),
    alike_last = at.alike.last as f32 / at.page.count(),
    } |page| {
    page_characters = ln(page.characters() as u32),
    page_blocks = ln(page.blocks.all.len() as u32),
    page_linked = share(page.whole().linked, page.whole().characters),
    page_words = share(page.whole().words, page.whole().blocks).min(400.0),
    page_prose = page.prose,
    page_in_article = page.in_article,
    page_in_main = page.in_main,
    page_in_lists = page.in_lists,
    page_in_tables = page.in_tables,
    page_headings = ln(page.headings),
    page_articles = ln(page.articles),
    page_forms = ln(page.forms),
    page_images = ln(page.images),
    page_currencies = ln(page.currencies),
    page_code = page.in_code,
    page_unspaced = page.unspaced,
    page_type = page.kind,
    page_article = page.kinds[0],
    page_forum = page.kinds[1],
    page_product = page.kinds[2],
    page_collection = page.kinds[3],
    page_listing = page.kinds[4],
    page_documentation = page.kinds[5],
    page_service = page.kinds[6],
    }
}

/// A page whose blocks are described.
#[derive(Debug)]
pub struct Described<'a>(Page<'a>);

impl<'a> Described<'a> {
    /// Of a page. kinds: probabilities of its kind.
    pub fn of(tree: &'a Tree, blocks: &'a Blocks, tables: &Tables, kinds: &[f32; KINDS]) -> Self {
        let mut page = Page::of(tree, blocks, tables);
        page.kinds = *kinds;
        Described(page)
    }

    /// Returns the numbers of some blocks, one block after the other: [`NAMES`] of each, and zeros up to the width.
    pub fn rows(&self, some: Range<usize>, width: usize) -> Vec<f32> {
        let page = &self.0;
        let mut numbers = Vec::with_capacity(some.len() * width);
        let of_page = page.numbers();
        for index in some {
            let length = numbers.len();
            At::of(page, index).append(&mut numbers);
            numbers.extend_from_slice(&of_page);
            numbers.resize(length + width, 0.0);
        }
        numbers
    }
}

/// Returns the numbers of all blocks of a page.
pub fn features(
    tree: &Tree,
    blocks: &Blocks,
    tables: &Tables,
    kinds: &[f32; KINDS],
    width: usize,
) -> Vec<f32> {
    Described::of(tree, blocks, tables, kinds).rows(0..blocks.all.len(), width)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lycosa_dom::{Limits, parse};
    use proptest::prelude::*;

    use super::*;

    /// The numbers of a page, by block and name.
    fn numbers(html: &str) -> Vec<HashMap<&'static str, f32>> {
        let tree = parse(html, &Limits::default());
        let blocks = Blocks::of(&tree);
        let all = features(&tree, &blocks, &Tables::default(), &[0.0; KINDS], NAMES.len());
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

    #[test]
    fn some_blocks_have_the_numbers_that_they_have_among_all() {
        let html: String =
            (0..40).map(|n| format!("<div><h2>{n}</h2><p>About {n} cats.</p></div>")).collect();
        let tree = parse(&html, &Limits::default());
        let (blocks, tables) = (Blocks::of(&tree), Tables::default());
        let described = Described::of(&tree, &blocks, &tables, &[0.0; KINDS]);
        let all = described.rows(0..80, NAMES.len());
        assert_eq!(described.rows(30..50, NAMES.len()), all[30 * NAMES.len()..50 * NAMES.len()]);
    }

    proptest! {
        #[test]
        fn every_number_is_finite(html in "(<(div|p|h1|table|td|li|a href=/|nav|br)>|</(div|p|li|a)>|[a-z0-9., ]{0,9}|[一-三]){0,60}") {
            let tree = parse(&html, &Limits::default());
            let blocks = Blocks::of(&tree);
            let all = features(&tree, &blocks, &Tables::default(), &[0.0; KINDS], NAMES.len());
            prop_assert_eq!(all.len(), blocks.all.len() * NAMES.len());
            prop_assert!(all.iter().all(|number| number.is_finite()));
        }
    }
}
