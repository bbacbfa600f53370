//! Which links belong to the crawl. All rules but dedup live here, in order of cost.

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
    /// Its port is one that no page is fetched from.
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

/// The rules, and the places that the scope has come to mean: they grow when a seed redirects elsewhere.
#[derive(Clone, Debug)]
pub struct Admission {
    scope: Scope,
    max_depth: Option<u32>,
    policy: AddressPolicy,
    places: HashSet<Box<str>>,
    /// Links that [`Admission::allow`] refused, by [`Refusal`].
    refused: [u64; 4],
}

impl Admission {
    /// Rules without a place yet: with [`Scope::Host`] and [`Scope::Domain`] nothing is admitted before
    /// [`Admission::include`]. `max_depth`: links from a seed, at most. Of the policy its ports count here.
    pub fn new(scope: Scope, max_depth: Option<u32>, policy: AddressPolicy) -> Self {
        Admission { scope, max_depth, policy, places: HashSet::new(), refused: [0; 4] }
    }

    /// Takes in the place of a seed.
    pub fn include(&mut self, url: &CrawlUrl) {
        if let Some(place) = self.place(url.borrow())
            && !self.places.contains(place)
        {
            self.places.insert(place.into());
        }
    }

    /// Takes in a place by its name.
    pub(crate) fn include_place(&mut self, place: &str) {
        self.places.insert(place.into());
    }

    /// The places.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places.iter().map(AsRef::as_ref)
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
        } else if self.place(url).is_some_and(|place| !self.places.contains(place)) {
            Err(Refusal::Scope)
        } else if !self.policy.permits_port(url.port()) {
            Err(Refusal::Port)
        } else {
            Ok(())
        }
    }

    /// What of a URL the scope looks at; nothing when everything belongs.
    fn place<'a>(&self, url: UrlRef<'a>) -> Option<&'a str> {
        match self.scope {
            Scope::Host => Some(url.host()),
            Scope::Domain => Some(registered_domain(url.host())),
            Scope::Any => None,
        }
    }
}
