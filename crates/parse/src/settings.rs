//! Settings of the parser.

use std::sync::Arc;

use lycosa_text::templates::Templates;
use lycosa_url::CanonicalRules;

/// Memory for open elements and the attributes of one element, in bytes; jobs cannot change it.
pub const MEMORY_BYTES: usize = 16 << 20;

/// Limits of one page, and the job's settings of links and identity.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum number of links of one page; 0: none is looked for.
    pub links: usize,
    /// Maximum total size of these links, in bytes: as written in the page, and as URLs.
    pub link_bytes: usize,
    /// Whether the text of each link is stored.
    pub anchors: bool,
    /// Whether the attribute `rel` of each link is stored.
    pub rels: bool,
    /// Whether the text around each link is stored.
    pub contexts: bool,
    /// Whether the part of the page is stored in which each link is.
    pub places: bool,
    /// Which elements give links beside those that lead from page to page.
    pub sources: Sources,
    /// Maximum size of a decoded title, in bytes.
    pub title_bytes: usize,
    /// Memory for open elements and the attributes of one element, in bytes; beyond it, what was found so far
    /// is kept.
    pub memory_bytes: usize,
    /// Rules that map links with different texts to the same page.
    pub rules: CanonicalRules,
    /// The crawler's product token in X-Robots-Tag and `<meta name>`.
    pub agent: Box<str>,
    /// Uses of pages for which the job crawls: a page that does not allow one of them is not recorded.
    pub uses: Vec<Box<str>>,
    /// Uses about which preferences are not recorded.
    pub ignored_uses: Vec<Box<str>>,
    /// How the main text of a page is found; `None`: it is not looked for.
    pub text: Option<TextMethod>,
    /// Whether it is also stored as Markdown, whether what the page states of itself is, and the fingerprints of the text.
    pub markdown: bool,
    /// See `markdown`.
    pub metadata: bool,
    /// See `markdown`.
    pub fingerprints: bool,
    /// Whether a page that is no content becomes a failure.
    pub refusals: bool,
    /// What pages of a site have in common, learnt while they come; `None`: it is not looked for.
    pub templates: Option<Arc<Templates>>,
}

impl Settings {
    /// Whether links are read from a page's tree: one pass over its bytes does not tell what is around them.
    pub(crate) fn needs_tree(&self) -> bool {
        let of_tree = [Source::Images, Source::Forms];
        self.text.is_some()
            || self.contexts
            || self.places
            || of_tree.into_iter().any(|source| self.sources.has(source))
    }
}

/// Elements that give links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// Pages in frames.
    Frames,
    /// Images, of all sizes.
    Images,
    /// Feeds that the head names.
    Feeds,
    /// Forms that send nothing but a URL.
    Forms,
}

/// All sources, with their names in job files.
const SOURCES: [(Source, &str); 4] = [
    (Source::Frames, "frames"),
    (Source::Images, "images"),
    (Source::Feeds, "feeds"),
    (Source::Forms, "forms"),
];

/// Some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources(u8);

impl Sources {
    /// Those of these names; others are ignored.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |name| SOURCES.iter().find(|(_, known)| *known == name);
        let bits = names.into_iter().filter_map(known).fold(0, |bits, (source, _)| bits | 1 << *source as u8);
        Sources(bits)
    }

    /// Whether one is among them.
    pub(crate) fn has(self, source: Source) -> bool {
        self.0 >> source as u8 & 1 == 1
    }
}

/// How the main text of a page is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMethod {
    /// Ours.
    Lycosa,
    /// The published one: text density by line.
    DensityPaper,
}

/// Settings for tests: users' settings come from the job, which has all defaults.
#[cfg(feature = "samples")]
impl Default for Settings {
    fn default() -> Self {
        Settings {
            links: 10_000,
            link_bytes: 1 << 20,
            anchors: false,
            rels: false,
            contexts: false,
            places: false,
            sources: Sources::named(["frames"]),
            title_bytes: 1024,
            memory_bytes: MEMORY_BYTES,
            rules: CanonicalRules::default(),
            agent: "lycosa".into(),
            uses: Vec::new(),
            ignored_uses: Vec::new(),
            text: None,
            markdown: false,
            metadata: true,
            fingerprints: true,
            refusals: true,
            templates: None,
        }
    }
}
