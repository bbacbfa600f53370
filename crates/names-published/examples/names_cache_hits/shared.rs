//! DNS traffic of several crawlers with one cache each that respects TTLs, compared with the same crawlers
//! sharing one cache with a minimum TTL: the claim of the compact design. No cache evicts, so that nothing
//! else counts.

use std::collections::HashMap;

use lycosa_names::cache::{Answer, Seconds};

use crate::streams::{Names, RATE, crawl};
use crate::world::{self, mix};

/// The minimum TTL, in seconds: 40 % of all TTLs are at most this.
const MINIMUM: Seconds = 300;

/// IPv4 and UDP headers, the DNS header, type and class of the question, EDNS (RFC 6891).
const FRAME: u64 = 20 + 8 + 12 + 4 + 11;

/// An A record with a compressed name.
const RECORD: u64 = 16;

/// A SOA record with compressed names, of a negative answer.
const SOA: u64 = 60;

/// Questions and bytes.
#[derive(Default)]
struct Asked {
    expires: HashMap<(u64, u32), Seconds>,
    questions: u64,
    bytes: u64,
}

impl Asked {
    /// Counts the lookup of a name by one crawler.
    fn ask(&mut self, crawler: u64, id: u32, names: &Names, minimum: Seconds, now: Seconds) {
        if self.expires.get(&(crawler, id)).is_some_and(|&expires| now < expires) {
            return;
        }
        let name = names.get(id);
        let resolution = world::resolution(name);
        let (answer, ttl) = match resolution.answer {
            Answer::Addresses(addresses) => {
                (RECORD * addresses.v4.len() as u64, Seconds::from(resolution.ttl).max(minimum))
            }
            Answer::NxDomain | Answer::NoData | Answer::Negative => (SOA, Seconds::from(resolution.ttl)),
            Answer::Failed { .. } => (0, 30),
        };
        self.expires.insert((crawler, id), now + ttl);
        self.questions += 1;
        self.bytes += 2 * (FRAME + name.len() as u64 + 2) + answer;
    }
}

/// One JSON object per number of crawlers.
pub(crate) fn rows(names: &Names, lookups: usize) -> Vec<String> {
    let stream = crawl(names, lookups);
    let ask = |crawlers: u64, minimum: Seconds| {
        let mut asked = Asked::default();
        for (number, &id) in stream.iter().enumerate() {
            // The design distributes a site's URLs over all crawlers.
            asked.ask(mix(number as u64) % crawlers, id, names, minimum, number as u64 / RATE);
        }
        asked
    };
    let (shared, true_ttl) = (ask(1, MINIMUM), ask(1, 0));
    let row = |crawlers: u64| {
        let private = ask(crawlers, 0);
        format!(
            "{{\"caches\": {crawlers}, \"private_questions\": {}, \"private_bytes\": {}, \"shared_questions\": {}, \
             \"shared_bytes\": {}, \"shared_true_ttl_questions\": {}, \"minimum_ttl\": {MINIMUM}}}",
            private.questions, private.bytes, shared.questions, shared.bytes, true_ttl.questions,
        )
    };
    [1, 2, 4, 8, 16].map(row).to_vec()
}
