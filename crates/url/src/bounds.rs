//! The bounds of one page that cut off a part of it: what is beyond is left out, and the page tells which.
//!
//! Bounds that leave nothing of a page are failures: [`crate::FailureKind::is_bound`].

/// A bound that a page may reach; the names are part of the output's contract and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// More links than `parse.max_links`.
    Links,
    /// Links of more bytes than `parse.max_link_bytes`.
    LinkBytes,
    /// A link longer than [`crate::MAX_URL_BYTES`]; it is counted as bad.
    UrlBytes,
    /// A `<base href>` longer than [`crate::MAX_URL_BYTES`]; it does not count.
    BaseBytes,
    /// A `rel=canonical` longer than [`crate::MAX_URL_BYTES`]; it does not count.
    CanonicalBytes,
    /// A start tag of more than 1 MiB; it does not count.
    TagBytes,
    /// A title of more bytes than `parse.max_title_bytes`.
    TitleBytes,
    /// More memory than the parse of a page may take: elements open at once, attributes of one element. What was found before
    /// counts.
    ParseMemory,
}

/// All bounds with their stable names, each at its place in a set.
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
    /// Adds one.
    pub fn add(&mut self, bound: Bound) {
        self.0 |= 1 << bound as u16;
    }

    /// Whether a bound is in it.
    pub fn contains(self, bound: Bound) -> bool {
        self.0 & 1 << bound as u16 != 0
    }

    /// Those in it, in the order of their declaration.
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
