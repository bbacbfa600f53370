//! Registered domains by the Public Suffix List.

/// The registered domain of a host (`news.foo.co.uk` → `foo.co.uk`); the host itself when it is an
/// address or a public suffix. `host` is in canonical form.
pub fn registered_domain(host: &str) -> &str {
    if host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::registered_domain;

    #[test]
    fn suffixes_of_several_labels_count_as_one() {
        assert_eq!(registered_domain("news.foo.co.uk"), "foo.co.uk");
        assert_eq!(registered_domain("foo.com"), "foo.com");
        assert_eq!(registered_domain("co.uk"), "co.uk");
        assert_eq!(registered_domain("127.0.0.1"), "127.0.0.1");
        assert_eq!(registered_domain("[::1]"), "[::1]");
    }
}
