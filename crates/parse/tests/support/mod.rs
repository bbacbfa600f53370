//! Bodies that are expensive for a parser, each of about `bytes` bytes; and a function that parses them.

use bytes::Bytes;
use lycosa_parse::{Settings, parse};
use lycosa_records::{Head, Outcome, Received, Request, Response, Times};
use lycosa_url::CrawlUrl;

/// A body with its name and its Content-Type.
pub(crate) type Hostile = (&'static str, &'static str, Vec<u8>);

/// `text`, repeated to `bytes` bytes.
fn fill(text: &str, bytes: usize) -> Vec<u8> {
    let mut body = text.repeat(bytes / text.len() + 1).into_bytes();
    body.truncate(bytes);
    body
}

/// `start`, then `text`, repeated to `bytes` bytes.
fn after(start: &str, text: &str, bytes: usize) -> Vec<u8> {
    [start.as_bytes(), &fill(text, bytes)].concat()
}

/// Different lines, up to about `bytes` bytes.
fn numbered(bytes: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut body = String::with_capacity(bytes + 100);
    let mut number = 0;
    while body.len() < bytes {
        body.push_str(&line(number));
        number += 1;
    }
    body.into_bytes()
}

/// Distinct `nofollow` links, then all again without it in reverse order, relative to a long base.
fn follow_again(bytes: usize) -> Vec<u8> {
    let start = format!("<base href='/{}/'>", "d".repeat(7_900));
    let count = (bytes / 40).min(5_000);
    let mut body = start;
    (0..count).for_each(|number| body.push_str(&format!("<a rel=nofollow href={number}>")));
    (0..count).rev().for_each(|number| body.push_str(&format!("<a href={number}>")));
    body.into_bytes()
}

/// All hostile bodies.
pub(crate) fn hostile(bytes: usize) -> Vec<Hostile> {
    const HTML: &str = "text/html; charset=utf-8";
    let utf16 =
        |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).cycle().take(bytes & !1).collect();
    let half = bytes / 2;
    vec![
        ("links that are all different", HTML, numbered(bytes, |n| format!("<a href={n}>"))),
        ("one link over and over", HTML, fill("<a href=x>", bytes)),
        (
            "links behind a long base",
            HTML,
            [
                format!("<base href='/{}/'>", "d".repeat(8_000)).into_bytes(),
                numbered(bytes, |n| format!("<a href={n}>")),
            ]
            .concat(),
        ),
        (
            "one link behind a long base, which needs the parser",
            HTML,
            after(&format!("<base href='/{}/'>", "d".repeat(8_000)), "<a href='./%7e'>", bytes),
        ),
        ("nofollow taken back in reverse", HTML, follow_again(bytes)),
        (
            "links with long queries of trackers",
            HTML,
            after("", &format!("<a href='?{}'>", "utm_a=1&".repeat(1_000)), bytes),
        ),
        ("links of escapes", HTML, after("", &format!("<a href='/{}'>", "%zz%7E%c3%28".repeat(500)), bytes)),
        ("links of dot segments", HTML, after("", &format!("<a href='/{}'>", "a/../".repeat(1_500)), bytes)),
        (
            "links of dots in the host",
            HTML,
            after("", &format!("<a href='//{}'>", "a.".repeat(4_000)), bytes),
        ),
        (
            "links of punycode",
            HTML,
            after("", &format!("<a href='//{}'>", "xn--bcher-kva.".repeat(500)), bytes),
        ),
        (
            "links of wide letters in the host",
            HTML,
            after("", &format!("<a href='//{}'>", "\u{ff41}\u{fdfa}".repeat(1_300)), bytes),
        ),
        (
            "links of entities",
            HTML,
            after("", &format!("<a href='/{}'>", "&amp;&lt&#x41;".repeat(500)), bytes),
        ),
        ("attributes of one element", HTML, after("<a ", "b ", bytes)),
        (
            "attributes of one element, then a link",
            HTML,
            [after("<a ", "b ", half), b" href=x>".to_vec()].concat(),
        ),
        (
            "different attributes of one element",
            HTML,
            [b"<a ".to_vec(), numbered(bytes, |n| format!("b{n}=1 ")), b" href=x>".to_vec()].concat(),
        ),
        (
            "elements of many attributes",
            HTML,
            after("", &format!("<a {} href=x>", "b=c ".repeat(20_000)), bytes),
        ),
        ("a long attribute", HTML, after("<a href='", "x", bytes)),
        ("a long attribute with an end", HTML, [after("<a href='", "x", bytes), b"'>".to_vec()].concat()),
        ("a long attribute of entities", HTML, [after("<a href='", "&amp;", bytes), b"'>".to_vec()].concat()),
        ("long attributes", HTML, after("", &format!("<a href='{}'>", "x".repeat(500_000)), bytes)),
        ("a comment without an end", HTML, after("<!--", "-", bytes)),
        ("comments without an end that begin again", HTML, after("", "<!--x", bytes)),
        ("comments that nearly end", HTML, after("<!--", "--!", bytes)),
        ("a script without an end", HTML, after("<script>", "x</scrip", bytes)),
        ("a script in a comment without an end", HTML, after("<script><!--", "<script>", bytes)),
        ("a title without an end", HTML, after("<title>", "x", bytes)),
        ("a title of white space", HTML, after("<title>", " ", bytes)),
        ("a title of entities", HTML, after("<title>", "&CounterClockwiseContourIntegral;", bytes)),
        ("a title of half entities", HTML, after("<title>", "&Counter", bytes)),
        ("titles", HTML, fill("<title>x</title>", bytes)),
        ("elements in elements", HTML, fill("<b>", bytes)),
        ("elements in elements, then ends of others", HTML, [fill("<b>", half), fill("</i>", half)].concat()),
        ("elements in elements, and their ends", HTML, [fill("<b>", half), fill("</b>", half)].concat()),
        ("elements in elements, each with its own name", HTML, numbered(bytes, |n| format!("<x{n}>"))),
        (
            "deep elements, and ends that take turns",
            HTML,
            [fill("<b>", half.min(200_000)), fill("<i></i></u>", half)].concat(),
        ),
        ("ends of nothing", HTML, fill("</x>", bytes)),
        ("foreign elements in each other", HTML, fill("<svg><math><mi>", bytes)),
        ("an element with a long name", HTML, after("<", "x", bytes)),
        ("elements with long names", HTML, after("", &format!("<{}>", "x".repeat(60_000)), bytes)),
        ("signs of less", HTML, fill("<", bytes)),
        ("half tags", HTML, fill("<a", bytes)),
        ("CDATA without an end", HTML, after("<svg><![CDATA[", "]]", bytes)),
        ("instructions", HTML, fill("<?x", bytes)),
        (
            "metas for robots",
            HTML,
            after("", &format!("<meta name=robots content='{}'>", "noindex,".repeat(10_000)), bytes),
        ),
        ("refreshes", HTML, fill("<meta http-equiv=refresh content='0;url=x'>", bytes)),
        ("canonicals", HTML, fill("<link rel=canonical href=x>", bytes)),
        (
            "relations of many words",
            HTML,
            after("", &format!("<a href=x rel='{}'>", "a ".repeat(100_000)), bytes),
        ),
        ("text only", HTML, fill("lorem ipsum ", bytes)),
        ("white space only, without a type", "", fill(" ", bytes)),
        ("bytes that are no UTF-8", HTML, vec![0xff; bytes]),
        (
            "bytes whose encoding is guessed",
            "text/html",
            b"<p>".to_vec().into_iter().chain((0..bytes).map(|n| 0x80 | (n * 7 % 128) as u8)).collect(),
        ),
        ("metas that name no encoding", "text/html", fill("<meta charset", bytes)),
        ("text of two-byte units", "text/html; charset=utf-16le", utf16("lorem \u{4e2d}\u{6587} ipsum ")),
        ("links of two-byte units", "text/html; charset=utf-16le", utf16("<a href=x>")),
        ("elements of two-byte units", "text/html; charset=utf-16le", utf16("<b>")),
        ("a comment of two-byte units", "text/html; charset=utf-16le", utf16("<!--x")),
        ("escapes of ISO-2022-JP", "text/html; charset=iso-2022-jp", fill("\u{1b}$B\u{1b}(B", bytes)),
        (
            "letters of GB 18030",
            "text/html; charset=gb18030",
            (0..bytes).map(|n| [0x81, 0x30, 0x81, 0x30][n % 4]).collect(),
        ),
        (
            "a title in Shift JIS",
            "text/html; charset=shift_jis",
            [b"<title>".to_vec(), vec![0x82; bytes]].concat(),
        ),
    ]
}

/// A page with this body.
pub(crate) fn page(content_type: &str, body: Bytes) -> Outcome {
    let request = Request {
        lease: 1,
        ..Request::get(
            CrawlUrl::parse("http://example.com/dir/page").unwrap_or_else(|bad| unreachable!("{bad}")),
        )
    };
    let head = Head::of("HTTP/1.1 200", [("content-type", content_type)]).unwrap_or_default();
    let result = Ok(Received { status: 200, head, body: body.clone().into(), ..Received::default() });
    let (address, started, finished, times) = (None, 0, 0, Times::default());
    parse(Response { request, address, started, finished, times, result }, Ok(body), &Settings::default())
}

/// Seconds of CPU time of this thread, which other programs do not affect.
pub(crate) fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e9
}
