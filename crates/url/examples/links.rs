//! CPU time to convert one link to its canonical form and MD5, on URLs of real pages.
//!
//! `cargo run --release -p lycosa-url --example links -- FILE`, where FILE has one absolute URL a line. Each
//! URL is parsed as an absolute URL, and resolved as the reference that a page of the same origin would
//! contain.

use std::hint::black_box;

use lycosa_url::{Base, CrawlUrl};

fn main() -> std::io::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(&file)?;
    let lines: Vec<&str> = text.lines().collect();
    // URLs without errors: the work of a valid link is measured.
    let good: Vec<(&str, Base, String)> = lines
        .iter()
        .filter_map(|line| {
            let url = CrawlUrl::parse(line).ok()?;
            let page = CrawlUrl::parse(&format!("{}/news/2024/page.html", url.origin())).ok()?;
            let rest = line.splitn(4, '/').nth(3)?;
            Some((*line, Base::new(&page).ok()?, format!("/{rest}")))
        })
        .collect();
    println!("{} URLs, {} good, {} bytes a URL", lines.len(), good.len(), text.len() / lines.len().max(1));
    measure("CrawlUrl::parse", good.len(), || {
        good.iter().filter(|(line, ..)| black_box(CrawlUrl::parse(line)).is_ok()).count()
    });
    measure("Base::join, absolute", good.len(), || {
        good.iter().filter(|(line, base, _)| black_box(base.join(line)).is_ok()).count()
    });
    measure("Base::join, path", good.len(), || {
        good.iter().filter(|(_, base, path)| black_box(base.join(path)).is_ok()).count()
    });
    Ok(())
}

/// The best of five rounds, in CPU time, which other processes do not affect.
fn measure(name: &str, count: usize, work: impl Fn() -> usize) {
    let best = (0..5)
        .map(|_| {
            let start = cpu_ns();
            black_box(work());
            cpu_ns() - start
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name:24} {:6.0} ns a link", best / count.max(1) as f64);
}

/// CPU time of this process, in nanoseconds.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}
