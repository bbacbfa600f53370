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
    assert_eq!(of("<meta property=og:locale content=en_US>", "").language, "en-US");
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
fn a_page_that_states_no_day_may_show_one() {
    let shown = |html: &str| of(html, "").published;
    assert_eq!(shown("<h1>Cats</h1><p>May 13, 2024</p><p>Text of 2 June 2021"), "2024-05-13");
    assert_eq!(
        shown("<p>1 April 2020<h1>Cats</h1><div class=post-date><b>Updated: 13/05/2024</b></div>"),
        "2024-05-13"
    );
    assert_eq!(shown("<meta name=published_on content=2024-05-13><h1>Cats</h1><p>1 June 2024"), "2024-05-13");
    // Of something else, of a part that is, and in a sentence that goes on.
    for other in [
        "<p>Joined: Dec 17, 2023",
        "<aside><p class=date>Dec 17, 2023</p></aside>",
        "<ul class=related-posts><li class=date>Dec 17, 2023</ul>",
        "<footer><p>Copyright, Dec 17, 2023",
        "<p>On Dec 17, 2023, cats were counted in all of the houses of the old town for the first time since the flood.",
    ] {
        assert_eq!(shown(&format!("<h1>Cats</h1>{other}")), "", "{other}");
    }
}

#[test]
fn authors_are_named_where_others_refer_to_them() {
    let html = r##"<script type="application/ld+json">{"@graph": [{"@type": "schema:Article", "headline": "Cats", "author": {"@id": "#jane"}},
        {"@type": "Person", "@id": "#jane", "name": "Jane Doe"}]}</script>"##;
    assert_eq!(of(html, "").author, "Jane Doe");
}

#[test]
fn a_logo_is_no_title() {
    let page = of("<title>How cats sleep | Cat News</title><h1>Cat News</h1><h2>How cats sleep</h2>", "");
    assert_eq!(page.title, "How cats sleep");
    let twice = of("<title>Cats</title><h1>Cats</h1><footer><h1>Cats</h1></footer>", "");
    assert_eq!(twice.title, "Cats");
}

#[test]
fn words_that_begin_bylines_are_no_part_of_names() {
    let with = |language: &str, name: &str| {
        of(&format!("<html lang={language}><meta name=author content='{name}'>"), "").author
    };
    assert_eq!(with("en", "Von Miller"), "Von Miller");
    assert_eq!(with("de", "Von Max Müller"), "Max Müller");
    assert_eq!(
        with("en", "By Ann Lee, Bo Day, Cy Poe, Di Roe and Ed Moe"),
        "Ann Lee, Bo Day, Cy Poe, Di Roe, Ed Moe"
    );
}

#[test]
fn a_named_field_that_is_no_date_hides_none() {
    let page = of("<meta name=date content=yesterday><meta name=pubdate content=2024-05-13>", "");
    assert_eq!(page.published, "2024-05-13");
}

#[test]
fn much_text_in_many_elements_is_read_once() {
    let html = format!("{}{}", "<time>".repeat(500), "a".repeat(1 << 20));
    let tree = parse(&html, &Limits::default());
    let found = Found::of(&tree);
    assert!(found.dates.iter().map(|(_, _, text)| text.len()).sum::<usize>() <= ELEMENTS * MOST);
    let html =
        format!("<meta property=og:title content='{}'>{}", "a".repeat(1 << 20), "<h1>a</h1>".repeat(100_000));
    let begin = std::time::Instant::now();
    of(&html, "");
    assert!(begin.elapsed().as_secs() < 10);
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

#[test]
fn a_byline_has_more_than_names() {
    for html in [
        "<div class=byline>By <a href=/ann>Ann Lee</a> | Updated May 1, 2024 | 3 min read</div>",
        "<div class=byline><a href=/ann>Ann Lee</a><time datetime=2024-05-01>May 1, 2024</time></div>",
        "<div class=byline><svg><title>Icon</title></svg>By Ann Lee</div>",
        "<div class=author>Ann Lee · 2024-05-01</div>",
        "<div class=author><a href=/users/1>Ann Lee</a> 19311 silver badge 66 bronze badges</div>",
    ] {
        assert_eq!(of(html, "").author, "Ann Lee", "{html}");
    }
    assert_eq!(of("<p class=author>Ann Lee, Bo Day and Cy", "").author, "Ann Lee, Bo Day, Cy");
    assert_eq!(of("<p class=username>user3080392", "").author, "user3080392");
}

#[test]
fn the_day_of_a_change_is_not_that_of_the_publication() {
    let days = |html: &str| {
        let page = of(html, "");
        (page.published, page.modified)
    };
    let both = ("2020-05-01".to_owned(), "2024-06-05".to_owned());
    assert_eq!(
        days("<h1>T</h1><p class=updated>Updated 5 June 2024</p><p class=published>Published 1 May 2020</p>"),
        both
    );
    assert_eq!(days("<h1>T</h1><p>Last updated: <time>5 June 2024</time></p><p>1 May 2020"), both);
    // Where there is no other one, the page is of that day.
    let one = ("2024-06-05".to_owned(), "2024-06-05".to_owned());
    assert_eq!(days("<h1>T</h1><p>Last updated: 5 June 2024"), one);
    assert_eq!(days("<h1>T</h1><p>Last updated: <time datetime=2024-06-05>5 June</time>"), one);
    assert_eq!(
        days("<h1>T</h1><time class='entry-date published updated'>5 June 2024</time>").0,
        "2024-06-05"
    );
}

#[test]
fn the_day_of_a_site_s_clock_is_none_of_the_page() {
    let shown = |html: &str| of(html, "").published;
    let text = "<h1>T</h1><p>By Ann, 12 May 2020</p>";
    for clock in [
        "<div class=current-date>Saturday, 21 November 2026</div>",
        "<header><span>Saturday, 21 November 2026</span></header>",
        "<header><time datetime=2026-11-21>Saturday</time></header>",
    ] {
        assert_eq!(shown(&format!("{clock}{text}")), "2020-05-12", "{clock}");
    }
    assert_eq!(shown("<header><h1>T</h1><time datetime=2020-05-12>May</time></header>"), "2020-05-12");
    assert_eq!(shown("<body class='no-sidebar'><h1>T</h1><p>12 May 2020"), "2020-05-12");
    assert_eq!(shown("<article class='post comments-open'><h1>T</h1><p>12 May 2020"), "2020-05-12");
    assert_eq!(shown("<h1>T</h1><p class=date>John Osborne, 12 May 2020"), "2020-05-12");
    assert_eq!(shown("<h1>T</h1><p class=date>Опубликовано 3 мая 2024 года в 10:00, Москва"), "2024-05-03");
}

#[test]
fn a_number_in_a_url_is_seldom_a_day() {
    for url in [
        "https://docs.example/2023.3.2/guide",
        "https://shop.example/p/20151130",
        "https://a.example/search?from=2024-01-01",
        "https://a.example/a?v=20240503",
        "https://a.example/item/25671231/",
        "https://a.example/compare/2019.1.1...2020.1.1",
    ] {
        assert_eq!(of("", url).published, "", "{url}");
    }
    for url in [
        "https://a.example/2024/5/3/cats",
        "https://a.example/2024-05-03-cats",
        "https://a.example/20240503/cats",
    ] {
        assert_eq!(of("", url).published, "2024-05-03", "{url}");
    }
}
