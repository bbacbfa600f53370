//! Clusters: which partition a record belongs to, and messages of the journals of partitions.

use std::collections::HashMap;
use std::sync::Arc;

use lycosa_records::{Entry, RecordError, encode_journal};
use lycosa_url::{CrawlUrl, Micros, RingKey};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::batch_class::BatchClass as _;
use crate::clock::Clock;
use crate::errors::{self, setting};
use crate::outcomes::Outcomes;
use crate::requests::Requests;
use crate::url::{Ring, parse, ring_key_named};

/// The most partitions of a job: their names have four digits.
const MOST: usize = 10_000;

/// Adds the classes and functions.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Partitions>()?;
    m.add_function(wrap_pyfunction!(join_requests, m)?)?;
    m.add_function(wrap_pyfunction!(join_outcomes, m)?)?;
    m.add_function(wrap_pyfunction!(accepted_message, m)?)?;
    m.add_function(wrap_pyfunction!(leased_message, m)?)?;
    m.add_function(wrap_pyfunction!(outcomes_message, m)?)
}

/// The partitions of a job: the nodes of a ring, each of which has a frontier of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Partitions {
    ring: lycosa_url::Ring,
    key: RingKey,
    count: u64,
}

impl Partitions {
    /// The number of the partition that owns a URL.
    fn owner(&self, url: &CrawlUrl) -> u32 {
        let owner = self.ring.owner(&self.key.digest(url));
        owner.and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// The partition of a lease: numbers of leases are dealt out in turn. Without one: of the URL.
    fn of(&self, request: &lycosa_records::Request) -> u32 {
        match request.lease.checked_sub(1) {
            Some(lease) => u32::try_from(lease % self.count).unwrap_or_default(),
            None => self.owner(&request.url),
        }
    }

    /// Records by partition.
    fn split<T>(
        &self,
        records: Vec<Arc<T>>,
        request: impl Fn(&T) -> &lycosa_records::Request,
    ) -> HashMap<u32, Vec<Arc<T>>> {
        let mut parts: HashMap<u32, Vec<Arc<T>>> = HashMap::new();
        for record in records {
            parts.entry(self.of(request(&record))).or_default().push(record);
        }
        parts
    }
}

#[pymethods]
impl Partitions {
    #[new]
    fn new(count: usize, by: &str) -> PyResult<Self> {
        let allowed = || setting("partitions", count, format!("1 to {MOST}"));
        if !(1..=MOST).contains(&count) {
            return Err(allowed());
        }
        let names: Vec<_> = (0..count).map(Self::name).collect();
        let nodes: Vec<_> = names.iter().map(|name| (&**name, 1.0)).collect();
        let ring = lycosa_url::Ring::new(&nodes, lycosa_url::DEFAULT_VIRTUAL_NODES).map_err(|_| allowed())?;
        Ok(Partitions { ring, key: ring_key_named(by)?, count: count as u64 })
    }

    /// The name of a partition on the ring: its number in four digits, so that names are in the order of numbers.
    #[staticmethod]
    fn name(partition: usize) -> String {
        format!("{partition:04}")
    }

    /// The ring.
    #[getter]
    fn ring(&self) -> Ring {
        Ring(self.ring.clone())
    }

    /// The partition that owns a URL.
    fn of_url(&self, url: &str) -> PyResult<u32> {
        Ok(self.owner(&parse(url)?))
    }

    /// Requests by partition: that of their lease, or of their URL.
    fn split_requests(&self, py: Python<'_>, requests: &Requests) -> HashMap<u32, Requests> {
        let parts = py.detach(|| self.split(requests.batch.all(), |request| request));
        parts.into_iter().map(|(part, some)| (part, requests.with(Batch::shared(some)))).collect()
    }

    /// Outcomes by partition: that of their lease, or of their URL. `take`: the batch is empty afterwards, so that changes of the parts
    /// copy nothing.
    #[pyo3(signature = (outcomes, *, take = false))]
    fn split_outcomes(&self, py: Python<'_>, outcomes: &Outcomes, take: bool) -> HashMap<u32, Outcomes> {
        let parts = py.detach(|| {
            let all = if take { outcomes.batch.with(std::mem::take) } else { outcomes.batch.all() };
            self.split(all, lycosa_records::Outcome::request)
        });
        parts.into_iter().map(|(part, some)| (part, outcomes.with(Batch::shared(some)))).collect()
    }
}

/// Requests of several batches as one.
#[pyfunction]
fn join_requests(batches: Vec<Bound<'_, Requests>>) -> Requests {
    let all = batches.iter().flat_map(|batch| batch.get().batch.all()).collect();
    match batches.first() {
        Some(first) => first.get().with(Batch::shared(all)),
        None => Requests::alone(Batch::shared(all)),
    }
}

/// Outcomes of several batches as one.
#[pyfunction]
fn join_outcomes(batches: Vec<Bound<'_, Outcomes>>) -> Outcomes {
    let all = batches.iter().flat_map(|batch| batch.get().batch.all()).collect();
    match batches.first() {
        Some(first) => first.get().with(Batch::shared(all)),
        None => Outcomes::alone(Batch::shared(all)),
    }
}

/// The message of a journal that requests were accepted.
#[pyfunction]
fn accepted_message<'py>(
    py: Python<'py>,
    requests: &Requests,
    clock: &Clock,
) -> PyResult<Bound<'py, PyBytes>> {
    let (all, now) = (requests.batch.all(), clock.0.wall());
    message(py, || encode_journal(all.iter().map(|request| Entry::accepted(request, now))))
}

/// The message that requests are about to be sent, by a process that began at `process`, in seconds of the crawl's time.
#[pyfunction]
fn leased_message<'py>(
    py: Python<'py>,
    requests: &Requests,
    clock: &Clock,
    process: f64,
) -> PyResult<Bound<'py, PyBytes>> {
    let (all, now, offset) = (requests.batch.all(), clock.0.now(), clock.0.wall_offset());
    let process = (process.max(0.0) * 1e6) as Micros;
    message(py, || encode_journal(all.iter().map(|request| Entry::leased(request, process, now, offset))))
}

/// The message of outcomes, without their bodies.
#[pyfunction]
fn outcomes_message<'py>(py: Python<'py>, outcomes: &Outcomes) -> PyResult<Bound<'py, PyBytes>> {
    let all = outcomes.batch.all();
    message(py, || encode_journal(all.iter().map(|outcome| Entry::of(outcome))))
}

/// A message as bytes.
fn message<'py>(
    py: Python<'py>,
    encode: impl FnOnce() -> Result<Vec<u8>, RecordError> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = py.detach(encode).map_err(|error| errors::record(&error))?;
    Ok(PyBytes::new(py, &encoded))
}
