use lycosa_dom::{Limits, parse};
use proptest::prelude::*;

use super::*;

fn of(html: &str, url: &str) -> Metadata {
    Metadata::of(&parse(html, &Limits::default()), url)
}

#[test]
fn a_page_s_own_heading_is_its_title() {
    let page = of(
        "<title>How cats sleep | Cat News</title><h1>Cat News</h1><article><h1>How cats sleep</h1></article>",
        "",
    );
    assert_eq!(page.title, "How cats sleep");
}

#[test]
fn the_name_of_the_site_is_no_part_of_a_title() {
    let with = |title: &str| {
        of(&format!("<title>{title}</title><meta property=og:site_name content='Cat News'>"), "").title
    };
    assert_eq!(with("How cats sleep - Cat News"), "How cats sleep");
    assert_eq!(with("Cat News: How cats sleep"), "Cat News: How cats sleep");
    assert_eq!(with("Cat News | How cats and other animals sleep"), "How cats and other animals sleep");
}

#[test]
fn linked_data_names_authors_and_dates() {
    let html = r#"<html lang=en-GB><script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
        {"@type": "Organization", "name": "Cat News"},
        {"@type": ["Article", "BlogPosting"], "headline": "How cats &amp; dogs sleep", "author": [{"@type": "Person", "name": "By Ann Lee"},
         {"name": "Bo Day"}], "datePublished": "2024-05-13T23:00:00+02:00", "dateModified": "2024-06-01", "license": "https://creativecommons.org/licenses/by/4.0/"}
    ]}</script>"#;
    let page = of(html, "");
    assert_eq!((page.author.as_str(), page.title.as_str()), ("Ann Lee, Bo Day", "How cats & dogs sleep"));
    assert_eq!((page.published.as_str(), page.modified.as_str()), ("2024-05-13", "2024-06-01"));
    assert_eq!((page.language.as_str(), page.site.as_str()), ("en-GB", "Cat News"));
    assert_eq!(page.licence, "https://creativecommons.org/licenses/by/4.0/");
}

#[test]
fn elements_name_them_too() {
    let page = of("<a rel=author href=/ann>Ann Lee</a> <time datetime='2023-01-02'>yesterday</time>", "");
    assert_eq!((page.author.as_str(), page.published.as_str()), ("Ann Lee", "2023-01-02"));
    assert_eq!(of("", "https://news.example/2022/03/04/cats").published, "2022-03-04");
}

#[test]
fn malformed_linked_data_is_none() {
    assert_eq!(
        of("<title>Cats</title><script type=application/ld+json>{\"name\": \"x</script>", "").title,
        "Cats"
    );
}

proptest! {
    #[test]
    fn any_page_has_metadata(html in "(<(title|h1|meta name=author content=|time|a rel=author)>|\\PC{0,9}|By |<script type=application/ld\\+json>|</script>|\\{\"@type\":\"Article\",\"name\":){0,20}") {
        of(&html, &html);
    }
}
