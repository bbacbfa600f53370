//! The batches that travel between stages. A stage takes what it is given: the batch is empty afterwards.

use std::sync::{Arc, Mutex};

use lycosa_url::Purpose;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

use crate::errors::lock;
use crate::page::Page;
use crate::store::Rows;

/// Requests on lease, from the frontier to fetch.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Requests(Mutex<Vec<lycosa_url::Request>>);

impl Requests {
    /// A batch.
    pub(crate) fn new(requests: Vec<lycosa_url::Request>) -> Self {
        Requests(Mutex::new(requests))
    }

    /// Its content.
    pub(crate) fn take(&self) -> Vec<lycosa_url::Request> {
        std::mem::take(&mut lock(&self.0))
    }

    /// Looks at the content, with the batch locked.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&[lycosa_url::Request]) -> T) -> T {
        look(&lock(&self.0))
    }
}

#[pymethods]
impl Requests {
    /// An empty batch.
    #[new]
    fn empty() -> Self {
        Requests::new(Vec::new())
    }

    fn __len__(&self) -> usize {
        lock(&self.0).len()
    }

    /// Their URLs.
    fn urls(&self) -> Vec<String> {
        lock(&self.0).iter().map(|request| request.url.as_str().to_owned()).collect()
    }
}

/// Responses, from fetch to parse.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Responses {
    content: Mutex<Vec<lycosa_url::Response>>,
    /// Where those go back to that there is no room for yet.
    returns: Option<lycosa_fetch::Returns>,
}

impl Responses {
    /// A batch.
    pub(crate) fn new(responses: Vec<lycosa_url::Response>, returns: Option<lycosa_fetch::Returns>) -> Self {
        Responses { content: Mutex::new(responses), returns }
    }

    /// Its content.
    pub(crate) fn take(&self) -> Vec<lycosa_url::Response> {
        std::mem::take(&mut lock(&self.content))
    }

    /// Where responses go back to; nothing where they come from no fetcher.
    pub(crate) fn returns(&self) -> Option<&lycosa_fetch::Returns> {
        self.returns.as_ref()
    }
}

#[pymethods]
impl Responses {
    /// Answers for requests without a network: what a scripted fetch in a test gives.
    /// `answers` has for each request status, headers and body, or the name of a failure.
    #[classmethod]
    fn scripted(
        _: &Bound<'_, PyType>,
        requests: &Requests,
        answers: Vec<crate::fetch::Answer>,
    ) -> PyResult<Self> {
        Ok(Self::new(crate::fetch::scripted(requests.take(), answers)?, None))
    }

    fn __len__(&self) -> usize {
        lock(&self.content).len()
    }
}

/// Outcomes, from parse to the log, the frontier and the user.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Pages(Mutex<Vec<Arc<lycosa_url::Page>>>);

impl Pages {
    /// A batch.
    pub(crate) fn new(pages: Vec<lycosa_url::Page>) -> Self {
        Pages(Mutex::new(pages.into_iter().map(Arc::new).collect()))
    }

    /// Works on the content, with the batch locked.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Vec<Arc<lycosa_url::Page>>) -> T) -> T {
        work(&mut lock(&self.0))
    }
}

#[pymethods]
impl Pages {
    fn __len__(&self) -> usize {
        lock(&self.0).len()
    }

    /// The rows that outputs have of them: last outcomes, redirects among them. Columns: all but for those chosen.
    #[pyo3(signature = (fields=None))]
    fn rows(&self, py: Python<'_>, fields: Option<Vec<String>>) -> PyResult<Rows> {
        let pages = lock(&self.0).clone();
        let fields = fields.unwrap_or_else(Rows::all_fields);
        py.detach(|| Rows::of_pages(&pages, &fields))
    }

    /// The same for any Arrow library (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.rows(py, None)?.__arrow_c_stream__(py, requested_schema)
    }

    fn __getitem__(&self, index: usize) -> PyResult<Page> {
        let page = lock(&self.0).get(index).cloned();
        page.map(Page).ok_or_else(|| PyIndexError::new_err("no such page in this batch"))
    }

    /// What a user sees: each URL's last outcome, a page or a failure; no redirects, which stand in the
    /// chain of where they lead, and no robots.txt.
    fn last(&self) -> Vec<Page> {
        let is_last = |page: &&Arc<lycosa_url::Page>| {
            !page.retry && page.redirect.is_none() && page.response.request.purpose == Purpose::Page
        };
        lock(&self.0).iter().filter(is_last).cloned().map(Page).collect()
    }
}
