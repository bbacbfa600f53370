//! Warnings about a file that is used in spite of its errors.

/// Maximum number of warnings stored; further ones are only counted. A block list may have millions of bad
/// lines.
const MOST: usize = 100;

/// Maximum number of characters of a bad text that a warning quotes.
const QUOTED: usize = 60;

/// Warnings, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    kept: Vec<String>,
    /// Number of warnings beyond the limit.
    more: usize,
}

impl Warnings {
    /// Adds a warning.
    pub(crate) fn add(&mut self, warning: impl FnOnce() -> String) {
        if self.kept.len() < MOST { self.kept.push(warning()) } else { self.more += 1 }
    }

    /// Returns the warnings; the last one gives the number of those left out, if any.
    pub(crate) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("{} further warnings are left out", self.more));
        }
        self.kept
    }
}

/// Quotes a text with control characters escaped, truncated to [`QUOTED`] characters.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_warnings_the_rest_is_counted() {
        let mut warnings = Warnings::default();
        (0..MOST).for_each(|line| warnings.add(|| format!("line {line}")));
        assert_eq!(Warnings { kept: warnings.kept.clone(), more: 0 }.finish().len(), MOST);
        (0..7).for_each(|_| warnings.add(|| panic!("must not be formatted: beyond the limit")));
        let told = warnings.finish();
        assert_eq!(told.len(), MOST + 1);
        assert_eq!(told[MOST], "7 further warnings are left out");
    }

    #[test]
    fn a_long_or_strange_text_is_repeated_in_part_and_escaped() {
        assert_eq!(quoted("a\x1b[31m\"b"), r#""a\u{1b}[31m\"b""#);
        assert_eq!(quoted(&"ü".repeat(61)), format!("\"{}\"...", "ü".repeat(60)));
    }
}
