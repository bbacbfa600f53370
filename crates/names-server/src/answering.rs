//! Threads besides the workers: they deliver upstream answers, accept connections and run timers.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use lycosa_names::{Families, HostName, MakeSink, PacketAnswer};
use lycosa_url::{Micros, Resolved};
use nix::poll::{PollFd, PollFlags, poll};

use crate::answered::Source;
use crate::figures::{Count, Figures};
use crate::judging::Verdict;
use crate::listen::LOOK;
use crate::pending::{Waiter, Way};
use crate::question::{Code, Question};
use crate::reply::Asked;
use crate::reply_batch::ReplyBatch;
use crate::state::ServerState;
use crate::stream::{Connection, Connections};

/// Interval at which stale answers that are due are served.
const TICK: Duration = Duration::from_millis(20);

/// Interval between loop probes, in microseconds.
const PROBE: Micros = 30_000_000;

/// Interval between loop probes while no upstream seems to answer, in microseconds.
const PULSE: Micros = 2_000_000;

/// State that these threads share.
pub(crate) struct Answering {
    pub(crate) state: Arc<ServerState>,
    /// Whether the server has ended.
    pub(crate) is_closed: Arc<AtomicBool>,
}

/// Delivers upstream answers to clients, on the threads of the upstreams' clients.
#[derive(Clone, Default)]
pub(crate) struct Teller {
    /// Unset until the server has started. Weak, since the server owns the upstreams' clients.
    state: Arc<OnceLock<Weak<ServerState>>>,
    figures: Arc<Figures>,
}

impl Teller {
    /// A teller without a server; counts in `figures`.
    pub(crate) fn new(figures: Arc<Figures>) -> Self {
        Teller { state: Arc::default(), figures }
    }

    /// Connects the teller to its server.
    pub(crate) fn begin(&self, state: &Arc<ServerState>) {
        self.state.get_or_init(|| Arc::downgrade(state));
    }

    /// Makes the sink for answers of one family and for whole replies.
    pub(crate) fn sink(&self, families: Families) -> MakeSink {
        let teller = self.clone();
        Box::new(move || {
            let mut batch = None;
            Box::new(move |answers, packets| match teller.state.get().and_then(Weak::upgrade) {
                Some(state) => {
                    let batch = batch.get_or_insert_with(|| ReplyBatch::of(&state));
                    tell(&state, families, (answers, packets), batch, &teller.figures);
                }
                None => {
                    answers.clear();
                    packets.clear();
                }
            })
        })
    }
}

/// Delivers upstream answers to their waiters.
fn tell(
    state: &ServerState,
    families: Families,
    (answers, packets): (&mut Vec<Resolved>, &mut Vec<PacketAnswer>),
    batch: &mut ReplyBatch,
    figures: &Figures,
) {
    let moment = state.moment(figures);
    for (answer, waiters) in state.pending.take(families, answers) {
        for waiter in waiters {
            batch.deliver(&waiter, |to, out| state.settle(&answer, families, to, &moment, out));
        }
    }
    for (answer, waiters) in state.pending.take_packets(packets) {
        let (key, packet) = (&answer.key, &answer.packet);
        state.tell_packet(key, packet, &waiters, Source::Upstream, batch, &moment);
    }
    batch.flush(state, figures);
}

impl Answering {
    /// Serves stale answers when the client-response timer fires (RFC 8767 section 5) and sends loop probes,
    /// until the server ends.
    pub(crate) fn keep(&self, figures: &Figures) {
        let mut batch = ReplyBatch::of(&self.state);
        let (mut next_probe, mut next_look) = (0, 0);
        while !self.is_closed.load(Relaxed) {
            std::thread::sleep(TICK);
            let moment = self.state.moment(figures);
            for (wanted, waiters) in self.state.pending.take_impatient(moment.now) {
                self.state.tell_stale_to(&wanted, &waiters, Source::Upstream, &mut batch, &moment);
            }
            batch.flush(&self.state, figures);
            if moment.now >= next_look {
                next_look = moment.now + PULSE;
                // Backed-off upstreams may be healthy and only the names dead.
                if moment.now >= next_probe || self.state.pending.upstream().is_resting() {
                    self.state.probe(moment.now);
                    next_probe = moment.now + PROBE;
                }
            }
        }
    }

    /// Accepts connections of allowed clients, each on a thread of its own, until the server drains.
    pub(crate) fn accept(
        &self,
        listener: &TcpListener,
        connections: &Arc<Connections>,
        figures: &Arc<Figures>,
    ) {
        while !self.state.is_draining.load(Relaxed) {
            let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            let within = u16::try_from(LOOK.as_millis()).unwrap_or(u16::MAX);
            if !matches!(poll(&mut polled, within), Ok(1)) {
                continue;
            }
            let admits = |client| self.state.admits(client, &self.state.moment(figures));
            let (number, connection) = match connections.accept(listener, admits) {
                Ok(Some(accepted)) => accepted,
                Ok(None) => continue,
                Err(error) => {
                    wait_after(&error, figures);
                    continue;
                }
            };
            let (state, open, figures) = (self.state.clone(), connections.clone(), figures.clone());
            let work = move || {
                serve(&state, &connection, &figures);
                open.remove(number);
            };
            if std::thread::Builder::new().name("lycosa-dns-tcp".to_owned()).spawn(work).is_err() {
                connections.remove(number); // no thread available: the connection is closed
            }
        }
    }
}

/// Waits after a failed accept: the connection stays in the backlog if the system lacks resources such as
/// descriptors.
fn wait_after(error: &io::Error, figures: &Figures) {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    // With these errors the client is gone or no connection is pending; the next accept need not wait.
    if !matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock) {
        figures.add(Count::AcceptFailures);
        std::thread::sleep(LOOK);
    }
}

/// Answers the questions of a connection until it ends or its client is no longer allowed.
fn serve(state: &ServerState, connection: &Arc<Connection>, figures: &Figures) {
    let (mut buffer, mut texts, mut out, mut batch) =
        (Vec::new(), String::new(), Vec::new(), ReplyBatch::of(state));
    let mut idle = state.held.policy().tcp_idle;
    while !state.is_draining.load(Relaxed)
        && let Some(message) = connection.read(&mut buffer, idle)
    {
        figures.add(Count::QuestionsTcp);
        let moment = state.moment(figures);
        idle = moment.policy.tcp_idle;
        if !state.admits(connection.client, &moment) {
            return;
        }
        texts.clear();
        out.clear();
        let way = || Way::Stream(connection.clone());
        let waiter = |question: &Question<'_>| Waiter {
            asked: Asked::of(question),
            way: way(),
            client: connection.client,
            received: moment.now,
        };
        match state.judge(message, (connection.client, true), &moment, &mut texts, &mut out) {
            Verdict::Silence => return, // a client that sends no questions is disconnected
            Verdict::Written(source) => {
                connection.send(&out);
                batch.answered.add(source, moment.now, (connection.client, true), &out);
            }
            Verdict::Pass(question) => {
                state.pass(&question, waiter(&question), &mut batch, &moment);
            }
            Verdict::LookUp(question, families) => {
                let known = state.held.cache.get(HostName::of_normal(&texts), families, moment.second);
                if let Some(record) = known {
                    let source = state.tell(&question, &texts, &record, &moment, &mut out);
                    connection.send(&out);
                    batch.answered.add(source, moment.now, (connection.client, true), &out);
                    if state.is_worth_prefetching(&texts, families, &record, &moment) {
                        state.prefetch(vec![texts.as_str().into()], families, &moment);
                    }
                } else if question.wants_recursion() {
                    figures.add(Count::Misses);
                    let miss = state.miss(&question, &texts, families, way(), connection.client, &moment);
                    state.ask([miss].into_iter(), &mut batch, &moment);
                } else {
                    batch.code(&waiter(&question), Code::Refused, Source::Refused, figures);
                }
            }
        }
        batch.flush(state, figures);
    }
}
