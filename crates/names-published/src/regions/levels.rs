//! The ancestors of a name in the forward region's tree.

use lycosa_url::registered_domain;

/// How a name's level is determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// By dots, as published: one dot is a domain (which has no address), two a second-level host, three a
    /// third-level name; others are not cached.
    Dots,
    /// By the public suffix list: the registered domain, the host with one more label, and all deeper names.
    #[default]
    PublicSuffix,
}

/// A name and its ancestors: suffixes of the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path<'n> {
    /// The domain (table 1).
    pub(super) domain: &'n str,
    /// The second-level host, unless the name is the domain.
    pub(super) host: Option<&'n str>,
    /// The name itself, if it is on the third level.
    pub(super) deeper: Option<&'n str>,
}

impl Levels {
    /// The path of a name; `None` if it cannot be cached.
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
