//! Tests of traps: each is infinite, circular or worthless as documented, and a pure function of its URL.

use super::*;
use crate::params::Params;

/// A world in which every host has one trap.
fn world(trap: &str) -> World {
    let file = std::env::temp_dir().join(format!("lycosa-trap-{}-{trap}.toml", std::process::id()));
    std::fs::write(&file, format!("[traps]\n{trap} = 1.0\nchain_length = 5\n")).unwrap();
    let profile = file.to_str().unwrap().to_owned();
    let world = World::new(&Params { profile, hosts: 12, pages: 30, ..Params::default() });
    std::fs::remove_file(&file).unwrap();
    world
}

/// The links of a trap's page.
fn links(html: &[u8]) -> Vec<String> {
    let html = std::str::from_utf8(html).unwrap().replace("&amp;", "&");
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The links into the trap from a page.
fn ways_in(world: &World) -> Vec<String> {
    let mut out = Vec::new();
    entrances(world, &Ports::new(8080, 443), 2, 3, &mut out);
    links(&out)
}

#[test]
fn endless_traps_lead_ever_on() {
    for trap in ["calendar", "sessions", "repetition", "soft_404", "duplicates"] {
        let world = world(trap);
        let mut path = ways_in(&world)[0].clone();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..30 {
            let (mut out, mut again) = (Vec::new(), Vec::new());
            assert_eq!(answer(&world, 2, &path, &mut out), Some(Reply::Page), "{path}");
            answer(&world, 2, &path, &mut again);
            assert_eq!(out, again);
            assert!(seen.insert(path.clone()) || trap == "soft_404", "{path}");
            let next = links(&out).swap_remove(if trap == "soft_404" { 1 } else { 0 });
            path = if next.starts_with('/') { next } else { path + &next };
        }
    }
}

#[test]
fn redirects_go_in_circles_and_in_rows() {
    let loops = world("loops");
    let mut path = ways_in(&loops)[0].clone();
    let start = path.clone();
    for _ in 0..3 {
        let Some(Reply::To(next)) = answer(&loops, 2, &path, &mut Vec::new()) else { panic!("{path}") };
        path = next;
    }
    assert_eq!(path, start);
    let chains = world("chains");
    let (mut path, mut steps) = (ways_in(&chains)[0].clone(), 0);
    while let Some(Reply::To(next)) = answer(&chains, 2, &path, &mut Vec::new()) {
        (path, steps) = (next, steps + 1);
    }
    assert_eq!((path.as_str(), steps), ("/hop/5", 4));
}

#[test]
fn session_pages_hide_slots_behind_ids() {
    let world = world("sessions");
    for path in ways_in(&world) {
        let (plain, _) = path.split_once("sid=").unwrap();
        assert!(world.find_slot(2, &plain.as_bytes()[..plain.len() - 1]).is_some(), "{path}");
    }
}

#[test]
fn wildcard_names_are_found_and_lead_to_new_ones() {
    let world = world("names");
    let mut name = ways_in(&world)[0][7..].replace(":8080/", "");
    for _ in 0..20 {
        assert_eq!(world.find_zone(&name), Some(2), "{name}");
        let mut out = Vec::new();
        wild(&world, &Ports::new(8080, 443), 2, &name, &mut out);
        let links = links(&out);
        assert_eq!((links[0].as_str(), links.len()), (format!("http://{}:8080/", world.name(2)).as_str(), 4));
        let next = links[1][7..].replace(":8080/", "");
        assert_ne!(next, name);
        name = next;
    }
    assert_eq!(world.find_zone(&format!("a.b.c.{}", world.name(2))), Some(2));
    assert_eq!(world.find_zone("no.such.name"), None);
}

#[test]
fn foreign_paths_are_no_traps() {
    for trap in ["calendar", "sessions", "repetition", "loops", "chains", "duplicates", "names"] {
        let world = world(trap);
        for path in [
            "/favicon.ico",
            "/calendar/x/1",
            "/calendar/4294967295/12",
            "/list/",
            "/list/other/",
            "/hop/",
            "/copy/200",
            "/x?sid=1",
        ] {
            assert_eq!(answer(&world, 2, path, &mut Vec::new()), None, "{trap} {path}");
        }
    }
}
