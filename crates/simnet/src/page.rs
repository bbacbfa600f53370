//! Renders a page: head, navigation, text with links, a list of related pages. Takes microseconds per page and no allocation per link.

use crate::packed::Mark;
use crate::path::decimal;
use crate::ports::Ports;
use crate::text::{Text, plain_word};
use crate::trap;
use crate::world::{Layout, Link, Place, World};

/// Approximate size of head, navigation and foot in bytes.
const FRAME: u32 = 1_400;

/// Approximate size of a link in bytes.
const LINK: u32 = 72;

/// Minimum of text on a page in bytes, for any number of links.
const LEAST_TEXT: u32 = 1_300;

/// Appends the HTML of a page.
pub(crate) fn render(world: &World, ports: &Ports, host: u32, slot: u32, out: &mut Vec<u8>) {
    render_marked(world, ports, host, slot, None, out);
}

/// [`render`] that also records the positions of text fragments in `out` in `marks`.
pub(crate) fn render_marked(
    world: &World,
    ports: &Ports,
    host: u32,
    slot: u32,
    marks: Option<&mut Vec<Mark>>,
    out: &mut Vec<u8>,
) {
    let layout = world.layout(host, slot);
    let mut page = Page::new(world, ports, host, slot, layout, out);
    page.marks = marks;
    page.head(slot, &layout);
    world.links_of(host, slot, layout.bytes, |link| page.link(&link));
    page.foot();
}

/// A page being rendered.
struct Page<'a> {
    /// The simulated world.
    world: &'a World,
    /// Schemes and ports of URLs.
    ports: &'a Ports,
    /// The page's host.
    host: u32,
    /// The page's own slot.
    slot: u32,
    /// The page's own path.
    path: Vec<u8>,
    /// Length of the path's directory, the base of relative links: up to the last `/` of the path, or of the base.
    directory: usize,
    /// Whether the page carries `<base href>` of its host's root.
    based: bool,
    /// Buffer for a link's path before it is escaped.
    scratch: Vec<u8>,
    /// The part being written.
    place: Place,
    /// Bytes of text still to be written.
    text_left: u32,
    /// Bytes of text before each link.
    text_step: u32,
    /// The next fragment.
    fragment: u32,
    /// Links written in this part.
    written: u32,
    /// Positions of fragments, if the caller wants them.
    marks: Option<&'a mut Vec<Mark>>,
    /// The HTML so far.
    out: &'a mut Vec<u8>,
}

impl<'a> Page<'a> {
    /// Prepares a page.
    fn new(
        world: &'a World,
        ports: &'a Ports,
        host: u32,
        slot: u32,
        layout: Layout,
        out: &'a mut Vec<u8>,
    ) -> Self {
        let mut path = Vec::with_capacity(96);
        world.write_path(&mut path, host, slot);
        let based = layout.look.is_multiple_of(20);
        let file = path.iter().position(|&b| b == b'?').unwrap_or(path.len());
        let directory =
            if based { 1 } else { path[..file].iter().rposition(|&b| b == b'/').map_or(0, |i| i + 1) };
        let links = (layout.bytes / 480).clamp(4, 200) + 6;
        let text_left = layout.bytes.saturating_sub(FRAME + links * LINK).max(LEAST_TEXT);
        Self {
            world,
            ports,
            host,
            slot,
            path,
            directory,
            based,
            scratch: Vec::with_capacity(96),
            place: Place::Navigation,
            text_left,
            text_step: text_left / (links / 2 + 1),
            fragment: (layout.look >> 32) as u32,
            written: 0,
            marks: None,
            out,
        }
    }

    /// Writes everything up to the first navigation link.
    fn head(&mut self, slot: u32, layout: &Layout) {
        let look = layout.look;
        self.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
        self.put(if look >> 8 & 3 == 0 {
            "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\">\n"
        } else {
            "<meta charset=\"utf-8\">\n"
        });
        self.put("<title>");
        self.title(slot, look);
        self.put("</title>\n<meta name=\"description\" content=\"");
        self.title(slot, look >> 4);
        self.put("\">\n");
        if self.based {
            self.put("<base href=\"");
            self.origin(self.host);
            self.put("/\">\n");
        }
        if look >> 12 & 3 == 0 {
            self.put("<link rel=\"canonical\" href=\"");
            self.origin(self.host);
            let path = std::mem::take(&mut self.path);
            self.escaped(&path);
            self.path = path;
            self.put("\">\n");
        }
        if layout.nofollow {
            self.put("<meta name=\"robots\" content=\"index, nofollow\">\n");
        }
        self.put(
            "<style>body{font:16px/1.5 serif;margin:0 auto;max-width:50em}nav li{display:inline}</style>\n",
        );
        self.put("</head>\n<body>\n<header><p class=\"site\">");
        self.put(self.world.name(self.host));
        self.put("</p>\n<nav><ul>\n");
    }

    /// Writes a link and what precedes it.
    fn link(&mut self, link: &Link) {
        if link.place != self.place {
            self.part(link.place);
        }
        match link.place {
            Place::Text => {
                if self.written > 0 && self.written.is_multiple_of(4) {
                    self.put("</p>\n<p>");
                }
                self.text(self.text_left.saturating_sub(self.text_step));
            }
            Place::Navigation | Place::List => self.put("<li>"),
        }
        self.anchor(link);
        self.put(if link.place == Place::Text { " " } else { "</li>\n" });
        self.written += 1;
    }

    /// Closes the current part and opens the next.
    fn part(&mut self, next: Place) {
        if self.place == Place::Navigation {
            self.put("</ul></nav></header>\n<main><article>\n<h1>");
            self.put(plain_word(self.fragment >> 3));
            self.put(" ");
            self.put(plain_word(self.fragment >> 11));
            self.put("</h1>\n<p>");
        }
        if next == Place::List {
            self.text(0);
            self.put("</p>\n</article>\n<aside><h2>Related</h2><ul>\n");
        }
        self.place = next;
        self.written = 0;
    }

    /// Writes the end of the page.
    fn foot(&mut self) {
        if self.place != Place::List {
            self.part(Place::List);
        }
        self.put("</ul>");
        trap::entrances(self.world, self.ports, self.host, self.slot, self.out);
        self.put("</aside></main>\n<footer><p>");
        self.put(self.world.name(self.host));
        self.put("</p></footer>\n</body>\n</html>\n");
    }

    /// Writes fragments of text until `left` bytes remain.
    fn text(&mut self, left: u32) {
        while self.text_left > left {
            if let Some(marks) = &mut self.marks {
                marks.push((self.out.len() as u32, Text::index(self.fragment)));
            }
            let fragment = self.world.text.fragment(self.fragment);
            self.fragment = self.fragment.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15).rotate_left(7);
            self.text_left = self.text_left.saturating_sub(fragment.len() as u32);
            self.out.extend_from_slice(fragment.as_bytes());
        }
    }

    /// Writes a link's element, in one of several common notations.
    fn anchor(&mut self, link: &Link) {
        let look = link.look;
        let (open, close) = match look & 31 {
            0 => ("<A HREF=\"", "\""),
            1 => ("<a class=more href='", "'"),
            2 => ("<a title=\"\" href=\" ", " \""),
            _ => ("<a href=\"", "\""),
        };
        self.put(open);
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        self.world.write_path(&mut path, link.host, link.slot);
        match look >> 5 & 15 {
            // Scheme-relative.
            0 if link.host != self.host && self.shares_scheme(link.host) => {
                self.put("//");
                self.authority(link.host);
                self.escaped(&path);
            }
            _ if link.host != self.host => {
                self.origin(link.host);
                self.escaped(&path);
            }
            0..2 => {
                self.origin(link.host);
                self.escaped(&path);
            }
            2..9 => self.escaped(&path),
            _ => self.relative(&path),
        }
        self.scratch = path;
        if look >> 9 & 15 == 0 {
            self.put("#part-");
            self.put(decimal(look >> 13 & 7, &mut [0; 10]));
        }
        self.put(close);
        self.put(if link.follow { ">" } else { " rel=\"nofollow\">" });
        self.put(plain_word(look >> 16 & 0xff));
        self.put(" ");
        self.put(plain_word(look >> 22));
        self.put("</a>");
    }

    /// Writes a path relative to the page's directory or base.
    fn relative(&mut self, target: &[u8]) {
        let directory = &self.path[..self.directory];
        if let Some(rest) = target.strip_prefix(directory) {
            return if rest.is_empty() { self.put("./") } else { self.escaped(rest) };
        }
        for _ in 1..directory.iter().filter(|&&b| b == b'/').count() {
            self.put("../");
        }
        self.escaped(&target[1..]);
    }

    /// Writes a path in HTML: `&` is its only character that needs escaping.
    fn escaped(&mut self, path: &[u8]) {
        let mut parts = path.split(|&b| b == b'&');
        self.out.extend_from_slice(parts.next().unwrap_or_default());
        for part in parts {
            self.put("&amp;");
            self.out.extend_from_slice(part);
        }
    }

    /// Writes two words and the slot's number.
    fn title(&mut self, slot: u32, look: u64) {
        self.put(plain_word((look >> 16) as u32 & 0xffff));
        self.put(" ");
        self.put(plain_word((look >> 40) as u32));
        self.put(" ");
        self.put(decimal(slot, &mut [0; 10]));
    }

    /// Writes scheme and authority of a host.
    fn origin(&mut self, host: u32) {
        self.put(self.ports.around(self.world, host).0);
        self.authority(host);
    }

    /// Whether a host has the page's scheme.
    fn shares_scheme(&self, host: u32) -> bool {
        self.world.is_https(host) == self.world.is_https(self.host)
    }

    /// Writes name and port of a host.
    fn authority(&mut self, host: u32) {
        self.put(self.world.name(host));
        self.put(self.ports.around(self.world, host).1);
    }

    /// Appends text.
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    /// Ports other than the defaults.
    fn ports() -> Ports {
        Ports::new(8080, 8443)
    }

    /// A page's HTML.
    fn html(world: &World, host: u32, slot: u32) -> String {
        let mut out = Vec::new();
        render(world, &ports(), host, slot, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Resolves a reference from HTML against a page's URL; implements the part of RFC 3986 that pages here use.
    fn resolve(base: &str, reference: &str) -> String {
        let reference = reference.trim().replace("&amp;", "&");
        let reference = reference.split('#').next().unwrap();
        let path_start = base[8..].find('/').unwrap() + 8;
        if reference.starts_with("http://") || reference.starts_with("https://") {
            return reference.to_owned();
        } else if reference.starts_with("//") {
            return format!("{}{reference}", base.split("//").next().unwrap());
        } else if reference.starts_with('/') {
            return format!("{}{reference}", &base[..path_start]);
        }
        let file = base.split('?').next().unwrap();
        let mut directory = file[..=file.rfind('/').unwrap()].to_owned();
        let mut rest = reference;
        loop {
            if let Some(r) = rest.strip_prefix("../") {
                directory.pop();
                directory.truncate(directory.rfind('/').unwrap() + 1);
                rest = r;
            } else if let Some(r) = rest.strip_prefix("./") {
                rest = r;
            } else {
                return directory + rest;
            }
        }
    }

    #[test]
    fn the_links_written_are_the_links_of_the_model() {
        let world = World::new(&Params { hosts: 40, pages: 60, seed: 3, https: 0.5, ..Params::default() });
        let url = |host, slot| ports().url(&world, host, &world.path(host, slot));
        for host in 0..40 {
            for slot in 0..world.pages(host) {
                let html = html(&world, host, slot);
                let based = html.split("<base href=\"").nth(1).map(|rest| rest.split('"').next().unwrap());
                let base = based.map_or_else(|| url(host, slot), str::to_owned);
                let body = html.split("<body>").nth(1).unwrap();
                let mut expected = Vec::new();
                world.links(host, slot, |link| expected.push((url(link.host, link.slot), link.follow)));
                let written: Vec<_> = body
                    .replace("HREF=", "href=")
                    .split("href=")
                    .skip(1)
                    .map(|rest| {
                        let quote = &rest[..1];
                        let tag = rest.split('>').next().unwrap();
                        (resolve(&base, rest[1..].split(quote).next().unwrap()), !tag.contains("nofollow"))
                    })
                    .collect();
                assert_eq!(written, expected, "{}", url(host, slot));
                assert_eq!(html.contains("content=\"index, nofollow\""), world.layout(host, slot).nofollow);
            }
        }
    }

    #[test]
    fn sizes_are_as_drawn() {
        let world = World::new(&Params { hosts: 50, pages: 40, seed: 4, ..Params::default() });
        let (mut total, mut pages) = (0, 0);
        for host in 0..50 {
            for slot in 0..world.pages(host) {
                let bytes = html(&world, host, slot).len();
                assert!((1_900..310_000).contains(&bytes), "{bytes}");
                total += bytes;
                pages += 1;
            }
        }
        assert!((24_000..30_000).contains(&(total / pages)), "{}", total / pages);
    }

    #[test]
    fn one_seed_means_the_same_bytes() {
        let params = Params { hosts: 30, pages: 20, seed: 9, ..Params::default() };
        let (one, two) = (World::new(&params), World::new(&params));
        let other = World::new(&Params { seed: 10, ..params });
        for host in 0..30 {
            assert_eq!(html(&one, host, 0), html(&two, host, 0));
            assert_ne!(html(&one, host, 0), html(&other, host, 0));
        }
    }
}
