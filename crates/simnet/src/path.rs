//! URL paths: conversion of a slot to its path and back. It needs no table, since the path contains the slot's number.

use crate::random::Rng;
use crate::robots::Fence;
use crate::text::plain_word;

/// Paths of slots 1 to 5, the links of navigation bars.
pub(crate) const NAVIGATION: [&str; 5] = ["/about", "/news/", "/products/", "/archive/", "/contact"];

/// Appends the path of a slot. `fence` is the robots rule that covers the slot, if any.
pub(crate) fn write(out: &mut Vec<u8>, slot: u32, mut rng: Rng, fence: Option<Fence>) {
    if slot == 0 {
        return out.push(b'/');
    }
    if slot as usize <= NAVIGATION.len() {
        return out.extend_from_slice(NAVIGATION[slot as usize - 1].as_bytes());
    }
    let random = rng.bits();
    let first = plain_word(random as u32 & 0xffff);
    let second = plain_word((random >> 16) as u32 & 0xffff);
    let (year, month) = (2019 + (random >> 32) as u32 % 8, 10 + (random >> 36) as u32 % 3);
    let mut put = |parts: &[&str]| parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    let mut digits = [0; 10];
    let mut years = [0; 10];
    let number = decimal(slot, &mut digits);
    match fence {
        Some(Fence::Private) => put(&["/private/", first, "-", number, ".html"]),
        Some(Fence::Open) => put(&["/private/open/", first, "-", number, ".html"]),
        Some(Fence::Print) => put(&["/news/", first, "-", number, "/print"]),
        Some(Fence::Search) => put(&["/search?q=", first, "&n=", number]),
        None => match random >> 40 & 0xff {
            0..90 => {
                put(&["/news/", decimal(year, &mut years), "/", first, "-", second, "-", number, ".html"])
            }
            90..140 => put(&["/blog/", first, "-", second, "-", number]),
            140..175 => put(&["/a?p=", decimal(month, &mut years), "&id=", number]),
            175..210 => put(&["/products/", first, "/", number, "/"]),
            210..240 => put(&["/", first, "/", second, "/", first, "-", number, ".html"]),
            240..252 => put(&["/archive/", decimal(year, &mut years), "/", number, ".html"]),
            _ => put(&["/caf%C3%A9/", first, "-", number, ".html"]),
        },
    }
}

/// The slot that a path may belong to: the caller must compare that slot's path.
pub(crate) fn candidate(path: &[u8]) -> Option<u32> {
    if path == b"/" {
        return Some(0);
    }
    if let Some(i) = NAVIGATION.iter().position(|name| name.as_bytes() == path) {
        return Some(i as u32 + 1);
    }
    let end = path.iter().rposition(u8::is_ascii_digit)? + 1;
    let start = path[..end].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1);
    std::str::from_utf8(&path[start..end]).ok()?.parse().ok()
}

/// Formats a number in decimal, without allocation.
pub(crate) fn decimal(mut n: u32, buffer: &mut [u8; 10]) -> &str {
    let mut start = buffer.len();
    loop {
        start -= 1;
        buffer[start] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            // Digits are ASCII: the default is never used.
            return std::str::from_utf8(&buffer[start..]).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_back_to_its_slot() {
        let fences = [None, Some(Fence::Private), Some(Fence::Open), Some(Fence::Print), Some(Fence::Search)];
        for slot in 0..2_000 {
            let mut path = Vec::new();
            write(&mut path, slot, Rng::new(1, 9, 3, u64::from(slot)), fences[slot as usize % 5]);
            assert_eq!(candidate(&path), Some(slot), "{}", String::from_utf8_lossy(&path));
        }
    }

    #[test]
    fn foreign_paths_have_no_slot() {
        for path in ["", "/favicon.ico", "/99999999999.html", "*", "/x"] {
            assert_eq!(candidate(path.as_bytes()), None, "{path}");
        }
        let mut buffer = [0; 10];
        assert_eq!(decimal(u32::MAX, &mut buffer), "4294967295");
    }
}
