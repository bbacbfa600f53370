//! Admission: which links belong to the crawl. All rules but dedup, in order of cost.

use std::collections::HashSet;

use lycosa_url::{AddressPolicy, CrawlUrl, UrlRef, registered_domain};

/// Which links belong to the crawl, by where its seeds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Hosts of the seeds.
    Host,
    /// Registered domains of the seeds.
    Domain,
    /// Everything.
    Any,
}

/// Why a link is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Marked `nofollow`, or its page is.
    Nofollow,
    /// Too many links from a seed.
    Depth,
    /// Out of scope.
    Scope,
    /// Its port is blocked.
    Port,
}

impl Refusal {
    /// The stable name, as counted in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Refusal::Nofollow => "nofollow",
            Refusal::Depth => "depth",
            Refusal::Scope => "scope",
            Refusal::Port => "port",
        }
    }
}

/// The rules, with the hosts or domains of the scope: they grow when a seed redirects elsewhere.
#[derive(Clone, Debug)]
pub struct Admission {
    scope: Scope,
    max_depth: Option<u32>,
    policy: AddressPolicy,
    included: HashSet<Box<str>>,
    /// Links that [`Admission::allow`] refused, by [`Refusal`].
    refused: [u64; 4],
}

impl Admission {
    /// Rules without a host or domain: with [`Scope::Host`] and [`Scope::Domain`] no link is admitted before
    /// [`Admission::include`]. `max_depth`: links from a seed, at most. Only the ports of the policy matter here.
    pub fn new(scope: Scope, max_depth: Option<u32>, policy: AddressPolicy) -> Self {
        Admission { scope, max_depth, policy, included: HashSet::new(), refused: [0; 4] }
    }

    /// Adds the host or domain of a seed to the scope.
    pub fn include(&mut self, url: &CrawlUrl) {
        if let Some(name) = self.name(url.borrow())
            && !self.included.contains(name)
        {
            self.included.insert(name.into());
        }
    }

    /// Adds a host or domain to the scope.
    pub(crate) fn include_name(&mut self, name: &str) {
        self.included.insert(name.into());
    }

    /// The hosts or domains of the scope.
    pub(crate) fn included(&self) -> impl ExactSizeIterator<Item = &str> {
        self.included.iter().map(AsRef::as_ref)
    }

    /// Whether the rules allow a link; counts the reason if not.
    pub(crate) fn allow(&mut self, url: UrlRef<'_>, depth: u32, nofollow: bool) -> bool {
        let refusal = self.check(url, depth, nofollow).err();
        refusal.into_iter().for_each(|refusal| self.refused[refusal as usize] += 1);
        refusal.is_none()
    }

    /// Links that were refused for a reason.
    pub(crate) fn refused(&self, refusal: Refusal) -> u64 {
        self.refused[refusal as usize]
    }

    /// Sets that count to an earlier process's.
    pub(crate) fn set_refused(&mut self, refusal: Refusal, count: u64) {
        self.refused[refusal as usize] = count;
    }

    /// Whether a link may be admitted, if it is new.
    pub fn check<'a>(&self, url: impl Into<UrlRef<'a>>, depth: u32, nofollow: bool) -> Result<(), Refusal> {
        let url = url.into();
        if nofollow {
            Err(Refusal::Nofollow)
        } else if self.max_depth.is_some_and(|max| depth > max) {
            Err(Refusal::Depth)
        } else if self.name(url).is_some_and(|name| !self.included.contains(name)) {
            Err(Refusal::Scope)
        } else if !self.policy.permits_port(url.port()) {
            Err(Refusal::Port)
        } else {
            Ok(())
        }
    }

    /// Part of the URL that is compared with the scope; `None` for [`Scope::Any`].
    fn name<'a>(&self, url: UrlRef<'a>) -> Option<&'a str> {
        match self.scope {
            Scope::Host => Some(url.host()),
            Scope::Domain => Some(registered_domain(url.host())),
            Scope::Any => None,
        }
    }
}
