//! Outcomes in batches, from parse to the log, the frontier, sinks and the user. Bytes stay in Rust until they are asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use lycosa_records::Purpose;
use lycosa_records::columns::{
    Column, Plain, TextDecoder, copied, plain_values, write_csv, write_lines, write_names,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString, PyTuple};

use crate::batch::{Batch, Table, columns_named};
use crate::batch_class::{BatchClass, batch_class};
use crate::errors;
use crate::outcome::Outcome;
use crate::response::Responses;
use crate::store::{TEXTS, decoded_body};
use crate::written::{Compression, Form, write_at};

/// Serial number, index, whether there is a response, and the encoded response.
type TicketedResult<'py> = (u64, u32, bool, Bound<'py, PyBytes>);

/// Outcomes, from parse to the log, the frontier, sinks and the user.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Outcomes {
    pub(crate) batch: Batch<lycosa_records::Outcome>,
    /// How bodies become text.
    texts: TextDecoder,
    /// How many of them the log has recorded, if it could not record all: it goes on there.
    pub(crate) recorded: AtomicUsize,
}

impl Outcomes {
    /// A batch.
    pub(crate) fn new(outcomes: Vec<lycosa_records::Outcome>) -> Self {
        Outcomes::unrecorded(Batch::new(outcomes), TEXTS)
    }

    /// A batch of outcomes that others may hold.
    pub(crate) fn shared(outcomes: Vec<Arc<lycosa_records::Outcome>>) -> Self {
        Outcomes::unrecorded(Batch::shared(outcomes), TEXTS)
    }

    /// A batch whose bodies, as text, have no more than so many bytes.
    pub(crate) fn bounded(outcomes: Vec<lycosa_records::Outcome>, largest: usize) -> Self {
        Outcomes::unrecorded(Batch::new(outcomes), TextDecoder { largest, ..TEXTS })
    }

    /// A batch of which the log has recorded none.
    fn unrecorded(batch: Batch<lycosa_records::Outcome>, texts: TextDecoder) -> Self {
        Outcomes { batch, texts, recorded: AtomicUsize::new(0) }
    }

    /// Decodes bodies of outcomes that have travelled, if one of these columns shows them.
    fn decode_bodies_for(&self, py: Python<'_>, columns: &[&'static Column<lycosa_records::Outcome>]) {
        if columns.iter().any(|column| matches!(column.name, "body" | "text")) {
            py.detach(|| self.decode_bodies());
        }
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
}

impl BatchClass for Outcomes {
    type Record = lycosa_records::Outcome;
    type Item = Outcome;
    const ITEM: &'static str = "Outcome";

    fn batch(&self) -> &Batch<Self::Record> {
        &self.batch
    }

    fn alone(batch: Batch<Self::Record>) -> Self {
        Outcomes::unrecorded(batch, TEXTS)
    }

    fn with(&self, batch: Batch<Self::Record>) -> Self {
        Outcomes::unrecorded(batch, self.texts)
    }

    fn item(&self, record: Arc<Self::Record>) -> Outcome {
        Outcome(record)
    }

    fn shown(&self) -> Self {
        self.rows()
    }

    fn table(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        let columns = columns_named("columns", names)?;
        self.decode_bodies_for(py, &columns);
        self.batch.table(py, &columns, self.texts)
    }
}

batch_class!(Outcomes {
    /// Columns as `columns` gives them, after which the batch is empty: no body is in memory twice.
    #[pyo3(signature = (names = None))]
    fn take_columns(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        // An unknown column is refused while the batch still has its rows.
        columns_named::<lycosa_records::Outcome>("columns", names.clone())?;
        let taken = self.with(Batch::shared(self.batch.with(std::mem::take)));
        taken.columns(py, names)
    }

    /// Those that outputs have: each URL's last outcome, redirects among them; no robots.txt, no further tries.
    fn rows(&self) -> Self {
        let is_row = |outcome: &Arc<lycosa_records::Outcome>| {
            !outcome.retry && outcome.request().purpose != Purpose::Robots
        };
        self.with(Batch::shared(self.batch.all().into_iter().filter(is_row).collect()))
    }

    /// Their responses as they were received, to be parsed again. The batch is empty afterwards.
    fn responses(&self) -> Responses {
        let responses = self.batch.take().into_iter().map(lycosa_records::Outcome::into_response);
        Responses::new(responses.collect(), None)
    }

    /// Those of a share of all URLs, from 0 to 1: always the same ones, by their digests.
    fn sampled(&self, share: f64) -> Vec<Outcome> {
        // A float that is too large becomes the largest number.
        let bound = (share * 2f64.powi(64)) as u64;
        let is_sampled = |outcome: &Arc<lycosa_records::Outcome>| {
            let digest = outcome.url().digest();
            let first = u64::from_be_bytes(std::array::from_fn(|at| digest[at]));
            share >= 1.0 || first < bound
        };
        self.rows().batch.all().into_iter().filter(is_sampled).map(Outcome).collect()
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

    /// Of each outcome that is the last of a request with a ticket: serial number, index, whether there is a response, and the response as
    /// `Responses.decode` reads it. The batch is empty afterwards.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Vec<TicketedResult<'py>>> {
        let outcomes = self.batch.take();
        let encoded = py.detach(|| {
            let results = outcomes.into_iter().filter_map(lycosa_records::result_of);
            let encoded = results.map(|(ticket, response)| {
                let bytes = lycosa_records::encode(std::iter::once(&response))?;
                Ok((ticket, response.result.is_ok(), bytes))
            });
            encoded.collect::<Result<Vec<_>, _>>()
        });
        let found = encoded.map_err(|error| errors::record(&error))?.into_iter();
        Ok(found
            .map(|(ticket, is_ok, bytes)| (ticket.serial, ticket.index, is_ok, PyBytes::new(py, &bytes)))
            .collect())
    }

    /// JSON lines of the chosen columns, in UTF-8.
    fn lines<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let columns = columns_named("columns", Some(names))?;
        self.decode_bodies_for(py, &columns);
        let outcomes = self.batch.all();
        let lines = py.detach(|| {
            let mut lines = Vec::new();
            write_lines::<lycosa_records::Outcome>(&outcomes, &columns, self.texts, &mut lines)
                .map(|()| lines)
        });
        lines.map(|lines| PyBytes::new(py, &lines)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes rows of the chosen columns into a file from an offset on: as JSON lines, as `csv`, whose names come first at the
    /// beginning of the file; compressed as one more member if the name of a compression is given. Gives the bytes. What was written
    /// before an error stays.
    #[pyo3(signature = (path, offset, names, form = "lines", compression = None))]
    fn write_rows(
        &self,
        py: Python<'_>,
        path: PathBuf,
        offset: u64,
        names: Vec<String>,
        form: &str,
        compression: Option<&str>,
    ) -> PyResult<u64> {
        let (form, compression) = (Form::named(form)?, Compression::named(compression)?);
        let columns = columns_named("columns", Some(names))?;
        self.decode_bodies_for(py, &columns);
        let outcomes = self.batch.all();
        let written = py.detach(|| {
            write_at(&path, offset, compression, |into| {
                if form == Form::Csv && offset == 0 {
                    write_names(&columns, into)?;
                }
                match form {
                    Form::Lines => {
                        Ok(write_lines::<lycosa_records::Outcome>(&outcomes, &columns, self.texts, into)?)
                    }
                    Form::Csv => write_csv(&outcomes, &columns, self.texts, into),
                }
            })
        });
        written.map_err(|error| errors::os(&error))
    }

    /// Rows of the chosen columns as tuples of str, int, bool, bytes and None, for databases; and about how many bytes they have.
    fn tuples<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<(Vec<Bound<'py, PyTuple>>, usize)> {
        let columns = columns_named("columns", Some(names))?;
        self.decode_bodies_for(py, &columns);
        let outcomes = self.batch.all();
        let mut bytes = 0;
        let mut rows = Vec::with_capacity(outcomes.len());
        for outcome in &outcomes {
            let values = plain_values(&**outcome, &columns, self.texts).map_err(|error| errors::os(&error))?;
            let values = values.into_iter().map(|value| {
                bytes += 8;
                Ok(match value {
                    Plain::Missing => py.None().into_bound(py),
                    Plain::Json(json) => {
                        bytes += json.len();
                        json.into_pyobject(py)?.into_any()
                    }
                    Plain::Number(number) => number.into_pyobject(py)?.into_any(),
                    Plain::Large(number) => number.cast_signed().into_pyobject(py)?.into_any(),
                    Plain::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
                    Plain::Text(text) => {
                        bytes += text.len();
                        PyString::new(py, &text).into_any()
                    }
                    Plain::Bytes(body) => {
                        bytes += body.len();
                        PyBytes::new(py, body).into_any()
                    }
                })
            });
            rows.push(PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?);
        }
        Ok((rows, bytes))
    }

    /// Rows of the chosen columns as PostgreSQL's binary COPY reads them.
    fn copied<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let columns = columns_named("columns", Some(names))?;
        self.decode_bodies_for(py, &columns);
        let outcomes = self.batch.all();
        let copied = py.detach(|| copied(&outcomes, &columns, self.texts));
        copied.map(|rows| PyBytes::new(py, &rows)).map_err(|error| errors::os(&error))
    }
});
