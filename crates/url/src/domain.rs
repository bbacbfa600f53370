//! Registered domains, from the Public Suffix List.

/// The Public Suffix List that is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicSuffixList {
    /// Version of the crate `psl`, which contains the list: each change of the list has a version.
    pub version: &'static str,
    /// Publication date of that version, and thus of the list (UTC).
    pub date: &'static str,
    /// SHA-256 of that version as published, in hexadecimal digits: the registry's digest, recorded in
    /// Cargo.lock.
    pub digest: &'static str,
}

/// The list that [`registered_domain`] uses. A job records it, since a change of the list may move hosts to
/// another domain.
pub const PUBLIC_SUFFIX_LIST: PublicSuffixList = PublicSuffixList {
    version: "2.1.247",
    date: "2026-11-05",
    digest: "bcf03dc0cd8c65e109a7848e3b4adf06236a181d937af94bff66966e3876b1aa",
};

/// The registered domain of a host (`news.foo.co.uk` → `foo.co.uk`); the host itself if it is an address or a
/// public suffix. `host` must be in canonical form.
pub fn registered_domain(host: &str) -> &str {
    if host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_several_labels_count_as_one() {
        assert_eq!(registered_domain("news.foo.co.uk"), "foo.co.uk");
        assert_eq!(registered_domain("foo.com"), "foo.com");
        assert_eq!(registered_domain("co.uk"), "co.uk");
        assert_eq!(registered_domain("127.0.0.1"), "127.0.0.1");
        assert_eq!(registered_domain("[::1]"), "[::1]");
    }

    #[test]
    fn the_list_is_the_one_that_is_compiled_in() {
        let lock = include_str!("../../../Cargo.lock");
        let package = lock.split("[[package]]").find(|package| package.contains("name = \"psl\"\n")).unwrap();
        // If this fails, the crate was updated: copy version and checksum from Cargo.lock, the date from the
        // crate's page.
        assert!(package.contains(&format!("version = \"{}\"", PUBLIC_SUFFIX_LIST.version)));
        assert!(package.contains(&format!("checksum = \"{}\"", PUBLIC_SUFFIX_LIST.digest)));
    }
}
