//! `lycosa._core`: the binding. Newtypes, conversions and one call each; no rule lives here.
//!
//! Batches cross the border, never single items: [`batch`] has them. Every call that may take longer than a
//! microsecond gives up the GIL. Errors become Python's by variant, in [`errors`].

mod arrow;
mod batch;
mod batch_class;
mod block_list;
mod bulk;
mod cache;
mod clock;
mod cluster;
mod counted_lock;
mod credentials;
mod designs;
mod dns;
mod entries;
mod errors;
mod export;
mod failed;
mod fetch;
mod follow;
mod frontier;
mod identity;
mod job;
mod known;
mod ledger;
mod lines;
mod local;
mod names;
mod outcome;
mod outcomes;
mod pages;
mod parse;
mod pulse;
mod request;
mod requests;
mod resolutions;
mod resolve;
mod response;
mod robots;
mod shards;
mod signing;
mod simnet;
mod snapshots;
mod store;
mod story;
mod takings;
mod text;
mod url;
mod values;
mod warc;
mod written;

use pyo3::prelude::*;

/// The compiled core of Lycosa.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<clock::Clock>()?;
    m.add_class::<warc::WarcWriter>()?;
    m.add_class::<warc::WarcReader>()?;
    m.add_class::<request::Request>()?;
    m.add_class::<requests::Requests>()?;
    m.add_class::<response::Response>()?;
    m.add_class::<response::Responses>()?;
    m.add_class::<outcome::Outcome>()?;
    m.add_class::<outcomes::Outcomes>()?;
    m.add_class::<batch::Table>()?;
    m.add_class::<names::Names>()?;
    m.add_class::<cache::NameAnswer>()?;
    m.add_class::<cache::NameAnswers>()?;
    m.add_class::<cache::NameCache>()?;
    m.add_class::<dns::DnsServer>()?;
    m.add_function(wrap_pyfunction!(dns::check_cookie_secrets, m)?)?;
    m.add_class::<lines::NameLines>()?;
    m.add_class::<lines::NameBatch>()?;
    m.add_class::<resolve::Resolver>()?;
    m.add_class::<resolutions::Resolution>()?;
    m.add_class::<resolutions::Resolutions>()?;
    m.add_class::<frontier::Frontier>()?;
    shards::register(m)?;
    cluster::register(m)?;
    pages::register(m)?;
    text::register(m)?;
    m.add_class::<fetch::Fetcher>()?;
    m.add_class::<fetch::Proxies>()?;
    m.add_function(wrap_pyfunction!(fetch::keep_freed_memory, m)?)?;
    m.add_class::<parse::Parser>()?;
    m.add_class::<robots::Robots>()?;
    m.add_class::<store::Log>()?;
    m.add_class::<failed::FailedUrls>()?;
    m.add_class::<follow::LogReader>()?;
    m.add_class::<entries::Entries>()?;
    store::register(m)?;
    export::register(m)?;
    story::register(m)?;
    url::register(m)?;
    block_list::register(m)?;
    credentials::register(m)?;
    local::register(m)?;
    identity::register(m)?;
    signing::register(m)?;
    ledger::register(m)?;
    simnet::register(m)
}
