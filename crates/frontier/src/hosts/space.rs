//! Which links may lead to new hosts. A link for whose host there is no space is left out before it becomes known: where there is space
//! later, it is new.

use std::collections::{HashMap, HashSet};

use lycosa_url::{UrlRef, registered_domain};

use super::Hosts;
use crate::politeness::domains::Domains;

/// New hosts that links before one in the same batch lead to.
#[derive(Debug, Default)]
pub(crate) struct Coming<'a> {
    hosts: HashSet<&'a str>,
    domains: HashMap<&'a str, usize>,
}

impl Hosts {
    /// Whether there may be no space for all hosts that so many links lead to: then [`Hosts::has_space`] tells of each.
    pub(crate) fn may_refuse(&self, links: usize, domains: &Domains) -> bool {
        self.len().saturating_add(links) > self.max_hosts
            || (domains.most_hosts() as usize).saturating_add(links) > self.domain_hosts as usize
    }

    /// Whether a link's host has a queue or may get one, besides those that come before it in a batch. Counts the link otherwise, as
    /// one that is left out; returns the message for the first.
    pub(crate) fn has_space<'a>(
        &mut self,
        url: UrlRef<'a>,
        coming: Option<&mut Coming<'a>>,
        domains: &Domains,
    ) -> Result<(), Option<String>> {
        let host = url.host();
        let is_coming = |coming: &Coming<'_>| coming.hosts.contains(host);
        if self.find(host).is_some() || self.is_cold(host) || coming.as_deref().is_some_and(is_coming) {
            return Ok(());
        }
        let domain = registered_domain(host);
        let (hosts, of_domain) = coming
            .as_deref()
            .map_or((0, 0), |coming| (coming.hosts.len(), coming.domains.get(domain).copied().unwrap_or(0)));
        let (limit, setting) = if self.len() + hosts >= self.max_hosts {
            (self.max_hosts, "frontier.max_hosts")
        } else if domains.hosts_of(host) as usize + of_domain >= self.domain_hosts as usize {
            (self.domain_hosts as usize, "politeness.domain_hosts")
        } else {
            if let Some(coming) = coming {
                coming.hosts.insert(host);
                *coming.domains.entry(domain).or_default() += 1;
            }
            return Ok(());
        };
        self.refused += 1;
        if self.refused > 1 {
            return Err(None);
        }
        let url = url.as_str();
        Err(Some(format!("links to new hosts are left out: {setting} is {limit}; the first: {url}")))
    }
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::Settings;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn a_host_has_one_queue_and_no_more_hosts_get_one_than_may() {
        let settings = Settings { domain_hosts: 2, max_hosts: 3, ..Settings::default() };
        let (mut hosts, mut domains) = (Hosts::new(&settings), Domains::default());
        let mut add = |text: &str, hosts: &mut Hosts| {
            let url = url(text);
            hosts
                .has_space(url.borrow(), None, &domains)
                .map(|()| hosts.find_or_insert(url.host(), &mut domains))
        };
        assert_eq!(add("http://a.com/", &mut hosts), Ok(0));
        assert_eq!(add("http://a.com/2", &mut hosts), Ok(0));
        assert_eq!(add("http://b.a.com/", &mut hosts), Ok(1));
        let text =
            "links to new hosts are left out: politeness.domain_hosts is 2; the first: http://c.a.com/";
        assert_eq!(add("http://c.a.com/", &mut hosts), Err(Some(text.to_owned())));
        assert_eq!(add("http://d.com/", &mut hosts), Ok(2));
        assert_eq!(add("http://e.com/", &mut hosts), Err(None), "said once");
        assert_eq!((hosts.len(), hosts.refused(), hosts.find("c.a.com")), (3, 2, None));
    }

    #[test]
    fn hosts_that_come_take_space_as_those_that_are_there() {
        let settings = Settings { domain_hosts: 2, max_hosts: 4, ..Settings::default() };
        let (mut hosts, mut domains) = (Hosts::new(&settings), Domains::default());
        hosts.find_or_insert("a.com", &mut domains);
        let links = ["x.a.com", "x.a.com", "y.a.com", "a.com", "b.com", "c.com", "d.com", "b.com"]
            .map(|host| url(&format!("http://{host}/")));
        assert!(!hosts.may_refuse(1, &domains) && hosts.may_refuse(2, &domains));
        let mut coming = Coming::default();
        let has =
            links.iter().map(|link| hosts.has_space(link.borrow(), Some(&mut coming), &domains).is_ok());
        assert_eq!(has.collect::<Vec<_>>(), [true, true, false, true, true, true, false, true]);
        assert_eq!(hosts.refused(), 2);
    }
}
