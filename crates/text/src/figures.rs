//! Counts of characters in a block's text, in one pass.

use crate::blocks::is_of_script_without_spaces;
use crate::letters::{is_uncased, is_word};

/// What a block's text consists of.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextFigures {
    /// Characters but spaces.
    pub(crate) characters: u32,
    pub(crate) letters: u32,
    pub(crate) digits: u32,
    pub(crate) capitals: u32,
    /// Commas and semicolons, also of other scripts.
    pub(crate) commas: u32,
    /// Ends of sentences.
    pub(crate) sentences: u32,
    pub(crate) colons: u32,
    /// Bars, bullets, arrows and slashes, which separate entries of menus.
    pub(crate) separators: u32,
    pub(crate) quotes: u32,
    pub(crate) currencies: u32,
    /// Characters that program code has more of than prose.
    pub(crate) code: u32,
    /// Characters of scripts without spaces between words.
    pub(crate) unspaced: u32,
    /// Words of at most three letters: articles and prepositions.
    pub(crate) short_words: u32,
    /// Words that begin with a capital.
    pub(crate) capital_words: u32,
    /// Words that are numbers.
    pub(crate) numbers: u32,
    pub(crate) words: u32,
    pub(crate) longest_word: u32,
    /// Line breaks.
    pub(crate) lines: u32,
    pub(crate) has_copyright: bool,
    pub(crate) has_at: bool,
    pub(crate) begins_with_capital: bool,
    pub(crate) begins_with_digit: bool,
    pub(crate) ends_sentence: bool,
    pub(crate) ends_with_colon: bool,
    pub(crate) ends_with_ellipsis: bool,
}

impl TextFigures {
    /// Counts.
    pub fn of(text: &str) -> Self {
        let mut figures = TextFigures::default();
        let (mut word, mut is_number, mut begins) = (0, true, false);
        let mut last = ' ';
        if let Some(first) = text.chars().next() {
            figures.begins_with_capital = first.is_uppercase();
            figures.begins_with_digit = first.is_numeric();
        }
        for character in text.chars() {
            let class = Class::of(character);
            match class {
                Class::Space => figures.word(&mut word, is_number, begins),
                Class::Mark => {
                    figures.word(&mut word, is_number, begins);
                    figures.mark(character, last);
                }
                Class::Capital | Class::Letter | Class::Digit => {
                    if word == 0 {
                        (is_number, begins) = (true, class == Class::Capital);
                    }
                    word += 1;
                    is_number &= class == Class::Digit;
                    figures.digits += u32::from(class == Class::Digit);
                    figures.letters += u32::from(class != Class::Digit);
                    figures.capitals += u32::from(class == Class::Capital);
                    if !character.is_ascii() && is_of_script_without_spaces(character) {
                        figures.unspaced += 1;
                        figures.word(&mut word, is_number, begins);
                    }
                }
            }
            if class != Class::Space {
                figures.characters += 1;
                last = character;
            }
            figures.lines += u32::from(character == '\n');
        }
        figures.word(&mut word, is_number, begins);
        figures.ends_sentence = is_end(last);
        figures.ends_with_colon = matches!(last, ':' | '：');
        figures.ends_with_ellipsis = last == '…' || text.ends_with("...");
        figures
    }

    /// The end of a word, if there is one.
    fn word(&mut self, length: &mut u32, is_number: bool, begins: bool) {
        if *length > 0 {
            self.words += 1;
            self.numbers += u32::from(is_number);
            self.short_words += u32::from(*length <= 3 && !is_number);
            self.capital_words += u32::from(begins);
            self.longest_word = self.longest_word.max(*length);
            *length = 0;
        }
    }

    /// Another character, and the one before it.
    fn mark(&mut self, character: char, last: char) {
        match character {
            ',' | ';' | '，' | '；' | '、' | '،' | '؛' => self.commas += 1,
            ':' | '：' => self.colons += 1,
            '|' | '•' | '·' | '»' | '›' | '→' | '←' | '/' | '▸' | '►' | '─' => {
                self.separators += 1
            }
            '"' | '“' | '”' | '„' | '«' | '「' | '」' | '‘' => self.quotes += 1,
            '$' | '€' | '£' | '¥' | '₹' | '₽' | '₩' => self.currencies += 1,
            '{' | '}' | '=' | '<' | '>' | '_' | '\\' | '#' | '*' | '`' | '[' | ']' => self.code += 1,
            '©' => self.has_copyright = true,
            '@' => self.has_at = true,
            _ if is_end(character) && !is_end(last) => self.sentences += 1,
            _ => {}
        }
    }
}

/// What a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Space,
    Capital,
    Letter,
    Digit,
    Mark,
}

impl Class {
    /// Of a character.
    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Class::Letter,
            ' ' | '\n' => Class::Space,
            'A'..='Z' => Class::Capital,
            '0'..='9' => Class::Digit,
            '\t'..='~' => {
                if character.is_whitespace() {
                    Class::Space
                } else {
                    Class::Mark
                }
            }
            _ if is_uncased(character) => Class::Letter,
            _ if !is_word(character) && character.is_whitespace() => Class::Space,
            _ if !is_word(character) => Class::Mark,
            _ if character.is_numeric() => Class::Digit,
            _ if character.is_uppercase() => Class::Capital,
            _ => Class::Letter,
        }
    }
}

/// Whether a sentence ends with it.
fn is_end(character: char) -> bool {
    matches!(character, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '؟' | '۔' | '।')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_counted() {
        let figures = TextFigures::of("The cat, a grey one, sat on 12 mats. Did it?");
        assert_eq!((figures.words, figures.numbers, figures.commas, figures.sentences), (11, 1, 2, 2));
        assert_eq!((figures.short_words, figures.capital_words, figures.longest_word), (8, 2, 4));
        assert!(figures.begins_with_capital && figures.ends_sentence);
    }

    #[test]
    fn chinese_has_a_word_for_each_character() {
        let figures = TextFigures::of("我爱北京，天安门。");
        assert_eq!((figures.words, figures.unspaced, figures.commas, figures.sentences), (7, 7, 1, 1));
    }

    #[test]
    fn nothing_is_nothing() {
        let figures = TextFigures::of("");
        assert_eq!((figures.characters, figures.words, figures.longest_word), (0, 0, 0));
        assert!(!figures.ends_sentence);
    }
}
