//! Responses of hosts that are not ordinary, and of names in wildcard zones.

use std::time::{Duration, SystemTime};

use super::{Answer, Head, Site, finish, plain, upgrade};
use crate::ledger::{Kind, NONE, WILD};
use crate::nature::{Gate, Manner, Nature, Trap};
use crate::page;
use crate::trap::{self, Reply};

/// Content-Type of pages that are not mangled.
const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

/// Redirect chain of a redirected robots.txt.
const ROBOTS_WAY: [&str; 3] = ["/robots.txt", "/site/robots.txt", "/site/rules/robots.txt"];

/// Minimum size of a huge robots.txt, and minimum size of what precedes its rules: RFC 9309, 2.5 requires at least 500 KiB to be parsed.
const HUGE: (usize, usize) = (700 << 10, 400 << 10);

/// Response of a host that is not ordinary; `None` if it is the same as an ordinary host's.
pub(super) fn answer(
    site: &Site,
    host: u32,
    time: u64,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Option<Answer> {
    let nature = site.world.nature(host);
    if let Some(answer) = robots(site, host, nature.gate, time, head, out) {
        return Some(answer);
    }
    if head.path == "/robots.txt" {
        return None;
    }
    let slot = site.world.find_slot(host, head.path.as_bytes());
    let (kind, page) = match slot {
        Some(slot) => (Kind::Page, slot),
        None => (Kind::Unknown, NONE),
    };
    if let Some(pause) = site.network.refuses(&site.world, host, time) {
        let page = if slot.is_none() { site.ledger.intern(head.path) } else { page };
        return Some(refuse(host, kind, page, nature.manner, pause, head, out));
    }
    if slot.is_some_and(|slot| site.network.fails(&site.world, host, slot)) {
        return Some(plain(503, kind, host, page, head, out));
    }
    if slot.is_some() {
        return None;
    }
    let reply = trap::answer(&site.world, host, head.path, out)?;
    let page = site.ledger.intern(head.path);
    Some(match reply {
        Reply::Page => {
            if nature.trap == Trap::Soft404 {
                out.extend_from_slice(b"<p>Error 404</p>\n");
            }
            finish(200, Kind::Trap, host, page, head, &[HTML], out)
        }
        Reply::To(path) => {
            finish(302, Kind::Trap, host, page, head, &[&format!("Location: {path}\r\n"), HTML], out)
        }
    })
}

/// Response of a name in a host's wildcard zone: the host's robots.txt, or one page at any other path.
pub(super) fn wild(
    site: &Site,
    host: u32,
    secure: bool,
    name: &str,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Answer {
    let id = site.ledger.intern(name);
    let own = if id < WILD { WILD | id } else { NONE };
    if !secure && site.world.is_https(host) {
        return upgrade(site, host, own, name, head, out);
    }
    if head.path == "/robots.txt" {
        let robots = site.world.robots(host);
        if robots.exists {
            robots.write(out);
            return finish(200, Kind::Robots, own, NONE, head, &["Content-Type: text/plain\r\n"], out);
        }
        return plain(404, Kind::Robots, own, NONE, head, out);
    }
    trap::wild(&site.world, &site.ports, host, name, out);
    finish(200, Kind::Trap, own, site.ledger.intern(head.path), head, &[HTML], out)
}

/// Renders a page by its host's [`Manner`]; returns its Content-Type line, or `None` for an ordinary page.
pub(super) fn render(site: &Site, host: u32, slot: u32, start: usize, out: &mut Vec<u8>) -> Option<String> {
    if site.world.nature(host) == Nature::default() {
        return None;
    }
    page::render(&site.world, &site.ports, host, slot, out);
    let kind = crate::mangle::mangle(&site.world, host, slot, start, out);
    if kind.is_none() {
        out.truncate(start);
    }
    kind.map(|kind| format!("Content-Type: {kind}\r\n"))
}

/// Response for a difficult robots.txt; `None` for an ordinary one and for other paths.
fn robots(
    site: &Site,
    host: u32,
    gate: Gate,
    time: u64,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Option<Answer> {
    const TEXT: &str = "Content-Type: text/plain; charset=utf-8\r\n";
    let step = ROBOTS_WAY.iter().position(|&path| path == head.path)?;
    match gate {
        Gate::Failing if step == 0 => return Some(plain(503, Kind::Robots, host, NONE, head, out)),
        Gate::Redirected if step + 1 < ROBOTS_WAY.len() => {
            let location = format!("Location: {}\r\n", ROBOTS_WAY[step + 1]);
            return Some(finish(301, Kind::Robots, host, NONE, head, &[&location, TEXT], out));
        }
        Gate::Redirected => site.world.robots(host).write(out),
        Gate::Huge if step == 0 => {
            let start = out.len();
            pad(start + HUGE.1, out);
            site.world.robots(host).write(out);
            out.push(b'\n');
            pad(start + HUGE.0, out);
        }
        Gate::Changing if step == 0 => site.world.robots_at(host, site.network.age(time)).write(out),
        _ => return None,
    }
    Some(finish(200, Kind::Robots, host, NONE, head, &[TEXT], out))
}

/// Appends groups for unused agents, up to a length.
fn pad(length: usize, out: &mut Vec<u8>) {
    let mut n = 0;
    while out.len() < length {
        let group = format!(
            "# Group {n}\nUser-agent: robot-{n}-of-nobody\nDisallow: /archive/{n}/\nDisallow: /tmp/\n\n"
        );
        out.extend_from_slice(group.as_bytes());
        n += 1;
    }
}

/// 429 with Retry-After in seconds, or 503 with a date.
fn refuse(
    host: u32,
    kind: Kind,
    page: u32,
    manner: Manner,
    pause: u32,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Answer {
    out.extend_from_slice(b"<!DOCTYPE html>\n<title>Later</title>\n<p>Please come back later.\n");
    if manner == Manner::Limited {
        return finish(429, kind, host, page, head, &[&format!("Retry-After: {pause}\r\n"), HTML], out);
    }
    // One second for rounding and one for transit, so that the date never allows less. Unscaled like all
    // times on the wire: clients divide its distance from Date.
    let now = SystemTime::now();
    let until = now + Duration::from_secs(u64::from(pause) + 2);
    let (date, until) = (httpdate::fmt_http_date(now), httpdate::fmt_http_date(until));
    finish(503, kind, host, page, head, &[&format!("Date: {date}\r\nRetry-After: {until}\r\n"), HTML], out)
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
