//! The client's thread: does the I/O that the [`Core`] decides.
//!
//! Each pass takes names, checks deadlines, sends what the servers have free slots for, publishes answers,
//! waits, and receives.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use lycosa_url::{Clock, Micros};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustls::ClientConfig;

use crate::asked::{SocketId, Try};
use crate::batch::{BATCH, Incoming};
use crate::cache::{NameCache, PacketCache};
use crate::client::{Order, Shared, Sink};
use crate::core::Core;
use crate::descriptors;
use crate::settings::Settings;
use crate::sockets::Sockets;
use crate::streams::{Came, Ended, Streams};
use crate::upstream::{Place, micros};
use crate::wire;

/// Names taken per pass; a bound on the delay of answers.
const NAMES: usize = 1_024;

/// Names queued inside the core; the others wait as orders, which need a quarter of the memory.
const QUEUE: usize = 65_536;

/// Interval of deadline checks, in milliseconds.
const TICK: u16 = 10;

/// Interval at which the upstreams' figures are published, in microseconds, while queries are in flight: there
/// may be thousands of upstreams.
const FIGURES: Micros = 20_000;

/// Interval of deadline checks, in milliseconds, while a rate or the kernel blocks sending.
const SHORT_TICK: u16 = 1;

/// State of the client's thread.
pub(crate) struct Engine {
    clock: Clock,
    core: Core,
    sockets: Sockets,
    streams: Streams,
    /// The id of the newest socket.
    last: SocketId,
    /// Orders not yet passed to the core.
    names: std::vec::IntoIter<Order>,
    /// The longest wait for one reply.
    patience: Micros,
    shared: Arc<Shared>,
    /// When figures were last published, and the sum of queries, answers and time-outs then.
    told: (Micros, u64),
    /// Receives answers as they arrive.
    sink: Option<Sink>,
    /// Readable when there are new orders.
    bell: UnixStream,
}

impl Engine {
    /// Creates an engine from the settings.
    pub(crate) fn new(
        settings: Settings,
        caches: (Box<dyn NameCache>, Arc<PacketCache>),
        trust: Option<ClientConfig>,
        (shared, sink): (Arc<Shared>, Option<Sink>),
        bell: UnixStream,
    ) -> Self {
        let now = settings.clock.now();
        let patience = micros(settings.timeout).saturating_mul(2);
        let sockets = Sockets::new(patience, settings.all_servers().count(), descriptors::limit());
        Engine {
            clock: settings.clock,
            core: Core::new(settings, caches, now),
            sockets,
            streams: Streams::new(trust),
            last: 0,
            names: Vec::new().into_iter(),
            patience,
            shared,
            told: (0, 0),
            sink,
            bell,
        }
    }

    /// The thread's loop; ends when the client is closed.
    pub(crate) fn run(mut self) {
        loop {
            let now = self.clock.now();
            self.core.follow_wall(self.clock.wall_offset());
            if !self.take_names(now) {
                return;
            }
            self.pass(now);
            self.send(now);
            let traffic =
                self.core.statistics.questions + self.core.statistics.answers + self.core.statistics.timeouts;
            let is_new = self.told.1 != traffic;
            let is_due = self.told.0.saturating_add(FIGURES) <= now || is_new && !self.core.is_waiting();
            if is_due {
                self.told = (now, traffic);
            }
            self.shared.publish(&mut self.core, &mut self.sink, is_due);
            self.wait();
        }
    }

    /// Passes names to the core while its queue is not full; returns whether the client is still open.
    fn take_names(&mut self, now: Micros) -> bool {
        match self.shared.take_orders(self.names.len() == 0) {
            Some(names) if self.names.len() == 0 => self.names = names.into_iter(),
            Some(_) => (),
            None => return false,
        }
        if self.core.queued() < QUEUE {
            let mut coalesced = 0;
            for _ in 0..NAMES / BATCH {
                self.core.foresee_orders(self.names.as_slice().get(..BATCH).unwrap_or(self.names.as_slice()));
                coalesced += self.core.submit(self.names.by_ref().take(BATCH), now);
            }
            self.shared.forget(coalesced);
        }
        true
    }

    /// Handles deadlines.
    fn pass(&mut self, now: Micros) {
        self.core.expire(now);
        self.core.refresh(now);
        self.sockets.close_worn(now);
        for ended in self.streams.close_idle(self.patience, now) {
            self.core.fail(ended.id, &ended.why, now);
        }
    }

    /// Sends while servers have free slots and the kernel accepts.
    fn send(&mut self, now: Micros) {
        while !self.sockets.is_blocked() {
            let mut sent = 0;
            while sent < NAMES
                && let Some((attempt, place)) = self.next(now)
            {
                if sent % BATCH == 0 {
                    self.core.foresee_next(BATCH);
                }
                self.ask(attempt, place, now);
                sent += 1;
            }
            for (id, error) in self.sockets.flush() {
                self.lose(id, &error, now);
            }
            if sent == 0 {
                return;
            }
        }
    }

    /// The next try to send; a prefetch if no other name is queued.
    fn next(&mut self, now: Micros) -> Option<(Try, Place)> {
        loop {
            let next = self.core.next(now);
            if next.is_some() || self.is_busy() {
                return next;
            }
            let order = Order::Addresses { name: self.shared.take_prefetch()?, fresh: true };
            let coalesced = self.core.submit([order], now);
            self.shared.forget(coalesced);
        }
    }

    /// Whether prefetches must wait.
    fn is_busy(&self) -> bool {
        self.names.len() > 0 || !self.core.is_at_leisure()
    }

    /// Sends one query.
    fn ask(&mut self, attempt: Try, place: Place, now: Micros) {
        let Some(server) = self.core.server(place) else { return };
        let is_stream = attempt.profile.is_stream();
        let socket = if is_stream {
            self.streams.connect(place, server, &mut self.last, now)
        } else {
            self.sockets.turn(place, server.address, &mut self.last, now)
        };
        let id = match socket {
            Ok(id) => id,
            Err(error) => {
                let is_full = error.kind() == io::ErrorKind::WouldBlock;
                let shortage = descriptors::explain_shortage(&error);
                return match shortage.or_else(|| is_full.then(|| error.to_string())) {
                    Some(why) => self.core.postpone(attempt, place, &why, now),
                    None => self.core.unreachable(attempt, place, &error.to_string(), now),
                };
            }
        };
        let Some(message) = self.core.begin(attempt, place, id, now) else { return };
        if is_stream {
            self.streams.push(id, message, now);
        } else if let Err(error) = self.sockets.push(id, message)
            && error.kind() != io::ErrorKind::WouldBlock
        {
            self.lose(id, &error, now);
        }
    }

    /// Waits for events and receives replies.
    fn wait(&mut self) {
        let timeout = match () {
            () if self.names.len() > 0 && self.core.queued() < QUEUE => PollTimeout::ZERO,
            () if self.core.is_held_back() || self.sockets.is_blocked() => SHORT_TICK.into(),
            () if self.core.is_waiting() || !self.streams.is_empty() => TICK.into(),
            () => PollTimeout::NONE,
        };
        let is_busy = self.is_busy() || self.sockets.is_blocked();
        let may_wait = self.shared.fall_asleep(self.names.len() > 0, is_busy);
        let timeout = if may_wait { timeout } else { PollTimeout::ZERO };
        let (is_rung, sockets, streams) = self.ready(timeout);
        self.shared.wake_up(&self.bell, is_rung);
        let now = self.clock.now();
        for id in sockets {
            let core = &mut self.core;
            let take = |batch: &Incoming| {
                core.foresee(id, batch.messages());
                batch.messages().for_each(|message| core.receive(id, message, now));
            };
            if let Err(error) = self.sockets.receive(id, take) {
                self.lose(id, &error, now);
            }
        }
        for id in streams {
            let core = &mut self.core;
            let take = |came: Came<'_>| match came {
                Came::Reply(message) => core.receive(id, message, now),
                Came::Own(message) => {
                    core.receive(id, message, now);
                    if let Some(number) = wire::id(message) {
                        core.fail_one((id, number), "HTTPS: a reply to another question", now);
                    }
                }
                Came::Failed(number, why) => core.fail_one((id, number), why, now),
                Came::Gone(number, _) => core.reconnect_one((id, number)),
            };
            if let Some(ended) = self.streams.serve(id, now, take) {
                self.end(&ended, now);
            }
        }
    }

    /// Polls all sockets; returns whether the bell is readable, and the sockets that are ready, datagram sockets and
    /// streams apart.
    fn ready(&self, timeout: PollTimeout) -> (bool, Vec<SocketId>, Vec<SocketId>) {
        let flags = |sends| if sends { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let (mut ids, mut polled) = (Vec::new(), vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)]);
        for (id, socket, sends) in self.sockets.polled().chain(self.streams.polled()) {
            ids.push(id);
            polled.push(PollFd::new(socket, flags(sends)));
        }
        let datagrams = self.sockets.polled().count();
        if poll(&mut polled, timeout).is_err() {
            return Default::default(); // interrupted
        }
        // Errors and hang-ups count as ready: the next call returns them.
        let is_ready = |polled: &PollFd<'_>| polled.revents().is_some_and(|events| !events.is_empty());
        let mut ready = (is_ready(&polled[0]), Vec::new(), Vec::new());
        for (place, (id, polled)) in ids.into_iter().zip(&polled[1..]).enumerate() {
            match (is_ready(polled), place < datagrams) {
                (false, _) => (),
                (true, true) => ready.1.push(id),
                (true, false) => ready.2.push(id),
            }
        }
        ready
    }

    /// A socket failed; mostly the server's host reported that no process listens on the port.
    fn lose(&mut self, id: SocketId, error: &io::Error, now: Micros) {
        self.sockets.close(id);
        self.core.fail(id, &error.to_string(), now);
    }

    /// A connection ended.
    fn end(&mut self, ended: &Ended, now: Micros) {
        if ended.is_worth_repeating {
            self.core.reconnect(ended.id);
        } else {
            self.core.fail(ended.id, &ended.why, now);
        }
    }
}
