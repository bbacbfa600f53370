//! Options of resolv.conf(5), from the file and from RES_OPTIONS.

use std::time::Duration;

use crate::warnings::{Warnings, quoted};

/// Parsed options. Each word sets one of them; the last one wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvOptions {
    /// Names with at least this many dots are tried as given before search domains are appended.
    pub ndots: u8,
    /// Time-out per server; `None` if not given (libc: 5 seconds).
    pub timeout: Option<Duration>,
    /// Rounds over all servers; `None` if not given (libc: 2).
    pub attempts: Option<u32>,
    /// Whether questions rotate over the servers.
    pub rotate: bool,
    /// Whether servers are asked over TCP only.
    pub use_vc: bool,
    /// Whether questions have EDNS.
    pub edns0: bool,
    /// Whether the AD bit of an answer (validated by DNSSEC) is trusted.
    pub trust_ad: bool,
    /// Whether AAAA questions are suppressed.
    pub no_aaaa: bool,
    /// Whether A and AAAA are asked for sequentially.
    pub single_request: bool,
    /// Whether A and AAAA are asked for from two sockets.
    pub single_request_reopen: bool,
    /// Whether names in answers may contain any byte.
    pub no_check_names: bool,
    /// Whether `gethostbyname` prefers IPv6; not used here.
    pub inet6: bool,
    /// Whether a name without dots is not tried as a top-level domain if there are search domains.
    pub no_tld_query: bool,
    /// Whether the file is not reloaded when it changes.
    pub no_reload: bool,
    /// Whether libc prints debugging messages.
    pub debug: bool,
}

impl Default for ResolvOptions {
    fn default() -> Self {
        ResolvOptions {
            ndots: 1,
            timeout: None,
            attempts: None,
            rotate: false,
            use_vc: false,
            edns0: false,
            trust_ad: false,
            no_aaaa: false,
            single_request: false,
            single_request_reopen: false,
            no_check_names: false,
            inet6: false,
            no_tld_query: false,
            no_reload: false,
            debug: false,
        }
    }
}

/// Allowed options.
const ALLOWED: &str = "ndots:0 to ndots:15, timeout:1 to timeout:30, attempts:1 to attempts:5, rotate, use-vc, edns0, trust-ad, \
     no-aaaa, single-request, single-request-reopen, no-check-names, inet6, no-tld-query, no-reload, debug";

/// Options that glibc supported until 2.24.
const REMOVED: [&str; 3] = ["ip6-bytestring", "ip6-dotint", "no-ip6-dotint"];

impl ResolvOptions {
    /// Applies option words. `place` is their location, for warnings.
    pub(super) fn amend<'w>(
        &mut self,
        words: impl Iterator<Item = &'w str>,
        place: &str,
        warnings: &mut Warnings,
    ) {
        for word in words {
            if let Some(flag) = self.flag(word) {
                *flag = true;
            } else if let Some((key, value)) = word.split_once(':')
                && let Some(range) = range(key)
            {
                self.set(key, value, range, place, warnings);
            } else if REMOVED.contains(&word) {
                warnings.add(|| format!("{place}: the option {word} has no effect, as in glibc since 2.25"));
            } else {
                warnings.add(|| format!("{place}: unknown option {}; allowed: {ALLOWED}", quoted(word)));
            }
        }
    }

    /// The option that a word without a value turns on.
    fn flag(&mut self, word: &str) -> Option<&mut bool> {
        Some(match word {
            "rotate" => &mut self.rotate,
            "use-vc" => &mut self.use_vc,
            "edns0" => &mut self.edns0,
            "trust-ad" => &mut self.trust_ad,
            "no-aaaa" => &mut self.no_aaaa,
            "single-request" => &mut self.single_request,
            "single-request-reopen" => &mut self.single_request_reopen,
            "no-check-names" => &mut self.no_check_names,
            "inet6" => &mut self.inet6,
            "no-tld-query" => &mut self.no_tld_query,
            "no-reload" => &mut self.no_reload,
            "debug" => &mut self.debug,
            _ => return None,
        })
    }

    /// Sets a numeric option; a number beyond its range is clamped, as in libc, with a warning.
    fn set(&mut self, key: &str, value: &str, (least, most): (u8, u8), place: &str, warnings: &mut Warnings) {
        let given = || quoted(&format!("{key}:{value}"));
        if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
            warnings
                .add(|| format!("{place}: {} is ignored; allowed: {key}:{least} to {key}:{most}", given()));
            return;
        }
        let number: u8 = value.parse().unwrap_or(u8::MAX); // only digits, so on failure the number is too large
        let taken = number.clamp(least, most);
        if taken != number {
            warnings.add(|| {
                format!(
                    "{place}: {} is taken as {key}:{taken}; allowed: {key}:{least} to {key}:{most}",
                    given()
                )
            });
        }
        match key {
            "ndots" => self.ndots = taken,
            "timeout" => self.timeout = Some(Duration::from_secs(taken.into())),
            _ => self.attempts = Some(taken.into()),
        }
    }
}

/// Range of a numeric option (resolv.conf(5)).
fn range(key: &str) -> Option<(u8, u8)> {
    match key {
        "ndots" => Some((0, 15)),
        "timeout" => Some((1, 30)),
        "attempts" => Some((1, 5)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses options; returns them with the warnings.
    fn read(text: &str) -> (ResolvOptions, Vec<String>) {
        let (mut options, mut warnings) = (ResolvOptions::default(), Warnings::default());
        options.amend(text.split_ascii_whitespace(), "line 1", &mut warnings);
        (options, warnings.finish())
    }

    #[test]
    fn all_options_of_the_man_page_are_known() {
        let text = "ndots:3 timeout:7 attempts:4 rotate use-vc edns0 trust-ad no-aaaa single-request single-request-reopen \
             no-check-names inet6 no-tld-query no-reload debug";
        let all = ResolvOptions {
            ndots: 3,
            timeout: Some(Duration::from_secs(7)),
            attempts: Some(4),
            rotate: true,
            use_vc: true,
            edns0: true,
            trust_ad: true,
            no_aaaa: true,
            single_request: true,
            single_request_reopen: true,
            no_check_names: true,
            inet6: true,
            no_tld_query: true,
            no_reload: true,
            debug: true,
        };
        assert_eq!(read(text), (all, vec![]));
        // Each word turns on one option and no other: all but one differ from all.
        for word in text.split_ascii_whitespace() {
            let others: Vec<&str> = text.split_ascii_whitespace().filter(|other| *other != word).collect();
            let (one, rest) = (read(word).0, read(&others.join(" ")).0);
            assert_ne!(one, ResolvOptions::default(), "{word}");
            assert_ne!(rest, read(text).0, "{word}");
        }
    }

    #[test]
    fn numbers_beyond_their_range_are_cut_and_this_is_told() {
        let (options, told) = read("ndots:16 timeout:0 attempts:99999999999999999999");
        assert_eq!(options.ndots, 15);
        assert_eq!(options.timeout, Some(Duration::from_secs(1)));
        assert_eq!(options.attempts, Some(5));
        assert_eq!(told[0], r#"line 1: "ndots:16" is taken as ndots:15; allowed: ndots:0 to ndots:15"#);
        assert_eq!(told.len(), 3);
        assert_eq!(read("ndots:0 timeout:1 attempts:1 ndots:15 timeout:30 attempts:5").1, [] as [&str; 0]);
    }

    #[test]
    fn what_is_no_number_or_no_option_is_told_and_changes_nothing() {
        for word in
            ["ndots", "ndots:", "ndots:x", "ndots:-1", "timeout:+5", "attempts:2x", "Rotate", "rotate:1"]
        {
            let (options, told) = read(word);
            assert_eq!(options, ResolvOptions::default(), "{word}");
            assert!(told[0].starts_with("line 1: ") && told[0].contains(word), "{told:?}");
            assert!(told[0].contains("allowed: "), "{told:?}");
        }
        let (options, told) = read("ip6-dotint rotate");
        assert!(options.rotate);
        assert!(told[0].contains("ip6-dotint has no effect"), "{told:?}");
    }

    #[test]
    fn the_last_one_wins() {
        assert_eq!(read("ndots:2 ndots:x ndots:4").0.ndots, 4);
    }

    proptest! {
        #[test]
        fn numbers_are_as_a_plain_model_has_them(number in 0..100_u32) {
            let (options, told) = read(&format!("ndots:{number} timeout:{number} attempts:{number}"));
            prop_assert_eq!(u32::from(options.ndots), number.min(15));
            prop_assert_eq!(options.timeout, Some(Duration::from_secs(number.clamp(1, 30).into())));
            prop_assert_eq!(options.attempts, Some(number.clamp(1, 5)));
            let beyond = [(0, 15), (1, 30), (1, 5)].iter().filter(|(least, most)| number < *least || number > *most);
            prop_assert_eq!(told.len(), beyond.count());
        }
    }
}
