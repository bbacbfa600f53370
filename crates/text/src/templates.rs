//! What pages of a site have in common: a block that several pages of a site have, at the same place of their structure, is boilerplate.
//! Learnt while pages come.
//!
//! Guarantees: memory is at most [`BYTES_OF_SITE`] times the number of sites that may be kept; of more sites those that no page came of
//! for longest are forgotten, approximately.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::blocks::Blocks;

/// Blocks of a site that are kept, at most: sites with more have little in common.
const BLOCKS: usize = 1_024;

/// Bytes of a site, at most: a hash table of that many entries, at its largest.
pub const BYTES_OF_SITE: usize = BLOCKS * 2 * 12 + 128;

/// Pages that a block has to be on, and the part of the site's pages since it was seen first.
const PAGES: u16 = 3;
const PART: f32 = 0.3;

/// Sites that are looked at when one has to be forgotten.
const SAMPLE: usize = 8;

/// What is known of sites.
#[derive(Debug)]
pub struct Templates {
    sites: HashMap<u64, Site>,
    most: usize,
    pages: u64,
    hasher: RandomState,
}

/// A site.
#[derive(Debug, Default)]
struct Site {
    /// How many pages came, and the number of the last of all pages that was of it.
    pages: u16,
    last: u64,
    blocks: HashMap<u64, Seen>,
}

/// A block.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The site's pages before the first one with it.
    since: u16,
    /// Pages with it.
    pages: u16,
    /// The last page with it, so that a page counts once.
    last: u16,
}

impl Templates {
    /// Nothing is known. sites: how many are kept, at most.
    pub fn new(sites: usize) -> Self {
        Templates { sites: HashMap::new(), most: sites.max(1), pages: 0, hasher: RandomState::new() }
    }

    /// Learns a page of a site; returns of each block whether it is boilerplate, by the pages before it.
    pub fn learn(&mut self, site: &str, blocks: &Blocks) -> Vec<bool> {
        self.pages += 1;
        let key = self.hasher.hash_one(site);
        if !self.sites.contains_key(&key) && self.sites.len() >= self.most {
            self.forget();
        }
        let site = self.sites.entry(key).or_default();
        site.last = self.pages;
        let number = site.pages;
        site.pages = site.pages.saturating_add(1);
        let mut is_boilerplate = Vec::with_capacity(blocks.all.len());
        for block in &blocks.all {
            let path = blocks.containers[block.container as usize].path;
            let hash = self.hasher.hash_one((path, blocks.text_of(block)));
            let is_full = site.blocks.len() >= BLOCKS;
            let Some(seen) = entry(&mut site.blocks, hash, number, is_full) else {
                is_boilerplate.push(false);
                continue;
            };
            let since = f32::from(number - seen.since).max(1.0);
            is_boilerplate.push(seen.pages >= PAGES && f32::from(seen.pages) >= since * PART);
            if seen.last != number || seen.pages == 0 {
                seen.pages = seen.pages.saturating_add(1);
                seen.last = number;
            }
        }
        if site.blocks.len() >= BLOCKS {
            // What one page alone had makes room.
            site.blocks.retain(|_, seen| seen.pages > 1 || seen.last == number);
        }
        is_boilerplate
    }

    /// Forgets one of the sites of which no page came for long.
    fn forget(&mut self) {
        let oldest = self.sites.iter().take(SAMPLE).min_by_key(|(_, site)| site.last).map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.sites.remove(&key);
        }
    }
}

/// A block of a site; a new one if there is room.
fn entry(blocks: &mut HashMap<u64, Seen>, hash: u64, number: u16, is_full: bool) -> Option<&mut Seen> {
    if is_full {
        return blocks.get_mut(&hash);
    }
    Some(blocks.entry(hash).or_insert(Seen { since: number, pages: 0, last: number }))
}

#[cfg(test)]
mod tests {
    use lycosa_dom::{Limits, parse};

    use super::*;

    fn page(body: &str) -> Blocks {
        Blocks::of(&parse(
            &format!("<div class=menu><p>Home<p>About</div><main><p>{body}</main>"),
            &Limits::default(),
        ))
    }

    #[test]
    fn what_pages_have_in_common_is_boilerplate() {
        let mut templates = Templates::new(10);
        for body in ["one", "two", "three"] {
            assert_eq!(templates.learn("a.example", &page(body)), [false; 3]);
        }
        assert_eq!(templates.learn("a.example", &page("four")), [true, true, false]);
        assert_eq!(templates.learn("b.example", &page("five")), [false; 3], "another site");
    }

    #[test]
    fn sites_are_forgotten() {
        let mut templates = Templates::new(4);
        for number in 0..100 {
            templates.learn(&format!("{number}.example"), &page("text"));
        }
        assert!(templates.sites.len() <= 4);
    }

    #[test]
    fn a_site_keeps_so_many_blocks() {
        let mut templates = Templates::new(1);
        for number in 0..5 {
            let many: String = (0..700).map(|block| format!("<p>{number} {block}")).collect();
            templates.learn("a.example", &page(&many));
            assert!(templates.sites.values().all(|site| site.blocks.len() <= BLOCKS));
        }
    }

    #[test]
    fn a_block_that_is_twice_on_a_page_is_on_one_page() {
        let mut templates = Templates::new(1);
        let blocks = Blocks::of(&parse("<p>x</p><p>x</p><p>x</p><p>x</p>", &Limits::default()));
        assert_eq!(templates.learn("a.example", &blocks), [false; 4]);
        assert_eq!(templates.learn("a.example", &blocks), [false; 4]);
    }
}
