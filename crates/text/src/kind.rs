//! The kind of a page: a linear model over words of its URL, title, headings and classes, of what it states, and over its proportions.
//!
//! Guarantees: the probabilities of a page are finite and sum to 1; bytes that are no model are refused.

use lycosa_dom::{Tag, Tree};

use crate::blocks::{Blocks, Place};
use crate::data;
use crate::features::words_of;
use crate::tokens::classes_of;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "kinds of pages")]
#[repr(u8)]
pub enum Kind {
    Article,
    Forum,
    Product,
    Collection,
    Listing,
    Documentation,
    Service,
}

/// How many kinds there are.
pub const KINDS: usize = 7;

/// All kinds, with their names.
pub const NAMES: [(Kind, &str); KINDS] = [
    (Kind::Article, "article"),
    (Kind::Forum, "forum"),
    (Kind::Product, "product"),
    (Kind::Collection, "collection"),
    (Kind::Listing, "listing"),
    (Kind::Documentation, "documentation"),
    (Kind::Service, "service"),
];

/// The name of a kind.
pub fn name(kind: Kind) -> &'static str {
    NAMES[kind as usize].1
}

/// The beginning of a model, with the version of its layout.
const MAGIC: &[u8; 8] = b"lycokin1";

/// Bytes of a word in a model: its hash, and a weight for each kind.
const ENTRY: usize = 4 + KINDS;

/// Weights are kept in steps of this size.
const STEP: f32 = 1.0 / 32.0;

/// Words of each part of a page, at most.
const MOST: usize = 40;

/// A linear model.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    /// Sorted by hash.
    entries: Vec<(u32, [i8; KINDS])>,
}

impl Kinds {
    /// Reads a model; `None`: it is none.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let entries = rest.chunks_exact(ENTRY).map(|entry| {
            let mut weights = [0; KINDS];
            weights.iter_mut().zip(&entry[4..]).for_each(|(weight, byte)| *weight = byte.cast_signed());
            (u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]), weights)
        });
        let entries: Vec<_> = entries.collect();
        (rest.len() % ENTRY == 0 && entries.is_sorted_by_key(|(hash, _)| *hash)).then_some(Kinds { entries })
    }

    /// The probability of each kind, of a page with these words.
    pub fn probabilities(&self, words: &[u32]) -> [f32; KINDS] {
        let mut sums = [0.0f32; KINDS];
        for word in words {
            if let Ok(at) = self.entries.binary_search_by_key(word, |(hash, _)| *hash) {
                sums.iter_mut()
                    .zip(self.entries[at].1)
                    .for_each(|(sum, weight)| *sum += f32::from(weight) * STEP);
            }
        }
        let most = sums.iter().copied().fold(f32::MIN, f32::max);
        let parts = sums.map(|sum| (sum - most).exp());
        let whole: f32 = parts.iter().sum();
        parts.map(|part| part / whole)
    }
}

/// The likeliest kind.
pub fn likeliest(probabilities: &[f32; KINDS]) -> Kind {
    let best = (0..KINDS).max_by(|one, other| probabilities[*one].total_cmp(&probabilities[*other]));
    NAMES[best.unwrap_or(0)].0
}

/// All words of a page that tell of its kind, as hashes, each once. url: the page's own, or empty.
pub fn words_of_page(tree: &Tree, blocks: &Blocks, url: &str) -> Vec<u32> {
    let mut words = vec![named("always", 0)];
    words_of_url(url, &mut words);
    words_of_elements(tree, &mut words);
    let title = words_of(&blocks.title);
    words.extend(title.iter().take(MOST).map(|word| named("title", *word)));
    let mut headings = 0;
    for block in &blocks.all {
        let container = &blocks.containers[block.container as usize];
        if container.within.has(Place::Heading) && headings < MOST {
            headings += 1;
            let level = tree.tag(container.node).heading().unwrap_or(0);
            let name = if level == 1 { "first heading" } else { "heading" };
            words.extend(words_of(blocks.text_of(block)).iter().map(|word| named(name, *word)));
        }
    }
    proportions(tree, blocks, &mut words);
    words.sort_unstable();
    words.dedup();
    words
}

/// Words of the path of a URL, how many parts it has, and whether these have numbers.
fn words_of_url(url: &str, words: &mut Vec<u32>) {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let (host, path) = after.split_once('/').unwrap_or((after, ""));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (at, part) in parts.iter().enumerate().take(8) {
        let name = if at + 1 == parts.len() { "last part" } else { "part" };
        words.extend(words_of(part).iter().map(|word| named(name, *word)));
    }
    words.extend(host.split('.').map(|label| named("host", words_of(label).first().copied().unwrap_or(0))));
    if !url.is_empty() {
        words.push(named("parts", parts.len().min(6) as u32));
        let last = parts.last().copied().unwrap_or_default();
        words.push(named("hyphens", last.matches('-').count().min(8) as u32));
        words.push(named("digits", last.bytes().filter(u8::is_ascii_digit).count().min(8) as u32));
        words.push(named("query", u32::from(url.contains('?'))));
        let end = last.rsplit_once('.').map_or("", |(_, end)| end);
        words.extend(words_of(end).first().map(|word| named("end", *word)));
    }
}

/// Words of the classes of `html` and `body`, of types that are stated, and of generators.
fn words_of_elements(tree: &Tree, words: &mut Vec<u32>) {
    let mut classes = Vec::new();
    for node in tree.ids() {
        match tree.tag(node) {
            Tag::Html | Tag::Body | Tag::Main | Tag::Article => {
                let tag = tree.tag(node) as u32;
                classes_of(tree, node, &mut classes);
                words.extend(classes.iter().map(|word| named("class", word.rotate_left(tag % 31))));
            }
            Tag::Meta => {
                let name = tree.attribute(node, "property").or_else(|| tree.attribute(node, "name"));
                let name = name.unwrap_or_default();
                if matches!(name, "og:type" | "generator" | "twitter:card" | "page-type" | "pagetype") {
                    let content = tree.attribute(node, "content").unwrap_or_default();
                    words.extend(words_of(content).iter().take(3).map(|word| named(name, *word)));
                } else if name.starts_with("article:")
                    || name.starts_with("product:")
                    || name.starts_with("og:p")
                {
                    words.push(named("has", words_of(name).iter().fold(0, |all, word| all ^ word)));
                }
            }
            Tag::Script => {
                let types = data::texts(tree, node).flat_map(data::types).take(MOST);
                words.extend(types.filter_map(|name| Some(named("type", *words_of(name).first()?))));
            }
            _ => {
                if let Some(kind) = tree.attribute(node, "itemtype") {
                    let name = kind.rsplit('/').next().unwrap_or_default();
                    words.extend(words_of(name).first().map(|word| named("itemtype", *word)));
                }
            }
        }
    }
}

/// The proportions of a page, in steps.
fn proportions(tree: &Tree, blocks: &Blocks, words: &mut Vec<u32>) {
    let whole = &blocks.containers[0];
    let total = whole.characters.max(1) as f32;
    let mut step = |name: &str, value: f32| words.push(named(name, value.clamp(0.0, 1_000.0) as u32));
    let part = |is_it: &dyn Fn(&crate::blocks::Block) -> bool| {
        blocks.all.iter().filter(|block| is_it(block)).map(|block| block.characters).sum::<u32>() as f32
            / total
    };
    let within = |place: Place| part(&|block| blocks.containers[block.container as usize].within.has(place));
    step("characters", total.log2());
    step("linked", whole.linked as f32 / total * 10.0);
    step("words of a block", (whole.words as f32 / whole.blocks.max(1) as f32).log2().max(0.0) * 2.0);
    step("long blocks", part(&crate::blocks::Block::is_prose) * 10.0);
    for (name, place) in [
        ("in articles", Place::Article),
        ("in main", Place::Main),
        ("in lists", Place::List),
        ("in tables", Place::Table),
        ("in code", Place::Preformatted),
        ("in headings", Place::Heading),
        ("in forms", Place::Form),
        ("in quotes", Place::Quote),
    ] {
        step(name, (within(place) * 100.0 + 1.0).log2());
    }
    let mut counts = [0u32; 256];
    tree.ids().for_each(|node| counts[tree.tag(node) as usize] += 1);
    let count = |tag: Tag| (counts[tag as usize] as f32 + 1.0).log2();
    for (name, tag) in [
        ("articles", Tag::Article),
        ("images", Tag::Img),
        ("forms", Tag::Form),
        ("times", Tag::Time),
        ("first headings", Tag::H1),
        ("second headings", Tag::H2),
        ("third headings", Tag::H3),
        ("codes", Tag::Code),
        ("tables", Tag::Table),
    ] {
        step(name, count(tag));
    }
    let prices = blocks.all.iter().filter(|block| has_price(blocks.text_of(block))).count();
    step("prices", (prices as f32 + 1.0).log2());
}

/// Whether a text has a currency next to a number.
fn has_price(text: &str) -> bool {
    text.char_indices().any(|(at, character)| {
        matches!(character, '$' | '€' | '£' | '¥' | '₹') && {
            let after = text[at + character.len_utf8()..].trim_start();
            after.starts_with(|c: char| c.is_ascii_digit())
                || text[..at].trim_end().ends_with(|c: char| c.is_ascii_digit())
        }
    })
}

/// A hash of a word with where it stands.
fn named(name: &str, word: u32) -> u32 {
    let name =
        name.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (name ^ word).wrapping_mul(0x9e37_79b1).rotate_left(13).wrapping_mul(0x85eb_ca6b).max(1)
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};
    use proptest::prelude::*;

    use super::*;

    fn words(html: &str, url: &str) -> Vec<u32> {
        let tree = parse(html, &Limits::default());
        words_of_page(&tree, &Blocks::of(&tree), url)
    }

    #[test]
    fn a_model_adds_what_words_say() {
        let mut bytes = MAGIC.to_vec();
        for (hash, weights) in [(5u32, [64, 0, 0, 0, 0, 0, 0]), (9, [0, 96, 0, 0, 0, 0, 0u8])] {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(weights);
        }
        let kinds = Kinds::of(&bytes).unwrap();
        assert_eq!(likeliest(&kinds.probabilities(&[5])), Kind::Article);
        assert_eq!(likeliest(&kinds.probabilities(&[5, 9])), Kind::Forum);
        assert!((kinds.probabilities(&[7]).iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(Kinds::of(&bytes[..bytes.len() - 1]).is_none());
    }

    #[test]
    fn urls_titles_and_types_are_words() {
        let with = words(
            "<title>A lamp</title><script type='application/ld+json'>{\"@type\": \"Product\"}</script>",
            "",
        );
        assert!(with.contains(&named("type", words_of("product")[0])));
        assert!(with.contains(&named("title", words_of("lamp")[0])));
        let of_url = words("", "https://shop.example/product/a-lamp.html?x=1");
        assert!(of_url.contains(&named("part", words_of("product")[0])));
        assert!(of_url.contains(&named("end", words_of("html")[0])));
    }

    proptest! {
        #[test]
        fn any_page_has_probabilities(html in "\\PC{0,80}", url in "\\PC{0,40}") {
            let found = Kinds::default().probabilities(&words(&html, &url));
            prop_assert!(found.iter().all(|probability| probability.is_finite()));
        }
    }
}
