//! The text model: words with Zipf frequencies, and a pool of fragments, rendered once, that all pages consist of.

use std::sync::OnceLock;

use crate::packed::Packed;
use crate::random::Rng;

/// Number of fragments in the pool; more would exceed the processor's cache, fewer would make near-duplicate pages.
const FRAGMENTS: usize = 2048;

/// Words in order of frequency. The first are the function words of the language.
#[rustfmt::skip]
pub(crate) const WORDS: &[&str] = &[
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "on", "with", "as", "be",
    "at", "by", "this", "from", "are", "which", "not", "have", "or", "an", "they", "were", "has",
    "more", "one", "all", "their", "there", "been", "when", "who", "will", "about", "after", "water",
    "city", "house", "river", "market", "people", "garden", "winter", "summer", "road", "north",
    "south", "light", "paper", "school", "music", "history", "village", "morning", "evening", "travel",
    "weather", "family", "nature", "science", "bridge", "forest", "island", "mountain", "harbour",
    "station", "library", "museum", "theatre", "kitchen", "bread", "coffee", "cheese", "apple",
    "orange", "silver", "golden", "copper", "iron", "stone", "glass", "wood", "leather", "cotton",
    "engine", "wheel", "motor", "signal", "number", "letter", "table", "window", "door", "roof",
    "floor", "wall", "field", "farm", "horse", "cattle", "sheep", "bird", "fish", "spider", "wolf",
    "bear", "eagle", "falcon", "salmon", "trout", "flower", "rose", "tulip", "maple", "cedar", "birch",
    "willow", "spring", "autumn", "storm", "thunder", "rain", "snow", "wind", "cloud", "sun", "moon",
    "star", "planet", "ocean", "coast", "beach", "cliff", "valley", "canyon", "desert", "meadow",
    "lake", "stream", "council", "election", "budget", "report", "policy", "review", "minister",
    "mayor", "court", "justice", "bank", "price", "trade", "export", "factory", "workshop", "industry",
    "energy", "power", "solar", "network", "server", "system", "software", "computer", "keyboard",
    "screen", "camera", "radio", "phone", "doctor", "health", "clinic", "medicine", "nurse", "patient",
    "student", "teacher", "lesson", "college", "research", "theory", "method", "result", "measure",
    "sample", "figure", "model", "pattern", "structure", "football", "tennis", "cycling", "running",
    "swimming", "marathon", "season", "league", "champion", "coach", "painting", "sculpture", "gallery",
    "artist", "concert", "orchestra", "violin", "piano", "guitar", "singer", "novel", "poem", "author",
    "editor", "chapter", "story", "journal", "article", "interview", "opinion", "recipe", "flavour",
    "dinner", "breakfast", "restaurant", "vineyard", "harvest", "orchard", "honey", "pepper", "ticket",
    "airport", "railway", "ferry", "hotel", "journey", "passenger", "luggage", "border", "castle",
    "tower", "palace", "temple", "cathedral", "monument", "square", "avenue", "quarter", "suburb",
    "electric", "modern", "ancient", "famous", "quiet", "bright", "gentle", "narrow", "distant",
    "familiar", "simple", "careful", "honest", "curious", "patient", "rapid", "steady", "common",
    "rare", "early", "late", "northern", "southern", "eastern", "western", "central", "local",
    "national", "global", "public", "private", "café", "naïve", "jalapeño", "façade", "smörgåsbord",
    "Zürich", "Málaga", "Kraków", "Ångström", "Győr",
];

/// Index range of [`WORDS`] with plain ASCII words for URLs and host names.
const PLAIN: std::ops::Range<usize> = 39..WORDS.len() - 10;

/// The n-th word that is valid in URLs, host names and titles.
pub(crate) fn plain_word(n: u32) -> &'static str {
    WORDS[PLAIN.start + n as usize % PLAIN.len()]
}

/// A pool of fragments of 1 to 4 sentences, about 250 bytes each.
pub(crate) struct Text {
    /// Concatenated fragments, with ASCII and other UTF-8 words; nothing needs escaping in HTML.
    pool: String,
    /// End of each fragment.
    ends: Vec<u32>,
    /// The compressed fragments, created when a client first accepts gzip.
    packed: OnceLock<Packed>,
}

impl Text {
    /// Renders the pool for a seed, in about a millisecond.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 1, 0, 0);
        let (mut pool, mut ends) = (String::with_capacity(FRAGMENTS * 300), Vec::with_capacity(FRAGMENTS));
        for _ in 0..FRAGMENTS {
            for _ in 0..=rng.below(4) {
                sentence(&mut rng, &mut pool);
            }
            ends.push(pool.len() as u32);
        }
        Self { pool, ends, packed: OnceLock::new() }
    }

    /// Index of the fragment of a random number.
    pub(crate) fn index(n: u32) -> u32 {
        n % FRAGMENTS as u32
    }

    /// The compressed fragments.
    pub(crate) fn packed(&self) -> &Packed {
        self.packed.get_or_init(|| Packed::new((0..FRAGMENTS as u32).map(|n| self.fragment(n))))
    }

    /// The fragment of a random number.
    pub(crate) fn fragment(&self, n: u32) -> &str {
        let i = Self::index(n) as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.pool[start..self.ends[i] as usize]
    }
}

/// Appends one sentence of 6 to 25 words and a space.
fn sentence(rng: &mut Rng, out: &mut String) {
    let words = 6 + rng.below(20);
    for i in 0..words {
        let word = WORDS[rng.zipf(WORDS.len() as u32) as usize];
        if i == 0 {
            let mut letters = word.chars();
            out.extend(letters.next().map(|c| c.to_ascii_uppercase()));
            out.push_str(letters.as_str());
        } else {
            out.push_str(if rng.chance(60) { ", " } else { " " });
            out.push_str(word);
        }
    }
    out.push_str(if rng.chance(80) { "? " } else { ". " });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_plain() {
        assert!((0..1000).all(|n| plain_word(n).bytes().all(|b| b.is_ascii_lowercase())));
    }

    #[test]
    fn fragments_are_sentences_without_markup() {
        let text = Text::new(7);
        let mean = text.pool.len() / FRAGMENTS;
        assert!((150..400).contains(&mean), "{mean}");
        assert!(!text.pool.contains(['<', '>', '&', '"']) && text.fragment(2048) == text.fragment(0));
        assert_eq!(text.pool, Text::new(7).pool);
    }
}
