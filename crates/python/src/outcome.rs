//! One outcome as an object.

use std::sync::Arc;

use bytes::Bytes;
use lycosa_url::{CrawlUrl, NameClass};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::batch::with_columns;
use crate::batch_class::FromPyObjectRecord;
use crate::request::Request;
use crate::response::{body, header, headers, times};
use crate::store::{LARGEST, decoded_body};
use crate::values::dict;

/// What became of one URL: a response, or the reason why there is none.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Outcome(pub(crate) Arc<lycosa_records::Outcome>);

impl<'py> FromPyObjectRecord<'py, lycosa_records::Outcome> for Outcome {
    fn record(object: &Bound<'py, PyAny>) -> Option<Arc<lycosa_records::Outcome>> {
        object.cast::<Outcome>().ok().map(|outcome| Arc::clone(&outcome.get().0))
    }
}

impl Outcome {
    /// The body without content coding: of an outcome that has travelled it is decoded again.
    fn decoded(&self) -> Option<Bytes> {
        self.0.decoded.clone().or_else(|| decoded_body(self.0.answer()?, LARGEST))
    }
}

#[pymethods]
impl Outcome {
    /// A copy with other values in some columns.
    #[pyo3(signature = (**columns))]
    fn replace(&self, columns: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Outcome(with_columns(&self.0, columns)?))
    }

    /// The request.
    #[getter]
    fn request(&self) -> Request {
        Request::of(Arc::new(self.0.request().clone()), lycosa_url::Clock::shared())
    }

    /// The URL, in canonical form.
    #[getter]
    fn url(&self) -> &str {
        self.0.url().as_str()
    }

    /// The redirects that led here, oldest first: URL and status.
    #[getter]
    fn chain(&self) -> Vec<(&str, u16)> {
        self.0.request().chain.iter().map(|step| (step.url.as_str(), step.status)).collect()
    }

    /// Links from the nearest seed.
    #[getter]
    fn depth(&self) -> u32 {
        self.0.request().depth
    }

    /// Earlier tries.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.request().attempt
    }

    /// Status code; None where there is no response.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.0.received().map(|received| received.status)
    }

    /// Kind of failure, a stable name such as "connect-timeout"; None where there is a response.
    #[getter]
    fn error(&self) -> Option<&'static str> {
        self.0.failure().map(|failure| failure.kind.as_str())
    }

    /// The failure's circumstances, for people.
    #[getter]
    fn error_detail(&self) -> Option<&str> {
        self.0.failure().map(|failure| failure.detail.as_str())
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
        times(py, &self.0.response)
    }

    /// What the host's name cost to resolve: fast, slow or failed; None where the URL was refused before a
    /// request.
    #[getter]
    fn dns_class(&self) -> Option<&'static str> {
        self.0.request().name_class.map(NameClass::as_str)
    }

    /// How the response was made: http/1.0, http/1.1, h2, browser, cache; None where there is none.
    #[getter]
    fn source(&self) -> Option<&'static str> {
        self.0.received().map(|received| received.source.as_str())
    }

    /// The name of the proxy that the request went through; None: none.
    #[getter]
    fn proxy(&self) -> Option<&str> {
        self.0.request().route.proxy()
    }

    /// The price that the site asks for the page instead of serving it, such as USD 0.01 (status 402); None: none.
    #[getter]
    fn price(&self) -> Option<String> {
        self.0.received().and_then(lycosa_records::price).map(|price| price.to_string())
    }

    /// The URL of the licence that the site names for the page, the first of `licenses`; None: none.
    #[getter]
    fn license(&self) -> Option<String> {
        lycosa_records::licenses(&self.0).into_iter().next().map(|license| license.url.into())
    }

    /// All licences that the site names for the page, the one that counts first: URL, and the signal that names it.
    #[getter]
    fn licenses(&self) -> Vec<(String, &'static str)> {
        let licenses = lycosa_records::licenses(&self.0).into_iter();
        licenses.map(|license| (license.url.into(), license.source)).collect()
    }

    /// Header fields in the order received; names in lower case.
    #[getter]
    fn headers(&self) -> Vec<(String, String)> {
        headers(&self.0.response)
    }

    /// The first value of a header field, whatever its case; None where it is missing.
    fn header(&self, name: &str) -> Option<String> {
        header(&self.0.response, name)
    }

    /// Status line and header fields as received.
    #[getter]
    fn response_head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.received().map(|received| &received.head.raw()[..]).unwrap_or_default())
    }

    /// Request line and header fields as sent.
    #[getter]
    fn request_head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.received().map(|received| &received.sent.raw()[..]).unwrap_or_default())
    }

    /// The certificate that the server showed: protocol, cipher, sha256, subject, issuer, not_before and not_after in seconds since
    /// the epoch; None without TLS.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(certificate) = self.0.received().and_then(|received| received.certificate.as_ref()) else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        for (name, text) in [
            ("protocol", &certificate.protocol),
            ("cipher", &certificate.cipher),
            ("sha256", &certificate.sha256),
            ("subject", &certificate.subject),
            ("issuer", &certificate.issuer),
        ] {
            dict.set_item(name, &**text)?;
        }
        dict.set_item("not_before", certificate.valid.0)?;
        dict.set_item("not_after", certificate.valid.1)?;
        Ok(Some(dict))
    }

    /// The body without content coding.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(received) = self.0.received().filter(|_| self.0.decoded.is_none())
            && !received.body.is_memory()
        {
            // It is elsewhere: an error says where.
            return body(py, &self.0.response);
        }
        Ok(PyBytes::new(py, &py.detach(|| self.decoded()).unwrap_or_default()))
    }

    /// The body as received, with its content coding.
    #[getter]
    fn wire_body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        body(py, &self.0.response)
    }

    /// The body decoded by its charset, of an HTML page its HTML with all tags; None where it is no text.
    #[getter]
    fn text(&self, py: Python<'_>) -> Option<String> {
        let charset = self.0.charset.as_deref()?;
        Some(lycosa_parse::decode_text(&py.detach(|| self.decoded())?, charset).into_owned())
    }

    /// Name of the character encoding (WHATWG).
    #[getter]
    fn charset(&self) -> Option<&str> {
        self.0.charset.as_deref()
    }

    /// Title.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Target of rel=canonical.
    #[getter]
    fn canonical(&self) -> Option<&str> {
        self.0.canonical.as_ref().map(CrawlUrl::as_str)
    }

    /// Target of the redirect.
    #[getter]
    fn redirect(&self) -> Option<&str> {
        self.0.redirect.as_ref().map(CrawlUrl::as_str)
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

    /// The site's preferences about the uses of the page: use, whether it is allowed, and the signal that says so.
    #[getter]
    fn usage(&self) -> Vec<(&str, bool, &str)> {
        self.0.usage.iter().map(|one| (&*one.usage, one.allowed, &*one.source)).collect()
    }

    /// The page's links, each once, in order.
    #[getter]
    fn links(&self) -> Vec<&str> {
        self.0.links.iter().map(|link| link.url.as_str()).collect()
    }

    /// The text of each link, in the order of `links`; empty texts unless parse.link_details has anchor.
    #[getter]
    fn link_anchors(&self) -> Vec<&str> {
        self.0.links.iter().map(|link| link.details.anchor).collect()
    }

    /// The priority of each link, in the order of `links`; 0 unless a parse stage of your own has set it.
    #[getter]
    fn link_priorities(&self) -> Vec<i32> {
        self.0.links.iter().map(|link| link.priority).collect()
    }

    /// The requests that middleware or a parse stage of your own has added.
    #[getter]
    fn requests(&self) -> Vec<Request> {
        let clock = lycosa_url::Clock::shared();
        self.0.requests.iter().map(|request| Request::of(Arc::new(request.clone()), clock)).collect()
    }

    /// The bounds that it has reached, by their stable names: what is beyond them is left out.
    #[getter]
    fn bounds(&self) -> Vec<&'static str> {
        self.0.bounds.iter().map(lycosa_url::Bound::as_str).collect()
    }

    /// What rules or a parse stage of your own extracted: JSON values by name.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, Some(&self.0.fields))
    }

    /// What the user attached to the request: JSON values by name.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, self.0.request().options.as_ref().map(|options| &options.metadata))
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
        format!("<Outcome {outcome} {}>", self.url())
    }
}
