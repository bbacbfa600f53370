//! Requests that the user's code adds to outcomes: admitted as links are, each with its own key and all that it says.

use lycosa_records::{Metadata, Outcome, Purpose, Request, RequestOptions, Step};
use lycosa_url::{FailureKind, Micros};

use crate::scripted::{Names, SECOND, answer, crawl, failed, frontier, patient, turn, url};
use crate::{Frontier, Settings};

/// A GET with a deduplication key.
fn keyed(target: &str, key: &str) -> Request {
    let options = RequestOptions { key: key.into(), ..RequestOptions::default() };
    Request { options: Some(Box::new(options)), ..Request::get(url(target)) }
}

/// A form that is posted.
fn posted(target: &str, body: &'static str) -> Request {
    let metadata: Metadata = [("step".to_owned(), 2.into())].into_iter().collect();
    let options =
        RequestOptions { method: "POST".into(), body: body.into(), metadata, ..RequestOptions::default() };
    Request { options: Some(Box::new(options)), ..Request::get(url(target)) }
}

/// An answer to which requests are added.
fn with(mut page: Outcome, requests: Vec<Request>) -> Outcome {
    page.requests = requests;
    page
}

/// The requests of a crawl whose first page has these added.
fn crawl_with(settings: Settings, added: &[Request]) -> Vec<Request> {
    let (mut frontier, _) = frontier(settings);
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let mut sent = Vec::new();
    crawl(&mut frontier, &mut |request, now| {
        sent.push(request.clone());
        let is_first = sent.len() == 1;
        with(answer(request, now, 200, &[], "", &[]), if is_first { added.to_vec() } else { Vec::new() })
    });
    sent
}

/// URL and key of each.
fn told(sent: &[Request]) -> Vec<(&str, &str)> {
    sent.iter()
        .map(|request| (request.url.as_str(), request.options.as_deref().map_or("", |options| &*options.key)))
        .collect()
}

#[test]
fn requests_with_keys_of_their_own_are_sent_whatever_their_url() {
    let added = [
        keyed("http://a.com/", "again"),
        keyed("http://a.com/other", "again"),
        Request::get(url("http://a.com/")),
        keyed("http://a.com/", "as a user"),
    ];
    let sent = crawl_with(Settings { robots: false, ..Settings::default() }, &added);
    let told = told(&sent);
    assert_eq!(told, [("http://a.com/", ""), ("http://a.com/", "again"), ("http://a.com/", "as a user")]);
    assert_eq!(sent.iter().map(|request| request.depth).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn a_key_counts_on_its_host_alone_and_the_scope_holds_for_requests_too() {
    let added = [
        keyed("http://a.com/login", "login"),
        keyed("http://b.com/login", "login"),
        keyed("http://www.a.com/login", "login"),
    ];
    let settings = Settings { robots: false, ..Settings::default() };
    assert_eq!(told(&crawl_with(settings, &added)), [("http://a.com/", ""), ("http://a.com/login", "login")]);
    let sent = crawl_with(patient(), &added);
    assert_eq!(sent.len(), 4, "{:?}", told(&sent));
}

#[test]
fn a_posted_form_has_its_body_and_its_metadata_and_is_sent_once_for_each_body() {
    let added = ["a=1", "a=2", "a=1"].map(|body| posted("http://a.com/search", body));
    let sent = crawl_with(Settings { robots: false, ..Settings::default() }, &added);
    let forms: Vec<_> = sent.iter().filter_map(|request| request.options.as_deref()).collect();
    assert_eq!(forms.iter().map(|options| &options.body[..]).collect::<Vec<_>>(), [b"a=1", b"a=2"]);
    assert!(forms.iter().all(|options| options.method() == "POST" && options.metadata["step"] == 2));
}

#[test]
fn failures_and_redirects_may_have_requests_added_and_a_target_has_its_own_key() {
    let (mut frontier, _) = frontier(Settings { robots: false, retries: 0, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let mut sent = Vec::new();
    crawl(&mut frontier, &mut |request, now| {
        sent.push(request.clone());
        match (request.url.path_and_query(), request.depth) {
            ("/", 0) => {
                with(answer(request, now, 200, &[], "", &[]), vec![keyed("http://a.com/login", "login")])
            }
            ("/login", _) => {
                let page = answer(request, now, 303, &[("location", "http://a.com/home")], "", &[]);
                with(page, vec![keyed("http://a.com/", "as a user")])
            }
            ("/home", _) => {
                let page = failed(request, now, FailureKind::MiddlewareFailed);
                with(page, vec![keyed("http://a.com/home", "again")])
            }
            _ => answer(request, now, 200, &[], "", &[]),
        }
    });
    let mut told = told(&sent);
    told.sort_unstable();
    let home = [("http://a.com/home", ""), ("http://a.com/home", "again")];
    let rest = [("http://a.com/", ""), ("http://a.com/", "as a user"), ("http://a.com/login", "login")];
    let mut expected = [&home[..], &rest[..]].concat();
    expected.sort_unstable();
    assert_eq!(told, expected);
    let target = sent.iter().find(|request| request.url.path_and_query() == "/home").unwrap();
    assert_eq!(target.chain, [Step { url: url("http://a.com/login"), status: 303 }]);
}

#[test]
fn a_restart_knows_the_requests_that_were_added_and_what_they_ask_for() {
    let settings = Settings { robots: false, ..Settings::default() };
    let added = [
        posted("http://a.com/search", "a=1"),
        keyed("http://a.com/", "again"),
        posted("http://a.com/search", "a=2"),
    ];
    let (mut first, names) = frontier(settings.clone());
    first.add(&[url("http://a.com/")], 0).unwrap();
    let record = |frontier: &mut Frontier<Names>, now: Micros| -> Vec<Outcome> {
        let requests = frontier.take(100, now).unwrap();
        let one = |request: Request| {
            assert_eq!(request.purpose, Purpose::Page);
            let is_first = request.depth == 0;
            with(answer(request, now, 200, &[], "", &[]), if is_first { added.to_vec() } else { Vec::new() })
        };
        let mut pages: Vec<Outcome> = requests.into_iter().map(one).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        pages
    };
    let mut log = record(&mut first, 0);
    log.extend(record(&mut first, 100 * SECOND));
    assert_eq!(log.len(), 2, "the page, and the first of its requests");
    for is_saved in [false, true] {
        let mut second = if is_saved {
            let mut snapshot = Vec::new();
            first.save(&mut snapshot).unwrap();
            Frontier::load(settings.clone(), names.clone(), &mut &snapshot[..]).unwrap().0
        } else {
            Frontier::new(settings.clone(), names.clone()).unwrap()
        };
        let mut restore = second.restore();
        if !is_saved {
            restore.seed(&Request::get(url("http://a.com/"))).unwrap();
            log.iter().for_each(|page| restore.outcome(page).unwrap());
        }
        restore.finish(200 * SECOND).unwrap();
        let (mut now, mut sent) = (200 * SECOND, Vec::new());
        while !second.idle() && now < 300 * SECOND {
            turn(&mut second, now, &mut |request, now| {
                sent.push(request.clone());
                // What was there before is known.
                with(answer(request, now, 200, &[], "", &["http://a.com/"]), added.to_vec())
            });
            now += SECOND / 10;
        }
        let asked: Vec<_> =
            sent.iter().map(|request| (request.url.clone(), request.options.clone())).collect();
        assert_eq!(
            asked,
            [&added[1], &added[2]].map(|request| (request.url.clone(), request.options.clone()))
        );
    }
}

#[test]
fn what_is_added_to_an_outcome_that_is_not_the_last_is_left_out() {
    let (mut frontier, _) = frontier(Settings { robots: false, retries: 1, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let mut sent = Vec::new();
    crawl(&mut frontier, &mut |request, now| {
        sent.push(request.clone());
        let status = if sent.len() == 1 { 503 } else { 200 };
        let added = (request.depth == 0).then(|| keyed("http://a.com/added", &format!("try {}", sent.len())));
        with(answer(request, now, status, &[], "", &[]), added.into_iter().collect())
    });
    assert_eq!(told(&sent), [("http://a.com/", ""), ("http://a.com/", ""), ("http://a.com/added", "try 2")]);
}
