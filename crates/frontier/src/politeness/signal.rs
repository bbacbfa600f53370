//! What an outcome says of its site: its health, whether a retry may succeed, how long the site asks to be left alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lycosa_records::{Head, Outcome, Received};
use sfv::{Item, List, ListEntry, Parser};

use super::pace::HealthSignal;

/// The health signal of an outcome; `None` if it has none, or the site was not asked.
pub(crate) fn signal(page: &Outcome) -> Option<HealthSignal> {
    match &page.response.result {
        Ok(_) if page.response.is_cached() => None,
        Ok(received) => match received.status {
            408 | 429 | 502..=504 => Some(HealthSignal::Trouble),
            // The name has moved: another site responds there.
            421 => None,
            500..=599 => Some(HealthSignal::Neutral),
            _ => Some(HealthSignal::Success(page.response.times.first_byte_us)),
        },
        Err(failure) => failure.kind.is_trouble().then_some(HealthSignal::Trouble),
    }
}

/// Whether a request was answered at all: a signal of the network, not of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The site responded, if only with an error or with too much.
    Answered,
    /// No response, or not one of a site of this name.
    Silent,
    /// The site was not asked.
    Nothing,
}

/// Whether a request was answered at all.
pub(crate) fn word(page: &Outcome) -> Word {
    match &page.response.result {
        Ok(_) if page.response.is_cached() => Word::Nothing,
        Ok(_) => Word::Answered,
        Err(failure) => match failure.kind.answered() {
            Some(true) => Word::Answered,
            Some(false) => Word::Silent,
            None => Word::Nothing,
        },
    }
}

/// Whether a retry may succeed: time-outs, broken connections, overload, an address that the name has left.
pub(crate) fn may_pass(page: &Outcome) -> bool {
    let is_passing = |received: &Received| matches!(received.status, 408 | 421 | 429 | 500..=599);
    match &page.response.result {
        Ok(received) => is_passing(received),
        // What a page says in place of content does not make its status more final than it is.
        Err(failure) => failure.kind.is_transient() || page.refused.as_deref().is_some_and(is_passing),
    }
}

/// The pause that the site asks for after this outcome. Any status but a success may say so by Retry-After: RFC 9110 section
/// 10.2.3 names 503 and redirects, RFC 6585 section 4 names 429. With any status a quota may be spent.
pub(crate) fn wished_pause(page: &Outcome) -> Option<Duration> {
    // A page that is refused as no content may say it, too.
    let received = page.answer()?;
    let spent = spent_quota(&received.head);
    if (200..=299).contains(&received.status) {
        return spent;
    }
    // A date is read on the site's own clock, if the response has its time.
    let date = received.head.get("date").and_then(|date| unix_time(&date));
    let now = date.unwrap_or(Duration::from_micros(page.response.fetched_at()));
    // Of several, the longest.
    received.head.get_all("retry-after").filter_map(|value| retry_after(&value, now)).chain(spent).max()
}

/// The pause until a quota of which nothing is left is renewed: `RateLimit: "name";r=0;t=30` (draft-ietf-httpapi-ratelimit-headers
/// section 4). Of several quotas, the longest.
fn spent_quota(head: &Head) -> Option<Duration> {
    let number = |quota: &Item, name: &str| quota.params.get(name)?.as_integer()?.try_into().ok();
    let pause = |quota: &ListEntry| match quota {
        ListEntry::Item(quota) => number(quota, "t").filter(|_| number(quota, "r") == Some(0)),
        ListEntry::InnerList(_) => None,
    };
    let quotas = head.get_all("ratelimit").filter_map(|value| Parser::new(value.trim()).parse::<List>().ok());
    quotas.flat_map(|quotas| quotas.iter().filter_map(pause).max()).max().map(Duration::from_secs)
}

/// The pause that a Retry-After asks for: seconds, or a date (RFC 9110 section 10.2.3). `now`: since the Unix epoch.
pub(crate) fn retry_after(value: &str, now: Duration) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are a long time.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    Some(unix_time(value)?.saturating_sub(now))
}

/// A date of a header, since the Unix epoch.
fn unix_time(value: &str) -> Option<Duration> {
    let date: SystemTime = httpdate::parse_http_date(value.trim()).ok()?;
    date.duration_since(UNIX_EPOCH).ok()
}

#[cfg(test)]
mod tests {
    use lycosa_records::{Head, Received, Request, Response, Source, Times};
    use lycosa_url::{CrawlUrl, Failure, FailureKind, FailureKind as K};

    use super::*;

    fn page(status: u16, headers: &[(&str, &str)], kind: Option<FailureKind>) -> Outcome {
        let head = Head::of("HTTP/1.1", headers.iter().copied()).unwrap();
        let received = Received { status, head, ..Received::default() };
        let request = Request { lease: 1, ..Request::get(CrawlUrl::parse("http://a.com/").unwrap()) };
        let response = Response {
            request,
            address: None,
            started: 0,
            finished: 10_000_000,
            times: Times { first_byte_us: 70, ..Times::default() },
            result: kind.map_or(Ok(received), |kind| Err(Failure::new(kind, "scripted"))),
        };
        Outcome::new(response)
    }

    #[test]
    fn a_pause_is_obeyed_with_every_status_but_a_success() {
        let wish = |status, value| wished_pause(&page(status, &[("retry-after", value)], None));
        for status in [301, 302, 404, 429, 500, 503] {
            assert_eq!(wish(status, "120"), Some(Duration::from_secs(120)), "{status}");
        }
        assert_eq!(wish(200, "120"), None);
        assert_eq!(wish(429, " 120 "), Some(Duration::from_secs(120)));
        assert_eq!(wish(429, "99999999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        for nonsense in ["soon", "", "-1", "1.5", "+3"] {
            assert_eq!(wish(429, nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_quota_of_which_nothing_is_left_is_a_pause_with_any_status() {
        for (value, pause) in [
            ("\"default\";r=0;t=30", Some(30)),
            ("\"default\"; r=0; t=30", Some(30)),
            ("\"a\";r=5;t=60, \"b\";r=0;t=7", Some(7)),
            ("\"default\";r=1;t=30", None),
            ("\"default\";t=30", None),
            ("\"default\";r=0", None),
            ("\"default\";r=0;t=-3", None),
            ("", None),
        ] {
            for status in [200, 429] {
                let wished = wished_pause(&page(status, &[("RateLimit", value)], None));
                assert_eq!(wished, pause.map(Duration::from_secs), "{status} {value}");
            }
        }
        let both = [("ratelimit", "\"a\";r=0;t=5"), ("retry-after", "9")];
        assert_eq!(wished_pause(&page(429, &both, None)), Some(Duration::from_secs(9)));
    }

    #[test]
    fn a_date_is_read_on_the_sites_clock_where_it_tells_it() {
        let until = ("retry-after", "Thu, 01 Jan 1970 00:01:00 GMT");
        assert_eq!(wished_pause(&page(503, &[until], None)), Some(Duration::from_secs(50)));
        let date = ("date", "Thu, 01 Jan 1970 00:00:40 GMT");
        assert_eq!(wished_pause(&page(503, &[date, until], None)), Some(Duration::from_secs(20)));
        let longest = [("retry-after", "7"), date, until, ("retry-after", "9")];
        assert_eq!(wished_pause(&page(503, &longest, None)), Some(Duration::from_secs(20)));
        let past = [("date", "Thu, 01 Jan 1970 01:00:00 GMT"), until];
        assert_eq!(wished_pause(&page(503, &past, None)), Some(Duration::ZERO));
    }

    #[test]
    fn a_response_of_a_cache_says_nothing_of_its_site() {
        let mut cached = page(200, &[], None);
        assert_eq!((signal(&cached), word(&cached)), (Some(HealthSignal::Success(70)), Word::Answered));
        cached.response.result.as_mut().unwrap().source = Source::Cache;
        assert_eq!((signal(&cached), word(&cached)), (None, Word::Nothing));
    }

    #[test]
    fn what_is_trouble() {
        for status in [408, 429, 502, 503, 504] {
            assert_eq!(signal(&page(status, &[], None)), Some(HealthSignal::Trouble), "{status}");
        }
        for status in [200, 301, 404, 410] {
            assert_eq!(signal(&page(status, &[], None)), Some(HealthSignal::Success(70)), "{status}");
        }
        assert_eq!(signal(&page(500, &[], None)), Some(HealthSignal::Neutral));
        for kind in [K::ReadTimeout, K::ConnectTimeout, K::Timeout, K::ConnectionClosed, K::ConnectRefused] {
            assert_eq!(signal(&page(0, &[], Some(kind))), Some(HealthSignal::Trouble), "{kind:?}");
        }
        for kind in [K::Cancelled, K::TlsCertificate, K::BodyTooLarge] {
            assert_eq!(signal(&page(0, &[], Some(kind))), None, "{kind:?}");
        }
    }
}
