//! The origins of one host: what is known of the robots.txt of each, and of its tdmrep.json, and every transition of it.
//!
//! ```text
//! (none) ──ask──► Asked ──learn──► Known ──expires──► (as none)
//!                   │  ▲
//!                   ▼  │ ask, when a retry is due
//!                 Parked ──give_up──► Failed ──expires──► (as none)
//! ```
//!
//! A tdmrep.json is asked for once its origin's rules are known, and again with these ([`TdmrepState`]).

use std::time::Duration;

use lycosa_url::{Failure, Micros};

use super::{KeptRules, Rules, RulesStore};
use crate::codec::{self, put_bytes, put_number};
use crate::patience::Evidence;

/// The state of an origin, by its robots.txt. The queue is its host's.
#[derive(Debug)]
pub(crate) enum Robots {
    /// Asked for; the URLs of the origin wait.
    Asked,
    /// It fails and is asked for again when the evidence says so; the URLs of the origin wait.
    Parked(Box<Evidence>),
    /// The rules, and when they are asked for again, ahead of their expiry: they are valid meanwhile, and if that fails.
    Known { rules: KeptRules, expires: Micros, refresh_at: Micros, tdmrep: TdmrepState },
    /// It was given up until then: the URLs of the origin fail.
    Failed { failure: Failure, expires: Micros },
}

/// How far the tdmrep.json of an origin is whose robots.txt is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TdmrepState {
    /// It was asked for so often in vain.
    Unknown(u32),
    /// It is asked for; the URLs of the origin wait.
    Asked,
    /// What it states is among the rules; nothing if there is none.
    Known,
}

/// The origins of one host: nearly always one.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    known: Vec<(Box<str>, Robots)>,
    /// The mark of the host's robots.txt, if that was rules or a 404; 0: none.
    mark: u64,
    /// Whether the host gave a page with another mark since then: no portal gave that.
    is_own: bool,
    /// The Crawl-delay of rules that were forgotten, or of those before rules that may be a portal's.
    last_delay: Option<Duration>,
}

impl Origins {
    /// The state of an origin.
    pub(crate) fn get(&self, origin: &str) -> Option<&Robots> {
        self.known.iter().find(|(known, _)| &**known == origin).map(|(_, robots)| robots)
    }

    /// Whether URLs of an origin wait for a response: for its robots.txt, or its tdmrep.json.
    pub(crate) fn is_asked(&self, origin: &str) -> bool {
        matches!(self.get(origin), Some(Robots::Asked | Robots::Known { tdmrep: TdmrepState::Asked, .. }))
    }

    /// The rules of an origin, if they are known, with the state of its tdmrep.json.
    pub(crate) fn known_mut(&mut self, origin: &str) -> Option<(&mut KeptRules, &mut TdmrepState)> {
        match self.known.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { rules, tdmrep, .. })) => Some((rules, tdmrep)),
            _ => None,
        }
    }

    /// Sets the state of an origin's tdmrep.json, if its rules are known.
    pub(crate) fn set_tdmrep(&mut self, origin: &str, state: TdmrepState) {
        self.known_mut(origin).into_iter().for_each(|(_, tdmrep)| *tdmrep = state);
    }

    /// An origin's robots.txt is asked for. Rules that are valid stay so until the response. Returns the evidence against the origin.
    pub(crate) fn ask(&mut self, origin: &str, now: Micros) -> Option<Box<Evidence>> {
        match self.known.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { expires, refresh_at, .. })) if *expires > now => {
                *refresh_at = Micros::MAX
            }
            Some((_, robots)) => {
                if let Robots::Parked(evidence) = std::mem::replace(robots, Robots::Asked) {
                    return Some(evidence);
                }
            }
            None => self.set(origin, Robots::Asked),
        }
        None
    }

    /// New rules could not be had: whether the old ones are valid still. They are asked for again half-way to their expiry, or after a
    /// pause if that is longer.
    pub(crate) fn keep(&mut self, origin: &str, pause: Micros, now: Micros) -> bool {
        match self.known.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { expires, refresh_at, .. })) if *expires > now => {
                *refresh_at = now.saturating_add(pause.max((*expires - now) / 2));
                true
            }
            _ => false,
        }
    }

    /// An origin's robots.txt is asked for no longer; valid rules stay.
    pub(crate) fn forget(&mut self, origin: &str) {
        self.known.retain(|(known, robots)| &**known != origin || !matches!(robots, Robots::Asked));
    }

    /// Sets the state of an origin.
    pub(crate) fn set(&mut self, origin: &str, robots: Robots) {
        match self.known.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, entry)) => *entry = robots,
            None => {
                self.known.reserve_exact(1);
                self.known.push((origin.into(), robots));
            }
        }
    }

    /// Stores rules that a response gave. `is_own`: whether they are the host's own; otherwise the Crawl-delay before stays.
    pub(crate) fn learn(&mut self, origin: &str, robots: Robots, is_own: bool) {
        let delay = self.crawl_delay();
        self.set(origin, robots);
        self.last_delay = if is_own { None } else { delay };
    }

    /// Learns the mark of a robots.txt that may be the host's own. `is_empty`: it has no rules, which a portal may answer, too.
    pub(crate) fn learn_mark(&mut self, mark: u64, is_empty: bool) {
        if mark != self.mark && (self.mark == 0 || !is_empty) {
            (self.mark, self.is_own) = (mark, false);
        }
    }

    /// The mark of its robots.txt if that is known to be the host's own; 0: none.
    pub(crate) fn own_mark(&self) -> u64 {
        if self.is_own { self.mark } else { 0 }
    }

    /// What tdmrep.json files state may be a portal's: they are asked for again, and what they stated counts until then.
    pub(crate) fn doubt_tdmrep(&mut self) {
        for (_, robots) in &mut self.known {
            if let Robots::Known { tdmrep, .. } = robots
                && *tdmrep == TdmrepState::Known
            {
                *tdmrep = TdmrepState::Unknown(0);
            }
        }
    }

    /// Lets rules expire: they are asked for again before the next page. Their Crawl-delay is obeyed until the host gives rules again.
    pub(crate) fn doubt(&mut self, mut is_doubted: impl FnMut(&str, Micros) -> bool) {
        let delay = self.crawl_delay();
        for (origin, robots) in &mut self.known {
            if let Robots::Known { expires, .. } = robots
                && *expires > 0
                && is_doubted(origin, *expires)
            {
                *expires = 0;
                self.last_delay = delay;
            }
        }
    }

    /// The longest Crawl-delay of the host's origins; also of forgotten rules, until the host gives new ones.
    pub(crate) fn crawl_delay(&self) -> Option<Duration> {
        let delays = self.known.iter().filter_map(|(_, robots)| match robots {
            Robots::Known { rules, .. } => rules.crawl_delay(),
            _ => None,
        });
        delays.max().max(self.last_delay)
    }

    /// The Crawl-delay of rules that were forgotten.
    pub(crate) fn last_delay(&self) -> Option<Duration> {
        self.last_delay
    }

    /// Sets that of a host that was not in memory.
    pub(crate) fn set_last_delay(&mut self, delay: Option<Duration>) {
        self.last_delay = delay;
    }

    /// The origins that were given up: the failure of each, and until when it counts.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&str, &Failure, Micros)> {
        self.known.iter().filter_map(|(origin, robots)| match robots {
            Robots::Failed { failure, expires } => Some((&**origin, failure, *expires)),
            _ => None,
        })
    }

    /// Whether nothing is asked for, and all rules have this age, by the expiry that rules of this age have. `may_be_parked`: whether
    /// something may be tried again.
    pub(crate) fn are_settled(&self, expires_until: Micros, may_be_parked: bool) -> bool {
        self.known.iter().all(|(_, robots)| match robots {
            Robots::Known { expires, refresh_at, tdmrep, .. } => {
                *refresh_at < Micros::MAX && *expires <= expires_until && *tdmrep != TdmrepState::Asked
            }
            Robots::Failed { .. } => true,
            Robots::Parked(_) => may_be_parked,
            Robots::Asked => false,
        })
    }

    /// The mark of the host's robots.txt; 0: none.
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// The host gave a page with this mark.
    pub(crate) fn see_page(&mut self, mark: u64) {
        self.is_own |= self.mark != 0 && self.mark != mark;
    }

    /// The origin that was asked first.
    pub(crate) fn first(&self) -> Option<&str> {
        self.known.first().map(|(origin, _)| &**origin)
    }

    /// An origin whose rules are known.
    pub(crate) fn with_rules(&self) -> Option<&str> {
        let known = self.known.iter().find(|(_, robots)| matches!(robots, Robots::Known { .. }));
        known.map(|(origin, _)| &**origin)
    }

    /// Whether an origin's URLs wait for its robots.txt.
    pub(crate) fn is_waiting(&self) -> bool {
        self.known.iter().any(|(_, robots)| matches!(robots, Robots::Parked(_) | Robots::Asked))
    }

    /// The origins that are parked, with the evidence against each.
    pub(crate) fn parked(&self) -> impl Iterator<Item = (&str, &Evidence)> {
        self.known.iter().filter_map(|(origin, robots)| match robots {
            Robots::Parked(evidence) => Some((&**origin, &**evidence)),
            _ => None,
        })
    }

    /// The evidence against origins.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.parked().map(|(_, evidence)| evidence)
    }

    /// The same, to be changed.
    pub(crate) fn evidence_mut(&mut self) -> impl Iterator<Item = &mut Evidence> {
        self.known.iter_mut().filter_map(|(_, robots)| match robots {
            Robots::Parked(evidence) => Some(&mut **evidence),
            _ => None,
        })
    }

    /// Forgets the evidence since a moment on the healthy clock; an origin without other evidence is unknown.
    pub(crate) fn take_back(&mut self, healthy_at: Micros) {
        self.known.retain_mut(|(_, robots)| match robots {
            Robots::Parked(evidence) => evidence.take_back(healthy_at),
            _ => true,
        });
    }

    /// Gives up origins against which the evidence is enough, until then; whether there are any.
    pub(crate) fn give_up(&mut self, is_enough: impl Fn(&Evidence) -> bool, expires: Micros) -> bool {
        let mut is_given_up = false;
        for (_, robots) in &mut self.known {
            if let Robots::Parked(evidence) = robots
                && is_enough(evidence)
            {
                *robots = Robots::Failed { failure: evidence.failure.clone().of_robots(), expires };
                is_given_up = true;
            }
        }
        is_given_up
    }

    /// Forgets all that fails.
    pub(crate) fn forgive(&mut self) {
        self.known.retain(|(_, robots)| !matches!(robots, Robots::Failed { .. } | Robots::Parked(_)));
    }

    /// Appends the rules to a record of a snapshot.
    pub(crate) fn pack(&self, store: &RulesStore, record: &mut Vec<u8>) -> std::io::Result<()> {
        let known = self.known.iter().filter_map(|(origin, robots)| match robots {
            Robots::Known { rules, expires, .. } => Some((origin, rules, *expires)),
            _ => None,
        });
        let known: Vec<_> = known.collect();
        put_number(record, known.len() as u64);
        for (origin, rules, expires) in known {
            put_bytes(record, origin.as_bytes());
            put_number(record, expires);
            put_bytes(record, &store.packed(rules)?);
        }
        Ok(())
    }

    /// Reads them. `is_same_agent`: whether they are for this crawler's name; `ahead`: how long before their expiry they are asked for
    /// again.
    pub(crate) fn unpack(
        &mut self,
        from: &mut &[u8],
        (is_same_agent, ahead): (bool, Micros),
        store: &mut RulesStore,
    ) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let origin = codec::text(from)?;
            let expires = codec::number(from)?;
            let rules = Rules::unpack(codec::bytes(from)?)?;
            if is_same_agent {
                let tdmrep = if rules.has_tdmrep() { TdmrepState::Known } else { TdmrepState::Unknown(0) };
                let (rules, refresh_at) = (store.keep(rules), expires.saturating_sub(ahead));
                self.set(origin, Robots::Known { rules, expires, refresh_at, tdmrep });
            }
        }
        Some(())
    }

    /// When the rules of each origin are asked for again.
    pub(crate) fn refreshes(&self) -> impl Iterator<Item = (&str, Micros)> {
        self.known.iter().filter_map(|(origin, robots)| match robots {
            Robots::Known { refresh_at, .. } => Some((&**origin, *refresh_at)),
            _ => None,
        })
    }

    /// Sets when the rules of an origin are asked for again, if it has some.
    pub(crate) fn set_refresh(&mut self, origin: &str, at: Micros) {
        for (known, robots) in &mut self.known {
            if let Robots::Known { refresh_at, .. } = robots
                && **known == *origin
            {
                *refresh_at = at;
            }
        }
    }

    /// Appends the mark.
    pub(crate) fn pack_mark(&self, record: &mut Vec<u8>) {
        [self.mark, self.is_own.into()].into_iter().for_each(|number| put_number(record, number));
    }

    /// Sets the mark of an earlier process.
    pub(crate) fn set_mark(&mut self, mark: u64, is_own: bool) {
        (self.mark, self.is_own) = (mark, is_own);
    }
}
