//! Words and addresses in which nothing is markup.

use std::borrow::Cow;

/// An address that a reader can follow, as browsers read it: without control characters, and of a page, a file or a mailbox. `None`:
/// it is none.
pub(super) fn target_of(given: &str) -> Option<String> {
    let target: String = given.trim().chars().filter(|c| !c.is_control()).collect();
    let target = target.trim().to_owned();
    let scheme = target.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    let is_known = scheme.is_none_or(|scheme| {
        ["http", "https", "mailto", "tel", "ftp"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    (is_known && !target.is_empty() && target != "#").then_some(target)
}

/// An address within parentheses.
pub(super) fn escaped_target(target: &str) -> String {
    let mut escaped = String::with_capacity(target.len());
    for character in target.chars() {
        match character {
            ' ' => escaped.push_str("%20"),
            '(' => escaped.push_str("%28"),
            ')' => escaped.push_str("%29"),
            '<' => escaped.push_str("%3C"),
            '>' => escaped.push_str("%3E"),
            '\\' => escaped.push_str("%5C"),
            '`' => escaped.push_str("%60"),
            '\n' | '\r' | '\t' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

/// Appends a word; what would be markup has a backslash before it.
pub(super) fn escape(word: &str, out: &mut String) {
    // Most words have no sign at all.
    if !word.bytes().any(|byte| byte.is_ascii_punctuation()) {
        return out.push_str(word);
    }
    let mut before = ' ';
    let may_have_references = word.contains(';');
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        let is_inside = |other: Option<&char>| other.is_some_and(|other| other.is_alphanumeric());
        let is_markup = match character {
            '\\' | '`' | '[' | ']' | '<' => true,
            '*' => true,
            // Within a word it is none.
            '_' => !(before.is_alphanumeric() && is_inside(characters.peek())),
            '~' => before == '~' || characters.peek() == Some(&'~'),
            '$' => true,
            '|' => false,
            '&' => {
                may_have_references
                    && characters.peek().is_some_and(|next| next.is_ascii_alphabetic() || *next == '#')
            }
            '!' => characters.peek() == Some(&'['),
            _ => false,
        };
        if is_markup {
            out.push('\\');
        }
        out.push(character);
        before = character;
    }
}

/// A line of text in which nothing is markup.
pub(super) fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (index, word) in line.split_whitespace().enumerate() {
        out.push_str(if index > 0 { " " } else { "" });
        escape(word, &mut out);
    }
    escape_start(&out).into_owned()
}

/// A line whose beginning is no markup: headings, lists, quotes, lines.
pub(super) fn escape_start(line: &str) -> Cow<'_, str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    if (1..=9).contains(&digits)
        && (rest.starts_with(". ") || rest.starts_with(") ") || rest == "." || rest == ")")
    {
        return format!("{}\\{rest}", &line[..digits]).into();
    }
    let is_markup = line.starts_with('#') && line.trim_start_matches('#').starts_with([' ', '\u{0}'])
        || line.bytes().all(|byte| byte == b'#') && !line.is_empty()
        || line.starts_with('>')
        || line.starts_with("- ")
        || line.starts_with("+ ")
        || line == "-"
        || line == "+"
        || line.starts_with("~~~")
        // Below another line it would make a heading, a table or a rule of it.
        || (!line.is_empty() && line.bytes().all(|byte| b"=-|: ".contains(&byte)));
    if is_markup { format!("\\{line}").into() } else { line.into() }
}
