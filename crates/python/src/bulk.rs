//! Who waits for which answer of the bulk resolver, and what nobody has fetched. No I/O.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use lycosa_names::{Client, HostName, PacketAnswer, PacketKey, Rtype};
use lycosa_url::Resolved;

use crate::known::Outcome;
use crate::resolutions::{Row, Status};

/// For how long a rate may be exceeded to make up for time in which nobody submitted.
const BURST: f64 = 0.05; // s

/// How often a thread that waits for answers looks for names that wait for the rate, at most.
const LOOK: Duration = Duration::from_millis(10);

/// The state of a bulk resolver.
pub(crate) struct Bulk {
    concurrency: usize,
    /// Whether addresses are asked for, and which other types are.
    addresses: bool,
    types: Vec<Rtype>,
    /// Whether types were asked for, so that the failure of one is the name's, also of A or AAAA.
    each_counts: bool,
    /// Names that the client has or that wait for the rate, by the text that the client is given.
    waiting: HashMap<Box<str>, Waiting>,
    /// Names that wait for the rate. Filled by `accept`, emptied by `release`.
    queue: VecDeque<Box<str>>,
    /// Answers. Filled by `collect`, emptied by `give`.
    ready: VecDeque<Arc<Row>>,
    /// Answers of the client that are being worked on.
    drained: Vec<Resolved>,
    /// The same about records.
    drained_packets: Vec<PacketAnswer>,
    /// The names that wait for records.
    asked: HashMap<PacketKey, Vec<Box<str>>>,
    /// Names that were taken and not given out.
    pending: usize,
    /// How often each name, by its hash, was answered before. Of a hundred million names, two have the same 64 bits with a
    /// probability of 3e-4.
    before: HashMap<u64, u32>,
    hasher: RandomState,
    pace: Option<Pace>,
    names: u64,
    passed_over: u64,
    statuses: [u64; Status::ALL.len()],
}

/// Those who wait for one name.
struct Waiting {
    first: Asker,
    others: Vec<Asker>,
    /// Answers that are to come.
    left: usize,
    /// What the others have said.
    outcome: Option<Outcome>,
}

/// One who asked: the number, and the text where it is not the one that the client is given.
struct Asker {
    place: u64,
    given: Option<Box<str>>,
}

impl Bulk {
    /// Nobody waits.
    pub(crate) fn new(
        concurrency: usize,
        rate: Option<f64>,
        (addresses, types): (bool, Vec<Rtype>),
        each_counts: bool,
    ) -> Self {
        Bulk {
            concurrency,
            addresses,
            types,
            each_counts,
            waiting: HashMap::new(),
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            drained: Vec::new(),
            drained_packets: Vec::new(),
            asked: HashMap::new(),
            pending: 0,
            before: HashMap::new(),
            hasher: RandomState::new(),
            pace: rate.map(|rate| Pace::new(rate, Instant::now())),
            names: 0,
            passed_over: 0,
            statuses: [0; Status::ALL.len()],
        }
    }

    /// Whether rows have records.
    pub(crate) fn has_records(&self) -> bool {
        !self.types.is_empty()
    }

    /// A name was answered before: it is passed over as often as it is told here.
    pub(crate) fn pass_over(&mut self, name: &str) {
        let hash = self.hasher.hash_one(name);
        *self.before.entry(hash).or_default() += 1;
    }

    /// How many more names may be asked for.
    pub(crate) fn free(&self) -> usize {
        self.concurrency.saturating_sub(self.pending)
    }

    /// How many more may be taken at most, those that are passed over included.
    pub(crate) fn may_take(&self) -> usize {
        self.free().saturating_add(self.before.len())
    }

    /// Names that were taken and not given out.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Answers that can be given out.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Counts since the start.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let statuses = Status::ALL.map(|status| (status.name(), self.statuses[status as usize]));
        [("names", self.names), ("passed_over", self.passed_over)].into_iter().chain(statuses)
    }

    /// Takes names as far as there is space; gives how many, those that were passed over included.
    pub(crate) fn accept<'a>(&mut self, names: impl Iterator<Item = (Cow<'a, str>, u64)>) -> usize {
        let mut taken = 0;
        for (name, place) in names {
            if !self.was_answered(&name) {
                if self.pending >= self.concurrency {
                    break;
                }
                self.ask(name, place);
            }
            taken += 1;
        }
        taken
    }

    /// Whether a name was answered before, and not passed over as often.
    fn was_answered(&mut self, name: &str) -> bool {
        if self.before.is_empty() {
            return false;
        }
        let Entry::Occupied(mut count) = self.before.entry(self.hasher.hash_one(name)) else { return false };
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
        self.passed_over += 1;
        true
    }

    /// Queues a name, or joins it to one that waits.
    fn ask(&mut self, name: Cow<'_, str>, place: u64) {
        self.pending += 1;
        self.names += 1;
        let mut buffer = String::new();
        // What is no name goes to the client as it is: it may be an address, and otherwise the client says what is wrong.
        let (text, given): (Box<str>, _) = match HostName::normalize(&name, &mut buffer) {
            Ok(host) if host.as_str() != name => (host.as_str().into(), Some(name.into())),
            Ok(_) | Err(_) => (name.into(), None),
        };
        let asker = Asker { place, given };
        match self.waiting.entry(text) {
            Entry::Occupied(mut waiting) => waiting.get_mut().others.push(asker),
            Entry::Vacant(vacant) => {
                self.queue.push_back(vacant.key().clone());
                let left = usize::from(self.addresses) + self.types.len();
                vacant.insert(Waiting { first: asker, others: Vec::new(), left, outcome: None });
            }
        }
    }

    /// Hands the client what the rate allows.
    pub(crate) fn release(&mut self, client: &Client) {
        let allowed = match &mut self.pace {
            None => self.queue.len(),
            Some(pace) => pace.take(self.queue.len(), Instant::now()),
        };
        if self.types.is_empty() {
            return client.submit(self.queue.drain(..allowed).collect());
        }
        let names: Vec<Box<str>> = self.queue.drain(..allowed).collect();
        let keys = names.iter().flat_map(|name| self.questions(name)).collect();
        client.submit_packets(keys);
        if self.addresses {
            client.submit(names);
        }
    }

    /// The questions for records of a name that is to be asked about them; what is no name is answered.
    fn questions(&mut self, name: &str) -> Vec<PacketKey> {
        let mut new = Vec::new();
        for rtype in self.types.clone() {
            match PacketKey::of_text(name, rtype, false) {
                Ok(key) => {
                    let names = self.asked.entry(key.clone()).or_default();
                    if names.is_empty() {
                        new.push(key);
                    }
                    names.push(name.into());
                }
                Err(why) => self.learn(name, Outcome::bad_name(why)),
            }
        }
        new
    }

    /// Takes the client's answers, for all who asked.
    pub(crate) fn collect(&mut self, client: &Client) {
        let mut drained = std::mem::take(&mut self.drained);
        client.drain(&mut drained);
        for resolved in drained.drain(..) {
            let (name, outcome) = Outcome::of(resolved, self.each_counts);
            self.learn(&name, outcome);
        }
        self.drained = drained;
        if self.types.is_empty() {
            return;
        }
        let mut drained = std::mem::take(&mut self.drained_packets);
        client.drain_packets(&mut drained);
        for answer in drained.drain(..) {
            let names = self.asked.remove(&answer.key).unwrap_or_default();
            let outcome = Outcome::of_packet(&answer, client.packets());
            names.iter().for_each(|name| self.learn(name, outcome.clone()));
        }
        self.drained_packets = drained;
    }

    /// Takes one of a name's answers; the last one is given to all who asked.
    fn learn(&mut self, name: &str, outcome: Outcome) {
        // Most names have one answer, and are looked up once.
        let whole = if self.has_records() { self.join(name, outcome) } else { Some(outcome) };
        let Some(outcome) = whole else { return };
        let Some((text, waiting)) = self.waiting.remove_entry(name) else { return };
        for asker in waiting.others {
            let name = asker.given.unwrap_or_else(|| text.clone());
            self.answer(Row::new(outcome.clone(), asker.place, name));
        }
        let name = waiting.first.given.unwrap_or(text);
        self.answer(Row::new(outcome, waiting.first.place, name));
    }

    /// Joins one of a name's answers to the others; gives all of them once there are.
    fn join(&mut self, name: &str, outcome: Outcome) -> Option<Outcome> {
        let waiting = self.waiting.get_mut(name)?;
        waiting.left = waiting.left.saturating_sub(1);
        let outcome = match waiting.outcome.take() {
            Some(before) => before.merge(outcome),
            None => outcome,
        };
        if waiting.left > 0 {
            waiting.outcome = Some(outcome);
            return None;
        }
        Some(outcome)
    }

    /// Counts an answer and keeps it for whoever takes it.
    fn answer(&mut self, row: Row) {
        self.statuses[row.status as usize] += 1;
        self.ready.push_back(Arc::new(row));
    }

    /// Gives answers out.
    pub(crate) fn give(&mut self, max: usize) -> Vec<Arc<Row>> {
        let given: Vec<_> = self.ready.drain(..max.min(self.ready.len())).collect();
        self.pending -= given.len();
        given
    }

    /// Under a rate: how long the first name in the queue waits for it, or one that comes meanwhile may have to wait.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let pace = self.pace.as_ref()?;
        Some(if self.queue.is_empty() { pace.period().max(LOOK) } else { pace.next() })
    }
}

/// A rate: a bucket of tokens, one a name.
struct Pace {
    rate: f64,
    tokens: f64,
    at: Instant,
}

impl Pace {
    /// So many a second; the first at once.
    fn new(rate: f64, now: Instant) -> Self {
        Pace { rate, tokens: 1.0, at: now }
    }

    /// Allows as many as there are tokens for, at most `wanted`.
    fn take(&mut self, wanted: usize, now: Instant) -> usize {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min((self.rate * BURST).max(1.0));
        self.at = now;
        let taken = wanted.min(self.tokens as usize);
        self.tokens -= taken as f64;
        taken
    }

    /// The time between two tokens.
    fn period(&self) -> Duration {
        Duration::from_secs_f64((1.0 / self.rate).min(3_600.0))
    }

    /// How long until there is a token; a millisecond at least, so that quick rates release batches.
    fn next(&self) -> Duration {
        Duration::from_secs_f64(((1.0 - self.tokens).max(0.0) / self.rate).clamp(0.001, 3_600.0))
    }
}
