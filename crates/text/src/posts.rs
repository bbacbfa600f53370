//! What people have written on a page, as the page states it: posts, questions, answers, comments and reviews, each with its author and day.
//!
//! By JSON-LD, and by microdata where there is none. Guarantees: at most [`MOST`] posts and [`MOST_BYTES`] of text; malformed JSON-LD
//! counts as none.

use lycosa_dom::{NONE, NodeId, Tag, Tree};
use serde_json::{Map, Value};

use crate::blocks::is_left_out;
use crate::data;
use crate::dates;
use crate::metadata::{author_name, text_of};

/// Posts of a page, at most.
pub const MOST: usize = 1_000;

/// Bytes of their texts, at most, and of JSON-LD that is read.
pub const MOST_BYTES: usize = 4 << 20;

/// Objects within each other that are followed.
const DEPTH: usize = 16;

/// Types of what people write, with their names here.
const TYPES: [(&str, &str); 9] = [
    ("DiscussionForumPosting", "post"),
    ("SocialMediaPosting", "post"),
    ("Question", "question"),
    ("Answer", "answer"),
    ("Comment", "comment"),
    ("UserComments", "comment"),
    ("Review", "review"),
    ("UserReview", "review"),
    ("EmployerReview", "review"),
];

/// What somebody has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// `post`, `question`, `answer`, `comment` or `review`.
    pub kind: &'static str,
    /// Who has; empty: not stated.
    pub author: String,
    /// When, as an ISO 8601 day; empty: not stated.
    pub date: String,
    /// The text, without HTML.
    pub text: String,
}

/// Returns the posts of a page, in its order.
pub fn posts(tree: &Tree) -> Vec<Post> {
    let mut found = Found { posts: Vec::new(), left: MOST_BYTES };
    let mut node = tree.first(Tree::ROOT);
    let mut read = 0;
    while node != NONE {
        for text in data::texts(tree, node) {
            read += text.len();
            if read <= MOST_BYTES
                && let Some(value) = data::parsed(text)
            {
                found.value(&value, DEPTH);
            }
        }
        node = tree.following(node);
    }
    if found.posts.is_empty() {
        found.microdata(tree);
    }
    found.posts
}

/// What was found, and how many bytes more may be.
struct Found {
    posts: Vec<Post>,
    left: usize,
}

impl Found {
    /// Looks at a value of JSON-LD, and at all in it.
    fn value(&mut self, value: &Value, depth: usize) {
        if depth == 0 {
            return;
        }
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.value(value, depth - 1)),
            Value::Object(object) => {
                if let Some(kind) = kind_of(object.get("@type")) {
                    self.object(kind, object);
                }
                for (_, inner) in
                    object.iter().filter(|(name, _)| !matches!(name.as_str(), "author" | "publisher"))
                {
                    self.value(inner, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Takes a post of JSON-LD.
    fn object(&mut self, kind: &'static str, object: &Map<String, Value>) {
        let text = |names: &[&str]| names.iter().find_map(|name| object.get(*name).and_then(Value::as_str));
        let author = match object.get("author") {
            Some(Value::Array(authors)) => authors.first(),
            author => author,
        };
        let author =
            author.and_then(|author| author.get("name").unwrap_or(author).as_str()).unwrap_or_default();
        let body =
            text(&["text", "articleBody", "reviewBody", "commentText", "description"]).unwrap_or_default();
        let date = text(&["datePublished", "dateCreated", "uploadDate"]).unwrap_or_default();
        self.add(kind, author, date, &data::plain(body));
    }

    /// Looks for elements with an `itemtype`.
    fn microdata(&mut self, tree: &Tree) {
        let mut node = tree.first(Tree::ROOT);
        while node != NONE {
            if let Some(kind) = tree.attribute(node, "itemtype").and_then(kind_of_name) {
                self.item(tree, node, kind);
            }
            node = tree.following(node);
        }
    }

    /// Takes a post of microdata: of an item in it nothing.
    fn item(&mut self, tree: &Tree, item: NodeId, kind: &'static str) {
        let (mut author, mut date, mut text) = (String::new(), String::new(), String::new());
        let end = tree.after(item);
        let mut node = tree.first(item);
        while node != NONE && node != end {
            let property = tree.attribute(node, "itemprop").unwrap_or_default();
            let stated = || tree.attribute(node, "content").or_else(|| tree.attribute(node, "datetime"));
            match property {
                "author" | "creator" if author.is_empty() => author = text_of(tree, node),
                "datePublished" | "dateCreated" if date.is_empty() => {
                    date = stated().map_or_else(|| text_of(tree, node), str::to_owned);
                }
                "text" | "commentText" | "reviewBody" | "articleBody" if text.is_empty() => {
                    text = whole_text(tree, node, self.left);
                }
                _ => {}
            }
            // An item that is a post is one of its own, whoever's property it is.
            let is_other = tree
                .attribute(node, "itemtype")
                .is_some_and(|kind| property != "author" || kind_of_name(kind).is_some());
            node = if is_other { tree.after(node) } else { tree.following(node) };
        }
        self.add(kind, &author, &date, &text);
    }

    /// Adds a post, if it has a text and there is room.
    fn add(&mut self, kind: &'static str, author: &str, date: &str, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text.len() > self.left || self.posts.len() >= MOST {
            return;
        }
        self.left -= text.len();
        let date = dates::find(date).map_or_else(String::new, |day| day.to_string());
        self.posts.push(Post { kind, author: author_name(author), date, text });
    }
}

/// What an object of a type is.
fn kind_of(value: Option<&Value>) -> Option<&'static str> {
    let name = match value? {
        Value::String(name) => name,
        Value::Array(names) => names.first()?.as_str()?,
        _ => return None,
    };
    kind_of_name(name)
}

/// The same, of its name.
fn kind_of_name(name: &str) -> Option<&'static str> {
    let name = name.rsplit(['/', ':']).next()?;
    TYPES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The text in an element, of at most so many bytes.
fn whole_text(tree: &Tree, element: NodeId, most: usize) -> String {
    let (mut text, end) = (String::new(), tree.after(element));
    let (mut node, mut ends) = (tree.first(element), Vec::new());
    while node != NONE && node != end {
        let tag = tree.tag(node);
        match tree.text(node) {
            Some(part) if text.len() + part.len() <= most => text.push_str(part),
            Some(_) => break,
            None if is_left_out(tree, node) => {
                node = tree.after(node);
                continue;
            }
            None if tag.is_block() || tag == Tag::Br => {
                text.push(' ');
                ends.push(tree.after(node));
            }
            None => {}
        }
        node = tree.following(node);
        while ends.pop_if(|end| *end == node).is_some() {
            text.push(' ');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};
    use proptest::prelude::*;

    use super::*;

    fn of(html: &str) -> Vec<Post> {
        posts(&parse(html, &Limits::default()))
    }

    #[test]
    fn linked_data_has_posts_and_what_is_said_to_them() {
        let html = r#"<script type="application/ld+json">{"@type": "QAPage", "mainEntity": {"@type": "Question", "name": "Why?",
            "text": "<p>Why do cats &amp; dogs sleep?</p>", "author": {"@type": "Person", "name": "Ann"}, "dateCreated": "2024-05-13T10:00:00Z",
            "acceptedAnswer": {"@type": "Answer", "text": "They are tired.", "author": [{"name": "Bo"}]}}}</script>"#;
        let found = of(html);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].kind, &*found[0].author, &*found[0].date), ("question", "Ann", "2024-05-13"));
        assert_eq!(found[0].text, "Why do cats & dogs sleep?");
        assert_eq!((found[1].kind, &*found[1].author, &*found[1].text), ("answer", "Bo", "They are tired."));
    }

    #[test]
    fn a_post_has_the_text_that_is_seen() {
        let html = "<div itemscope itemtype=http://schema.org/Comment><div itemprop=text>un<b>believ</b>able<script>var x</script>\
            <select><option>nine</select><p>one</p>two<br>three</div></div>";
        assert_eq!(of(html)[0].text, "unbelievable one two three");
    }

    #[test]
    fn microdata_has_them_where_there_is_no_linked_data() {
        let html = "<div itemscope itemtype='http://schema.org/Comment'><a itemprop=author>Ann</a> <time itemprop=datePublished \
            datetime=2024-05-13>May</time><div itemprop=text>I like <b>it</b>.</div></div>";
        let post = Post {
            kind: "comment",
            author: "Ann".into(),
            date: "2024-05-13".into(),
            text: "I like it.".into(),
        };
        assert_eq!(of(html), [post]);
        assert_eq!(of("<p>No posts."), []);
    }

    proptest! {
        #[test]
        fn any_page_has_posts_or_none(html in "(<script type=application/ld\\+json>|</script>|\\{\"@type\":\"Comment\",\"text\":\"a\"\\}|<div itemtype=Review>|<p itemprop=text>|[a-z<>\"{}\\[\\]]{0,5}){0,20}") {
            prop_assert!(of(&html).len() <= MOST);
        }
    }
}
