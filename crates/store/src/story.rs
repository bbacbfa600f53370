//! One URL's whole story: everything that the log tells about it, in one pass.

use std::net::IpAddr;
use std::path::Path;

use lycosa_url::{CrawlUrl, Micros};
use memchr::memmem::Finder;
use serde::{Serialize, Serializer};

use crate::Position;
use crate::entry::Outcome;
use crate::error::LogError;
use crate::frame::Kind;
use crate::reader::{Bodies, Frame, Reader};

/// How many places where a URL was found are told in full.
const FOUND_IN_FULL: usize = 10;

/// The key of a redirect's target as it stands in a record's bytes: only such records need to be decoded to learn
/// where seeds led.
const REDIRECT_KEY: &[u8] = b"\xa8redirect";

/// Decides as the frontier did: it learns the seeds and where they led in the log's order. Given by the caller, since
/// the rules live in another room.
pub trait Judge {
    /// A seed, or what a seed redirected to.
    fn include(&mut self, url: &CrawlUrl);

    /// By which rule the story's URL is refused, found at this depth; nothing where it is let in.
    fn check(&self, depth: u32, nofollow: bool) -> Option<&'static str>;

    /// What an answer for robots.txt says of the story's URL, in words; nothing where it says nothing.
    fn robots(&self, status: u16, content_encoding: Option<&str>, body: &[u8]) -> Option<String>;
}

/// Everything about one URL. Times are seconds since the epoch, each list is in the log's order.
#[derive(Debug, Default, Serialize)]
pub struct Story {
    /// The URL, in canonical form.
    pub url: String,
    /// When it was accepted as a seed.
    pub seeds: Vec<Sighting>,
    /// Pages that link to it: the first ten, and the first whose link was let in.
    pub found: Vec<Found>,
    /// Further pages that link to it.
    pub found_more: u64,
    /// Redirects to it.
    pub redirected: Vec<Found>,
    /// Its own outcomes.
    pub outcomes: Vec<Told>,
    /// Answers for the robots.txt of its origin.
    pub robots: Vec<Told>,
    /// Requests for it whose outcome is not recorded: under way, or lost in a crash.
    pub unanswered: Vec<Leased>,
    /// Bytes of the log that are damaged and could tell nothing.
    pub skipped: u64,
}

/// A place in the log.
#[derive(Debug, Serialize)]
pub struct Sighting {
    /// The record's position.
    pub position: Position,
    /// Its time.
    #[serde(serialize_with = "seconds")]
    pub at: Micros,
}

/// A request.
#[derive(Debug, Serialize)]
pub struct Leased {
    /// The record's place.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// The number of the lease.
    pub lease: u64,
}

/// Where the URL was found.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The record's place.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// The URL of the page, or of what redirected.
    pub page: String,
    /// Its status.
    pub status: u16,
    /// Links from the nearest seed that the URL has by this way.
    pub depth: u32,
    /// Whether the link is `nofollow`.
    pub nofollow: bool,
    /// The rule that refuses it; nothing where the rules let it in (if it was new then).
    pub refused: Option<&'static str>,
}

/// An outcome.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The record's place.
    #[serde(flatten)]
    pub sighting: Sighting,
    /// What was fetched.
    pub url: String,
    /// The number of the lease; 0 for what the frontier settled itself.
    pub lease: u64,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Earlier tries.
    pub attempt: u32,
    /// Whether it went back to waiting.
    pub retry: bool,
    /// Status code.
    pub status: Option<u16>,
    /// Kind of failure.
    pub error: Option<String>,
    /// Its circumstances.
    pub error_detail: Option<String>,
    /// The address spoken to.
    pub address: Option<IpAddr>,
    /// Where it redirects to.
    pub redirect: Option<String>,
    /// The redirects that led here: URL and status.
    pub chain: Vec<(String, u16)>,
    /// Of an answer for robots.txt: what it says of the URL.
    pub verdict: Option<String>,
    /// Links found.
    pub links: usize,
    /// When work on it began.
    #[serde(serialize_with = "seconds")]
    pub started: Micros,
    /// Durations in seconds.
    pub times: Phases,
}

/// Durations of an exchange's phases, in seconds; 0 where one did not happen.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the phases of `lycosa_url::Times`, and the name's resolution")]
pub struct Phases {
    pub name: f64,
    pub connect: f64,
    pub tls: f64,
    pub first_byte: f64,
    pub body: f64,
}

/// Tells everything about a URL. Damage is passed over and counted.
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

/// The story as far as it has been heard.
struct Teller<'a> {
    url: &'a CrawlUrl,
    by_url: Finder<'a>,
    by_origin: Finder<'a>,
    by_redirect: Finder<'a>,
    judge: &'a mut dyn Judge,
    /// Whether a place was found whose link the rules let in.
    admitted: bool,
    story: Story,
}

impl Teller<'_> {
    /// Hears a record. Its bytes are searched before anything is decoded: most have nothing to tell.
    fn hear(&mut self, frame: &Frame<'_>) {
        let told = match frame.kind {
            Kind::Seed => true,
            Kind::Lease => self.by_url.find(frame.meta).is_some(),
            Kind::Page => {
                self.by_url.find(frame.meta).is_some() || self.by_redirect.find(frame.meta).is_some()
            }
            Kind::Robots => self.by_origin.find(frame.meta).is_some(),
        };
        let Some(outcome) = told.then(|| frame.outcome()).flatten() else { return };
        let sighting = Sighting { position: frame.position, at: outcome.finished };
        match frame.kind {
            Kind::Seed => self.seed(sighting, &outcome),
            Kind::Page => self.page(sighting, outcome),
            Kind::Robots => self.robots(sighting, outcome, &frame.body),
            Kind::Lease => self.lease(sighting, &outcome),
        }
    }

    /// A seed: the URL itself, or another one that widens the scope.
    fn seed(&mut self, sighting: Sighting, outcome: &Outcome<'_>) {
        CrawlUrl::parse(&outcome.url).iter().for_each(|seed| self.judge.include(seed));
        if outcome.url == self.url.as_str() {
            self.story.seeds.push(sighting);
        }
    }

    /// A request for the URL.
    fn lease(&mut self, sighting: Sighting, outcome: &Outcome<'_>) {
        if outcome.url == self.url.as_str() {
            self.story.unanswered.push(Leased { sighting, lease: outcome.lease });
        }
    }

    /// An outcome: the URL's own, or of a page that leads to it.
    fn page(&mut self, sighting: Sighting, outcome: Outcome<'static>) {
        if let (false, Some(status)) = (outcome.retry, outcome.status) {
            match &outcome.redirect {
                Some(target) => self.redirect(&sighting, &outcome, status, target),
                None => self.links(&sighting, &outcome, status),
            }
        }
        if outcome.url == self.url.as_str() {
            self.story.unanswered.retain(|leased| leased.lease != outcome.lease);
            self.story.outcomes.push(told(sighting, outcome));
        }
    }

    /// A redirect. What a seed redirects to widens the scope.
    fn redirect(&mut self, sighting: &Sighting, outcome: &Outcome<'_>, status: u16, target: &str) {
        if outcome.depth == 0 {
            CrawlUrl::parse(target).iter().for_each(|target| self.judge.include(target));
        }
        if target == self.url.as_str() {
            let found = self.found(sighting, outcome, status, (outcome.depth, false));
            self.story.redirected.push(found);
        }
    }

    /// A page's links.
    fn links(&mut self, sighting: &Sighting, outcome: &Outcome<'_>, status: u16) {
        let link = outcome.links.iter().find(|(target, _)| target == self.url.as_str());
        let Some((_, nofollow)) = link else { return };
        let found = self.found(sighting, outcome, status, (outcome.depth.saturating_add(1), *nofollow));
        let first_admitted = found.refused.is_none() && !self.admitted;
        self.admitted |= first_admitted;
        if self.story.found.len() < FOUND_IN_FULL || first_admitted {
            self.story.found.push(found);
        } else {
            self.story.found_more += 1;
        }
    }

    /// Where the URL was found: by which page, at which depth, and whether `nofollow`.
    fn found(
        &self,
        sighting: &Sighting,
        outcome: &Outcome<'_>,
        status: u16,
        (depth, nofollow): (u32, bool),
    ) -> Found {
        let refused = self.judge.check(depth, nofollow);
        let sighting = Sighting { position: sighting.position, at: sighting.at };
        Found { sighting, page: outcome.url.to_string(), status, depth, nofollow, refused }
    }

    /// An answer for a robots.txt: of the URL's origin, also where it was redirected elsewhere.
    fn robots(&mut self, sighting: Sighting, outcome: Outcome<'static>, body: &[u8]) {
        let asked = outcome.chain.first().map_or(&outcome.url, |(url, _)| url);
        if CrawlUrl::parse(asked).is_ok_and(|asked| asked.origin() == self.url.origin()) {
            let coding = outcome.header("content-encoding");
            let verdict = outcome.status.and_then(|status| self.judge.robots(status, coding, body));
            self.story.robots.push(Told { verdict, ..told(sighting, outcome) });
        }
    }
}

/// An outcome without what is long.
fn told(sighting: Sighting, outcome: Outcome<'static>) -> Told {
    let phase = |micros: u32| f64::from(micros) / 1e6;
    Told {
        sighting,
        verdict: None,
        links: outcome.links.len(),
        times: Phases {
            name: phase(outcome.name_us),
            connect: phase(outcome.connect_us),
            tls: phase(outcome.tls_us),
            first_byte: phase(outcome.first_byte_us),
            body: phase(outcome.body_us),
        },
        url: outcome.url.into_owned(),
        lease: outcome.lease,
        depth: outcome.depth,
        attempt: outcome.attempt,
        retry: outcome.retry,
        status: outcome.status,
        error: outcome.error.map(Into::into),
        error_detail: outcome.error_detail.map(Into::into),
        address: outcome.address,
        redirect: outcome.redirect.map(Into::into),
        chain: outcome.chain.into_iter().map(|(url, status)| (url.into_owned(), status)).collect(),
        started: outcome.started,
    }
}

/// A time in seconds.
fn seconds<S: Serializer>(micros: &Micros, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::entry::Entry;
    use crate::samples::{page, written};

    /// Lets in what is at most so deep; remembers the hosts that it was told.
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

    /// A page with links.
    fn linking(url: &'static str, depth: u32, links: &[(&'static str, bool)]) -> Entry<'static> {
        let mut entry = page(1, 2000);
        let links = links.iter().map(|(url, nofollow)| (Cow::from(*url), *nofollow)).collect();
        entry.outcome = Outcome { url: url.into(), depth, links, finished: 1_500_000, ..entry.outcome };
        entry
    }

    /// A redirect.
    fn redirecting(url: &'static str, depth: u32, target: &'static str) -> Entry<'static> {
        let mut entry = linking(url, depth, &[]);
        (entry.outcome.status, entry.outcome.redirect) = (Some(301), Some(target.into()));
        entry
    }

    /// An answer for a robots.txt.
    fn robots(url: &'static str) -> Entry<'static> {
        Entry { kind: Kind::Robots, ..linking(url, 0, &[]) }
    }

    /// A request.
    fn leased(url: &'static str, lease: u64) -> Entry<'static> {
        let mut entry = Entry::seed(url, 1);
        (entry.kind, entry.outcome.lease) = (Kind::Lease, lease);
        entry
    }

    /// The story of a URL in a log of these entries, and what the judge was told.
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
        let mut tried = linking(url, 2, &[]);
        tried.outcome = Outcome {
            retry: true,
            status: None,
            error: Some("connect-timeout".into()),
            links: vec![(url.into(), false)],
            ..tried.outcome
        };
        let mut fetched = linking(url, 2, &[("http://a.com/z", false)]);
        (fetched.outcome.lease, fetched.outcome.attempt, fetched.outcome.connect_us) = (9, 1, 2_000);
        let (story, included) = tell(
            url,
            &[
                Entry::seed("http://a.com/", 1),
                robots("http://a.com/robots.txt"),
                robots("http://b.com/robots.txt"),
                linking("http://a.com/", 0, &[("http://a.com/y", false), (url, true)]),
                linking("http://a.com/y", 1, &[(url, false), ("http://a.com/x/longer", false)]),
                linking("http://a.com/deep", 7, &[(url, false)]),
                linking("http://a.com/other", 1, &[("http://a.com/x/longer", false)]),
                redirecting("http://a.com/old", 1, url),
                leased(url, 5),
                tried,
                leased(url, 9),
                fetched,
                Entry::seed(url, 2),
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
        assert_eq!(unanswered, [5], "what became of it was lost in a crash");
        assert!(story.seeds[0].position > story.outcomes[1].sighting.position);
        assert_eq!(included, ["http://a.com/", url]);
    }

    #[test]
    fn the_scope_grows_by_where_seeds_led_and_robots_are_known_by_who_was_asked() {
        let mut moved = robots("http://cdn.com/robots.txt");
        moved.outcome.chain = vec![("http://a.com/robots.txt".into(), 301)];
        let (story, included) = tell(
            "http://a.com/x",
            &[
                Entry::seed("http://a.com/", 1),
                redirecting("http://a.com/", 0, "http://b.com/"),
                redirecting("http://b.com/later", 1, "http://c.com/"),
                moved,
            ],
        );
        assert_eq!(included, ["http://a.com/", "http://b.com/"]);
        assert_eq!(story.robots.len(), 1);
    }

    #[test]
    fn of_many_sightings_ten_are_told_and_the_one_that_let_it_in() {
        let url = "http://a.com/x";
        let mut entries: Vec<_> = (0..30).map(|_| linking("http://a.com/", 9, &[(url, false)])).collect();
        entries[20].outcome.depth = 1;
        entries[25].outcome.depth = 1;
        let (story, _) = tell(url, &entries);
        assert_eq!((story.found.len(), story.found_more), (11, 19));
        assert_eq!(story.found.last().unwrap().refused, None);
    }

    #[test]
    fn damage_is_passed_over_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let url = "http://a.com/x";
        let positions = written(directory.path(), 1 << 20, &[linking(url, 0, &[]), linking(url, 1, &[])]);
        let path = directory.path().join(crate::frame::segment_name(0));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[usize::try_from(positions[0]).unwrap() + 22] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let url = CrawlUrl::parse(url).unwrap();
        let story = story(directory.path(), &url, &mut Depth(9, Vec::new())).unwrap();
        assert_eq!((story.outcomes.len(), story.outcomes[0].depth), (1, 1));
        assert_eq!(story.skipped, positions[1] - positions[0]);
    }
}
