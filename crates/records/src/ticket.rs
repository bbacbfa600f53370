//! Requests and responses on their way to a download server and back: what a request may say to another machine, and the ticket by which
//! a response finds it again.

use lycosa_url::Micros;

use crate::{Outcome, Purpose, Request, RequestOptions, Response};

/// Where a request belongs in what was submitted to a download server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The serial number of the grant.
    pub serial: u64,
    /// The request's place in the submission, from 0.
    pub index: u32,
}

impl Ticket {
    /// The deduplication key of a request with this ticket: tickets tell requests apart, whatever they ask for.
    fn key(self) -> Box<str> {
        format!("{}/{}", self.serial, self.index).into()
    }

    /// The ticket of a request; `None` if it has none.
    pub fn of(request: &Request) -> Option<Self> {
        let (serial, index) = request.options.as_ref()?.key.split_once('/')?;
        Some(Ticket { serial: serial.parse().ok()?, index: index.parse().ok()? })
    }

    /// The request with this ticket.
    #[must_use]
    pub fn put_on(self, mut request: Request) -> Request {
        request.options.get_or_insert_default().key = self.key();
        request
    }
}

/// What a request asks of a download server: URL, method, header fields, body, validators, priority. Everything else is decided there (addresses,
/// proxies, leases), or is the business of who asks (metadata, depth, redirects).
#[must_use]
pub fn declared(request: &Request) -> Request {
    let mut declared = Request::get(request.url.clone());
    let mut options = request.options.as_deref().cloned().unwrap_or_default();
    options.metadata.clear();
    options.key = Box::default();
    if let Some(cookies) = &request.cookies {
        options.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
        options.headers.push(("cookie".into(), cookies.clone()));
    }
    declared.options = (options != RequestOptions::default()).then(|| Box::new(options));
    declared
}

/// The response of an outcome that is a request's last, on its way back to who asked: with the request's URL and ticket, as these are
/// known there. `None`: it is no such outcome.
pub fn result_of(outcome: Outcome) -> Option<(Ticket, Response)> {
    if outcome.retry || outcome.request().purpose == Purpose::Robots {
        return None;
    }
    let mut response = outcome.response;
    let ticket = Ticket::of(&response.request)?;
    let name_us = response.request.name_us;
    let mut request = ticket.put_on(Request::get(response.request.url.clone()));
    request.name_us = name_us;
    response.request = request;
    Some((ticket, response))
}

/// The response as one to the request that was asked for. It ends `now`, by the clock of who asked, when it is known there; when it was
/// complete by the wall clock stays as it is, and so does the time for the host's name.
#[must_use]
pub fn answering(mut response: Response, request: &Request, now: Micros) -> Response {
    let name_us = response.request.name_us;
    response.request = Request { name_us, ..request.clone() };
    let (complete, took) = (response.fetched_at(), response.finished.saturating_sub(response.started));
    (response.started, response.finished) = (now.saturating_sub(took), now);
    response.times.wall_offset_us = complete.cast_signed().saturating_sub(now.cast_signed());
    response
}

#[cfg(test)]
mod tests {
    use lycosa_url::{CrawlUrl, Failure, FailureKind};

    use super::*;
    use crate::{Metadata, Received, Route};

    fn request() -> Request {
        let mut request = Request::get(CrawlUrl::parse("http://one.example/page?q=1").unwrap());
        request.lease = 7;
        request.depth = 3;
        request.route = Route::Direct(vec!["127.0.0.1".parse().unwrap()]);
        request.cookies = Some("a=b".into());
        let mut metadata = Metadata::new();
        metadata.insert("mine".into(), "kept here".into());
        request.options = Some(Box::new(RequestOptions {
            method: "POST".into(),
            headers: vec![("Cookie".into(), "old=1".into()), ("accept".into(), "text/html".into())],
            body: "form=1".into(),
            priority: 2,
            metadata,
            key: "mine".into(),
            ..RequestOptions::default()
        }));
        request
    }

    #[test]
    fn another_machine_learns_what_to_ask_for_and_nothing_else() {
        let declared = declared(&request());
        let options = declared.options.as_deref().unwrap();
        assert_eq!(declared.url.as_str(), "http://one.example/page?q=1");
        assert_eq!((options.method(), &options.body[..], options.priority), ("POST", &b"form=1"[..], 2));
        let fields: Vec<_> = options.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(fields, [("accept", "text/html"), ("cookie", "a=b")]);
        assert!(options.metadata.is_empty() && options.key.is_empty());
        assert_eq!((declared.lease, declared.depth, declared.route.addresses().len()), (0, 0, 0));
        assert_eq!(declared.cookies, None);
    }

    #[test]
    fn a_plain_get_stays_one() {
        let plain = Request::get(CrawlUrl::parse("http://one.example/").unwrap());
        assert_eq!(declared(&plain), plain);
    }

    #[test]
    fn a_response_finds_its_request_again() {
        let ticket = Ticket { serial: u64::MAX, index: u32::MAX };
        let sent = ticket.put_on(declared(&request()));
        assert_eq!(Ticket::of(&sent), Some(ticket));
        let response = Response {
            request: sent,
            address: None,
            started: 1_000,
            finished: 3_000,
            times: crate::Times { wall_offset_us: 50_000, ..crate::Times::default() },
            result: Ok(Received { status: 200, ..Received::default() }),
        };
        let (found, result) = result_of(Outcome::new(response)).unwrap();
        assert_eq!(found, ticket);
        assert!(
            result.request.options.as_ref().unwrap().body.is_empty(),
            "what was posted is known to who asked"
        );
        // The clock of who asked began later.
        let answered = answering(result, &request(), 900);
        assert_eq!(answered.request, request());
        assert_eq!((answered.started, answered.finished, answered.fetched_at()), (0, 900, 53_000));
        assert_eq!(answered.result.unwrap().status, 200);
    }

    #[test]
    fn what_is_not_the_last_of_a_page_is_no_result() {
        let failure = Failure::new(FailureKind::ConnectTimeout, "");
        let ticket = Ticket { serial: 1, index: 0 };
        let settled = |request: Request| {
            let mut outcome = Outcome::settled(request.url.clone(), 0, Vec::new(), 0, failure.clone());
            outcome.response.request = request;
            outcome
        };
        let own = ticket.put_on(declared(&request()));
        let mut robots = own.clone();
        robots.purpose = Purpose::Robots;
        assert!(result_of(settled(robots)).is_none());
        let mut retried = settled(own.clone());
        retried.retry = true;
        assert!(result_of(retried).is_none());
        assert!(result_of(settled(declared(&request()))).is_none(), "it has no ticket");
        assert!(result_of(settled(own)).is_some());
    }

    #[test]
    fn texts_that_are_no_tickets_are_none() {
        for key in ["", "/", "1/", "/1", "a/b", "1/2/3", "-1/2", "18446744073709551616/0", "1/4294967296"] {
            let mut request = request();
            request.options.as_mut().unwrap().key = key.into();
            assert_eq!(Ticket::of(&request), None, "{key}");
        }
    }
}
