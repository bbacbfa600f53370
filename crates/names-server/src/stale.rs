//! Expired answers, which are served while upstreams fail (RFC 8767).

use lycosa_names::cache::STALE_TTL;
use lycosa_names::{Families, HostName, PacketKey};

use crate::answered::Source;
use crate::figures::Count;
use crate::pending::{Miss, Waiter, Wanted};
use crate::private::Screened;
use crate::question::Code;
use crate::reply::{Reason, To};
use crate::reply_batch::ReplyBatch;
use crate::state::{Moment, ServerState, write};

impl ServerState {
    /// Answers a miss that cannot wait for upstreams: with the stale answer, or else with SERVFAIL.
    pub(crate) fn turn_away(&self, miss: &Miss, batch: &mut ReplyBatch, moment: &Moment<'_>) {
        let Miss { wanted, waiter, has_stale } = miss;
        if *has_stale {
            return self.tell_stale_to(wanted, std::slice::from_ref(waiter), Source::Limited, batch, moment);
        }
        moment.figures.add(Count::Unfair);
        batch.code(waiter, Code::ServFail, Source::Limited, moment.figures);
    }

    /// Delivers the stale answer to its waiters; if it was evicted meanwhile, SERVFAIL from `source`.
    pub(crate) fn tell_stale_to(
        &self,
        wanted: &Wanted,
        waiters: &[Waiter],
        source: Source,
        batch: &mut ReplyBatch,
        moment: &Moment<'_>,
    ) {
        let (name, families) = match wanted {
            Wanted::V4(name) => (name, Families::V4),
            Wanted::V6(name) => (name, Families::V6),
            Wanted::Packet(key) => {
                if !self.tell_stale_packet(key, waiters, batch, moment) {
                    let code = |waiter| batch.code(waiter, Code::ServFail, source, moment.figures);
                    waiters.iter().for_each(code);
                }
                return;
            }
        };
        for waiter in waiters {
            batch.deliver(waiter, |to, out| {
                if self.tell_stale(name, families, to, moment, out) {
                    return Source::Stale;
                }
                write(moment.figures, out, |out| to.code(Code::ServFail, out));
                source
            });
        }
    }

    /// Writes an expired whole reply; returns whether there is one.
    pub(crate) fn tell_stale_packet(
        &self,
        key: &PacketKey,
        waiters: &[Waiter],
        batch: &mut ReplyBatch,
        moment: &Moment<'_>,
    ) -> bool {
        let Some(packet) = self.packets.get_stale(key, moment.now, moment.policy.stale) else { return false };
        moment.figures.add_many(Count::Stale, waiters.len() as u64);
        let screened = Screened::of(Some(self.packets.stale_message(&packet)), &moment.policy);
        let error = Reason::StaleAnswer.error();
        for waiter in waiters {
            batch.pass_back(waiter, &screened, Some(&error), Source::Stale, moment.figures);
        }
        true
    }

    /// Writes a stale answer; returns whether there is one.
    pub(crate) fn tell_stale(
        &self,
        name: &str,
        families: Families,
        to: To<'_>,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok(host) = HostName::new(name) else { return false };
        let Some(record) = self.held.stale(host, families, moment.second) else { return false };
        moment.figures.add(Count::Stale);
        self.write_record(to.because(Reason::StaleAnswer), name, &record, STALE_TTL, moment, out);
        true
    }
}
