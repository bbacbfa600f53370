//! Which names stand above a name in the forward region's tree.

use lycosa_url::registered_domain;

/// What makes a name's level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// Its dots, as published: one dot makes a domain (which has no address), two a second-level host, three a name of
    /// the third level; others have no place.
    Dots,
    /// The public suffix list: the registered domain, the host with one label more, and all names deeper than that.
    #[default]
    PublicSuffix,
}

/// A name and those above it: all are ends of the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path<'n> {
    /// Table 1's name.
    pub(super) domain: &'n str,
    /// The name on the tree's first layer, if the name is not the domain.
    pub(super) host: Option<&'n str>,
    /// The name on the third level, if it is on that level.
    pub(super) deeper: Option<&'n str>,
}

impl Levels {
    /// Where a name stands, if it can have an address at all.
    pub(super) fn path(self, name: &str) -> Option<Path<'_>> {
        let domain = match self {
            Levels::PublicSuffix => registered_domain(name),
            Levels::Dots => {
                let dots = name.bytes().filter(|&byte| byte == b'.').count();
                if !(2..=3).contains(&dots) {
                    return None;
                }
                name.splitn(dots, '.').last()?
            }
        };
        let Some(above) = name.len().checked_sub(domain.len() + 1) else {
            return Some(Path { domain, host: None, deeper: None });
        };
        let host = &name[name[..above].rfind('.').map_or(0, |dot| dot + 1)..];
        Some(Path { domain, host: Some(host), deeper: (host.len() < name.len()).then_some(name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path as a list.
    fn path(levels: Levels, name: &str) -> Vec<&str> {
        levels.path(name).map_or_else(Vec::new, |path| {
            [Some(path.domain), path.host, path.deeper].into_iter().flatten().collect()
        })
    }

    #[test]
    fn by_dots_only_two_and_three_have_a_place() {
        assert_eq!(path(Levels::Dots, "pan.baidu.com"), ["baidu.com", "pan.baidu.com"]);
        assert_eq!(path(Levels::Dots, "a.pan.baidu.com"), ["baidu.com", "pan.baidu.com", "a.pan.baidu.com"]);
        assert_eq!(path(Levels::Dots, "foo.co.uk"), ["co.uk", "foo.co.uk"]); // as published
        for name in ["com", "baidu.com", "x.a.pan.baidu.com"] {
            assert!(path(Levels::Dots, name).is_empty(), "{name}");
        }
    }

    #[test]
    fn by_public_suffix_every_name_has_a_place() {
        let path = |name| path(Levels::PublicSuffix, name);
        assert_eq!(path("foo.co.uk"), ["foo.co.uk"]);
        assert_eq!(path("www.foo.co.uk"), ["foo.co.uk", "www.foo.co.uk"]);
        assert_eq!(path("c.b.a.foo.co.uk"), ["foo.co.uk", "a.foo.co.uk", "c.b.a.foo.co.uk"]);
        assert_eq!([path("com"), path("localhost")], [["com"], ["localhost"]]);
    }
}
