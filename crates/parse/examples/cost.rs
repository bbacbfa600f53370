//! Measures the cost of parsing: `cost hostile [MIB]`, or `cost pages FILE…`, which parses the pages twenty
//! times.

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

/// Parses each hostile body once.
fn one_by_one(mib: usize) {
    for (name, content_type, body) in hostile(mib << 20) {
        let body = Bytes::from(body);
        // Resets the peak (man 5 proc); memory that an earlier body freed may hide some.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let (before, began) = (status("VmRSS"), cpu_seconds());
        let page = page(content_type, body);
        let (took, kib) = (cpu_seconds() - began, status("VmHWM").saturating_sub(before));
        let bounds: Vec<&str> = page.bounds.iter().map(lycosa_url::Bound::as_str).collect();
        let (links, mib) = (page.links.len(), kib / 1024);
        println!("{took:7.3} s {mib:4} MiB {links:6} links  {name}  [{}]", bounds.join(", "));
    }
}

/// A value of `/proc/self/status`, in KiB.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").parse().unwrap_or_default()
}

/// Parses real pages.
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
