//! What a person is told about a file that is read in spite of its faults.

/// Warnings that are kept; of more, only the number is told. A block list may have millions of bad lines.
const MOST: usize = 100;

/// Characters of a faulty text that are repeated.
const QUOTED: usize = 60;

/// Warnings, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    kept: Vec<String>,
    /// Those beyond the limit.
    more: usize,
}

impl Warnings {
    /// Adds one.
    pub(crate) fn add(&mut self, warning: impl FnOnce() -> String) {
        if self.kept.len() < MOST { self.kept.push(warning()) } else { self.more += 1 }
    }

    /// All of them; the last one tells how many are left out.
    pub(crate) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("{} further warnings are left out", self.more));
        }
        self.kept
    }
}

/// A text as it was given, in quotes, without control characters and not endless.
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
        (0..7).for_each(|_| warnings.add(|| panic!("not written, as it is not kept")));
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
