//! Counters over all outcomes that a crawl has recorded.

use std::collections::BTreeMap;

use crate::slow::SlowHosts;
use lycosa_records::{Outcome, Purpose, Received, is_refused_without_license};
use lycosa_url::{Bound, FailureKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of example URLs per bound.
const FIRST_URLS: usize = 3;

/// Media types that are counted one by one: servers may make up their names.
const MAX_TYPES: usize = 100;

/// Where all further media types are counted, and responses that name none.
const OTHER_TYPES: &str = "other";

/// Currencies whose sums are kept: sites may make up their names.
const MAX_CURRENCIES: usize = 100;

/// How often a bound was reached, with example URLs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Outcomes.
    pub count: u64,
    /// The first URLs, at most three.
    pub first: Vec<String>,
}

/// Responses of a media type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfType {
    /// How many there were.
    pub responses: u64,
    /// Bytes of their bodies, as received.
    pub bytes: u64,
}

/// Counts over all recorded outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Responses other than redirects.
    pub pages: u64,
    /// Redirects.
    pub redirects: u64,
    /// Outcomes that led to a retry.
    pub retries: u64,
    /// Finished URLs that were opened again.
    pub reopened: u64,
    /// Outcomes of robots.txt requests.
    pub robots: u64,
    /// Bytes of bodies, as received.
    pub bytes: u64,
    /// Links in pages.
    pub links: u64,
    /// Responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// URLs that ended without a response, by kind.
    #[serde(serialize_with = "write_failures", deserialize_with = "read_failures")]
    pub failures: BTreeMap<FailureKind, u64>,
    /// The first URLs of each kind of failure, by stable name.
    pub examples: BTreeMap<String, Vec<String>>,
    /// Responses by media type, at most 100, and `other`.
    pub types: BTreeMap<String, OfType>,
    /// Hosts whose responses began latest.
    pub slow: SlowHosts,
    /// Bounds reached by pages, and failures that are bounds, by stable name.
    pub bounds: BTreeMap<String, Reached>,
    /// Pages that are no content, by kind, in the same way.
    pub refusals: BTreeMap<String, Reached>,
    /// What sites asked for instead of pages, over all responses, by currency, in millionths of its unit.
    pub prices: BTreeMap<String, u64>,
    /// Responses that asked for a licence.
    pub licenses: u64,
    /// Sum of each phase's duration over all responses, in microseconds: name, connect, TLS, first byte, body.
    pub phases_us: [u64; 5],
    /// Number of responses in these sums.
    pub responses: u64,
}

impl Reached {
    /// Counts a page.
    fn add(&mut self, page: &Outcome) {
        self.count += 1;
        if self.first.len() < FIRST_URLS {
            self.first.push(page.response.request.url.as_str().to_owned());
        }
    }
}

impl Summary {
    /// Counts one outcome.
    pub fn add(&mut self, page: &Outcome) {
        if page.is_reopened() {
            return self.take_back(page);
        }
        let response = &page.response;
        if let Ok(received) = &response.result {
            self.bytes += received.body.len();
            self.responses += 1;
            self.add_type(received);
            let times = &response.times;
            let phases = [
                response.request.name_us,
                times.connect_us,
                times.tls_us,
                times.first_byte_us,
                times.body_us,
            ];
            for (sum, phase) in self.phases_us.iter_mut().zip(phases) {
                *sum += u64::from(phase);
            }
            self.slow.add(response.request.url.host(), times.first_byte_us);
        }
        if response.request.purpose == Purpose::Robots {
            self.robots += 1;
        } else if page.retry {
            self.retries += 1;
        } else {
            self.add_last(page);
        }
    }

    /// Subtracts the last outcome of a URL that was opened again.
    fn take_back(&mut self, page: &Outcome) {
        if page.response.request.purpose == Purpose::Robots {
            return;
        }
        self.reopened += 1;
        let less = |count: &mut u64| *count = count.saturating_sub(1);
        match &page.response.result {
            Ok(received) => {
                self.statuses.entry(received.status).and_modify(less);
                less(if page.redirect.is_some() { &mut self.redirects } else { &mut self.pages });
            }
            Err(failure) => {
                self.failures.entry(failure.kind).and_modify(less);
                if failure.kind.is_bound() {
                    let reached = self.bounds.entry(failure.kind.as_str().to_owned());
                    reached.and_modify(|reached| less(&mut reached.count));
                }
                if let Some(refused) = self.refusals.get_mut(failure.kind.as_str()) {
                    less(&mut refused.count);
                }
            }
        }
    }

    /// Counts a response and its bytes by media type.
    fn add_type(&mut self, received: &Received) {
        let name = received.head.media_type();
        let is_name =
            name.contains('/') && name.len() <= 100 && name.bytes().all(|byte| byte.is_ascii_graphic());
        let is_room = self.types.len() < MAX_TYPES || self.types.contains_key(&name);
        let name = if is_name && is_room { name } else { OTHER_TYPES.to_owned() };
        let of = self.types.entry(name).or_default();
        of.responses += 1;
        of.bytes += received.body.len();
    }

    /// Counts what a response asks for, of the first currencies.
    fn add_terms(&mut self, received: &Received) {
        self.licenses += u64::from(is_refused_without_license(received));
        let Some(price) = lycosa_records::price(received) else { return };
        if self.prices.len() < MAX_CURRENCIES || self.prices.contains_key(&price.currency) {
            let sum = self.prices.entry(price.currency).or_default();
            *sum = sum.saturating_add(price.millionths);
        }
    }

    /// Counts a URL's last outcome.
    fn add_last(&mut self, page: &Outcome) {
        match &page.response.result {
            Ok(received) => {
                *self.statuses.entry(received.status).or_default() += 1;
                self.links += page.links.len() as u64;
                let counter = if page.redirect.is_some() { &mut self.redirects } else { &mut self.pages };
                *counter += 1;
                self.add_terms(received);
            }
            Err(failure) => {
                *self.failures.entry(failure.kind).or_default() += 1;
                let examples = self.examples.entry(failure.kind.as_str().to_owned()).or_default();
                if examples.len() < FIRST_URLS {
                    examples.push(page.response.request.url.as_str().to_owned());
                }
            }
        }
        let failure = page.response.result.as_ref().err().map(|failure| failure.kind);
        if let Some(kind) = failure.filter(|kind| kind.is_refusal()) {
            self.refusals.entry(kind.as_str().to_owned()).or_default().add(page);
        }
        let bound = failure.filter(|kind| kind.is_bound()).map(FailureKind::as_str);
        for bound in page.bounds.iter().map(Bound::as_str).chain(bound) {
            self.bounds.entry(bound.to_owned()).or_default().add(page);
        }
    }
}

/// Serializes failures by stable name.
fn write_failures<S: Serializer>(
    failures: &BTreeMap<FailureKind, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(failures.iter().map(|(kind, count)| (kind.as_str(), count)))
}

/// Deserializes failures by stable name; unknown names are ignored.
fn read_failures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<FailureKind, u64>, D::Error> {
    let failures = BTreeMap::<String, u64>::deserialize(deserializer)?;
    Ok(failures
        .into_iter()
        .filter_map(|(name, count)| Some((FailureKind::from_name(&name)?, count)))
        .collect())
}

#[cfg(test)]
mod tests {
    use lycosa_records::{Head, Received, decode, encode};
    use lycosa_url::{CrawlUrl, Failure};

    use super::*;

    #[test]
    fn a_summary_comes_back_from_a_snapshot() {
        let summary = Summary {
            pages: 7,
            statuses: [(200, 5), (404, 2)].into(),
            failures: [(FailureKind::ConnectTimeout, 3)].into(),
            bounds: [("links".to_owned(), Reached { count: 4, first: vec!["http://a/".to_owned()] })].into(),
            phases_us: [1, 2, 3, 4, 5],
            ..Summary::default()
        };
        let bytes = rmp_serde::to_vec_named(&summary).unwrap();
        assert_eq!(rmp_serde::from_slice::<Summary>(&bytes).unwrap(), summary);
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains(r#""connect-timeout":3"#), "kinds are written by name: {text}");
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }

    #[test]
    fn a_bound_that_is_reached_is_counted_with_the_first_urls() {
        let mut summary = Summary::default();
        for n in 0..5 {
            let url = CrawlUrl::parse(&format!("http://example.com/{n}")).unwrap();
            let failure = Failure::new(FailureKind::BodyTooLarge, "");
            summary.add(&Outcome::settled(url.clone(), 0, Vec::new(), 0, failure));
            let mut page = Outcome::settled(url, 0, Vec::new(), 0, Failure::new(FailureKind::Timeout, ""));
            page.response.result = Ok(Received { status: 200, ..Received::default() });
            page.bounds = [Bound::Links, Bound::TitleBytes].into_iter().take(1 + n % 2).collect();
            // Through the encoding, as in a replay of the log.
            let record = encode(std::iter::once(&page)).unwrap();
            summary.add(&decode(&record.into()).unwrap()[0]);
        }
        let told = |name: &str| (summary.bounds[name].count, summary.bounds[name].first.join(" "));
        let three = "http://example.com/0 http://example.com/1 http://example.com/2";
        assert_eq!(told("body-too-large"), (5, three.to_owned()));
        assert_eq!(told("links"), (5, three.to_owned()));
        assert_eq!(told("title-bytes"), (2, "http://example.com/1 http://example.com/3".to_owned()));
        assert_eq!(summary.bounds.len(), 3);
    }

    #[test]
    fn responses_are_counted_by_media_type_and_failures_with_examples() {
        let mut summary = Summary::default();
        let url = |n: usize| CrawlUrl::parse(&format!("http://example.com/{n}")).unwrap();
        for (n, kind) in ["text/html; charset=utf-8", "Text/HTML", "", "nonsense"].into_iter().enumerate() {
            let mut page = Outcome::settled(url(n), 0, Vec::new(), 0, Failure::new(FailureKind::Timeout, ""));
            let head = Head::of("HTTP/1.1 200 OK", [("Content-Type", kind)]).unwrap();
            page.response.result = Ok(Received { status: 200, head, ..Received::default() });
            summary.add(&page);
        }
        for n in 0..9 {
            summary.add(&Outcome::settled(url(n), 0, Vec::new(), 0, Failure::new(FailureKind::Timeout, "")));
        }
        assert_eq!(summary.types["text/html"].responses + summary.types["other"].responses, 4);
        assert_eq!(summary.types.len(), 2);
        assert_eq!(summary.examples["timeout"].len(), 3);
    }

    #[test]
    fn pages_that_are_no_content_are_told_with_examples() {
        let mut summary = Summary::default();
        for n in 0..4 {
            let url = CrawlUrl::parse(&format!("http://example.com/{n}")).unwrap();
            let failure = Failure::new(FailureKind::PageChallenge, "");
            summary.add(&Outcome::settled(url, 0, Vec::new(), 0, failure));
        }
        let told = &summary.refusals["page-challenge"];
        assert_eq!((told.count, told.first.len(), summary.refusals.len()), (4, 3, 1));
    }
}
