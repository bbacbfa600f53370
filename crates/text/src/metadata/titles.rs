//! The title of a page, without the name of its site.

use super::{Found, collapsed, cut, first};
use crate::features::words_of;

impl Found<'_> {
    /// The title: the page's own heading if the stated titles say much the same; otherwise these, without the name of the site.
    pub(super) fn title(&self, site: &str) -> String {
        let stated = first(&[self.meta(&["og:title", "twitter:title"]), &self.data.title, &self.title]);
        let short = without_site(&cut(&collapsed(stated)), site);
        let whole = without_site(&self.title, site);
        let titles = [&short, &whole].map(|title| words_of(title));
        let site = words_of(site);
        let mut best = (0.6, None);
        for heading in &self.first_headings {
            let words = words_of(heading);
            let alike = titles.iter().map(|title| likeness(&words, title)).fold(0.0, f32::max);
            // The name of the site is often a heading, too; of equal headings the first is the page's.
            if alike > best.0 && likeness(&words, &site) < 0.9 {
                best = (alike, Some(heading));
            }
        }
        let other = || self.first_headings.iter().find(|heading| !heading.is_empty());
        match best.1 {
            Some(heading) => heading.clone(),
            None if short.is_empty() => other().cloned().unwrap_or_default(),
            None => short,
        }
    }
}

/// A title without the name of the site at its end or beginning.
fn without_site(title: &str, site: &str) -> String {
    for mark in [" | ", " - ", " – ", " — ", " · ", " » ", " :: ", " • "] {
        if let Some((before, after)) = title.rsplit_once(mark) {
            let is_site = !site.is_empty() && is_alike(after, site);
            if is_site
                || (after.split(' ').count() <= 4 && before.split(' ').count() > after.split(' ').count())
            {
                return before.trim().to_owned();
            }
        }
        if let Some((before, after)) = title.split_once(mark)
            && !site.is_empty()
            && is_alike(before, site)
        {
            return after.trim().to_owned();
        }
    }
    title.to_owned()
}

/// Whether two names are of the same site: one may be shorter.
fn is_alike(one: &str, other: &str) -> bool {
    let (one, other) = (words_of(one), words_of(other));
    let both = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    both * 2 > one.len().min(other.len())
}

/// How much of two texts' words are the same, from 0 to 1 (Dice).
fn likeness(one: &[u32], other: &[u32]) -> f32 {
    let both = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    if one.is_empty() || other.is_empty() {
        0.0
    } else {
        2.0 * both as f32 / (one.len() + other.len()) as f32
    }
}
