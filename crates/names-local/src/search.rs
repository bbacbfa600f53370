//! Search domains: the names to try for a given name (resolv.conf(5), `search` and `ndots`).

use std::fmt;

use lycosa_names::{BadName, HostName};

/// Maximum number of search domains: each one costs a further question for a name that does not exist.
const MAX_DOMAINS: usize = 32;

/// Maximum of `ndots`.
const MAX_NDOTS: u8 = 15;

/// Maximum number of characters of a domain that an error message quotes.
const QUOTED: usize = 60;

/// Full stops that IDNA treats as dots.
const DOTS: [char; 4] = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];

/// Search domains and their rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchList {
    /// In normal form; `None` for the root, which appends nothing.
    domains: Vec<Option<String>>,
    ndots: u8,
    no_tld_query: bool,
}

/// Why a search list is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadSearch {
    /// Too many domains: their number.
    TooMany(usize),
    /// An invalid domain.
    BadDomain(String, BadName),
    /// `ndots` is too large.
    BadNdots(u8),
}

impl fmt::Display for BadSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSearch::TooMany(count) => {
                write!(f, "{count} search domains; at most {MAX_DOMAINS} are allowed")
            }
            BadSearch::BadDomain(domain, why) => {
                write!(f, "search domain {domain:?}: {why}; allowed: a domain's name, or . alone")
            }
            BadSearch::BadNdots(ndots) => write!(f, "ndots {ndots}; 0 to {MAX_NDOTS} are allowed"),
        }
    }
}

impl std::error::Error for BadSearch {}

impl SearchList {
    /// Makes a search list. Names with at least `ndots` dots are tried as given before the domains, others
    /// after them. With `no_tld_query` and a domain, a name without dots is not tried as given. The domain
    /// `.` is the root: the name as given.
    pub fn new<D: AsRef<str>>(
        domains: impl IntoIterator<Item = D>,
        ndots: u8,
        no_tld_query: bool,
    ) -> Result<Self, BadSearch> {
        if ndots > MAX_NDOTS {
            return Err(BadSearch::BadNdots(ndots));
        }
        let mut list = SearchList { domains: Vec::new(), ndots, no_tld_query };
        let mut domains = domains.into_iter();
        for domain in domains.by_ref().take(MAX_DOMAINS) {
            let domain = normal(domain.as_ref())?;
            if !list.domains.contains(&domain) {
                list.domains.push(domain);
            }
        }
        match domains.count() {
            0 => Ok(list),
            more => Err(BadSearch::TooMany(MAX_DOMAINS + more)),
        }
    }

    /// The names to try in order, without duplicates and in normal form; the first one that exists is the
    /// result. A name with a final dot is tried alone. Domains that make the name invalid, for example too
    /// long, are skipped.
    pub fn names(&self, text: &str) -> Result<impl Iterator<Item = String> + use<'_>, BadName> {
        let mut buffer = String::new();
        let name = HostName::normalize(text, &mut buffer)?.as_str().to_owned();
        let dots = name.bytes().filter(|byte| *byte == b'.').count();
        let is_absolute = text.ends_with(DOTS);
        let domains = if is_absolute { &[][..] } else { &self.domains };
        let is_first = is_absolute || dots >= usize::from(self.ndots);
        let is_last = !self.no_tld_query || dots > 0 || domains.is_empty();
        let bare = |is_wanted: bool| is_wanted.then_some(None);
        // The bare name is tried once, at its first position.
        let mut is_bare_done = false;
        let parts =
            bare(is_first).into_iter().chain(domains.iter().map(Option::as_deref)).chain(bare(is_last));
        Ok(parts.filter_map(move |domain| match domain {
            None if std::mem::replace(&mut is_bare_done, true) => None,
            None => Some(name.clone()),
            Some(domain) => joined(&name, domain),
        }))
    }
}

/// Appends a domain to a name; `None` if the result is invalid: too long, or with conflicting bidirectional
/// labels.
fn joined(name: &str, domain: &str) -> Option<String> {
    let whole = format!("{name}.{domain}");
    HostName::new(&whole).is_ok().then_some(whole)
}

/// Normalizes a search domain; `None` for the root.
fn normal(domain: &str) -> Result<Option<String>, BadSearch> {
    if domain == "." {
        return Ok(None);
    }
    match HostName::normalize(domain, &mut String::new()) {
        Ok(name) => Ok(Some(name.as_str().to_owned())),
        Err(why) => Err(BadSearch::BadDomain(domain.chars().take(QUOTED).collect(), why)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The names that are tried for one.
    fn tried(domains: &[&str], ndots: u8, name: &str) -> Vec<String> {
        SearchList::new(domains, ndots, false).unwrap().names(name).unwrap().collect()
    }

    #[test]
    fn a_name_without_dots_is_searched_first_and_then_tried_as_it_is() {
        // resolv.conf(5): names with fewer than ndots dots (default is 1) are attempted with each component of the search path in turn.
        assert_eq!(tried(&["a.example", "b.example"], 1, "www"), ["www.a.example", "www.b.example", "www"]);
    }

    #[test]
    fn a_name_with_dots_enough_is_tried_as_it_is_first() {
        // resolv.conf(5): "if there are any dots in a name, the name will be tried first as an absolute name".
        assert_eq!(tried(&["corp.example"], 1, "www.lab"), ["www.lab", "www.lab.corp.example"]);
        assert_eq!(tried(&["corp.example"], 2, "www.lab"), ["www.lab.corp.example", "www.lab"]);
        assert_eq!(tried(&["corp.example"], 0, "www"), ["www", "www.corp.example"]);
        // Kubernetes: ndots:5 and three domains.
        let cluster = ["ns.svc.cluster.local", "svc.cluster.local", "cluster.local"];
        assert_eq!(
            tried(&cluster, 5, "api.ns"),
            ["api.ns.ns.svc.cluster.local", "api.ns.svc.cluster.local", "api.ns.cluster.local", "api.ns"]
        );
    }

    #[test]
    fn a_name_with_a_dot_at_its_end_is_absolute() {
        for name in ["www.", "WWW.", "www\u{3002}", "www\u{ff61}"] {
            assert_eq!(tried(&["a.example"], 5, name), ["www"], "{name}");
        }
    }

    #[test]
    fn names_are_tried_in_normal_form() {
        assert_eq!(
            tried(&["Corp.Example."], 1, "B\u{fc}cher"),
            ["xn--bcher-kva.corp.example", "xn--bcher-kva"]
        );
    }

    #[test]
    fn the_root_as_a_domain_is_the_name_as_it_is_and_it_is_tried_once() {
        // systemd-resolved writes `search .` if no domain is to be searched.
        assert_eq!(tried(&["."], 1, "www"), ["www"]);
        assert_eq!(tried(&[".", "a.example"], 1, "www"), ["www", "www.a.example"]);
        assert_eq!(tried(&["a.example", "."], 1, "w.x"), ["w.x", "w.x.a.example"]);
        assert_eq!(tried(&[], 1, "www"), ["www"]);
    }

    #[test]
    fn a_top_level_domain_is_not_asked_for_where_that_is_forbidden() {
        let names = |domains: &[&str], ndots, name| {
            let list = SearchList::new(domains, ndots, true).unwrap();
            list.names(name).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(names(&["a.example"], 1, "www"), ["www.a.example"]);
        assert_eq!(names(&["a.example"], 2, "www.lab"), ["www.lab.a.example", "www.lab"]);
        assert_eq!(names(&["a.example"], 1, "www."), ["www"]);
        assert_eq!(names(&["a.example"], 0, "www"), ["www", "www.a.example"]);
        assert_eq!(names(&[], 1, "www"), ["www"]);
    }

    #[test]
    fn a_domain_that_makes_the_name_too_long_is_left_out() {
        let long = ["a".repeat(63).as_str(); 3].join("."); // 191 bytes
        let fits = "b".repeat(61); // 191 + 1 + 61 is 253
        assert_eq!(
            tried(&[&fits, "bb.example"], 15, &long),
            [format!("{long}.{fits}"), format!("{long}.bb.example"), long.clone()]
        );
        let more = format!("{fits}b");
        assert_eq!(tried(&[&more, "bb.example"], 15, &long), [format!("{long}.bb.example"), long.clone()]);
    }

    #[test]
    fn what_is_not_allowed_is_told() {
        let domains: Vec<String> = (0..33).map(|n| format!("d{n}.example")).collect();
        assert_eq!(SearchList::new(&domains[..32], 1, false).unwrap().names("www").unwrap().count(), 33);
        let told = SearchList::new(&domains, 1, false).unwrap_err().to_string();
        assert_eq!(told, "33 search domains; at most 32 are allowed");
        let told = SearchList::new(["a..b"], 1, false).unwrap_err().to_string();
        assert_eq!(told, "search domain \"a..b\": a label is empty; allowed: a domain's name, or . alone");
        assert_eq!(
            SearchList::new([""; 0], 16, false).unwrap_err().to_string(),
            "ndots 16; 0 to 15 are allowed"
        );
        let list = SearchList::new(["a.example"], 1, false).unwrap();
        assert_eq!(list.names("192.0.2.1").err(), Some(BadName::Address));
        assert_eq!(list.names(".").err(), Some(BadName::Empty));
    }

    proptest! {
        #[test]
        fn every_name_is_normal_and_given_once(
            domains in prop::collection::vec(prop_oneof![Just(".".to_owned()), "[a-c]{1,3}(\\.[a-c]{1,60}){0,3}", any::<String>()], 0..8),
            ndots in 0..=15_u8,
            no_tld_query in any::<bool>(),
            name in prop_oneof!["[a-cA-C]{1,60}(\\.[a-c]{1,60}){0,3}\\.?", any::<String>()],
        ) {
            let domains: Vec<String> = domains.into_iter().filter(|domain| normal(domain).is_ok()).collect();
            let list = SearchList::new(&domains, ndots, no_tld_query).unwrap();
            let Ok(names) = list.names(&name) else { return Ok(()) };
            let names: Vec<String> = names.collect();
            let mut buffer = String::new();
            let bare = HostName::normalize(&name, &mut buffer).unwrap().as_str();
            let distinct: HashSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), names.len());
            prop_assert!(names.len() <= domains.len() + 1);
            prop_assert!(names.iter().all(|name| HostName::new(name).is_ok() && name.starts_with(bare)));
            if name.ends_with('.') || bare.matches('.').count() >= usize::from(ndots) {
                prop_assert_eq!(names[0].as_str(), bare);
            }
        }
    }
}
