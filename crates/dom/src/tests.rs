//! Pages and their trees.

use proptest::prelude::*;

use super::*;

/// The body of a page's tree: elements with what is in them, and texts.
fn body(html: &str) -> String {
    let tree = parse(html, &Limits::default());
    let body = (0..tree.len() as NodeId).find(|node| tree.tag(*node) == Tag::Body).unwrap();
    inside(&tree, body)
}

/// What is in an element.
fn inside(tree: &Tree, element: NodeId) -> String {
    let all = tree.children(element).map(|node| match tree.text(node) {
        Some(text) => text.to_owned(),
        None => format!("{}({})", tree.tag(node).name(), inside(tree, node)),
    });
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn tags_that_were_left_out_are_implied() {
    assert_eq!(body("<p>a<p>b<ul><li>c<li>d</ul>e"), "p(a) p(b) ul(li(c) li(d)) e");
    assert_eq!(body("<table><tr><td>a<td>b<tr><td>c</table>d"), "table(tbody(tr(td(a) td(b)) tr(td(c)))) d");
    assert_eq!(body("<dl><dt>a<dd>b<dt>c</dl>"), "dl(dt(a) dd(b) dt(c))");
}

#[test]
fn what_does_not_belong_into_a_table_is_before_it() {
    assert_eq!(body("<table>a<tr><td>b</table>"), "a table(tbody(tr(td(b))))");
    assert_eq!(body("<table><div>a</div><tr><td>b</table>"), "div(a) table(tbody(tr(td(b))))");
}

#[test]
fn a_field_ends_the_choice_before_it() {
    assert_eq!(body("<select><option>a<input><p>b</p>"), "select(option(a)) input() p(b)");
    assert_eq!(
        body("<div><select><option>a<select><option>c</select><p>b</div>"),
        "div(select(option(a)) option(c p(b)))"
    );
    assert_eq!(body("<select><option>a<textarea>x</textarea><p>b"), "select(option(a)) textarea(x) p(b)");
}

#[test]
fn a_template_ends_whatever_is_open_in_it() {
    assert_eq!(body("<body><template><tr><td>x</template><p>y"), "template(tr(td(x))) p(y)");
}

#[test]
fn the_end_of_a_phrase_closes_no_block() {
    assert_eq!(body("<div><span><div>a</span>b</div>c</div>d"), "div(span(div(ab) c)) d");
    assert_eq!(body("<p><label>a<time>b</label>c</p>d"), "p(label(a time(b)) c) d");
    assert_eq!(body("<x-a>a<p>b</x-b>c"), "(a p(bc))");
}

#[test]
fn the_end_of_a_form_closes_no_block_in_it() {
    assert_eq!(body("<form><div>a</form><p>b</div>c"), "form(div(a p(b))) c");
}

#[test]
fn end_tags_within_svg_close_what_is_around_it() {
    assert_eq!(body("<div><svg><path d=x></div>Text"), "div(svg(())) Text");
    assert_eq!(body("<svg><g><path/></g></svg>Text"), "svg((())) Text");
    assert_eq!(body("<svg><g><p>Text"), "svg(()) p(Text)");
}

#[test]
fn formatting_that_overlaps_closes_no_block() {
    assert_eq!(body("<b><p>a</b>b</p>c"), "b(p(ab)) c");
    assert_eq!(body("<a href=1>a<a href=2>b</a>"), "a(a) a(b)");
}

#[test]
fn a_link_that_ends_before_a_block_in_it_is_around_what_was_read() {
    let tree = parse("<a href=/x><div>a</a><p>b</div>c", &Limits::default());
    let node = |tag| tree.ids().find(|node| tree.tag(*node) == tag).unwrap();
    assert_eq!((tree.end(node(Tag::A)), tree.end(node(Tag::P))), (node(Tag::P), crate::NONE));
    // With very much in it, all of that ends, too: keeping it open would cost that much for each end tag.
    let inner = format!("{}{}", "ul(".repeat(40), ")".repeat(40));
    assert_eq!(body(&format!("<b>{}</b>x", "<ul>".repeat(40))), format!("b({inner}) x"));
}

#[test]
fn in_xml_any_element_ends_with_a_tag_that_says_so() {
    let xml = Limits { is_xml: true, ..Limits::default() };
    let tree = parse("<head><script src='a'/><title/></head><body><a id='x'/><p>b", &xml);
    assert!(tree.ids().any(|node| tree.text(node) == Some("b") && tree.tag(tree.parent(node)) == Tag::P));
}

#[test]
fn scripts_are_no_text_of_what_is_around_them_at_any_depth() {
    let html = format!("{}<script>a<b</script><svg><title>b</title></svg>c", "<div>".repeat(600));
    let tree = parse(&html, &Limits::default());
    let texts: Vec<_> = (0..tree.len() as NodeId)
        .filter_map(|node| tree.text(node).map(|text| (tree.tag(tree.parent(node)), text)))
        .collect();
    assert_eq!(texts, [(Tag::Script, "a<b"), (Tag::Svg, "b"), (Tag::Div, "c")]);
}

#[test]
fn limits_hold() {
    let limits = Limits { nodes: 20, attributes: 3, ..Limits::default() };
    let tree = parse(&"<p a b c d a=1>x".repeat(30), &limits);
    assert!(tree.is_cut() && tree.len() <= 20);
    assert!((0..tree.len() as NodeId).all(|node| tree.attributes(node).count() <= 3));
    let many = "<p a b c d e f>".repeat(10_000);
    let tree = parse(&many, &Limits::default());
    let all: usize = (0..tree.len() as NodeId).map(|node| tree.attributes(node).count()).sum();
    assert!(all <= many.len() / 6 + 4_096, "{all}");
}

proptest! {
    #[test]
    fn every_text_is_kept_once(parts in prop::collection::vec(("[a-z]{1,3}", 0usize..20), 0..40)) {
        const TAGS: [&str; 20] = [
            "<div>", "</div>", "<p>", "</p>", "<b>", "</b>", "<span>", "</span>", "<table>", "</table>", "<tr>", "<td>", "<ul>", "<li>",
            "</ul>", "<a href=x>", "</a>", "<form>", "</form>", "<svg><g>",
        ];
        let html: String = parts.iter().map(|(text, tag)| format!("{text}{}", TAGS[*tag])).collect();
        let tree = parse(&html, &Limits::default());
        let mut texts: Vec<char> =
            (0..tree.len() as NodeId).filter_map(|node| tree.text(node)).flat_map(str::chars).collect();
        let mut given: Vec<char> = parts.iter().flat_map(|(text, _)| text.chars()).collect();
        texts.sort_unstable();
        given.sort_unstable();
        prop_assert_eq!(texts, given);
    }
}
