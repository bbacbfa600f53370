//! Counters of a server.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_names::Times;
use lycosa_url::Micros;

use crate::answered::Source;
use crate::question::Code;
use crate::times::SharedTimes;

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Datagrams received.
    QuestionsUdp,
    /// Messages received over TCP.
    QuestionsTcp,
    /// Questions answered from the cache.
    Hits,
    /// Questions that were sent on to upstreams after a cache miss.
    Misses,
    /// Expired answers that were served.
    Stale,
    /// Names prefetched before their expiry.
    Prefetches,
    /// Questions answered from the cache of whole replies.
    PacketHits,
    /// Questions answered from hosts files and local data.
    Local,
    /// Questions passed through to upstreams.
    PassedThrough,
    /// Answers truncated, so that the client asks over TCP.
    Truncated,
    /// Messages without an answer.
    Dropped,
    /// Questions and connections of clients outside the access list.
    RefusedClients,
    /// Connections that could not be accepted.
    AcceptFailures,
    /// Questions beyond a client's rate.
    Limited,
    /// Questions rejected because the client, or all clients, had too many pending.
    Unfair,
    /// Invalid or expired server cookies.
    BadCookies,
    /// Answers from which private addresses were removed.
    PrivateFiltered,
    /// Answers with NOERROR.
    NoError,
    /// Answers with NXDOMAIN.
    NxDomain,
    /// Answers with SERVFAIL.
    ServFail,
    /// Answers with REFUSED.
    Refused,
    /// Answers with FORMERR.
    FormErr,
    /// Answers with NOTIMP.
    NotImp,
    /// Answers with any other code.
    Other,
}

impl Count {
    /// All counters with their names in metrics.
    pub(crate) const NAMES: [(&str, Count); 24] = [
        ("questions_udp", Count::QuestionsUdp),
        ("questions_tcp", Count::QuestionsTcp),
        ("hits", Count::Hits),
        ("misses", Count::Misses),
        ("stale", Count::Stale),
        ("prefetches", Count::Prefetches),
        ("packet_hits", Count::PacketHits),
        ("local", Count::Local),
        ("passed_through", Count::PassedThrough),
        ("truncated", Count::Truncated),
        ("dropped", Count::Dropped),
        ("refused_clients", Count::RefusedClients),
        ("accept_failures", Count::AcceptFailures),
        ("limited", Count::Limited),
        ("unfair", Count::Unfair),
        ("bad_cookies", Count::BadCookies),
        ("private_filtered", Count::PrivateFiltered),
        ("answers_noerror", Count::NoError),
        ("answers_nxdomain", Count::NxDomain),
        ("answers_servfail", Count::ServFail),
        ("answers_refused", Count::Refused),
        ("answers_formerr", Count::FormErr),
        ("answers_notimp", Count::NotImp),
        ("answers_other", Count::Other),
    ];
}

/// The counts of one thread.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Figures {
    counts: [AtomicU64; Count::NAMES.len()],
    /// Answer times by source.
    times: [SharedTimes; Source::NAMES.len()],
}

impl Figures {
    /// Counts one.
    #[inline]
    pub(crate) fn add(&self, what: Count) {
        self.add_many(what, 1);
    }

    /// Adds to a counter. Each thread has its own counters, so no lock is needed.
    #[inline]
    pub(crate) fn add_many(&self, what: Count, count: u64) {
        self.counts[what as usize].fetch_add(count, Relaxed);
    }

    /// Counts a response code as it is in the header: the low four bits, all that is used without EDNS.
    pub(crate) fn add_code(&self, code: u8) {
        let is = |known: Code| known as u8 == code;
        self.add(match () {
            () if is(Code::NoError) => Count::NoError,
            () if is(Code::NxDomain) => Count::NxDomain,
            () if is(Code::ServFail) => Count::ServFail,
            () if is(Code::Refused) => Count::Refused,
            () if is(Code::FormErr) => Count::FormErr,
            () if is(Code::NotImp) => Count::NotImp,
            () => Count::Other,
        });
    }

    /// Counts answers with the same time.
    pub(crate) fn took(&self, source: Source, time: Micros, count: u64) {
        self.times[source as usize].add_many(time, count);
    }

    /// Answer times of a source.
    pub(crate) fn times(&self, source: Source) -> Times {
        self.times[source as usize].read()
    }

    /// Value of a counter.
    pub(crate) fn get(&self, what: Count) -> u64 {
        self.counts[what as usize].load(Relaxed)
    }
}
