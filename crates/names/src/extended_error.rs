//! Extended DNS Errors (RFC 8914): why a server answers as it does.

use std::fmt;

use domain::base::iana::ExtendedErrorCode;

/// The EDNS option of an extended error.
const OPTION: u16 = 15;

/// Bytes of a server's text that are stored.
const LONGEST_TEXT: usize = 200;

/// A code with a text for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedError {
    /// The code (RFC 8914 section 4).
    pub code: u16,
    /// The server's text, without control characters; often empty.
    pub text: Box<str>,
}

impl ExtendedError {
    /// The first extended error among the EDNS options, if one can be parsed.
    pub(crate) fn read(mut options: &[u8]) -> Option<Self> {
        loop {
            let (&[c1, c2, l1, l2], rest) = options.split_first_chunk()?;
            let (data, next) = rest.split_at_checked(usize::from(u16::from_be_bytes([l1, l2])))?;
            if u16::from_be_bytes([c1, c2]) == OPTION {
                let (code, text) = data.split_first_chunk()?;
                let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT)]);
                let mut text: String = text.chars().filter(|letter| !letter.is_control()).collect();
                let is_end = |end: &usize| text.is_char_boundary(*end);
                let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(is_end).unwrap_or(0);
                text.truncate(end); // invalid UTF-8 has become longer
                return Some(ExtendedError { code: u16::from_be_bytes(*code), text: text.into() });
            }
            options = next;
        }
    }

    /// Appends it as an EDNS option. [`text`](Self::text) must fit into one: at most some hundred bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = (2 + self.text.len()) as u16;
        for number in [OPTION, length, self.code] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(self.text.as_bytes());
    }

    /// Bytes that [`write`](Self::write) appends.
    #[inline]
    pub fn size(&self) -> usize {
        6 + self.text.len()
    }
}

impl fmt::Display for ExtendedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (extended error {})", ExtendedErrorCode::from_int(self.code), self.code)?;
        if self.text.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_read_among_others_and_written_again() {
        let error = ExtendedError { code: 22, text: "all servers of example failed".into() };
        let mut options = vec![0, 10, 0, 2, 1, 2];
        error.write(&mut options);
        assert_eq!(options.len(), 6 + error.size());
        assert_eq!(ExtendedError::read(&options), Some(error.clone()));
        assert_eq!(
            error.to_string(),
            "No Reachable Authority (extended error 22): all servers of example failed"
        );
        assert_eq!(ExtendedError::read(&options[..options.len() - 1]), None, "cut off");
        assert_eq!(ExtendedError::read(&[0, 15, 0, 1, 0]), None, "without a code");
        assert_eq!(ExtendedError::read(&[]), None);
    }

    #[test]
    fn a_text_has_no_control_characters_and_an_end() {
        let mut options = vec![0, 15, 1, 6, 0, 3];
        options.extend_from_slice(&[b'\x1b'; 4]);
        options.extend_from_slice(&[b'x'; 256]);
        let read = ExtendedError::read(&options).unwrap();
        assert_eq!((read.code, read.text.len()), (3, LONGEST_TEXT - 4));
        assert!(read.text.chars().all(|letter| letter == 'x'));
    }
}
