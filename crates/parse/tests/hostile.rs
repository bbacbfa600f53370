//! Limits of the cost of a page, whatever its content.

mod support;

use bytes::Bytes;

use support::{cpu_seconds, hostile, page};

/// Bytes of each body: enough to show a step that is not linear.
const BYTES: usize = 512 << 10;

#[test]
fn no_page_costs_more_than_its_size_allows() {
    for (name, content_type, body) in hostile(BYTES) {
        let body = Bytes::from(body);
        let began = cpu_seconds();
        let page = page(content_type, body);
        let took = cpu_seconds() - began;
        // Test build; the maximum on a slow machine was 3.2 s. A release build takes a tenth.
        assert!(took < 8.0, "{name}: {took} s");
        let links: usize = page.links.iter().map(|link| link.url.as_str().len()).sum();
        assert!(links <= 1 << 20 && page.links.len() <= 10_000, "{name}: {links} bytes of links");
        assert!(page.title.as_ref().is_none_or(|title| title.len() <= 1_024), "{name}: {:?}", page.title);
    }
}
