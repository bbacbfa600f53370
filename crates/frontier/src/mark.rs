//! Responses for robots.txt files: which are the host's own, and their marks ([`lycosa_records::mark()`]).

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use lycosa_records::{Outcome, is_markup};

/// Whether a response for a robots.txt is one that no portal sends.
pub(crate) fn is_own_rules(status: u16, rules: &[u8]) -> bool {
    matches!(status, 404 | 410) || (status < 300 && !is_markup(rules))
}

/// The text of a robots.txt; empty if there is none.
pub(crate) fn rules_of(outcome: &Outcome) -> &[u8] {
    outcome.rules.as_deref().unwrap_or_default()
}

/// The mark of a response for a robots.txt that no portal sends; also of one that is too short for a page's mark.
pub(crate) fn rules_mark(outcome: &Outcome) -> Option<u64> {
    let (received, rules) = (outcome.received()?, rules_of(outcome));
    let is_own = outcome.redirect.is_none() && is_own_rules(received.status, rules);
    // The same in each process: snapshots store marks.
    let short = || BuildHasherDefault::<DefaultHasher>::default().hash_one((received.status, rules)) | 2;
    is_own.then(|| if outcome.mark == 0 { short() } else { outcome.mark })
}

/// Whether a response for a robots.txt differs from those for pages that are all the same and have this status. `before`: the mark
/// of the one before; a robots.txt that has disappeared proves nothing.
pub(crate) fn is_other_rules(outcome: &Outcome, status: u16, before: u64) -> bool {
    let (Some(received), Some(mark)) = (outcome.received(), rules_mark(outcome)) else { return false };
    match received.status {
        400..=499 => status / 100 != 4 && (before == 0 || before == mark),
        _ => !rules_of(outcome).is_empty(),
    }
}
