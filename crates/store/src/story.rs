//! History of one URL: all its records in the log, in one pass.

use std::net::IpAddr;
use std::path::Path;

use lycosa_records::frame::Kind;
use lycosa_records::{Accepted, Entry, Leased as LeaseTaken, Outcome, Received, Record as _};
use lycosa_url::{CrawlUrl, Micros};
use memchr::memmem::Finder;
use serde::{Serialize, Serializer};

use crate::Position;
use crate::error::LogError;
use crate::reader::{Bodies, Frame, Reader};

/// Number of pages with a link to the URL that are listed in full.
const FOUND_IN_FULL: usize = 10;

/// The MessagePack key of a redirect's target: only records with it need to be decoded to learn the redirects of
/// seeds.
const REDIRECT_KEY: &[u8] = b"\xa8redirect";

/// Repeats the frontier's decisions; it receives seeds and their redirect targets in the log's order. The caller
/// implements it, since the rules belong to another component.
pub trait Judge {
    /// Adds a seed, or the redirect target of a seed.
    fn include(&mut self, url: &CrawlUrl);

    /// Returns the rule that refuses the URL at this depth; `None` if it is admitted.
    fn check(&self, depth: u32, nofollow: bool) -> Option<&'static str>;

    /// Describes in words what a robots.txt response says about the URL; `None` if it says nothing.
    fn robots(&self, status: u16, content_encoding: Option<&str>, body: &[u8]) -> Option<String>;
}

/// All records about one URL. Times are seconds since the epoch; each list is in the log's order.
#[derive(Debug, Default, Serialize)]
pub struct Story {
    /// The URL, in canonical form.
    pub url: String,
    /// Records that accepted it as a seed.
    pub seeds: Vec<Sighting>,
    /// Pages that link to it: the first ten, and the first whose link was admitted.
    pub found: Vec<Found>,
    /// Number of further pages that link to it.
    pub found_more: u64,
    /// Redirects to it.
    pub redirected: Vec<Found>,
    /// Its own outcomes.
    pub outcomes: Vec<Told>,
    /// Outcomes of its origin's robots.txt.
    pub robots: Vec<Told>,
    /// Requests for it without a recorded outcome: in flight, or lost in a crash.
    pub unanswered: Vec<Leased>,
    /// Bytes of the log that were skipped as damaged.
    pub skipped: u64,
}

/// Position and time of a record.
#[derive(Debug, Serialize)]
pub struct Sighting {
    /// The record's position.
    pub position: Position,
    /// Its time.
    #[serde(serialize_with = "seconds")]
    pub at: Micros,
}

/// A lease without an outcome.
#[derive(Debug, Serialize)]
pub struct Leased {
    /// Position and time of the record.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// The number of the lease.
    pub lease: u64,
}

/// A page or redirect that leads to the URL.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Position and time of the record.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// The URL of the page or redirect.
    pub page: String,
    /// Its status code.
    pub status: u16,
    /// Depth of the URL on this path: number of links from the seed.
    pub depth: u32,
    /// Whether the link is `nofollow`.
    pub nofollow: bool,
    /// The rule that refuses it; `None` if it is admitted (unless it was known already).
    pub refused: Option<&'static str>,
}

/// An outcome.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Position and time of the record.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// The fetched URL.
    pub url: String,
    /// The number of the lease; 0 if the frontier settled the URL without a fetch.
    pub lease: u64,
    /// Depth: number of links from the nearest seed.
    pub depth: u32,
    /// Number of earlier attempts.
    pub attempt: u32,
    /// Whether the URL was queued for a retry.
    pub retry: bool,
    /// Status code.
    pub status: Option<u16>,
    /// Kind of failure.
    pub error: Option<String>,
    /// Details of the failure.
    pub error_detail: Option<String>,
    /// The server's address.
    pub address: Option<IpAddr>,
    /// Target of the redirect.
    pub redirect: Option<String>,
    /// The redirects that led here: URL and status.
    pub chain: Vec<(String, u16)>,
    /// For robots.txt: what it says about the URL.
    pub verdict: Option<String>,
    /// Number of links on the page.
    pub links: usize,
    /// Start of the fetch.
    #[serde(serialize_with = "seconds")]
    pub started: Micros,
    /// Durations in seconds.
    pub times: Phases,
}

/// Durations of an exchange's phases, in seconds; 0 if a phase did not happen.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the phases of `lycosa_url::Times`, and the name's resolution")]
pub struct Phases {
    pub name: f64,
    pub connect: f64,
    pub tls: f64,
    pub first_byte: f64,
    pub body: f64,
}

/// Collects the history of a URL. Damage is skipped and counted.
pub fn story(directory: &Path, url: &CrawlUrl, judge: &mut dyn Judge) -> Result<Story, LogError> {
    let mut reader = Reader::open(directory, Bodies::Robots)?;
    let mut teller = Teller {
        url,
        by_url: Finder::new(url.as_str()),
        by_origin: Finder::new(url.origin()),
        by_redirect: Finder::new(REDIRECT_KEY),
        judge,
        admitted: false,
        story: Story { url: url.as_str().to_owned(), ..Story::default() },
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => teller.hear(&frame),
            Ok(None) => return Ok(teller.story),
            Err(LogError::Damaged { .. }) => teller.story.skipped += reader.skip_damage()?,
            Err(error) => return Err(error),
        }
    }
}

/// Builds the story while the log is read.
struct Teller<'a> {
    url: &'a CrawlUrl,
    by_url: Finder<'a>,
    by_origin: Finder<'a>,
    by_redirect: Finder<'a>,
    judge: &'a mut dyn Judge,
    /// Whether an admitted link has been found.
    admitted: bool,
    story: Story,
}

impl Teller<'_> {
    /// Processes a record. Its bytes are searched before it is decoded, since most records do not concern the URL.
    fn hear(&mut self, frame: &Frame<'_>) {
        let is_told = match frame.header.kind {
            Kind::Seed => true,
            Kind::Lease => self.by_url.find(frame.facts).is_some(),
            Kind::Page => {
                self.by_url.find(frame.facts).is_some() || self.by_redirect.find(frame.facts).is_some()
            }
            Kind::Robots => self.by_origin.find(frame.facts).is_some(),
            Kind::Request | Kind::Response | Kind::Newer => false,
        };
        let Some(entry) = is_told.then(|| frame.entry().ok()).flatten() else { return };
        let position = frame.position;
        match entry {
            Entry::Accepted(accepted) => self.seed(position, &accepted),
            Entry::Leased(leased) => self.lease(position, &leased),
            Entry::Outcome(outcome) if outcome.kind() == Kind::Robots => {
                self.robots(position, outcome.into_owned())
            }
            Entry::Outcome(outcome) => self.page(position, outcome.into_owned()),
        }
    }

    /// Processes a seed: the URL itself, or another one that extends the scope.
    fn seed(&mut self, position: Position, accepted: &Accepted<'_>) {
        let request = &accepted.request;
        if request.depth == 0 {
            self.judge.include(&request.url);
        }
        if request.url == *self.url {
            self.story.seeds.push(Sighting { position, at: accepted.at });
        }
    }

    /// Processes a lease.
    fn lease(&mut self, position: Position, leased: &LeaseTaken<'_>) {
        if *leased.url == *self.url {
            let at = leased.granted.saturating_add_signed(leased.wall_offset_us);
            self.story.unanswered.push(Leased { sighting: Sighting { position, at }, lease: leased.lease });
        }
    }

    /// Processes an outcome: the URL's own, or of a page that leads to it.
    fn page(&mut self, position: Position, outcome: Outcome) {
        let sighting = Sighting { position, at: outcome.response.fetched_at() };
        if let (false, Some(received)) = (outcome.retry, outcome.received()) {
            match &outcome.redirect {
                Some(target) => self.redirect(&sighting, &outcome, received.status, target),
                None => self.links(&sighting, &outcome, received.status),
            }
        }
        if *outcome.url() == *self.url {
            let lease = outcome.request().lease;
            self.story.unanswered.retain(|leased| leased.lease != lease);
            self.story.outcomes.push(told(sighting, &outcome));
        }
    }

    /// Processes a redirect. The redirect target of a seed extends the scope.
    fn redirect(&mut self, sighting: &Sighting, outcome: &Outcome, status: u16, target: &CrawlUrl) {
        let depth = outcome.request().depth;
        if depth == 0 {
            self.judge.include(target);
        }
        if *target == *self.url {
            let found = self.found(sighting, outcome, status, (depth, false));
            self.story.redirected.push(found);
        }
    }

    /// Processes a page's links.
    fn links(&mut self, sighting: &Sighting, outcome: &Outcome, status: u16) {
        let Some(link) = outcome.links.iter().find(|link| link.url == self.url.borrow()) else { return };
        let depth = outcome.request().depth.saturating_add(1);
        let found = self.found(sighting, outcome, status, (depth, link.nofollow));
        let first_admitted = found.refused.is_none() && !self.admitted;
        self.admitted |= first_admitted;
        if self.story.found.len() < FOUND_IN_FULL || first_admitted {
            self.story.found.push(found);
        } else {
            self.story.found_more += 1;
        }
    }

    /// Describes a page or redirect that leads to the URL.
    fn found(
        &self,
        sighting: &Sighting,
        outcome: &Outcome,
        status: u16,
        (depth, nofollow): (u32, bool),
    ) -> Found {
        let refused = self.judge.check(depth, nofollow);
        let sighting = Sighting { position: sighting.position, at: sighting.at };
        Found { sighting, page: outcome.url().as_str().to_owned(), status, depth, nofollow, refused }
    }

    /// Processes an outcome of a robots.txt. Its origin is that of the first URL in the redirect chain.
    fn robots(&mut self, position: Position, outcome: Outcome) {
        let sighting = Sighting { position, at: outcome.response.fetched_at() };
        let request = outcome.request();
        if request.first_url().origin() == self.url.origin() && !request.is_for_tdmrep() {
            let verdict = outcome.received().and_then(|received| self.verdict(&outcome, received));
            self.story.robots.push(Told { verdict, ..told(sighting, &outcome) });
        }
    }

    /// What a robots.txt says about the URL.
    fn verdict(&self, outcome: &Outcome, received: &Received) -> Option<String> {
        match &outcome.rules {
            Some(rules) => self.judge.robots(received.status, None, rules),
            // A record of version 1.
            None => {
                let coding = received.head.get("content-encoding");
                self.judge.robots(received.status, coding.as_deref(), received.body.memory()?)
            }
        }
    }
}

/// Summarizes an outcome without its head, body and links.
fn told(sighting: Sighting, outcome: &Outcome) -> Told {
    let phase = |micros: u32| f64::from(micros) / 1e6;
    let (response, request, times) = (&outcome.response, outcome.request(), &outcome.response.times);
    let failure = outcome.failure();
    Told {
        sighting,
        verdict: None,
        links: outcome.links.len(),
        times: Phases {
            name: phase(request.name_us),
            connect: phase(times.connect_us),
            tls: phase(times.tls_us),
            first_byte: phase(times.first_byte_us),
            body: phase(times.body_us),
        },
        url: request.url.as_str().to_owned(),
        lease: request.lease,
        depth: request.depth,
        attempt: request.attempt,
        retry: outcome.retry,
        status: outcome.received().map(|received| received.status),
        error: failure.map(|failure| failure.kind.as_str().to_owned()),
        error_detail: failure.map(|failure| failure.detail.clone()),
        address: response.address,
        redirect: outcome.redirect.as_ref().map(|url| url.as_str().to_owned()),
        chain: request.chain.iter().map(|step| (step.url.as_str().to_owned(), step.status)).collect(),
        started: response.started.saturating_add_signed(times.wall_offset_us),
    }
}

/// Serializes a time as seconds.
fn seconds<S: Serializer>(micros: &Micros, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use lycosa_records::{Purpose, Request, Step};
    use lycosa_url::{Failure, FailureKind};

    use super::*;
    use crate::samples::{outcome, written};

    /// Admits URLs up to a depth; remembers the URLs passed to `include`.
    struct Depth(u32, Vec<String>);

    impl Judge for Depth {
        fn include(&mut self, url: &CrawlUrl) {
            self.1.push(url.as_str().to_owned());
        }

        fn check(&self, depth: u32, nofollow: bool) -> Option<&'static str> {
            if nofollow { Some("nofollow") } else { (depth > self.0).then_some("depth") }
        }

        fn robots(&self, status: u16, _: Option<&str>, body: &[u8]) -> Option<String> {
            (status == 200).then(|| format!("{} bytes", body.len()))
        }
    }

    fn parsed(url: &str) -> CrawlUrl {
        CrawlUrl::parse(url).unwrap()
    }

    /// A page with links.
    fn linking(url: &str, depth: u32, links: &[(&str, bool)]) -> Outcome {
        let mut outcome = outcome(1, 2000);
        (outcome.response.request.url, outcome.response.request.depth) = (parsed(url), depth);
        outcome.response.finished = 1_500_000;
        let links: Vec<_> = links.iter().map(|(url, nofollow)| (parsed(url), *nofollow)).collect();
        outcome.links = links.iter().map(|(url, nofollow)| (url, *nofollow)).collect();
        outcome
    }

    /// A redirect.
    fn redirecting(url: &str, depth: u32, target: &str) -> Outcome {
        let mut outcome = linking(url, depth, &[]);
        outcome.response.result.as_mut().unwrap().status = 301;
        outcome.redirect = Some(parsed(target));
        outcome
    }

    /// An outcome of a robots.txt.
    fn robots(url: &str) -> Outcome {
        let mut outcome = linking(url, 0, &[]);
        outcome.response.request.purpose = Purpose::Robots;
        outcome.rules = Some("user-agent: *".into());
        outcome
    }

    /// The record of an outcome.
    fn of(outcome: Outcome) -> Entry<'static> {
        Entry::Outcome(outcome.into())
    }

    /// A seed.
    fn seed(url: &str, at: Micros) -> Entry<'static> {
        Entry::Accepted(Accepted { request: std::borrow::Cow::Owned(Request::get(parsed(url))), at })
    }

    /// A lease.
    fn leased(url: &str, lease: u64) -> Entry<'static> {
        let url = std::borrow::Cow::Owned(parsed(url));
        Entry::Leased(LeaseTaken { url, lease, process: 0, granted: 1, wall_offset_us: 0 })
    }

    /// The story of a URL in a log of these entries, and the URLs passed to the judge.
    fn tell(url: &str, entries: &[Entry<'static>]) -> (Story, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), 5000, entries);
        let mut judge = Depth(2, Vec::new());
        let story = story(directory.path(), &CrawlUrl::parse(url).unwrap(), &mut judge).unwrap();
        (story, judge.1)
    }

    #[test]
    fn everything_about_a_url_is_told_in_order_and_nothing_about_others() {
        let url = "http://a.com/x";
        let mut tried = linking(url, 2, &[(url, false)]);
        tried.retry = true;
        tried.response.result = Err(Failure::new(FailureKind::ConnectTimeout, ""));
        let mut fetched = linking(url, 2, &[("http://a.com/z", false)]);
        (fetched.response.request.lease, fetched.response.request.attempt) = (9, 1);
        fetched.response.times.connect_us = 2_000;
        let (story, included) = tell(
            url,
            &[
                seed("http://a.com/", 1),
                of(robots("http://a.com/robots.txt")),
                of(robots("http://b.com/robots.txt")),
                of(linking("http://a.com/", 0, &[("http://a.com/y", false), (url, true)])),
                of(linking("http://a.com/y", 1, &[(url, false), ("http://a.com/x/longer", false)])),
                of(linking("http://a.com/deep", 7, &[(url, false)])),
                of(linking("http://a.com/other", 1, &[("http://a.com/x/longer", false)])),
                of(redirecting("http://a.com/old", 1, url)),
                leased(url, 5),
                of(tried),
                leased(url, 9),
                of(fetched),
                seed(url, 2),
            ],
        );
        let found: Vec<_> = story
            .found
            .iter()
            .map(|found| (&*found.page, found.depth, found.nofollow, found.refused))
            .collect();
        assert_eq!(
            found,
            [
                ("http://a.com/", 1, true, Some("nofollow")),
                ("http://a.com/y", 2, false, None),
                ("http://a.com/deep", 8, false, Some("depth")),
            ]
        );
        assert_eq!(story.redirected.len(), 1);
        assert_eq!((&*story.redirected[0].page, story.redirected[0].depth), ("http://a.com/old", 1));
        let outcomes: Vec<_> =
            story.outcomes.iter().map(|told| (told.lease, told.retry, told.status)).collect();
        assert_eq!(outcomes, [(1, true, None), (9, false, Some(200))]);
        assert_eq!(story.outcomes[0].error.as_deref(), Some("connect-timeout"));
        assert_eq!(story.outcomes[1].times.connect, 0.002);
        assert_eq!((story.robots.len(), story.seeds.len(), story.found_more), (1, 1, 0));
        let unanswered: Vec<_> = story.unanswered.iter().map(|leased| leased.lease).collect();
        assert_eq!(unanswered, [5], "its outcome was lost in a crash");
        assert!(story.seeds[0].position > story.outcomes[1].sighting.position);
        assert_eq!(included, ["http://a.com/", url]);
    }

    #[test]
    fn the_scope_grows_by_where_seeds_led_and_robots_are_known_by_who_was_asked() {
        let mut moved = robots("http://cdn.com/robots.txt");
        moved.response.request.chain = vec![Step { url: parsed("http://a.com/robots.txt"), status: 301 }];
        let (story, included) = tell(
            "http://a.com/x",
            &[
                seed("http://a.com/", 1),
                of(redirecting("http://a.com/", 0, "http://b.com/")),
                of(redirecting("http://b.com/later", 1, "http://c.com/")),
                of(moved),
            ],
        );
        assert_eq!(included, ["http://a.com/", "http://b.com/"]);
        assert_eq!(story.robots.len(), 1);
    }

    #[test]
    fn of_many_sightings_ten_are_told_and_the_one_that_let_it_in() {
        let url = "http://a.com/x";
        let depth = |place| if matches!(place, 20 | 25) { 1 } else { 9 };
        let entries: Vec<_> =
            (0..30).map(|place| of(linking("http://a.com/", depth(place), &[(url, false)]))).collect();
        let (story, _) = tell(url, &entries);
        assert_eq!((story.found.len(), story.found_more), (11, 19));
        assert_eq!(story.found.last().unwrap().refused, None);
    }

    #[test]
    fn damage_is_passed_over_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let url = "http://a.com/x";
        let positions =
            written(directory.path(), 1 << 20, &[of(linking(url, 0, &[])), of(linking(url, 1, &[]))]);
        let path = directory.path().join(crate::layout::segment_name(0));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[usize::try_from(positions[0]).unwrap() + 22] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let url = CrawlUrl::parse(url).unwrap();
        let story = story(directory.path(), &url, &mut Depth(9, Vec::new())).unwrap();
        assert_eq!((story.outcomes.len(), story.outcomes[0].depth), (1, 1));
        assert_eq!(story.skipped, positions[1] - positions[0]);
    }
}
