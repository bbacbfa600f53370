//! Answers to waiting clients, each over the transport of its question.

use std::net::UdpSocket;
use std::sync::Arc;

use lycosa_names::ExtendedError;
use lycosa_url::Micros;

use crate::answered::{Answered, Source};
use crate::datagrams::Answers;
use crate::figures::{Count, Figures};
use crate::pending::{Waiter, Way};
use crate::private::Screened;
use crate::question::Code;
use crate::reply::{Reason, To};
use crate::state::{SHORT, ServerState, write};

/// Answers of one thread to be sent.
pub(crate) struct ReplyBatch {
    /// Datagrams by socket; so few that a linear search is enough.
    datagrams: Vec<(Arc<UdpSocket>, Answers)>,
    scratch: Vec<u8>,
    /// Accounting of all answers of the thread, including those that it sends directly.
    pub(crate) answered: Answered,
}

impl ReplyBatch {
    /// An empty batch.
    pub(crate) fn of(state: &ServerState) -> Self {
        let answered = Answered::new(state.log.clone());
        ReplyBatch { datagrams: Vec::new(), scratch: Vec::new(), answered }
    }

    /// Writes an answer and sends it (TCP) or adds it to the batch (UDP). `write` returns the answer's
    /// source.
    pub(crate) fn deliver(&mut self, waiter: &Waiter, write: impl FnOnce(To<'_>, &mut Vec<u8>) -> Source) {
        match &waiter.way {
            Way::Stream(connection) => {
                self.scratch.clear();
                let source = write(waiter.asked.to(), &mut self.scratch);
                connection.send(&self.scratch);
                self.answered.add(source, waiter.received, (waiter.client, true), &self.scratch);
            }
            Way::Datagram(socket, to) => {
                let known = self.datagrams.iter().position(|(other, _)| Arc::ptr_eq(other, socket));
                let place = known.unwrap_or_else(|| {
                    self.datagrams.push((socket.clone(), Answers::default()));
                    self.datagrams.len() - 1
                });
                let answers = &mut self.datagrams[place].1;
                let source = write(waiter.asked.to(), &mut answers.bytes);
                let answer = answers.push(*to);
                self.answered.add(source, waiter.received, (waiter.client, false), answer);
                if answers.is_full() {
                    answers.send(socket);
                }
            }
        }
    }

    /// Answers with a response code without records.
    pub(crate) fn code(&mut self, waiter: &Waiter, code: Code, source: Source, figures: &Figures) {
        figures.add_code(code as u8 & 0xf);
        self.deliver(waiter, |to, out| {
            to.code(code, out);
            source
        });
    }

    /// Answers with an upstream's reply to a question that was passed through.
    pub(crate) fn pass_back(
        &mut self,
        waiter: &Waiter,
        answer: &Screened,
        error: Option<&ExtendedError>,
        source: Source,
        figures: &Figures,
    ) {
        let is_stream = matches!(waiter.way, Way::Stream(_));
        let most = if is_stream { usize::from(u16::MAX) } else { waiter.asked.most() };
        figures.add_many(Count::PrivateFiltered, answer.is_filtered().into());
        self.deliver(waiter, |to, out| {
            // The extended error is omitted if it does not fit.
            let size = match answer {
                Screened::Whole(message) | Screened::Rest(message) => message.len(),
                Screened::Unusable | Screened::NoData => to.head.len(),
            };
            let error = error.filter(|error| size + to.edns_size(Some(error)) <= most);
            write(figures, out, |out| match answer {
                Screened::Unusable => to.failure(error, out),
                Screened::NoData => to.because(Reason::Blocked).negative(Code::NoError, SHORT, out),
                Screened::Whole(message) | Screened::Rest(message)
                    if message.len() + to.edns_size(error) <= most =>
                {
                    to.passed(message, error, out);
                }
                Screened::Whole(_) | Screened::Rest(_) => {
                    figures.add(Count::Truncated);
                    to.truncated(out);
                }
            });
            source
        });
    }

    /// Sends the batch and counts the answers since the last call; returns the time.
    pub(crate) fn flush(&mut self, state: &ServerState, figures: &Figures) -> Micros {
        for (socket, answers) in &mut self.datagrams {
            answers.send(socket);
        }
        // Drop sockets that nothing else uses, so that they are closed.
        self.datagrams.retain(|(socket, _)| Arc::strong_count(socket) > 1);
        let now = state.clock.now();
        self.answered.settle(now, figures);
        now
    }
}
