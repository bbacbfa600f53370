//! Responses: one as an object, and batches from fetch to parse.

use std::borrow::Cow;
use std::sync::Arc;

use lycosa_records::header_text;
use lycosa_url::FailureKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::batch::{Batch, Table, columns_named, with_columns};
use crate::batch_class::{BatchClass, FromPyObjectRecord, batch_class};
use crate::errors::storage;
use crate::request::Request;
use crate::requests::ticket;
use crate::store::TEXTS;

/// A header's value as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum HeaderValue {
    /// Text, sent as UTF-8.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl HeaderValue {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            HeaderValue::Text(text) => text.as_bytes(),
            HeaderValue::Bytes(bytes) => bytes,
        }
    }
}

/// What became of one request.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Response(pub(crate) Arc<lycosa_records::Response>);

impl<'py> FromPyObjectRecord<'py, lycosa_records::Response> for Response {
    fn record(object: &Bound<'py, PyAny>) -> Option<Arc<lycosa_records::Response>> {
        object.cast::<Response>().ok().map(|response| Arc::clone(&response.get().0))
    }
}

/// Header fields of a response: names in lower case.
pub(crate) fn headers(response: &lycosa_records::Response) -> Vec<(String, String)> {
    let fields = response.result.iter().flat_map(|received| received.head.fields());
    fields.map(|(name, value)| (name.to_ascii_lowercase(), header_text(&value).into_owned())).collect()
}

/// The first value of a header field.
pub(crate) fn header(response: &lycosa_records::Response, name: &str) -> Option<String> {
    let mut fields = response.result.iter().flat_map(|received| received.head.fields());
    let (_, value) = fields.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(header_text(&value).into_owned())
}

/// Durations in seconds.
pub(crate) fn times<'py>(
    py: Python<'py>,
    response: &lycosa_records::Response,
) -> PyResult<Bound<'py, PyDict>> {
    let times = &response.times;
    let dict = PyDict::new(py);
    for (name, micros) in [
        ("name", response.request.name_us),
        ("connect", times.connect_us),
        ("tls", times.tls_us),
        ("first_byte", times.first_byte_us),
        ("body", times.body_us),
    ] {
        dict.set_item(name, f64::from(micros) / 1e6)?;
    }
    Ok(dict)
}

/// The body as received; empty without a response. Fails where it is elsewhere and cannot be read.
pub(crate) fn body<'py>(
    py: Python<'py>,
    response: &lycosa_records::Response,
) -> PyResult<Bound<'py, PyBytes>> {
    let Ok(received) = &response.result else { return Ok(PyBytes::new(py, &[])) };
    if let Some(bytes) = received.body.memory() {
        return Ok(PyBytes::new(py, bytes));
    }
    let bytes = py.detach(|| received.body.read(None)).map_err(storage)?;
    Ok(PyBytes::new(py, &bytes))
}

#[pymethods]
impl Response {
    /// A copy with other values in some columns.
    #[pyo3(signature = (**columns))]
    fn replace(&self, columns: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Response(with_columns(&self.0, columns)?))
    }

    /// The request.
    #[getter]
    fn request(&self) -> Request {
        Request::of(Arc::new(self.0.request.clone()), lycosa_url::Clock::shared())
    }

    /// The URL, in canonical form.
    #[getter]
    fn url(&self) -> &str {
        self.0.request.url.as_str()
    }

    /// Status code; None where there is no response.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.0.result.as_ref().ok().map(|received| received.status)
    }

    /// The reason phrase of the status line.
    #[getter]
    fn reason(&self) -> Cow<'_, str> {
        self.0.result.as_ref().map_or("".into(), |received| received.head.reason())
    }

    /// Kind of failure, a stable name such as "connect-timeout"; None where there is a response.
    #[getter]
    fn error(&self) -> Option<&'static str> {
        self.0.result.as_ref().err().map(|failure| failure.kind.as_str())
    }

    /// The failure's circumstances, for people.
    #[getter]
    fn error_detail(&self) -> Option<&str> {
        self.0.result.as_ref().err().map(|failure| failure.detail.as_str())
    }

    /// The address spoken to.
    #[getter]
    fn address(&self) -> Option<String> {
        self.0.address.map(|address| address.to_string())
    }

    /// When it was complete, in seconds since the epoch.
    #[getter]
    fn fetched_at(&self) -> f64 {
        self.0.fetched_at() as f64 / 1e6
    }

    /// Durations in seconds: name, connect, tls, first_byte, body.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        times(py, &self.0)
    }

    /// How it was made: http/1.0, http/1.1, h2, browser, cache; None where there is no response.
    #[getter]
    fn source(&self) -> Option<&'static str> {
        self.0.result.as_ref().ok().map(|received| received.source.as_str())
    }

    /// Header fields in the order received; names in lower case.
    #[getter]
    fn headers(&self) -> Vec<(String, String)> {
        headers(&self.0)
    }

    /// The first value of a header field, whatever its case; None where it is missing.
    fn header(&self, name: &str) -> Option<String> {
        header(&self.0, name)
    }

    /// Status line and header fields as received.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.result.as_ref().map(|received| &received.head.raw()[..]).unwrap_or_default())
    }

    /// Request line and header fields as sent.
    #[getter]
    fn sent<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.result.as_ref().map(|received| &received.sent.raw()[..]).unwrap_or_default())
    }

    /// The body as received, with its content coding.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        body(py, &self.0)
    }

    fn __repr__(&self) -> String {
        let result = match &self.0.result {
            Ok(received) => received.status.to_string(),
            Err(failure) => failure.kind.as_str().to_owned(),
        };
        format!("<Response {result} {}>", self.url())
    }
}

/// Responses, from fetch to parse.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Responses {
    pub(crate) batch: Batch<lycosa_records::Response>,
    /// Where those go back to that there is no space for yet.
    returns: Option<lycosa_fetch::Returns>,
}

impl Responses {
    /// A batch.
    pub(crate) fn new(
        responses: Vec<lycosa_records::Response>,
        returns: Option<lycosa_fetch::Returns>,
    ) -> Self {
        Responses { batch: Batch::new(responses), returns }
    }

    /// Where responses go back to; `None` where they come from no fetcher.
    pub(crate) fn returns(&self) -> Option<&lycosa_fetch::Returns> {
        self.returns.as_ref()
    }
}

impl BatchClass for Responses {
    type Record = lycosa_records::Response;
    type Item = Response;
    const ITEM: &'static str = "Response";

    fn batch(&self) -> &Batch<Self::Record> {
        &self.batch
    }

    fn alone(batch: Batch<Self::Record>) -> Self {
        Responses { batch, returns: None }
    }

    fn with(&self, batch: Batch<Self::Record>) -> Self {
        Responses { batch, returns: self.returns.clone() }
    }

    fn item(&self, record: Arc<Self::Record>) -> Response {
        Response(record)
    }

    fn table(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        self.batch.table(py, &columns_named("columns", names)?, TEXTS)
    }
}

batch_class!(Responses {
    /// Of each response: serial number and index of its request, 0 and -1 where it has no ticket; and whether the request was cancelled.
    fn tickets(&self) -> Vec<(u64, i64, bool)> {
        let responses = self.batch.all();
        let ticket = |response: &lycosa_records::Response| {
            let (serial, index) = ticket(&response.request);
            let is_cancelled =
                response.result.as_ref().is_err_and(|failure| failure.kind == FailureKind::Cancelled);
            (serial, index, is_cancelled)
        };
        responses.iter().map(|response| ticket(response)).collect()
    }

    /// These as responses to requests, one for each; None leaves a response out.
    fn answering(&self, requests: Vec<Option<PyRef<'_, Request>>>) -> PyResult<Self> {
        let responses = self.batch.take();
        if responses.len() != requests.len() {
            return Err(PyValueError::new_err(format!(
                "{} requests for {} responses",
                requests.len(),
                responses.len()
            )));
        }
        let answered = responses.into_iter().zip(requests).filter_map(|(response, request)| {
            request.map(|request| lycosa_records::answering(response, &request.record, request.clock().now()))
        });
        Ok(Responses::new(answered.collect(), None))
    }
});
