//! Settings of the parser.

use lycosa_url::CanonicalRules;

/// Memory for open elements and the attributes of one element, in bytes; jobs cannot change it.
pub const MEMORY_BYTES: usize = 16 << 20;

/// Limits of one page, and the job's settings of links and identity.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum number of links of one page.
    pub links: usize,
    /// Maximum total size of these links, in bytes: as written in the page, and as URLs.
    pub link_bytes: usize,
    /// Whether the text of each link is stored.
    pub anchors: bool,
    /// Whether the attribute `rel` of each link is stored.
    pub rels: bool,
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
            title_bytes: 1024,
            memory_bytes: MEMORY_BYTES,
            rules: CanonicalRules::default(),
            agent: "lycosa".into(),
            uses: Vec::new(),
            ignored_uses: Vec::new(),
        }
    }
}
