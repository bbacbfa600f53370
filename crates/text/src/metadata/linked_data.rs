//! What JSON-LD states of a page.
//!
//! Guarantees: at most [`MOST_BYTES`] of a page's JSON-LD are read; malformed JSON counts as none.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::data;

/// Bytes of a page's JSON-LD.
const MOST_BYTES: usize = 4 << 20;

/// Values within each other that are followed, and values of a page in all.
const DEPTH: usize = 12;
const OBJECTS: usize = 2_000;

/// Types of what a page is about, in the order in which they count.
const TYPES: &[&str] = &[
    "NewsArticle",
    "BlogPosting",
    "Article",
    "TechArticle",
    "ScholarlyArticle",
    "Report",
    "LiveBlogPosting",
    "SocialMediaPosting",
    "DiscussionForumPosting",
    "Question",
    "QAPage",
    "Recipe",
    "Product",
    "Event",
    "VideoObject",
    "Course",
    "SoftwareApplication",
    "AboutPage",
    "CollectionPage",
    "ItemPage",
    "WebPage",
];

/// Identifiers that are kept.
const NAMES: usize = 200;

/// An author: by name, or by the identifier of an object that has one.
#[derive(Clone, Debug, PartialEq)]
enum Author {
    Named(String),
    Of(String),
}

/// What was found; empty: nothing.
#[derive(Debug)]
pub(crate) struct LinkedData {
    pub(crate) title: String,
    authors: Vec<Author>,
    pub(crate) published: String,
    pub(crate) modified: String,
    pub(crate) language: String,
    pub(crate) description: String,
    pub(crate) licence: String,
    pub(crate) site: String,
    /// Names of objects by their identifiers, to which others refer.
    names: HashMap<String, String>,
    /// The place in [`TYPES`] of what it was found in.
    best: Option<usize>,
    read: usize,
    /// Values that may still be looked at.
    left: usize,
}

impl Default for LinkedData {
    fn default() -> Self {
        LinkedData {
            title: String::new(),
            authors: Vec::new(),
            published: String::new(),
            modified: String::new(),
            language: String::new(),
            description: String::new(),
            licence: String::new(),
            site: String::new(),
            names: HashMap::new(),
            best: None,
            read: 0,
            left: OBJECTS,
        }
    }
}

impl LinkedData {
    /// Adds a script.
    pub(crate) fn add(&mut self, text: &str) {
        self.read += text.len();
        if self.read > MOST_BYTES {
            return;
        }
        let Some(value) = data::parsed(text) else { return };
        let mut left = self.left;
        self.value(&value, DEPTH, &mut left);
        self.left = left;
    }

    /// The authors' names.
    pub(crate) fn authors(&self) -> Vec<String> {
        let name = |author: &Author| match author {
            Author::Named(name) => Some(name.clone()),
            Author::Of(id) => self.names.get(id).cloned(),
        };
        let mut names: Vec<_> =
            self.authors.iter().filter_map(name).filter(|name| !name.is_empty()).collect();
        names.dedup();
        names
    }

    /// Looks at a value, and at all in it.
    fn value(&mut self, value: &Value, depth: usize, left: &mut usize) {
        if depth == 0 || *left == 0 {
            return;
        }
        *left -= 1;
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.value(value, depth - 1, left)),
            Value::Object(object) => {
                self.object(object);
                for (name, value) in object {
                    self.note_names(name, value);
                    // What these are of is not the page.
                    if !matches!(
                        name.as_str(),
                        "author" | "publisher" | "comment" | "review" | "isPartOf" | "itemListElement"
                    ) {
                        self.value(value, depth - 1, left);
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes the name of an author or publisher that others refer to.
    fn note_names(&mut self, field: &str, value: &Value) {
        if let ("author" | "publisher" | "creator", Value::Object(object)) = (field, value)
            && let (Some(Value::String(id)), Some(Value::String(name))) =
                (object.get("@id"), object.get("name"))
            && self.names.len() < NAMES
        {
            self.names.insert(id.clone(), super::author_name(name));
        }
    }

    /// Takes what an object states, if it is of a type that counts more than what was found.
    fn object(&mut self, object: &Map<String, Value>) {
        if let (Some(Value::String(id)), Some(Value::String(name))) = (object.get("@id"), object.get("name"))
            && self.names.len() < NAMES
        {
            self.names.insert(id.clone(), super::author_name(name));
        }
        // A type may be a URL, or have a prefix: `schema:Article`.
        let is_it = |known: &str, name: &str| known.rsplit(['/', ':']).next() == Some(name);
        let is = |name: &str| match object.get("@type") {
            Some(Value::String(known)) => is_it(known, name),
            Some(Value::Array(all)) => {
                all.iter().any(|known| known.as_str().is_some_and(|known| is_it(known, name)))
            }
            _ => false,
        };
        if (is("WebSite") || is("Organization")) && self.site.is_empty() {
            self.site = text(object.get("name"));
        }
        let Some(rank) = TYPES.iter().position(|name| is(name)) else { return };
        let is_better = self.best.is_none_or(|best| rank < best);
        let set = |to: &mut String, found: String| {
            if !found.is_empty() && (is_better || to.is_empty()) {
                *to = found;
            }
        };
        let named =
            |names: &[&str]| names.iter().map(|name| text(object.get(*name))).find(|text| !text.is_empty());
        set(&mut self.title, named(&["headline", "name"]).unwrap_or_default());
        set(&mut self.published, named(&["datePublished", "dateCreated", "uploadDate"]).unwrap_or_default());
        set(&mut self.modified, named(&["dateModified"]).unwrap_or_default());
        set(&mut self.language, named(&["inLanguage"]).unwrap_or_default());
        set(&mut self.description, named(&["description"]).unwrap_or_default());
        set(&mut self.licence, named(&["license"]).unwrap_or_default());
        set(
            &mut self.site,
            object.get("publisher").map(|publisher| text(Some(publisher))).unwrap_or_default(),
        );
        let authors = authors_in(object.get("author").or_else(|| object.get("creator")));
        // The author of a product is nobody, and that of a page often its publisher.
        if !authors.is_empty() && rank < 11 && (is_better || self.authors.is_empty()) {
            self.authors = authors;
        }
        if is_better {
            self.best = Some(rank);
        }
    }
}

/// A text, or the name of an object.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => {
            htmlize::unescape(text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
        }
        Some(Value::Array(values)) => text(values.first()),
        Some(Value::Object(object)) => {
            let value = object.get("name").or_else(|| object.get("@value")).or_else(|| object.get("url"));
            if value.is_some_and(Value::is_string) { text(value) } else { String::new() }
        }
        _ => String::new(),
    }
}

/// The authors that a value names.
fn authors_in(value: Option<&Value>) -> Vec<Author> {
    let of = |value: &Value| match value {
        Value::Object(object) if !object.contains_key("name") => {
            object.get("@id").and_then(Value::as_str).map(|id| Author::Of(id.to_owned()))
        }
        value => {
            Some(super::author_name(&text(Some(value)))).filter(|name| !name.is_empty()).map(Author::Named)
        }
    };
    match value {
        Some(Value::Array(values)) => values.iter().take(super::AUTHORS).filter_map(of).collect(),
        Some(value) => of(value).into_iter().collect(),
        None => Vec::new(),
    }
}
