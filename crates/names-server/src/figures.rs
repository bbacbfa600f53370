//! What a server counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_names::Times;
use lycosa_url::Micros;

use crate::answered::Source;
use crate::question::Code;
use crate::times::SharedTimes;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Datagrams that came.
    QuestionsUdp,
    /// Messages that came over TCP.
    QuestionsTcp,
    /// Questions answered from the cache.
    Hits,
    /// Questions for which others had to be asked.
    Misses,
    /// Answers that had expired.
    Stale,
    /// Names asked for anew before they expired.
    Prefetches,
    /// Questions answered by what is kept of an upstream's answer as it came.
    PacketHits,
    /// Questions answered by what is known without asking anybody: hosts, local data.
    Local,
    /// Questions that were passed through to upstreams.
    PassedThrough,
    /// Answers that were cut off, or not given by datagram.
    Truncated,
    /// Messages that got no answer.
    Dropped,
    /// Questions, and connections, of clients that may not ask.
    RefusedClients,
    /// Connections that the system could not accept.
    AcceptFailures,
    /// Answers that were beyond a client's rate.
    Limited,
    /// Questions of clients that had too many under way.
    Unfair,
    /// Cookies that were not this server's, or too old.
    BadCookies,
    /// Answers out of which private addresses were taken.
    PrivateFiltered,
    /// Answers by code.
    NoError,
    /// The same.
    NxDomain,
    /// The same.
    ServFail,
    /// The same.
    Refused,
    /// The same.
    FormErr,
    /// The same.
    NotImp,
    /// The same, all other codes.
    Other,
}

impl Count {
    /// All of them, by their names elsewhere.
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
    /// How long answers took, by source.
    times: [SharedTimes; Source::NAMES.len()],
}

impl Figures {
    /// Counts one.
    #[inline]
    pub(crate) fn add(&self, what: Count) {
        self.add_many(what, 1);
    }

    /// Counts several. One thread writes, so that no lock is needed on the way.
    #[inline]
    pub(crate) fn add_many(&self, what: Count, count: u64) {
        self.counts[what as usize].fetch_add(count, Relaxed);
    }

    /// Counts an answer's code, as the message has it: its low bits, all that are used without EDNS.
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

    /// Counts answers that took equally long.
    pub(crate) fn took(&self, source: Source, time: Micros, count: u64) {
        self.times[source as usize].add_many(time, count);
    }

    /// How long answers of a source took.
    pub(crate) fn times(&self, source: Source) -> Times {
        self.times[source as usize].read()
    }

    /// How many.
    pub(crate) fn get(&self, what: Count) -> u64 {
        self.counts[what as usize].load(Relaxed)
    }
}
