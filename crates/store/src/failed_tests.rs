//! Tests of the list of failed URLs: lookups and crashes.

use std::collections::HashSet;
use std::fs;

use lycosa_records::{Entry, Outcome, Received};
use lycosa_url::{CrawlUrl, Failure, FailureKind};
use tempfile::TempDir;

use crate::{Failed, Log, LogSettings};

/// The outcome of a URL that failed.
fn failure(path: &str, kind: FailureKind) -> Outcome {
    let url = CrawlUrl::parse(&format!("http://a.example/{path}")).unwrap();
    Outcome::settled(url, 1, Vec::new(), 7, Failure::new(kind, "scripted"))
}

/// The outcome that opens it again.
fn opened(page: &Outcome) -> Outcome {
    let (request, result) = (&page.response.request, &page.response.result);
    let ended = result.clone().map(|received| received.status);
    Outcome::reopened(request.url.clone(), request.depth, 8, ended)
}

/// The outcome of a URL with a page.
fn done(path: &str, depth: u32) -> Outcome {
    let mut page = failure(path, FailureKind::Timeout);
    page.response.request.depth = depth;
    page.response.result = Ok(Received { status: 200, ..Received::default() });
    page
}

/// The URLs found, as kind and path, sorted.
fn found(list: &mut Failed, kinds: &[FailureKind]) -> Vec<String> {
    let mut found = list.find(kinds.iter().copied().collect()).unwrap();
    let mut all = Vec::new();
    loop {
        let pages = found.read(2, 9).unwrap();
        if pages.is_empty() {
            all.sort();
            return all;
        }
        for page in pages {
            assert!(page.is_reopened());
            let kind = page.response.result.unwrap_err().kind.as_str();
            all.push(format!("{kind} {}", page.response.request.url.path_and_query()));
        }
    }
}

/// An empty list.
fn list() -> (TempDir, Failed) {
    let directory = tempfile::tempdir().unwrap();
    let list = Failed::new(directory.path().join("failed"));
    (directory, list)
}

const KINDS: [FailureKind; 2] = [FailureKind::Timeout, FailureKind::NameNotFound];

#[test]
fn the_newest_word_on_a_url_counts_and_kinds_are_chosen() {
    let (directory, mut list) = list();
    list.add(&[done("page", 1)]).unwrap();
    assert!(!directory.path().join("failed").exists(), "without failures there is no list");
    let [a, b, c] = ["a", "b", "c"].map(|path| failure(path, FailureKind::Timeout));
    let name = failure("name", FailureKind::NameNotFound);
    let retried = Outcome { retry: true, ..failure("retried", FailureKind::Timeout) };
    list.add(&[a.clone(), b.clone(), c, name, retried, failure("no", FailureKind::RobotsDisallowed)])
        .unwrap();
    list.add(&[opened(&a), opened(&b), failure("b", FailureKind::NameNotFound)]).unwrap();
    assert_eq!(found(&mut list, &KINDS), ["name-not-found /b", "name-not-found /name", "timeout /c"]);
    assert_eq!(found(&mut list, &KINDS[..1]), ["timeout /c"]);
    assert_eq!(found(&mut list, &[FailureKind::RobotsDisallowed]), ["robots-disallowed /no"]);
    let mut all = list.find(HashSet::from(KINDS)).unwrap();
    let first = all.read(1, 9).unwrap();
    list.add(&[opened(&first[0])]).unwrap();
    assert_eq!(all.read(9, 9).unwrap().len(), 2, "entries added meanwhile are ignored");
    assert_eq!(found(&mut list, &KINDS).len(), 2);
}

#[test]
fn after_a_crash_the_list_is_what_snapshot_and_log_say() {
    let (directory, mut list) = list();
    list.restore(0).unwrap();
    list.add(&[failure("before", FailureKind::Timeout)]).unwrap();
    assert!(list.begin(1000).unwrap().is_some());
    assert!(list.begin(1000).unwrap().is_none(), "nothing was added since");
    list.add(&[failure("after", FailureKind::Timeout), failure("lost", FailureKind::Timeout)]).unwrap();
    drop(list);

    // The log has only the first of the two: the other was not recorded when the process died.
    let mut list = Failed::new(directory.path().join("failed"));
    list.restore(1000).unwrap();
    list.add_again(&failure("after", FailureKind::Timeout)).unwrap();
    assert_eq!(found(&mut list, &KINDS), ["timeout /after", "timeout /before"]);
    // As if no snapshot were readable.
    list.restore(0).unwrap();
    assert_eq!(found(&mut list, &KINDS), [""; 0]);
}

#[test]
fn a_torn_file_gives_what_is_whole() {
    let (directory, mut list) = list();
    list.add(&[failure("a", FailureKind::Timeout), failure("b", FailureKind::Timeout)]).unwrap();
    let path = directory.path().join("failed/00000000000000000000.log");
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(found(&mut list, &KINDS).len() < 2, "cut at {cut}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(found(&mut list, &KINDS).len(), 2);
}

#[test]
fn what_is_missing_from_the_time_before_lists_comes_from_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let log_directory = directory.path().join("log");
    let mut log = Log::open(&log_directory, LogSettings::default()).unwrap();
    let pages = [failure("a", FailureKind::Timeout), failure("b", FailureKind::Timeout), done("seed", 0)];
    log.append(pages.iter().map(Entry::of)).unwrap();
    let position = log.append([Entry::of(&opened(&pages[0]))]).unwrap();
    log.append([Entry::of(&failure("later", FailureKind::Timeout))]).unwrap();
    let mut list = Failed::new(directory.path().join("failed"));
    list.restore(position).unwrap();
    list.complete(&log_directory, position).unwrap();
    assert_eq!(found(&mut list, &KINDS), ["timeout /b"]);
    let modified = |list: &str| fs::metadata(directory.path().join(list)).unwrap().modified().unwrap();
    let before = modified("failed/00000000000000000000.log");
    list.complete(&log_directory, position).unwrap();
    assert_eq!(modified("failed/00000000000000000000.log"), before, "a complete list is not rewritten");
}

#[test]
fn how_seeds_ended_is_told_by_list_and_log() {
    let (directory, mut list) = list();
    let log_directory = directory.path().join("log");
    let mut log = Log::open(&log_directory, LogSettings::default()).unwrap();
    let (seed, link, bad) = (done("seed", 0), done("link", 1), failure("bad", FailureKind::Timeout));
    let pages = [seed.clone(), link, bad.clone(), opened(&bad)];
    list.add(&pages).unwrap();
    log.append(pages.iter().map(Entry::of)).unwrap();
    let key = |path: &str| *CrawlUrl::parse(&format!("http://a.example/{path}")).unwrap().digest();
    let keys = ["seed", "link", "bad", "unknown"].map(key).into();
    let listed = list.ended(&keys).unwrap();
    assert_eq!(listed.keys().collect::<Vec<_>>(), [&key("seed")]);
    let logged = crate::ended(&log_directory, &keys).unwrap();
    assert_eq!(logged[&key("link")].received().unwrap().status, 200);
    assert!(!logged.contains_key(&key("unknown")));
    let page = crate::reopened(listed[&key("seed")].clone(), 9);
    assert_eq!(page.response.result.unwrap().status, 200);
}
