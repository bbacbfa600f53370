//! What parsing costs: `cost hostile [MIB]`, or `cost pages FILE…` with pages to be parsed twenty times.

use bytes::Bytes;

#[path = "../tests/support/mod.rs"]
mod support;

use support::{cpu_seconds, hostile, page};

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("pages") => pages(arguments),
        _ => one_by_one(arguments.next().and_then(|mib| mib.parse().ok()).unwrap_or(32)),
    }
}

/// Each hostile body once.
fn one_by_one(mib: usize) {
    for (name, content_type, body) in hostile(mib << 20) {
        let body = Bytes::from(body);
        let began = cpu_seconds();
        let page = page(content_type, body);
        let bounds: Vec<&str> = page.bounds.iter().map(lycosa_url::Bound::as_str).collect();
        println!(
            "{:7.3} s  {:6} links  {name}  [{}]",
            cpu_seconds() - began,
            page.links.len(),
            bounds.join(", ")
        );
    }
}

/// Real pages.
fn pages(files: impl Iterator<Item = String>) {
    let bodies: Vec<Bytes> = files.filter_map(|file| std::fs::read(file).ok()).map(Bytes::from).collect();
    let (mut links, mut most_links, mut most_bytes, mut cut) = (0, 0, 0, 0);
    let began = cpu_seconds();
    for round in 0..20 {
        for body in &bodies {
            let page = page("text/html", body.clone());
            if round == 0 {
                let bytes = page.links.iter().map(|link| link.url.as_str().len()).sum::<usize>();
                links += page.links.len();
                (most_links, most_bytes) = (most_links.max(page.links.len()), most_bytes.max(bytes));
                cut += usize::from(page.bounds.iter().next().is_some());
            }
        }
    }
    let each = (cpu_seconds() - began) / 20.0 / bodies.len().max(1) as f64;
    println!(
        "{} pages, {:.1} µs each; {links} links, most {most_links}, most bytes {most_bytes}; {cut} reached a bound",
        bodies.len(),
        each * 1e6
    );
}
