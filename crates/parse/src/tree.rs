//! Extracts links and metadata of the head from a page's tree, where one is built: for its text, or for what is around its links.

use lycosa_dom::{NONE, NodeId, Tag, Tree};
use lycosa_url::Bound;

use crate::found::{
    Attributes, Found, boundary, on_anchor, on_base, on_form, on_frame, on_image, on_link, on_meta,
};
use crate::settings::{Settings, Source};

/// Bytes of text before a link that are stored, and after it.
const CONTEXT: usize = 200;

/// Links of a block that get the text behind them, at most: those that are still near.
const LINKS: usize = 64;

/// An element of a tree.
struct Element<'a> {
    tree: &'a Tree,
    node: NodeId,
}

impl Attributes for Element<'_> {
    fn value(&self, name: &str) -> Option<String> {
        self.tree.attribute(self.node, name).map(str::to_owned)
    }
}

/// Looks at all elements, in the order of the page.
pub(crate) fn collect(tree: &Tree, settings: &Settings) -> Found {
    let mut reader =
        Reader { tree, settings, found: Found::default(), around: Around::default(), end_of_svg: None };
    if tree.is_cut() {
        reader.found.bounds.add(Bound::ParseMemory);
    }
    let (mut end_of_link, mut parts) = ((NONE, NONE), Vec::new());
    let mut node = tree.first(Tree::ROOT);
    while node != NONE {
        if node == end_of_link.0 || node >= end_of_link.1 {
            reader.found.in_anchor = None;
        }
        if reader.end_of_svg == Some(node) {
            reader.end_of_svg = None;
        }
        if settings.contexts {
            reader.around.arrive(node);
        }
        if settings.places {
            reader.enter(node, &mut parts);
        }
        match tree.text(node) {
            // Of what is read as text whatever it looks like none is shown, in SVG neither.
            Some(_) if is_source(tree.tag(tree.parent(node))) => {}
            Some(text) => reader.text(text),
            None => reader.element(node, &mut end_of_link),
        }
        node = tree.following(node);
    }
    reader.found
}

/// A walk through a page.
struct Reader<'a> {
    tree: &'a Tree,
    settings: &'a Settings,
    found: Found,
    around: Around,
    /// The node behind the drawing that is read; [`NONE`]: it is the last.
    end_of_svg: Option<NodeId>,
}

impl Reader<'_> {
    /// Notes in which part of the page a node is. parts: those around it, and where each ends.
    fn enter(&mut self, node: NodeId, parts: &mut Vec<(NodeId, &'static str)>) {
        while parts.last().is_some_and(|(end, _)| *end == node) {
            parts.pop();
        }
        if let Some(place) = place_of(self.tree, node) {
            parts.push((self.tree.after(node), place));
        }
        self.found.place = parts.last().map_or("", |(_, place)| place);
    }

    /// A text.
    fn text(&mut self, text: &str) {
        if self.settings.anchors && self.found.in_anchor.is_some() {
            self.found.push_anchor(text, self.settings);
        }
        if self.settings.contexts {
            self.around.text(text, &mut self.found, self.settings);
        }
    }

    /// An element.
    fn element(&mut self, node: NodeId, end_of_link: &mut (NodeId, NodeId)) {
        let (tree, settings) = (self.tree, self.settings);
        let (element, count) = (Element { tree, node }, self.found.count());
        let has = |name: &str| tree.attribute(node, name).is_some();
        let tag = tree.tag(node);
        if settings.contexts && tag.is_block() {
            self.around.block(tree.after(node));
        }
        let found = &mut self.found;
        match tag {
            Tag::A if settings.links > 0 && has("href") => {
                on_anchor(found, &element, settings);
                *end_of_link = (tree.after(node), tree.end(node));
            }
            Tag::Area if has("href") => on_frame(found, &element, settings),
            Tag::Frame | Tag::Iframe if has("src") && settings.sources.has(Source::Frames) => {
                on_frame(found, &element, settings);
            }
            Tag::Img | Tag::Source | Tag::Video if settings.sources.has(Source::Images) => {
                let parent = tree.tag(tree.parent(node));
                let is_media = tag == Tag::Video || matches!(parent, Tag::Video | Tag::Audio);
                on_image(found, &element, is_media, settings);
            }
            Tag::Form if settings.sources.has(Source::Forms) => on_form(found, &element, settings),
            Tag::Link => on_link(found, &element, settings),
            Tag::Base if has("href") => on_base(found, &element, settings),
            Tag::Meta if has("name") || is_refresh(tree, node) => on_meta(found, &element, settings),
            // Titles of drawings are their own.
            Tag::Svg if self.end_of_svg.is_none() => self.end_of_svg = Some(tree.after(node)),
            Tag::Title if !found.title_done && self.end_of_svg.is_none() => {
                for text in tree.children(node).filter_map(|child| tree.text(child)) {
                    found.push_title(text, settings);
                }
                found.title_done = true;
            }
            _ => {}
        }
        if settings.contexts && tag == Tag::A && self.found.count() > count {
            self.around.link(count, &mut self.found, settings);
        }
    }
}

/// The text of the block that is read, and the links in it that still get some of it.
#[derive(Default)]
struct Around {
    /// Where blocks end: the innermost one last.
    ends: Vec<NodeId>,
    /// The last text of the block.
    before: String,
    /// Links, and how many bytes each still gets.
    links: Vec<(usize, usize)>,
}

impl Around {
    /// A node comes: blocks may have ended before it.
    fn arrive(&mut self, node: NodeId) {
        let depth = self.ends.len();
        while self.ends.last() == Some(&node) {
            self.ends.pop();
        }
        if self.ends.len() < depth {
            self.clear();
        }
    }

    /// A block begins.
    fn block(&mut self, end: NodeId) {
        self.ends.push(end);
        self.clear();
    }

    /// The next text is of another block.
    fn clear(&mut self) {
        self.before.clear();
        self.links.clear();
    }

    /// A link begins.
    fn link(&mut self, link: usize, found: &mut Found, settings: &Settings) {
        let start = boundary(&self.before, self.before.len().saturating_sub(CONTEXT));
        found.push_context(link, &self.before[start..], settings);
        if self.links.len() < LINKS {
            self.links.push((link, CONTEXT));
        }
    }

    /// A text, of which white space is collapsed.
    fn text(&mut self, text: &str, found: &mut Found, settings: &Settings) {
        let start = self.before.len();
        for c in text.chars() {
            if !c.is_whitespace() {
                self.before.push(c);
            } else if !self.before.is_empty() && !self.before.ends_with(' ') {
                self.before.push(' ');
            }
        }
        let added = &self.before[start..];
        // Texts of white space alone may be many.
        if added.is_empty() {
            return;
        }
        self.links.retain_mut(|(link, left)| {
            let some = &added[..boundary(added, *left)];
            found.push_context(*link, some, settings);
            *left = left.saturating_sub(added.len());
            *left > 0
        });
        if self.before.len() > 16 * CONTEXT {
            let start = boundary(&self.before, self.before.len() - CONTEXT);
            self.before.drain(..start);
        }
    }
}

/// The part of a page that an element is, by its name or its role (ARIA).
fn place_of(tree: &Tree, node: NodeId) -> Option<&'static str> {
    match tree.tag(node) {
        Tag::Nav => return Some("navigation"),
        Tag::Main | Tag::Article => return Some("content"),
        Tag::Aside => return Some("aside"),
        Tag::Footer => return Some("footer"),
        Tag::Header => return Some("header"),
        _ => {}
    }
    match tree.attribute(node, "role")? {
        "navigation" | "menu" | "menubar" => Some("navigation"),
        "main" | "article" => Some("content"),
        "complementary" => Some("aside"),
        "contentinfo" => Some("footer"),
        "banner" => Some("header"),
        _ => None,
    }
}

/// Whether a `meta` element sends a browser elsewhere.
fn is_refresh(tree: &Tree, node: NodeId) -> bool {
    tree.attribute(node, "http-equiv").is_some_and(|is| is.eq_ignore_ascii_case("refresh"))
}

/// Whether the text of an element is a source or a value, which no browser shows as text.
fn is_source(tag: Tag) -> bool {
    matches!(tag, Tag::Script | Tag::Style | Tag::Template | Tag::Textarea | Tag::Title)
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};
    use lycosa_records::Outcome;
    use lycosa_url::{CrawlUrl, Failure, FailureKind};

    use super::*;
    use crate::found::finish;
    use crate::settings::Sources;

    /// The links of a page: URL without its host, context and place.
    fn links(html: &str, settings: &Settings) -> Vec<(String, String, String)> {
        let (url, failure) =
            (CrawlUrl::parse("http://a.example/").unwrap(), Failure::new(FailureKind::Timeout, ""));
        let mut outcome = Outcome::settled(url, 0, Vec::new(), 0, failure);
        finish(collect(&parse(html, &Limits::default()), settings), &mut outcome, settings);
        let all = outcome.links.iter().map(|link| {
            let path = link.url.as_str().trim_start_matches("http://a.example").to_owned();
            (path, link.details.context.to_owned(), link.details.place.to_owned())
        });
        all.collect()
    }

    #[test]
    fn links_have_the_text_and_the_part_of_the_page_around_them() {
        let settings = Settings { contexts: true, places: true, ..Settings::default() };
        let html = "<nav><a href=/1>Home</a></nav><main><p>Before. See  <a href=/2>the <b>other</b></a>\n page.<p>Not this. \
            <aside><a href=/3>x</a></aside></main><div role=contentinfo>of <a href=/4>us</a></div><a href=/5></a>";
        let expected = [
            ("/1", "Home", "navigation"),
            ("/2", "Before. See the other page.", "content"),
            ("/3", "x", "aside"),
            ("/4", "of us", "footer"),
            ("/5", "", ""),
        ];
        let found = links(html, &settings);
        assert_eq!(found, expected.map(|(path, context, place)| (path.into(), context.into(), place.into())));
    }

    #[test]
    fn what_is_around_a_link_is_limited() {
        let settings = Settings { contexts: true, ..Settings::default() };
        let long = "日本".repeat(400);
        let found = links(&format!("<p>{long}<a href=/1>x</a>{long}"), &settings);
        assert!(found[0].1.len() <= 2 * CONTEXT && found[0].1.contains('x'), "{}", found[0].1);
    }

    #[test]
    fn an_image_does_not_end_the_text_of_its_link() {
        let sources = Sources::named(["images"]);
        let settings = Settings { anchors: true, sources, ..Settings::default() };
        let (url, failure) =
            (CrawlUrl::parse("http://a.example/").unwrap(), Failure::new(FailureKind::Timeout, ""));
        let mut outcome = Outcome::settled(url, 0, Vec::new(), 0, failure);
        let tree = parse("<a href=/1><img src=/2> Text</a>", &Limits::default());
        finish(collect(&tree, &settings), &mut outcome, &settings);
        let anchors: Vec<_> = outcome.links.iter().map(|link| link.details.anchor.to_owned()).collect();
        assert_eq!(anchors, ["Text", ""]);
    }

    #[test]
    fn sources_of_scripts_are_not_around_links() {
        let settings = Settings { contexts: true, ..Settings::default() };
        let html = "<div>Before<script>no()</script> <a href=/1>x<svg><style>.a{}</style><title>no</title></svg></a> after</div>";
        assert_eq!(links(html, &settings)[0].1, "Before x after");
    }

    #[test]
    fn titles_of_drawings_are_not_the_pages() {
        let titles = "<title>".repeat(100_000);
        let found = collect(&parse(&format!("<svg>{titles}"), &Limits::default()), &Settings::default());
        assert!(!found.title_done);
    }

    #[test]
    fn images_feeds_and_forms_are_links_by_choice() {
        let html = "<link rel=alternate type='application/rss+xml' href=/feed><iframe src=/frame></iframe>\
            <img src=/a.jpg data-src=/b.jpg srcset='/c.jpg 1x, /d.jpg 2x'><img src='data:image/gif;base64,R0'>\
            <form action=/search></form><form method=post action=/send></form><video poster=/e.jpg></video>";
        let paths = |names: &[&str]| -> Vec<String> {
            let sources = Sources::named(names.iter().copied());
            links(html, &Settings { sources, ..Settings::default() }).into_iter().map(|link| link.0).collect()
        };
        assert_eq!(paths(&["frames"]), ["/frame"]);
        assert_eq!(paths(&["feeds", "forms"]), ["/feed", "/search"]);
        assert_eq!(paths(&["images"]), ["/a.jpg", "/b.jpg", "/c.jpg", "/d.jpg", "/e.jpg"]);
        let media = "<video src=/a.mp4><source src=/b.mp4></video><audio><source src=/c.mp3></audio><picture><source srcset=/d.jpg></picture>";
        let settings = Settings { sources: Sources::named(["images"]), ..Settings::default() };
        assert_eq!(links(media, &settings).into_iter().map(|link| link.0).collect::<Vec<_>>(), ["/d.jpg"]);
        assert!(paths(&[]).is_empty());
    }
}
