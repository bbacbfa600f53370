//! The block list: hosts and networks that get no request. It may change while the crawl runs.
//!
//! ```text
//! # one a line
//! example.com           this name and every name below it
//! =www.example.com      this host alone
//! 192.0.2.0/24          every host that lives there; an address alone is a network of one
//! 2001:db8::/32
//! ```

use std::collections::HashSet;
use std::net::IpAddr;

use lycosa_url::{CrawlUrl, Network, owner_of_6to4};

/// The longest line that is shown in an error.
const SHOWN: usize = 80;

/// Hosts, domains and networks.
#[derive(Clone, Debug, Default)]
pub struct BlockList {
    hosts: HashSet<Box<str>>,
    domains: HashSet<Box<str>>,
    networks: Vec<Network>,
}

/// A line that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}

impl BadLine {
    /// What a valid line is.
    pub const ALLOWED: &str = "a name such as example.com (with all names below it), =www.example.com (that host alone), \
                               an address or a network such as 192.0.2.0/24, or # and a remark";
}

impl BlockList {
    /// Reads a list; bad lines are passed over and given back.
    pub fn parse(text: &str) -> (Self, Vec<BadLine>) {
        let (mut list, mut bad) = (BlockList::default(), Vec::new());
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if !entry.is_empty() && !list.insert(entry) {
                bad.push(BadLine { number: index + 1, text: entry.chars().take(SHOWN).collect() });
            }
        }
        (list, bad)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.domains.is_empty() && self.networks.is_empty()
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.hosts.len() + self.domains.len() + self.networks.len()
    }

    /// Whether a host is blocked by its name; hosts as in canonical URLs. An address that is a host is judged as one.
    pub fn blocks_host(&self, host: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return self.blocks_address(address);
        }
        self.hosts.contains(host) || above(host).any(|name| self.domains.contains(name))
    }

    /// Whether an address is blocked.
    pub fn blocks_address(&self, address: IpAddr) -> bool {
        let blocks = |address| self.networks.iter().any(|network| network.contains(address));
        // The owner of an IPv4 address owns its 6to4 network.
        blocks(address) || owner_of_6to4(address).is_some_and(|owner| blocks(owner.into()))
    }

    /// Adds an entry; returns whether it is valid.
    fn insert(&mut self, entry: &str) -> bool {
        if let Ok(network) = entry.parse::<Network>() {
            self.networks.push(network);
            return true;
        }
        let (alone, name) = entry.strip_prefix('=').map_or((false, entry), |name| (true, name));
        // As the same name in a URL: lower case, international names in their ASCII form.
        let Some(host) = host(name) else { return false };
        if let Ok(network) = host.parse::<Network>() {
            self.networks.push(network); // an address in another spelling
        } else if alone {
            self.hosts.insert(host);
        } else {
            self.domains.insert(host);
        }
        true
    }
}

/// A name in canonical form.
fn host(name: &str) -> Option<Box<str>> {
    if name.is_empty() || name.contains(|c: char| "/:@?[]*\\".contains(c) || c.is_whitespace()) {
        return None;
    }
    CrawlUrl::parse(&format!("http://{name}/")).ok().map(|url| url.host().into())
}

/// A name and the names above it.
fn above(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_with_what_is_below_hosts_alone_and_networks() {
        let text =
            "# asked on Monday\nExample.com\n\n=www.Bücher.example # once\n192.0.2.0/24\n2001:db8::/32\n";
        let (list, bad) = BlockList::parse(text);
        assert_eq!((list.len(), bad), (4, Vec::new()));
        for host in
            ["example.com", "a.b.example.com", "www.xn--bcher-kva.example", "192.0.2.7", "[2001:db8::1]"]
        {
            assert!(list.blocks_host(host), "{host}");
        }
        for host in
            ["example.org", "badexample.com", "com", "xn--bcher-kva.example", "192.0.3.1", "[2001:db9::1]"]
        {
            assert!(!list.blocks_host(host), "{host}");
        }
        assert!(list.blocks_address("::ffff:192.0.2.7".parse().unwrap()));
    }

    #[test]
    fn a_host_is_blocked_however_it_is_written() {
        let (list, bad) =
            BlockList::parse("Example.com.\n=\u{ff57}ww.example.org.\n192.0.2.0/24\n0x0a.1\n=203.0.113.9.");
        assert_eq!((list.len(), bad), (5, Vec::new()));
        for url in [
            "http://example.com./",
            "http://a.EXAMPLE.com.:8080/",
            "http://www.example.org./",
            "http://192.0.2.7./",
            "http://0xC0.0.0x207/",
            "http://3221225991/",
            "http://[::ffff:192.0.2.7]/",
            "http://[64:ff9b::192.0.2.7]/",
            "http://[2002:c000:207::1]/",
            "http://10.0.0.1/",
            "http://203.0.113.9/",
        ] {
            assert!(list.blocks_host(CrawlUrl::parse(url).unwrap().host()), "{url}");
        }
        for address in ["::ffff:192.0.2.7", "64:ff9b::192.0.2.7", "2002:c000:207::1"] {
            assert!(list.blocks_address(address.parse().unwrap()), "{address}");
        }
        assert!(!list.blocks_address("2002:c000:307::1".parse().unwrap()));
    }

    #[test]
    fn a_bad_line_is_told_and_the_others_count() {
        let (list, bad) = BlockList::parse("http://a.com/\n*.b.com\nc.com\n10.0.0.0/99");
        assert_eq!(bad.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 4]);
        assert!(list.blocks_host("c.com") && !list.blocks_host("b.com"));
    }

    proptest! {
        #[test]
        fn any_text_gives_a_list(text: String, host in "[a-z.\\[\\]0-9:]{0,20}") {
            let (list, bad) = BlockList::parse(&text);
            let _ = list.blocks_host(&host);
            prop_assert!(list.len() + bad.len() <= text.lines().count());
        }
    }
}
