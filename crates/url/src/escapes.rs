//! The normal form of percent-encoding (RFC 3986 section 6.2.2): digits in upper case, no escapes of unreserved characters.
//!
//! Both forms identify the same resource. A `%` that begins no escape is unchanged, and an escape is not
//! decoded if that would create a new escape.

/// The normal form of path and query; `None` if the text is in normal form.
pub(crate) fn normalize(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|&byte| byte == b'%') {
        let at = from + found;
        if !is_normal(&bytes[at..]) {
            return Some(rewrite(text, at));
        }
        from = at + 1;
    }
    None
}

/// Whether the bytes begin with an escape in normal form; `false` for a `%` without two digits.
pub(crate) fn is_normal(bytes: &[u8]) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    match bytes {
        [_, high, low, ..] if is_digit(*high) && is_digit(*low) => {
            escaped_byte(*high, *low).is_some_and(|value| !is_unreserved(value))
        }
        _ => false,
    }
}

/// The normal form of a text whose first escape to change is at `start`.
fn rewrite(text: &str, start: usize) -> String {
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..start]);
    let mut rest = &text[start..];
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escape = &rest.as_bytes()[at..];
        match escape {
            [_, high, low, ..] if escaped_byte(*high, *low).is_some() => {
                match escaped_byte(*high, *low).filter(|&value| is_unreserved(value) && !begins_escape(&out))
                {
                    Some(value) => out.push(char::from(value)),
                    None => {
                        let digits = [*high, *low].map(|digit| char::from(digit.to_ascii_uppercase()));
                        out.push('%');
                        out.extend(digits);
                    }
                }
                rest = &rest[at + 3..];
            }
            _ => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether one or two more digits after the text would complete an escape.
fn begins_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b'%'] | [.., b'%', b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
}

/// The byte that two hexadecimal digits encode.
pub fn escaped_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// Whether a byte means the same escaped and unescaped (RFC 3986 section 2.3).
pub const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_escapes_have_one_form() {
        for (text, normal) in [
            ("/%7Ejoe", "/~joe"),
            ("/%7ejoe/%c3%a9", "/~joe/%C3%A9"),
            ("/a%2fb?q=%2F%41", "/a%2Fb?q=%2FA"),
            ("/100%/%61", "/100%/a"),
            ("/%%41%42", "/%%41B"),
            ("/%4%31", "/%4%31"),
            ("/%é%41", "/%éA"),
        ] {
            assert_eq!(normalize(text).as_deref().unwrap_or(text), normal, "{text}");
        }
        assert_eq!(normalize("/a%2Fb%20c"), None);
    }

    proptest! {
        #[test]
        fn normal_form_is_a_fixed_point(text in "[%0-9a-fA-F/?é~.]{0,20}") {
            let once = normalize(&text).unwrap_or(text);
            let twice = normalize(&once);
            prop_assert_eq!(twice.as_ref().unwrap_or(&once), &once);
        }
    }
}
