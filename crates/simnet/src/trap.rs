//! Crawler traps: URLs beside a host's slots that are infinite, circular or worthless. Each page is a pure
//! function of its URL; none counts in coverage.

use crate::nature::Trap;
use crate::ports::Ports;
use crate::random::mix;
use crate::text::plain_word;
use crate::world::World;

/// Number of near-duplicates per host.
const COPIES: u64 = 200;

/// Number of names of its own zone that a page links to, and number of such names in all pages of a host.
const NAMES: (u64, u64) = (2, 8);

/// Response at a trap's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// 200; the page was appended.
    Page,
    /// 302 to a path of the same host.
    To(String),
}

/// Appends a page's links into its host's trap and wildcard zone, if there are any.
pub(crate) fn entrances(world: &World, ports: &Ports, host: u32, slot: u32, out: &mut Vec<u8>) {
    let nature = world.nature(host);
    let n = mix(u64::from(host) << 32 | u64::from(slot));
    let mut links: Vec<String> = match nature.trap {
        Trap::None | Trap::Names => Vec::new(),
        Trap::Calendar => vec![format!("/calendar/{}/{}", 2020 + n % 6, 1 + n % 12)],
        Trap::Sessions => {
            (0..4).map(|i| session(&world.path(host, (slot + i) % world.pages(host)), n)).collect()
        }
        Trap::Repetition => vec!["/list/item/".to_owned()],
        Trap::Loops => vec![format!("/loop/{}", 1 + n % 3)],
        Trap::Chains => vec!["/hop/1".to_owned()],
        Trap::Soft404 => {
            (0..3).map(|i| format!("/gone/{}-{}", plain_word(n as u32), n % 10_000 + i)).collect()
        }
        Trap::Duplicates => vec![format!("/copy/{}", n % COPIES)],
    };
    if nature.wildcard {
        let (scheme, port) = ports.around(world, host);
        links.extend(
            (0..NAMES.0).map(|i| format!("{scheme}{}{port}/", label(world.name(host), mix(n + i) % NAMES.1))),
        );
    }
    if !links.is_empty() {
        list(&links, out);
    }
}

/// Responds to a path without a slot, if it belongs to the host's trap; appends a page to `out`.
pub(crate) fn answer(world: &World, host: u32, path: &str, out: &mut Vec<u8>) -> Option<Reply> {
    let links = match world.nature(host).trap {
        Trap::None | Trap::Names => return None,
        Trap::Calendar => {
            let (year, month) = path.strip_prefix("/calendar/")?.split_once('/')?;
            let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
            let month = (1..=12).contains(&month).then_some(month - 1)?;
            let at = |months: u32| format!("/calendar/{}/{}", months / 12, months % 12 + 1);
            let now = year.checked_mul(12)?.checked_add(month)?;
            vec![at(now.checked_add(1)?), at(now.checked_add(12)?), at(now.saturating_sub(1))]
        }
        Trap::Sessions => {
            let at = path.find("?sid=").or_else(|| path.find("&sid="))?;
            let slot = world.find_slot(host, &path.as_bytes()[..at])?;
            let next = path[at + 5..].bytes().fold(u64::from(slot), |n, byte| mix(n ^ u64::from(byte)));
            (1..5).map(|i| session(&world.path(host, (slot * 2 + i) % world.pages(host)), next)).collect()
        }
        Trap::Repetition => {
            let rest = path.strip_prefix("/list/")?.strip_suffix('/')?;
            rest.split('/').all(|part| part == "list" || part == "item").then_some(())?;
            // Relative links: each page leads to two longer paths.
            vec!["list/item/".to_owned(), "item/list/".to_owned()]
        }
        Trap::Loops => {
            let n: u32 = path.strip_prefix("/loop/")?.parse().ok()?;
            return Some(Reply::To(format!("/loop/{}", n % 3 + 1)));
        }
        Trap::Chains => {
            let n: u32 = path.strip_prefix("/hop/")?.parse().ok()?;
            if n < world.model().traps.chain_length {
                return Some(Reply::To(format!("/hop/{}", n + 1)));
            }
            vec!["/".to_owned()]
        }
        Trap::Soft404 => vec!["/".to_owned(), format!("/gone/again-{}", mix(path.len() as u64) % 1000)],
        Trap::Duplicates => {
            let n: u64 = path.strip_prefix("/copy/")?.parse().ok().filter(|n| *n < COPIES)?;
            page(
                world,
                host,
                &format!("Item {n}"),
                &format!("This is item {n} of {COPIES}. "),
                u64::from(host),
                out,
            );
            list(&[format!("/copy/{}", (n + 1) % COPIES), format!("/copy/{}", (n + 7) % COPIES)], out);
            return Some(Reply::Page);
        }
    };
    let title =
        if world.nature(host).trap == Trap::Soft404 { "Sorry, we could not find that page" } else { path };
    let seed = path.bytes().fold(u64::from(host), |n, byte| mix(n ^ u64::from(byte)));
    page(world, host, title, "", seed, out);
    list(&links, out);
    Some(Reply::Page)
}

/// Appends the page of a name in a host's wildcard zone: it links to the host, and in a trap to ever new names.
pub(crate) fn wild(world: &World, ports: &Ports, host: u32, name: &str, out: &mut Vec<u8>) {
    let seed = name.bytes().fold(u64::from(host), |n, byte| mix(n ^ u64::from(byte)));
    page(world, host, name, "", seed, out);
    let (scheme, port) = ports.around(world, host);
    let mut links = vec![ports.url(world, host, "/")];
    if world.nature(host).trap == Trap::Names {
        links.extend((0..3).map(|i| format!("{scheme}{}{port}/", label(world.name(host), mix(seed + i)))));
    }
    list(&links, out);
}

/// The n-th name in a zone.
fn label(zone: &str, n: u64) -> String {
    format!("{}-{}.{zone}", plain_word(n as u32), n % 100_000)
}

/// A path with a session id.
fn session(path: &str, n: u64) -> String {
    format!("{path}{}sid={n:016x}", if path.contains('?') { '&' } else { '?' })
}

/// Appends the beginning of a small page. `text` must not need escaping; the title drops `<`, `>` and `&`.
fn page(world: &World, host: u32, title: &str, text: &str, seed: u64, out: &mut Vec<u8>) {
    let title: String = title.chars().filter(|c| !matches!(c, '<' | '>' | '&')).take(200).collect();
    let put = |out: &mut Vec<u8>, parts: &[&str]| {
        parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()))
    };
    put(out, &["<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", &title]);
    put(
        out,
        &[
            "</title>\n</head>\n<body>\n<h1>",
            &title,
            "</h1>\n<p class=\"site\">",
            world.name(host),
            "</p>\n<p>",
            text,
        ],
    );
    (0..6).for_each(|i| put(out, &[world.text.fragment(mix(seed + i) as u32)]));
    put(out, &["</p>\n"]);
}

/// Appends a list of links.
fn list(links: &[String], out: &mut Vec<u8>) {
    out.extend_from_slice(b"<ul class=\"more\">\n");
    for link in links {
        let item = format!("<li><a href=\"{}\">more</a></li>\n", link.replace('&', "&amp;"));
        out.extend_from_slice(item.as_bytes());
    }
    out.extend_from_slice(b"</ul>\n");
}

#[cfg(test)]
#[path = "trap_tests.rs"]
mod tests;
