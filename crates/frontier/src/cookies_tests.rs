use lycosa_records::{Head, Received, Request, Response, Times};
use proptest::prelude::*;

use super::*;

const SECOND: Micros = 1_000_000;
/// 2026-11-21.
const NOW: Micros = 1_795_219_200 * SECOND;

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// A page that sets cookies.
fn response(from: &str, fields: &[&str], at: Micros) -> Response {
    let request = Request { lease: 1, ..Request::get(url(from)) };
    let head = Head::of("HTTP/1.1", fields.iter().map(|field| ("set-cookie", field))).unwrap_or_default();
    let result = Ok(Received { status: 200, head, ..Received::default() });
    Response { request, address: None, started: at, finished: at, times: Times::default(), result }
}

fn jar(from: &str, fields: &[&str]) -> Jar {
    let mut jar = Jar::new(1 << 20);
    jar.receive(&response(from, fields, NOW));
    jar
}

#[test]
fn a_cookie_goes_back_to_its_host_only() {
    let jar = jar("http://www.a.example/x/y", &["id=7", "theme=dark; Path=/"]);
    assert_eq!(jar.field(&url("http://www.a.example/x/z?q"), NOW).as_deref(), Some("id=7; theme=dark"));
    assert_eq!(jar.field(&url("http://www.a.example/"), NOW).as_deref(), Some("theme=dark"));
    assert_eq!(jar.field(&url("http://a.example/"), NOW), None);
    assert_eq!(jar.field(&url("http://b.example/x/z"), NOW), None);
}

#[test]
fn a_domain_may_be_named_but_no_public_suffix_and_no_other() {
    for (domain, sent) in [
        ("a.co.uk", true),
        (".A.co.uk", true),
        ("www.a.co.uk", true),
        ("co.uk", false),
        ("b.co.uk", false),
        ("x.www.a.co.uk", false),
    ] {
        let jar = jar("https://www.a.co.uk/", &[&format!("id=7; Domain={domain}; Path=/")]);
        assert_eq!(jar.field(&url("https://www.a.co.uk/"), NOW).is_some(), sent, "{domain}");
        assert_eq!(jar.field(&url("https://b.co.uk/"), NOW), None, "{domain}");
    }
    let jar = jar("https://www.a.co.uk/", &["id=7; Domain=a.co.uk"]);
    assert!(jar.field(&url("https://shop.a.co.uk/"), NOW).is_some());
}

#[test]
fn paths_match_whole_segments() {
    let jar = jar("http://a.example/", &["id=7; Path=/shop"]);
    for (path, sent) in
        [("/shop", true), ("/shop/", true), ("/shop/1", true), ("/shopping", false), ("/", false)]
    {
        assert_eq!(jar.field(&url(&format!("http://a.example{path}")), NOW).is_some(), sent, "{path}");
    }
}

#[test]
fn a_secure_cookie_stays_on_https() {
    let mut jar = jar("https://a.example/", &["id=7; Secure; Path=/"]);
    assert!(jar.field(&url("https://a.example/"), NOW).is_some());
    assert_eq!(jar.field(&url("http://a.example/"), NOW), None);
    jar.receive(&response("http://a.example/", &["id=8; Path=/", "id=9; Secure; Path=/"], NOW));
    assert_eq!(jar.field(&url("https://a.example/"), NOW).as_deref(), Some("id=7"));
}

#[test]
fn prefixes_promise_what_they_say() {
    for field in
        ["__Secure-a=1", "__Host-a=1; Secure; Path=/x", "__Host-a=1; Secure; Path=/; Domain=a.example"]
    {
        assert_eq!(
            jar("https://a.example/", &[field]).field(&url("https://a.example/x"), NOW),
            None,
            "{field}"
        );
    }
    assert!(
        jar("https://a.example/", &["__Host-a=1; Secure; Path=/"])
            .field(&url("https://a.example/"), NOW)
            .is_some()
    );
}

#[test]
fn cookies_end_when_they_say() {
    let mut jar = jar(
        "http://a.example/",
        &[
            "age=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "date=2; Expires=Sun, 22 Nov 2026 00:00:00 GMT",
            "session=3",
        ],
    );
    let page = url("http://a.example/");
    assert_eq!(jar.field(&page, NOW).as_deref(), Some("age=1; date=2; session=3"));
    assert_eq!(jar.field(&page, NOW + 10 * SECOND).as_deref(), Some("date=2; session=3"));
    assert_eq!(jar.field(&page, NOW + 86_400 * SECOND).as_deref(), Some("session=3"));
    jar.receive(&response("http://a.example/", &["session=; Max-Age=0"], NOW));
    assert_eq!(jar.field(&page, NOW).as_deref(), Some("age=1; date=2"));
}

#[test]
fn a_jar_tells_what_would_be_new() {
    let jar = jar("http://a.example/", &["id=7"]);
    let change = |field: &str| jar.would_change(&response("http://a.example/", &[field], NOW));
    assert!(change("id=8") && change("other=7"));
    assert!(!change("id=7") && !change("gone=1; Max-Age=0") && !change("id=8; Domain=b.example"));
}

#[test]
fn limits_hold_whatever_sites_send() {
    let long = format!("long={}", "x".repeat(5_000));
    assert_eq!(jar("http://a.example/", &[&long]).field(&url("http://a.example/"), NOW), None);
    let many: Vec<String> = (0..200).map(|number| format!("c{number}={}", "x".repeat(1_000))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let jar = jar("http://a.example/", &many);
    assert_eq!(jar.domains["a.example"].cookies.len(), MAX_OF_DOMAIN);
    assert!(jar.field(&url("http://a.example/"), NOW).unwrap().len() <= MAX_SENT);
    let mut small = Jar::new(10_000);
    for number in 0..1_000 {
        small.receive(&response(&format!("http://h{number}.example/"), &["id=7"], NOW + number));
        assert!(small.bytes <= 10_000);
    }
    assert!(small.field(&url("http://h999.example/"), NOW).is_some(), "what was set last stays");
    let mut none = Jar::new(0);
    none.receive(&response("http://a.example/", &["id=7"], NOW));
    assert!(none.domains.is_empty());
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked_and_bytes_are_counted(
        fields in proptest::collection::vec("[a-c]=[a-z]{0,9}(; Path=/[a-b]?)?(; Max-Age=[0-9])?(; Domain=a.example)?(; Secure)?", 0..20),
        hosts in proptest::collection::vec("https?://([a-b][.])?[a-c][.]example/x", 0..20),
    ) {
        let mut jar = Jar::new(1 << 20);
        for (at, (host, field)) in hosts.iter().zip(&fields).enumerate() {
            jar.receive(&response(host, &[field], NOW + at as Micros * SECOND));
            let counted: usize = jar.domains.iter().map(|(name, domain)| OVERHEAD + name.len() + domain.bytes()).sum();
            prop_assert_eq!(jar.bytes, counted);
        }
        let (mut packed, mut again) = (Vec::new(), Jar::new(1 << 20));
        jar.pack(&mut packed);
        again.unpack(&packed).unwrap();
        prop_assert_eq!(again.bytes, jar.bytes);
        for host in &hosts {
            prop_assert_eq!(again.field(&url(host), NOW), jar.field(&url(host), NOW));
        }
    }

    #[test]
    fn any_field_is_read_or_passed_over(field: String) {
        let jar = jar("http://a.example/", &[&field]);
        if let Some(sent) = jar.field(&url("http://a.example/"), NOW) {
            prop_assert!(!sent.contains(['\r', '\n', '\0']));
        }
    }
}
