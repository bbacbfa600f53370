//! Product tokens: names of crawlers in robots.txt, `X-Robots-Tag` and `<meta name>`.

/// The product token at the start of a user agent, of the value of a `User-agent` line, or of a directive:
/// letters, `-` and `_` (RFC 9309 section 2.2.1); empty if there is none.
pub fn product_token(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !(byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_where_letters_do() {
        for (text, token) in [
            ("mybot/1.0 (me@example.org)", "mybot"),
            ("My_Bot-x y", "My_Bot-x"),
            ("7bot", ""),
            ("", ""),
            ("é", ""),
        ] {
            assert_eq!(product_token(text.as_bytes()), token.as_bytes(), "{text}");
        }
    }
}
