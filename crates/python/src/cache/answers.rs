//! Answers of a cache as Python objects.

use lycosa_names::BadName;
use lycosa_names::cache::compact::{Record, State};
use lycosa_names::cache::{Addresses, Answer, Class, Found, Seconds, Trouble};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

/// What a cache knows of a name.
#[pyclass(frozen, module = "lycosa._core", freelist = 64)]
#[derive(Clone)]
pub(crate) struct NameAnswer(pub(super) Told);

/// What was told, as the design gives it.
#[derive(Clone)]
pub(super) enum Told {
    Record(Record),
    Found(Box<Found>),
    Bad(BadName),
}

#[pymethods]
impl NameAnswer {
    /// Its addresses as texts, IPv4 first.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        match &self.0 {
            Told::Record(record) => record
                .v4()
                .map(|address| address.to_string())
                .chain(record.v6().map(|address| address.to_string()))
                .collect(),
            Told::Found(found) => match &found.answer {
                Answer::Addresses(Addresses { v4, v6 }) => {
                    v4.iter().map(ToString::to_string).chain(v6.iter().map(ToString::to_string)).collect()
                }
                _ => Vec::new(),
            },
            Told::Bad(_) => Vec::new(),
        }
    }

    /// `ok`, `nxdomain`, `nodata`, `negative` (one of the two), `servfail`, `timeout` or `bad-name`.
    #[getter]
    fn state(&self) -> &'static str {
        match &self.0 {
            Told::Record(record) => match record.state {
                State::Addresses => "ok",
                State::NxDomain => "nxdomain",
                State::NoData => "nodata",
                State::Negative => "negative",
                State::Failed { trouble, .. } => trouble_name(trouble),
            },
            Told::Found(found) => match found.answer {
                Answer::Addresses(_) => "ok",
                Answer::NxDomain => "nxdomain",
                Answer::NoData => "nodata",
                Answer::Negative => "negative",
                Answer::Failed { trouble, .. } => trouble_name(trouble),
            },
            Told::Bad(_) => "bad-name",
        }
    }

    /// When it ceases to hold, in seconds since 1970; `None` where the cache cannot tell.
    #[getter]
    fn expires(&self) -> Option<Seconds> {
        match &self.0 {
            Told::Record(record) => record.expires,
            Told::Found(found) => found.expires,
            Told::Bad(_) => None,
        }
    }

    /// What resolving cost: `fast`, `slow` or `failed`.
    #[getter(class_)]
    fn class(&self) -> &'static str {
        let class = match &self.0 {
            Told::Record(record) => record.class,
            Told::Found(found) => found.class,
            Told::Bad(_) => Class::Failed,
        };
        match class {
            Class::Fast => "fast",
            Class::Slow => "slow",
            Class::Failed => "failed",
        }
    }

    /// Which rule a `bad-name` breaks.
    #[getter]
    fn reason(&self) -> Option<String> {
        match self.0 {
            Told::Bad(why) => Some(why.to_string()),
            Told::Record(_) | Told::Found(_) => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<NameAnswer {} {:?} {}>", self.state(), self.addresses(), self.class())
    }
}

/// The name of a trouble.
fn trouble_name(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::ServerFailure => "servfail",
        Trouble::TimeOut => "timeout",
    }
}

/// Answers to many names, in their order. One becomes a Python object when it is asked for.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct NameAnswers(pub(super) Vec<Option<NameAnswer>>);

#[pymethods]
impl NameAnswers {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Option<NameAnswer>> {
        let len = self.0.len() as isize;
        let place = if index < 0 { index + len } else { index };
        let found = usize::try_from(place).ok().and_then(|place| self.0.get(place));
        found
            .cloned()
            .ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(format!("{index} of {len} answers")))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().cloned())?.try_iter()
    }

    /// How many names have an answer.
    fn known(&self) -> usize {
        self.0.iter().filter(|answer| answer.is_some()).count()
    }
}
