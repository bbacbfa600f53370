//! Text of pages.

use lycosa_dom::{Limits, parse};
use lycosa_parse::{XHTML, caught};
use lycosa_text::blocks::Blocks;
use lycosa_text::extract::{Page, Role};
use lycosa_text::fingerprint::Fingerprint;
use lycosa_text::kind;
use lycosa_text::markdown::Options;
use lycosa_text::metadata::Metadata;
use lycosa_text::posts::posts;
use lycosa_text::refusal::{Seen, refusal};
use lycosa_text::{density, is_binary};
use pyo3::prelude::*;

use crate::errors::{setting, unreadable};

/// Adds this file's names.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ExtractedPage>()?;
    m.add_function(wrap_pyfunction!(fingerprint, m)?)?;
    m.add_function(wrap_pyfunction!(extract_page, m)?)
}

/// Simhash and digest of a text; `None`: it has no word.
#[pyfunction]
fn fingerprint(py: Python<'_>, text: &str) -> PyResult<Option<(u64, [u8; 16])>> {
    let found = py.detach(|| caught(|| Fingerprint::of(text))).map_err(|reason| unreadable("", &reason))?;
    Ok(found.map(|Fingerprint { simhash, digest }| (simhash, digest)))
}

/// What a page says.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct ExtractedPage {
    /// `None`: the bytes are no text, or the method looks at no tree.
    page: Option<Page>,
    /// The page's own, or empty.
    url: String,
    /// What it states of itself, where no tree is kept that it is read from when it is asked for.
    metadata: Option<Metadata>,
    /// Whether it has more elements, or more blocks, than are looked at.
    #[pyo3(get)]
    is_cut: bool,
    /// The text by the published method.
    published: String,
    #[pyo3(get)]
    kind: &'static str,
    #[pyo3(get)]
    confidence: Option<f32>,
    #[pyo3(get)]
    refusal: Option<&'static str>,
}

/// Reads a page. `content_type`: of its response, if there was one; `method`: `lycosa` or `density-paper`; `headers`: of its response,
/// with names in lower case.
#[pyfunction]
#[pyo3(signature = (body, url = "", content_type = None, method = "lycosa", status = 200, headers = Vec::new()))]
fn extract_page(
    py: Python<'_>,
    body: &[u8],
    url: &str,
    content_type: Option<&str>,
    method: &str,
    status: u16,
    headers: Vec<(String, String)>,
) -> PyResult<ExtractedPage> {
    let is_published = match method {
        "lycosa" => false,
        "density-paper" => true,
        _ => return Err(setting("method", method, "lycosa or density-paper")),
    };
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let read = || ExtractedPage::of(body, url, content_type, is_published, (status, &headers));
    py.detach(|| caught(read)).map_err(|reason| unreadable(url, &reason))
}

impl ExtractedPage {
    /// Reads a page.
    fn of(
        body: &[u8],
        url: &str,
        content_type: Option<&str>,
        is_published: bool,
        (status, headers): (u16, &[(&str, &str)]),
    ) -> Self {
        let html = lycosa_parse::detect(content_type, body).decode(body).0;
        if is_binary(&html) {
            return ExtractedPage::binary();
        }
        let is_xml = content_type.is_some_and(|is| is.to_ascii_lowercase().contains(XHTML));
        let tree = parse(&html, &Limits { is_xml, ..Limits::default() });
        let blocks = Blocks::of(&tree);
        let refusal = refusal(&Seen::of(&tree, &blocks, &html, headers, status)).map(|refusal| refusal.kind);
        // As in a crawl: what such a page has is what there is without a browser.
        let refusal = refusal.filter(|kind| *kind != "needs-script");
        let is_cut = blocks.is_cut || tree.is_cut();
        let metadata = is_published.then(|| Metadata::of(&tree, url));
        let page = (!is_published).then(|| Page::of(tree, blocks, url, &[]));
        ExtractedPage {
            url: url.to_owned(),
            is_cut,
            refusal,
            kind: page.as_ref().and_then(|page| page.kind).map_or("other", kind::name),
            confidence: page.as_ref().map(|page| page.confidence),
            published: if is_published { density::extract(&html) } else { String::new() },
            page,
            metadata,
        }
    }

    /// Of bytes that are no text.
    fn binary() -> Self {
        ExtractedPage {
            page: None,
            url: String::new(),
            is_cut: false,
            metadata: None,
            published: String::new(),
            kind: "binary",
            confidence: None,
            refusal: None,
        }
    }
}

#[pymethods]
impl ExtractedPage {
    /// What the page states of itself, by name; what it does not state is left out.
    fn metadata(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let read = || self.page.as_ref().map(|page| Metadata::of(&page.tree, &self.url));
        let found = py.detach(|| caught(read)).map_err(|reason| unreadable(&self.url, &reason))?;
        let of = found.or_else(|| self.metadata.clone()).unwrap_or_default();
        let all: [(&'static str, String); 9] = [
            ("title", of.title),
            ("author", of.author),
            ("published", of.published),
            ("modified", of.modified),
            ("language", of.language),
            ("canonical", of.canonical),
            ("description", of.description),
            ("site", of.site),
            ("licence", of.licence),
        ];
        Ok(all.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The main text. It is made of the page, not kept beside it: large pages are in memory as few times as can be.
    #[getter]
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.page.as_ref().map_or_else(|| self.published.clone(), Page::text))
    }

    /// The main text as Markdown.
    fn markdown(&self, py: Python<'_>, links: bool, images: bool) -> PyResult<Option<String>> {
        let write = || self.page.as_ref().map(|page| page.markdown(Options { links, images }));
        py.detach(|| caught(write)).map_err(|reason| unreadable(&self.url, &reason))
    }

    /// The blocks of the main text: role, level, text.
    fn blocks(&self) -> Vec<(&'static str, u8, &str)> {
        let of = |(role, text)| {
            let (name, level) = match role {
                Role::Heading(level) => ("heading", level),
                Role::Item(level) => ("item", level),
                Role::Paragraph => ("paragraph", 0),
                Role::Cell => ("cell", 0),
                Role::Code => ("code", 0),
                Role::Quote => ("quote", 0),
                Role::Caption => ("caption", 0),
            };
            (name, level, text)
        };
        self.page.iter().flat_map(Page::chosen).map(of).collect()
    }

    /// What people have written on the page: kind, author, day, text.
    fn posts(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String, String, String)>> {
        let find = || self.page.as_ref().map(|page| posts(&page.tree)).unwrap_or_default();
        let found = py.detach(|| caught(find)).map_err(|reason| unreadable(&self.url, &reason))?;
        Ok(found.into_iter().map(|post| (post.kind, post.author, post.date, post.text)).collect())
    }

    /// It does not change.
    fn __deepcopy__(this: Py<Self>, memo: Py<PyAny>) -> Py<Self> {
        drop(memo);
        this
    }
}
