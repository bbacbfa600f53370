//! Rules that map links with different texts to the same page, beyond the canonical form of URLs.
//!
//! They apply to links in pages, where a site writes one page's URL in many ways. They do not apply to seeds
//! and redirects: a site that redirects to add a session id would otherwise redirect endlessly.

/// Rules for the links of a page. Each changes the URL that is requested, so each can be switched off.
///
/// By default, parameters that identify the click or the visitor, but not the page, are dropped. Sorting is
/// off, since the order of parameters may matter to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalRules {
    /// Drop parameters of advertisers and analytics: `/a?utm_source=x&id=1` → `/a?id=1`. Their names are
    /// public and have no other use (`utm_*`, `gclid`, `fbclid`, …); ambiguous ones (`ref`, `source`) stay.
    /// Default: on.
    pub drop_tracking: bool,
    /// Drop session ids: `/a;jsessionid=12?PHPSESSID=34` → `/a`. `sid` and `session_id` are dropped only if
    /// the value has at least 16 hexadecimal digits, since they also name stories and seminars. Default: on.
    pub drop_sessions: bool,
    /// Sort parameters by name; equal names keep their order: `/a?b=1&a=2` → `/a?a=2&b=1`. Default: off.
    pub sort_query: bool,
    /// Further parameters to drop, by name, in lower case; a name that ends with `*` matches all names with
    /// that prefix. Default: none.
    pub drop_parameters: Vec<Box<str>>,
}

impl Default for CanonicalRules {
    fn default() -> Self {
        CanonicalRules { drop_tracking: true, drop_sessions: true, ..CanonicalRules::none() }
    }
}

impl CanonicalRules {
    /// No rules: links are unchanged.
    pub fn none() -> Self {
        let drop_parameters = Vec::new();
        CanonicalRules { drop_tracking: false, drop_sessions: false, sort_query: false, drop_parameters }
    }

    /// Applies the rules to a canonical URL's text whose path starts at `path_start`; `None` if they change
    /// nothing.
    pub(crate) fn apply(&self, text: &str, path_start: usize) -> Option<String> {
        let tail = &text[path_start..];
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        let new_path = if self.drop_sessions { without_session(path) } else { None };
        let new_query = query.and_then(|query| self.query(query));
        if new_path.is_none() && new_query.is_none() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        out.push_str(&text[..path_start]);
        out.push_str(new_path.as_deref().unwrap_or(path));
        let query = new_query.as_deref().or(query).filter(|query| new_query.is_none() || !query.is_empty());
        if let Some(query) = query {
            out.push('?');
            out.push_str(query);
        }
        Some(out)
    }

    /// Applies the rules to a query; `None` if they change nothing.
    fn query(&self, query: &str) -> Option<String> {
        let dropped = |parameter: &&str| self.drops(parameter);
        if self.sort_query {
            let mut kept: Vec<&str> = query.split('&').filter(|parameter| !self.drops(parameter)).collect();
            kept.sort_by_key(|parameter| name_and_value(parameter).0);
            return Some(kept.join("&")).filter(|sorted| sorted != query);
        }
        query.split('&').find(dropped)?;
        Some(query.split('&').filter(|parameter| !self.drops(parameter)).collect::<Vec<_>>().join("&"))
    }

    /// Whether a parameter is dropped.
    fn drops(&self, parameter: &str) -> bool {
        let (name, value) = name_and_value(parameter);
        let mut lower = [0; LONGEST_NAME];
        let Some(lower) = lower.get_mut(..name.len()) else { return false };
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        let lower = &*lower;
        let among = |names: &[&str]| names.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok();
        let begins = |prefix: &&str| lower.starts_with(prefix.as_bytes());
        (self.drop_tracking && (among(&TRACKING) || TRACKING_PREFIXES.iter().any(begins)))
            || (self.drop_sessions
                && (among(&SESSIONS)
                    || begins(&"aspsessionid")
                    || (among(&LIKELY_SESSIONS) && looks_like_session(value))))
            || self.drop_parameters.iter().any(|name| match name.strip_suffix('*') {
                Some(prefix) => begins(&prefix),
                None => name.as_bytes() == lower,
            })
    }
}

/// The parts of `name=value`; a parameter without `=` is a name.
fn name_and_value(parameter: &str) -> (&str, &str) {
    parameter.split_once('=').unwrap_or((parameter, ""))
}

/// Whether a value is a number of at least 64 bits in hexadecimal digits: session ids are, ids of pages are
/// not.
fn looks_like_session(value: &str) -> bool {
    value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A path without `;jsessionid=…`, which extends to the end of the segment or the next `;`; `None` if it has
/// none.
fn without_session(path: &str) -> Option<String> {
    let mut out: Option<String> = None;
    while let Some((start, end)) = session_at(out.as_deref().unwrap_or(path)) {
        out.get_or_insert_with(|| path.to_owned()).replace_range(start..end, "");
    }
    out
}

/// The range of a path's first session id.
fn session_at(path: &str) -> Option<(usize, usize)> {
    const MARK: &[u8] = b";jsessionid=";
    // The rest of the segment must not be a dot segment: the text would not be canonical.
    let leaves_dots = |at: usize| matches!(path[..at].rsplit('/').next(), Some("." | ".."));
    let is_mark = |at: &usize| {
        let text = path.as_bytes()[*at..].get(..MARK.len());
        text.is_some_and(|text| text.eq_ignore_ascii_case(MARK)) && !leaves_dots(*at)
    };
    let start = path.match_indices(';').map(|(at, _)| at).find(is_mark)?;
    let rest = &path[start + MARK.len()..];
    Some((start, path.len() - rest.len() + rest.find(['/', ';']).unwrap_or(rest.len())))
}

/// Parameters that identify the advertisement, mail or search that led to the page; sorted.
const TRACKING: [&str; 53] = [
    "__hsfp",
    "__hssc",
    "__hstc",
    "_branch_match_id",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "at_campaign",
    "at_medium",
    "dclid",
    "epik",
    "fb_action_ids",
    "fb_action_types",
    "fbclid",
    "gad_campaignid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "hsctatracking",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "ml_subscriber",
    "ml_subscriber_hash",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "pk_campaign",
    "pk_cid",
    "pk_content",
    "pk_keyword",
    "pk_kwd",
    "pk_medium",
    "pk_source",
    "rb_clickid",
    "s_kwcid",
    "spm",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_conv",
    "vero_id",
    "wbraid",
    "wickedid",
    "wt_zmc",
    "yclid",
    "ysclid",
];

/// Prefixes of such parameters.
const TRACKING_PREFIXES: [&str; 5] = ["hsa_", "matomo_", "mtm_", "piwik_", "utm_"];

/// Parameters that contain a session id, whatever their value; sorted. Names with the prefix `aspsessionid`
/// do, too.
const SESSIONS: [&str; 5] = ["cfid", "cftoken", "jsessionid", "phpsessid", "zenid"];

/// Parameters that contain a session id if the value looks like one; sorted.
const LIKELY_SESSIONS: [&str; 5] = ["oscsid", "sessid", "session_id", "sessionid", "sid"];

/// The longest name that is looked up, in bytes.
const LONGEST_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::CrawlUrl;

    fn apply(rules: &CanonicalRules, tail: &str) -> String {
        let text = format!("http://h.example{tail}");
        rules.apply(&text, 16).unwrap_or(text)[16..].to_owned()
    }

    #[test]
    fn what_names_the_click_or_the_visitor_goes() {
        let rules = CanonicalRules::default();
        for (link, page) in [
            ("/a?utm_source=x&id=1&UTM_Medium=y", "/a?id=1"),
            ("/a?gclid=x", "/a"),
            ("/a;jsessionid=1A2B?x=1", "/a?x=1"),
            ("/a;JSESSIONID=1A2B.node1;v=2/b", "/a;v=2/b"),
            ("/a?PHPSESSID=2&b", "/a?b"),
            ("/a?sid=0123456789abcdef", "/a"),
            ("/a?ASPSESSIONIDQQ=x", "/a"),
        ] {
            assert_eq!(apply(&rules, link), page, "{link}");
        }
        for page in
            ["/a?sid=9", "/a?ref=x", "/a?", "/a?&&", "/a;b", "/a?b=utm_source", "/a?id=1;utm_source=x"]
        {
            assert_eq!(apply(&rules, page), page);
            assert_eq!(apply(&CanonicalRules::none(), page), page);
        }
    }

    #[test]
    fn names_are_sorted_for_the_search() {
        assert!(TRACKING.is_sorted() && SESSIONS.is_sorted() && LIKELY_SESSIONS.is_sorted());
        let longest = TRACKING.iter().chain(&SESSIONS).map(|name| name.len()).max();
        assert!(longest < Some(LONGEST_NAME));
    }

    #[test]
    fn a_job_may_sort_and_drop_more() {
        let sorted = CanonicalRules { sort_query: true, ..CanonicalRules::none() };
        assert_eq!(apply(&sorted, "/a?b=2&a=1&b=1&a"), "/a?a=1&a&b=2&b=1");
        let drop_parameters = vec!["view".into(), "cmp_*".into()];
        let more = CanonicalRules { drop_parameters, ..CanonicalRules::none() };
        assert_eq!(apply(&more, "/a?View=1&cmp_x=2&viewer=3&utm_source=4"), "/a?viewer=3&utm_source=4");
    }

    proptest! {
        #[test]
        fn twice_is_once_and_the_result_is_a_canonical_url(
            tail in "/[a;=]{0,3}(;jsessionid=[a-f;/]{0,4})?([?][ab&=;]{0,6}(utm_a=1|sid=00000000000000ff|&){0,3}[ab&=]{0,4})?",
            sort_query in any::<bool>(),
        ) {
            let rules = CanonicalRules { sort_query, ..CanonicalRules::default() };
            let mut text = format!("http://h.example{tail}");
            text = rules.apply(&text, 16).unwrap_or(text);
            let parsed = CrawlUrl::parse(&text).unwrap();
            prop_assert_eq!(parsed.as_str(), &text);
            prop_assert_eq!(rules.apply(&text, 16), None);
        }
    }
}
