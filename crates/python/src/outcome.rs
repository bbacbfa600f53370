//! Outcomes: one as an object, and batches from parse to the log, the frontier and the user. Bytes stay in Rust until they are asked for.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use lycosa_records::Purpose;
use lycosa_records::columns::{Columns as _, TextDecoder, write_lines};
use lycosa_url::{CrawlUrl, NameClass};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyType};

use crate::batch::{Batch, FromPyObjectRecord, Reduced, Table, columns_named, items, reduced, with_columns};
use crate::errors;
use crate::request::Request;
use crate::response::{body, header, headers, times};
use crate::store::{LARGEST, TEXTS, decoded_body};
use crate::values::dict;

/// Bytes of lines that are written at once.
const WRITE_BYTES: usize = 1 << 20;

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
        self.0.decoded.clone().or_else(|| decoded_body(self.0.received()?, LARGEST))
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
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.decoded()).unwrap_or_default())
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

/// Outcomes, from parse to the log, the frontier, sinks and the user.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Outcomes {
    pub(crate) batch: Batch<lycosa_records::Outcome>,
    /// How bodies become text.
    texts: TextDecoder,
}

impl Outcomes {
    /// A batch.
    pub(crate) fn new(outcomes: Vec<lycosa_records::Outcome>) -> Self {
        Outcomes { batch: Batch::new(outcomes), texts: TEXTS }
    }

    /// A batch of outcomes that others may hold.
    pub(crate) fn shared(outcomes: Vec<Arc<lycosa_records::Outcome>>) -> Self {
        Outcomes { batch: Batch::shared(outcomes), texts: TEXTS }
    }

    /// A batch whose bodies, as text, have no more than so many bytes.
    pub(crate) fn bounded(outcomes: Vec<lycosa_records::Outcome>, largest: usize) -> Self {
        Outcomes { batch: Batch::new(outcomes), texts: TextDecoder { largest, ..TEXTS } }
    }

    /// Decodes bodies of outcomes that have travelled.
    fn decode_bodies(&self) {
        self.batch.with(|outcomes| {
            let is_missing = |outcome: &&mut Arc<lycosa_records::Outcome>| outcome.decoded.is_none();
            for outcome in outcomes.iter_mut().filter(is_missing) {
                let received = outcome.received().filter(|received| !received.body.is_empty());
                if let Some(body) = received.and_then(|received| decoded_body(received, self.texts.largest)) {
                    Arc::make_mut(outcome).decoded = Some(body);
                }
            }
        });
    }

    /// The same with another batch.
    fn with(&self, batch: Batch<lycosa_records::Outcome>) -> Self {
        Outcomes { batch, texts: self.texts }
    }
}

#[pymethods]
impl Outcomes {
    /// The names of the columns.
    #[classattr]
    #[pyo3(name = "COLUMNS")]
    fn column_names() -> Vec<&'static str> {
        lycosa_records::Outcome::columns().iter().map(|column| column.name).collect()
    }

    /// A batch of outcomes.
    #[new]
    #[pyo3(signature = (outcomes = None))]
    fn of(outcomes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let batch = match outcomes {
            Some(outcomes) => Batch::shared(items::<_, Outcome>(outcomes, "Outcome")?),
            None => Batch::new(Vec::new()),
        };
        Ok(Outcomes { batch, texts: TEXTS })
    }

    /// The batch of bytes that `encode` gave, in this process or another one. Decoded bodies do not travel.
    #[classmethod]
    fn decode(_: &Bound<'_, PyType>, py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        Ok(Outcomes { batch: Batch::decode(py, data)?, texts: TEXTS })
    }

    /// The batch as bytes.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.batch.encode(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), slf.get().encode(slf.py())?)
    }

    /// Those for which the mask is true.
    fn select(&self, mask: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.with(self.batch.select(mask)?))
    }

    /// What a function makes of each; None leaves it out.
    fn map(&self, py: Python<'_>, change: &Bound<'_, PyAny>) -> PyResult<Self> {
        let changed = PyList::empty(py);
        for record in self.batch.all() {
            changed.append(change.call1((Outcome(record),))?)?;
        }
        Ok(self.with(Batch::shared(items::<_, Outcome>(&changed, "Outcome or None")?)))
    }

    /// The same with other values in a column.
    fn replace(&self, column: &str, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.with(self.batch.replace(column, values)?))
    }

    /// Columns for Arrow libraries; by default those that outputs have.
    #[pyo3(signature = (names = None))]
    fn columns(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        let wants_bodies =
            names.as_ref().is_none_or(|names| names.iter().any(|name| name == "body" || name == "text"));
        if wants_bodies {
            py.detach(|| self.decode_bodies());
        }
        self.batch.table(py, names, self.texts)
    }

    /// Columns as `columns` gives them, after which the batch is empty: no body is in memory twice.
    #[pyo3(signature = (names = None))]
    fn take_columns(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        let taken = self.with(Batch::shared(self.batch.with(std::mem::take)));
        taken.columns(py, names)
    }

    /// The columns that outputs have, of each URL's last outcome, for any Arrow library (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = lycosa_records::Outcome::columns().iter().map(|column| column.name.to_owned()).collect();
        let table = Bound::new(py, self.rows().columns(py, Some(names))?)?;
        table.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    /// Those that outputs have: each URL's last outcome, redirects among them; no robots.txt, no further tries.
    fn rows(&self) -> Self {
        let is_row = |outcome: &Arc<lycosa_records::Outcome>| {
            !outcome.retry && outcome.request().purpose != Purpose::Robots
        };
        self.with(Batch::shared(self.batch.all().into_iter().filter(is_row).collect()))
    }

    /// What a user sees: each URL's last outcome, a page or a failure; no redirects, which stand in the
    /// chain of where they lead, and no robots.txt.
    fn last(&self) -> Vec<Outcome> {
        self.rows()
            .batch
            .all()
            .into_iter()
            .filter(|outcome| outcome.redirect.is_none())
            .map(Outcome)
            .collect()
    }

    /// JSON lines of the chosen columns, in UTF-8.
    fn lines<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let (columns, outcomes) = (columns_named("columns", Some(names))?, self.batch.all());
        let lines = py.detach(|| {
            let mut lines = Vec::new();
            write_lines::<lycosa_records::Outcome>(&outcomes, &columns, self.texts, &mut lines)
                .map(|()| lines)
        });
        lines.map(|lines| PyBytes::new(py, &lines)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes JSON lines of the chosen columns, in UTF-8, into a file from an offset on; gives their bytes. What was written before
    /// an error stays.
    fn write_lines(&self, py: Python<'_>, path: PathBuf, offset: u64, names: Vec<String>) -> PyResult<u64> {
        let (columns, outcomes) = (columns_named("columns", Some(names))?, self.batch.all());
        let written = py.detach(|| {
            let mut file = File::options().write(true).open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut buffered = BufWriter::with_capacity(WRITE_BYTES, file);
            write_lines::<lycosa_records::Outcome>(&outcomes, &columns, self.texts, &mut buffered)?;
            buffered.flush()?;
            io::Result::Ok(buffered.stream_position()? - offset)
        });
        written.map_err(|error| errors::os(&error))
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Outcome> {
        self.batch.get(index).map(Outcome)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.batch.all().into_iter().map(Outcome))?.try_iter()
    }
}
