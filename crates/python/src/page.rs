//! A page as Python sees it. Its bytes stay in Rust until they are asked for.

use std::borrow::Cow;
use std::sync::Arc;

use lycosa_url::{NameClass, header_text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// The outcome of one URL: a response, or the reason why there is none.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Page(pub(crate) Arc<lycosa_url::Page>);

impl Page {
    /// The response, if there is one.
    fn received(&self) -> Option<&lycosa_url::Received> {
        self.0.response.result.as_ref().ok()
    }

    /// The reason why there is none.
    fn failure(&self) -> Option<&lycosa_url::Failure> {
        self.0.response.result.as_ref().err()
    }
}

#[pymethods]
impl Page {
    /// The URL, in canonical form.
    #[getter]
    fn url(&self) -> &str {
        self.0.response.request.url.as_str()
    }

    /// The redirects that led here, oldest first: URL and status.
    #[getter]
    fn chain(&self) -> Vec<(&str, u16)> {
        self.0.response.request.chain.iter().map(|step| (step.url.as_str(), step.status)).collect()
    }

    /// Links from the nearest seed.
    #[getter]
    fn depth(&self) -> u32 {
        self.0.response.request.depth
    }

    /// Earlier tries.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.response.request.attempt
    }

    /// Status code; None where there is no response.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.received().map(|received| received.status)
    }

    /// Kind of failure, a stable name such as "connect-timeout"; None where there is a response.
    #[getter]
    fn error(&self) -> Option<&'static str> {
        self.failure().map(|failure| failure.kind.as_str())
    }

    /// The failure's circumstances, for people.
    #[getter]
    fn error_detail(&self) -> Option<&str> {
        self.failure().map(|failure| failure.detail.as_str())
    }

    /// The address spoken to.
    #[getter]
    fn address(&self) -> Option<String> {
        self.0.response.address.map(|address| address.to_string())
    }

    /// When the outcome was complete, in seconds since the epoch.
    #[getter]
    fn fetched_at(&self) -> f64 {
        self.0.response.fetched_at() as f64 / 1e6
    }

    /// Durations in seconds: name, connect, tls, first_byte, body.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let times = &self.0.response.times;
        let dict = PyDict::new(py);
        for (name, micros) in [
            ("name", self.0.response.request.name_us),
            ("connect", times.connect_us),
            ("tls", times.tls_us),
            ("first_byte", times.first_byte_us),
            ("body", times.body_us),
        ] {
            dict.set_item(name, f64::from(micros) / 1e6)?;
        }
        Ok(dict)
    }

    /// What the host's name cost to resolve: fast, slow or failed; None where the URL was refused before a
    /// request.
    #[getter]
    fn dns_class(&self) -> Option<&'static str> {
        self.0.response.request.name_class.map(NameClass::as_str)
    }

    /// Header fields in the order received; names in lower case.
    #[getter]
    fn headers(&self) -> Vec<(&str, Cow<'_, str>)> {
        let fields = self.received().map(|received| received.headers.0.as_slice()).unwrap_or_default();
        fields.iter().map(|(name, value)| (&**name, header_text(value))).collect()
    }

    /// The first value of a header field, whatever its case; None where it is missing.
    fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let fields = &self.received()?.headers.0;
        fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| header_text(value))
    }

    /// The body without content coding.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.body)
    }

    /// The body as received, with its content coding.
    #[getter]
    fn wire_body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.received().map(|received| &received.body[..]).unwrap_or_default())
    }

    /// The body decoded by its charset, of an HTML page its HTML with all tags; None where it is no text.
    #[getter]
    fn text(&self) -> Option<Cow<'_, str>> {
        self.0.charset.map(|charset| lycosa_parse::decode_text(&self.0.body, charset))
    }

    /// Name of the character encoding (WHATWG).
    #[getter]
    fn charset(&self) -> Option<&'static str> {
        self.0.charset
    }

    /// Title.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Target of rel=canonical.
    #[getter]
    fn canonical(&self) -> Option<&str> {
        self.0.canonical.as_ref().map(|url| url.as_str())
    }

    /// Target of the redirect.
    #[getter]
    fn redirect(&self) -> Option<&str> {
        self.0.redirect.as_ref().map(|url| url.as_str())
    }

    /// The site asks not to index the page.
    #[getter]
    fn noindex(&self) -> bool {
        self.0.noindex
    }

    /// The site asks not to follow the page's links.
    #[getter]
    fn nofollow(&self) -> bool {
        self.0.nofollow
    }

    /// The page's links, each once, in order.
    #[getter]
    fn links(&self) -> Vec<&str> {
        self.0.links.iter().map(|link| link.url.as_str()).collect()
    }

    /// The bounds that it has reached, by their stable names: what is beyond them is left out.
    #[getter]
    fn bounds(&self) -> Vec<&'static str> {
        self.0.bounds.iter().map(lycosa_url::Bound::as_str).collect()
    }

    /// Whether the URL went back to waiting: another outcome follows.
    #[getter]
    fn retry(&self) -> bool {
        self.0.retry
    }

    fn __repr__(&self) -> String {
        let outcome = match (self.status(), self.error()) {
            (Some(status), _) => status.to_string(),
            (None, error) => error.unwrap_or_default().to_owned(),
        };
        format!("<Page {outcome} {}>", self.url())
    }
}
