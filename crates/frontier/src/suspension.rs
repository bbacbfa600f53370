//! What the crawl does when the trouble is its own: it asks hosts that were well, suspends, takes back what was held against
//! hosts, and goes on by itself.
//!
//! What is ours is decided in `health.rs`; here are the probes, and the memory of who was well.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;

use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros, Page, Purpose, Request, Resolved};

use crate::captive::{Confirmed, Giver, Look, Recent, SOME_PAGE};
use crate::health::{Cause, Channel, Path, Suspension};
use crate::patience::Evidence;
use crate::politeness::domains::{DomainId, Room};
use crate::politeness::sign::{Word, word};
use crate::queue::{Name, Robots};
use crate::schedule::QueueId;
use crate::waiting::{RobotsOwner, Waiting};
use crate::{Frontier, Resolve, Settings};

/// Hosts that are remembered as having been well, each of another registered domain.
const WELL: usize = 32;

/// Hosts that are asked in one probe round.
const PROBES: usize = 3;

/// The part of the longest suspension that is waited for where no host has ever answered: hosts that are all dead look the
/// same as an uplink that fails.
const WITHOUT_PROOF: u64 = 12;

/// The check of the resolver itself: names below `.invalid` do not exist (RFC 6761 section 6.4), and any answer shows
/// that somebody answers.
const CANARY: &str = ".invalid";

/// A host that was well when it was last asked.
#[derive(Clone, Debug)]
struct Well {
    queue: QueueId,
    domain: DomainId,
    network: u64,
    /// Scheme, host and port.
    origin: Box<str>,
}

/// Whether the crawl itself is well.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) names: Path,
    pub(crate) connections: Path,
    /// Who answered lately, the last one at the back.
    well: VecDeque<Well>,
    /// Requests of the probe round, and names of it.
    probes: Vec<u64>,
    asked: Vec<QueueId>,
    canary: Option<Box<str>>,
    canaries: u64,
    /// How long the crawl was suspended or stopped, and since when it is.
    stopped: Micros,
    since: Option<Micros>,
    /// When the loop last came by, and the last time that it did not for long.
    pub(crate) looked: Micros,
    gap: (Micros, Micros),
    /// How long the process was stopped during the suspension that lasts.
    absent: Micros,
    messages: Vec<String>,
}

impl Health {
    /// All is well.
    pub(crate) fn new(settings: &Settings) -> Self {
        Health {
            names: Path::new(settings),
            connections: Path::new(settings),
            well: VecDeque::new(),
            probes: Vec::new(),
            asked: Vec::new(),
            canary: None,
            canaries: 0,
            stopped: 0,
            since: None,
            looked: 0,
            gap: (0, 0),
            absent: 0,
            messages: Vec::new(),
        }
    }

    /// The healthy clock: the machine's, without the time in which the crawl was suspended or stopped.
    pub(crate) fn clock(&self, now: Micros) -> Micros {
        let pending = self.since.map_or(0, |since| now.saturating_sub(since));
        now.saturating_sub(self.stopped).saturating_sub(pending)
    }

    /// Whether requests wait for the trouble to end.
    pub(crate) fn is_suspended(&self) -> bool {
        self.connections.suspended().is_some()
    }

    /// The suspensions that last.
    pub(crate) fn suspensions(&self) -> impl Iterator<Item = &Suspension> {
        [&self.names, &self.connections].into_iter().filter_map(Path::suspended)
    }

    /// When something is to be done or decided.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let times = [&self.names, &self.connections].into_iter().filter_map(Path::due_at);
        times.filter(|due| *due > self.looked).min()
    }

    /// Whether a request was out while the process was stopped.
    fn was_stopped(&self, page: &Page) -> bool {
        page.response.started < self.gap.1 && page.response.finished > self.gap.0
    }

    /// Remembers a host that answered.
    fn remember(&mut self, well: Well) {
        if let Some(last) = self.well.back_mut().filter(|last| last.domain == well.domain) {
            *last = well;
            return;
        }
        match self.well.iter().position(|known| known.domain == well.domain) {
            Some(place) => drop(self.well.remove(place)),
            None if self.well.len() >= WELL => self.forget_one(well.network),
            None => {}
        }
        self.well.push_back(well);
    }

    /// Forgets the host that answered longest ago: of the same network if there are many of it, so that all are not of one.
    fn forget_one(&mut self, network: u64) {
        let alike = || (0..self.well.len()).filter(|place| self.well[*place].network == network);
        let place = if alike().count() >= WELL / 4 { alike().next().unwrap_or(0) } else { 0 };
        self.well.remove(place);
    }

    /// Has something said, once.
    pub(crate) fn tell(&mut self, text: String) {
        self.messages.push(text);
    }

    /// The probe round's request is out no longer.
    pub(crate) fn end_probe(&mut self, lease: u64) {
        if let Some(place) = self.probes.iter().position(|probe| *probe == lease) {
            self.probes.swap_remove(place);
            self.connections.end_probe();
        }
    }
}

impl<R: Resolve> Frontier<R> {
    /// What is to be said of the crawl's own trouble, once.
    pub fn messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.health.messages)
    }

    /// Why the crawl is suspended, if it is.
    pub fn suspensions(&self) -> Vec<Suspension> {
        self.health.suspensions().cloned().collect()
    }

    /// Whether the crawl is suspended for longer than it may be.
    pub fn is_suspended_for_too_long(&self) -> bool {
        let Some(longest) = self.settings.longest_suspension else { return false };
        let longest = self.settings.scaled(longest);
        let is_over = |path: &Path| {
            // Where nobody has ever answered nothing says that the trouble is ours.
            let longest = if path.has_proof() { longest } else { longest / WITHOUT_PROOF };
            let now = self.health.looked.saturating_sub(self.health.absent);
            path.suspended().is_some_and(|it| now.saturating_sub(it.since) >= longest)
        };
        is_over(&self.health.names) || is_over(&self.health.connections)
    }

    /// The process was stopped or the machine suspended: nobody could confirm anything, leases last longer, and what failed
    /// meanwhile was no site's fault.
    pub fn was_away(&mut self, from: Micros, to: Micros) {
        let away = to.saturating_sub(from);
        self.health.gap = (from, to);
        match self.health.since {
            None => self.health.stopped = self.health.stopped.saturating_add(away),
            Some(_) => self.health.absent = self.health.absent.saturating_add(away),
        }
        self.expiring.iter_mut().for_each(|(due, _)| *due = due.saturating_add(away));
    }

    /// Learns from an outcome whether the crawl itself is well, and marks what is its own trouble.
    pub(crate) fn weigh(&mut self, page: &mut Page) {
        let request = &page.response.request;
        let Some(lease) = self.leases.get(&request.lease) else { return };
        let (id, at) = (lease.queue, page.response.finished);
        let address = page.response.address.or(request.addresses.first().copied());
        let network = address.map_or(0, network_of);
        let domain = self.queues[id as usize].domain;
        if self.is_same_answer(page, id, network) {
            return;
        }
        match word(page) {
            Word::Answered => {
                self.queues[id as usize].answered = true;
                let origin = page.response.request.url.origin().into();
                self.health.remember(Well { queue: id, domain, network, origin });
                if let Some(ended) = self.health.connections.answer(at) {
                    self.resume(&ended, at);
                }
            }
            Word::Silent => {
                page.ours = self.health.is_suspended()
                    || self.health.was_stopped(page)
                    || matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::LocalFailure);
                let known = self.queues[id as usize].answered;
                let host = &self.queues[id as usize].host;
                let kind = page.response.result.as_ref().err().map_or("", |failure| failure.kind.as_str());
                self.health.connections.fail(domain, network, known, || format!("{host}: {kind}"), at);
            }
            Word::Nothing => {}
        }
    }

    /// Looks whether everybody gives the same answer; gives whether this one is held, or a portal's.
    fn is_same_answer(&mut self, page: &mut Page, id: QueueId, network: u64) -> bool {
        let is_page = page.response.request.purpose == Purpose::Page;
        if !is_page && !self.captive.is_captive() {
            return self.is_same_robots(page, id, network);
        }
        let Some(mark) = self.captive.mark(page) else {
            // An error instead of a robots.txt may be the portal's, too.
            let is_unknown = page.response.result.is_ok() && (!is_page || self.captive.is_at_portal(network));
            if is_unknown {
                page.response.result =
                    Err(Failure::new(FailureKind::CaptivePortal, "asked behind a captive portal"));
                page.ours = true;
            }
            return is_unknown;
        };
        let is_troubled = self.health.names.suspended().is_some();
        let queue = &self.queues[id as usize];
        let giver = Giver { domain: queue.domain, network, before: queue.mark };
        match self.captive.look(page, mark, giver, (is_troubled, self.health.connections.window())) {
            Look::Clear => {
                if is_page {
                    self.captive.remember(page, mark, giver);
                    self.queues[id as usize].mark = mark;
                }
                false
            }
            Look::Held => {
                // Others at its address have to be asked, to know more.
                self.free_lease(page.response.request.lease, page.response.finished);
                self.place(id, page.response.finished);
                true
            }
            Look::Portal => {
                let text = "the answer that every site gives now";
                page.response.result = Err(Failure::new(FailureKind::CaptivePortal, text));
                (page.redirect, page.ours) = (None, true);
                page.links.clear();
                true
            }
        }
    }

    /// The same of a robots.txt: whether it is what others give instead of theirs.
    fn is_same_robots(&mut self, page: &mut Page, id: QueueId, network: u64) -> bool {
        let queue = &mut self.queues[id as usize];
        if self.captive.is_suspicious() {
            let origin = page.response.request.url.origin();
            let is_known = matches!(queue.robots(origin), Some(Robots::Known { .. }));
            let before = if is_known { SOME_PAGE } else { 0 };
            if self.captive.look_at_robots(page, Giver { domain: queue.domain, network, before }) {
                let text = "the answer that other sites give for their pages";
                page.response.result = Err(Failure::new(FailureKind::CaptivePortal, text));
                (page.redirect, page.ours) = (None, true);
                return true;
            }
        }
        // The first page that a host gives is compared with its robots.txt.
        if queue.mark == 0 && page.response.result.is_ok() {
            queue.mark = self.captive.mark(page).unwrap_or(SOME_PAGE);
        }
        false
    }

    /// Whether an outcome that was judged waits until more is known: it is to be judged again when [`Frontier::has_decided`].
    pub fn is_held(&self, page: &Page) -> bool {
        self.captive.is_held(page.response.request.lease)
    }

    /// Whether outcomes that were held may be judged again.
    pub fn has_decided(&mut self, now: Micros) -> bool {
        if self.captive.wants_check(self.health.connections.window(), now) {
            let names = vec![self.next_canary()];
            self.asking += 1;
            self.resolver.refresh(names);
        }
        let window = self.health.connections.window();
        if self.captive.wants_others(window, now) {
            self.health.connections.ask_now(now);
        }
        let is_held = |lease: &u64| self.captive.is_held(*lease);
        let is_asking = self.health.connections.is_asking() && !self.health.probes.iter().all(is_held);
        if let Some(Confirmed { since, clear_at, domains, example, recorded }) =
            self.captive.confirm(is_asking, window, now)
        {
            let example = example.into_string();
            self.health.connections.suspend_for(Cause::Captive, since, (domains, example), now);
            self.ask_again(recorded, now);
            // Rules may have been learnt before the first page.
            self.forget_what_the_portal_said(clear_at, now);
            self.suspended(since, now);
        }
        if let Some(Confirmed { clear_at, recorded, .. }) = self.captive.take_ended() {
            self.ask_again(recorded, now);
            self.forget_what_the_portal_said(clear_at, now);
        }
        self.captive.has_decided(self.health.names.suspended().is_some(), window, now)
    }

    /// Lets what an earlier process recorded last wait again, with the rules that it learnt then: it died before anybody gave another
    /// answer, so that a captive portal may have given these.
    pub fn doubt_last(&mut self, now: Micros) {
        let since = self.died_at.saturating_sub(self.health.connections.window());
        if let Some((clear_at, unconfirmed)) = self.captive.take_unconfirmed(since) {
            self.ask_again(unconfirmed, now);
            self.forget_rules(clear_at, now);
        }
    }

    /// Lets what was recorded wait again.
    fn ask_again(&mut self, recorded: Vec<Recent>, now: Micros) {
        for recent in recorded {
            let mut page = Page::reopened(recent.url, recent.depth, now, Ok(recent.status));
            page.redirect = recent.redirect;
            self.open(&page, now);
            self.settled.push(page);
        }
    }

    /// Names and rules that were learnt since then may be the portal's.
    fn forget_what_the_portal_said(&mut self, since: Micros, now: Micros) {
        for queue in &mut self.queues {
            queue.doubted = true;
            if let Name::Known { expires, .. } = &mut queue.name {
                *expires = 0;
            }
        }
        self.forget_rules(since, now);
    }

    /// Rules that were learnt since then may be a portal's.
    fn forget_rules(&mut self, since: Micros, now: Micros) {
        let ttl = self.settings.scaled(self.settings.robots_ttl);
        let mut forgotten = Vec::new();
        for queue in &mut self.queues {
            let delay = queue.crawl_delay();
            let known = queue.robots.len();
            queue.robots.retain(|(origin, robots)| {
                let is_new =
                    matches!(robots, Robots::Known { expires, .. } if expires.saturating_sub(ttl) >= since);
                if is_new {
                    forgotten.push(format!("{origin}/robots.txt"));
                }
                !is_new
            });
            // The host's own wish holds until it gives rules again.
            if queue.robots.len() < known {
                queue.last_delay = delay;
            }
        }
        for text in forgotten {
            let Ok(url) = CrawlUrl::parse(&text) else { continue };
            let failure =
                Failure::new(FailureKind::CaptivePortal, "its rules were learnt behind a captive portal");
            let mut page = Page::reopened(url, 0, now, Err(failure));
            page.response.request.purpose = Purpose::Robots;
            self.settled.push(page);
        }
    }

    /// Decides whether the trouble is ours, and asks for names that tell.
    pub(crate) fn look_at_trouble(&mut self, now: Micros) {
        if self.health.names.wants_round(now) {
            self.probe_names(now);
        }
        let (known, domains) = (self.health.well.len(), self.schedule.domains.len());
        for channel in [Channel::Names, Channel::Connections] {
            let path = match channel {
                Channel::Names => &mut self.health.names,
                Channel::Connections => &mut self.health.connections,
            };
            if let Some(since) = path.suspend(channel, known, domains, now) {
                self.suspended(since, now);
            }
        }
    }

    /// Begins a suspension: what was held against hosts since then is taken back.
    fn suspended(&mut self, since: Micros, now: Micros) {
        self.health.since.get_or_insert(since);
        self.take_back(since, now);
        let text = self.health.suspensions().map(|it| describe(it, now)).collect::<Vec<_>>().join("; ");
        self.health.messages.push(format!("suspended: {text}; nothing is given up meanwhile, probes go on"));
    }

    /// Ends a suspension.
    fn resume(&mut self, ended: &Suspension, now: Micros) {
        if ended.cause == Cause::Captive {
            self.captive.clear(now);
            self.forget_what_the_portal_said(ended.since, now);
        }
        // While the healthy clock stands still, so that only what came since then is forgotten.
        self.take_back(ended.since, now);
        if self.health.suspensions().next().is_none()
            && let Some(since) = self.health.since.take()
        {
            self.health.absent = 0;
            self.health.stopped = self.health.stopped.saturating_add(now.saturating_sub(since));
        }
        let seconds = now.saturating_sub(ended.since) / 1_000_000;
        self.health
            .messages
            .push(format!("the crawl goes on after {seconds} s: {} answer again", who(ended.cause)));
    }

    /// Moves what speaks against hosts by the time in which no process ran: it counts as no patience.
    pub(crate) fn was_down(&mut self, away: Micros) {
        let mut shift = |evidence: &mut Evidence| {
            evidence.since = evidence.since.saturating_add(away);
            evidence.last = evidence.last.saturating_add(away);
        };
        self.failing_addresses.values_mut().for_each(&mut shift);
        for id in &self.troubled {
            let queue = &mut self.queues[*id as usize];
            queue.trouble.as_deref_mut().map(&mut shift);
            for (_, robots) in &mut queue.robots {
                if let Robots::Parked(evidence) = robots {
                    shift(evidence);
                }
            }
        }
    }

    /// Forgets what speaks against hosts since then.
    fn take_back(&mut self, since: Micros, now: Micros) {
        let well = self.health.clock(since);
        self.failing_addresses.retain(|_, evidence| evidence.since < well);
        let failing: Vec<QueueId> = self.troubled.iter().copied().collect();
        for id in failing {
            let queue = &mut self.queues[id as usize];
            if queue
                .trouble
                .as_ref()
                .is_some_and(|evidence| evidence.since >= well && evidence.given_up.is_none())
            {
                queue.trouble = None;
            }
            queue
                .robots
                .retain(|(_, robots)| !matches!(robots, Robots::Parked(evidence) if evidence.since >= well));
            queue.pace.forgive(since);
            self.place(id, now);
        }
        self.schedule.forgive(since);
    }

    /// Asks hosts that were well; when suspended also others, in the order of their turns. Who is asked answers for all.
    pub(crate) fn probe(&mut self, max: usize, now: Micros) -> io::Result<Vec<Request>> {
        let is_suspended = self.health.is_suspended();
        let mut requests = Vec::new();
        let known: Vec<Well> = self.health.well.iter().rev().cloned().collect();
        for well in &known {
            let is_failing = self.health.connections.is_failing(well.domain, well.network);
            if requests.len() < max.min(PROBES) && (is_suspended || !is_failing) {
                requests.extend(self.probe_host(well, now)?);
            }
        }
        // Nobody's turn has come: those who were well are asked a little later.
        let may_wait = !is_suspended && !known.is_empty() && self.health.connections.may_wait(now);
        if requests.is_empty() && may_wait {
            return Ok(requests);
        }
        // The next round begins with others.
        let asked = requests.len().min(self.health.well.len());
        self.health.well.rotate_right(asked);
        while is_suspended && requests.len() < max.min(PROBES) {
            match self.next_request(now)? {
                Some(request) => requests.push(request),
                None => break,
            }
        }
        self.health.probes.extend(requests.iter().map(|request| request.lease));
        self.health.connections.begin_round(requests.len(), now);
        Ok(requests)
    }

    /// A request to a host whatever its turn, if its paces allow one: what waits for it, or its robots.txt.
    fn probe_host(&mut self, well: &Well, now: Micros) -> io::Result<Option<Request>> {
        let id = well.queue;
        let limits = self.host_limits(id);
        let queue = &self.queues[id as usize];
        let Name::Known { clock, .. } = &queue.name else { return Ok(None) };
        let address = *clock;
        if !queue.pace.may_start(&limits, now)
            || !self.schedule.may_start(address, now)
            || now < self.manners.ready_at()
            || self.blocked.blocks_host(&queue.host)
        {
            return Ok(None);
        }
        // Where all give the same answer, a page is no test: a robots.txt is.
        let has_turn = queue.due_at() <= now && !queue.is_empty() && !self.captive.is_suspicious();
        let has_room = self.page_budget() > 0 && self.schedule.domains.room(queue.domain) == Room::Now;
        let mut request = if has_turn && has_room { self.grant(id, address, now)? } else { None };
        if request.is_none()
            && let Some(robots) = robots_of(id, &well.origin)
        {
            request = Some(self.lease(id, address, robots, now));
        }
        if request.is_some() {
            self.schedule.start(address, now);
            self.manners.requests.take(1, now);
        }
        Ok(request)
    }

    /// Asks the resolver for a name that cannot exist, and for names of hosts that were well.
    fn probe_names(&mut self, now: Micros) {
        let is_suspended = self.health.names.suspended().is_some();
        let mut names = vec![self.next_canary()];
        self.health.asked.clear();
        for well in self.health.well.iter().rev() {
            let queue = &self.queues[well.queue as usize];
            let network = name_network(well.domain);
            if self.health.asked.len() < PROBES
                && (is_suspended || !self.health.names.is_failing(well.domain, network))
                && queue.host.ends_with(|last: char| last.is_ascii_alphabetic())
            {
                self.health.asked.push(well.queue);
                names.push(queue.host.clone());
            }
        }
        // Names that wait tell as well as those that were known: nobody may be known.
        for _ in 0..if is_suspended { PROBES } else { 0 } {
            let due = self.names_due.pop().map(|Reverse((_, id))| id);
            let Some(id) = due.or_else(|| self.wanted.pop(0, 0, PROBES, now)) else { break };
            if matches!(self.queues[id as usize].name, Name::Asked { .. }) {
                names.push(self.queues[id as usize].host.clone());
            }
        }
        self.health.names.begin_round(self.health.asked.len(), now);
        self.asking += names.len();
        self.resolver.refresh(names);
    }

    /// A name that cannot exist, another one each time: no cache knows it.
    fn next_canary(&mut self) -> Box<str> {
        self.health.canaries += 1;
        let canary: Box<str> = format!("lycosa-{:016x}{CANARY}", self.hash_of(self.health.canaries)).into();
        self.health.canary = Some(canary.clone());
        canary
    }

    /// Learns from an answer for a name whether the resolvers are well. Gives whether it is one of their check's own.
    pub(crate) fn weigh_name(&mut self, answer: &Resolved, id: Option<QueueId>, now: Micros) -> bool {
        if self.health.canary.as_deref() == Some(&*answer.name) {
            self.health.canary = None;
            let failed = matches!(&answer.result, Err(failure) if is_of_resolver(failure.kind));
            if self.health.names.canary(failed) {
                self.names_answered(now);
            }
            let lie = answer.result.as_ref().ok().and_then(|addresses| addresses.first());
            self.captive.resolver_says(lie.map(|address| network_of(*address)));
            return true;
        }
        let Some(id) = id else { return false };
        // From the cache nothing is learnt of the resolvers.
        if answer.elapsed_us == 0 {
            return false;
        }
        let queue = &self.queues[id as usize];
        let (domain, known) = (queue.domain, queue.lives_at.is_some() || queue.answered);
        let asked = self.health.asked.iter().position(|asked| *asked == id);
        let is_permitted = |address: &IpAddr| self.settings.addresses.permits(*address);
        let failure = match &answer.result {
            Err(failure) => Some(failure.kind),
            Ok(addresses) if addresses.iter().any(is_permitted) => None,
            Ok(_) => Some(FailureKind::AddressRefused),
        };
        match failure {
            Some(kind) if is_of_resolver(kind) || (known && is_denial(kind)) => {
                let text = || format!("{}: {}", queue.host, kind.as_str());
                self.health.names.fail(domain, name_network(domain), known, text, now);
                if let Some(place) = asked {
                    self.health.asked.swap_remove(place);
                    self.health.names.end_probe();
                }
            }
            Some(_) => self.health.names.suspect(now),
            None => {
                if let Some(address) = answer.result.iter().flatten().next() {
                    self.captive.name_answered(domain, network_of(*address));
                }
                self.names_answered(now);
            }
        }
        false
    }

    /// A resolver answered for a name.
    fn names_answered(&mut self, now: Micros) {
        if let Some(ended) = self.health.names.answer(now) {
            self.resume(&ended, now);
        }
    }

    /// Remembers hosts that were well in an earlier process: those whose rules are known.
    pub(crate) fn remember_well(&mut self) {
        for (id, queue) in self.queues.iter_mut().enumerate() {
            let is_known = |(_, robots): &&(Box<str>, Robots)| matches!(robots, Robots::Known { .. });
            let Some((origin, _)) = queue.robots.iter().find(is_known) else { continue };
            queue.answered = true;
            queue.mark = queue.mark.max(SOME_PAGE);
            if self.health.well.len() < WELL {
                let (network, origin) = (name_network(queue.domain), origin.clone());
                self.health.remember(Well { queue: id as QueueId, domain: queue.domain, network, origin });
                (self.health.connections.answered, self.health.names.answered) = (true, true);
            }
        }
    }
}

/// What asks for an origin's robots.txt.
pub(crate) fn robots_of(queue: QueueId, origin: &str) -> Option<Waiting> {
    let url = CrawlUrl::parse(&format!("{origin}/robots.txt")).ok()?;
    let owner = Some(Box::new(RobotsOwner { queue, origin: origin.into(), before: None }));
    Some(Waiting { url, depth: 0, attempt: 0, due: 0, chain: Vec::new(), owner })
}

/// Whether a resolver says that there is no such host: of one that was there it says so when it lies, or has lost the way.
fn is_denial(kind: FailureKind) -> bool {
    use FailureKind as K;
    matches!(kind, K::NameNotFound | K::NameNoData | K::AddressRefused)
}

/// Whether a failure speaks of the resolvers, and not of the name.
fn is_of_resolver(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NameTimeout | FailureKind::NameServerFailure)
}

/// The part of an address that unrelated hosts do not share: /24, or /48 (RFC 6177).
pub(crate) fn network_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u64::from(u32::from(v4) >> 8),
        IpAddr::V6(v6) => (u128::from(v6) >> 80) as u64 | 1 << 63,
    }
}

/// The same where no address is known: names of unrelated domains are unrelated.
fn name_network(domain: DomainId) -> u64 {
    u64::from(domain) | 1 << 62
}

/// A suspension in words.
fn describe(suspension: &Suspension, now: Micros) -> String {
    let Suspension { cause, since, domains, example, .. } = suspension;
    let seconds = now.saturating_sub(*since) / 1_000_000;
    let domains = format!("{domains} registered domain{}", if *domains == 1 { "" } else { "s" });
    let what = match cause {
        Cause::Names => "no DNS resolver gives answers",
        Cause::Connections => "no site answers, not even those that answered before",
        Cause::Captive => "every site gives the same answer, as behind a captive portal",
    };
    format!("{what} for {seconds} s by now ({domains}, the first: {example})")
}

/// Who answers again.
fn who(cause: Cause) -> &'static str {
    match cause {
        Cause::Names => "DNS resolvers",
        Cause::Connections | Cause::Captive => "sites",
    }
}
