//! What a page states of its own text beside it: descriptions in `meta`, and strings of JSON-LD. Evidence for blocks that say the same.

use hashbrown::HashSet;
use lycosa_dom::{NodeId, Tag, Tree};

use crate::blocks::is_of_script_without_spaces;
use crate::data;
use crate::letters::{is_uncased, is_word};

/// Bytes of all that a page states, at most.
const MOST: usize = 1 << 20;

/// Strings that are a text together, at most.
const STRINGS: usize = 200;

/// Words in a row that have to be the same.
const RUN: usize = 3;

/// What a page states.
#[derive(Debug, Default)]
pub struct Stated {
    /// Descriptions in `meta`.
    pub description: Runs,
    /// Texts and descriptions in JSON-LD.
    pub body: Runs,
    /// Names and headlines in JSON-LD, and in `meta`.
    pub name: Runs,
    /// Reviews, answers and comments in JSON-LD.
    pub review: Runs,
}

impl Stated {
    /// Whether the page states nothing.
    pub fn is_empty(&self) -> bool {
        [&self.description, &self.body, &self.name, &self.review].iter().all(|runs| runs.words.is_empty())
    }

    /// Of a page.
    pub fn of(tree: &Tree) -> Self {
        let mut stated = Stated::default();
        each(tree, &mut |of, text| {
            let runs = match of {
                Of::Description => &mut stated.description,
                Of::Body | Of::Summary => &mut stated.body,
                Of::Name => &mut stated.name,
                Of::Review => &mut stated.review,
            };
            runs.add(text);
        });
        stated
    }
}

/// What a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Description,
    /// A description in JSON-LD: of the page, or of anything else, such as who publishes it.
    Summary,
    Body,
    Name,
    Review,
}

impl Of {
    /// What a key of JSON-LD names.
    fn key(key: &str) -> Option<Self> {
        Some(match key {
            "articleBody" | "text" | "recipeInstructions" => Of::Body,
            "description" | "abstract" => Of::Summary,
            "name" | "headline" => Of::Name,
            "reviewBody" | "reviewText" => Of::Review,
            _ => return None,
        })
    }
}

/// The text that a page states: a line for each string, each once. For pages whose text is made by scripts. with_descriptions: whether
/// descriptions of it are better than nothing.
pub fn text_of(tree: &Tree, with_descriptions: bool) -> String {
    let (mut bodies, mut descriptions) = (Vec::new(), Vec::new());
    each(tree, &mut |of, text| {
        let strings = match of {
            Of::Body | Of::Review => &mut bodies,
            Of::Description | Of::Summary => &mut descriptions,
            Of::Name => return,
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() && !strings.contains(&text) && strings.len() < STRINGS {
            strings.push(text);
        }
    });
    let strings = if bodies.is_empty() && with_descriptions { descriptions } else { bodies };
    strings.iter().map(|text| format!("{text}\n")).collect()
}

/// Tells all strings of a page, of [`MOST`] bytes in total.
fn each(tree: &Tree, tell: &mut dyn FnMut(Of, &str)) {
    let mut left = MOST;
    let mut tell = |of: Of, text: &str| {
        if text.len() <= left {
            left -= text.len();
            tell(of, text);
        }
    };
    for node in tree.ids() {
        match tree.tag(node) {
            Tag::Meta => meta(tree, node, &mut tell),
            _ => {
                for text in data::texts(tree, node) {
                    data::each_string(text, &mut |key, text| {
                        if let Some(of) = Of::key(key) {
                            tell(of, text);
                        }
                    });
                }
            }
        }
    }
}

/// Tells what a `meta` element has.
fn meta(tree: &Tree, node: NodeId, tell: &mut impl FnMut(Of, &str)) {
    let name = tree.attribute(node, "name").or_else(|| tree.attribute(node, "property")).unwrap_or_default();
    let of = match name {
        "description" | "og:description" | "twitter:description" | "Description" => Of::Description,
        "og:title" | "twitter:title" => Of::Name,
        _ => return,
    };
    tell(of, tree.attribute(node, "content").unwrap_or_default());
}

/// Runs of words, and words, as hashes.
#[derive(Debug, Default)]
pub struct Runs {
    runs: HashSet<u32>,
    words: HashSet<u32>,
}

impl Runs {
    /// Adds a text.
    fn add(&mut self, text: &str) {
        let words = words_of(text);
        self.runs.extend(words.windows(RUN).map(hash_of));
        self.words.extend(words);
    }

    /// The part of a text that says the same; -1: nothing is stated.
    pub fn share(&self, words: &[u32]) -> f32 {
        if self.words.is_empty() {
            return -1.0;
        }
        if words.is_empty() {
            return 0.0;
        }
        let (same, all) = if words.len() < RUN {
            (words.iter().filter(|word| self.words.contains(*word)).count(), words.len())
        } else {
            let runs = words.windows(RUN);
            (runs.filter(|run| self.runs.contains(&hash_of(run))).count(), words.len() - RUN + 1)
        };
        same as f32 / all as f32
    }
}

/// The words of a text in their order, as hashes of their letters in lower case.
pub fn words_of(text: &str) -> Vec<u32> {
    first_words_of(text, usize::MAX)
}

/// The first of them.
pub fn first_words_of(text: &str, most: usize) -> Vec<u32> {
    let (mut words, mut hash) = (Vec::new(), 0u32);
    if text.is_ascii() {
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() {
                hash =
                    (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193).wrapping_add(1);
            } else if hash != 0 {
                words.push(std::mem::take(&mut hash));
                if words.len() >= most {
                    return words;
                }
            }
        }
        if hash != 0 {
            words.push(hash);
        }
        return words;
    }
    for character in text.chars() {
        if words.len() >= most {
            return words;
        }
        let is_word = is_word(character);
        let mut add = |lower: char| hash = (hash ^ lower as u32).wrapping_mul(0x0100_0193).wrapping_add(1);
        if is_uncased(character) {
            add(character);
        } else if is_word {
            character.to_lowercase().for_each(add);
        }
        if hash != 0 && (!is_word || is_of_script_without_spaces(character)) {
            words.push(std::mem::take(&mut hash));
        }
    }
    if hash != 0 {
        words.push(hash);
    }
    words
}

/// A hash of words in a row.
pub(crate) fn hash_of(words: &[u32]) -> u32 {
    words.iter().fold(0x811c_9dc5, |hash, word| (hash.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b1))
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    #[test]
    fn strings_of_json_are_found() {
        let html = r#"<meta name=description content="A small lamp for desks">
            <script type="application/ld+json">{"@type": "Product", "name":"Lamp", "sku": "description",
            "description" : "<p>Gives \"warm\" light.<\/p>\nUses&nbsp;little power", "review": {"reviewBody": "I like it a lot"}}</script>"#;
        let stated = Stated::of(&parse(html, &Limits::default()));
        assert_eq!(stated.description.share(&words_of("a small lamp")), 1.0);
        assert_eq!(stated.body.share(&words_of("Gives warm light. Uses little power")), 1.0);
        assert_eq!(stated.body.share(&words_of("Gives warm milk")), 0.0);
        assert_eq!(stated.name.share(&words_of("lamp")), 1.0);
        assert_eq!(stated.review.share(&words_of("like it a lot of times")), 0.5);
    }

    #[test]
    fn words_are_the_same_in_both_ways_of_reading() {
        let text = "The CAT's 12 mats, of 1953";
        let longer = format!("{text} \u{e9}");
        assert_eq!(words_of(text), words_of(&longer)[..7]);
        assert_eq!(first_words_of(text, 3), words_of(text)[..3]);
        assert_eq!(first_words_of(&longer, 3), words_of(text)[..3]);
    }

    #[test]
    fn strings_are_a_text() {
        let html = r#"<meta name=description content="Short"><script type="application/ld+json">
            {"publisher": {"description": "A slogan"}, "articleBody": "One  two.", "headline": "No", "comment": [{"text": "Three"}, {"text": "Three"}]}</script>"#;
        assert_eq!(text_of(&parse(html, &Limits::default()), false), "One two.\nThree\n");
        let described = parse("<meta name=description content=' a b '>", &Limits::default());
        assert_eq!((text_of(&described, true).as_str(), text_of(&described, false).as_str()), ("a b\n", ""));
    }

    #[test]
    fn nothing_stated_is_not_the_same_as_nothing_alike() {
        let stated = Stated::of(&parse("<p>a", &Limits::default()));
        assert_eq!(stated.body.share(&words_of("a b c")), -1.0);
    }
}
