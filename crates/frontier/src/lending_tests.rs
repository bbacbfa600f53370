//! Several frontiers whose hosts share addresses, messages between them that take time, and frontiers that die.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use lycosa_records::{Outcome, Request};
use lycosa_url::{CrawlUrl, Micros, Ring, RingKey};
use proptest::prelude::*;

use crate::scripted::{Names, SECOND, answer, url};
use crate::{Frontier, Ownership, Scope, Settings};

/// Places of an address, at most.
const MOST: u32 = 3;

/// What a frontier has recorded.
enum Record {
    Seeds(Vec<CrawlUrl>),
    Leased(Box<Request>, Micros),
    Outcome(Box<Outcome>),
    Heard(Vec<u8>),
    Told(Vec<u8>),
}

/// A frontier with its journal, and what comes to it.
struct Member {
    frontier: Frontier<Names>,
    settings: Settings,
    began: Micros,
    journal: Vec<Record>,
    inbox: VecDeque<Vec<u8>>,
    /// Requests that are out, with their ends.
    out: Vec<(Request, Micros)>,
}

/// All of them, and the sites.
struct Cluster {
    members: Vec<Member>,
    names: Names,
    now: Micros,
    interval: Micros,
    /// By address: how many domains live there, and when requests started.
    sites: Vec<(IpAddr, u32, Vec<Micros>)>,
    messages: usize,
    /// The number of a message that is lost, if one is.
    loses: Option<usize>,
    fetched: usize,
    /// Places of an address, at most.
    most: u32,
    /// Whether each host asks for a pause at its first request, and those that have.
    asks_for_pause: bool,
    paused: BTreeSet<String>,
}

/// A resolver of one frontier, which knows the same addresses.
fn own(names: &Names) -> Names {
    let mut own = Names::default();
    own.addresses = names.addresses.clone();
    own
}

impl Cluster {
    /// So many frontiers, and addresses where so many domains live, each of them with two hosts that have so many pages each.
    fn new(frontiers: usize, domains: &[u32], pages: u32, interval: Duration) -> Self {
        Self::by(RingKey::Domain, frontiers, domains, pages, interval)
    }

    /// The same, with this part of a URL for the ring.
    fn by(key: RingKey, frontiers: usize, domains: &[u32], pages: u32, interval: Duration) -> Self {
        Self::of(key, frontiers, domains, &["a", "b"], MOST, pages, interval)
    }

    /// The same with these hosts of each domain, and so many places of an address at most.
    fn of(
        key: RingKey,
        frontiers: usize,
        domains: &[u32],
        hosts: &[&str],
        most: u32,
        pages: u32,
        interval: Duration,
    ) -> Self {
        let (names, mut seeds, mut sites) = (Names::default(), Vec::new(), Vec::new());
        for (number, count) in domains.iter().enumerate() {
            let address: IpAddr = format!("93.7.0.{}", number + 1).parse().unwrap();
            sites.push((address, *count, Vec::new()));
            for domain in 0..*count {
                for host in hosts {
                    let host = format!("{host}.d{number}x{domain}.com");
                    names.addresses.borrow_mut().insert(host.clone(), address);
                    seeds.extend((0..pages).map(|page| url(&format!("http://{host}/{page}"))));
                }
            }
        }
        let nodes: Vec<String> = (0..frontiers).map(|node| format!("{node:04}")).collect();
        let weighted: Vec<_> = nodes.iter().map(|node| (&**node, 1.0)).collect();
        let ring = Ring::new(&weighted, 64).unwrap();
        let member = |node: &String| {
            let ownership = Ownership { ring: ring.clone(), key, node: (**node).into() };
            let settings = Settings {
                scope: Scope::Any,
                robots: false,
                ownership: Some(ownership),
                lends_addresses: true,
                address_domains: most,
                address_interval: interval,
                host_interval: Duration::from_millis(100),
                ..Settings::default()
            };
            let mut frontier = Frontier::new(settings.clone(), own(&names)).unwrap();
            frontier.add(&seeds, 0).unwrap();
            let journal = vec![Record::Seeds(seeds.clone())];
            Member { frontier, settings, began: 0, journal, inbox: VecDeque::new(), out: Vec::new() }
        };
        let members = nodes.iter().map(member).collect();
        // Frontiers that share a domain lend one place.
        let most = if key == RingKey::Domain { most } else { 1 };
        let interval = interval.as_micros() as Micros;
        let (messages, fetched) = (0, 0);
        let (asks_for_pause, paused) = (false, BTreeSet::new());
        Cluster {
            members,
            names: names.clone(),
            now: 0,
            interval,
            sites,
            messages,
            loses: None,
            fetched,
            most,
            asks_for_pause,
            paused,
        }
    }

    /// A frontier works: it hears messages, ends what has ended, starts requests that take so long, and tells.
    fn turn(&mut self, who: usize, messages: usize, seconds: f64) {
        let now = self.now;
        let member = &mut self.members[who];
        for _ in 0..messages.min(member.inbox.len()) {
            let message = member.inbox.pop_front().unwrap();
            member.frontier.hear(&message, now).unwrap();
            member.journal.push(Record::Heard(message));
        }
        let ended: Vec<_> = member.out.extract_if(.., |(_, end)| *end <= now).collect();
        let mut pages: Vec<Outcome> = Vec::new();
        for (request, _) in ended {
            let asks = self.asks_for_pause && self.paused.insert(request.url.host().to_string());
            let (status, fields): (u16, &[(&str, &str)]) =
                if asks { (429, &[("retry-after", "60")]) } else { (200, &[]) };
            self.fetched += usize::from(!asks);
            pages.push(answer(request, now, status, fields, "", &[]));
        }
        member.frontier.judge(&mut pages);
        member.frontier.done(&pages, now).unwrap();
        member.journal.extend(pages.into_iter().map(|page| Record::Outcome(Box::new(page))));
        let requests = member.frontier.take(100, now).unwrap();
        for request in requests {
            let (address, member) = (request.route.addresses()[0], &mut self.members[who]);
            member.journal.push(Record::Leased(Box::new(request.clone()), now));
            member.out.push((request, now + (seconds * SECOND as f64) as Micros));
            self.started(address);
        }
        let told = self.members[who].frontier.tell(now);
        if !told.record.is_empty() {
            self.members[who].journal.push(Record::Told(told.record));
        }
        for (to, message) in told.messages {
            self.messages += 1;
            if self.loses.is_some_and(|lost| lost + 1 == self.messages) {
                continue;
            }
            self.members[to.parse::<usize>().unwrap()].inbox.push_back(message);
        }
    }

    /// A request starts at an address: no more are out, and no more have started within an interval, than it has places.
    fn started(&mut self, address: IpAddr) {
        let out = self.members.iter().flat_map(|member| &member.out);
        let out = out.filter(|(request, _)| request.route.addresses()[0] == address).count();
        let (_, domains, starts) = self.sites.iter_mut().find(|(at, ..)| *at == address).unwrap();
        let places = (*domains).clamp(1, self.most) as usize;
        assert!(out <= places, "{out} requests are out at {address}, which has {places} places");
        starts.push(self.now);
        let lately = starts.iter().rev().take_while(|at| self.now - **at < self.interval).count();
        assert!(lately <= places, "{lately} starts within {} us at {address}: {starts:?}", self.interval);
    }

    /// A frontier dies, and its journal is replayed: into an empty one, or into a snapshot of it.
    fn crash(&mut self, who: usize, has_snapshot: bool) {
        let now = self.now;
        let member = &mut self.members[who];
        // What is to be told is recorded with what it follows from.
        let mut frontier = if has_snapshot {
            let mut snapshot = Vec::new();
            member.frontier.save(&mut snapshot).unwrap();
            Frontier::load(member.settings.clone(), own(&self.names), &mut &snapshot[..]).unwrap().0
        } else {
            Frontier::new(member.settings.clone(), own(&self.names)).unwrap()
        };
        for record in member.journal.iter().filter(|_| !has_snapshot) {
            match record {
                Record::Seeds(seeds) => drop(frontier.add(seeds, 0).unwrap()),
                Record::Leased(request, granted) => {
                    frontier.restore().lease(&request.url, request.lease, member.began, *granted);
                }
                Record::Outcome(outcome) => frontier.restore().outcome(outcome).unwrap(),
                Record::Heard(message) | Record::Told(message) => frontier.hear_again(message).unwrap(),
            }
        }
        frontier.restore().finish(now).unwrap();
        (member.frontier, member.began) = (frontier, now);
        member.out.clear();
    }

    /// All frontiers work, in turn, until all pages are fetched or time is up.
    fn run(&mut self, pages: usize, seconds: u64) {
        let until = self.now + seconds * SECOND;
        while self.now < until && self.members.iter().any(|member| !member.frontier.idle()) {
            for who in 0..self.members.len() {
                self.turn(who, usize::MAX, 0.15);
            }
            self.now += SECOND / 10;
        }
        assert!(self.fetched >= pages, "{} of {pages} pages after {} s", self.fetched, self.now / SECOND);
    }
}

#[test]
fn frontiers_that_share_an_address_ask_it_as_one_would() {
    let mut cluster = Cluster::new(4, &[2], 10, Duration::from_secs(1));
    cluster.run(40, 60);
    let starts = &cluster.sites[0].2;
    assert!(starts.len() == 40 && *starts.last().unwrap() < 35 * SECOND, "two places: {starts:?}");
    assert!(cluster.messages < 20, "nobody waits for a place of others: {}", cluster.messages);
}

#[test]
fn more_domains_than_places_take_turns() {
    let mut cluster = Cluster::new(6, &[12], 5, Duration::from_millis(500));
    cluster.run(120, 120);
}

#[test]
fn a_place_is_kept_until_it_could_be_used() {
    let mut cluster = Cluster::new(3, &[6, 1], 1, Duration::from_secs(30));
    cluster.run(14, 900);
}

#[test]
fn a_place_that_is_called_back_while_a_request_is_out_is_used_until_its_time() {
    // One host of each frontier, of which none waits while its request is out.
    let mut cluster = Cluster::of(RingKey::Domain, 4, &[6], &["a"], 1, 40, Duration::from_secs(1));
    cluster.run(240, 400);
}

#[test]
fn what_a_lost_message_has_said_is_said_again() {
    // Whichever message is lost: nobody waits for ever, and no address is asked by more than it has places for.
    for lost in 0..40 {
        let mut cluster = Cluster::of(RingKey::Domain, 4, &[6, 3], &["a"], 1, 5, Duration::from_secs(1));
        cluster.loses = Some(lost);
        cluster.run(45, 1_200);
    }
}

#[test]
fn what_is_not_used_goes_back() {
    let mut cluster = Cluster::new(4, &[5, 1], 3, Duration::from_secs(1));
    cluster.run(36, 120);
    for _ in 0..30 {
        (0..4).for_each(|who| cluster.turn(who, usize::MAX, 0.1));
        cluster.now += SECOND;
    }
    for member in &cluster.members {
        assert!(member.frontier.lending.as_ref().is_some_and(|lending| lending.keeper.len() == 0));
    }
    assert_eq!(cluster.members.iter().map(|member| member.inbox.len()).sum::<usize>(), 0);
}

#[test]
fn what_is_due_later_has_its_place_then() {
    let mut cluster = Cluster::new(3, &[3], 2, Duration::from_secs(1));
    // Sites that ask for a minute's pause after their first page.
    cluster.asks_for_pause = true;
    cluster.run(12, 400);
}

#[test]
fn what_is_no_message_is_refused() {
    let mut cluster = Cluster::new(2, &[1], 1, Duration::from_secs(1));
    let frontier = &mut cluster.members[0].frontier;
    for message in
        [&b""[..], b"\x07", b"\x01\x09\x00", b"\x02\xff\xff\xff\xff\x0f", b"\x03\x00", b"\x02\x00\x00"]
    {
        assert_eq!(frontier.hear(message, 0), None, "{message:?}");
    }
    assert_eq!(frontier.hear(b"\x02\x00", 0), Some(()));
    let (mut three, mut four) = (b"\x02\x01".to_vec(), b"\x02\x01".to_vec());
    for (message, places) in [(&mut three, MOST), (&mut four, MOST + 1)] {
        let address = "93.7.0.1".parse().unwrap();
        super::put_loan(
            message,
            &super::Loan { address, granted: places, recalled: 0, lent: 1, asks: false },
        );
    }
    assert_eq!(frontier.hear(&four, 0), None, "an address has no more places");
    assert_eq!(frontier.hear(&three, 0), Some(()));
}

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    Turn {
        who: usize,
        messages: usize,
        seconds: f64,
    },
    Wait(Micros),
    Crash {
        who: usize,
        has_snapshot: bool,
    },
    /// The next message for it gets lost.
    Lose(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let turn = (0usize..5, 0usize..6, 0.0..3.0);
    prop_oneof![
        12 => turn.prop_map(|(who, messages, seconds)| Event::Turn { who, messages, seconds }),
        4 => (0..2 * SECOND).prop_map(Event::Wait),
        1 => (0usize..5, any::<bool>()).prop_map(|(who, has_snapshot)| Event::Crash { who, has_snapshot }),
        1 => (0usize..5).prop_map(Event::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_happens_no_address_is_asked_too_often_and_all_pages_come(
        events in proptest::collection::vec(event(), 0..200),
        domains in proptest::collection::vec(1u32..7, 1..4),
        frontiers in 1usize..6,
        interval in prop_oneof![Just(250u64), Just(1_000), Just(15_000)],
        key in prop_oneof![3 => Just(RingKey::Domain), 1 => Just(RingKey::Host)],
    ) {
        let mut cluster = Cluster::by(key, frontiers, &domains, 2, Duration::from_millis(interval));
        let pages = domains.iter().sum::<u32>() as usize * 4;
        for event in events {
            match event {
                Event::Turn { who, messages, seconds } => cluster.turn(who % frontiers, messages, seconds),
                Event::Wait(time) => cluster.now += time,
                Event::Crash { who, has_snapshot } => cluster.crash(who % frontiers, has_snapshot),
                Event::Lose(who) => drop(cluster.members[who % frontiers].inbox.pop_front()),
            }
        }
        cluster.run(pages, 3_600);
        for member in &cluster.members {
            prop_assert!(member.frontier.idle());
        }
    }
}
