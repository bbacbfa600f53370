//! What parsing needs to know of the job.

use lycosa_url::CanonicalRules;

/// Memory for the elements that are open at once and the attributes of one, in bytes: no job can change it.
pub const MEMORY_BYTES: usize = 16 << 20;

/// Limits of one page, and what the job says of links and of itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Links taken from one page.
    pub links: usize,
    /// Bytes of these links, as they stand in the page and as URLs.
    pub link_bytes: usize,
    /// Whether the text of each link is kept.
    pub anchors: bool,
    /// The same of its attribute `rel`.
    pub rels: bool,
    /// Bytes of a title, as people read it.
    pub title_bytes: usize,
    /// Memory for the elements that are open at once and the attributes of one, in bytes; past it, what was found so far
    /// counts.
    pub memory_bytes: usize,
    /// Which links are the same page though their texts differ.
    pub rules: CanonicalRules,
    /// The product token that X-Robots-Tag and `<meta name>` may speak to, beside everyone.
    pub agent: Box<str>,
}

/// Settings for tests: what people run gets them from the job, which is the one place of defaults.
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
        }
    }
}
