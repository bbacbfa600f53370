//! The rules of all origins, and what responses and failures make of them.
//!
//! The state of each origin is in its host's [`Origins`].

use std::fs::File;
use std::io;
use std::path::PathBuf;

use lycosa_records::usage::Statement;
use lycosa_records::usage::refused_use;
use lycosa_records::{Outcome, Purpose};
use lycosa_url::{Failure, FailureKind, Micros, TDMREP_PATH};

use super::{Origins, Robots, Rules, RulesStore, TdmrepState};
use crate::Settings;
use crate::mark::{is_own_rules, rules_mark, rules_of};
use crate::patience::Evidence;
use crate::politeness::signal::may_pass;
use crate::waiting::{OriginFile, RobotsOwner, Waiting};

/// The part of the memory of waiting URLs that rules have beside it: an eighth.
const RULES: usize = 8;

/// The rules that were learnt, and how they are obeyed.
#[derive(Debug)]
pub(crate) struct RobotsCache {
    store: RulesStore,
    /// Whether robots.txt is asked for and obeyed.
    is_obeyed: bool,
    /// The name that robots.txt knows this crawler by.
    agent: String,
    /// Whether tdmrep.json is asked for, and after how many tries in vain it counts as missing.
    tdmrep: Option<u32>,
    /// Uses of pages for which the job crawls.
    uses: Vec<Box<str>>,
    /// How long rules are valid.
    ttl: Micros,
}

/// What robots.txt says of a URL.
#[derive(Debug)]
pub(crate) enum Permission {
    /// It may be fetched; what robots.txt states about it.
    Granted(Stated),
    /// It may not be fetched, for this reason.
    Refused(Failure),
    /// Its robots.txt, or its tdmrep.json, is asked for already.
    Wait,
    /// Its robots.txt fails and is asked for again then.
    Later(Micros),
    /// Its robots.txt, or its tdmrep.json, is to be asked for first.
    Ask(OriginFile),
}

/// What robots.txt and tdmrep.json state about a page that may be fetched.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    /// robots.txt: its uses.
    pub(crate) usage: Vec<Statement>,
    /// tdmrep.json: whether text and data mining is allowed.
    pub(crate) tdm: Option<bool>,
    /// robots.txt: licences of the whole site.
    pub(crate) licenses: Vec<Box<str>>,
}

impl RobotsCache {
    /// No rules.
    pub(crate) fn new(settings: &Settings) -> Self {
        let directory = settings.queue_directory.as_ref().map(|directory| directory.join("robots"));
        RobotsCache {
            store: RulesStore::new(settings.queue_memory / RULES, directory),
            is_obeyed: settings.robots,
            agent: settings.robots_agent.clone(),
            tdmrep: settings.tdmrep.then_some(settings.retries),
            uses: settings.uses.clone(),
            ttl: settings.scaled(settings.robots_ttl),
        }
    }

    /// What robots.txt says of a URL of these origins. Fails if its rules cannot be read back.
    pub(crate) fn permission(
        &mut self,
        origins: &Origins,
        waiting: &Waiting,
        now: Micros,
    ) -> io::Result<Permission> {
        if !self.is_obeyed || waiting.purpose() == Purpose::Robots {
            return Ok(Permission::Granted(Stated::default()));
        }
        Ok(match origins.get(waiting.url.origin()) {
            None => Permission::Ask(OriginFile::Robots),
            Some(Robots::Parked(evidence)) if evidence.retry_at <= now => Permission::Ask(OriginFile::Robots),
            Some(Robots::Parked(evidence)) => Permission::Later(evidence.retry_at),
            Some(Robots::Asked) => Permission::Wait,
            Some(Robots::Known { expires, .. } | Robots::Failed { expires, .. }) if *expires <= now => {
                Permission::Ask(OriginFile::Robots)
            }
            Some(Robots::Known { refresh_at, .. }) if *refresh_at <= now => {
                Permission::Ask(OriginFile::Robots)
            }
            Some(Robots::Known { rules, tdmrep, .. }) => {
                let (rules, path) = (self.store.get(rules)?, waiting.url.path_and_query());
                let verdict = rules.verdict(path);
                if verdict.allowed {
                    let usage = rules.usage(path);
                    let refused = usage.iter().find(|(name, allowed)| !allowed && self.uses.contains(name));
                    if let Some((name, _)) = refused {
                        return Ok(Permission::Refused(refused_use(name, "robots.txt")));
                    }
                    let mut tdm = None;
                    if let Some(retries) = self.tdmrep {
                        match *tdmrep {
                            TdmrepState::Unknown(tries) if tries <= retries && rules.allows(TDMREP_PATH) => {
                                return Ok(Permission::Ask(OriginFile::Tdmrep(tries)));
                            }
                            TdmrepState::Asked => return Ok(Permission::Wait),
                            TdmrepState::Unknown(_) | TdmrepState::Known => {}
                        }
                        tdm = rules.reserves_tdm(path).map(|reserved| !reserved);
                    }
                    if tdm == Some(false) && self.uses.iter().any(|name| &**name == "tdm") {
                        return Ok(Permission::Refused(refused_use("tdm", "tdmrep.json")));
                    }
                    return Ok(Permission::Granted(Stated {
                        usage,
                        tdm,
                        licenses: rules.licenses().to_vec(),
                    }));
                }
                let (line, rule) = (verdict.line.unwrap_or_default(), verdict.rule().unwrap_or_default());
                let detail = format!("line {line} of robots.txt: {rule}");
                Permission::Refused(Failure::new(FailureKind::RobotsDisallowed, detail))
            }
            Some(Robots::Failed { failure, .. }) => Permission::Refused(failure.clone()),
        })
    }

    /// Learns the rules that a response gives, which came then; whether it says anything of the origin.
    pub(crate) fn learn(
        &mut self,
        origins: &mut Origins,
        origin: &str,
        (page, status): (&Outcome, u16),
        at: Micros,
    ) -> bool {
        let Some(rules) = Rules::of_answer(status, rules_of(page), &self.agent) else { return false };
        let (rules, expires) = (self.store.keep(rules), at.saturating_add(self.ttl));
        let (refresh_at, tdmrep) = (expires.saturating_sub(self.ahead()), TdmrepState::Unknown(0));
        let robots = Robots::Known { rules, expires, refresh_at, tdmrep };
        origins.learn(origin, robots, is_own_rules(status, rules_of(page)));
        let is_empty = status >= 400 || rules_of(page).is_empty();
        rules_mark(page).into_iter().for_each(|mark| origins.learn_mark(mark, is_empty));
        true
    }

    /// Learns what a response gives as an origin's tdmrep.json; whether it says anything of it. A success gives what it states, any
    /// other status means that there is none; those that may pass say nothing. Without rules of the origin nothing is learnt. Fails
    /// if these cannot be read back.
    pub(crate) fn learn_tdmrep(
        &mut self,
        origins: &mut Origins,
        origin: &str,
        (page, status): (&Outcome, u16),
    ) -> io::Result<bool> {
        let file = if (200..=299).contains(&status) { rules_of(page) } else { &[] };
        if may_pass(page) {
            return Ok(false);
        }
        if let Some((kept, tdmrep)) = origins.known_mut(origin) {
            let rules = self.store.get(kept)?.with_tdmrep(file);
            (*kept, *tdmrep) = (self.store.keep(rules), TdmrepState::Known);
        }
        Ok(true)
    }

    /// A robots.txt was not asked, by no fault of the site: the origin's state is as before.
    pub(crate) fn withdraw(&self, origins: &mut Origins, owner: &RobotsOwner) {
        match &owner.before {
            Some(before) => origins.set(&owner.origin, Robots::Parked(before.clone())),
            // Rules that were asked for only to see whether the host answers stay.
            None if matches!(origins.get(&owner.origin), Some(Robots::Known { .. })) => {}
            None => origins.forget(&owner.origin),
        }
    }

    /// A robots.txt could not be had. Valid rules stay, and are asked for again after a pause at the earliest; otherwise the origin is
    /// parked with the evidence, or has failed without it. Returns whether it is parked.
    pub(crate) fn fail(
        &self,
        origins: &mut Origins,
        origin: &str,
        (failure, evidence): (Failure, Option<Evidence>),
        pause: Micros,
        now: Micros,
    ) -> bool {
        if origins.keep(origin, pause, now) {
            return false;
        }
        let is_parked = evidence.is_some();
        let robots = match evidence {
            Some(evidence) => Robots::Parked(Box::new(evidence)),
            None => Robots::Failed { failure: failure.of_robots(), expires: now.saturating_add(self.ttl) },
        };
        origins.set(origin, robots);
        is_parked
    }

    /// When rules with this expiry were learnt.
    pub(crate) fn learnt_at(&self, expires: Micros) -> Micros {
        expires.saturating_sub(self.ttl)
    }

    /// Whether nothing is asked for of these origins, and all their rules were learnt by then. `may_be_parked`: whether something may be
    /// tried again.
    pub(crate) fn are_settled(&self, origins: &Origins, learnt_by: Micros, may_be_parked: bool) -> bool {
        origins.are_settled(learnt_by.saturating_add(self.ttl), may_be_parked)
    }

    /// The name that robots.txt knows this crawler by.
    pub(crate) fn agent(&self) -> &str {
        &self.agent
    }

    /// Appends a host's rules to a record of a snapshot.
    pub(crate) fn pack(&self, origins: &Origins, record: &mut Vec<u8>) -> io::Result<()> {
        origins.pack(&self.store, record)
    }

    /// Reads them. `is_same_agent`: whether they are for this crawler's name.
    pub(crate) fn unpack(
        &mut self,
        origins: &mut Origins,
        from: &mut &[u8],
        is_same_agent: bool,
    ) -> Option<()> {
        origins.unpack(from, (is_same_agent, self.ahead()), &mut self.store)
    }

    /// The files of rules.
    pub(crate) fn spill_files(&self) -> impl Iterator<Item = &File> {
        self.store.spill_files()
    }

    /// The files that have no rules any more, and those of an earlier process: to be removed.
    pub(crate) fn unused_files(&mut self) -> io::Result<Vec<PathBuf>> {
        self.store.unused_files()
    }

    /// How long before their expiry rules are asked for again: an hour of a day.
    fn ahead(&self) -> Micros {
        self.ttl / 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{SECOND, answer, url};
    use lycosa_records::Request;

    #[test]
    fn an_origin_is_asked_for_its_rules_parked_and_obeyed() {
        let mut robots = RobotsCache::new(&Settings::default());
        let (mut origins, origin) = (Origins::default(), "http://a.com");
        let page = |path: &str| Waiting::new(url(&format!("{origin}{path}")));
        let mut permission =
            |origins: &Origins, path, now| robots.permission(origins, &page(path), now).unwrap();
        assert!(matches!(permission(&origins, "/", 0), Permission::Ask(OriginFile::Robots)));
        assert!(origins.ask(origin, 0).is_none());
        assert!(matches!(permission(&origins, "/", 0), Permission::Wait));
        let failure = Failure::new(FailureKind::ReadTimeout, "scripted");
        let evidence = Evidence::doubt(None, failure.clone(), 7, 0, 0);
        let cache = RobotsCache::new(&Settings::default());
        assert!(cache.fail(&mut origins, origin, (failure.clone(), Some(evidence)), 0, 0));
        assert!(matches!(permission(&origins, "/", 0), Permission::Later(7)));
        assert_eq!(origins.ask(origin, 7).map(|evidence| evidence.tries), Some(1));
        let body = "user-agent: *\ndisallow: /secret";
        let response = answer(Request::get(url("http://a.com/robots.txt")), 9, 200, &[], body, &[]);
        let mut response = response;
        response.rules = response.decoded.clone();
        assert!(robots.learn(&mut origins, origin, (&response, 200), 9));
        let mut permission =
            |origins: &Origins, path, now| robots.permission(origins, &page(path), now).unwrap();
        assert!(matches!(permission(&origins, "/", 9), Permission::Granted(_)));
        assert!(matches!(permission(&origins, "/secret", 9), Permission::Refused(_)));
        assert!(
            matches!(permission(&origins, "/", 24 * 3600 * SECOND), Permission::Ask(_)),
            "asked for again"
        );
        assert!(!cache.fail(&mut origins, origin, (failure, None), 0, 9), "valid rules stay");
        assert!(matches!(permission(&origins, "/", 9), Permission::Granted(_)));
    }
}
