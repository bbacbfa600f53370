//! Pages and their Markdown.

use lycosa_dom::{Limits, parse};
use proptest::prelude::*;

use super::*;

/// The Markdown of a whole page.
fn of(html: &str) -> String {
    let tree = parse(html, &Limits::default());
    let blocks = Blocks::of(&tree);
    let all = vec![true; blocks.all.len()];
    markdown(&tree, &blocks, &all, Options { links: true, images: true }, "")
}

#[test]
fn headings_and_paragraphs() {
    assert_eq!(
        of("<h1>One</h1><p>Two  <b>three</b>\nfour.<h2>Five</h2>six"),
        "# One\n\nTwo **three** four.\n\n## Five\n\nsix\n"
    );
    assert_eq!(of("<p>a<br>b</p>"), "a\\\nb\n");
}

#[test]
fn lists_within_lists() {
    let html = "<ul><li>a<ol start=3><li>b</li><li>c<ul><li>d</ul></ol></li><li>e</li></ul><p>f";
    assert_eq!(of(html), "- a\n  3. b\n  4. c\n     - d\n- e\n\nf\n");
    assert_eq!(of("<ul><li><p>a</p><p>b</p></li><li>c</li></ul>"), "- a\n\n  b\n\n- c\n");
}

#[test]
fn quotes_and_lines() {
    assert_eq!(of("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>c"), "> a\n>\n> > b\n\nc\n");
}

#[test]
fn lists_in_a_row_stay_apart_and_numbers_are_the_page_s() {
    assert_eq!(of("<ol><li>a<li>b</ol><ol><li>c</ol><ol><li>d</ol>"), "1. a\n2. b\n\n1) c\n\n1. d\n");
    assert_eq!(of("<ul><li>a</ul><ul><li>b</ul><p>x</p><ul><li>c</ul>"), "- a\n\n* b\n\nx\n\n- c\n");
    assert_eq!(of("<ol start=3><li>a<li value=7>b<li>c</ol>"), "3. a\n7. b\n8. c\n");
}

#[test]
fn numbers_of_lines_are_no_code() {
    let table = "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div></td>\
        <td class=code><div class='highlight-default'><pre>a = 1\nb = 2</pre></div></td></tr></table>";
    let text = of(table);
    assert!(text.contains("a = 1\nb = 2") && !text.contains("1\n2\n"), "{text}");
    assert_eq!(
        of("<pre><span class=lineno>1 </span>a\n<span class=lineno>2 </span>b</pre>"),
        "```\na\nb\n```\n"
    );
}

#[test]
fn the_first_address_that_an_image_has_is_used() {
    assert_eq!(of("<p>a <img data-src='' src=/b alt=c>"), of("<p>a <img src=/b alt=c>"));
    assert_eq!(of("<p>a <img data-src=data:x src=/b alt=c>"), of("<p>a <img src=/b alt=c>"));
}

#[test]
fn a_footnote_is_no_exponent() {
    assert_eq!(of("<p>10<sup>6</sup>"), "10^6\n");
    assert!(!of("<p>in 1990<sup><a href=#n3>3</a></sup>").contains('^'));
}

#[test]
fn code_has_its_language_and_its_fence() {
    assert_eq!(
        of("<pre><code class=\"x language-rust\">fn a() {}\n  b</code></pre>"),
        "```rust\nfn a() {}\n  b\n```\n"
    );
    assert_eq!(of("<pre>a ``` b</pre>"), "````\na ``` b\n````\n");
    assert_eq!(of("<p>see <code>a`b</code>.</p>"), "see ``a`b``.\n");
}

#[test]
fn code_stays_in_its_fence() {
    assert_eq!(of("<blockquote><pre>a&#13;[x](y)</pre></blockquote>"), "> ```\n> a\n> [x](y)\n> ```\n");
}

#[test]
fn formulas_stay_between_their_dollars() {
    let of_tex = |tex: &str| {
        of(&format!("<p>so <math><annotation encoding=application/x-tex>{tex}</annotation></math> holds"))
    };
    assert_eq!(of_tex("a &lt; b"), "so $a \\lt  b$ holds\n");
    let escaped = of_tex("x$ &lt;img src=x onerror=alert(1)&gt; [a](javascript:b) $");
    assert!(escaped.contains("\\$ \\<img") && escaped.contains("\\[a\\]("), "{escaped}");
    assert!(!of_tex("a\\").contains("$a\\$"));
}

#[test]
fn marks_are_written_where_they_are_marks() {
    assert_eq!(of("<p><b>注意：</b>内容"), "注意：内容\n");
    assert_eq!(of("<p>是<b>“重点”</b>吗"), "是“重点”吗\n");
    assert_eq!(of("<p><b>重点</b>内容 <b>Note:</b> text"), "**重点**内容 **Note:** text\n");
    assert_eq!(of("<p><b>a</b><b>b</b> <i>c</i>"), "**ab** *c*\n");
    assert_eq!(of("<p><b>a</b> <b>b</b>"), "**a** **b**\n");
}

#[test]
fn a_link_around_blocks_is_kept() {
    assert_eq!(of("<a href=/x><h3>Title</h3><p>More</p></a>"), "### [Title](/x)\n\n[More](/x)\n");
    assert_eq!(of("<p><a href=/x>a<br>b</a>"), "[a b](/x)\n");
    assert_eq!(of("<p><a href=1>x <object><a href=2>y</a></object></a>").matches("](").count(), 1);
}

#[test]
fn a_long_base_makes_little_of_many_short_links() {
    let html = format!(
        "<base href='https://a.example/{}/'><p>{}",
        "a".repeat(8_000),
        "<a href=b>a</a> ".repeat(2_000)
    );
    let tree = parse(&html, &Limits::default());
    let blocks = Blocks::of(&tree);
    let all = vec![true; blocks.all.len()];
    let made = markdown(&tree, &blocks, &all, Options { links: true, images: true }, "https://a.example/");
    assert!(made.len() < 2 << 20, "{}", made.len());
}

#[test]
fn lines_of_signs_are_text() {
    assert_eq!(of("<p>a | b<br>--- | ---"), "a | b\\\n\\--- | ---\n");
    assert_eq!(of("<p>- -"), "\\- -\n");
}

#[test]
fn a_table_has_its_caption_and_all_its_cells() {
    let html = "<table><caption>Prices</caption><tr><td>a<td>b<tr><td>c<td>d</table>";
    assert_eq!(of(html), "Prices\n\n| a | b |\n| --- | --- |\n| c | d |\n");
    let wide = format!("<table><tr>{}<tr><td>x<td>y</table>", "<td>c".repeat(150));
    assert_eq!(of(&wide).matches('c').count(), 150);
}

#[test]
fn an_image_that_is_loaded_late_is_there_once() {
    let html = "<p>a <img data-src=/1.jpg><noscript><img src=/1.jpg></noscript> b";
    assert_eq!(of(html).matches("1.jpg").count(), 1);
}

#[test]
fn tables_with_spans() {
    let html =
        "<table><tr><th>a<th>b<th>c</tr><tr><td rowspan=2>1<td colspan=2>2|3</tr><tr><td>4<td>5</table>";
    assert_eq!(of(html), "| a | b | c |\n| --- | --- | --- |\n| 1 | 2\\|3 |  |\n|  | 4 | 5 |\n");
    assert_eq!(of("<table><tr><td><h1>a</h1><td>b</table>"), "# a\n\nb\n");
}

#[test]
fn links_images_and_formulas() {
    assert_eq!(of("<p><a href='/x (1)'>a <i>b</i></a> c"), "[a *b*](/x%20%281%29) c\n");
    assert_eq!(of("<p><a href='javascript:x'>a</a>"), "a\n");
    assert_eq!(of("<p>a <img src=/i.png alt='an image'> b"), "a ![an image](/i.png) b\n");
    let formula = "<p>so <math><semantics><mi>x</mi><annotation encoding=application/x-tex>x^2</annotation></semantics></math> holds";
    assert_eq!(of(formula), "so $x^2$ holds\n");
}

#[test]
fn line_breaks_at_the_ends_are_none() {
    assert_eq!(
        of("<p>Hello<br></p><div>a<br><p>b</p></div><p><b><br>x</b></p>"),
        "Hello\n\na\n\nb\n\n**x**\n"
    );
    assert_eq!(of("<h1>Path C:\\</h1>"), "# Path C:\\\\\n");
}

#[test]
fn lists_and_quotes_that_begin_items() {
    let quote = "<ul><li><blockquote><p>a</p><p>b</p></blockquote></ul>";
    assert_eq!(of(quote), "- > a\n  >\n  > b\n");
    assert_eq!(of("<ul><li><ul><li>x<li>y</ul></ul>"), "- - x\n  - y\n");
}

#[test]
fn lines_of_code_may_be_elements() {
    assert_eq!(of("<pre><div class=line>a</div><div class=line>  b</div></pre>"), "```\na\n  b\n```\n");
    for class in [
        "highlight-python",
        "sourceCode python",
        "mw-highlight-lang-python",
        "brush: python",
        "language-python",
    ] {
        assert_eq!(of(&format!("<div class='{class}'><pre>a</pre></div>")), "```python\na\n```\n", "{class}");
    }
}

#[test]
fn tables_that_span_more_than_they_have_are_written_as_blocks() {
    let html = format!("<table><tr><td rowspan=1000000 colspan=99>x<td>y{}</table>", "<tr>".repeat(50_000));
    assert_eq!(of(&html), "x\n\ny\n");
}

#[test]
fn deep_quotes_and_marks_do_not_grow_with_their_depth() {
    let html = format!("{}{}", "<blockquote>".repeat(199), "a<br>".repeat(20_000));
    assert!(of(&html).len() < html.len() * 40);
    let marks = format!("<p>{}{}", "<b><i>".repeat(250), "word ".repeat(20_000));
    assert!(of(&marks).len() < marks.len() * 2);
}

#[test]
fn addresses_of_scripts_are_left_out_however_they_are_written() {
    for target in
        ["java&#10;script:alert(1)", "&#1;javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "blob:x"]
    {
        assert_eq!(of(&format!("<p><a href=\"{target}\">a</a>")), "a\n", "{target}");
    }
    assert_eq!(
        of("<p><a href='/a:b'>a</a> <a href=mailto:b@c.example>b</a>"),
        "[a](/a:b) [b](mailto:b@c.example)\n"
    );
}

#[test]
fn addresses_are_resolved_where_the_page_is_known() {
    let tree = parse(
        "<base href=/docs/><p><a href=a>a</a> <a href=#b>b</a> <img src=//c.example/d>",
        &Limits::default(),
    );
    let blocks = Blocks::of(&tree);
    let options = Options { links: true, images: true };
    assert_eq!(
        markdown(&tree, &blocks, &[true], options, "https://www.example/x/y"),
        "[a](https://www.example/docs/a) [b](#b) ![](https://c.example/d)\n"
    );
}

#[test]
fn what_nobody_sees_is_no_code() {
    let unseen = "<span style='display:none'>SECRET</span><script>evil()</script>";
    assert_eq!(of(&format!("<p><code>l{unseen}s</code>")), "`ls`\n");
    assert_eq!(of(&format!("<pre>l{unseen}s</pre>")), "```\nls\n```\n");
    assert_eq!(of("<p><code>a&#1;# b</code>"), "`a# b`\n");
}

#[test]
fn a_link_ends_where_it_ends() {
    assert_eq!(of("<a href=/x><div><h2>Lamp</h2></a><p>Small</p></div>"), "## [Lamp](/x)\n\nSmall\n");
}

#[test]
fn quotes_within_quotes_are_no_multiple_of_short_lines() {
    let html = format!("{}<pre>x{}y</pre><p>z", "<blockquote>".repeat(16), "\n".repeat(10_000));
    let made = of(&html);
    assert!(
        made.len() < 2 * html.len() && made.starts_with("```\nx\n") && made.ends_with("z\n"),
        "{}",
        made.len()
    );
}

#[test]
fn signs_at_ends_of_headings_and_marks_before_letters() {
    assert_eq!(of("<h2>C #</h2><p><b>Note:</b>text"), "## C \\#\n\nNote:text\n");
}

#[test]
fn what_looks_like_a_formula_or_an_image_is_escaped() {
    assert_eq!(of("<p>It costs $5 or $6"), "It costs \\$5 or \\$6\n");
    assert_eq!(of("<p>Wow!<a href=/x>link</a>"), "Wow\\![link](/x)\n");
    assert_eq!(of("<p><span class=math>Algebra</span> and 10<sup>6</sup>"), "Algebra and 10^6\n");
    let katex = "<p>so <span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation encoding=application/x-tex>x</annotation></semantics></math></span><span class=katex-html aria-hidden=true>x</span></span> holds";
    assert_eq!(of(katex), "so $x$ holds\n");
}

#[test]
fn images_and_formulas_may_stand_alone() {
    assert_eq!(of("<article><p>a</p><figure><img src=b></figure><p>c</p></article>"), "a\n\n![](b)\n\nc\n");
    let formula = "<p>a</p><p><math display=block><annotation encoding=application/x-tex>x</annotation></math></p><p>b</p>";
    assert_eq!(of(formula), "a\n\n$$x$$\n\nb\n");
    assert_eq!(of("<img src=logo><p>a</p>"), "a\n");
}

#[test]
fn what_is_no_text_of_the_page_is_not_written() {
    assert_eq!(
        of("<p>Watch <video>No video.</video> now, <select><option>a</select> or <textarea>b</textarea>."),
        "Watch now, or .\n"
    );
}

#[test]
fn text_is_not_markup() {
    assert_eq!(
        of("<p># a *b* [c] <p>1. d <p>- e <p>snake_case _f_"),
        "\\# a \\*b\\* \\[c\\]\n\n1\\. d\n\n\\- e\n\nsnake_case \\_f\\_\n"
    );
}

#[test]
fn what_is_not_chosen_is_not_written() {
    let tree = parse("<nav>a</nav><p>b <i>c</i></p><footer>d</footer>", &Limits::default());
    let blocks = Blocks::of(&tree);
    assert_eq!(markdown(&tree, &blocks, &[false, true, false], Options::default(), ""), "b *c*\n");
}

proptest! {
    #[test]
    fn every_letter_is_written_once_and_in_its_place(html in "(<(div|p|h1|ul|ol|li|table|tr|td|blockquote|b|i|a href=/|code|pre|br)>|</(div|p|li|ul|a|b|table)>|[0-9]{1,3}[a-z]| ){0,50}") {
        let tree = parse(&html, &Limits::default());
        let blocks = Blocks::of(&tree);
        let all = vec![true; blocks.all.len()];
        let text = markdown(&tree, &blocks, &all, Options::default(), "");
        // Numbers of lists are no text of the page.
        let letters = |text: &str| text.chars().filter(|character| character.is_alphabetic()).collect::<String>();
        prop_assert_eq!(letters(&text), letters(&blocks.text), "{}", text);
    }
}
