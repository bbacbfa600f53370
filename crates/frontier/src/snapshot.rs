//! The frontier as bytes and back: all views of the log at one of its positions, together.
//!
//! Guarantees: a frontier that is loaded and replays the rest of the log equals one that replays the whole log;
//! URLs on lease are saved as waiting; files that a snapshot names are whole before it is complete. Bytes that are
//! no snapshot return an error, never a panic; the caller checks their checksum.
//!
//! ```text
//! records: files · counts · scope · domains · hosts on disk · queue … · tombstones · cookies · paces · leases   then the dedup tree
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

use hashbrown::{HashMap, HashSet};
use lycosa_url::CrawlUrl;

use crate::codec::{self, damaged, put_bytes, put_number, read_record, write_record};
use crate::cold::Event;
use crate::dedup::Tombstones;
use crate::politeness::domains::DomainId;
use crate::politeness::pace::Pace;
use crate::queue::Queue;
use crate::recent::{RECENT, Recent, pack_options, unpack_options};
use crate::restore::Replay;
use crate::robots::RobotsCache;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::{Candidate, Waiting};
use crate::{Frontier, Refusal, Resolve, Seen, Settings};

/// The version of this layout, and the oldest that is read as well: in that of 6 URLs have no time at which they are due, in that of 7
/// no options, and there is no outbox; in that of 8 all hosts have a queue, and domains are numbered in the order of these; in that of 9
/// no host is put aside, and files of hosts on disk do not say how many bytes are in use; in that of 10 no host that fails is on disk; in that
/// of 11 tombstones may be of URLs that lie in no queue; in that of 12 rules of robots.txt files have neither licences nor what tdmrep.json states;
/// in that of 13 no addresses are lent.
const VERSION: u64 = 14;
const OLDEST: u64 = 6;

/// The files that a snapshot names, by number. They are needed as long as the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotFiles {
    /// Pieces of host queues.
    pub queues: BTreeSet<u32>,
    /// Sorted runs of the dedup tree.
    pub seen: BTreeSet<u64>,
    /// Hosts on disk: those that URLs wait for, and the others.
    pub hosts: [BTreeSet<u32>; 2],
}

impl SnapshotFiles {
    /// Reads them from the beginning of a snapshot.
    pub fn read(from: &mut dyn Read) -> io::Result<Self> {
        let mut record = Vec::new();
        read_record(from, &mut record)?;
        Self::unpack(&record).map(|(_, files)| files).ok_or_else(damaged)
    }

    /// Appends the record.
    fn pack(&self, into: &mut Vec<u8>) {
        put_number(into, VERSION);
        put_number(into, self.queues.len() as u64);
        self.queues.iter().for_each(|number| put_number(into, (*number).into()));
        put_number(into, self.seen.len() as u64);
        self.seen.iter().for_each(|number| put_number(into, *number));
        for files in &self.hosts {
            put_number(into, files.len() as u64);
            files.iter().for_each(|number| put_number(into, (*number).into()));
        }
    }

    /// Reads the record; returns also the version.
    fn unpack(mut from: &[u8]) -> Option<(u64, Self)> {
        let from = &mut from;
        let version = codec::number(from).filter(|version| (OLDEST..=VERSION).contains(version))?;
        let count = codec::number(from)?;
        let queues = (0..count).map(|_| codec::small(from)).collect::<Option<_>>()?;
        let count = codec::number(from)?;
        let seen = (0..count).map(|_| codec::number(from)).collect::<Option<_>>()?;
        let mut hosts = [BTreeSet::new(), BTreeSet::new()];
        for files in hosts.iter_mut().filter(|_| version > 8) {
            let count = codec::number(from)?;
            *files = (0..count).map(|_| codec::small(from)).collect::<Option<_>>()?;
        }
        Some((version, SnapshotFiles { queues, seen, hosts }))
    }
}

impl<R: Resolve> Frontier<R> {
    /// Prepares a snapshot of the state that the log up to now has made; [`Frontier::write`] is next, before any other change. No
    /// outcome may be recorded in the log and not yet passed to [`Frontier::done`].
    pub fn prepare_save(&mut self) -> io::Result<SnapshotFiles> {
        self.verify(self.trouble.health.looked())?;
        let (queues, seen) = (self.hosts.flush()?, self.dedup.files());
        Ok(SnapshotFiles { queues, seen, hosts: self.hosts.cold.used() })
    }

    /// Writes the snapshot, and makes durable the files that it names. It starts and joins no thread, so that a forked process may
    /// do it.
    pub fn write(&mut self, files: &SnapshotFiles, into: &mut dyn Write) -> io::Result<()> {
        let mut record = Vec::new();
        self.hosts.sync()?;
        write_record(into, &mut record, |record| files.pack(record))?;
        write_record(into, &mut record, |record| self.pack_counts(record))?;
        write_record(into, &mut record, |record| {
            put_number(record, self.admission.included().len() as u64);
            self.admission.included().for_each(|name| put_bytes(record, name.as_bytes()));
        })?;
        self.politeness.domains.save(into)?;
        self.hosts.cold.save(into)?;
        let first = self.unsettled();
        for (id, queue) in self.hosts.iter() {
            let first = first.get(&id).map(Vec::as_slice).unwrap_or_default();
            let mut packed = Ok(());
            write_record(into, &mut record, |record| {
                packed = pack_queue(queue, first, &self.robots, record);
            })?;
            packed?;
        }
        write_record(into, &mut record, |record| self.dedup.tombstones.pack(record))?;
        write_record(into, &mut record, |record| self.cookies.pack(record))?;
        write_record(into, &mut record, |record| {
            self.politeness.pack(record);
            self.lending.iter().for_each(|lending| lending.pack(record));
        })?;
        write_record(into, &mut record, |record| self.pack_leases(record))?;
        self.dedup.save(into)
    }

    /// The descriptors of the files that [`Frontier::write`] uses: a forked process needs them.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let files =
            self.hosts.spill_files().chain(self.robots.spill_files()).chain(self.dedup.files_in_use());
        files.map(AsRawFd::as_raw_fd).collect()
    }

    /// Prepares and writes a snapshot.
    pub fn save(&mut self, into: &mut dyn Write) -> io::Result<SnapshotFiles> {
        let files = self.prepare_save()?;
        self.write(&files, into)?;
        Ok(files)
    }

    /// Reads what [`Frontier::write`] wrote; [`Frontier::restore`] replays the rest of the log.
    pub fn load(settings: Settings, resolver: R, from: &mut dyn Read) -> io::Result<(Self, SnapshotFiles)> {
        let mut frontier = Frontier::with(settings, resolver, Seen::default());
        let mut record = Vec::new();
        read_record(from, &mut record)?;
        let (version, files) = SnapshotFiles::unpack(&record).ok_or_else(damaged)?;
        read_record(from, &mut record)?;
        let (queues, agent) = frontier.unpack_counts(&record).ok_or_else(damaged)?;
        read_record(from, &mut record)?;
        frontier.unpack_scope(&record).ok_or_else(damaged)?;
        let has_domains = version > 8;
        if has_domains {
            frontier.politeness.domains.load(from)?;
            frontier.hosts.cold.load(from, version)?;
            frontier.hosts.cold.happens(Event::Began(0));
        }
        let mut queued = frontier.hosts.cold.urls();
        for _ in 0..queues {
            read_record(from, &mut record)?;
            let mut from = &record[..];
            let mut queue = unpack_host(&mut from, agent, &mut frontier.robots).ok_or_else(damaged)?;
            queue.backlog = frontier.hosts.unpack_backlog(&mut from)?;
            unpack_marks(&mut queue, &mut from).ok_or_else(damaged)?;
            frontier.hosts.unpack_levels(&mut queue, &mut from)?;
            queued += queue.backlog.len() as u64;
            if queue.is_vacant() || frontier.hosts.find(&queue.host).is_some() {
                return Err(damaged()); // only one of two would ever be asked
            }
            let domains = &mut frontier.politeness.domains;
            if has_domains {
                queue.domain = domains.of(&queue.host);
                frontier.hosts.adopt(queue);
            } else {
                frontier.hosts.insert(queue, domains);
            }
        }
        // A crawl would wait for ever for a URL in no queue. Queues may have more entries: those with tombstones.
        if frontier.tally.count(State::Waiting) > queued {
            return Err(damaged());
        }
        read_record(from, &mut record)?;
        frontier.dedup.tombstones = Tombstones::unpack(&record).ok_or_else(damaged)?;
        if version < 12 {
            frontier.dedup.tombstones.doubt();
        }
        read_record(from, &mut record)?;
        frontier.cookies.unpack(&record).ok_or_else(damaged)?;
        read_record(from, &mut record)?;
        frontier.unpack_politeness(&record, version).ok_or_else(damaged)?;
        read_record(from, &mut record)?;
        frontier.unpack_leases(&record).ok_or_else(damaged)?;
        frontier.dedup.load(&frontier.settings, from)?;
        // Without the rest of the log nothing is scheduled.
        frontier.replay = Some(Replay::after(frontier.trouble.died_at));
        Ok((frontier, files))
    }

    /// Reads the record of clocks and of addresses that are lent.
    fn unpack_politeness(&mut self, mut from: &[u8], version: u64) -> Option<()> {
        let from = &mut from;
        self.politeness.unpack(from, version > 13)?;
        match &mut self.lending {
            Some(lending) if !from.is_empty() => lending.unpack(from),
            _ => Some(()),
        }
    }

    /// Returns the files that neither this frontier nor one of these snapshots needs, to be removed by the caller: they are not used
    /// again, and removing large files takes time in which the crawl need not wait.
    pub fn unused_files(&mut self, kept: &[SnapshotFiles]) -> io::Result<Vec<PathBuf>> {
        let queues = kept.iter().flat_map(|files| &files.queues).copied().collect();
        let mut unused =
            self.dedup.unused_files(&kept.iter().flat_map(|files| &files.seen).copied().collect())?;
        unused.extend(self.robots.unused_files()?);
        let of_hosts = [0, 1].map(|kind| kept.iter().flat_map(|files| &files.hosts[kind]).copied().collect());
        unused.extend(self.hosts.cold.unused_files(&of_hosts)?);
        unused.extend(self.hosts.unused_files(&queues)?);
        Ok(unused)
    }

    /// Appends the record of the requests that are out, whose responses may be lost; of the time, and of the responses that may be
    /// taken back.
    fn pack_leases(&self, record: &mut Vec<u8>) {
        let leased: HashSet<QueueId> = self.leases.queues().collect();
        let saved = self.hosts.iter().zip(0..).filter(|((id, _), _)| leased.contains(id));
        let numbers: HashMap<QueueId, u64> = saved.map(|((id, _), number)| (id, number)).collect();
        self.leases.pack(record, |id| numbers.get(&id).copied().unwrap_or_default());
        // Not in the version before.
        put_number(record, self.trouble.health.looked());
        let since = self.trouble.health.looked().saturating_sub(self.longest_doubt());
        let unconfirmed: Vec<_> =
            self.trouble.captive.doubted().filter(|recent| recent.finished >= since).collect();
        put_number(record, unconfirmed.len() as u64);
        unconfirmed.iter().for_each(|recent| recent.pack(record));
        self.outbox.pack(record);
        pack_options(&unconfirmed, record);
    }

    /// Reads that record; the queues are there.
    fn unpack_leases(&mut self, mut from: &[u8]) -> Option<()> {
        let from = &mut from;
        self.leases.unpack(from, self.hosts.warm_len())?;
        if from.is_empty() {
            return Some(());
        }
        self.trouble.died_at = codec::number(from)?;
        let mut unconfirmed = VecDeque::new();
        for _ in 0..codec::number(from)?.min(RECENT as u64) {
            let domain = |url: &CrawlUrl| self.politeness.domains.find(url.host()).unwrap_or(DomainId::MAX);
            unconfirmed.push_back(Recent::unpack(from, domain)?);
        }
        if !from.is_empty() {
            self.outbox.unpack(from)?;
            unpack_options(&mut unconfirmed, from)?;
        }
        self.trouble.captive.recent.load(unconfirmed);
        Some(())
    }

    /// URLs that are out, or settled but not recorded: they wait again after a restart, before all others.
    fn unsettled(&self) -> HashMap<QueueId, Vec<Waiting>> {
        let mut first: HashMap<QueueId, Vec<Waiting>> = HashMap::new();
        for (_, lease) in self.leases.iter().filter(|(_, lease)| lease.waiting.owner.is_none()) {
            first.entry(lease.queue).or_default().push(lease.waiting.clone());
        }
        for page in self.settled.iter().filter(|page| !page.is_reopened()) {
            let request = &page.response.request;
            let Some(id) = self.hosts.find(request.url.host()) else { continue };
            first.entry(id).or_default().push(Waiting::of(&Candidate::of(request)));
        }
        first
    }

    /// Appends the record of counts.
    fn pack_counts(&self, record: &mut Vec<u8>) {
        let tally = &self.tally;
        let settled = || self.settled.iter().filter(|page| !page.is_reopened());
        let failures = settled().filter_map(|page| page.response.result.as_ref().err());
        let (mut failed, mut refused_by_sites) = (tally.count(State::Failed), tally.count(State::Refused));
        for failure in failures {
            let ended =
                if State::settled(failure) == State::Failed { &mut failed } else { &mut refused_by_sites };
            *ended -= 1;
        }
        let undecided = settled().count() as u64;
        let refused = |refusal| self.admission.refused(refusal);
        for number in [
            self.hosts.warm_len() as u64,
            tally.count(State::Waiting) + tally.count(State::Leased) + undecided,
            tally.count(State::Done),
            failed,
            refused_by_sites,
            self.pages,
            self.leases.late(),
            self.dedup.known(),
            refused(Refusal::Scope),
            refused(Refusal::Depth),
            refused(Refusal::Nofollow),
            self.leases.next(),
        ] {
            put_number(record, number);
        }
        put_bytes(record, self.robots.agent().as_bytes());
        // Not in the version before.
        [refused(Refusal::Port), self.hosts.refused()]
            .into_iter()
            .for_each(|number| put_number(record, number));
    }

    /// Reads the record of counts; returns the number of queues, and whether the rules of robots.txt files are those for
    /// this crawler's name.
    fn unpack_counts(&mut self, mut from: &[u8]) -> Option<(u64, bool)> {
        let from = &mut from;
        let queues = codec::number(from)?;
        for state in [State::Waiting, State::Done, State::Failed, State::Refused] {
            self.tally.set(state, codec::count(from)?);
        }
        self.pages = codec::count(from)?;
        let late = codec::count(from)?;
        self.dedup.set_known(codec::count(from)?);
        for refusal in [Refusal::Scope, Refusal::Depth, Refusal::Nofollow] {
            self.admission.set_refused(refusal, codec::count(from)?);
        }
        self.leases.load(late, codec::count(from)?);
        let agent = codec::text(from)? == self.robots.agent();
        if !from.is_empty() {
            self.admission.set_refused(Refusal::Port, codec::count(from)?);
            self.hosts.set_refused(codec::count(from)?);
        }
        Some((queues, agent))
    }

    /// Reads the record of the scope.
    fn unpack_scope(&mut self, mut from: &[u8]) -> Option<()> {
        let from = &mut from;
        for _ in 0..codec::number(from)? {
            self.admission.include_name(codec::text(from)?);
        }
        Some(())
    }
}

/// Appends the record of a queue, with the URLs before its backlog.
fn pack_queue(
    queue: &Queue,
    first: &[Waiting],
    robots: &RobotsCache,
    record: &mut Vec<u8>,
) -> io::Result<()> {
    put_bytes(record, queue.host.as_bytes());
    queue.pace.pack(record);
    robots.pack(&queue.origins, record)?;
    let front = queue.front.iter().rev().chain(&queue.later).filter(|waiting| waiting.owner.is_none());
    let (mut packed, mut count) = (Vec::new(), 0);
    for waiting in first.iter().chain(front) {
        waiting.pack(&mut packed);
        count += 1;
    }
    queue.backlog.pack(&packed, count, record);
    // Not in the version before.
    put_number(record, queue.mark);
    queue.origins.pack_mark(record);
    queue.backlog.pack_others(&packed, count, record);
    Ok(())
}

/// Reads a queue without its backlog.
fn unpack_host(from: &mut &[u8], is_same_agent: bool, robots: &mut RobotsCache) -> Option<Queue> {
    let mut queue = Queue::new(codec::text(from)?);
    queue.pace = Pace::unpack(from)?;
    robots.unpack(&mut queue.origins, from, is_same_agent)?;
    Some(queue)
}

/// Reads the marks of a queue; versions before have none, or only the first.
fn unpack_marks(queue: &mut Queue, from: &mut &[u8]) -> Option<()> {
    let mut number = || if from.is_empty() { Some(0) } else { codec::number(from) };
    queue.mark = number()?;
    queue.origins.set_mark(number()?, number()? != 0);
    Some(())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
