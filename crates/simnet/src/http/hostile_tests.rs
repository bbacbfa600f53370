//! Tests of the responses of difficult hosts, without sockets.

use crate::http::tests::{ask, field, get, site_of};
use crate::ledger::{Kind, NONE, WILD};
use crate::nature::{Gate, Manner, Nature, Trap};
use crate::robots::Robots;

/// The first host with a nature.
fn host(site: &super::Site, fits: impl Fn(Nature) -> bool) -> u32 {
    (0..site.world.host_count()).find(|&h| fits(site.world.nature(h))).unwrap()
}

#[test]
fn difficult_robots_files_are_as_they_are_called() {
    let site = site_of("hostile", 400);
    let get = |gate, path: &str| get(&site, host(&site, |n| n.gate == gate), path, "");
    let (answer, head, body) = get(Gate::Huge, "/robots.txt");
    assert!(answer.status == 200 && body.len() > 600 << 10 && field(&head, "Content-Length").is_some());
    let text = String::from_utf8(body).unwrap();
    let rules = text.find("User-agent: *\n").unwrap();
    assert!((400 << 10..500 << 10).contains(&rules), "{rules}");
    let (answer, ..) = get(Gate::Failing, "/robots.txt");
    assert_eq!((answer.status, answer.kind), (503, Kind::Robots));
    let mut path = "/robots.txt".to_owned();
    for _ in 0..2 {
        let (answer, head, _) = get(Gate::Redirected, &path);
        assert_eq!((answer.status, answer.kind), (301, Kind::Robots));
        path = field(&head, "Location").unwrap().to_owned();
    }
    let (answer, _, body) = get(Gate::Redirected, &path);
    assert!(
        answer.status == 200 && answer.kind == Kind::Robots && body.starts_with(b"User-agent")
            || body.starts_with(b"#")
    );
    let (answer, _, body) = get(Gate::Changing, "/robots.txt");
    assert!(answer.status == 200 && String::from_utf8(body).unwrap().contains("Disallow: /blog/\n"));
    let changing = host(&site, |n| n.gate == Gate::Changing);
    let at = |seconds| -> Robots { site.world.robots_at(changing, seconds) };
    assert!(at(3_599.0).shuts_blog && !at(3_601.0).shuts_blog && at(7_201.0).shuts_blog);
    let (_, _, robots) = get(Gate::Slow, "/robots.txt");
    assert!(!robots.is_empty());
}

#[test]
fn refusals_say_for_how_long() {
    let site = site_of("hostile", 400);
    for (manner, status) in [(Manner::Limited, 429), (Manner::Overloaded, 503)] {
        let host = host(&site, |n| n.manner == manner && n.gate == Gate::Ordinary);
        let pause = site.world.retry_after(host).unwrap();
        let refused = (0..6).map(|_| get(&site, host, "/", "")).find(|(answer, ..)| answer.status == status);
        let (answer, head, _) = refused.unwrap();
        assert!(answer.pace.wait.is_zero() && answer.kind == Kind::Page);
        let asked = field(&head, "Retry-After").unwrap();
        if manner == Manner::Limited {
            assert_eq!(asked, pause.to_string());
        } else {
            let date = |name| httpdate::parse_http_date(field(&head, name).unwrap()).unwrap();
            let seconds = date("Retry-After").duration_since(date("Date")).unwrap().as_secs();
            assert_eq!(seconds, u64::from(pause) + 2);
        }
        let (robots, ..) = get(&site, host, "/robots.txt", "");
        assert!(robots.status == 200 || robots.status == 404);
    }
}

#[test]
fn traps_are_recorded_as_such() {
    let site = site_of("hostile", 400);
    for (trap, path, status) in [
        (Trap::Calendar, "/calendar/2024/5", 200),
        (Trap::Loops, "/loop/1", 302),
        (Trap::Chains, "/hop/1", 302),
        (Trap::Soft404, "/never/was", 200),
        (Trap::Duplicates, "/copy/5", 200),
        (Trap::Repetition, "/list/item/list/", 200),
    ] {
        let host = host(&site, |n| n.trap == trap && n.manner == Manner::Ordinary);
        let (answer, ..) = get(&site, host, path, "");
        assert_eq!((answer.status, answer.kind), (status, Kind::Trap), "{path}");
    }
}

#[test]
fn names_in_wildcard_zones_are_hosts_of_their_own() {
    let site = site_of("internet", 400);
    let host = host(&site, |n| n.wildcard);
    let name = format!("anything.{}", site.world.name(host));
    let (answer, _, body) = ask(&site, host, &format!("GET /x HTTP/1.1\r\nHost: {name}\r\n\r\n"));
    assert_eq!((answer.status, answer.kind), (200, Kind::Trap));
    assert!((WILD..NONE).contains(&answer.host) && body.starts_with(b"<!DOCTYPE html>"));
    assert_eq!(site.ledger.records().unwrap().strings[(answer.host - WILD) as usize], name);
    let (answer, ..) = ask(&site, host, &format!("GET /robots.txt HTTP/1.1\r\nHost: {name}\r\n\r\n"));
    assert_eq!(answer.kind, Kind::Robots);
}

#[test]
fn two_worlds_of_one_seed_answer_alike() {
    for profile in ["internet", "hostile"] {
        let (one, two) = (site_of(profile, 80), site_of(profile, 80));
        for host in 0..80 {
            // Only a date may differ.
            if one.world.nature(host).manner == Manner::Overloaded {
                continue;
            }
            for slot in 0..one.world.pages(host) {
                let path = one.world.path(host, slot);
                let ((a, head, body), (b, head2, body2)) = (
                    get(&one, host, &path, "Accept-Encoding: gzip\r\n"),
                    get(&two, host, &path, "Accept-Encoding: gzip\r\n"),
                );
                assert_eq!((a.status, head, body, a.pace), (b.status, head2, body2, b.pace));
            }
        }
    }
}
