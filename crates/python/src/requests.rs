//! Requests in batches, from the frontier to fetch, or to be accepted.

use std::collections::HashMap;
use std::sync::Arc;

use lycosa_records::Ticket;
use lycosa_url::{AddressPolicy, Clock};
use pyo3::prelude::*;

use crate::batch::{Batch, Table, columns_named};
use crate::batch_class::{BatchClass, batch_class};
use crate::request::Request;
use crate::store::TEXTS;
use crate::url::{Ring, permit_port, ring_key_named};

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

batch_class!(Requests {
    /// What a download server is told of these: what to ask for, and nothing else. Refuses what a request made in Python could not have,
    /// and, unless allowed ports are None, blocked ones: encoded ones may come from anybody.
    #[pyo3(signature = (allowed_ports = None))]
    fn declared(&self, py: Python<'_>, allowed_ports: Option<Vec<u16>>) -> PyResult<Self> {
        let policy = allowed_ports.map(|ports| AddressPolicy::default().with_ports(ports));
        let requests = self.batch.all();
        let declared: Vec<_> =
            py.detach(|| requests.iter().map(|request| lycosa_records::declared(request)).collect());
        for request in &declared {
            crate::request::check(request)?;
            policy.iter().try_for_each(|policy| permit_port(&request.url, policy))?;
        }
        Ok(Requests::new(declared, self.clock))
    }

    /// These with tickets of a grant, by which their results find them again.
    fn ticketed(&self, serial: u64) -> Self {
        let requests = (0..).zip(self.batch.all());
        let ticketed = requests
            .map(|(index, request)| Ticket { serial, index }.put_on(Arc::unwrap_or_clone(request)))
            .collect();
        Requests::new(ticketed, self.clock)
    }

    /// Serial number and index of each; 0 and -1 where it has no ticket.
    fn tickets(&self) -> Vec<(u64, i64)> {
        self.batch.all().iter().map(|request| ticket(request)).collect()
    }

    /// These by the owners of their hosts, domains or URLs in a ring.
    fn split(&self, ring: &Ring, by: &str) -> PyResult<HashMap<String, Self>> {
        let key = ring_key_named(by)?;
        let mut split: HashMap<&str, Vec<Arc<lycosa_records::Request>>> = HashMap::new();
        for request in self.batch.all() {
            let owner = ring.0.owner(&key.digest(&request.url));
            split.entry(owner.unwrap_or_default()).or_default().push(request);
        }
        let batch = |requests| Requests { batch: Batch::shared(requests), clock: self.clock };
        Ok(split.into_iter().map(|(owner, requests)| (owner.to_owned(), batch(requests))).collect())
    }
});

/// Serial number and index of a request; 0 and -1 where it has no ticket.
pub(crate) fn ticket(request: &lycosa_records::Request) -> (u64, i64) {
    Ticket::of(request).map_or((0, -1), |found| (found.serial, found.index.into()))
}
