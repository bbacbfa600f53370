//! One request as an object.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use lycosa_records::usage::join;
use lycosa_records::{
    Certificate, Head, MAX_KEY_BYTES, Metadata, Received, RequestOptions, Source, Times, Validators,
};
use lycosa_url::{Clock, Failure, FailureKind, Micros, encode_form};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::batch::with_columns;
use crate::batch_class::FromPyObjectRecord;
use crate::errors::setting;
use crate::response::Response;
use crate::values::{self, dict};

/// Bytes of the body of one request.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The media type of a form that is posted.
const FORM: &str = "application/x-www-form-urlencoded";

/// Seconds that a request takes at most, and that the clock of another machine may be ahead.
const LONGEST_REQUEST: f64 = 86_400.0;
const CLOCK_SKEW: f64 = 1.0;

/// One request: what to fetch and how; on lease, or to be accepted as a seed.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Request {
    pub(crate) record: Arc<lycosa_records::Request>,
    /// The clock of the crawl that it belongs to.
    clock: Clock,
}

impl Request {
    /// An object of a record.
    pub(crate) fn of(record: Arc<lycosa_records::Request>, clock: Clock) -> Self {
        Request { record, clock }
    }

    /// The clock of its crawl.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// What it has beyond a GET.
    fn options(&self) -> Option<&RequestOptions> {
        self.record.options.as_deref()
    }

    /// A time of the wall clock, in seconds since the epoch, by the crawl's clock; `now` where there is none. A later one would keep
    /// the host waiting until then, an earlier one would let it be asked again too soon.
    fn time(&self, name: &str, wall: Option<f64>) -> PyResult<Micros> {
        let Some(wall) = wall else { return Ok(self.clock.now()) };
        let offset = self.clock.wall_offset();
        let now = self.clock.now().saturating_add_signed(offset) as f64 / 1e6;
        if !(now - LONGEST_REQUEST..=now + CLOCK_SKEW).contains(&wall) {
            let allowed = format!("seconds since the epoch, of the last day; now it is {now:.1}");
            return Err(setting(name, wall, allowed));
        }
        Ok(((wall * 1e6) as Micros).saturating_add_signed(offset.saturating_neg()).min(self.clock.now()))
    }
}

impl<'py> FromPyObjectRecord<'py, lycosa_records::Request> for Request {
    fn record(object: &Bound<'py, PyAny>) -> Option<Arc<lycosa_records::Request>> {
        object.cast::<Request>().ok().map(|request| Arc::clone(&request.get().record))
    }
}

/// Durations in seconds by phase (connect, tls, first_byte, body), as a stage in Python tells them.
type Phases = HashMap<String, f64>;

#[pymethods]
impl Request {
    /// A request to be accepted as a seed.
    #[new]
    #[pyo3(signature = (url, *, method = "GET", headers = None, body = None, metadata = None, priority = 0, etag = None, last_modified = None, form = None, key = ""))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn new(
        url: &str,
        method: &str,
        headers: Option<Vec<(String, String)>>,
        body: Option<&[u8]>,
        metadata: Option<&Bound<'_, PyDict>>,
        priority: i32,
        etag: Option<String>,
        last_modified: Option<String>,
        form: Option<Vec<(String, String)>>,
        key: &str,
    ) -> PyResult<Self> {
        let url = crate::url::parse(url)?;
        let (mut method, mut headers, mut body) =
            (method, headers.unwrap_or_default(), body.unwrap_or_default().to_vec());
        if let Some(fields) = form {
            if !body.is_empty() || !matches!(method, "GET" | "POST") {
                return Err(setting(
                    "form",
                    "a form with a body or another method",
                    "a form alone: it is sent by POST",
                ));
            }
            method = "POST";
            body = encode_form(fields.iter().map(|(name, value)| (&**name, &**value))).into_bytes();
            headers.push(("Content-Type".to_owned(), FORM.to_owned()));
        }
        let options = RequestOptions {
            method: if method == "GET" { "".into() } else { method.into() },
            headers: headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            body: body.into(),
            validators: Validators {
                etag: etag.map(Into::into),
                last_modified: last_modified.map(Into::into),
            },
            priority,
            metadata: metadata.map_or(Ok(Metadata::new()), |given| values::metadata("metadata", given))?,
            key: key.into(),
        };
        let options = (options != RequestOptions::default()).then(|| Box::new(options));
        let record = Arc::new(lycosa_records::Request { options, ..lycosa_records::Request::get(url) });
        check(&record)?;
        Ok(Request { record, clock: Clock::shared() })
    }

    /// A copy with other values in some columns.
    #[pyo3(signature = (**columns))]
    fn replace(&self, columns: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let record = with_columns(&self.record, columns)?;
        check(&record)?;
        Ok(Request { record, clock: self.clock })
    }

    /// The answer of a stage written in Python: a response was received.
    #[pyo3(signature = (
        status, *, headers = None, body = None, reason = "", address = None, started = None, finished = None, times = None,
        source = "http/1.1", final_url = None, sent = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn respond(
        &self,
        status: u16,
        headers: Option<Vec<(String, crate::response::HeaderValue)>>,
        body: Option<&[u8]>,
        reason: &str,
        address: Option<&str>,
        started: Option<f64>,
        finished: Option<f64>,
        times: Option<Phases>,
        source: &str,
        final_url: Option<&str>,
        sent: Option<&[u8]>,
    ) -> PyResult<Response> {
        let source = Source::from_name(source)
            .ok_or_else(|| setting("source", source, "http/1.0, http/1.1, h2, browser or cache"))?;
        let line = match source {
            Source::Http10 => format!("HTTP/1.0 {status} {reason}"),
            Source::Http2 => format!("HTTP/2 {status} {reason}"),
            Source::Http11 | Source::Browser | Source::Cache => format!("HTTP/1.1 {status} {reason}"),
        };
        let fields = headers.unwrap_or_default();
        let head = Head::of(line.trim_end(), fields.iter().map(|(name, value)| (name, value.bytes())));
        let head = head.ok_or_else(|| {
            let allowed =
                "names that are tokens, values and reason without line breaks and control characters";
            setting(
                "headers",
                format!("{:?}", fields.iter().map(|(name, _)| name).collect::<Vec<_>>()),
                allowed,
            )
        })?;
        let received = Received {
            status,
            source,
            head,
            body: Bytes::copy_from_slice(body.unwrap_or_default()).into(),
            sent: Head::new(Bytes::copy_from_slice(without_end(sent.unwrap_or_default()))),
            certificate: None::<Arc<Certificate>>,
            final_url: final_url.map(crate::url::parse).transpose()?,
        };
        self.answer(Ok(received), address, (started, finished), times)
    }

    /// The answer of a stage written in Python: there is no response.
    #[pyo3(signature = (kind, detail = "", *, address = None, started = None, finished = None, times = None))]
    fn fail(
        &self,
        kind: &str,
        detail: &str,
        address: Option<&str>,
        started: Option<f64>,
        finished: Option<f64>,
        times: Option<Phases>,
    ) -> PyResult<Response> {
        let kind = FailureKind::from_name(kind)
            .ok_or_else(|| setting("kind", kind, "the stable name of a failure, such as connect-timeout"))?;
        self.answer(Err(Failure::new(kind, detail)), address, (started, finished), times)
    }

    /// The URL, in canonical form.
    #[getter]
    fn url(&self) -> &str {
        self.record.url.as_str()
    }

    /// Host of the URL.
    #[getter]
    fn host(&self) -> &str {
        self.record.url.host()
    }

    /// Port of the URL.
    #[getter]
    fn port(&self) -> u16 {
        self.record.url.port()
    }

    /// Path and query of the URL, as they are sent.
    #[getter]
    fn path(&self) -> &str {
        self.record.url.path_and_query()
    }

    /// The method.
    #[getter]
    fn method(&self) -> &str {
        self.record.method()
    }

    /// Whether it is a GET without a body: its URL alone says what it asks for.
    #[getter]
    fn is_plain(&self) -> bool {
        self.options().is_none_or(|options| options.method.is_empty() && options.body.is_empty())
    }

    /// What it is for: page, robots, sitemap, resource.
    #[getter]
    fn purpose(&self) -> &'static str {
        self.record.purpose.as_str()
    }

    /// The number of the lease; 0 without one.
    #[getter]
    fn lease(&self) -> u64 {
        self.record.lease
    }

    /// The job; empty where one crawl has a process to itself.
    #[getter]
    fn job(&self) -> &str {
        &self.record.task.job
    }

    /// One of the job's tasks.
    #[getter]
    fn task(&self) -> &str {
        &self.record.task.name
    }

    /// Requests with a greater priority come first: -4 to 4, what is beyond counts as these.
    #[getter]
    fn priority(&self) -> i32 {
        self.options().map_or(0, |options| options.priority)
    }

    /// Links from the nearest seed.
    #[getter]
    fn depth(&self) -> u32 {
        self.record.depth
    }

    /// Earlier tries.
    #[getter]
    fn attempt(&self) -> u32 {
        self.record.attempt
    }

    /// The redirects that led here, oldest first: URL and status.
    #[getter]
    fn chain(&self) -> Vec<(&str, u16)> {
        self.record.chain.iter().map(|step| (step.url.as_str(), step.status)).collect()
    }

    /// The host's addresses, vetted, best first.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.record.route.addresses().iter().map(ToString::to_string).collect()
    }

    /// The name of the proxy that it goes through; None: none.
    #[getter]
    fn proxy(&self) -> Option<&str> {
        self.record.route.proxy()
    }

    /// The value of the field cookie; None where there is none.
    #[getter]
    fn cookies(&self) -> Option<&str> {
        self.record.cookies.as_deref()
    }

    /// Header fields besides the crawler's own.
    #[getter]
    fn headers(&self) -> Vec<(&str, &str)> {
        let headers = self.options().map(|options| &options.headers[..]).unwrap_or_default();
        headers.iter().map(|(name, value)| (&**name, &**value)).collect()
    }

    /// The deduplication key; empty: URL, method and body tell requests apart.
    #[getter]
    fn key(&self) -> &str {
        self.options().map_or("", |options| &options.key)
    }

    /// The body that is sent.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.options().map(|options| &options.body[..]).unwrap_or_default())
    }

    /// When the lease ends, in seconds since the epoch.
    #[getter]
    fn deadline(&self) -> f64 {
        self.record.deadline.saturating_add_signed(self.clock.wall_offset()) as f64 / 1e6
    }

    /// What robots.txt and tdmrep.json state about uses of the page: the use, and whether it is allowed.
    #[getter]
    fn usage(&self) -> Vec<(String, bool)> {
        let mut stated = self.record.usage.clone();
        join(&mut stated, self.record.tdm.map(|allowed| ("tdm".into(), allowed)));
        stated.into_iter().map(|(usage, allowed)| (usage.into(), allowed)).collect()
    }

    /// The licences that robots.txt names for the whole site.
    #[getter]
    fn licenses(&self) -> Vec<&str> {
        self.record.licenses.iter().map(|url| &**url).collect()
    }

    /// What the user attached: JSON values by name.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, self.options().map(|options| &options.metadata))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Request>().is_ok_and(|other| *other.get().record == *self.record)
    }

    fn __repr__(&self) -> String {
        format!("<Request {} {}>", self.method(), self.url())
    }
}

impl Request {
    /// The response with a result.
    fn answer(
        &self,
        result: Result<Received, Failure>,
        address: Option<&str>,
        (started, finished): (Option<f64>, Option<f64>),
        times: Option<Phases>,
    ) -> PyResult<Response> {
        let address = match address {
            Some(text) => {
                let parsed = text.parse();
                Some(parsed.map_err(|_| setting("address", text, "an IPv4 or IPv6 address"))?)
            }
            None => None,
        };
        let micros = |seconds: f64| (seconds.clamp(0.0, 4_000.0) * 1e6) as u32;
        let mut told = Times { wall_offset_us: self.clock.wall_offset(), ..Times::default() };
        for (phase, seconds) in times.unwrap_or_default() {
            *match &*phase {
                "connect" => &mut told.connect_us,
                "tls" => &mut told.tls_us,
                "first_byte" => &mut told.first_byte_us,
                "body" => &mut told.body_us,
                _ => return Err(setting("times", phase, "connect, tls, first_byte and body")),
            } = micros(seconds);
        }
        let finished = self.time("finished", finished)?;
        let started = match started {
            Some(_) => self.time("started", started)?.min(finished),
            None => finished,
        };
        let request = lycosa_records::Request::clone(&self.record);
        let times = told;
        Ok(Response(Arc::new(lycosa_records::Response {
            request,
            address,
            started,
            finished,
            times,
            result,
        })))
    }
}

/// A head without the empty line that ends it: records have none.
fn without_end(head: &[u8]) -> &[u8] {
    if head.ends_with(b"\r\n\r\n") { &head[..head.len() - 2] } else { head }
}

/// Refuses a request that cannot be sent as it is.
pub(crate) fn check(request: &lycosa_records::Request) -> PyResult<()> {
    check_field("cookie", request.cookies.as_deref())?;
    let Some(options) = &request.options else { return Ok(()) };
    let method = options.method();
    if method == "CONNECT" || !method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') {
        return Err(setting("method", method, "a method in capital letters, such as GET, HEAD or POST"));
    }
    check_field("etag", options.validators.etag.as_deref())?;
    check_field("last_modified", options.validators.last_modified.as_deref())?;
    for (name, value) in &options.headers {
        check_field(name, Some(value))?;
        if !lycosa_records::is_settable_field(name) {
            let allowed =
                "fields that say nothing of the host, the connection or the length: these are fetch's own";
            return Err(setting("headers", name, allowed));
        }
    }
    if options.key.len() > MAX_KEY_BYTES {
        return Err(setting(
            "key",
            format!("{} bytes", options.key.len()),
            format!("{MAX_KEY_BYTES} bytes at most"),
        ));
    }
    if options.body.len() > MAX_BODY_BYTES {
        let given = format!("{} bytes", options.body.len());
        return Err(setting("body", given, format!("{MAX_BODY_BYTES} bytes at most")));
    }
    Ok(())
}

/// Refuses a field that would end its line.
fn check_field(name: &str, value: Option<&str>) -> PyResult<()> {
    let Some(value) = value else { return Ok(()) };
    if Head::of("", [(name, value)]).is_some() {
        return Ok(());
    }
    let allowed = "pairs of name and value without line breaks and control characters";
    Err(setting("headers", format!("{name:?}: {value:?}"), allowed))
}
