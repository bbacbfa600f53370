//! Requests in batches, from the frontier to fetch, or to be accepted.

use std::sync::Arc;

use lycosa_url::Clock;
use pyo3::prelude::*;

use crate::batch::{Batch, Table, columns_named};
use crate::batch_class::{BatchClass, batch_class};
use crate::request::Request;
use crate::store::TEXTS;

/// Requests, on lease from the frontier to fetch, or to be accepted.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Requests {
    pub(crate) batch: Batch<lycosa_records::Request>,
    clock: Clock,
}

impl Requests {
    /// A batch.
    pub(crate) fn new(requests: Vec<lycosa_records::Request>, clock: Clock) -> Self {
        Requests { batch: Batch::new(requests), clock }
    }
}

impl BatchClass for Requests {
    type Record = lycosa_records::Request;
    type Item = Request;
    const ITEM: &'static str = "Request";

    fn batch(&self) -> &Batch<Self::Record> {
        &self.batch
    }

    fn alone(batch: Batch<Self::Record>) -> Self {
        Requests { batch, clock: Clock::shared() }
    }

    fn with(&self, batch: Batch<Self::Record>) -> Self {
        Requests { batch, clock: self.clock }
    }

    fn item(&self, record: Arc<Self::Record>) -> Request {
        Request::of(record, self.clock)
    }

    fn check(record: &Self::Record) -> PyResult<()> {
        crate::request::check(record)
    }

    fn table(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table> {
        self.batch.table(py, &columns_named("columns", names)?, TEXTS)
    }
}

batch_class!(Requests {});
