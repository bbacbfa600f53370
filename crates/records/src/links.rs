//! The links of one page, packed: one text and one digest each, so that sixty links are a few allocations.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use lycosa_url::{BadUrl, Base, CrawlUrl, Digest, UrlRef, digest_of};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::serial::{Blob, is_default};

/// Links in the order in which they appear, each once.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The canonical URLs, each followed by a line feed, which no URL contains.
    text: String,
    /// The digest of each.
    digests: Vec<Digest>,
    /// Whether each is `nofollow`: one bit per link, least significant bit first; missing bits are 0.
    nofollow: Vec<u8>,
    details: Option<Box<Details>>,
}

/// Optional details of links: each list is empty or has one item per link; trailing empty texts and zeros may
/// be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Details {
    anchors: Vec<Box<str>>,
    rels: Vec<Box<str>>,
    contexts: Vec<Box<str>>,
    places: Vec<Box<str>>,
    priorities: Vec<i32>,
}

/// What a page says about a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkDetails<'a> {
    /// Its text.
    pub anchor: &'a str,
    /// Its attribute `rel`.
    pub rel: &'a str,
    /// The text around it.
    pub context: &'a str,
    /// The part of the page in which it is: navigation, header, content, aside or footer.
    pub place: &'a str,
}

/// One link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Where it leads.
    pub url: UrlRef<'a>,
    /// Whether it, or its page, says `nofollow`.
    pub nofollow: bool,
    /// Its details; empty texts if none are stored.
    pub details: LinkDetails<'a>,
    /// Its priority; 0 unless a stage has set it.
    pub priority: i32,
}

impl Links {
    /// The number of links.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Total length of the URLs, in bytes.
    pub fn url_bytes(&self) -> usize {
        self.text.len() - self.len()
    }

    /// Approximate memory, in bytes.
    pub fn memory(&self) -> usize {
        let texts =
            |texts: &[Box<str>]| texts.iter().map(|text| text.len() + size_of::<Box<str>>()).sum::<usize>();
        let details = self.details.as_ref().map_or(0, |details| {
            let priorities = details.priorities.capacity() * size_of::<i32>();
            let all = [&details.anchors, &details.rels, &details.contexts, &details.places];
            all.into_iter().map(|one| texts(one)).sum::<usize>() + priorities
        });
        self.text.capacity() + self.digests.capacity() * 16 + details
    }

    /// Appends a link without deduplication ([`LinksBuilder`] deduplicates).
    pub fn push<'a>(&mut self, url: impl Into<UrlRef<'a>>, nofollow: bool) {
        let url = url.into();
        self.text.push_str(url.as_str());
        self.finish(*url.digest(), nofollow);
    }

    /// Links to these URLs, each once. Links that exist already keep their details, priority and `nofollow`;
    /// `nofollow` applies to the others.
    #[must_use]
    pub fn changed<'a>(&self, urls: impl IntoIterator<Item = &'a CrawlUrl>, nofollow: bool) -> Links {
        let said: HashMap<&Digest, Link<'_>> = self.iter().map(|link| (link.url.digest(), link)).collect();
        let (mut links, mut known) = (Links::default(), HashSet::new());
        for url in urls.into_iter().filter(|url| known.insert(*url.digest())) {
            let before = said.get(url.digest());
            links.push(url, before.map_or(nofollow, |link| link.nofollow));
            links.keep(before.map_or(LinkDetails::default(), |link| link.details));
            links.keep_priority(before.map_or(0, |link| link.priority));
        }
        links
    }

    /// Sets the priority of each link; returns whether there was one for each.
    pub fn set_priorities(&mut self, priorities: Vec<i32>) -> bool {
        if priorities.len() != self.len() {
            return false;
        }
        if self.details.is_some() || priorities.iter().any(|priority| *priority != 0) {
            self.details.get_or_insert_default().priorities = priorities;
        }
        true
    }

    /// The links, in order.
    pub fn iter(&self) -> impl Iterator<Item = Link<'_>> {
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', self.text.as_bytes());
        ends.enumerate().filter_map(move |(place, end)| {
            let text = &self.text[start..end];
            start = end + 1;
            self.link(place, text)
        })
    }

    /// Whether the link at an index is `nofollow`.
    fn is_nofollow(&self, place: usize) -> bool {
        self.nofollow.get(place / 8).is_some_and(|bits| bits & 1 << (place % 8) != 0)
    }

    /// The link at an index, with its text. `None` if the text is not a URL, which only foreign encoders
    /// write.
    fn link<'a>(&'a self, place: usize, text: &'a str) -> Option<Link<'a>> {
        let url = UrlRef::of_canonical(text, self.digests.get(place)?)?;
        let of = |texts: &'a [Box<str>]| texts.get(place).map_or("", |text| &**text);
        let details = self.details.as_deref().map_or(LinkDetails::default(), |details| LinkDetails {
            anchor: of(&details.anchors),
            rel: of(&details.rels),
            context: of(&details.contexts),
            place: of(&details.places),
        });
        let priorities = self.details.as_deref().map_or(&[][..], |details| &details.priorities);
        let priority = priorities.get(place).copied().unwrap_or_default();
        Some(Link { url, nofollow: self.is_nofollow(place), details, priority })
    }

    /// Completes a link from the text after the last line feed.
    fn finish(&mut self, digest: Digest, nofollow: bool) {
        let place = self.len();
        self.text.push('\n');
        self.digests.push(digest);
        if nofollow {
            self.nofollow.resize(self.nofollow.len().max(place / 8 + 1), 0);
            self.nofollow[place / 8] |= 1 << (place % 8);
        }
    }

    /// Clears a link's `nofollow` if `nofollow` is `false`.
    fn set_nofollow(&mut self, place: usize, nofollow: bool) {
        if let Some(bits) = self.nofollow.get_mut(place / 8)
            && !nofollow
        {
            *bits &= !(1 << (place % 8));
        }
    }

    /// Stores the details of the last link.
    fn keep(&mut self, said: LinkDetails<'_>) {
        let place = self.len() - 1;
        if said == LinkDetails::default() && self.details.is_none() {
            return;
        }
        let details = self.details.get_or_insert_default();
        let texts = [
            (&mut details.anchors, said.anchor),
            (&mut details.rels, said.rel),
            (&mut details.contexts, said.context),
            (&mut details.places, said.place),
        ];
        for (texts, text) in texts {
            if !text.is_empty() || !texts.is_empty() {
                texts.resize(place, "".into());
                texts.push(text.into());
            }
        }
    }

    /// Stores the priority of the last link.
    fn keep_priority(&mut self, priority: i32) {
        let place = self.len() - 1;
        if priority != 0 {
            let priorities = &mut self.details.get_or_insert_default().priorities;
            priorities.resize(place, 0);
            priorities.push(priority);
        }
    }

    /// Builds links from their columns; `Err` has the reason why these are invalid.
    fn of_columns(columns: Columns<'_>) -> Result<Self, String> {
        let text = columns.urls;
        let count = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let (digests, rest) = columns.digests.0.as_chunks::<16>();
        if !text.is_ascii() || !(text.is_empty() || text.ends_with('\n')) {
            return Err("links: urls: each must be ASCII and end with a line feed".to_owned());
        }
        if digests.len() != count || !rest.is_empty() {
            return Err(format!(
                "links: {count} urls and {} bytes of digests, 16 each",
                columns.digests.0.len()
            ));
        }
        let Columns { anchors, rels, contexts, places, priorities, .. } = columns;
        let details = Details { anchors, rels, contexts, places, priorities };
        let texts = [&details.anchors, &details.rels, &details.contexts, &details.places].map(Vec::len);
        if columns.nofollow.0.len() > count.div_ceil(8)
            || texts.iter().chain([&details.priorities.len()]).any(|length| *length > count)
        {
            return Err("links: more details than urls".to_owned());
        }
        let details = (details != Details::default()).then(|| Box::new(details));
        let nofollow = columns.nofollow.0.into_owned();
        Ok(Links { digests: digests.to_vec(), text, nofollow, details })
    }
}

impl<'a> FromIterator<(&'a CrawlUrl, bool)> for Links {
    fn from_iter<I: IntoIterator<Item = (&'a CrawlUrl, bool)>>(links: I) -> Self {
        let mut all = Links::default();
        links.into_iter().for_each(|(url, nofollow)| all.push(url, nofollow));
        all
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The result of adding a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is a new link.
    New,
    /// The link exists already.
    Known,
    /// It would exceed the size limit of links.
    Full,
}

/// Builds the links of one page from its references, each URL once.
pub struct LinksBuilder<'b, 'r> {
    base: &'b Base<'r>,
    max_bytes: usize,
    links: Links,
    places: HashMap<Digest, u32>,
}

impl<'b, 'r> LinksBuilder<'b, 'r> {
    /// A builder for about `references` references, relative to `base`. `max_bytes`: limit of the total
    /// length of URLs.
    pub fn new(base: &'b Base<'r>, references: usize, max_bytes: usize) -> Self {
        let links = Links {
            text: String::with_capacity((references * 64).min(max_bytes)),
            digests: Vec::with_capacity(references),
            ..Links::default()
        };
        LinksBuilder { base, max_bytes, links, places: HashMap::with_capacity(references) }
    }

    /// Resolves a reference and adds the link. A link is `nofollow` only if all its mentions are; its details
    /// are those of the first mention.
    pub fn add(&mut self, reference: &str, nofollow: bool, said: LinkDetails<'_>) -> Result<Added, BadUrl> {
        let start = self.links.text.len();
        self.base.join_into(reference, &mut self.links.text)?;
        let digest = digest_of(&self.links.text[start..]);
        if let Some(place) = self.places.get(&digest) {
            self.links.set_nofollow(*place as usize, nofollow);
            self.links.text.truncate(start);
            return Ok(Added::Known);
        }
        if self.links.url_bytes() > self.max_bytes {
            self.links.text.truncate(start);
            return Ok(Added::Full);
        }
        self.places.insert(digest, u32::try_from(self.links.len()).unwrap_or(u32::MAX));
        self.links.finish(digest, nofollow);
        self.links.keep(said);
        Ok(Added::New)
    }

    /// The links.
    pub fn finish(mut self) -> Links {
        self.links.text.shrink_to_fit();
        self.links
    }
}

/// Links in binary encodings: columns, so that few copies suffice.
#[derive(serde::Deserialize)]
struct Columns<'a> {
    urls: String,
    #[serde(borrow)]
    digests: Blob<'a>,
    #[serde(borrow, default)]
    nofollow: Blob<'a>,
    #[serde(default)]
    anchors: Vec<Box<str>>,
    #[serde(default)]
    rels: Vec<Box<str>>,
    #[serde(default)]
    contexts: Vec<Box<str>>,
    #[serde(default)]
    places: Vec<Box<str>>,
    #[serde(default)]
    priorities: Vec<i32>,
}

/// One link in human-readable encodings.
#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Readable<'a> {
    url: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_default")]
    nofollow: bool,
    #[serde(skip_serializing_if = "is_default")]
    anchor: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_default")]
    rel: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_default")]
    context: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_default")]
    place: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_default")]
    priority: i32,
}

impl Serialize for Links {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter().map(|link| Readable {
                url: link.url.as_str().into(),
                nofollow: link.nofollow,
                anchor: link.details.anchor.into(),
                rel: link.details.rel.into(),
                context: link.details.context.into(),
                place: link.details.place.into(),
                priority: link.priority,
            }));
        }
        let details = self.details.as_deref();
        let columns = [
            ("anchors", details.map(|details| &details.anchors)),
            ("rels", details.map(|details| &details.rels)),
            ("contexts", details.map(|details| &details.contexts)),
            ("places", details.map(|details| &details.places)),
        ];
        let columns =
            columns.into_iter().filter_map(|(name, texts)| Some((name, texts.filter(|t| !t.is_empty())?)));
        let priorities = details.map_or(&[][..], |details| &details.priorities);
        let optional = usize::from(!self.nofollow.is_empty()) + usize::from(!priorities.is_empty());
        let length = 2 + optional + columns.clone().count();
        let mut map = serializer.serialize_map(Some(length))?;
        map.serialize_entry("urls", &self.text)?;
        map.serialize_entry("digests", &Blob(self.digests.as_flattened().into()))?;
        if !self.nofollow.is_empty() {
            map.serialize_entry("nofollow", &Blob((&self.nofollow).into()))?;
        }
        for (name, texts) in columns {
            map.serialize_entry(name, texts)?;
        }
        if !priorities.is_empty() {
            map.serialize_entry("priorities", priorities)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Links::of_columns(Columns::deserialize(deserializer)?).map_err(D::Error::custom);
        }
        let mut links = Links::default();
        for link in Vec::<Readable<'_>>::deserialize(deserializer)? {
            let url = CrawlUrl::parse(&link.url)
                .map_err(|bad| D::Error::custom(format!("links: {:?}: {bad}", link.url)))?;
            links.push(&url, link.nofollow);
            let Readable { anchor, rel, context, place, .. } = &link;
            links.keep(LinkDetails { anchor, rel, context, place });
            links.keep_priority(link.priority);
        }
        Ok(links)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    /// Links by their public interface.
    fn seen(links: &Links) -> Vec<(String, bool, [String; 4], i32)> {
        let one = |link: Link<'_>| {
            let LinkDetails { anchor, rel, context, place } = link.details;
            let texts = [anchor, rel, context, place].map(str::to_owned);
            (link.url.as_str().to_owned(), link.nofollow, texts, link.priority)
        };
        links.iter().map(one).collect()
    }

    #[test]
    fn each_url_is_there_once_and_a_mention_without_nofollow_outweighs_others() {
        let page = url("http://example.com/a/");
        let base = Base::new(&page).unwrap();
        let mut builder = LinksBuilder::new(&base, 4, 60);
        let first = LinkDetails { anchor: "first", ..LinkDetails::default() };
        assert_eq!(builder.add("b", true, first), Ok(Added::New));
        assert_eq!(builder.add("//b.example/", true, LinkDetails::default()), Ok(Added::New));
        let later = LinkDetails { anchor: "later", ..LinkDetails::default() };
        assert_eq!(builder.add("/a/b#x", false, later), Ok(Added::Known));
        assert_eq!(builder.add("mailto:x@example.com", false, later), Err(BadUrl::Scheme));
        assert_eq!(builder.add("/too/long/for/the/rest", false, later), Ok(Added::Full));
        let links = builder.finish();
        let none = || String::new();
        let expected = [
            ("http://example.com/a/b".to_owned(), false, ["first".to_owned(), none(), none(), none()], 0),
            ("http://b.example/".to_owned(), true, [none(), none(), none(), none()], 0),
        ];
        assert_eq!(seen(&links), expected);
        assert_eq!((links.len(), links.url_bytes()), (2, 22 + 17));
    }

    #[test]
    fn links_of_broken_columns_are_refused_with_the_reason() {
        let with = |urls: &str, digests: usize, nofollow: usize| {
            let digests = Blob(vec![0; digests].into());
            let (nofollow, none) = (Blob(vec![0; nofollow].into()), Vec::new);
            Links::of_columns(Columns {
                urls: urls.into(),
                digests,
                nofollow,
                anchors: none(),
                rels: none(),
                contexts: none(),
                places: none(),
                priorities: Vec::new(),
            })
        };
        assert_eq!(with("http://a/\nhttps://b:1/x?y\n", 32, 1).unwrap().len(), 2);
        for (urls, digests, nofollow, reason) in [
            ("http://a/", 16, 0, "line feed"),
            ("http://a/\n", 15, 0, "digests"),
            ("http://a/\n", 32, 0, "digests"),
            ("http://\u{e9}/\n", 16, 0, "ASCII"),
            ("http://a/\n", 16, 2, "more details"),
        ] {
            let error = with(urls, digests, nofollow).unwrap_err();
            assert!(error.contains(reason), "{urls:?}: {error}");
        }
        assert_eq!(
            with("http://a\nhttp://a:0/\nhttp://b/\n", 48, 0).unwrap().iter().count(),
            1,
            "texts of no URL"
        );
    }

    proptest! {
        #[test]
        fn links_come_back_from_both_encodings(
            all in proptest::collection::vec(("https?://[a-z]{1,9}(:[1-9][0-9]{0,3})?/[a-z/]{0,9}", any::<bool>(), ["[a-z ]{0,3}", "[a-z]{0,2}", ".{0,2}", "[a-z]{0,2}"], -2i32..3), 0..20),
        ) {
            let mut links = Links::default();
            for (text, nofollow, [anchor, rel, context, place], priority) in &all {
                links.push(&url(text), *nofollow);
                links.keep(LinkDetails { anchor, rel, context, place });
                links.keep_priority(*priority);
            }
            prop_assert_eq!(seen(&links).len(), all.len());
            let packed = rmp_serde::to_vec_named(&links).unwrap();
            let unpacked: Links = rmp_serde::from_slice(&packed).unwrap();
            prop_assert_eq!(seen(&unpacked), seen(&links));
            let text = serde_json::to_string(&links).unwrap();
            prop_assert_eq!(seen(&serde_json::from_str(&text).unwrap()), seen(&links));
            for (place, link) in links.iter().enumerate() {
                prop_assert_eq!(*link.url.digest(), *url(&all[place].0).digest());
            }
        }
    }

    #[test]
    fn what_is_said_of_links_that_stay_is_kept() {
        let url = |path: &str| CrawlUrl::parse(&format!("http://a.example/{path}")).unwrap();
        let [one, two, new] = ["1", "2", "new"].map(url);
        let mut links = Links::default();
        links.push(&one, true);
        links.keep(LinkDetails { anchor: "One", ..LinkDetails::default() });
        links.push(&two, false);
        assert!(links.set_priorities(vec![0, 7]) && !links.set_priorities(vec![1]), "one for each");
        let changed = links.changed([&two, &one, &new, &one], true);
        let said = |link: Link<'_>| {
            (link.url.to_owned(), link.nofollow, link.details.anchor.to_owned(), link.priority)
        };
        let said: Vec<_> = changed.iter().map(said).collect();
        let expected = [(two, false, "".into(), 7), (one, true, "One".into(), 0), (new, true, "".into(), 0)];
        assert_eq!(said, expected);
    }
}
