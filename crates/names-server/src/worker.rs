//! A worker: processes the datagrams of one socket in batches. A batch allocates nothing per question unless
//! upstreams have to be asked.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lycosa_names::{Families, HostName};
use lycosa_url::Micros;

use crate::answered::Source;
use crate::datagrams::{Answers, BATCH, Peer, Questions};
use crate::figures::{Count, Figures};
use crate::judging::Verdict;
use crate::pending::{Waiter, Way};
use crate::question::{Code, Question};
use crate::reply::Asked;
use crate::reply_batch::ReplyBatch;
use crate::state::{Moment, ServerState};

/// A worker's state.
pub(crate) struct Worker {
    pub(crate) state: Arc<ServerState>,
    pub(crate) socket: Arc<UdpSocket>,
    pub(crate) figures: Arc<Figures>,
}

/// How long a worker waits for more questions under load.
const LINGER: Duration = Duration::from_micros(50);

/// Expected questions within [`LINGER`] from which waiting pays: 5 in 50 µs are 100,000 a second. At half
/// that rate the sleep cost as much as it saved.
const WORTH: f64 = 5.0;

/// How long the arrival rate is measured: longer than a burst of a client that sends by a timer, whose rate for some
/// microseconds says nothing about the load.
const WINDOW: Micros = 10_000;

/// Arrival rate of questions. Under load a worker takes larger batches, like the interrupt moderation of
/// network cards; a single question is answered at once.
struct Arrivals {
    /// When the window began, and the questions since then.
    since: Micros,
    count: usize,
    /// Questions a second in the window before.
    rate: f64,
}

impl Arrivals {
    /// No questions so far.
    fn start(now: Micros) -> Self {
        Arrivals { since: now, count: 0, rate: 0.0 }
    }

    /// Records a batch of `count` questions; returns whether the worker should wait until more have come.
    fn should_linger(&mut self, count: usize, now: Micros) -> bool {
        self.count += count;
        let passed = now.saturating_sub(self.since);
        if passed >= WINDOW {
            self.rate = self.count as f64 * 1e6 / passed as f64;
            (self.since, self.count) = (now, 0);
        }
        count < BATCH && self.rate * LINGER.as_secs_f64() >= WORTH
    }
}

/// A question to be looked up in the cache.
struct Open<'m> {
    question: Question<'m>,
    peer: Peer,
    /// Range of its name in the texts of the batch.
    name: std::ops::Range<usize>,
    families: Families,
}

impl Worker {
    /// The worker's loop; ends when the server drains.
    pub(crate) fn run(self) {
        let (mut questions, mut answers, mut texts) =
            (Questions::of(&self.socket), Answers::default(), String::new());
        let (mut batch, mut arrivals) =
            (ReplyBatch::of(&self.state), Arrivals::start(self.state.clock.now()));
        while !self.state.is_draining.load(Relaxed) {
            match questions.receive(&self.socket) {
                Ok(()) => {
                    let now = self.serve(&questions, &mut answers, &mut texts, &mut batch);
                    if arrivals.should_linger(questions.messages().count(), now) {
                        std::thread::sleep(LINGER);
                    }
                }
                // The kernel reports that an earlier answer found its port closed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => (),
                // Usually out of memory.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Answers a batch from the cache or asks upstreams; returns the time when it is sent.
    fn serve(
        &self,
        questions: &Questions,
        answers: &mut Answers,
        texts: &mut String,
        batch: &mut ReplyBatch,
    ) -> Micros {
        let moment = self.state.moment(&self.figures);
        texts.clear();
        let (mut open, mut count) = (Vec::new(), 0);
        for (message, peer) in questions.messages() {
            count += 1;
            let start = texts.len();
            let client = (peer.address.ip(), false);
            match self.state.judge(message, client, &moment, texts, &mut answers.bytes) {
                Verdict::Silence => (),
                Verdict::Written(source) => {
                    batch.answered.add(source, moment.now, client, answers.push(peer));
                }
                Verdict::LookUp(question, families) => {
                    open.push(Open { question, peer, name: start..texts.len(), families });
                }
                Verdict::Pass(question) => self.pass(&question, peer, &moment, batch),
            }
        }
        self.figures.add_many(Count::QuestionsUdp, count);
        let missed = self.look_up(&open, texts, &moment, answers, batch);
        if !missed.is_empty() {
            self.ask(&open, &missed, texts, &moment, batch);
        }
        answers.send(&self.socket);
        batch.flush(&self.state, &self.figures)
    }

    /// Answers cache hits; returns the indexes of the misses.
    fn look_up(
        &self,
        open: &[Open<'_>],
        texts: &str,
        moment: &Moment<'_>,
        answers: &mut Answers,
        batch: &mut ReplyBatch,
    ) -> Vec<usize> {
        let mut missed = Vec::new();
        for families in [Families::V4, Families::V6] {
            let places = || (0..open.len()).filter(|&place| open[place].families == families);
            let name_of = |place: usize| &texts[open[place].name.clone()];
            let names: Vec<HostName<'_>> =
                places().map(|place| HostName::of_normal(name_of(place))).collect();
            if names.is_empty() {
                continue;
            }
            let (mut places, mut expiring) = (places(), Vec::new());
            self.state.held.cache.get_many(&names, families, moment.second, |_, record| {
                let Some(place) = places.next() else { return };
                let Some(record) = record else { return missed.push(place) };
                let (name, question) = (name_of(place), &open[place].question);
                let source = self.state.tell(question, name, &record, moment, &mut answers.bytes);
                let peer = open[place].peer;
                batch.answered.add(source, moment.now, (peer.address.ip(), false), answers.push(peer));
                if self.state.is_worth_prefetching(name, families, &record, moment) {
                    expiring.push(name.into());
                }
            });
            self.state.prefetch(expiring, families, moment);
        }
        missed
    }

    /// Asks upstreams about cache misses; refuses those without RD.
    fn ask(
        &self,
        open: &[Open<'_>],
        missed: &[usize],
        texts: &str,
        moment: &Moment<'_>,
        batch: &mut ReplyBatch,
    ) {
        let way = |peer| Way::Datagram(self.socket.clone(), peer);
        let (wanted, unwanted): (Vec<usize>, Vec<usize>) =
            missed.iter().partition(|&&place| open[place].question.wants_recursion());
        self.figures.add_many(Count::Misses, wanted.len() as u64);
        let misses = wanted.iter().map(|&place| {
            let Open { question, peer, name, families } = &open[place];
            self.state.miss(question, &texts[name.clone()], *families, way(*peer), peer.address.ip(), moment)
        });
        self.state.ask(misses, batch, moment);
        for place in unwanted {
            let Open { question, peer, .. } = &open[place];
            let waiter = self.waiter(question, *peer, moment);
            batch.code(&waiter, Code::Refused, Source::Refused, &self.figures);
        }
    }

    /// Passes a question through.
    fn pass(&self, question: &Question<'_>, peer: Peer, moment: &Moment<'_>, batch: &mut ReplyBatch) {
        self.state.pass(question, self.waiter(question, peer, moment), batch, moment);
    }

    /// A waiter for an answer by datagram.
    fn waiter(&self, question: &Question<'_>, peer: Peer, moment: &Moment<'_>) -> Waiter {
        let way = Way::Datagram(self.socket.clone(), peer);
        Waiter { asked: Asked::of(question), way, client: peer.address.ip(), received: moment.now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a worker lingers after batches of so many questions, each so many microseconds after the one before.
    fn lingers(batches: impl IntoIterator<Item = (usize, Micros)>) -> Vec<bool> {
        let (mut arrivals, mut now) = (Arrivals::start(0), 0);
        let batches = batches.into_iter();
        batches
            .map(|(count, after)| {
                now += after;
                arrivals.should_linger(count, now)
            })
            .collect()
    }

    #[test]
    fn bursts_of_a_low_rate_are_answered_at_once() {
        // 40,000 a second from a client that sends 20 questions in 50 µs, then pauses.
        let bursts = (0..1_000).flat_map(|_| [(5, 460), (5, 13), (5, 13), (5, 14)]);
        assert!(lingers(bursts).iter().all(|lingers| !lingers));
        let idle = [(1, 0), (1, 9_999), (40, 30_000_000), (40, 10)];
        assert!(lingers(idle).iter().all(|lingers| !lingers), "a burst after a pause");
    }

    #[test]
    fn a_high_rate_is_answered_in_larger_batches() {
        let steady = lingers((0..1_000).map(|_| (20, 100)));
        assert!(steady[..99].iter().all(|lingers| !lingers) && steady[101..].iter().all(|lingers| *lingers));
        let full = lingers((0..1_000).map(|_| (BATCH, 100)));
        assert!(full.iter().all(|lingers| !lingers), "a full batch waits for no more");
    }
}
