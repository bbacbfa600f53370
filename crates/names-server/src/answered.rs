//! What was answered, from where, and how long it took: counted when the answers of a batch are sent, by one look at the clock for
//! all of them.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_url::Micros;

use crate::figures::Figures;
use crate::query_log::{Pending, QueryLog};
use crate::question::Code;

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// From memory.
    Cache,
    /// Others were asked.
    Upstream,
    /// From memory, after its TTL.
    Stale,
    /// The server knows by itself: names that are not in the DNS, questions that it does not understand, cookies.
    Own,
    /// The client, or the question, is refused.
    Refused,
    /// The client had too much: beyond its rate, or no place for its question.
    Limited,
}

impl Source {
    /// All of them, by their names elsewhere.
    pub(crate) const NAMES: [(&str, Source); 6] = [
        ("cache", Source::Cache),
        ("upstream", Source::Upstream),
        ("stale", Source::Stale),
        ("own", Source::Own),
        ("refused", Source::Refused),
        ("limited", Source::Limited),
    ];

    /// Of a code that the server gives by itself.
    pub(crate) fn of(code: Code) -> Self {
        if code == Code::Refused { Source::Refused } else { Source::Own }
    }
}

/// Answers of one thread that have not been counted yet.
pub(crate) struct Answered {
    /// Those that came from the same place and whose questions were received together are one: most of a batch.
    runs: Vec<Run>,
    /// The same one by one, where questions are logged.
    pending: Option<Pending>,
}

/// Answers that took equally long.
struct Run {
    source: Source,
    received: Micros,
    count: u64,
}

impl Answered {
    /// None yet.
    pub(crate) fn new(log: Option<Arc<QueryLog>>) -> Self {
        Answered { runs: Vec::new(), pending: log.map(Pending::new) }
    }

    /// A question that was received then, from this client and by datagram or over a connection, has its answer.
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

    /// All are sent now.
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
