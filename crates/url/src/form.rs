//! Forms that are posted.

/// The body of a form in the media type `application/x-www-form-urlencoded` (WHATWG URL section 5.2).
pub fn encode_form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_a_browser_does_it() {
        assert_eq!(
            encode_form([("user", "me & you"), ("ü", "a+b"), ("user", "")]),
            "user=me+%26+you&%C3%BC=a%2Bb&user="
        );
        assert_eq!(encode_form([]), "");
    }
}
