//! Main text by text density, as published (Zhu et al. 2013, SYSTEMS.md section 5): density of each line of the page's source,
//! Gaussian smoothing over neighbouring lines, and the maximum-sum subsequence.
//!
//! No formula is published. What stands here: the density of a line is the part of its characters that are text outside of tags; lines
//! longer than [`LINE`] are divided, since pages are minified today; [`SIGMA`] is that of the smoothing, and [`OFFSET`] times the mean
//! density is subtracted before the sum is made.

/// Standard deviation of the smoothing, in lines.
pub const SIGMA: f32 = 3.0;

/// What is subtracted from each density, as a multiple of the mean.
pub const OFFSET: f32 = 1.0;

/// Bytes of a line, at most; a longer one is divided at its next tag.
pub const LINE: usize = 160;

/// Lines beside a line that the smoothing looks at: three standard deviations.
const NEAR: usize = 9;

/// A line of the source.
#[derive(Clone, Debug, Default)]
struct Line {
    /// The text outside of tags, as it stands.
    text: String,
    /// Bytes of all of it.
    bytes: usize,
}

/// Returns the main text of a page, one line of text for each line of the source that has any.
pub fn extract(html: &str) -> String {
    let lines = lines_of(html);
    let densities: Vec<f32> = lines.iter().map(density).collect();
    let smooth = smoothed(&densities);
    let mean = smooth.iter().sum::<f32>() / smooth.len().max(1) as f32;
    let values: Vec<f32> = smooth.iter().map(|value| value - mean * OFFSET).collect();
    let best = maximum_sum(&values);
    // No line is denser than others: all of them are the text.
    let chosen = if best.is_empty() { &lines[..] } else { &lines[best] };
    let mut text = String::new();
    for line in chosen {
        let words = line.text.split_whitespace();
        let before = text.len();
        for word in words {
            if text.len() > before {
                text.push(' ');
            }
            text.push_str(word);
        }
        if text.len() > before {
            text.push('\n');
        }
    }
    htmlize::unescape(text).into_owned()
}

/// Lines of a page, at most: what comes after them is left out.
const LINES: usize = 500_000;

/// Divides a page: what is in scripts and styles, and comments, is in no line.
fn lines_of(html: &str) -> Vec<Line> {
    let (mut lines, mut line) = (Vec::new(), Line::default());
    let mut rest = html;
    while let Some(start) = rest.find('<').filter(|_| lines.len() < LINES) {
        add_text(&mut lines, &mut line, &rest[..start]);
        rest = &rest[start..];
        let length = skipped(rest);
        let tag = &rest[..length];
        if line.bytes >= LINE {
            lines.push(std::mem::take(&mut line));
        }
        line.bytes += if is_removed(tag) { 0 } else { tag.len() };
        line.text.push(' ');
        rest = &rest[length..];
    }
    if lines.len() < LINES {
        add_text(&mut lines, &mut line, rest);
    }
    lines.push(line);
    lines.truncate(LINES);
    lines
}

/// Adds text, which may have line breaks.
fn add_text(lines: &mut Vec<Line>, line: &mut Line, text: &str) {
    for (index, part) in text.split('\n').enumerate().take(LINES) {
        if index > 0 {
            lines.push(std::mem::take(line));
        }
        line.bytes += part.len();
        line.text.push_str(part);
    }
}

/// The length of a tag, a comment, or an element whose content is no text; at least 1.
fn skipped(from: &str) -> usize {
    let up_to = |end: &str| find(from, end).map_or(from.len(), |at| at + end.len());
    if from.starts_with("<!--") {
        return up_to("-->");
    }
    for (name, end) in [("<script", "</script>"), ("<style", "</style>"), ("<noscript", "</noscript>")] {
        if from.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return up_to(end);
        }
    }
    let is_tag = from[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    if is_tag { up_to(">") } else { 1 }
}

/// Where a text is, whatever its case.
fn find(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Whether what is between angle brackets is removed before densities are computed.
fn is_removed(tag: &str) -> bool {
    let is = |name: &str| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    is("<script") || is("<style") || is("<noscript") || is("<!--")
}

/// The part of a line that is text, times its characters: long lines of text weigh more than short ones.
fn density(line: &Line) -> f32 {
    let text = line.text.chars().filter(|c| !c.is_whitespace()).count() as f32;
    if line.bytes == 0 { 0.0 } else { text * text / line.bytes as f32 }
}

/// The mean of each value and its neighbours, weighted by a Gaussian.
fn smoothed(values: &[f32]) -> Vec<f32> {
    let weights: Vec<f32> =
        (0..=NEAR).map(|at| (-((at * at) as f32) / (2.0 * SIGMA * SIGMA)).exp()).collect();
    (0..values.len())
        .map(|at| {
            let (mut sum, mut whole) = (0.0, 0.0);
            for near in at.saturating_sub(NEAR)..(at + NEAR + 1).min(values.len()) {
                let weight = weights[near.abs_diff(at)];
                sum += values[near] * weight;
                whole += weight;
            }
            sum / whole
        })
        .collect()
}

/// The subsequence without gaps whose sum is greatest (Kadane); empty if no value is above 0.
fn maximum_sum(values: &[f32]) -> std::ops::Range<usize> {
    let (mut best, mut best_sum) = (0..0, 0.0);
    let (mut start, mut sum) = (0, 0.0);
    for (at, value) in values.iter().enumerate() {
        sum += value;
        if sum <= 0.0 {
            (start, sum) = (at + 1, 0.0);
        } else if sum > best_sum {
            (best, best_sum) = (start..at + 1, sum);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_body_is_cut_out() {
        let menu = "<li><a href=\"/a/long/path/to/something\" class=\"menu-item item-12\">Menu</a></li>\n"
            .repeat(40);
        let body = "<p>This is a long line of text, of which an article has many, one after the other.</p>\n"
            .repeat(12);
        let text = extract(&format!("<ul>\n{menu}</ul>\n<div>\n{body}</div>\n<ul>\n{menu}</ul>"));
        assert!(text.contains("long line of text"));
        assert_eq!(text.lines().filter(|line| line.contains("long line")).count(), 12);
        assert!(text.matches("Menu").count() < 12, "{text}");
    }

    #[test]
    fn scripts_are_no_text() {
        assert_eq!(extract("<SCRIPT>var a = 1 < 2;</SCRIPT><p>Only this &amp; that"), "Only this & that\n");
        assert_eq!(extract(""), "");
    }

    proptest! {
        #[test]
        fn the_sum_is_the_greatest(values in prop::collection::vec(-9i8..9, 0..12)) {
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let of = |range: std::ops::Range<usize>| values[range].iter().sum::<f32>();
            let all = (0..=values.len()).flat_map(|from| (from..=values.len()).map(move |to| from..to));
            let best = all.map(of).fold(0.0, f32::max);
            prop_assert_eq!(of(maximum_sum(&values)), best);
        }

        #[test]
        fn any_text_is_divided(html in "(<|>|</|script|!--|-->|p|\\n|ä| ){0,60}") {
            extract(&html);
        }
    }
}
