//! Broken HTML by a grammar, through all that a page goes through.
//!
//! Invariant: no page panics; each choice is of the page's blocks; what is made of it is not larger than the page allows.

use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::extract::Page;
use lycosa_text::fingerprint::Fingerprint;
use lycosa_text::markdown::Options;
use lycosa_text::metadata::Metadata;
use lycosa_text::posts::posts;
use lycosa_text::refusal::{Seen, refusal};
use lycosa_text::templates::Templates;
use lycosa_text::{density, markdown};

/// What a page is made of: whole and half tags, attributes, entities, scripts, text in several scripts.
const PIECES: &[&str] = &[
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<ul>",
    "<li>",
    "</ul>",
    "<ol start=9>",
    "<table>",
    "<tr>",
    "<td colspan=3 rowspan=2>",
    "<th>",
    "</table>",
    "<pre>",
    "</pre>",
    "<code class='language-rust'>",
    "</code>",
    "<h1>",
    "</h1>",
    "<h3>",
    "</h2>",
    "<a href='/x?y=1&amp;z'>",
    "</a>",
    "<a href=",
    "<img src=a.png alt='b'>",
    "<br>",
    "<br/>",
    "<hr>",
    "<nav>",
    "</nav>",
    "<main>",
    "<article class='post content'>",
    "</article>",
    "<aside>",
    "<footer>",
    "<header>",
    "<section id=comments>",
    "<blockquote>",
    "</blockquote>",
    "<figure>",
    "<figcaption>",
    "<select><option>",
    "</select>",
    "<svg><title>",
    "</svg>",
    "<math><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>",
    "<script>",
    "</script>",
    "<script type='application/ld+json'>",
    "{\"@type\": \"Article\", \"headline\": \"x\", \"datePublished\": \"2024-05-01\"}",
    "<style>",
    "</style>",
    "<template>",
    "</template>",
    "<noscript>",
    "</noscript>",
    "<textarea>",
    "</textarea>",
    "<title>",
    "</title>",
    "<meta name=author content='A B'>",
    "<meta property='og:title' content=x>",
    "<html lang=de>",
    "<head>",
    "</head>",
    "<body>",
    "</body>",
    "<iframe>",
    "</iframe>",
    "<plaintext>",
    "<!--",
    "-->",
    "<!DOCTYPE html>",
    "<![CDATA[",
    "]]>",
    "<?php",
    "?>",
    "<b>",
    "</i>",
    "<em>",
    "<strong hidden>",
    "<span style='display:none'>",
    "<details open>",
    "<summary>",
    "<dl><dt>",
    "<dd>",
    "<form action=/s>",
    "<input type=password>",
    "<button>",
    "<",
    ">",
    "</",
    "<a",
    " class='",
    "\"",
    "=",
    "&amp;",
    "&#x1F600;",
    "&nbsp",
    "&notanentity;",
    "&a",
    "<base href='https://www.example.com/a/very/long/path/of/many/parts/that/goes/on/and/on/'>",
    "<svg><title><style>",
    "{\"articleBody\": \"a < b <c <d\"}",
    "<div itemscope itemtype='http://schema.org/Comment' itemprop=author>",
    "<caption>",
    "<annotation encoding='application/x-tex'>x$",
    "&#0;",
    "\0",
    "\u{feff}",
    "\r\n",
    "\t",
    "Just some words of a sentence, which goes on. ",
    "Accept all cookies",
    "Attention Required!",
    "404 Not Found",
    "© 2024 ",
    "word ",
    "日本語の文章です。",
    "ประเทศไทย",
    "مرحبا بالعالم ",
    "שלום עולם ",
    "1234567890 ",
    "$19.99 ",
    "`*_[]()#|~\\ ",
    "$x^2$",
    "\u{202e}",
    "e\u{301}",
];

/// The next of a series of random numbers (xorshift).
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

/// A page: pieces, some of them many times, some cut, some bytes changed.
fn page(state: &mut u64) -> String {
    let mut html = String::new();
    for _ in 0..random(state) % 40 {
        let piece = PIECES[random(state) % PIECES.len()];
        let times = if random(state).is_multiple_of(50) { random(state) % 300 } else { 1 };
        for _ in 0..times {
            html.push_str(piece);
        }
        if random(state).is_multiple_of(20) && !html.is_empty() {
            html.pop();
        }
    }
    html
}

/// All that a page goes through.
fn read(html: &str, templates: &Templates) {
    let tree = parse(html, &Limits::default());
    let blocks = Blocks::of(&tree);
    let is_boilerplate = templates.learn("www.example.com", html, &blocks);
    refusal(&Seen::of(&tree, &blocks, html, &[], 200));
    let page = Page::of(tree, blocks, "https://www.example.com/a/b-c.html?x=1", &is_boilerplate);
    assert_eq!(page.is_chosen.len(), page.blocks.all.len());
    assert!((0.0..=1.0).contains(&page.confidence) && page.probabilities.iter().all(|one| one.is_finite()));
    let text = page.text();
    assert!(text.len() <= 4 * html.len() + 4, "{} bytes of text", text.len());
    for options in [Options { links: true, images: true }, Options::default()] {
        let made = page.markdown(options);
        assert!(
            made.len() <= 8 * html.len() + (32 << 10),
            "{} bytes of Markdown of {}",
            made.len(),
            html.len()
        );
    }
    Metadata::of(&page.tree, "https://www.example.com/");
    posts(&page.tree);
    Fingerprint::of(&text);
    density::extract(html);
}

/// `LYCOSA_BROKEN` sets the number of pages, 20,000 by default; `LYCOSA_BROKEN=10000000` is the soak test. A page that fails is
/// told by its seed, and `LYCOSA_BROKEN_SEED` reads that one alone.
#[test]
fn any_page_is_read() {
    if let Ok(seed) = std::env::var("LYCOSA_BROKEN_SEED") {
        let html = page(&mut seed.parse().unwrap());
        println!("{html:?}");
        return read(&html, &Templates::new(4));
    }
    let count: u64 = std::env::var("LYCOSA_BROKEN").map_or(20_000, |text| text.parse().unwrap());
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let templates = Templates::new(4);
                for seed in (1..=count).filter(|seed| seed % 2 == half) {
                    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let html = page(&mut { seed });
                    let read = std::panic::AssertUnwindSafe(|| read(&html, &templates));
                    assert!(std::panic::catch_unwind(read).is_ok(), "LYCOSA_BROKEN_SEED={seed}");
                }
            });
        }
    });
}

/// Pages of which Markdown could make much more than they are.
#[test]
fn markdown_is_no_multiple_of_its_page() {
    let rows = format!("<table><tr>{}{}</table>", "<td>x".repeat(100), "<tr><td>y".repeat(19_000));
    let tables = "<table><tr><td colspan=99>x<td>y</table>".repeat(5_000);
    let lines = format!("{}<pre>x{}y", "<blockquote>".repeat(16), "\n".repeat(200_000));
    let words = format!("{}{}", "<ul><li>".repeat(16), "<p>a".repeat(50_000));
    let base = format!("<base href=/{}/>{}", "b".repeat(1_000), "<a href=x>y</a>".repeat(5_000));
    for html in [rows, tables, lines, words, base] {
        let tree = parse(&html, &Limits::default());
        let blocks = Blocks::of(&tree);
        let all = vec![true; blocks.all.len()];
        let made = markdown::markdown(
            &tree,
            &blocks,
            &all,
            Options { links: true, images: true },
            "http://a.example/",
        );
        assert!(made.contains('y') || made.contains('a'));
        assert!(
            made.len() <= 8 * html.len() + (32 << 10),
            "{} of {}: {}",
            made.len(),
            html.len(),
            &html[..60]
        );
    }
}

#[test]
fn the_parts_of_a_page_are_of_it() {
    let tree = parse("<p>a<p>b", &Limits::default());
    let blocks = Blocks::of(&tree);
    assert_eq!(markdown::markdown(&tree, &blocks, &[true, false], Options::default(), ""), "a\n");
}
