//! Inline text: emphasis, code, links, images, formulas. Spaces are collapsed as browsers do, and what would be markup is escaped.

use std::borrow::Cow;

use lycosa_dom::{NodeId, Tag, Tree};

use super::code::{all_text, longest_run};
use super::escape::{escape, escape_start, escaped_target, target_of};
use super::kept::Kept;
use super::{Options, formula};
use crate::blocks::{UNSEEN, is_invisible, is_left_out, joins};

/// A line break in a text that is being written. No text that is written has it: see [`UNSEEN`].
const BREAK: char = '\u{1}';

/// Elements within each other whose marks are written; text in deeper ones has none.
const DEPTH: usize = 16;

/// Text that is being written.
pub(crate) struct Inline<'a> {
    tree: &'a Tree,
    kept: &'a Kept,
    options: Options,
    out: String,
    /// Whether a space is due before the next word.
    is_spaced: bool,
    /// Marks around it.
    depth: usize,
    /// Whether it is in a link: links are not within each other.
    is_in_link: bool,
    /// The last mark that has ended, and where: what follows at once with the same mark goes on.
    ended: Option<(&'static str, usize)>,
}

impl<'a> Inline<'a> {
    /// Nothing yet.
    pub(crate) fn new(tree: &'a Tree, kept: &'a Kept, options: Options) -> Self {
        Inline {
            tree,
            kept,
            options,
            out: String::new(),
            is_spaced: false,
            depth: 0,
            is_in_link: false,
            ended: None,
        }
    }

    /// All that is in an element.
    pub(crate) fn of(tree: &'a Tree, kept: &'a Kept, options: Options, node: NodeId) -> Self {
        let mut inline = Self::new(tree, kept, options);
        tree.children(node).for_each(|child| inline.add(child));
        inline
    }

    /// The text, with its line breaks.
    pub(crate) fn text(mut self) -> String {
        if !self.out.contains(BREAK) && self.out.trim_start().len() == self.out.len() {
            // A single line, which may be long, is not copied.
            self.out.truncate(self.out.trim_end().len());
            return match escape_start(&self.out) {
                Cow::Borrowed(_) => self.out,
                Cow::Owned(escaped) => escaped,
            };
        }
        let lines = self.lines().map(escape_start).collect::<Vec<_>>();
        lines.join("\\\n")
    }

    /// The text in one line.
    pub(crate) fn one_line(self) -> String {
        self.lines().collect::<Vec<_>>().join(" ")
    }

    /// Its lines: those at its beginning and end that are empty are none.
    fn lines(&self) -> impl Iterator<Item = &str> {
        let lines = self.out.split(BREAK).map(str::trim);
        let lines: Vec<_> = lines.skip_while(|line| line.is_empty()).collect();
        let length = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.into_iter().take(length).filter(|line| !line.is_empty())
    }

    /// Adds a node.
    pub(crate) fn add(&mut self, node: NodeId) {
        if let Some(text) = self.tree.text(node) {
            if self.kept.has(node) {
                self.words(text);
            } else {
                // Blank text beside an image is no part of a block.
                self.is_spaced |= text.trim().is_empty();
            }
            return;
        }
        let tag = self.tree.tag(node);
        match tag {
            Tag::Br => self.line_break(),
            Tag::Img if self.options.images && self.kept.has(node) => self.image(node),
            Tag::Math if self.kept.has(node) => self.formula(&formula::of_math(self.tree, node)),
            Tag::Img | Tag::Math => {}
            Tag::Script
                if self.tree.attribute(node, "type").is_some_and(|kind| kind.starts_with("math/tex")) =>
            {
                self.formula(&formula::of_script(self.tree, node));
            }
            _ if !self.kept.has(node) => {}
            Tag::Span | Tag::Div if formula::is_marked(self.tree, node) => {
                self.formula(&formula::of_mark(self.tree, node));
            }
            // As the division into blocks leaves them out.
            _ if is_left_out(self.tree, node) || (!tag.is_block() && is_invisible(self.tree, node)) => {}
            // Beside MathML it shows the same once more.
            Tag::Span if has_class(self.tree, node, "katex-html") => {}
            Tag::Sup => self.raised(node, "^"),
            // Marks within so many marks would cost the text once for each.
            Tag::B | Tag::Strong | Tag::I | Tag::Em | Tag::Del | Tag::S | Tag::Strike | Tag::A
                if self.depth >= DEPTH =>
            {
                self.tree.children(node).for_each(|child| self.add(child));
            }
            Tag::B | Tag::Strong => self.marked(node, "**"),
            Tag::I | Tag::Em => self.marked(node, "*"),
            Tag::Del | Tag::S | Tag::Strike => self.marked(node, "~~"),
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.code(node),
            Tag::A => self.link(node),
            _ if tag.is_block() => {
                self.is_spaced = true;
                self.tree.children(node).for_each(|child| self.add(child));
                self.is_spaced = true;
            }
            _ => self.tree.children(node).for_each(|child| self.add(child)),
        }
    }

    /// Words of a text.
    fn words(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.trim_start();
            let blank = &rest[..rest.len() - word.len()];
            self.is_spaced |= !blank.is_empty();
            let end = word.find(char::is_whitespace).unwrap_or(word.len());
            let word = &word[..end];
            if !word.is_empty() {
                if blank.contains('\n') && joins(&self.out, word) {
                    self.is_spaced = false;
                }
                self.space();
                if word.contains(UNSEEN) {
                    escape(&word.replace(UNSEEN, ""), &mut self.out);
                } else {
                    escape(word, &mut self.out);
                }
            }
            rest = &rest[blank.len() + end..];
        }
    }

    /// The space that is due.
    fn space(&mut self) {
        if std::mem::take(&mut self.is_spaced) && !self.out.is_empty() && !self.out.ends_with(BREAK) {
            self.out.push(' ');
        }
    }

    /// A line break.
    fn line_break(&mut self) {
        self.is_spaced = false;
        if !self.out.ends_with(BREAK) {
            self.out.push(BREAK);
        }
    }

    /// What is in an element, written by itself: its text, and whether spaces are around it.
    fn inner(&self, node: NodeId) -> (String, bool, bool) {
        let mut inner = Inline {
            depth: self.depth + 1,
            is_in_link: self.is_in_link || self.tree.tag(node) == Tag::A,
            ..Inline::new(self.tree, self.kept, self.options)
        };
        inner.out.push('\u{0}'); // so that a space at the beginning is written
        self.tree.children(node).for_each(|child| inner.add(child));
        let text = inner.out.trim_start_matches('\u{0}');
        let (starts, ends) = (text.starts_with(' '), inner.is_spaced || text.ends_with(' '));
        (text.trim_matches(|c: char| c.is_whitespace() || c == BREAK).to_owned(), starts, ends)
    }

    /// Text between marks.
    fn marked(&mut self, node: NodeId, mark: &'static str) {
        let (text, starts, ends) = self.inner(node);
        self.is_spaced |= starts;
        self.space();
        // A mark between a letter and what is none, on the side of this, neither begins nor ends anything (CommonMark section 6.2).
        let is_letter = |c: char| c.is_alphanumeric();
        let is_before_letter = !ends && self.follows_letter(node);
        let begins = text.starts_with(is_letter) || !self.out.ends_with(is_letter);
        let may_end = text.ends_with(is_letter) || !is_before_letter;
        // Marks within marks of the same kind would end them.
        let is_plain = text.is_empty() || text.contains(BREAK) || text.contains(mark) || !begins || !may_end;
        if is_plain {
            self.out.push_str(&text);
        } else if self.ended == Some((mark, self.out.len())) {
            self.out.truncate(self.out.len() - mark.len());
            [text.as_str(), mark].into_iter().for_each(|part| self.out.push_str(part));
            self.ended = Some((mark, self.out.len()));
        } else {
            [mark, &text, mark].into_iter().for_each(|part| self.out.push_str(part));
            self.ended = Some((mark, self.out.len()));
        }
        self.is_spaced = ends;
    }

    /// Whether what follows an element in its line begins with a letter.
    fn follows_letter(&self, node: NodeId) -> bool {
        let mut next = self.tree.after(node);
        for _ in 0..4 {
            if next == lycosa_dom::NONE || self.tree.tag(next).is_block() {
                return false;
            }
            if let Some(text) = self.tree.text(next) {
                return text.starts_with(char::is_alphanumeric);
            }
            next = self.tree.following(next);
        }
        false
    }

    /// A raised text: of numbers it tells an exponent.
    fn raised(&mut self, node: NodeId, mark: &str) {
        let before = self.out.len();
        let follows_digit = self.out.ends_with(|c: char| c.is_ascii_digit()) && !self.is_spaced;
        self.tree.children(node).for_each(|child| self.add(child));
        let text = &self.out[before..];
        // A link is that of a footnote.
        let is_exponent =
            follows_digit && !self.tree.children(node).any(|child| self.tree.tag(child) == Tag::A);
        if is_exponent && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            self.out.insert_str(before, mark);
        }
    }

    /// Code within a line.
    fn code(&mut self, node: NodeId) {
        let mut code = String::new();
        all_text(self.tree, node, &mut code);
        let is_spaced = code.ends_with(char::is_whitespace);
        self.is_spaced |= code.starts_with(char::is_whitespace);
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        if code.is_empty() {
            return;
        }
        self.space();
        let fence = "`".repeat(longest_run(&code, '`') + 1);
        let pad = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
        [&fence, pad, &code, pad, &fence].into_iter().for_each(|part| self.out.push_str(part));
        self.is_spaced = is_spaced;
    }

    /// A link.
    fn link(&mut self, node: NodeId) {
        let target = target(self.tree, self.kept, node);
        let (text, starts, ends) = self.inner(node);
        self.is_spaced |= starts;
        if !text.is_empty() {
            self.space();
        }
        let text = text.replace(BREAK, " ");
        match target.filter(|_| self.options.links && !self.is_in_link && !text.is_empty()) {
            Some(target) => {
                if self.out.ends_with('!') {
                    // It would be an image.
                    self.out.pop();
                    self.out.push_str("\\!");
                }
                self.out.push_str(&format!("[{text}]({target})"));
            }
            None => self.out.push_str(&text),
        }
        self.is_spaced = ends;
    }

    /// An image: of those that are loaded late, the address that is loaded.
    fn image(&mut self, node: NodeId) {
        let names = ["data-src", "data-original", "data-lazy-src", "src"];
        let of = |name: &str| self.tree.attribute(node, name).and_then(target_of);
        let Some(target) = names.into_iter().find_map(of).map(|target| self.kept.resolved(target)) else {
            return;
        };
        let mut text = String::new();
        escape(self.tree.attribute(node, "alt").unwrap_or_default().trim(), &mut text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.space();
        self.out.push_str(&format!("![{text}]({})", escaped_target(&target)));
    }

    /// A formula, where its source in TeX is part of the page, or what it shows.
    fn formula(&mut self, text: &str) {
        if !text.is_empty() {
            self.space();
            self.out.push_str(text);
        }
    }
}

/// Where a link leads, as Markdown has it; `None`: nowhere that a reader can follow.
pub(super) fn target(tree: &Tree, kept: &Kept, link: NodeId) -> Option<String> {
    let target = tree.attribute(link, "href").and_then(target_of)?;
    Some(escaped_target(&kept.resolved(target)))
}

/// Whether an element has a class.
fn has_class(tree: &Tree, node: NodeId, class: &str) -> bool {
    tree.attribute(node, "class")
        .is_some_and(|classes| classes.split_ascii_whitespace().any(|one| one == class))
}
