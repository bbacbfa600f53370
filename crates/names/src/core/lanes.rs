//! Queues of tries and lookups, one for each group of servers: silent servers of a zone delay no other names.

use std::collections::VecDeque;

use lycosa_url::{Failure, FailureKind, Micros};

use super::{Core, later};
use crate::asked::{Try, Whom};
use crate::lookup::{Lookup, LookupId};
use crate::nameserver::Nameserver;
use crate::settings::Families;
use crate::upstream::Place;
use crate::wire::{Kind, QueryProfile};

/// Tries that are examined for one whose server has a free slot, if names are spread.
const AHEAD: usize = 32;

/// The queue of one group of servers.
#[derive(Default)]
pub(super) struct Lane {
    /// Lookups whose queries have not begun.
    pub(super) queue: VecDeque<LookupId>,
    /// The number of lookups whose queries have.
    active: usize,
    /// Tries that are sent before the queries of another lookup begin.
    pub(super) ready: VecDeque<Try>,
}

impl Core {
    /// Queues a lookup.
    #[inline]
    pub(super) fn enqueue(&mut self, mut lookup: Lookup) {
        lookup.lane = self.upstreams.group_number(lookup.text());
        let lane = lookup.lane;
        let id = self.lookups.insert(lookup);
        self.lanes[lane].queue.push_back(id);
    }

    /// The next try to be sent, and its server; `None` if there is none, or no server has a free slot.
    pub(crate) fn next(&mut self, now: Micros) -> Option<(Try, Place)> {
        for _ in 0..self.lanes.len() {
            let next = self.next_in(self.turn, now);
            self.turn = (self.turn + 1) % self.lanes.len();
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// The same in one lane.
    fn next_in(&mut self, lane: usize, now: Micros) -> Option<(Try, Place)> {
        let mut passed_over = 0;
        loop {
            let Some(attempt) = self.lanes[lane].ready.front().copied() else {
                if self.start(lane, now) {
                    continue;
                }
                return None;
            };
            let (name, until) = match self.lookups.get_mut(attempt.lookup) {
                Some(lookup) => (lookup.text(), lookup.until),
                None => ("", 0),
            };
            if now >= until {
                self.lanes[lane].ready.pop_front();
                let failure = Failure::new(FailureKind::NameTimeout, self.upstreams.why_full(now));
                self.give_up(&attempt, failure, now);
                continue;
            }
            let place = match attempt.whom {
                Whom::This(place) => (!self.upstreams.is_paused(place, now)).then_some(place),
                Whom::Any => self.upstreams.choose_for(name, None, now),
                Whom::Other(place) => self.upstreams.choose_for(name, Some(place), now),
                Whom::Unrefused => self.upstreams.choose_unrefused(name, attempt.refused, now),
            };
            let Some(place) = place else {
                if self.pass_over(&attempt, &mut passed_over, now) {
                    continue;
                }
                return None;
            };
            self.lanes[lane].ready.pop_front();
            let is_encrypted = self.server(place).is_some_and(Nameserver::is_encrypted);
            let profile = if is_encrypted { QueryProfile::Tls } else { attempt.profile };
            return Some((Try { profile, ..attempt }, place));
        }
    }

    /// Moves a try behind others whose servers may have a free slot, if names are spread or the try is limited
    /// to some servers. Returns whether there is a try that was not examined.
    fn pass_over(&mut self, attempt: &Try, passed_over: &mut usize, now: Micros) -> bool {
        let (lane, is_spread) = (attempt.lane, self.settings.spread);
        if attempt.whom == Whom::Any && !is_spread {
            return false; // no server has a free slot
        }
        let ready = &mut self.lanes[lane].ready;
        ready.rotate_left(1);
        *passed_over += 1;
        if *passed_over < ready.len() {
            return true;
        }
        let most = if is_spread { AHEAD } else { usize::MAX };
        let is_begun = ready.len() < most && self.start(lane, now);
        if is_begun {
            self.lanes[lane].ready.rotate_right(1);
        }
        is_begun
    }

    /// Begins the queries of the next lookup of a lane, if the bounds allow. Of several lanes, none has more
    /// than three quarters of `in_flight`, so that silent servers of a zone leave capacity for other names.
    fn start(&mut self, lane: usize, now: Micros) -> bool {
        let most = self.settings.in_flight.max(1);
        let own = if self.lanes.len() > 1 { (most - most / 4).max(1) } else { most };
        if self.active >= most || self.lanes[lane].active >= own {
            return false;
        }
        let Some(id) = self.lanes[lane].queue.pop_front() else { return false };
        let rounds = self.settings.timeout.saturating_mul(2).saturating_mul(self.settings.attempts.max(1));
        if let Some(lookup) = self.lookups.get_mut(id) {
            (lookup.began, lookup.until) = (now, later(now, rounds));
        }
        self.begin_one(lane);
        match self.settings.families {
            _ if self.lookups.get_mut(id).is_some_and(|lookup| lookup.packet().is_some()) => {
                self.first_try(id, Kind::Packet);
            }
            _ if self.prefers_v4() => self.first_try(id, Kind::A),
            Families::V4 => self.first_try(id, Kind::A),
            Families::V6 => self.first_try(id, Kind::Aaaa),
            Families::Both => {
                self.first_try(id, Kind::A);
                self.first_try(id, Kind::Aaaa);
            }
        }
        true
    }

    /// Appends a try to the ready ones.
    pub(super) fn push(&mut self, attempt: Try) {
        self.lanes[attempt.lane].ready.push_back(attempt);
    }

    /// Counts a lookup whose queries begin.
    pub(super) fn begin_one(&mut self, lane: usize) {
        self.active += 1;
        self.lanes[lane].active += 1;
    }

    /// Counts a lookup whose queries have ended.
    pub(super) fn end_one(&mut self, lane: usize) {
        self.active -= 1;
        self.lanes[lane].active -= 1;
    }

    /// The number of lookups whose queries have not begun.
    pub(crate) fn queued(&self) -> usize {
        self.lanes.iter().map(|lane| lane.queue.len()).sum()
    }

    /// Whether a try is ready.
    pub(super) fn has_ready(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.ready.is_empty())
    }
}
