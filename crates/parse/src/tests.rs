//! Pages and what the parser finds in them.

use lycosa_records::{Head, Received, Request, Times};
use proptest::prelude::*;

use super::*;

/// A page at `http://example.com/dir/page` with these headers and this body.
fn page(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Outcome {
    page_with(status, headers, body, &Settings::default())
}

/// The same, with settings.
fn page_with(status: u16, headers: &[(&str, &str)], body: &[u8], settings: &Settings) -> Outcome {
    let request =
        Request { lease: 1, ..Request::get(CrawlUrl::parse("http://example.com/dir/page").unwrap()) };
    let head = Head::of("HTTP/1.1", headers.iter().copied()).unwrap();
    let body = Bytes::copy_from_slice(body);
    let received = Received { status, head, body: body.clone().into(), ..Received::default() };
    let response = Response {
        request,
        address: None,
        started: 0,
        finished: 0,
        times: Times::default(),
        result: Ok(received),
    };
    parse(response, Ok(body), settings)
}

fn html(body: &str) -> Outcome {
    page(200, &[("content-type", "text/html; charset=utf-8")], body.as_bytes())
}

fn links(page: &Outcome) -> Vec<(&str, bool)> {
    page.links.iter().map(|link| (link.url.as_str(), link.nofollow)).collect()
}

#[test]
fn links_come_in_order_each_once_and_resolved() {
    let page = html(
        "<a href='b?x=1&amp;y=2'>1</a> <a href=\"/c#top\">2</a><a href=/c>3</a><A HREF=//other.org/>4</A>\
         <area href='../d'><iframe src=e></iframe><a href='mailto:x@y.z'><a href='javascript:void(0)'><a name=x>\
         <!-- <a href=/comment> --><script>'<a href=/script>'</script><a href='  /space \n'>",
    );
    let expected = [
        "http://example.com/dir/b?x=1&y=2",
        "http://example.com/c",
        "http://other.org/",
        "http://example.com/d",
        "http://example.com/dir/e",
        "http://example.com/space",
    ];
    assert_eq!(links(&page), expected.map(|url| (url, false)));
    assert_eq!(page.bad_links, 2);
}

#[test]
fn the_first_base_speaks_for_all_links() {
    let page = html("<a href=early><base href='http://cdn.example.net/x/'><base href='/no/'><a href=late>");
    assert_eq!(
        links(&page),
        [("http://cdn.example.net/x/early", false), ("http://cdn.example.net/x/late", false)]
    );
}

#[test]
fn nofollow_is_kept_unless_a_mention_follows() {
    let page = html(
        "<a rel='external NoFollow' href=a><a href=b><a rel=nofollow href=b><a rel=nofollow href=c><a href=c>",
    );
    let flags: Vec<bool> = page.links.iter().map(|link| link.nofollow).collect();
    assert_eq!(flags, [true, false, false]);
}

#[test]
fn the_head_is_read() {
    let page = html(
        "<head><title> News &amp;\n views </title><link rel=canonical href='/real'><meta name=ROBOTS content='noindex,nofollow'>\
         <meta http-equiv=refresh content=\"0; URL='/next'\"></head><svg><title>no</title></svg><a href=x>",
    );
    assert_eq!(page.title.as_deref(), Some("News & views"));
    assert_eq!(page.canonical.as_ref().unwrap().as_str(), "http://example.com/real");
    assert!(page.noindex && page.nofollow);
    assert_eq!(links(&page), [("http://example.com/next", true), ("http://example.com/dir/x", true)]);
}

#[test]
fn licences_of_the_page_are_named_by_its_links_those_of_rsl_first() {
    let page = html(
        "<base href='/deep/'><link rel=license href=cc><link rel='next License' href='/rsl.xml' type='application/rsl+xml'>\
         <link rel=license href='mailto:a@b.c'><link rel=license><a rel=license href=other>",
    );
    let named: Vec<&str> = page.licenses.iter().map(CrawlUrl::as_str).collect();
    assert_eq!(named, ["http://example.com/rsl.xml", "http://example.com/deep/cc"]);
    let told = lycosa_records::licenses(&page).into_iter().map(|license| license.source).collect::<Vec<_>>();
    assert_eq!(told, ["link element"; 2]);
    let many: String = (0..99).map(|number| format!("<link rel=license href=/{number}>")).collect();
    assert_eq!(html(&many).licenses.len(), lycosa_records::MAX_LICENSES);
}

#[test]
fn meta_robots_may_speak_to_us_alone() {
    assert!(html("<meta name=Lycosa content=noindex>").noindex);
    let other = html("<meta name=otherbot content=none><meta name=description content=nofollow>");
    assert!(!other.noindex && !other.nofollow);
}

#[test]
fn noimageai_is_said_of_images_whatever_the_case_of_their_type() {
    for (kind, said) in [("image/png", true), ("IMAGE/Png", true), ("text/html", false), ("", false)] {
        let page = page(200, &[("content-type", kind), ("x-robots-tag", "noimageai")], b"");
        assert_eq!(page.usage.iter().any(|one| &*one.usage == "train-ai" && !one.allowed), said, "{kind}");
    }
}

#[test]
fn a_page_that_is_reserved_against_a_use_of_the_job_is_not_recorded() {
    let settings = |uses: &[&str], ignored: &[&str]| Settings {
        uses: uses.iter().map(|name| (*name).into()).collect(),
        ignored_uses: ignored.iter().map(|name| (*name).into()).collect(),
        ..Settings::default()
    };
    let body = b"<title>t</title><meta name=robots content=noai><a href=/next>n</a>";
    let of = |status, fields: &[(&str, &str)], settings: &Settings| {
        let fields = [&[("content-type", "text/html")], fields].concat();
        let response = page(status, &fields, body).response;
        parse(response, Ok(Bytes::from_static(body)), settings)
    };
    let dropped = of(200, &[], &settings(&["tdm", "train-ai"], &[]));
    let failure = dropped.response.result.as_ref().unwrap_err();
    assert_eq!(
        (failure.kind, &*failure.detail),
        (FailureKind::UsageRefused, "meta robots does not allow train-ai")
    );
    assert!(
        dropped.links.is_empty() && dropped.title.is_none() && dropped.decoded.is_none() && dropped.mark == 0
    );
    assert_eq!(dropped.usage.len(), 1, "it is told why");
    assert!(of(200, &[("content-usage", "search=n")], &settings(&["tdm"], &[])).response.result.is_ok());
    let busy =
        of(429, &[("retry-after", "60"), ("content-usage", "train-ai=n")], &settings(&["train-ai"], &[]));
    assert!(busy.response.result.is_ok(), "it says how the site is");
    let moved =
        of(301, &[("location", "/next"), ("content-usage", "train-ai=n")], &settings(&["train-ai"], &[]));
    assert!(moved.redirect.is_some(), "what matters is what its target says");
    let ignored = of(200, &[("content-usage", "search=n")], &settings(&[], &["train-ai"]));
    assert_eq!(ignored.usage.iter().map(|one| &*one.usage).collect::<Vec<_>>(), ["search"]);
}

#[test]
fn links_obey_the_rules_and_redirects_do_not() {
    let found = html("<a href='/a?utm_source=x'>1</a><a href=/a>2</a><a href='/b;jsessionid=1'>3</a>");
    assert_eq!(links(&found), [("http://example.com/a", false), ("http://example.com/b", false)]);
    let moved = page(302, &[("location", "/a;jsessionid=1")], b"");
    assert_eq!(moved.redirect.unwrap().as_str(), "http://example.com/a;jsessionid=1");
}

#[test]
fn a_page_speaks_for_its_own_origin_only() {
    let copy_of = |body: &str| html(body).copy_of().map(|url| url.path_and_query().to_owned());
    assert_eq!(
        copy_of("<link rel=canonical href='/real?utm_source=kept'>").as_deref(),
        Some("/real?utm_source=kept")
    );
    assert_eq!(copy_of("<link rel=canonical href=page#x>"), None);
    assert_eq!(copy_of("<link rel=canonical href=//other.example/>"), None);
    let gone = page(404, &[("content-type", "text/html")], b"<link rel=canonical href=/real>");
    assert_eq!(gone.copy_of(), None);
}

#[test]
fn every_charset_reaches_the_title() {
    let big5 = page(200, &[("content-type", "text/html; charset=big5")], b"<title>\xa4\xa4\xa4\xe5</title>");
    assert_eq!((big5.title.as_deref(), big5.charset.as_deref()), (Some("中文"), Some("Big5")));
    let utf16: Vec<u8> =
        "\u{feff}<title>é</title><a href=/u>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16 = page(200, &[("content-type", "text/html")], &utf16);
    assert_eq!(
        (utf16.title.as_deref(), utf16.charset.as_deref(), utf16.links.len()),
        (Some("é"), Some("UTF-16LE"), 1)
    );
}

#[test]
fn redirects_have_a_target_or_are_failures() {
    let moved = page(301, &[("location", "/new"), ("content-type", "text/html")], b"<a href=/new>");
    assert_eq!(moved.redirect.unwrap().as_str(), "http://example.com/new");
    for location in ["ftp://example.com/", "http://"] {
        let bad = page(302, &[("location", location)], b"");
        assert_eq!(bad.response.result.unwrap_err().kind, FailureKind::RedirectBad);
    }
    assert_eq!(page(308, &[], b"").response.result.unwrap_err().kind, FailureKind::RedirectBad);
    assert!(page(304, &[], b"").response.result.is_ok());
}

#[test]
fn only_html_has_links() {
    assert!(page(200, &[("content-type", "application/pdf")], b"<a href=x>").links.is_empty());
    assert_eq!(page(200, &[("content-type", "text/plain")], b"<a href=x>").charset.as_deref(), Some("UTF-8"));
    assert_eq!(page(200, &[], b" <a href=x>").links.len(), 1);
    assert!(page(200, &[], b"\x00\x01<a href=x>").links.is_empty());
}

#[test]
fn deep_nesting_ends_within_the_memory_limit() {
    let mut body = "<a href=first>".to_owned();
    body.push_str(&"<p>x".repeat(500_000));
    assert_eq!(links(&html(&body))[0].0, "http://example.com/dir/first");
}

/// The page, parsed with these settings.
fn bounded(body: &str, settings: &Settings) -> Outcome {
    let page = html("");
    parse(page.response, Ok(Bytes::copy_from_slice(body.as_bytes())), settings)
}

/// The bounds that a page reached.
fn bounds(page: &Outcome) -> Vec<&'static str> {
    page.bounds.iter().map(lycosa_url::Bound::as_str).collect()
}

#[test]
fn a_long_base_does_not_multiply() {
    let mut body = format!("<base href='/{}/'>", "d".repeat(8_000));
    (0..10_000).for_each(|number| body.push_str(&format!("<a href={number}>")));
    let page = html(&body);
    assert_eq!(bounds(&page), ["link-bytes"]);
    let bytes: usize = page.links.iter().map(|link| link.url.as_str().len()).sum();
    assert!(bytes <= 1 << 20 && page.links.len() > 100, "{bytes} {}", page.links.len());
    assert!(page.links.iter().nth(7).unwrap().url.as_str().ends_with("d/7"));
}

#[test]
fn links_end_at_their_bounds() {
    let body = "<a href=/1><a href=/2><a href=/2><a href=/3><a href=mailto:x>";
    let few = bounded(body, &Settings { links: 3, ..Settings::default() });
    assert_eq!((few.links.len(), bounds(&few)), (2, vec!["links"]));
    // http://example.com/1 has 20 bytes.
    let small = bounded(body, &Settings { link_bytes: 40, ..Settings::default() });
    assert_eq!((small.links.len(), bounds(&small)), (2, vec!["link-bytes"]));
    let enough = bounded(body, &Settings { links: 5, link_bytes: 60, ..Settings::default() });
    assert_eq!((enough.links.len(), bounds(&enough)), (3, vec![]));
}

#[test]
fn what_is_longer_than_a_url_is_left_out_and_told() {
    let long = "d".repeat(9_000);
    let page = html(&format!("<a href='/{long}'><a href=/ok>"));
    assert_eq!((page.links.len(), page.bad_links, bounds(&page)), (1, 1, vec!["url-bytes"]));
    let page = html(&format!("<base href='/{}/'><a href='{}'>", &long[..5_000], &long[..5_000]));
    assert_eq!((page.links.len(), page.bad_links, bounds(&page)), (0, 1, vec!["url-bytes"]));
    for base in [long.clone(), format!("/{}", "\u{e9}".repeat(2_000))] {
        let page = html(&format!("<base href='{base}'><a href=x>"));
        assert_eq!(bounds(&page), ["base-bytes"]);
        assert_eq!(links(&page), [("http://example.com/dir/x", false)]);
    }
    let page = html(&format!("<link rel=canonical href='/{long}'><link rel=canonical href=/late>"));
    assert_eq!((page.canonical.as_ref(), bounds(&page)), (None, vec!["canonical-bytes"]));
    let page = html(&format!("<a href=/x title='{}'><a href=/ok>", "t".repeat(2 << 20)));
    assert_eq!(links(&page), [("http://example.com/ok", false)]);
    assert_eq!(bounds(&page), ["tag-bytes"]);
}

#[test]
fn a_title_ends_at_its_bound_however_it_is_written() {
    let title = |text: &str| {
        let page = html(&format!("<title>{text}</title>"));
        (page.title.clone().map(String::from), bounds(&page))
    };
    let cut = |text: String| (Some(text), vec!["title-bytes"]);
    assert_eq!(title(&"x".repeat(3_000_000)), cut("x".repeat(1_024)));
    assert_eq!(title(&"&amp;".repeat(3_000)), cut("&".repeat(1_024)));
    // Characters are not split: two bytes each, after one byte.
    assert_eq!(title(&format!("x{}", "\u{e9}".repeat(600))), cut(format!("x{}", "\u{e9}".repeat(511))));
    assert_eq!(
        title(&format!("{} a \n b{}", " ".repeat(100_000), "\t".repeat(100_000))),
        (Some("a b".into()), vec![])
    );
    assert_eq!(title(&"x".repeat(1_024)), (Some("x".repeat(1_024)), vec![]));
    assert_eq!(title(&"word ".repeat(300)), cut("word ".repeat(300)[..1_024].trim_end().to_owned()));
}

#[test]
fn the_memory_of_a_parse_is_a_bound_that_is_told() {
    let deep = html(&format!("<a href=/first>{}<a href=/last>", "<b>".repeat(500_000)));
    assert_eq!((links(&deep)[0].0, bounds(&deep)), ("http://example.com/first", vec!["parse-memory"]));
    let wide = html(&format!("<a href=/first><a {}>", "b ".repeat(1_000_000)));
    assert_eq!((links(&wide)[0].0, bounds(&wide)), ("http://example.com/first", vec!["parse-memory"]));
}

#[test]
fn a_parser_that_panics_is_one_pages_outcome() {
    let whole = guard(html("").response, |page| page.title = Some("kept".into()));
    assert_eq!(whole.title.as_deref(), Some("kept"));
    let broken = guard(html("<a href=x>").response, |page| {
        page.title = Some("half done".into());
        page.decoded = Some(Bytes::from_static(b"half"));
        panic!("a bug in a library\nwith more lines");
    });
    let failure = broken.response.result.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ParseFailed);
    assert_eq!(failure.detail, "the parser aborted: a bug in a library");
    assert_eq!((broken.title, broken.decoded), (None, None));
    assert_eq!(broken.response.request.url.as_str(), "http://example.com/dir/page");
}

#[test]
fn two_byte_text_is_read_part_by_part() {
    let mut body = "\u{feff}".to_owned();
    (0..30_000).for_each(|number| body.push_str(&format!("<p>\u{4e2d}</p><a href=/{}></a>", number % 9_000)));
    let bytes: Vec<u8> = body.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let settings = Settings { links: 40_000, ..Settings::default() };
    let read = parse(page(200, &[("content-type", "text/html")], b"").response, Ok(bytes.into()), &settings);
    assert_eq!(
        (read.charset.as_deref(), read.links.len(), read.bad_links, bounds(&read)),
        (Some("UTF-16BE"), 9_000, 0, vec![])
    );
}

proptest! {
    #[test]
    fn any_bytes_give_a_page(body in proptest::collection::vec(any::<u8>(), 0..300), kind in "(text/html)?(; ?charset=[a-z0-9-]{0,12})?") {
        page(200, &[("content-type", &kind)], &body);
    }

    #[test]
    fn any_markup_gives_a_page(body in "(<[/!a-z]{0,6}( [a-z]{1,4}=[\"']?[a-z&;#:/]{0,8}[\"']?)?>?|[a-z ]{0,4}){0,40}") {
        html(&body);
    }
}

#[test]
fn what_is_in_noscript_is_read_however_many_there_are() {
    let many: String = (0..300).map(|n| format!("<noscript><a href=/{n}>x</a></noscript>")).collect();
    assert_eq!(html(&many).links.len(), 300);
    let blank = "<noscript>a</noscript>".repeat(50_000);
    let begin = std::time::Instant::now();
    assert_eq!(html(&blank).links.len(), 0);
    assert!(begin.elapsed().as_secs() < 10);
}

#[test]
fn the_text_of_a_link_is_what_stands_in_it() {
    let settings = Settings { anchors: true, ..Settings::default() };
    let body = "<a href=/p><img data-src=x><noscript><img src=x></noscript> Title</a>";
    let page = page_with(200, &[("content-type", "text/html")], body.as_bytes(), &settings);
    assert_eq!(page.links.iter().next().map(|link| link.details.anchor.to_owned()).as_deref(), Some("Title"));
}

/// A crawl that wants the text of pages.
fn with_text() -> Settings {
    Settings { text: Some(TextMethod::Lycosa), refusals: true, ..Settings::default() }
}

#[test]
fn a_page_that_is_refused_has_the_mark_of_its_answer() {
    let body = b"<title>Log in</title><h1>Log in to use this network</h1><input type=password>";
    let headers = [("content-type", "text/html")];
    let taken = page_with(200, &headers, body, &Settings::default());
    for settings in [with_text(), Settings { refusals: true, ..Settings::default() }] {
        let refused = page_with(200, &headers, body, &settings);
        assert_eq!(refused.failure().map(|failure| failure.kind), Some(FailureKind::PageLogin));
        assert_eq!((refused.mark, refused.mark == 0), (taken.mark, false));
    }
}

#[test]
fn a_page_that_is_refused_keeps_what_its_site_asks_for() {
    let headers = [("content-type", "text/html"), ("retry-after", "3600")];
    let body = b"<title>429 Too Many Requests</title><h1>429 Too Many Requests</h1><hr>nginx";
    for settings in [with_text(), Settings { refusals: true, ..Settings::default() }] {
        let page = page_with(429, &headers, body, &settings);
        assert_eq!(page.failure().map(|failure| failure.kind), Some(FailureKind::PageRateLimited));
        let answer = page.answer().unwrap();
        assert_eq!((answer.status, answer.head.get("retry-after").as_deref()), (429, Some("3600")));
        assert!(page.text.is_none() && page.links.is_empty());
    }
}

#[test]
fn a_page_of_a_crawl_has_its_text() {
    let text =
        "The harbour was rebuilt after the flood, and ships of up to ninety metres can enter it. ".repeat(6);
    let body =
        format!("<title>The harbour</title><a href=/x>x</a><article><h1>The harbour</h1><p>{text}</article>");
    let page = page_with(200, &[("content-type", "text/html")], body.as_bytes(), &with_text());
    let found = page.text.as_deref().unwrap();
    assert!(found.text.contains("rebuilt") && &*found.headline == "The harbour", "{found:?}");
    assert_eq!(page.links.len(), 1);
    let again = page_with(200, &[("content-type", "text/html")], b"", &with_text());
    assert_eq!(again.text.map(|text| text.digest), Some("".into()), "pages without a text are no duplicates");
}

#[test]
fn bytes_that_are_no_text_have_none_whatever_they_are_said_to_be() {
    let page = page_with(
        200,
        &[("content-type", "text/html")],
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0",
        &with_text(),
    );
    assert_eq!(page.text.map(|text| text.kind), Some("binary".into()));
    let utf16: Vec<u8> = "<p>Text of a page".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let page = page_with(200, &[("content-type", "text/html; charset=utf-16le")], &utf16, &with_text());
    assert_ne!(page.text.map(|text| text.kind), Some("binary".into()));
}

#[test]
fn links_of_bytes_that_are_no_text_are_found_whether_a_text_is_wanted_or_not() {
    let body = [&[0; 60][..], b"<a href=/x>x</a>"].concat();
    for settings in [with_text(), Settings::default()] {
        let page = page_with(200, &[("content-type", "text/html")], &body, &settings);
        assert_eq!(links(&page), [("http://example.com/x", false)]);
    }
}

#[test]
fn a_script_of_xhtml_may_end_with_its_tag() {
    let body = b"<html><head><script src='a.js'/><title>T</title></head><body><a href='/x'>The harbour</a></body></html>";
    for settings in [with_text(), Settings::default()] {
        let page = page_with(200, &[("content-type", "application/xhtml+xml")], body, &settings);
        assert_eq!((links(&page).len(), page.title.as_deref()), (1, Some("T")));
        let page = page_with(200, &[("content-type", "text/html")], body, &settings);
        assert_eq!(links(&page).len(), 0, "the rest of the page is its script");
    }
}
