//! Records for tests of this crate and of those that read and write records.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use lycosa_url::{Bound, CrawlUrl, Failure, FailureKind, NameClass};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::{
    Accepted, Body, Certificate, Entry, Head, Leased, Links, Metadata, Outcome, Purpose, Received, Request,
    RequestOptions, Response, Route, Source, Step, Task, Times, UsagePreference, Validators,
};

/// The outcome of a page with a link, a header field that is not UTF-8, and a body of `body` bytes.
pub fn page(number: usize, body: usize) -> Entry<'static> {
    Entry::Outcome(Cow::Owned(outcome(number, body)))
}

/// The same as an outcome.
pub fn outcome(number: usize, body: usize) -> Outcome {
    let request = Request { lease: number as u64, ..Request::get(numbered(number)) };
    let received = Received {
        status: 200,
        head: Head::of("HTTP/1.1 200 OK", [("x", [0xff, b'a'])]).unwrap_or_default(),
        body: Bytes::from(vec![b'x'; body]).into(),
        ..Received::default()
    };
    let (address, times) = ("127.0.0.1".parse().ok(), Times::default());
    let mut outcome =
        Outcome::new(Response { request, address, started: 0, finished: 0, times, result: Ok(received) });
    outcome.links.push(&numbered(0), true);
    outcome
}

/// A URL with a number.
fn numbered(number: usize) -> CrawlUrl {
    let parsed = CrawlUrl::from_parts(false, "example.com", None, &format!("/{number}"));
    parsed.unwrap_or_else(|| unreachable!("its parts are those of a URL"))
}

/// Any URL.
pub fn any_url() -> impl Strategy<Value = CrawlUrl> {
    let text =
        "https?://[a-z]{1,8}([.][a-z]{2,3})?(:[1-9][0-9]{0,3})?/[a-zA-Z0-9/._~-]{0,12}([?][a-z=&]{0,8})?";
    text.prop_filter_map("a URL", |text| CrawlUrl::parse(&text).ok())
}

/// Any failure.
fn any_failure() -> impl Strategy<Value = Failure> {
    let kinds: Vec<FailureKind> = FailureKind::all().collect();
    (proptest::sample::select(kinds), ".{0,9}").prop_map(|(kind, detail)| Failure::new(kind, detail))
}

/// Any JSON values by name.
fn any_metadata() -> impl Strategy<Value = Metadata> {
    let value = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,5}".prop_map(Into::into),
        vec(any::<u8>(), 0..3).prop_map(Into::into),
    ];
    vec(("[a-z]{1,4}", value), 0..3).prop_map(|pairs| pairs.into_iter().collect())
}

/// Anything that a request may have beyond a GET.
pub fn any_options() -> impl Strategy<Value = RequestOptions> {
    let headers = vec(("[A-Za-z-]{1,6}", "[ -~]{0,6}"), 0..3);
    let texts = (option::of(".{0,5}"), option::of(".{0,5}"), ".{0,5}");
    ("[A-Z]{0,5}", headers, vec(any::<u8>(), 0..9), texts, any::<i32>(), any_metadata()).prop_map(
        |(method, headers, body, (etag, last_modified, key), priority, metadata)| RequestOptions {
            method: method.into(),
            headers: headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            body: body.into(),
            validators: Validators {
                etag: etag.map(Into::into),
                last_modified: last_modified.map(Into::into),
            },
            priority,
            metadata,
            key: key.into(),
        },
    )
}

/// Any request.
pub fn any_request() -> impl Strategy<Value = Request> {
    let purpose =
        proptest::sample::select(vec![Purpose::Page, Purpose::Robots, Purpose::Sitemap, Purpose::Resource]);
    let route = prop_oneof![
        vec(any::<std::net::IpAddr>(), 0..3).prop_map(Route::Direct),
        (".{1,9}", vec(any::<std::net::IpAddr>(), 0..3))
            .prop_map(|(name, addresses)| Route::Proxy { name: name.into(), addresses }),
        ".{1,9}".prop_map(|browser| Route::Browser(browser.into())),
    ];
    let step = (any_url(), 300_u16..400).prop_map(|(url, status)| Step { url, status });
    let class = proptest::sample::select(vec![
        None,
        Some(NameClass::Fast),
        Some(NameClass::Slow),
        Some(NameClass::Failed),
    ]);
    let numbers = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>());
    let rest = (option::of(".{0,9}"), option::of(any_options()), ["[a-z]{0,3}", "[a-z]{0,3}"]);
    (any_url(), purpose, route, vec(step, 0..3), class, numbers, rest).prop_map(
        |(
            url,
            purpose,
            route,
            chain,
            name_class,
            (lease, depth, attempt, name_us, deadline),
            (cookies, options, task),
        )| {
            let [job, name] = task.map(String::into_boxed_str);
            let (task, cookies) = (Arc::new(Task { job, name }), cookies.map(Into::into));
            let options = options.map(Box::new);
            Request {
                task,
                lease,
                purpose,
                depth,
                attempt,
                chain,
                route,
                name_us,
                name_class,
                cookies,
                usage: (0..depth % 3)
                    .map(|number| (format!("use-{number}").into(), attempt % 2 == 0))
                    .collect(),
                interval: deadline % 1_000,
                tdm: [None, Some(true), Some(false)][lease as usize % 3],
                licenses: (0..attempt % 3)
                    .map(|number| format!("https://a.example/{number}").into())
                    .collect(),
                deadline,
                options,
                ..Request::get(url)
            }
        },
    )
}

/// Any response.
pub fn any_response() -> impl Strategy<Value = Response> {
    let source = proptest::sample::select(vec![
        Source::Http10,
        Source::Http11,
        Source::Http2,
        Source::Browser,
        Source::Cache,
    ]);
    let body = prop_oneof![
        vec(any::<u8>(), 0..400).prop_map(|bytes| Body::Memory(bytes.into())),
        (any::<u64>(), any::<u64>()).prop_map(|(offset, length)| Body::File {
            path: std::path::Path::new("/a/file").into(),
            offset,
            length
        }),
        (any::<u64>(), any::<u64>()).prop_map(|(position, length)| Body::Log { position, length }),
        ("[a-z]{1,9}", any::<u64>()).prop_map(|(url, length)| Body::Object { url: url.into(), length }),
    ];
    let head = || vec(any::<u8>(), 0..40).prop_map(|raw| Head::new(raw.into()));
    let certificate = option::of((".{0,5}", any::<(i64, i64)>()).prop_map(|(subject, valid)| {
        Arc::new(Certificate { subject: subject.into(), valid, ..Certificate::default() })
    }));
    let received = (any::<u16>(), source, head(), body, head(), certificate, option::of(any_url())).prop_map(
        |(status, source, head, body, sent, certificate, final_url)| Received {
            status,
            source,
            head,
            body,
            sent,
            certificate,
            final_url,
        },
    );
    let result = prop_oneof![3 => received.prop_map(Ok), 1 => any_failure().prop_map(Err)];
    let address = option::of(any::<std::net::IpAddr>());
    (any_request(), address, any::<[u32; 6]>(), any::<i64>(), result).prop_map(
        |(
            request,
            address,
            [started, finished, connect_us, tls_us, first_byte_us, body_us],
            wall_offset_us,
            result,
        )| {
            let times = Times { connect_us, tls_us, first_byte_us, body_us, wall_offset_us };
            Response { request, address, started: started.into(), finished: finished.into(), times, result }
        },
    )
}

/// Any outcome, with empty and odd fields.
pub fn any_outcome() -> impl Strategy<Value = Outcome> {
    let links = vec((any_url(), any::<bool>()), 0..5)
        .prop_map(|links| links.iter().map(|(url, nofollow)| (url, *nofollow)).collect::<Links>());
    let bounds = proptest::sample::select(vec![
        Vec::new(),
        vec![Bound::Links],
        vec![Bound::TitleBytes, Bound::UrlBytes],
    ]);
    let texts = (option::of(".{0,9}"), option::of(".{0,9}"), option::of(vec(any::<u8>(), 0..20)));
    let urls = (option::of(any_url()), option::of(any_url()));
    let rest = (any::<[bool; 4]>(), any::<u32>(), any::<u64>(), bounds, any_metadata(), any::<bool>());
    (any_response(), links, texts, urls, rest).prop_map(
        |(
            response,
            links,
            (charset, title, rules),
            (canonical, redirect),
            (flags, bad_links, mark, bounds, fields, told),
        )| {
            let mut outcome = Outcome::new(response);
            outcome.links = links;
            (outcome.charset, outcome.title) = (charset.map(Cow::Owned), title.map(Into::into));
            outcome.rules = rules.map(Into::into);
            (outcome.canonical, outcome.redirect) = (canonical, redirect);
            [outcome.noindex, outcome.nofollow, outcome.retry, outcome.ours] = flags;
            (outcome.bad_links, outcome.mark, outcome.fields) = (bad_links, mark, fields);
            outcome.bounds = bounds.into_iter().collect();
            let preference =
                UsagePreference { usage: "train-ai".into(), allowed: told, source: "header".into() };
            outcome.usage = if told { vec![preference] } else { Vec::new() };
            let added = outcome.redirect.clone().filter(|_| told).map(Request::get);
            let options = outcome.request().options.clone();
            outcome.requests = added.map(|added| Request { options, ..added }).into_iter().collect();
            outcome.licenses = outcome.canonical.clone().filter(|_| told).into_iter().collect();
            outcome
        },
    )
}

/// Any record of the log, with its body in memory.
pub fn any_entry() -> impl Strategy<Value = Entry<'static>> {
    let in_memory = |mut outcome: Outcome| {
        if let Ok(received) = &mut outcome.response.result
            && !received.body.is_memory()
        {
            received.body = Body::default();
        }
        Entry::Outcome(Cow::Owned(outcome))
    };
    prop_oneof![
        2 => any_outcome().prop_map(in_memory),
        1 => (any_request(), any::<u64>())
            .prop_map(|(request, at)| Entry::Accepted(Accepted { request: Cow::Owned(request), at })),
        1 => (any_url(), any::<[u64; 3]>(), any::<i64>()).prop_map(
            |(url, [lease, process, granted], wall_offset_us)| {
                Entry::Leased(Leased { url: Cow::Owned(url), lease, process, granted, wall_offset_us })
            }
        ),
    ]
}
