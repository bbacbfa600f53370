//! What pages of a site have in common: a block that several pages of a site have, at the same place of their structure, is boilerplate.
//! Learnt while pages come.
//!
//! A page that is nearly one that came before, such as its print version or the same under another URL, teaches nothing: what is on it
//! several times would be taken for the site's.
//!
//! Guarantees: memory is at most [`BYTES_OF_SITE`] times the number of sites that may be kept; of more sites those that no page came of
//! for longest are forgotten, approximately.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::blocks::{Block, Blocks};

/// Blocks of a site that are kept, at most: sites with more have little in common.
const BLOCKS: usize = 1_024;

/// Bytes of a site, at most: a hash table of that many entries, at its largest.
pub const BYTES_OF_SITE: usize = BLOCKS * 2 * (size_of::<(u64, Seen)>() + 1) + 128;

/// Pages that a block has to be on, and the part of the site's pages since it was seen first.
const PAGES: u16 = 3;
const PART: f32 = 0.3;

/// The part of a page's words that no page had before, at least, if it is to teach.
const NEW: f32 = 0.1;

/// Sites that are looked at when one has to be forgotten.
const SAMPLE: usize = 8;

/// The words of a page that no page had before, that are enough whatever part of it they are.
const ENOUGH: f32 = 20.0;

/// What is known of sites. For any thread.
#[derive(Debug)]
pub struct Templates {
    sites: Mutex<Sites>,
    most: usize,
    hasher: RandomState,
}

/// All sites, and how many pages have come.
#[derive(Debug, Default)]
struct Sites {
    by_key: HashMap<u64, Site>,
    pages: u64,
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
    /// A digest of the URL of the first page with it: that page does not count again when it is fetched again.
    first: u16,
}

impl Templates {
    /// Nothing is known. sites: how many are kept, at most.
    pub fn new(sites: usize) -> Self {
        Templates { sites: Mutex::default(), most: sites.max(1), hasher: RandomState::new() }
    }

    /// Learns a page of a site; returns of each block whether it is boilerplate, by the pages before it. url: the page's own.
    pub fn learn(&self, site: &str, url: &str, blocks: &Blocks) -> Vec<bool> {
        // All that takes time is done before others have to wait.
        let (key, url) = (self.hasher.hash_one(site), self.hasher.hash_one(url) as u16);
        let hash = |block: &Block| {
            let path = blocks.containers[block.container as usize].path;
            self.hasher.hash_one((path, blocks.text_of(block)))
        };
        let hashes: Vec<u64> = blocks.all.iter().map(hash).collect();
        // A thread that has panicked may have left one page half learnt, which changes little.
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.pages += 1;
        let number = sites.pages;
        if !sites.by_key.contains_key(&key) && sites.by_key.len() >= self.most {
            sites.forget();
        }
        let site = sites.by_key.entry(key).or_default();
        if site.pages == u16::MAX {
            *site = Site::default();
        }
        site.last = number;
        let is_boilerplate = hashes.iter().map(|hash| site.is_boilerplate(*hash)).collect();
        let words = |is_it: &dyn Fn(&u64) -> bool| -> u32 {
            blocks.all.iter().zip(&hashes).filter(|(_, hash)| is_it(hash)).map(|(block, _)| block.words).sum()
        };
        let new = words(&|hash| !site.blocks.contains_key(hash));
        if new as f32 >= (NEW * words(&|_| true) as f32).min(ENOUGH) {
            site.learn(&hashes, url);
        }
        is_boilerplate
    }
}

impl Sites {
    /// Forgets one of the sites of which no page came for long.
    fn forget(&mut self) {
        let oldest = self.by_key.iter().take(SAMPLE).min_by_key(|(_, site)| site.last).map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.by_key.remove(&key);
        }
    }
}

impl Site {
    /// Whether a block is boilerplate.
    fn is_boilerplate(&self, hash: u64) -> bool {
        self.blocks.get(&hash).is_some_and(|seen| {
            let since = f32::from(self.pages - seen.since).max(1.0);
            seen.pages >= PAGES && f32::from(seen.pages) >= since * PART
        })
    }

    /// Learns the blocks of a page with this digest of its URL.
    fn learn(&mut self, hashes: &[u64], url: u16) {
        let number = self.pages;
        self.pages += 1;
        for hash in hashes {
            let is_full = self.blocks.len() >= BLOCKS;
            let seen = match self.blocks.get_mut(hash) {
                Some(seen) => seen,
                None if is_full => continue,
                None => {
                    let seen = Seen { since: number, pages: 0, last: number, first: url };
                    self.blocks.entry(*hash).or_insert(seen)
                }
            };
            if seen.pages == 0 || (seen.last != number && seen.first != url) {
                seen.pages += 1;
                seen.last = number;
            }
        }
        if self.blocks.len() >= BLOCKS {
            // What few of the pages have makes room.
            let pages = self.pages;
            self.blocks.retain(|_, seen| {
                seen.last == number || f32::from(seen.pages) >= f32::from(pages - seen.since) * PART
            });
        }
    }
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
        let templates = Templates::new(10);
        for body in ["one", "two", "three"] {
            assert_eq!(templates.learn("a.example", body, &page(body)), [false; 3]);
        }
        assert_eq!(templates.learn("a.example", "four", &page("four")), [true, true, false]);
        assert_eq!(templates.learn("b.example", "five", &page("five")), [false; 3], "another site");
    }

    #[test]
    fn a_page_that_grows_and_is_fetched_again_is_one_page() {
        let templates = Templates::new(1);
        let mut posts = String::new();
        for number in 0..9 {
            posts += &format!("<p>Post {number}: what somebody has to say about the harbour of the town.");
            let flags = templates.learn("a.example", "/thread", &page(&posts));
            assert!(flags.iter().all(|flag| !flag), "{number}");
        }
    }

    #[test]
    fn a_long_menu_is_learnt_though_little_else_is_new() {
        let templates = Templates::new(1);
        let menu: String = (0..500).map(|n| format!("<li>Goods of kind {n}</li>")).collect();
        let product = |number: usize| {
            let text = format!(
                "Lamp {number}: gives a warm light on any desk of the house, day and night, and lasts for {number} years or more."
            );
            Blocks::of(&parse(&format!("<ul>{menu}</ul><main><p>{text}</main>"), &Limits::default()))
        };
        for number in 0..3 {
            templates.learn("a.example", &number.to_string(), &product(number));
        }
        let flags = templates.learn("a.example", "9", &product(9));
        assert!(flags[..500].iter().all(|flag| *flag) && !flags[500]);
    }

    #[test]
    fn a_page_that_comes_again_teaches_nothing() {
        let templates = Templates::new(1);
        let long = "A text of its own that goes on for some words. ".repeat(5);
        for _ in 0..10 {
            assert_eq!(templates.learn("a.example", "?print", &page(&long)), [false; 3]);
        }
        for body in ["another page with words", "a third page with words", "and a fourth with words"] {
            templates.learn("a.example", body, &page(body));
        }
        assert_eq!(templates.learn("a.example", "", &page(&long)), [true, true, false]);
    }

    #[test]
    fn sites_are_forgotten() {
        let templates = Templates::new(4);
        for number in 0..100 {
            templates.learn(&format!("{number}.example"), "", &page("text"));
        }
        assert!(templates.sites.lock().unwrap().by_key.len() <= 4);
    }

    #[test]
    fn a_site_keeps_so_many_blocks() {
        let templates = Templates::new(1);
        for number in 0..5 {
            let many: String = (0..700).map(|block| format!("<p>{number} {block}")).collect();
            templates.learn("a.example", &number.to_string(), &page(&many));
            let sites = templates.sites.lock().unwrap();
            assert!(sites.by_key.values().all(|site| site.blocks.len() <= BLOCKS));
        }
    }

    #[test]
    fn a_block_that_is_twice_on_a_page_is_on_one_page() {
        let templates = Templates::new(1);
        let blocks = Blocks::of(&parse("<p>x</p><p>x</p><p>x</p><p>x</p>", &Limits::default()));
        assert_eq!(templates.learn("a.example", "", &blocks), [false; 4]);
        let sites = templates.sites.lock().unwrap();
        let pages = sites.by_key.values().flat_map(|site| site.blocks.values()).map(|seen| seen.pages);
        assert_eq!(pages.max(), Some(1));
    }
}
