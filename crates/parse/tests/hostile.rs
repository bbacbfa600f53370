//! What a page costs, whatever it says.

mod support;

use bytes::Bytes;

use support::{cpu_seconds, hostile, page};

/// Bytes of each body here: a step that is not linear shows.
const BYTES: usize = 512 << 10;

#[test]
fn no_page_costs_more_than_its_size_allows() {
    for (name, content_type, body) in hostile(BYTES) {
        let body = Bytes::from(body);
        let began = cpu_seconds();
        let page = page(content_type, body);
        let took = cpu_seconds() - began;
        // In a build for tests, on a slow machine, where the dearest took 3.2 s; a release build takes a tenth.
        assert!(took < 8.0, "{name}: {took} s");
        let links: usize = page.links.iter().map(|link| link.url.as_str().len()).sum();
        assert!(links <= 1 << 20 && page.links.len() <= 10_000, "{name}: {links} bytes of links");
        assert!(page.title.as_ref().is_none_or(|title| title.len() <= 1_024), "{name}: {:?}", page.title);
    }
}
