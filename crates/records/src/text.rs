//! What a page says, as parse has read it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::serial::is_default;

/// The main text of a page, and what the page states of itself; empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageText {
    /// Each block on lines of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Box<str>,
    /// The same as Markdown, if the job wants it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub markdown: Box<str>,
    /// The kind of the page, a stable name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Cow<'static, str>,
    /// The expected F1 of the text's words, in thousandths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confidence: u32,
    /// Authors, with `, ` between them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub author: Box<str>,
    /// The days of publication and of the last change, as ISO 8601 has them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub published: Box<str>,
    /// See `published`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub modified: Box<str>,
    /// A language tag.
    #[serde(default, skip_serializing_if = "is_default")]
    pub language: Box<str>,
    /// The page's own description.
    #[serde(default, skip_serializing_if = "is_default")]
    pub description: Box<str>,
    /// The name of the site.
    #[serde(default, skip_serializing_if = "is_default")]
    pub site: Box<str>,
    /// The title without the name of the site.
    #[serde(default, skip_serializing_if = "is_default")]
    pub headline: Box<str>,
    /// Texts that are nearly the same differ in few bits; 0: there is no text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub simhash: u64,
    /// MD5 of the words of the text, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub digest: Box<str>,
}

impl PageText {
    /// Approximate memory, in bytes.
    pub fn memory(&self) -> usize {
        let texts = [
            &self.text,
            &self.markdown,
            &self.author,
            &self.language,
            &self.description,
            &self.site,
            &self.headline,
            &self.published,
            &self.modified,
            &self.digest,
        ];
        size_of::<Self>() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}
