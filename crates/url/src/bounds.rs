//! Bounds: limits beyond which the parser omits content of a page. The page records which bounds it reached.
//!
//! Limits that leave no content of a page are failures: [`crate::FailureKind::is_bound`].

/// A bound that a page may reach; names are part of the outputs' contract and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// More links than `parse.max_links`.
    Links,
    /// Links larger than `parse.max_link_bytes` in total.
    LinkBytes,
    /// A link longer than [`crate::MAX_URL_BYTES`]; it is counted as bad.
    UrlBytes,
    /// A `<base href>` longer than [`crate::MAX_URL_BYTES`]; it is ignored.
    BaseBytes,
    /// A `rel=canonical` longer than [`crate::MAX_URL_BYTES`]; it is ignored.
    CanonicalBytes,
    /// A start tag longer than 1 MiB; it is ignored.
    TagBytes,
    /// A title longer than `parse.max_title_bytes`.
    TitleBytes,
    /// More memory than the parser of a page may use (open elements, attributes of one element); what was
    /// found before is kept.
    ParseMemory,
}

/// Each bound with its stable name, at the index of its bit.
const NAMES: [(Bound, &str); 8] = [
    (Bound::Links, "links"),
    (Bound::LinkBytes, "link-bytes"),
    (Bound::UrlBytes, "url-bytes"),
    (Bound::BaseBytes, "base-bytes"),
    (Bound::CanonicalBytes, "canonical-bytes"),
    (Bound::TagBytes, "tag-bytes"),
    (Bound::TitleBytes, "title-bytes"),
    (Bound::ParseMemory, "parse-memory"),
];

impl Bound {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The bound with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(bound, _)| *bound)
    }
}

/// A set of bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds(u16);

impl Bounds {
    /// Adds a bound.
    pub fn add(&mut self, bound: Bound) {
        self.0 |= 1 << bound as u16;
    }

    /// Whether the set contains a bound.
    pub fn contains(self, bound: Bound) -> bool {
        self.0 & 1 << bound as u16 != 0
    }

    /// The bounds in the set, in order of declaration.
    pub fn iter(self) -> impl Iterator<Item = Bound> {
        NAMES.into_iter().map(|(bound, _)| bound).filter(move |bound| self.contains(*bound))
    }
}

impl FromIterator<Bound> for Bounds {
    fn from_iter<I: IntoIterator<Item = Bound>>(bounds: I) -> Self {
        let mut set = Bounds::default();
        bounds.into_iter().for_each(|bound| set.add(bound));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_back_what_was_added() {
        for (place, (bound, name)) in NAMES.into_iter().enumerate() {
            assert_eq!((bound as usize, bound.as_str()), (place, name));
            assert_eq!(Bound::from_name(name), Some(bound));
            let one: Bounds = [bound].into_iter().collect();
            assert_eq!(one.iter().collect::<Vec<_>>(), [bound]);
        }
        let two: Bounds = [Bound::TitleBytes, Bound::Links, Bound::TitleBytes].into_iter().collect();
        assert_eq!(two.iter().collect::<Vec<_>>(), [Bound::Links, Bound::TitleBytes]);
        assert!(!two.contains(Bound::UrlBytes) && Bound::from_name("none").is_none());
    }
}
