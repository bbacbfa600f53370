//! Shards: several frontiers of one crawl, and the clocks that all frontiers of a machine share.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lycosa_clocks::Clocks;
use lycosa_frontier::Caps;
use lycosa_records::{Entry, Purpose};
use lycosa_url::CrawlUrl;
use pyo3::prelude::*;

use crate::clock::{Clock, boot_id};
use crate::entries::Entries;
use crate::errors::{self, lock, setting, system};
use crate::frontier::Frontier;
use crate::snapshots::{Saving, save_shards};

/// Adds the functions.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Shared>()?;
    m.add_class::<Saving>()?;
    m.add_function(wrap_pyfunction!(save_shards, m)?)?;
    m.add_function(wrap_pyfunction!(restore_shards, m)?)
}

/// What frontiers share: clocks of hosts and addresses with all crawls of the machine that name one file, or within this process; and the
/// page budget of the crawl's shards.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Shared(pub(crate) lycosa_frontier::Shared);

#[pymethods]
impl Shared {
    /// `clock`: the crawl's. `clock_file`: of the machine's clocks; without it they are in memory, for the shards alone. `shards`: of the
    /// crawl; one alone shares no pages and no reports. `shares_pages`: whether `max_pages` is of all of them together. `caps`: over all sites, in place of those of the frontiers' jobs: requests and
    /// bytes a second of the machine's clock.
    #[new]
    #[pyo3(signature = (clock, clock_file = None, *, shards = 1, shares_pages = true, caps = None))]
    fn new(
        py: Python<'_>,
        clock: &Clock,
        clock_file: Option<PathBuf>,
        shards: usize,
        shares_pages: bool,
        caps: Option<(Option<f64>, Option<f64>)>,
    ) -> PyResult<Self> {
        let clock = Clock::of(Some(clock));
        let clocks = py.detach(|| match &clock_file {
            Some(path) => Clocks::open(path, &clock, &boot_id()).map_err(|error| {
                setting("politeness.clock_file", path.display().to_string(), error.to_string())
            }),
            None => {
                Clocks::in_memory(&clock).map_err(|error| system("the clocks of hosts and addresses", &error))
            }
        })?;
        Ok(Shared(lycosa_frontier::Shared {
            clocks: Some(Arc::new(clocks)),
            pages: (shards > 1 && shares_pages).then(Arc::default),
            caps: caps.map(|(requests, bytes)| Caps::new(requests, bytes)),
            reports: (shards > 1).then(Arc::default),
        }))
    }

    /// Sets other caps over all sites, if it has some: requests and bytes a second of the machine's clock.
    fn set_caps(&self, requests: Option<f64>, bytes: Option<f64>) {
        if let Some(caps) = &self.0.caps {
            caps.set_rates(requests, bytes);
        }
    }
}

/// Applies what the log has recorded to all shards of a crawl, in its order: each record to its owner, and the links that it found to
/// theirs before the next record.
#[pyfunction]
fn restore_shards(py: Python<'_>, shards: Vec<Bound<'_, Frontier>>, entries: &Entries) -> PyResult<()> {
    let shards: Vec<&Frontier> = shards.iter().map(Bound::get).collect();
    let restored = py.detach(|| restore(&shards, entries));
    restored.map_err(|error| errors::queues(&error))
}

fn restore(shards: &[&Frontier], entries: &Entries) -> io::Result<()> {
    let names: Vec<&str> = shards.iter().map(|shard| shard.node()).collect();
    let index = |owner: Option<&str>| names.iter().position(|name| Some(*name) == owner);
    let mut frontiers: Vec<_> = shards.iter().map(|shard| lock(&shard.core().state)).collect();
    for logged in &entries.entries {
        let (entry, end) = (&logged.entry, logged.end);
        let owner = match entry {
            // Its scope is everybody's.
            Entry::Accepted(accepted) if accepted.request.depth == 0 => None,
            _ => index(shards.first().and_then(|shard| shard.owner(owned_by(entry)))),
        };
        for (number, frontier) in frontiers.iter_mut().enumerate() {
            let mut restore = frontier.restore();
            match owner {
                Some(owner) if owner != number => restore.others(entry, end),
                _ => restore.entry(entry, end)?,
            }
        }
        let Some(owner) = owner.filter(|_| matches!(entry, Entry::Outcome(_))) else { continue };
        for (name, request) in frontiers[owner].restore().take_outbox() {
            if let Some(number) = index(Some(&*name)) {
                frontiers[number].restore().seed(&request)?;
            }
        }
    }
    Ok(())
}

/// The URL that decides which shard a record belongs to: of the outcome of a robots.txt that was redirected, the first. Its lease belongs
/// to the host that is asked; `Restore::others` tells all shards of both.
fn owned_by<'a>(entry: &'a Entry<'_>) -> &'a CrawlUrl {
    match entry {
        Entry::Accepted(accepted) => &accepted.request.url,
        Entry::Leased(leased) => &leased.url,
        Entry::Outcome(outcome) => {
            let request = outcome.request();
            let first = request.chain.first().filter(|_| request.purpose == Purpose::Robots);
            first.map_or(&request.url, |step| &step.url)
        }
    }
}
