//! Counts answers by source and duration. A batch is counted when it is sent, with one reading of the clock.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_url::Micros;

use crate::figures::Figures;
use crate::query_log::{Pending, QueryLog};
use crate::question::Code;

/// Source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The cache.
    Cache,
    /// An upstream.
    Upstream,
    /// An expired cache entry.
    Stale,
    /// The server itself: local data, names that are not in the DNS, malformed questions, cookies.
    Own,
    /// The client or the question is refused.
    Refused,
    /// The client exceeds its rate or its share of pending lookups.
    Limited,
}

impl Source {
    /// All sources with their names in metrics and logs.
    pub(crate) const NAMES: [(&str, Source); 6] = [
        ("cache", Source::Cache),
        ("upstream", Source::Upstream),
        ("stale", Source::Stale),
        ("own", Source::Own),
        ("refused", Source::Refused),
        ("limited", Source::Limited),
    ];

    /// Source of a response code that the server sets itself.
    pub(crate) fn of(code: Code) -> Self {
        if code == Code::Refused { Source::Refused } else { Source::Own }
    }
}

/// Answers of one thread that are not counted yet.
pub(crate) struct Answered {
    /// Consecutive answers of one source to questions received together are one run: most of a batch.
    runs: Vec<Run>,
    /// The answers one by one, if the query log is on.
    pending: Option<Pending>,
}

/// Consecutive answers with the same source and time of receipt.
struct Run {
    source: Source,
    received: Micros,
    count: u64,
}

impl Answered {
    /// An empty collection.
    pub(crate) fn new(log: Option<Arc<QueryLog>>) -> Self {
        Answered { runs: Vec::new(), pending: log.map(Pending::new) }
    }

    /// Adds the answer to a question: when and from which client it was received, and whether over TCP.
    #[inline]
    pub(crate) fn add(
        &mut self,
        source: Source,
        received: Micros,
        (client, is_stream): (IpAddr, bool),
        answer: &[u8],
    ) {
        match self.runs.last_mut() {
            Some(last) if last.source == source && last.received == received => last.count += 1,
            _ => self.runs.push(Run { source, received, count: 1 }),
        }
        if let Some(pending) = &mut self.pending {
            pending.add(source, received, (client, is_stream), answer);
        }
    }

    /// Counts all answers as sent at `now`.
    pub(crate) fn settle(&mut self, now: Micros, figures: &Figures) {
        for Run { source, received, count } in self.runs.drain(..) {
            figures.took(source, now.saturating_sub(received), count);
        }
        if let Some(pending) = &mut self.pending {
            pending.settle(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_counted_once_with_the_time_since_its_question() {
        let (mut answered, figures) = (Answered::new(None), Figures::default());
        let client = ([192, 0, 2, 1].into(), false);
        for (source, received) in [(Source::Cache, 1_000), (Source::Cache, 1_000), (Source::Own, 1_000)] {
            answered.add(source, received, client, &[]);
        }
        answered.add(Source::Cache, 500, client, &[]);
        answered.settle(1_020, &figures);
        answered.settle(9_999, &figures);
        let cache = figures.times(Source::Cache);
        assert_eq!((cache.counts[1], cache.counts[4], cache.sum), (2, 1, 2 * 20 + 520));
        assert_eq!(figures.times(Source::Own).counts.iter().sum::<u64>(), 1);
        assert_eq!(figures.times(Source::Stale), Default::default());
    }
}
