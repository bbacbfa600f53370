//! What characters are: as the standard library has it, but without a search in its tables for most of the characters of pages.

/// Whether a character is a letter or a digit: [`char::is_alphanumeric`].
pub(crate) fn is_word(character: char) -> bool {
    match character {
        '\0'..='\u{7f}' => character.is_ascii_alphanumeric(),
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2c1}' => true,
        '\u{3a3}'..='\u{3f5}' | '\u{400}'..='\u{481}' => true,
        // Of punctuation nearly all.
        '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}' => false,
        _ => is_uncased(character) || character.is_alphanumeric(),
    }
}

/// Whether a character is a letter of a script that has no capitals; of these scripts not all.
pub(crate) fn is_uncased(character: char) -> bool {
    matches!(character,
        '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{904}'..='\u{939}' | '\u{e01}'..='\u{e30}' | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_characters_are_what_the_standard_library_says() {
        for character in '\0'..=char::MAX {
            assert_eq!(is_word(character), character.is_alphanumeric(), "{:x}", character as u32);
            if is_uncased(character) {
                assert!(!character.is_numeric() && !character.is_uppercase() && character.is_alphanumeric());
                assert!(character.to_lowercase().eq([character]), "{:x}", character as u32);
            }
        }
    }
}
