//! Chooses the server for each query. No I/O.
//!
//! The first server is preferred until it is slow, loaded or silent; then the one with the shortest expected
//! response time. A server that is silent or replies only with errors rests: others are queried, and at times
//! one query probes it. If all rest, the one whose rest ends first is queried. With `rotate`, healthy servers
//! get the same number of queries (SYSTEMS.md section 4). With `spread`, each name has its own server on the
//! ring, while that one is healthy.

mod groups;
mod server;

use std::sync::Arc;
use std::time::Duration;

use lycosa_url::{DEFAULT_VIRTUAL_NODES, Micros, Ring, digest_of};

pub(crate) use groups::UpstreamGroups;
pub(crate) use server::Limits;
pub use server::Pace;
use server::Server;

use crate::asked::Refusals;
use crate::nameserver::Nameserver;
use crate::settings::{Settings, UpstreamFigures};

/// The longest time-out divided by the shortest one: 500 ms of 2 s. A resolver answers from its cache in well
/// under a millisecond, but takes hundreds of milliseconds when it must query others.
const FLOOR: u32 = 4;

/// Errors in a row after which a server rests if names are spread: it has tried other servers already, and the
/// next server would repeat these tries.
const SPREAD_FAILURES: u32 = 100;

/// How long a server is paused if no socket is available for it, in microseconds: other servers are queried
/// meanwhile, or file descriptors become free.
const PAUSE: Micros = 50_000;

/// How long a shortage of sockets is the reason in failures of names, in microseconds.
const SHORTAGE: Micros = 1_000_000;

/// A server's index in the settings.
pub(crate) type Place = usize;

/// All servers.
pub(crate) struct Upstreams {
    servers: Vec<(Arc<Nameserver>, Server)>,
    ceiling: Micros,
    is_eager: bool,
    is_spread: bool,
    /// The server whose turn is next, if the servers rotate.
    turn: Option<Place>,
    /// The ring by which names are spread, if they are; its nodes are the servers' addresses, so that all
    /// clients agree, whatever the order of their servers.
    ring: Option<Ring>,
    /// The servers' names on the ring.
    names: Vec<String>,
    /// When and why no socket was available for a server.
    shortage: Option<(Micros, Arc<str>)>,
}

impl Upstreams {
    /// Creates the servers of the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let ceiling = micros(settings.timeout);
        let limits = Limits {
            floor: ceiling / Micros::from(FLOOR),
            ceiling,
            // Two queries per name if both families are queried.
            window: u32::try_from(settings.in_flight.max(1).saturating_mul(2)).unwrap_or(u32::MAX),
            rate: settings.rate,
            failures: if settings.spread { SPREAD_FAILURES } else { server::FAILURES },
        };
        let paces = settings.paces.iter().cloned().chain(std::iter::repeat_with(Pace::default));
        let with_pace =
            |(server, pace): (&Nameserver, _)| (Arc::new(server.clone()), Server::new(limits, pace));
        let servers = settings.servers.iter().zip(paces).map(with_pace).collect();
        let names: Vec<String> = settings.servers.iter().map(ToString::to_string).collect();
        let nodes: Vec<(&str, f64)> = names.iter().map(|name| (&**name, 1.0)).collect();
        let ring =
            (settings.spread && nodes.len() > 1).then(|| Ring::new(&nodes, DEFAULT_VIRTUAL_NODES).ok());
        let (is_eager, turn) = (settings.eager, settings.rotate.then_some(0));
        let (is_spread, ring) = (settings.spread, ring.flatten());
        Upstreams { servers, ceiling, is_eager, is_spread, turn, ring, names, shortage: None }
    }

    /// The number of servers.
    pub(crate) fn count(&self) -> usize {
        self.servers.len()
    }

    /// Whether each name has its own server.
    pub(crate) fn is_spread(&self) -> bool {
        self.is_spread
    }

    /// The server at an index.
    pub(crate) fn server(&self, place: Place) -> Option<&Nameserver> {
        self.servers.get(place).map(|(server, _)| &**server)
    }

    /// The next server to query, if possible not `before`; `None` if no server has a free slot.
    pub(crate) fn choose(&self, before: Option<Place>, now: Micros) -> Option<Place> {
        if let [(_, only)] = &self.servers[..] {
            return only.has_room(now).then_some(0);
        }
        let others = || self.servers.iter().enumerate().filter(|(place, _)| Some(*place) != before);
        if let Some((place, _)) =
            others().find(|(_, (_, server))| server.wants_probe(now) && server.has_room(now))
        {
            return Some(place);
        }
        let in_turn = self.turn.and_then(|turn| self.next_in_turn(turn, before, now));
        in_turn.or_else(|| self.quickest(before, now)).or_else(|| {
            if before.is_some() && self.servers.iter().any(|(_, server)| server.is_resting()) {
                // The others rest; `before` may be alive.
                self.quickest(None, now).or_else(|| self.least_tired(before, now))
            } else if before.is_some() {
                self.quickest(None, now)
            } else {
                self.least_tired(None, now)
            }
        })
    }

    /// The next server to query after others answered with an error: the fastest of the rest, or the one whose
    /// rest ends first; `None` if none of them has a free slot.
    pub(crate) fn choose_unrefused(&self, refused: Refusals, now: Micros) -> Option<Place> {
        let is_other = |place: Place| !refused.has(place) && !self.is_gone(place, now);
        let has_other = (0..self.servers.len()).any(is_other);
        let others = || self.servers.iter().enumerate().filter(|(place, _)| is_other(*place) || !has_other);
        let is_well = |(_, (_, server)): &(Place, &(Arc<Nameserver>, Server))| !server.is_resting();
        let open = others().filter(|(_, (_, server))| server.has_room(now));
        if others().any(|other| is_well(&other)) {
            let by_time =
                open.filter(is_well).map(|(place, (_, server))| (place, server.expected(self.typical())));
            by_time.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(place, _)| place)
        } else {
            open.min_by_key(|(_, (_, server))| server.rest()).map(|(place, _)| place)
        }
    }

    /// The next server to query for a name: if names are spread, its own server, or the next healthy one on the
    /// ring. `None` while that one has no free slot: another server would have to learn what that one has
    /// cached.
    pub(crate) fn choose_for(&self, name: &str, before: Option<Place>, now: Micros) -> Option<Place> {
        let Some(ring) = &self.ring else { return self.choose(before, now) };
        let place_of = |node: &str| self.names.iter().position(|name| name == node);
        let digest = digest_of(name);
        let is_well = |place: &Place| {
            let server = &self.servers[*place].1;
            Some(*place) != before && (!server.is_resting() || server.wants_probe(now))
        };
        let owner = |count| ring.owners(&digest, count).into_iter().filter_map(place_of).find(is_well);
        // The full order of many servers is expensive, and needed only if the first two are not healthy.
        match owner(2).or_else(|| owner(self.servers.len())) {
            Some(place) => self.servers[place].1.has_room(now).then_some(place),
            None => self.choose(before, now),
        }
    }

    /// The first server from `turn` on that has a free slot and does not rest.
    fn next_in_turn(&self, turn: Place, except: Option<Place>, now: Micros) -> Option<Place> {
        let count = self.servers.len();
        (turn..turn + count).map(|place| place % count).find(|place| {
            let server = &self.servers[*place].1;
            Some(*place) != except && !server.is_resting() && server.has_room(now)
        })
    }

    /// The server with the shortest expected response time, of those that have a free slot and do not rest.
    fn quickest(&self, except: Option<Place>, now: Micros) -> Option<Place> {
        let typical = self.typical();
        let open = self.servers.iter().enumerate().filter(|(place, (_, server))| {
            Some(*place) != except && !server.is_resting() && server.has_room(now)
        });
        let by_time = open.map(|(place, (_, server))| (place, server.expected(typical)));
        by_time.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(place, _)| place)
    }

    /// The shortest known round-trip time, in microseconds; the ceiling if none is known.
    fn typical(&self) -> f64 {
        let known = self.servers.iter().filter_map(|(_, server)| server.round_trip());
        known.min().map_or(self.ceiling as f64, |time| time.as_micros() as f64)
    }

    /// If all rest: the server whose rest ends first, if possible not `before`.
    fn least_tired(&self, before: Option<Place>, now: Micros) -> Option<Place> {
        if self.servers.iter().any(|(_, server)| !server.is_resting()) {
            return None;
        }
        let open = self.servers.iter().enumerate().filter(|(_, (_, server))| server.has_room(now));
        open.min_by_key(|(place, (_, server))| (Some(*place) == before, server.rest()))
            .map(|(place, _)| place)
    }

    /// The time until another server is queried, and the time until a reply is ignored, for a try of this
    /// server. Later rounds over the servers get twice as long, and the last try the longest time. If not
    /// eager, both are always the time-out of the settings.
    pub(crate) fn waits(&self, place: Place, number: u32, is_last: bool) -> (Micros, Micros) {
        if !self.is_eager {
            return (self.ceiling, self.ceiling);
        }
        let factor = if number as usize / self.servers.len().max(1) == 0 { 1 } else { 2 };
        let longest = self.ceiling.saturating_mul(factor);
        let soft = self.servers.get(place).map_or(self.ceiling, |(_, server)| server.timeout());
        (if is_last { longest } else { soft.saturating_mul(factor) }, longest)
    }

    /// Whether a server's loss exceeds the share that silent names explain (congestion).
    pub(crate) fn is_crowded(&self, place: Place, now: Micros) -> bool {
        self.servers.get(place).is_some_and(|(_, server)| server.is_crowded(now))
    }

    /// Records that a query was sent.
    pub(crate) fn sent(&mut self, place: Place, now: Micros) {
        self.turn = self.turn.map(|_| (place + 1) % self.servers.len().max(1));
        self.change(place, |server| server.sent(now));
    }

    /// Records a reply: `useful` unless it is an error; `None` if the query is repeated in another form; `late` if
    /// its deadline had passed.
    pub(crate) fn answered(
        &mut self,
        place: Place,
        sent: Micros,
        now: Micros,
        useful: Option<bool>,
        late: bool,
    ) {
        self.change(place, |server| server.answered(sent, now, useful, late));
    }

    /// Records that no reply arrived in time, or none can arrive. `is_first`: it was the question's first try.
    pub(crate) fn lost(&mut self, place: Place, sent: Micros, now: Micros, is_first: bool) {
        self.change(place, |server| server.lost(sent, now, is_first));
    }

    /// Records why a connection failed.
    pub(crate) fn blame(&mut self, place: Place, why: &str) {
        self.change(place, |server| server.trouble = Some(why.into()));
    }

    /// Records that a server is unreachable. If not eager, it is never treated as restarting.
    pub(crate) fn unreachable(&mut self, place: Place, now: Micros) {
        if self.is_eager {
            self.change(place, |server| server.unreachable(now));
        }
    }

    /// Records that a query was rejected because the port is closed: after several in a row, or if the question has
    /// few tries left (`is_late`), the server is unreachable.
    pub(crate) fn sent_back(&mut self, place: Place, is_late: bool, now: Micros) {
        if is_late || self.servers.get(place).is_some_and(|(_, server)| server.is_silent()) {
            self.unreachable(place, now);
        }
    }

    /// Whether a server is unreachable and may be restarting.
    pub(crate) fn is_gone(&self, place: Place, now: Micros) -> bool {
        self.servers.get(place).is_some_and(|(_, server)| server.is_gone(now))
    }

    /// The number of servers that must return an error for a question before it fails: all that are reachable.
    /// One that rests since it is silent would only delay the error.
    pub(crate) fn reached(&self, now: Micros) -> usize {
        let is_reached =
            |server: &Server| !(server.is_gone(now) || server.is_resting() && server.is_silent());
        self.servers.iter().filter(|(_, server)| is_reached(server)).count().max(1)
    }

    /// Pauses a server for which no socket is available.
    pub(crate) fn pause(&mut self, place: Place, why: &str, now: Micros) {
        let why: Arc<str> = why.into();
        self.shortage = Some((now, why.clone()));
        self.change(place, |server| {
            (server.paused, server.trouble) = (now.saturating_add(PAUSE), Some(why));
        });
    }

    /// Whether a server is paused.
    pub(crate) fn is_paused(&self, place: Place, now: Micros) -> bool {
        self.servers.get(place).is_some_and(|(_, server)| server.paused > now)
    }

    /// Why no server has a free slot.
    pub(crate) fn why_full(&self, now: Micros) -> &str {
        let is_new = |(at, _): &&(Micros, Arc<str>)| at.saturating_add(SHORTAGE) > now;
        self.shortage.as_ref().filter(is_new).map_or("no DNS server had a free slot", |(_, why)| &**why)
    }

    /// Records that a query was withdrawn, which is no evidence about the server.
    pub(crate) fn withdrawn(&mut self, place: Place) {
        self.change(place, Server::withdrawn);
    }

    /// Changes one server.
    fn change(&mut self, place: Place, change: impl FnOnce(&mut Server)) {
        if let Some((_, server)) = self.servers.get_mut(place) {
            change(server);
        }
    }

    /// Figures of each server, in the order of the settings.
    pub(crate) fn figures(&self) -> impl Iterator<Item = UpstreamFigures> + '_ {
        self.servers.iter().map(|(nameserver, server)| UpstreamFigures {
            server: nameserver.clone(),
            questions: server.questions,
            answers: server.answers,
            timeouts: server.timeouts,
            round_trip: server.round_trip(),
            round_trips: server.round_trips.clone(),
            window: server.window(),
            in_flight: server.in_flight,
            is_resting: server.is_resting(),
            trouble: server.trouble.clone(),
        })
    }
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    const MS: Micros = 1_000;
    const SECOND: Micros = 1_000_000;

    fn upstreams(count: u8) -> Upstreams {
        let servers = (1..=count).map(|last| SocketAddr::from(([192, 0, 2, last], 53)).into()).collect();
        Upstreams::new(&Settings { servers, ..Settings::default() })
    }

    /// Sends a query that the server answers after `takes`.
    fn ask(upstreams: &mut Upstreams, place: Place, at: Micros, takes: Micros) {
        upstreams.sent(place, at);
        upstreams.answered(place, at, at + takes, Some(true), false);
    }

    /// Sends three queries in a row that the server does not answer.
    fn silence(upstreams: &mut Upstreams, place: Place, at: Micros) {
        for _ in 0..3 {
            upstreams.sent(place, at);
            upstreams.lost(place, at, at + 2 * SECOND, true);
        }
    }

    #[test]
    fn a_quiet_client_keeps_to_the_first_server() {
        let mut upstreams = upstreams(3);
        for n in 0..100 {
            assert_eq!(upstreams.choose(None, n * SECOND), Some(0));
            ask(&mut upstreams, 0, n * SECOND, 20 * MS);
        }
    }

    #[test]
    fn where_servers_rotate_each_has_as_many_questions_but_for_those_that_rest() {
        let servers = (1..=3).map(|last| SocketAddr::from(([192, 0, 2, last], 53)).into()).collect();
        let mut upstreams = Upstreams::new(&Settings { servers, rotate: true, ..Settings::default() });
        let mut counts = [0; 3];
        for n in 0..300 {
            let place = upstreams.choose(None, n * SECOND).unwrap();
            ask(&mut upstreams, place, n * SECOND, if place == 2 { 400 } else { 2 } * MS);
            counts[place] += 1;
        }
        assert_eq!(counts, [100; 3], "however quick each one is");
        silence(&mut upstreams, 1, 300 * SECOND);
        let next: Vec<_> = (0..4)
            .map(|_| {
                let place = upstreams.choose(None, 302 * SECOND).unwrap();
                upstreams.sent(place, 302 * SECOND);
                place
            })
            .collect();
        assert_eq!(next, [2, 0, 2, 0]);
        assert_eq!(upstreams.choose(Some(2), 302 * SECOND), Some(0), "a retry goes to another one");
    }

    #[test]
    fn load_is_spread_by_expected_time_until_no_window_has_room() {
        let mut upstreams = upstreams(3);
        for (place, takes) in [(0, 10), (1, 10), (2, 40)] {
            ask(&mut upstreams, place, 0, takes * MS);
        }
        let mut asked = [0; 3];
        while let Some(place) = upstreams.choose(None, SECOND) {
            upstreams.sent(place, SECOND);
            asked[place] += 1;
            if asked.iter().sum::<u32>() == 128 {
                let [first, second, third] = asked;
                assert!(first.abs_diff(second) <= 16 && third < first / 2, "{asked:?}");
            }
        }
        assert_eq!(asked, [128; 3]);
    }

    #[test]
    fn clients_that_share_paces_keep_to_one_rate() {
        let servers = vec![SocketAddr::from(([192, 0, 2, 1], 53)).into()];
        let settings =
            Settings { servers, rate: Some(100.0), paces: vec![Pace::default()], ..Settings::default() };
        let mut both = [Upstreams::new(&settings), Upstreams::new(&settings)];
        let mut sent = 0;
        for now in (0..SECOND).step_by(1_000) {
            for upstreams in &mut both {
                if upstreams.choose(None, SECOND + now).is_some() {
                    ask(upstreams, 0, SECOND + now, MS);
                    sent += 1;
                }
            }
        }
        assert!((99..=103).contains(&sent), "{sent} questions in a second");
    }

    #[test]
    fn a_retry_goes_to_another_server_where_there_is_one() {
        assert_eq!(upstreams(2).choose(Some(0), 0), Some(1));
        assert_eq!(upstreams(2).choose(Some(1), 0), Some(0));
        assert_eq!(upstreams(1).choose(Some(0), 0), Some(0));
    }

    #[test]
    fn spread_names_have_their_own_server_whatever_the_order_of_the_settings() {
        let spread = |lasts: [u8; 3]| {
            let servers = lasts.map(|last| SocketAddr::from(([192, 0, 2, last], 53)).into()).to_vec();
            Upstreams::new(&Settings { servers, spread: true, ..Settings::default() })
        };
        let (mut one, other) = (spread([1, 2, 3]), spread([3, 1, 2]));
        let server_of = |upstreams: &Upstreams, name: &str, at| {
            upstreams.choose_for(name, None, at).and_then(|place| upstreams.server(place)).unwrap().clone()
        };
        let names: Vec<String> = (0..300).map(|n| format!("n{n}.example")).collect();
        let mut counts = [0; 3];
        for name in &names {
            assert_eq!(server_of(&one, name, 0), server_of(&other, name, 0), "{name}");
            counts[one.choose_for(name, None, 0).unwrap()] += 1;
            assert_ne!(one.choose_for(name, Some(0), 0), Some(0), "a retry goes elsewhere");
        }
        assert!(counts.iter().all(|&count| count > 60), "{counts:?}");
        let own = one.choose_for(&names[0], None, 0).unwrap();
        while one.servers[own].1.has_room(0) {
            one.sent(own, 0);
        }
        assert_eq!(one.choose_for(&names[0], None, 0), None, "it waits for its own");
        assert!(names.iter().any(|name| one.choose_for(name, None, 0).is_some()), "others do not");
        let mut one = spread([1, 2, 3]);
        let before: Vec<Nameserver> = names.iter().map(|name| server_of(&one, name, 0)).collect();
        silence(&mut one, 0, 0);
        let dead = one.server(0).unwrap().clone();
        for (name, before) in names.iter().zip(&before) {
            let now = server_of(&one, name, 2 * SECOND);
            assert!(now != dead && (*before == dead || now == *before), "only the dead server's names move");
        }
    }

    #[test]
    fn a_silent_server_rests_and_one_question_probes_it() {
        let mut upstreams = upstreams(2);
        silence(&mut upstreams, 0, 0);
        let now = 2 * SECOND;
        assert!((0..50).all(|_| upstreams.choose(None, now) == Some(1)));
        assert_eq!(upstreams.choose(Some(1), now), Some(1), "even for a retry");
        // Its rest of a second is over.
        assert_eq!(upstreams.choose(None, now + SECOND), Some(0));
        upstreams.sent(0, now + SECOND);
        assert_eq!(upstreams.choose(None, now + SECOND), Some(1), "one question only");
        // It is still silent, and rests twice as long.
        upstreams.lost(0, now + SECOND, now + 3 * SECOND, true);
        assert_eq!(upstreams.choose(None, now + 5 * SECOND - 1), Some(1));
        assert_eq!(upstreams.choose(None, now + 5 * SECOND), Some(0));
        // It answers again.
        ask(&mut upstreams, 0, now + 5 * SECOND, MS);
        assert_eq!(upstreams.choose(None, now + 6 * SECOND), Some(0));
        assert!(upstreams.figures().all(|figures| !figures.is_resting));
    }

    #[test]
    fn a_server_that_refuses_everything_rests_like_a_silent_one() {
        let mut upstreams = upstreams(2);
        for _ in 0..10 {
            assert_eq!(upstreams.choose(None, 0), Some(0));
            upstreams.sent(0, 0);
            upstreams.answered(0, 0, MS, Some(false), false);
        }
        assert_eq!(upstreams.choose(None, MS), Some(1));
        assert_eq!(upstreams.choose(None, MS + SECOND), Some(0));
        upstreams.sent(0, MS + SECOND);
        upstreams.answered(0, MS + SECOND, 2 * SECOND, Some(false), false);
        assert_eq!(upstreams.choose(None, 2 * SECOND), Some(1));
    }

    #[test]
    fn where_all_rest_one_is_asked_all_the_same() {
        let mut upstreams = upstreams(2);
        silence(&mut upstreams, 1, 0);
        silence(&mut upstreams, 0, SECOND / 2);
        let now = SECOND / 2 + 2 * SECOND;
        assert_eq!(upstreams.choose(None, now), Some(1), "its rest ends first");
        assert_eq!(upstreams.choose(Some(1), now), Some(0));
    }

    #[test]
    fn the_last_try_is_waited_for_as_long_as_can_be() {
        let mut upstreams = upstreams(2);
        assert_eq!(upstreams.waits(0, 0, false), (2 * SECOND, 2 * SECOND), "as long as nothing is known");
        (0..100).for_each(|n| ask(&mut upstreams, 0, n, MS));
        assert_eq!(upstreams.waits(0, 0, false), (SECOND / 2, 2 * SECOND));
        assert_eq!(upstreams.waits(0, 2, false), (SECOND, 4 * SECOND));
        assert_eq!(upstreams.waits(0, 3, true), (4 * SECOND, 4 * SECOND));
    }
}
