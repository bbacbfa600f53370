#![allow(clippy::unwrap_used, reason = "scratch: will not land")]
//! Times the stages. usage: timing FRAMES [ROUNDS]
use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::extract::Page;
use std::time::Instant;
fn main() {
    let data = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let rounds: usize = std::env::args().nth(2).map_or(1, |n| n.parse().unwrap());
    let mut pages = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let n = u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
        pages.push(String::from_utf8_lossy(&data[at + 4..at + 4 + n]).into_owned());
        at += 4 + n;
    }
    let bytes: usize = pages.iter().map(String::len).sum();
    let (mut t, mut blocks) = ([0u128; 4], 0);
    for _ in 0..rounds {
        for page in &pages {
            let b = Instant::now();
            let tree = parse(page, &Limits::default());
            t[0] += b.elapsed().as_nanos();
            let b = Instant::now();
            let made = Blocks::of(&tree);
            blocks += made.all.len();
            t[1] += b.elapsed().as_nanos();
            let b = Instant::now();
            let page = Page::of(tree, made, "http://a.example/x", &[]);
            t[2] += b.elapsed().as_nanos();
            let b = Instant::now();
            std::hint::black_box(page.text());
            drop(page);
            t[3] += b.elapsed().as_nanos();
        }
    }
    let n = (pages.len() * rounds) as u128;
    println!(
        "{} pages, {} KB a page, {} blocks a page",
        pages.len(),
        bytes / pages.len() / 1000,
        blocks as u128 / n
    );
    println!(
        "parse {} us, blocks {} us, page {} us (with blocks), text+drop {} us; MB/s {:.0}",
        t[0] / n / 1000,
        t[1] / n / 1000,
        t[2] / n / 1000,
        t[3] / n / 1000,
        bytes as f64 * rounds as f64 / ((t[0] + t[2] + t[3]) as f64 / 1e3)
    );
}
