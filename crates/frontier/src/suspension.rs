//! The crawl's own trouble: it suspends, takes back the evidence against hosts, and resumes by itself.
//!
//! `channel.rs` decides whose trouble it is, `health.rs` has the state; `probe.rs` probes healthy hosts; `portal.rs` handles a captive
//! portal.

use lycosa_records::Outcome;
use lycosa_url::{FailureKind, Micros};

use crate::channel::{Cause, Channel, Suspension};
use crate::health::network_of;
use crate::politeness::signal::{Word, word};
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Takes the messages to the user, such as those about the crawl's own trouble.
    pub fn messages(&mut self) -> Vec<String> {
        self.trouble.health.messages()
    }

    /// Why the crawl is suspended, if it is.
    pub fn suspensions(&self) -> Vec<Suspension> {
        self.trouble.health.suspensions().cloned().collect()
    }

    /// Whether the crawl is suspended for longer than it may be.
    pub fn is_suspended_for_too_long(&self) -> bool {
        let Some(longest) = self.settings.longest_suspension else { return false };
        self.trouble.health.is_suspended_for(self.settings.scaled(longest))
    }

    /// The process was stopped or the machine suspended: leases are extended, and failures meanwhile are no evidence.
    pub fn was_away(&mut self, from: Micros, to: Micros) {
        self.trouble.health.was_away(from, to);
        self.was_slow(to.saturating_sub(from));
    }

    /// Learns from an outcome whether the crawl itself is healthy, and marks failures by its own trouble.
    pub(crate) fn assess(&mut self, page: &mut Outcome) {
        let request = &page.response.request;
        let Some(lease) = self.leases.get(request.lease) else { return };
        if page.response.is_cached() {
            page.mark = 0;
            return;
        }
        let (id, at) = (lease.queue, page.response.finished);
        let address = page.response.site_address().or(request.route.addresses().first().copied());
        let network = address.map_or(0, network_of);
        let domain = self.hosts[id].domain;
        if self.is_same_answer(page, id, network) {
            return;
        }
        match word(page) {
            Word::Answered => {
                self.hosts[id].answered = true;
                self.trouble.health.remember(id, domain, network, page.response.request.url.origin());
                if self.trouble.captive.ends(page.response.started)
                    && let Some(ended) = self.trouble.health.host_answered(at)
                {
                    self.resume(&ended, at);
                }
            }
            Word::Silent => {
                page.ours = self.trouble.health.is_suspended()
                    || self.trouble.health.was_stopped(page)
                    || matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::LocalFailure);
                let kind = page.response.result.as_ref().err().map_or("", |failure| failure.kind.as_str());
                self.trouble.health.host_failed(&self.hosts[id], network, kind, at);
            }
            Word::Nothing => {}
        }
    }

    /// Decides whether the trouble is the crawl's own, and probes the resolvers.
    pub(crate) fn decide_suspensions(&mut self, now: Micros) {
        let believes_answers = !self.trouble.captive.is_suspicious() && !self.trouble.captive.is_captive();
        for ended in self.trouble.health.hear(&self.politeness.domains, believes_answers) {
            self.resume(&ended, now);
        }
        if self.trouble.health.names.wants_round(now) {
            self.probe_names(now);
        }
        let (known, domains) = (self.trouble.health.healthy_count(), self.politeness.domains.len());
        for channel in [Channel::Names, Channel::Connections] {
            let path = match channel {
                Channel::Names => &mut self.trouble.health.names,
                Channel::Connections => &mut self.trouble.health.connections,
            };
            if let Some(since) = path.suspend(channel, known, domains, now) {
                self.begin_suspension(since, now);
            }
        }
    }

    /// Begins a suspension: the evidence since then is taken back.
    pub(crate) fn begin_suspension(&mut self, since: Micros, now: Micros) {
        self.trouble.health.stop_clock(since);
        self.take_back(since, now);
        let text =
            self.trouble.health.suspensions().map(|it| describe(it, now)).collect::<Vec<_>>().join("; ");
        self.trouble.health.report(format!("suspended: {text}; nothing is given up meanwhile, probes go on"));
    }

    /// Ends a suspension.
    pub(crate) fn resume(&mut self, ended: &Suspension, now: Micros) {
        if ended.cause == Cause::Captive {
            self.trouble.captive.clear(now);
            self.forget_what_the_portal_said(ended.since, now);
        }
        // Before the healthy clock resumes, so that only the evidence since then is forgotten.
        self.take_back(ended.since, now);
        self.trouble.health.resume_clock(now);
        let seconds = now.saturating_sub(ended.since) / 1_000_000;
        self.trouble
            .health
            .report(format!("the crawl goes on after {seconds} s: {} answer again", who(ended.cause)));
    }

    /// Forgets the evidence since then.
    fn take_back(&mut self, since: Micros, now: Micros) {
        for id in self.trouble.take_back(&mut self.hosts, since) {
            self.enqueue(id, now);
        }
        self.politeness.addresses.forgive(since);
    }
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

/// What answers again.
fn who(cause: Cause) -> &'static str {
    match cause {
        Cause::Names => "DNS resolvers",
        Cause::Connections | Cause::Captive => "sites",
    }
}
