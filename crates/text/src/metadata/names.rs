//! Names of authors in bylines.

use super::{AUTHORS, collapsed};

/// Words of a name, at most.
const NAME: usize = 8;

/// The names in a byline, with `, ` between them; empty: there is none.
pub(super) fn authors_of(text: &str, language: &str) -> String {
    let text = without_by(&collapsed(text), language);
    let parts = text.split([',', ';', '|', '&', '、']).flat_map(|part| part.split(" and "));
    let names: Vec<_> = parts.map(author_name).filter(|name| !name.is_empty()).take(AUTHORS).collect();
    names.join(", ")
}

/// The name of one author; empty: it is none.
pub(crate) fn author_name(text: &str) -> String {
    let text = without_by(&collapsed(text), "");
    let name = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | '·' | '-' | ':'));
    let is_url = name.contains("://") || name.starts_with("www.") || name.starts_with('@');
    if is_url || name.split(' ').count() > NAME || name.len() > 100 { String::new() } else { name.to_owned() }
}

/// A byline without the word at its beginning. Some of these words are parts of names in other languages.
fn without_by(text: &str, language: &str) -> String {
    let start = match language.get(..2).unwrap_or_default() {
        "de" => "von ",
        "fr" => "par ",
        "es" | "pt" => "por ",
        "it" => "di ",
        _ => "",
    };
    let lower = text.to_lowercase();
    let starts = ["written by ", "posted by ", "by ", "作者：", "作者:", start];
    let found = starts.into_iter().find(|start| !start.is_empty() && lower.starts_with(*start));
    // Lower case may be longer: then nothing is cut.
    found.and_then(|start| text.get(start.len()..)).unwrap_or(text).to_owned()
}
